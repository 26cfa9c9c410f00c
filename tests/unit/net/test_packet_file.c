// SPDX-License-Identifier: BSD-3-Clause
// Packets of a file as Ethernet frames, whatever its link type. Path: tests only.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/packet_file.h"

struct seen {
	uint64_t count, ns;
	uint32_t len;
	bool known;
	uint8_t frame[64];
	int rc;
};

static int see(void *to, const struct packet *p)
{
	struct seen *s = to;

	s->count++;
	s->ns = p->ns;
	s->len = p->len;
	s->known = p->frame != NULL;
	if (p->frame)
		memcpy(s->frame, p->frame, p->len < sizeof(s->frame) ? p->len : sizeof(s->frame));
	return s->rc;
}

// Two packets of this link.
static int file_of(uint32_t link, const char *bytes, uint32_t len)
{
	const uint32_t head[] = {0xa1b23c4d, 4 << 16 | 2, 0, 0, 65535, link};
	const uint32_t packet[] = {3, 7, len, len};
	int fd = memfd_create("packets", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(write(fd, packet, sizeof(packet)), sizeof(packet));
		assert_int_equal(write(fd, bytes, len), len);
	}
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static void every_link_becomes_ethernet(void **state)
{
	static const struct {
		uint32_t link;
		const char *bytes;
		uint32_t len;
		const char *frame; // NULL: unknown
		uint32_t frame_len;
	} cases[] = {
#define MACS "\0\0\0\0\0\0\0\0\0\0\0\0"
		{1, "0123456789ab\x08\6x", 15, "0123456789ab\x08\6x", 15},
		{101, "\x45\1", 2, MACS "\x08\0\x45\1", 16},
		{101, "\x65\1", 2, MACS "\x86\xdd\x65\1", 16},
		{0, "\2\0\0\0\x45", 5, MACS "\x08\0\x45", 15},
		{113, "0123456789abcdef\x60", 17, MACS "\x86\xdd\x60", 15},
		{276, "0123456789abcdefghij\x45", 21, MACS "\x08\0\x45", 15},
		{276, "0123", 4, MACS "\x08\0", 14},
		{105, "0123", 4, NULL, 4},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen s = {0};
		struct arena *a = arena_new();
		const char *why = NULL;
		int fd = file_of(cases[i].link, cases[i].bytes, cases[i].len);

		assert_true(packet_file_is(fd));
		assert_int_equal(packet_file_each(fd, NULL, see, &s, a, &why), 0);
		assert_int_equal(s.count, 2);
		assert_int_equal(s.ns, 3000000007);
		assert_int_equal(s.len, cases[i].frame_len);
		assert_int_equal(s.known, cases[i].frame != NULL);
		if (s.known)
			assert_memory_equal(s.frame, cases[i].frame, s.len);
		arena_free(a);
	}
}

static void the_receiver_can_end_it(void **state)
{
	struct seen s = {.rc = -EFBIG};
	struct arena *a = arena_new();
	const char *why = NULL;

	assert_int_equal(packet_file_each(file_of(101, "\x45", 1), "ip", see, &s, a, &why), -EFBIG);
	assert_int_equal(s.count, 1);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_link_becomes_ethernet),
		cmocka_unit_test(the_receiver_can_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
