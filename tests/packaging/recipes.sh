#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Recipes of packages, workflows, issue forms and CITATION.cff can be read by the tools that they are for, as far as this
# works without a network: YAML and JSON by their published schemas, Ruby, Python, CMake and shell by their parsers. All
# state the version of CMakeLists.txt.
set -u
cd "$RUNG_SOURCE" || exit 1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
python=$RUNG_TEST_TOOLS/checks/bin/python
"$python" -c 'import check_jsonschema' 2> /dev/null || { echo "check-jsonschema is not here; run tools/install-test-tools"; exit 77; }
command -v ruby > /dev/null || { echo "ruby is not here; run tools/install-test-tools"; exit 77; }
bad=0
tools/project-version --check || bad=1

# valid SCHEMA FILE...: by one of the schemas that check-jsonschema contains.
valid() {
    local schema=$1
    shift
    "$python" -m check_jsonschema --builtin-schema "vendor.$schema" "$@" > "$work/out" 2>&1
}
expect_valid() { valid "$@" || { cat "$work/out"; echo "${*:2} does not match the schema $1"; bad=1; }; }
expect_valid github-workflows .github/workflows/*.yml
expect_valid github-issue-forms .github/ISSUE_TEMPLATE/{bug,wrong-result,kernel-finding}.yml
expect_valid citation-file-format CITATION.cff
# ... which can fail.
sed 's/runs-on/runs_on/' .github/workflows/ci.yml > "$work/ci.yml"
sed 's/^authors:/writers:/' CITATION.cff > "$work/CITATION.cff"
sed 's/type: textarea/type: texture/' .github/ISSUE_TEMPLATE/bug.yml > "$work/bug.yml"
valid github-workflows "$work/ci.yml" && { echo "a workflow without runs-on passes"; bad=1; }
valid citation-file-format "$work/CITATION.cff" && { echo "a citation without authors passes"; bad=1; }
valid github-issue-forms "$work/bug.yml" && { echo "a form of an unknown type passes"; bad=1; }

# What a schema does not tell: the shell of each step, and the files that it names.
"$python" - "$work" <<'END' || { echo "the steps of the workflows cannot be read"; bad=1; }
import pathlib, sys
from ruamel.yaml import YAML
steps = 0
for workflow in sorted(pathlib.Path(".github/workflows").glob("*.yml")):
    for name, job in YAML(typ="safe").load(workflow)["jobs"].items():
        for step in job["steps"]:
            if "run" in step:
                steps += 1
                pathlib.Path(sys.argv[1], f"{workflow.stem}-{name}-{steps}.step").write_text(step["run"] + "\n")
recipe = YAML(typ="safe").load(pathlib.Path("packaging/conda-forge/recipe.yaml"))
missing = {"context", "package", "source", "build", "requirements", "tests", "about"} - set(recipe)
assert steps >= 4, f"only {steps} steps"
assert not missing, f"packaging/conda-forge/recipe.yaml has no {missing}"
END
for step in "$work"/*.step; do
    bash -n "$step" || { echo "$(basename "$step"): not shell"; bad=1; }
    for file in $(grep -oE '(\.ci|tools)/[a-z-]+' "$step"); do
        [ -x "$file" ] || { echo "$(basename "$step") starts $file, which is not here"; bad=1; }
    done
done

jq -e '.name == "rung" and (.dependencies | length > 0)' packaging/vcpkg/vcpkg.json > /dev/null || { echo "packaging/vcpkg/vcpkg.json is not JSON of a port"; bad=1; }
jq -e '.build.dockerfile == "../Dockerfile"' .devcontainer/devcontainer.json > /dev/null || { echo ".devcontainer/devcontainer.json does not name the Dockerfile"; bad=1; }
stage=$(jq -r .build.target .devcontainer/devcontainer.json)
grep -q "^FROM .* AS $stage\$" Dockerfile || { echo "the Dockerfile has no stage $stage, which .devcontainer uses"; bad=1; }
ruby -c packaging/homebrew/rung.rb > /dev/null || { echo "packaging/homebrew/rung.rb is not Ruby"; bad=1; }
"$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' packaging/spack/package.py || { echo "packaging/spack/package.py is not Python"; bad=1; }
# vcpkg's functions, without what they do.
cat > "$work/port.cmake" <<END
set(VERSION 0)
set(CURRENT_PACKAGES_DIR "$work/packages")
foreach(name vcpkg_download_distfile vcpkg_extract_source_archive vcpkg_check_features vcpkg_cmake_configure
        vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig vcpkg_install_copyright)
    cmake_language(EVAL CODE "function(\${name})\nendfunction()")
endforeach()
include("$RUNG_SOURCE/packaging/vcpkg/portfile.cmake")
END
cmake -P "$work/port.cmake" || { echo "packaging/vcpkg/portfile.cmake cannot be run"; bad=1; }

# The options that the recipes set are options of the build.
for option in $(grep -rhoE '\b(RUNG_[A-Z]+|BUILD_SHARED_LIBS)\b' packaging Dockerfile | sort -u); do
    case $option in RUNG_BUILD | RUNG_CL_INCLUDE) continue ;; esac
    grep -qE "option\($option " CMakeLists.txt || { echo "a recipe sets $option, which is not an option of CMakeLists.txt"; bad=1; }
done
# NVIDIA's packages of the Dockerfile have the versions of the tests.
for wheel in $(grep -oE 'nvidia-[a-z0-9-]+==[0-9.]+' Dockerfile); do
    grep -qE "(^|[^a-z-])${wheel//./\\.}( |\"|\$)" tools/install-test-tools || { echo "the Dockerfile installs $wheel; tools/install-test-tools has another version"; bad=1; }
done
exit $bad
