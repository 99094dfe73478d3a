/* SPDX-License-Identifier: Apache-2.0 */
/* vendor_tuning.c - parameters that CLBlast's own tuners found for this device, handed to it.
 *
 * CLBlast knows some devices and takes others for the nearest of them, and a library is only
 * worth beating at its best. RUNG_CLBLAST_TUNING names a file that tools/tune-clblast has
 * written: a line a kernel of CLBlast's, for single precision, as in
 *
 *     Xgemm GEMMK=0 KREG=1 KWG=32 ...
 *
 * and lines that begin with # between them. It is read once a device, and none of it is handed on
 * unless all of it reads well: half of a file would be nobody's tuning. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program's caller must not name its files */
#include "opencl/vendor.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLE = 32, LINE_BYTES = 1024, PARAMETERS_MAX = 32 };

/* CLBlastOverrideParameters, as clblast_c.h declares it. */
typedef int override_function_t(cl_device_id device, const char *kernel, int precision, size_t count,
                                const char **names, const size_t *values);

static rung_status refuse(const char *path, int line, const char *why)
{
    return rungi_fail(RUNG_STATUS_INVALID,
                      "00_vendor: %s:%d %s; see tools/tune-clblast, or unset "
                      "RUNG_CLBLAST_TUNING",
                      path, line, why);
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
static rung_status take_line(override_function_t *apply, cl_device_id id, const char *path, int number, char *line,
                             int *found)
{
    const char *names[PARAMETERS_MAX];
    size_t values[PARAMETERS_MAX], count = 0;
    char *rest = NULL, *kernel = strtok_r(line, " \n", &rest);
    if (!kernel || kernel[0] == '#')
        return RUNG_OK;
    for (char *word = strtok_r(NULL, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        if (count == PARAMETERS_MAX || !read_parameter(word, &names[count], &values[count]))
            return refuse(path, number, "is not like \"Xgemm KREG=1 KWG=32\"");
        count++;
    }
    if (count == 0)
        return refuse(path, number, "is not like \"Xgemm KREG=1 KWG=32\"");
    ++*found;
    int error = apply ? apply(id, kernel, SINGLE, count, names, values) : 0;
    if (error != 0) {
        char why[96];
        snprintf(why, sizeof why, "is refused by CLBlast with error %d", error);
        return refuse(path, number, why);
    }
    return RUNG_OK;
}

static rung_status cannot_be_read(const char *path)
{
    return rungi_fail(RUNG_STATUS_INVALID, "00_vendor: RUNG_CLBLAST_TUNING names %s, which cannot be read", path);
}

static rung_status take_lines(override_function_t *apply, cl_device_id id, const char *path, FILE *file)
{
    char line[LINE_BYTES];
    rung_status status = RUNG_OK;
    int number = 1, found = 0;
    rewind(file);
    for (; status == RUNG_OK && fgets(line, sizeof line, file); number++)
        status = strchr(line, '\n') ? take_line(apply, id, path, number, line, &found)
                                    : refuse(path, number, "is too long or has no end");
    if (status == RUNG_OK && ferror(file))
        return cannot_be_read(path); /* a folder, for one */
    if (status == RUNG_OK && found == 0)
        return refuse(path, number, "is its end, and no parameters were before it");
    return status;
}

static rung_status apply_file(override_function_t *apply, cl_device_id id, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return cannot_be_read(path);
    rung_status status = take_lines(NULL, id, path, file);
    if (status == RUNG_OK)
        status = take_lines(apply, id, path, file);
    (void)fclose(file);
    return status;
}

rung_status rungi_opencl_vendor_tune(rungi_opencl_device *device, const char **from)
{
    const char *path = secure_getenv("RUNG_CLBLAST_TUNING");
    override_function_t *apply;
    rung_status status = RUNG_OK;
    *from = NULL;
    if (!path || !*path)
        return RUNG_OK;
    if (!rungi_opencl_vendor_find("CLBlastOverrideParameters", &apply))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: this CLBlast takes no tuned parameters; it does from "
                                                   "version 1.0 on");
    pthread_mutex_lock(&device->lock);
    if (!device->is_vendor_tuned)
        status = apply_file(apply, device->id, path);
    device->is_vendor_tuned = status == RUNG_OK;
    pthread_mutex_unlock(&device->lock);
    *from = status == RUNG_OK ? path : NULL;
    return status;
}
