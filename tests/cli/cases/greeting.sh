# SPDX-License-Identifier: Apache-2.0
# What a newcomer sees first.
try rung
try rung help verify
try rung --version
