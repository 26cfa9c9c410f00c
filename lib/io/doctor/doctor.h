// SPDX-License-Identifier: BSD-3-Clause
// Abilities of this machine and missing parts, as rows of text for `ddiperf doctor`. Read-only.
// Works without EAL and without privileges. Path: cold. Management thread.
#pragma once

#include <stddef.h>

// warn: slower or less exact. off: cannot be used, and only a run that asks for it needs it.
// missing: no run can do without it.
enum doctor_status { DOCTOR_OK, DOCTOR_WARN, DOCTOR_OFF, DOCTOR_MISSING };

struct doctor_row {
	char group[24]; // "cpu", "memory", "privileges", "drivers", "cards", "interfaces"
	char name[40];
	enum doctor_status status;
	char text[512]; // the fact
	char fix[512];  // the command or setting that helps, or ""
};

struct doctor_report {
	struct doctor_row *rows;
	unsigned count;
};

struct netif;
struct pci_box;

void doctor_read(struct doctor_report *out);
// A row for each of these interfaces that is not a loopback; a part of doctor_read.
void doctor_add_interfaces(struct doctor_report *r, const struct netif *list, unsigned count);
// A row for each network card with the next step towards DPDK; a part of doctor_read.
void doctor_add_cards(struct doctor_report *r, const struct pci_box *b);
void doctor_free(struct doctor_report *r);
