#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# For `meson install`: by these names the program is another tool (ddiperf as TOOL). bash looks for completion by the
# name of a command, and man for a page.
set -eu

tools=$(cd "$MESON_BUILD_ROOT" && "$1" complete -- as "" | cut -f1)
cd "$MESON_INSTALL_DESTDIR_PREFIX"
for tool in $tools; do
	ln -sf ddiperf "$2/ddiperf-$tool"
	ln -sf ddiperf "$3/ddiperf-$tool"
	[ -e "$4/ddiperf-$tool.1" ] || ln -sf ddiperf.1 "$4/ddiperf-$tool.1"
done
