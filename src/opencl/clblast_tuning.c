/* SPDX-License-Identifier: Apache-2.0 */
/* clblast_tuning.c - applies the parameters that CLBlast's own tuners found for this device.
 *
 * CLBlast has parameters for some devices and uses those of a similar device for the others, but a fair comparison needs
 * tuned parameters. RUNG_CLBLAST_TUNING names a file written by tools/tune-clblast: one line per kernel of CLBlast, for
 * single precision, such as
 *
 *     Xgemm GEMMK=0 KREG=1 KWG=32 ...
 *
 * and comment lines that begin with #. The file is read once per device. Nothing is applied unless the whole file is
 * valid, because a part of the parameters would be untuned. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program's caller must not name its files */
#include "opencl/clblast.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION_SINGLE = 32, LINE_BYTES = 1024, PARAMETERS_MAX = 32 };

/* CLBlastOverrideParameters, as clblast_c.h declares it. */
typedef int override_function_t(cl_device_id device, const char *kernel, int precision, size_t count,
                                const char **names, const size_t *values);

static rung_status fail_at_line(const char *path, int line, const char *reason)
{
    return rungi_fail(RUNG_STATUS_INVALID,
                      "00_vendor: %s:%d %s; see tools/tune-clblast, or unset "
                      "RUNG_CLBLAST_TUNING",
                      path, line, reason);
}

/* "NAME=123" */
static bool read_parameter(char *word, const char **name, size_t *value)
{
    char *equals = strchr(word, '='), *end;
    if (!equals || equals == word || !isdigit((unsigned char)equals[1]))
        return false;
    *equals = '\0';
    errno = 0;
    *name = word;
    *value = strtoul(equals + 1, &end, 10);
    return *end == '\0' && errno == 0;
}

/* Reads a line and, unless `apply` is NULL, hands it on. *found counts those with parameters. */
static rung_status apply_line(override_function_t *apply, cl_device_id id, const char *path, int number, char *line,
                              int *found)
{
    const char *names[PARAMETERS_MAX];
    size_t values[PARAMETERS_MAX], count = 0;
    char *rest = NULL, *kernel = strtok_r(line, " \n", &rest);
    if (!kernel || kernel[0] == '#')
        return RUNG_OK;
    for (char *word = strtok_r(NULL, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (count == PARAMETERS_MAX || !read_parameter(word, &names[count], &values[count]))
            return fail_at_line(path, number, "is not like \"Xgemm KREG=1 KWG=32\"");
        count++;
    }
    if (count == 0)
        return fail_at_line(path, number, "is not like \"Xgemm KREG=1 KWG=32\"");
    ++*found;
    int error = apply ? apply(id, kernel, PRECISION_SINGLE, count, names, values) : 0;
    if (error != 0) {
        char reason[96];
        snprintf(reason, sizeof reason, "is refused by CLBlast with error %d", error);
        return fail_at_line(path, number, reason);
    }
    return RUNG_OK;
}

static rung_status fail_unreadable(const char *path)
{
    return rungi_fail(RUNG_STATUS_INVALID, "00_vendor: cannot read %s, the file that RUNG_CLBLAST_TUNING names", path);
}

static rung_status apply_lines(override_function_t *apply, cl_device_id id, const char *path, FILE *file)
{
    char line[LINE_BYTES];
    rung_status status = RUNG_OK;
    int number = 1, found = 0;
    rewind(file);
    for (; status == RUNG_OK && fgets(line, sizeof line, file); number++)
        status = strchr(line, '\n') ? apply_line(apply, id, path, number, line, &found)
                                    : fail_at_line(path, number, "is too long or has no end");
    if (status == RUNG_OK && ferror(file))
        return fail_unreadable(path); /* a folder, for one */
    if (status == RUNG_OK && found == 0)
        return fail_at_line(path, number, "is its end, and no parameters were before it");
    return status;
}

static rung_status apply_file(override_function_t *apply, cl_device_id id, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fail_unreadable(path);
    rung_status status = apply_lines(NULL, id, path, file);
    if (status == RUNG_OK)
        status = apply_lines(apply, id, path, file);
    (void)fclose(file);
    return status;
}

rung_status rungi_clblast_load_tuning(rungi_opencl_device *device, const char **from)
{
    const char *path = secure_getenv("RUNG_CLBLAST_TUNING");
    override_function_t *apply;
    rung_status status = RUNG_OK;
    *from = NULL;
    if (!path || !*path)
        return RUNG_OK;
    if (!rungi_clblast_find("CLBlastOverrideParameters", &apply))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: this CLBlast does not accept tuned parameters; install "
                                                   "version 1.0 or later");
    pthread_mutex_lock(&device->lock);
    if (!device->is_clblast_tuned)
        status = apply_file(apply, device->id, path);
    device->is_clblast_tuned = status == RUNG_OK;
    pthread_mutex_unlock(&device->lock);
    *from = status == RUNG_OK ? path : NULL;
    return status;
}
