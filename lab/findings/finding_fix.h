/* SPDX-License-Identifier: Apache-2.0 */
/* finding_fix.h - one sentence on how to fix a finding, for `rung check`, `rung verify` and `rung emulate`. */
#pragma once

#include "rung/emulator.h"

/* Returns a sentence on how to fix a finding. `kind` is a name of rung_emulator_finding_name() or "launch-failed". Returns ""
 * if the kind is unknown. */
const char *lab_finding_fix(const char *kind, rung_emulator_memory memory, rung_emulator_cause cause);
