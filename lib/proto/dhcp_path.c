// SPDX-License-Identifier: BSD-3-Clause
// Paths of files that settings name. Path: cold. Management thread.

#include "proto/dhcp_path.h"

#include <stdio.h>
#include <string.h>

char *dhcp_path_of(const char *const *setting, const struct diag *d)
{
	const char *file = diag_file(d, setting);
	const char *slash = file ? strrchr(file, '/') : NULL;
	int folder = slash && (*setting)[0] != '/' ? (int)(slash - file) + 1 : 0;
	char *path;

	return asprintf(&path, "%.*s%s", folder, file ? file : "", *setting) < 0 ? NULL : path;
}
