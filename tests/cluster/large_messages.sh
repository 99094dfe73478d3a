#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# More than 2^31 bytes between two ranks; by hand, since it takes 10 GB.
source "$(dirname "$0")/common.sh"
launch own 2 "$programs/cluster_large_messages" || fail "wrong"
