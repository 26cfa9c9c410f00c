#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# For `meson install`: by these names the program is another tool (ddiperf as TOOL). bash looks for completion by the
# name of a command, and man for a page: links.sh BINARIES COMPLETIONS PAGES PROGRAM...
set -eu

binaries=$1 completions=$2 pages=$3
shift 3
tools=$(cd "$MESON_BUILD_ROOT" && "$@" complete -- as "" | cut -f1)
cd "$MESON_INSTALL_DESTDIR_PREFIX"
for tool in $tools; do
	ln -sf ddiperf "$binaries/ddiperf-$tool"
	ln -sf ddiperf "$completions/ddiperf-$tool"
	[ -e "$pages/ddiperf-$tool.1" ] || ln -sf ddiperf.1 "$pages/ddiperf-$tool.1"
done
