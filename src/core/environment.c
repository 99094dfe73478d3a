/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - see environment.h. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program's caller must not name its files */
#include "core/environment.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/system_paths.h"
#include "core/context.h"

bool rungi_parse_int64(const char *text, int64_t least, int64_t most, int64_t *number)
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

static bool is_thread_count(const char *value)
{
    int64_t number;
    return rungi_parse_int64(value, 1, RUNGI_THREADS_MAX, &number);
}

static bool is_byte_count(const char *value)
{
    int64_t number;
    return rungi_parse_int64(value, 0, INT64_MAX, &number);
}

/* Returns whether a list begins with the name of a device: "cpu", or "opencl:1". */
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

/* Accepts one device, or several separated by commas. The rung command uses all of them; a multiply of the library fails
 * if there are several. */
static bool is_device_list(const char *value)
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

static bool is_tuning_path(const char *value)
{
    return strlen(value) < RUNGI_TUNING_PATH_BYTES;
}

_Static_assert((int)RUNGI_THREADS_MAX == 8192 && (int)RUNGI_TUNING_PATH_BYTES == 4096,
               "the texts below state these limits");

/* RUNG_VERBOSE is not listed: every value is valid. RUNG_BLAS belongs to librung-blas, which has no log. */
static const rungi_environment_variable variables[] = {
    {"RUNG_DEVICE", "cpu, opencl or cuda, with a number if there are several: opencl:1", is_device_list, false},
    {"RUNG_THREADS", "a number from 1 to 8192", is_thread_count, false},
    {"RUNG_OVERLAP", "a number of bytes; 0 turns overlap off", is_byte_count, false},
    {"RUNG_BLAS", "on or off", is_on_or_off, false},
    {"RUNG_TUNING", "off, or a path of at most 4095 bytes", is_tuning_path, true},
    {"XDG_CONFIG_HOME", "an absolute path", rungi_is_absolute_path, true},
    {"XDG_CACHE_HOME", "an absolute path", rungi_is_absolute_path, true},
};

/* ---- Values ------------------------------------------------------------------------------------------- */

/* Returns the value without validation; NULL if it is unset or empty. */
static const char *raw_value(const rungi_environment_variable *variable)
{
    const char *value = variable->is_ignored_in_setuid ? secure_getenv(variable->name) : getenv(variable->name);
    return value && *value ? value : NULL;
}

const char *rungi_environment_variable_value(const rungi_environment_variable *variable)
{
    const char *value = raw_value(variable);
    return value && variable->is_valid(value) ? value : NULL;
}

const char *rungi_environment_value(const char *name)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (strcmp(variables[i].name, name) == 0)
            return rungi_environment_variable_value(&variables[i]);
    RUNGI_ASSERT(false && "unknown variable");
    return NULL;
}

static void warn_if_invalid(const rungi_logger *logger, const rungi_environment_variable *variable)
{
    const char *value = raw_value(variable);
    if (value && !variable->is_valid(value))
        rungi_logger_write(logger, RUNGI_LOG_WARNING, "rung: %s is \"%.80s%s\", which is not valid (valid: %s)",
                           variable->name, value, strlen(value) > 80 ? "..." : "", variable->valid);
}

void rungi_environment_warn_invalid(const rungi_logger *logger)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        warn_if_invalid(logger, &variables[i]);
    for (int i = 0; rungi_backends[i]; i++)
        for (const rungi_environment_variable *const *at = rungi_backends[i]->variables; at && *at; at++)
            warn_if_invalid(logger, *at);
}
