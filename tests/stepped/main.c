// SPDX-License-Identifier: BSD-3-Clause
// The program in stepped time: the same command line. STEPPED in its environment has the settings
// of the world (world_parse). Path: tests only.
#undef main

#include <stdio.h>
#include <stdlib.h>

#include "machine.h"
#include "world.h"

int ddiperf_main(int argc, char **argv);

int main(int argc, char **argv)
{
	struct world_settings s;
	const char *text = getenv("STEPPED"), *why = world_parse(text ? text : "", &s);

	if (why) {
		fprintf(stderr, "STEPPED: %s\n", why);
		return 2;
	}
	machine_reset(&s);
	return ddiperf_main(argc, argv);
}
