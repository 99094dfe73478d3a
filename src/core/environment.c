/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - see environment.h. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program's caller must not name its files */
#include "core/environment.h"

#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/context.h"
#include "core/store.h"

bool rungi_read_whole(const char *text, int64_t least, int64_t most, int64_t *number)
{
    int64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (*text - '0');
    }
    *number = value;
    return value >= least && value <= most;
}

/* ---- The core's variables ----------------------------------------------------------------------------- */

static bool is_threads(const char *value)
{
    int64_t number;
    return rungi_read_whole(value, 1, RUNGI_THREADS_MAX, &number);
}

static bool is_bytes(const char *value)
{
    int64_t number;
    return rungi_read_whole(value, 0, INT64_MAX, &number);
}

/* The first word of a list: "cpu", or "opencl:1". */
static bool begins_with_device(const char *list)
{
    size_t length = strcspn(list, ":,"), digits = list[length] == ':' ? strspn(list + length + 1, "0123456789") : 0;
    size_t end = list[length] == ':' ? length + 1 + digits : length;
    bool has_number = list[length] != ':' || (digits > 0 && digits < 5);
    for (int i = 0; rungi_backends[i]; i++)
        if (strlen(rungi_backends[i]->name) == length && memcmp(rungi_backends[i]->name, list, length) == 0)
            return has_number && (list[end] == ',' || list[end] == '\0');
    return false;
}

/* A device, or several with commas between them, which the rung command takes; a multiply of the library takes one,
 * and fails where there are more. */
static bool is_device(const char *value)
{
    while (begins_with_device(value)) {
        value += strcspn(value, ",");
        if (!*value)
            return true;
        value++;
    }
    return false;
}

static bool is_on_or_off(const char *value)
{
    return strcmp(value, "on") == 0 || strcmp(value, "off") == 0;
}

static bool is_store(const char *value)
{
    return strlen(value) < RUNGI_STORE_PATH;
}

static bool is_absolute(const char *value)
{
    return value[0] == '/';
}

_Static_assert((int)RUNGI_THREADS_MAX == 8192 && (int)RUNGI_STORE_PATH == 4096, "sentences below say so");

/* RUNG_VERBOSE takes any word. RUNG_BLAS is librung-blas's, which reports nothing itself. */
static const rungi_variable variables[] = {
    {"RUNG_DEVICE", "cpu, opencl, cuda, or one of several by its number, opencl:1", is_device, false},
    {"RUNG_THREADS", "a whole number from 1 to 8192", is_threads, false},
    {"RUNG_OVERLAP", "a whole number of bytes, 0 for never", is_bytes, false},
    {"RUNG_BLAS", "on, off", is_on_or_off, false},
    {"RUNG_TUNING", "off, or a path of at most 4095 bytes", is_store, true},
    {"XDG_CONFIG_HOME", "an absolute path", is_absolute, true},
    {"XDG_CACHE_HOME", "an absolute path", is_absolute, true},
};

/* ---- Reading ------------------------------------------------------------------------------------------ */

/* NULL if it is unset or empty. */
static const char *text_of(const rungi_variable *variable)
{
    const char *value = variable->is_trusted_only ? secure_getenv(variable->name) : getenv(variable->name);
    return value && *value ? value : NULL;
}

const char *rungi_variable_value(const rungi_variable *variable)
{
    const char *value = text_of(variable);
    return value && variable->takes(value) ? value : NULL;
}

const char *rungi_environment_value(const char *name)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strcmp(variables[i].name, name) == 0)
            return rungi_variable_value(&variables[i]);
    RUNGI_ASSERT(!"a variable of the core");
    return NULL;
}

static void report(const rung_context *context, const rungi_variable *variable)
{
    const char *value = text_of(variable);
    if (value && !variable->takes(value))
        rungi_warn(context, "rung: %s is \"%.80s%s\", which is not valid (valid: %s)", variable->name, value,
                   strlen(value) > 80 ? "..." : "", variable->valid);
}

void rungi_environment_report(const rung_context *context)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        report(context, &variables[i]);
    for (int i = 0; rungi_backends[i]; i++)
        for (const rungi_variable *const *at = rungi_backends[i]->variables; at && *at; at++)
            report(context, *at);
}
