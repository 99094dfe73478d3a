/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - variables of the environment, each with the values it takes. A value that it does not take counts as
 * unset, and every context reports it once; an invalid RUNG_DEVICE or RUNG_CPU_VENDOR also makes calls fail. The core's variables are listed in environment.c; a backend lists its own. */
#ifndef RUNGI_ENVIRONMENT_H
#define RUNGI_ENVIRONMENT_H

#include <stdbool.h>

#include "rung/rung.h"

typedef struct rungi_variable {
    const char *name;
    const char *valid;                /* what it takes, for the report: "a number from 1 to 8192" */
    bool (*takes)(const char *value); /* of a value that is not empty */
    bool is_trusted_only;             /* a set-uid program does not read it: it names files */
} rungi_variable;

/* The value of a variable; NULL if it is unset, empty or one that the variable does not take. */
const char *rungi_variable_value(const rungi_variable *variable);

/* The same for a variable of the core, by its name. */
const char *rungi_environment_value(const char *name);

/* Reports each variable, of the core and of all backends, whose value it does not take. */
void rungi_environment_report(const rung_context *context);

/* Reads a whole number in decimal digits, from `least` to `most`; false if the text is anything else. */
bool rungi_read_whole(const char *text, int64_t least, int64_t most, int64_t *number);

#endif /* RUNGI_ENVIRONMENT_H */
