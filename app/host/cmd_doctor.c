// SPDX-License-Identifier: BSD-3-Clause
// ddiperf doctor [FILE]: the abilities of this machine, and fixes for missing ones. Changes
// nothing. Path: cold. Main thread.
#include <stdio.h>
#include <string.h>

#include "run/commands.h"
#include "crypt/hand.h"
#include "crypt/tls_settings.h"
#include "io/doctor/doctor.h"
#include "io/doctor/preflight.h"
#include "io/driver/driver.h"

static const char *const marks[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARN] = "note",
	[DOCTOR_OFF] = "off",
	[DOCTOR_MISSING] = "MISSING",
};

static void print_row(
	const char *name, enum doctor_status status, const char *text, const char *fix)
{
	printf("  %-7s  %-22s  %s\n", marks[status], name, text);
	if (*fix)
		printf("  %-7s  %-22s  -> %s\n", "", "", fix);
}

// true: everything that every run needs is available.
static bool print_box(void)
{
	struct doctor_report report;
	const char *group = "";
	bool all = true;

	doctor_read(&report);
	for (unsigned i = 0; i < report.count; i++) {
		const struct doctor_row *row = &report.rows[i];

		if (strcmp(group, row->group) != 0)
			printf("%s%s\n", i ? "\n" : "", row->group);
		group = row->group;
		print_row(row->name, row->status, row->text, row->fix);
		all = all && row->status != DOCTOR_MISSING;
	}
	doctor_free(&report);
	return all;
}

// true: the ports of the file can be opened.
static bool print_ports(const struct config *c)
{
	const struct port_settings *ports = c->ports.items;
	bool all = true;

	printf("\nports of %s\n", c->file);
	for (uint32_t i = 0; i < c->ports.count; i++) {
		struct io_error e = {""};
		bool ok = port_preflight(&ports[i], &c->host, &e) == 0;

		print_row(ports[i].name, ok ? DOCTOR_OK : DOCTOR_MISSING,
			ok ? driver_of(&ports[i])->name : e.text, "");
		all = all && ok;
	}
	return all;
}

static void print_groups(const char *name, bool has, struct arena *a)
{
	const char *list = "";

	for (uint32_t i = 0; tls_group_names[i]; i++)
		if (hand_has_group(i) == has)
			list = arena_printf(
				a, "%s%s%s", list, *list ? ", " : "", tls_group_names[i]);
	if (*list)
		print_row(name, has ? DOCTOR_OK : DOCTOR_OFF, list,
			has ? ""
			    : arena_printf(a,
				      "not in GnuTLS %s (ML-KEM: 3.8.8 or later, built with it)",
				      hand_library()));
}

// The groups that items with TLS can name.
static void print_tls(const struct config *c, struct arena *a)
{
	const struct item_settings *items = c->traffic.items;
	uint32_t i = 0;

	while (i < c->traffic.count && !items[i].facts.tls)
		i++;
	if (i == c->traffic.count)
		return;
	printf("\nTLS\n");
	print_groups("groups", true, a);
	print_groups("groups", false, a);
}

int cmd_doctor(const struct options *o)
{
	const struct config *c = NULL;
	struct diag *d = NULL;
	int code;
	bool ok;

	if (o->operand) {
		c = command_config(o, &d);
		code = c ? EXIT_PASS : command_error_code(d);
		diag_free(d);
		if (code)
			return code;
	}
	ok = print_box();
	if (c) {
		ok = print_ports(c) && ok;
		print_tls(c, o->arena);
	}
	printf("\n%s\n", ok ? "ready" : "not ready: fix the lines with MISSING");
	return ok ? EXIT_PASS : EXIT_ENVIRONMENT;
}
