# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Completion of ddiperf for bash. The program itself knows what may come next.

_ddiperf()
{
	local program=$1 line=${COMP_LINE:0:COMP_POINT} text cur parted words
	# bash parts words at = and :, which are in settings and figures.
	IFS=$' \t' read -ra words <<<"$line"
	[[ $line != *[[:space:]] ]] || words+=("")
	cur=${words[-1]}
	parted=${cur%"${cur##*[=:]}"}
	# A link to the program is another tool.
	if [[ $1 == *ddiperf-* ]]; then
		program=${1%ddiperf-*}ddiperf
		words=(ddiperf as "${1##*ddiperf-}" "${words[@]:1}")
	fi
	COMPREPLY=()
	while IFS=$'\t' read -r text _; do
		if [[ $text == :* ]]; then
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -f -X "!${text:1}" -- "$cur")
			return
		fi
		COMPREPLY+=("${text#"$parted"}")
	done < <("$program" complete -- "${words[@]:1}" 2>/dev/null)
	[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *[.=] ]] || compopt -o nospace
}

complete -F _ddiperf ddiperf
while IFS=$'\t' read -r tool _; do
	complete -F _ddiperf "ddiperf-$tool"
done < <(ddiperf complete -- as "" 2>/dev/null)
unset tool
