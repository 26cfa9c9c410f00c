// SPDX-License-Identifier: BSD-3-Clause
// Path: cold. Main thread.
#include "fleet/agent/host_facts.h"

#include <sched.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "fleet/fleet_clock.h"
#include "io/doctor/doctor.h"
#include "io/driver/driver.h"
#include "io/driver/memory.h"

#define MB 1000000

static bool is_driver(const char *name)
{
	for (unsigned i = 0; i < driver_count; i++)
		if (strcmp(name, drivers[i].name) == 0)
			return true;
	return false;
}

// "2 usable (MODEL)"
static void take_model(const char *text, json_t *box)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')');

	if (begin && end > begin)
		json_object_set_new(
			box, "model", json_stringn(begin + 1, (size_t)(end - begin - 1)));
}

static void take_row(const struct doctor_row *row, json_t *box)
{
	static const char *const lists[] = {"drivers", "cards", "interfaces"};
	bool driver = is_driver(row->name);

	if (strcmp(row->name, "DPDK") == 0) {
		json_object_set_new(box, "dpdk", json_string(row->text));
		return;
	}
	if (strcmp(row->name, "CPUs") == 0)
		take_model(row->text, box);
	if (row->status == DOCTOR_MISSING)
		json_array_append_new(json_object_get(box, "missing"), json_string(row->name));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (strcmp(row->group, lists[i]) == 0 && (i > 0 || driver) &&
			(row->status == DOCTOR_OK || (driver && row->status == DOCTOR_WARN)))
			json_array_append_new(
				json_object_get(box, lists[i]), json_string(row->name));
}

json_t *host_facts_box(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct doctor_report report;
	struct utsname name;
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof(set), &set) < 0 ? 0 : CPU_COUNT(&set);
	json_t *box = json_pack("{s:i, s:s, s:I, s:I, s:I, s:s, s:[], s:[], s:[], s:[]}", "cpus",
		cpus, "model", "", "memory_mb", (json_int_t)(memory / MB), "memory_available_mb",
		(json_int_t)(memory_available() / MB), "hugepages_mb",
		(json_int_t)(hugepages_free() / MB), "kernel",
		uname(&name) == 0 ? name.release : "", "drivers", "cards", "interfaces", "missing");

	doctor_read(&report);
	for (unsigned i = 0; i < report.count; i++)
		take_row(&report.rows[i], box);
	doctor_free(&report);
	return box;
}

json_t *host_facts_clock(void)
{
	int64_t error = fleet_clock_error();

	return json_pack("{s:b, s:o}", "kept", error >= 0, "error_ns",
		error < 0 ? json_null() : json_integer(error));
}
