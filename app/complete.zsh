#compdef ddiperf -P ddiperf-*
# SPDX-License-Identifier: BSD-3-Clause
# Completion of ddiperf for zsh. The program itself knows what may come next.

local program=$words[1] line text
local -a whole whole_help open open_help

# A link to the program is another tool.
local -a before
(( CURRENT < 3 )) || before=("${(@Q)words[2,CURRENT-1]}")
if [[ $program == *ddiperf-* ]]; then
	before=(as "${program##*ddiperf-}" "${(@)before}")
	program=${program%ddiperf-*}ddiperf
fi
for line in "${(@f)$($program complete -- "${(@)before}" "$PREFIX" 2>/dev/null)}"; do
	text=${line%%$'\t'*}
	case $text in
	(:*) _files -g "${text#:}" && return ;;
	(*[.=]) open+=$text open_help+=${line/$'\t'/  } ;;
	(*) whole+=$text whole_help+=${line/$'\t'/  } ;;
	esac
done
compadd -l -d whole_help -a whole
compadd -l -S '' -d open_help -a open
