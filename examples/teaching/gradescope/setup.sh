#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh - Gradescope runs it once as root, when it builds the image of the autograder: installs rung and NVIDIA's compiler.
set -eu
root=${RUNG_AUTOGRADER:-/autograder} # tests use another folder
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv
python3 -m venv "$root/rung"
"$root/rung/bin/pip" install --quiet "$(echo "$root"/source/wheels/rung-*.whl)[lab]"
"$root/rung/bin/rung" --version
