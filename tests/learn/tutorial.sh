#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# learn/README.md as a newcomer would follow it: its commands are typed and print what it says they do (page_output.sh); its
# setup is the README's; every skeleton is unfinished and says so, and becomes right by its solution.
set -u
cd "$RUNG_SOURCE" || exit 1
. tests/support/explain_tools.sh
bad=0

# The setup cannot be typed in a test; it is that of the first page, which CI builds by. The course needs fewer packages.
setup() { awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside && /^(sudo|cmake|python3 -m venv|pip )/' "$1"; }
while IFS= read -r line; do
    case $line in
    sudo*) missing=$(comm -23 <(tr ' ' '\n' <<< "$line" | sort) <(setup README.md | grep '^sudo' | tr ' ' '\n' | sort)) ;;
    *) missing=$(setup README.md | sed 's/ --system-site-packages//' | grep -qxF -- "$line" || echo "$line") ;;
    esac
    [ -z "$missing" ] || { echo "learn/README.md: not in README.md's setup:" $missing; bad=1; }
done < <(setup learn/README.md)

steps=0
for skeleton in learn/[0-9]*.cu; do
    solution=learn/solutions/$(basename "$skeleton")
    steps=$((steps + 1))
    grep -q TODO "$skeleton" || { echo "$skeleton leaves nothing to do"; bad=1; }
    ! grep -q TODO "$solution" || { echo "$solution is not finished"; bad=1; }
    grep -qF "$(basename "$skeleton")" learn/README.md || { echo "learn/README.md does not name $skeleton"; bad=1; }
    # Unfinished: wrong, or right and with something found.
    if rung verify "$skeleton" --suite edges --quiet > "$out" 2>&1; then
        rung explain "$skeleton" --quiet > "$out" 2>&1 || { echo "$skeleton cannot be explained"; cat "$out"; bad=1; }
        rung explain "$solution" --quiet > "$work/solved" 2>&1 || { echo "$solution cannot be explained"; bad=1; }
        cmp -s "$out" "$work/solved" && { echo "$skeleton is no worse than $solution"; bad=1; }
    else
        grep -q "^  $skeleton:.*\(wrong\|data race\|bounds\)" "$out" || { echo "$skeleton says nothing clear:"; cat "$out"; bad=1; }
    fi
done
[ $steps -eq 7 ] || { echo "$steps steps"; bad=1; }
bash tests/docs/page_output.sh learn/README.md || bad=1
exit $bad
