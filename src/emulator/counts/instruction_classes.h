/* SPDX-License-Identifier: Apache-2.0 */
/* instruction_classes.h - the class of an instruction in the instruction mix. */
#pragma once

#include "emulator/ptx/module.h"
#include "rung/emulator.h"

enum { PTX_CLASS_COUNT = RUNG_EMULATOR_OTHER + 1 }; /* which is the last class */

rung_emulator_class rungi_ptx_class_of(const ptx_instruction_t *instruction);
