/* SPDX-License-Identifier: Apache-2.0 */
/* row_state.c - see row_state.h. */
#include "io/row_state.h"

#include <string.h>

#include "common/enum_names.h"

static const char *const names[] = {LAB_ROW_STATE_LIST(LAB_ENUM_WORD)};

const char *lab_row_state_name(lab_row_state state)
{
    return (unsigned)state < LAB_ROW_STATE_COUNT ? names[state] : "unknown";
}

lab_row_state lab_row_state_of(const char *name)
{
    int state = 0;
    while (state < LAB_ROW_STATE_COUNT && strcmp(names[state], name) != 0)
        state++;
    return (lab_row_state)state;
}
