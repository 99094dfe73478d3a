#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# checked.sh: products with errors on 1, 2 and 4 ranks.
source "$(dirname "$0")/common.sh"
for ranks in 1 2 4; do
    limit=60 launch own $ranks "$programs/cluster_checked" || fail "wrong on $ranks ranks"
done
