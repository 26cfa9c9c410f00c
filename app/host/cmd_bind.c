// SPDX-License-Identifier: BSD-3-Clause
// ddiperf bind [CARD]..., bind --release CARD... and unbind CARD...: hands network cards to DPDK,
// and back to the kernel.
// Path: cold. Main thread.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "run/commands.h"
#include "io/driver/explain.h"
#include "io/driver/memory.h"
#include "io/pci/pci_bind.h"
#include "io/driver/state.h"

static int read_box(struct pci_box *b)
{
	int err = pci_read(b);

	if (err)
		log_error("network interfaces cannot be listed: %s", strerror(-err));
	return err;
}

static void print_card(const struct pci_box *b, const struct pci_card *c)
{
	char advice[1024];

	printf("%-12s  %-9s  %-12s  %-12s  %s%s\n", c->bdf, c->id, c->driver[0] ? c->driver : "-",
		c->interfaces[0] ? c->interfaces : "-", c->group[0] ? "group " : "none", c->group);
	printf("%-12s  -> %s\n", "", pci_advice(b, c, advice, sizeof(advice)));
}

// Print the state of cards after a change; none: all.
static int print_cards(const struct options *o)
{
	struct pci_box b = {.root = ""};
	unsigned count = 0;

	if (read_box(&b) < 0)
		return EXIT_ENVIRONMENT;
	if (b.card_count)
		printf("%-12s  %-9s  %-12s  %-12s  %s\n", "card", "id", "driver", "interface",
			"IOMMU");
	for (unsigned i = 0; i < b.card_count; i++) {
		bool meant = !o->operand_count;

		for (unsigned n = 0; n < o->operand_count; n++)
			meant = meant || pci_find(&b, o->operands[n]) == &b.cards[i];
		if (!meant)
			continue;
		print_card(&b, &b.cards[i]);
		count++;
	}
	if (!count)
		printf("no network card on the PCI bus\n");
	pci_free(&b);
	return EXIT_PASS;
}

static int change(const struct options *o, bool binds)
{
	struct pci_box b = {.root = ""};
	struct io_error e = {""};
	char dir[256];
	int err = read_box(&b);

	if (err)
		return EXIT_ENVIRONMENT;
	err = state_directory(dir, sizeof(dir));
	if (err)
		io_fail(&e, err, "%s cannot be used: %s", dir, strerror(-err));
	else if (binds)
		err = pci_bind(&b, o->operands, o->operand_count, o->force, o->user, dir, &e);
	for (unsigned i = 0; !err && !binds && i < o->operand_count; i++)
		err = pci_unbind(&b, o->operands[i], dir, &e);
	if (err)
		log_error("bind: %s", e.text);
	state_leave_directory(dir);
	pci_free(&b);
	return err ? EXIT_ENVIRONMENT : print_cards(o);
}

int cmd_bind(const struct options *o)
{
	int rc;

	if (o->release && !o->operand_count) {
		log_error("bind: --release needs the cards to give back (CARD...)");
		return EXIT_CONFIG;
	}
	if (o->release && (o->force || o->user)) {
		log_error("bind: --release has no --%s", o->force ? "force" : "user");
		return EXIT_CONFIG;
	}
	if (o->release)
		return change(o, false);
	rc = o->operand_count ? change(o, true) : print_cards(o);

	if (rc == EXIT_PASS && o->operand_count && !hugepages_free())
		printf("no hugepages are free: `sysctl -w vm.nr_hugepages=512` makes a run "
		       "faster\n");
	return rc;
}

int cmd_unbind(const struct options *o)
{
	return change(o, false);
}
