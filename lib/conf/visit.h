// SPDX-License-Identifier: BSD-3-Clause
// The one walk over a filled struct by its rows, behind conf_visit and conf_dump. For the files of
// conf/ only. Path: cold. Management thread.
#pragma once

#include "conf/schema.h"

// plain: counts and rates as bare numbers, for a program.
void visit_section(const struct field_section *section, const void *obj, bool plain,
	const struct conf_visitor *v);
