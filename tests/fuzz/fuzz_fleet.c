// SPDX-License-Identifier: BSD-3-Clause
// What a coordinator and its agents read of each other, outside of JSON: pieces of files, names,
// labels, and the answers of clocks. Path: tests only.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet_clock.h"
#include "fleet/fleet_talk.h"

#define CAME_NS INT64_C(1800000000000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

// What can be read is what was put, but for zeros before the number.
static void try_piece(const char *message, size_t size)
{
	const char *octets, *end;
	uint64_t from, again_from;
	size_t count, again_count;
	char *again;

	if (!talk_get_piece(message, size, &from, &octets, &count))
		return;
	require(octets + count == message + size);
	again = malloc(count + 32);
	require(again != NULL);
	size = talk_put_piece(again, from, octets, count);
	require(talk_get_piece(again, size, &again_from, &end, &again_count));
	require(again_from == from && again_count == count && memcmp(end, octets, count) == 0);
	free(again);
}

static void try_clock(const char *text)
{
	struct fleet_clock_told told;
	struct fleet_offset o;
	struct fleet_clock c;
	char question[FLEET_CLOCK_TEXT];

	require(fleet_clock_tell(question, text) < sizeof(question));
	if (!fleet_clock_read(text, &told))
		return;
	fleet_clock_start(&c);
	fleet_clock_add(&c, &told, CAME_NS);
	if (c.count == 0)
		return;
	o = fleet_clock_offset(&c, 1000);
	require(o.within_ns >= 0 && o.within_ns <= CAME_NS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 2), *message = malloc(size + !size);
	size_t len;

	require(text && message);
	memcpy(message, data, size);
	memcpy(text, data, size);
	len = strlen(text);
	try_piece(message, size);
	json_decref(talk_read(message, size));
	try_clock(text);
	// Labels, and behind a NUL those that are wanted.
	require(talk_has_labels(text, ""));
	talk_has_labels(text, text + len + 1);
	if (talk_is_name(text))
		require(len > 0 && !strpbrk(text, " ./*>\n"));
	free(text);
	free(message);
	return 0;
}
