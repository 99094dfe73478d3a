#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Commit messages: the subject is `area: imperative summary` with at most 72 characters, and a body says why. Checks the
# commits since this rule exists, or since the commit that RUNG_COMMITS_SINCE names. Without a repository there is nothing
# to check.
set -u
cd "$RUNG_SOURCE" || exit 1

# check_message SUBJECT BODY: prints what is wrong with a message and fails.
check_message() {
    local subject=$1 body=$2
    [ ${#subject} -le 72 ] || { echo "${#subject} characters; the maximum is 72"; return 1; }
    [[ $subject =~ ^[a-z0-9_/.-]+:\ [a-z] ]] || { echo "not of the form 'area: imperative summary'"; return 1; }
    [[ ! $subject =~ [.]$ ]] || { echo "ends with a period"; return 1; }
    [ -n "$body" ] || { echo "no body that says why"; return 1; }
}

bad=0
# Planted: messages that must be rejected, and one that must pass.
check_message "Rename things" "why" > /dev/null && { echo "a subject without an area passed"; bad=1; }
check_message "cpu: rename." "why" > /dev/null && { echo "a period passed"; bad=1; }
check_message "cpu: $(printf 'x%.0s' {1..80})" "why" > /dev/null && { echo "a long subject passed"; bad=1; }
check_message "cpu: rename the pool" "" > /dev/null && { echo "a missing body passed"; bad=1; }
check_message "cpu: rename the pool" "why" || { echo "a good message failed"; bad=1; }

git rev-parse --git-dir > /dev/null 2>&1 || { echo "no repository here"; exit $bad; }
first=${RUNG_COMMITS_SINCE:-$(git log --diff-filter=A --format=%H -- tests/build/commit_subjects.sh | tail -n 1)}
[ -n "$first" ] || exit $bad
while read -r commit; do
    why=$(check_message "$(git log -1 --format=%s "$commit")" "$(git log -1 --format=%b "$commit")") ||
        { echo "${commit:0:9} \"$(git log -1 --format=%s "$commit")\": $why"; bad=1; }
done < <(git rev-list --no-merges "$first..HEAD")
exit $bad
