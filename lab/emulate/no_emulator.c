/* SPDX-License-Identifier: Apache-2.0 */
/* no_emulator.c - replaces emulated_multiply.c in a build without librung-emulator. */
#include "common/failure.h"
#include "emulate/emulated_multiply.h"

static const char missing[] = "this rung was built without the emulator; configure it with -DRUNG_EMULATOR=ON";

bool lab_emulator_is_available(char *why, size_t capacity)
{
    return lab_set_reason(why, capacity, "%s", missing);
}

bool lab_emulated_multiply(const rung_code *code, const lab_emulated_problem *problem,
                           const lab_emulated_options *options, rung_emulator **emulator, char *why, size_t capacity)
{
    (void)code;
    (void)problem;
    (void)options;
    *emulator = NULL;
    return lab_set_reason(why, capacity, "%s", missing);
}
