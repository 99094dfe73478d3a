#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/release accepts a copy of this tree in which everything fits, and refuses each planted drift with a sentence that
# says what to do. The source tarball has the committed files, and the same bytes twice.
set -u
source=$RUNG_SOURCE
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
copy=$work/copy bad=0
git -C "$source" rev-parse --verify --quiet HEAD > /dev/null || { echo "no repository here"; exit 77; }
command -v abidw > /dev/null || { echo "abidw is not here"; exit 77; }

# A repository with the files of this tree, also those that are not committed yet, as they are on the day of the release.
mkdir "$copy"
git -C "$source" ls-files -z -co --exclude-standard |
    (cd "$source" && tar -c --null -T - --ignore-failed-read 2> /dev/null) | tar -x -C "$copy"
cd "$copy" || exit 1
export RUNG_SOURCE=$copy
commit() { git add -A && git -c user.name=test -c user.email=test@example.org commit -q -m "$1"; }
git init -q && git config core.autocrlf false && git config gc.auto 0
version=$(tools/project-version)
sed -i "0,/^## .*/s//## $version (2026-01-01)/" CHANGELOG.md
commit "as it is released"
tools/release --check > "$work/out" 2>&1 || { cat "$work/out"; echo "a tree without drift is refused"; bad=1; }

# Each drift, and a part of the sentence that it must cause. All are planted together: each must have its own sentence.
sed -i 's/^#define RUNG_VERSION_PATCH .*/#define RUNG_VERSION_PATCH 77/' include/rung/rung.h
sed -i 's/^version: .*/version: 7.7.1/' CITATION.cff
sed -i "0,/^## .*/s//## 7.7.2 (unreleased)/" CHANGELOG.md
sed -i 's/  version: ".*"/  version: "7.7.3"/' packaging/conda-forge/recipe.yaml
sed -i 's/"version": ".*"/"version": "7.7.4"/' packaging/vcpkg/vcpkg.json
sed -i 's|/rung-[0-9.]*tar|/rung-7.7.5.tar|' packaging/homebrew/rung.rb
sed -i 's/version("[0-9.]*"/version("7.7.6"/' packaging/spack/package.py
sed -i '1s/([0-9.]*-1)/(7.7.7-1)/' packaging/debian/changelog
printf '[project]\nversion = "7.7.8"\n' > pyproject.toml
sed -i '/<!-- numbers: bench /,/<!-- end -->/{/^| *[`0-9].*[0-9] .*|$/{s/[0-8] |/9 |/}}' docs/ladder/07_tile2d.md
sed -i 's/^    RUNG_F64,*/&RUNG_PLANTED,/; s/^typedef struct rung_matrix {/&\n    int planted;/' include/rung/rung.h
git diff --quiet -- docs/ladder/07_tile2d.md && { echo "no number to change"; bad=1; }
sed -i '1s/^/| planted |\n/' results/readme/debian12.txt
sed -i 's/^sudo apt-get install /&planted /' README.md
sed -i 's/^rung [0-9.]*$/rung 7.7.9/' results/packages/debian12.txt
tools/release --check > "$work/out" 2>&1 && { echo "a tree with drift is accepted"; bad=1; }
expect() { grep -qF -- "$1" "$work/out" || { echo "no sentence with: $1"; bad=1; }; }
expect "changed or untracked files"
expect "include/rung/rung.h states version 0.2.77"
expect "CITATION.cff states version 7.7.1"
expect "CHANGELOG.md states version 7.7.2"
expect "the first heading of CHANGELOG.md is '## 7.7.2 (unreleased)': write '## $version ("
expect "packaging/conda-forge/recipe.yaml states version 7.7.3"
expect "packaging/vcpkg/vcpkg.json states version 7.7.4"
expect "packaging/homebrew/rung.rb states version 7.7.5"
expect "packaging/spack/package.py states version 7.7.6"
expect "packaging/debian/changelog states version 7.7.7"
expect "pyproject.toml states version 7.7.8"
expect "run tools/write-numbers and commit the pages"
expect "run tests/abi/update and commit the dumps"
expect "run tests/docs/readme_debian.sh"
expect "results/packages/debian12.txt does not show rung $version"
expect "15 reasons not to release $version"
# With a configuration of the same version for all, CMake accepts the header; with another one it does not.
cmake -S . -B "$work/build" > "$work/cmake" 2>&1 && { echo "CMake accepts another version in rung.h"; bad=1; }
grep -q "rung.h has version 0.2.77" "$work/cmake" || { tail -n 5 "$work/cmake"; echo "CMake does not name the version of rung.h"; bad=1; }
[ $bad -eq 0 ] || cat "$work/out"

# A new version reaches every place.
git reset -q --hard && git clean -fdq
tools/project-version --set 3.4.5 && [ "$(tools/project-version)" = 3.4.5 ] && tools/project-version --check || { echo "tools/project-version --set leaves a place out"; bad=1; }
tools/project-version --set 3.4 2> /dev/null && { echo "tools/project-version takes 3.4"; bad=1; }
grep -rnF "$version" packaging/homebrew packaging/spack packaging/conda-forge packaging/vcpkg CITATION.cff && { echo "tools/project-version --set leaves these"; bad=1; }
git reset -q --hard

# The tarball: the same bytes twice, whatever the configuration of git and the umask; all files, and no others.
first=$(tools/make-source "$work/first")
sleep 1.1
git config tar.umask 0077
second=$(umask 077 && TZ=Asia/Tokyo tools/make-source "$work/second")
cmp "$work/first/rung-$version.tar.gz" "$work/second/rung-$version.tar.gz" || { echo "two tarballs of one commit differ"; bad=1; }
diff <(tar -t -f "$first" | sed "s,^rung-$version/,," | grep -v '/$' | sort | sed '/^$/d') <(git ls-files | sort) ||
    { echo "the tarball has other files than the commit"; bad=1; }
[ -n "$second" ] && echo "$(tar -t -f "$first" | wc -l) files, $(stat -c %s "$first") bytes"
exit $bad
