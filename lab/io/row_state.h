/* SPDX-License-Identifier: Apache-2.0 */
/* row_state.h - the outcome of one kernel on one problem of a measurement. Programs use the state; the message next to it
 * (why_not) is for people. */
#pragma once

/* Name, word in JSON. */
/* clang-format off */
#define LAB_ROW_STATE_LIST(X)                                                              \
    X(PENDING,     "pending")     /* not run yet */                                        \
    X(OK,          "ok")          /* verified, and timed where that was asked for */       \
    X(WRONG,       "wrong")       /* ran, and its result is wrong */                       \
    X(REFUSED,     "refused")     /* the library or the device refused it, or failed */    \
    X(SKIPPED,     "skipped")     /* not run, since it would take too long */              \
    X(INTERRUPTED, "interrupted") /* stopped by the user before it had enough samples */   \
    X(IMPLAUSIBLE, "implausible") /* faster than its own instructions: measured wrongly */
/* clang-format on */

typedef enum lab_row_state {
#define X(name, word) LAB_ROW_##name,
    LAB_ROW_STATE_LIST(X)
#undef X
        LAB_ROW_STATE_COUNT
} lab_row_state;

const char *lab_row_state_name(lab_row_state state);

/* Returns the state with this name, LAB_ROW_STATE_COUNT if there is none. */
lab_row_state lab_row_state_of(const char *name);
