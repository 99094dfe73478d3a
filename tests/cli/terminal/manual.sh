#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The manual's pages: groff has nothing to say against them, and nothing is missing. Help fits its width.
. "$(dirname "$0")/terminal.sh"
command -v groff > /dev/null || exit 77
lab=$RUNG_SOURCE/lab
commands=$(sed -n 's/^COMMAND(\([a-z]*\),.*/\1/p' "$lab/cli/commands.def")
[ "$(wc -w <<< "$commands")" -ge 8 ] || fail "only these commands: $commands"

# options_of COMMAND: by the table itself
options_of() { grep -E "^OPTION\(.*IN\($1\)" "$lab/cli/options.def" | sed 's/^OPTION(\([a-z_]*\),.*/\1/; s/_/-/g'; }

for page in rung $(sed 's/[a-z]*/rung-&/' <<< "$commands"); do
    name=${page#rung} name=${name#-}
    "$RUNG" help --man $name > "$page.1" || fail "$page: exit $?"
    [ ! -d "$RUNG_BUILD/man1" ] || cmp "$page.1" "$RUNG_BUILD/man1/$page.1" || fail "$page: the build's is another"
    groff -man -ww -z "$page.1" > complaints.txt 2>&1
    [ ! -s complaints.txt ] || fail "$page: groff complains"
    for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS" ENVIRONMENT FILES EXAMPLES "SEE ALSO"; do
        grep -q "^\.SH $section\$" "$page.1" || fail "$page: no $section"
    done
    groff -man -Tascii -P-cbou "$page.1" > "$page.txt"
    [ -z "$name" ] || for option in $(options_of "$name"); do
        grep -qE "^ +(-[a-zA-Z], )?--$option( |\$)" "$page.txt" || fail "$page: no --$option"
    done
    for code in $(sed -n 's/^EXIT([A-Z]*, *\([0-9]*\),.*/\1/p' "$lab/cli/exit_codes.def"); do
        grep -qE "^ +$code " "$page.txt" || fail "$page: no exit status $code"
    done
    for variable in $(sed -n 's/^VARIABLE(\([A-Z_]*\),.*/\1/p' "$lab/cli/manual_variables.def"); do
        grep -qE "^ +$variable" "$page.txt" || fail "$page: no $variable"
    done
done
for command in $commands; do
    grep -qE "^ +$command" rung.txt || fail "rung.1: no $command"
    grep -q "rung-$command(1)" rung.txt || fail "rung.1 does not name the page of $command"
done

# Every variable that is looked at is in the list; some are between processes of the lab. Those of the emulated driver,
# RUNG_EMULATED_*, are described in src/emulator/driver/driver.h.
for variable in $(grep -rhoE '"RUNG_[A-Z_]+"' "$RUNG_SOURCE"/src "$lab" | tr -d '"' | sort -u); do
    case $variable in RUNG_ | RUNG_OK | RUNG_EMULATED_* | RUNG_EMULATOR_* | RUNG_STATUS_* | RUNG_BENCH_TURNS | RUNG_BENCH_PART) continue ;; esac
    grep -q "^VARIABLE($variable," "$lab/cli/manual_variables.def" || fail "$variable is not in manual_variables.def"
done

# Examples name options that there are.
sed -n 's/^EXAMPLE(\([a-z]*\), *"\([^"]*\)".*/\1 \2/p' "$lab/cli/examples.def" > examples.txt
[ "$(wc -l < examples.txt)" -ge 10 ] || fail "few examples"
while read -r command line; do
    for option in $(grep -oE -- '--[a-z-]+' <<< "$line"); do
        options_of "$command" | grep -qx -- "${option#--}" || fail "no $option in: $line"
    done
done < examples.txt

# fits COLUMNS FILE
fits() {
    awk -v columns="$1" 'length($0) > columns { print; wide = 1 } END { exit wide }' "$2" || fail "wider than $1"
}
for name in '' $commands; do
    "$RUNG" help $name > help.txt
    fits 80 help.txt
    for columns in 60 90 100; do
        on_terminal $columns "'$RUNG' help $name" | tr -d '\r' > help.txt
        fits $columns help.txt
    done
    on_terminal 200 "'$RUNG' help $name" | tr -d '\r' > help.txt
    fits 100 help.txt
done
on_terminal 100 "'$RUNG' help bench" | awk 'length($0) > 85 { wide = 1 } END { exit !wide }' ||
    fail "100 columns are not used"
exit 0
