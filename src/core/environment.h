/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - environment variables and their valid values. An invalid value counts as unset, and every context warns
 * about it once; an invalid RUNG_DEVICE or RUNG_CPU_VENDOR also makes calls fail. environment.c lists the core's
 * variables; each backend lists its own. */
#pragma once

#include <stdbool.h>

#include "base/log.h"
#include "rung/rung.h"

typedef struct rungi_environment_variable {
    const char *name;
    const char *valid;                   /* valid values, for the warning: "a number from 1 to 8192" */
    bool (*is_valid)(const char *value); /* for a value that is not empty */
    bool is_ignored_in_setuid;           /* a set-uid program does not read the variable, because it names files */
} rungi_environment_variable;

/* Returns the value of a variable; NULL if it is unset, empty or invalid. */
const char *rungi_environment_variable_value(const rungi_environment_variable *variable);

/* The same for a variable of the core. */
const char *rungi_environment_value(const char *name);

/* Warns about each variable of the core and of all backends that has an invalid value. */
void rungi_environment_warn_invalid(const rungi_logger *logger);

/* Parses decimal digits as a number from `least` to `most`. Returns false for any other text. */
bool rungi_parse_int64(const char *text, int64_t least, int64_t most, int64_t *number);
