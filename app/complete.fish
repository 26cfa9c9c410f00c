# SPDX-License-Identifier: BSD-3-Clause
# Completion of ddiperf for fish. The program itself knows what may come next.

function __ddiperf_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l program $words[1]
    set -l rest $words[2..-1]
    # A link to the program is another tool.
    if string match -q '*ddiperf-*' -- $program
        set rest as (string replace -r '.*ddiperf-' '' -- $program) $rest
        set program (string replace -r 'ddiperf-[^/]*$' ddiperf -- $program)
    end
    for line in ($program complete -- $rest 2>/dev/null)
        if string match -q ':*' -- $line
            __fish_complete_suffix (string replace -r '^:\*' '' -- $line)
        else
            echo $line
        end
    end
end

complete -c ddiperf -f -a '(__ddiperf_complete)'
for line in (ddiperf complete -- as '' 2>/dev/null)
    complete -c ddiperf-(string split -f1 \t -- $line) -f -a '(__ddiperf_complete)'
end
