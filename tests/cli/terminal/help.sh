#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `rung help COMMAND` lists exactly the options that the command accepts, each with its meaning for that command.
. "$(dirname "$0")/terminal.sh"
lab=$RUNG_SOURCE/lab
commands=$(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$lab/cli/commands.def")
[ "$(wc -w <<< "$commands")" -ge 8 ] || fail "only these commands: $commands"
# NAME=x or NAME: every option of every command, as getopt takes it.
all=$(sed -n 's/^OPTION(\([a-z_]*\), *"\([^"]*\)".*/\1 \2/p' "$lab/cli/options.def" |
    awk '{ gsub("_", "-", $1); print $1 (NF > 1 ? "=x" : "") }')
[ "$(wc -w <<< "$all")" -ge 50 ] || fail "only these options: $all"

wrong=0
complain() { echo "$*"; wrong=1; }
for command in $commands; do
    "$RUNG" help "$command" > help.txt || complain "help $command: exit $?"
    for option in $all; do
        name=${option%=x}
        # What is accepted comes to --help; anything else ends with a message before.
        if "$RUNG" "$command" "--$option" --help > /dev/null 2>&1; then
            grep -qE "^ +(-[a-zA-Z], )?--$name( |\$)" help.txt || complain "$command accepts --$name and does not show it"
        else
            grep -qE "^ +(-[a-zA-Z], )?--$name( |\$)" help.txt && complain "$command shows --$name and does not accept it"
        fi
    done
    grep -q -- '-h, --help' help.txt || complain "help $command does not show --help"
    tail -n +2 help.txt | tr -s ' \n' '  ' > line.txt # without the usage line
    # A text is about this command: it neither names another one as a condition nor continues a line that may
    # not be there.
    for other in $commands; do
        [ "$other" != "$command" ] &&
            grep -oE "for (rung )?$other( [a-z-]+)?[,:]|; $other |, for $other" line.txt > found.txt &&
            complain "help $command speaks of $other: $(head -n 1 found.txt)"
    done
    grep -qE '\.\.\. [a-z(]' line.txt && complain "help $command has a text that continues another"
    grep -qiE 'so many|so often' line.txt && complain "help $command says \"so many\""
    # The manual says the same.
    "$RUNG" help --man "$command" | sed 's/\\-/-/g; s/\\&//g; s/\\e/\\/g; s/\\(ti/~/g' | tr -s ' \n' '  ' > man.txt
    while read -r text; do
        grep -qF -- "$text" man.txt || complain "the manual of $command lacks: $text"
    done < <(awk '/^ +(-[a-zA-Z], )?--[a-z]/ { if (text) print text; text = $0;
                      sub(/^ +(-[a-zA-Z], )?--[a-z-]+( [A-Z][^ ]*)? */, "", text); next }
                  text != "" || /^ {20,}/ { line = $0; sub(/^ +/, "", line); text = text (text ? " " : "") line }
                  END { print text }' help.txt | sed '/^$/d')
done

# One option, three meanings.
"$RUNG" help report | tr -s ' \n' '  ' | grep -q -- "-o, --output FILE write the page to FILE" || complain "report -o"
"$RUNG" help multiply | tr -s ' \n' '  ' | grep -q -- "-o, --output FILE write the product to FILE" || complain "multiply -o"
"$RUNG" help bench | tr -s ' \n' '  ' | grep -q -- "-o, --output FILE write results to FILE as JSON" || complain "bench -o"

# An option of another command is unknown here, and the message says what to type.
"$RUNG" report --sizes 3 > out.txt 2>&1
[ $? -eq 2 ] && grep -q '^rung report: unknown option --sizes\. .*rung help report' out.txt || complain "$(cat out.txt)"
exit $wrong
