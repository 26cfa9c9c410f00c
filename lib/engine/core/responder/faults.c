// SPDX-License-Identifier: BSD-3-Clause
// The table of faults: the wire's, then the protocols'. Not here: the gates and delays that the
// settings ask for (config/faults_settings.c), and when faults occur (faults_wire.c).
// Path: cold. Management thread.
#include "engine/core/responder/faults.h"

#include <string.h>

#include "proto/table.h"
#include "engine/core/pages.h"

// By enum fault; the protocols' faults follow. Faults without a help text have sections of their
// own.
static struct {
	const char *name, *help;
} table[FAULTS_MAX] = {
	[FAULT_OUTAGE] = {"outage", NULL},
	[FAULT_CAPACITY] = {"capacity", NULL},
	[FAULT_QUEUED] = {"queued", NULL},
	[FAULT_STALLED] = {"stalled", NULL},
	[FAULT_SECOND_DELAY] = {"second_delay", NULL},
	[FAULT_LOSS] = {"loss", "replies that are not sent"},
	[FAULT_DUPLICATE] = {"duplicate", "replies sent twice"},
	[FAULT_REORDER] = {"reorder", "replies sent after the next one"},
	[FAULT_CORRUPT] = {"corrupt",
		"one bit flipped in the middle of the payload, with a correct checksum"},
	[FAULT_CORRUPT_CHECKSUM] = {"corrupt_checksum",
		"one bit flipped in the middle of the payload, with the original checksum"},
	[FAULT_TRUNCATE] = {"truncate", "payload cut in half, with correct lengths and checksum"},
	[FAULT_WRONG_PORT] = {"wrong_port", "replies from another port"},
	[FAULT_WRONG_ADDRESS] = {"wrong_address", "replies from another address"},
	[FAULT_FRAGMENT_LOSS] = {"fragment_loss", "replies with one fragment missing"},
	[FAULT_FRAGMENT_DUPLICATE] = {"fragment_duplicate", "replies with a fragment sent twice"},
	[FAULT_FRAGMENT_REORDER] = {"fragment_reorder", "replies whose last fragment goes first"},
	[FAULT_FRAGMENT_OVERLAP] = {"fragment_overlap",
		"replies with an extra fragment that overlaps another"},
	[FAULT_RECORD_CORRUPT] = {"record_corrupt",
		"replies over TLS whose record has a wrong bit"},
	[FAULT_RECORD_SPLIT] = {"record_split",
		"replies over TLS in two records: their length, and the rest"},
	[FAULT_KEY_UPDATE] = {"key_update", "replies over TLS 1.3 that are sealed by a new key"},
	[FAULT_ALERT] = {"alert",
		"a fatal alert of TLS, internal_error, in place of a reply, and the end of its "
		"connection"},
};
static uint32_t count; // 0: the protocols' faults are not in it yet

static uint32_t label_find(const char *name)
{
	uint32_t i = FAULT_OF_PROTOCOL;

	while (i < count && strcmp(table[i].name, name) != 0)
		i++;
	return i;
}

static void fault_add(const struct proto_fault *row)
{
	uint32_t i = label_find(row->name);

	if (i < count || i == FAULTS_MAX)
		return;
	table[count].name = row->name;
	table[count++].help = row->help;
}

static const struct proto_fault *server_faults(const struct proto_server *s)
{
	static const struct proto_fault none[1];

	return s && s->faults ? s->faults : none;
}

static void faults_prepare(void)
{
	if (count)
		return;
	count = FAULT_OF_PROTOCOL;
	for (unsigned k = 0; protos[k]; k++)
		for (const struct proto_fault *f = server_faults(protos[k]->server); f->name; f++)
			fault_add(f);
}

const char *faults_label(uint32_t i)
{
	faults_prepare();
	return i < count ? table[i].name : "";
}

const char *faults_help(uint32_t i)
{
	return table[i].help;
}

void faults_of_protocol(const struct proto_server *s, const struct proto_fault *rows[FAULTS_MAX])
{
	memset(rows, 0, FAULTS_MAX * sizeof(*rows));
	faults_prepare();
	for (const struct proto_fault *f = server_faults(s); f->name; f++) {
		uint32_t i = label_find(f->name);

		if (i < count)
			rows[i] = f;
	}
}

void faults_free(struct faults *f)
{
	pages_free((void *)f->quantile, FAULTS_QUANTILES * sizeof(*f->quantile));
	f->quantile = NULL;
	if (f->active)
		delay_free(&f->delay);
}
