// SPDX-License-Identifier: BSD-3-Clause
// ddiperf dns, dhcp and dhcp6: a run from one line. Rows of options for settings, and the file that
// a line starts from. Path: cold. Main thread.
#pragma once

#include "line/options.h"

extern const struct own_option line_dns_options[], line_dhcp_options[], line_dhcp6_options[];
extern const char line_dns_help[], line_dhcp_help[], line_dhcp6_help[]; // examples

int cmd_dns(const struct options *o);
int cmd_dhcp(const struct options *o);
int cmd_dhcp6(const struct options *o);
