/* SPDX-License-Identifier: Apache-2.0 */
/* clblast.c - runs 00_vendor with CLBlast, which is loaded when it is first requested.
 *
 * The declarations that are needed are here and in clblast.h, so that building needs no header of CLBlast.
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

#include "base/assert.h"
#include "base/dynamic_library.h"
#include "base/try.h"

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 };

/* Looks up a function of CLBlast. Returns false if CLBlast is not installed. The library is never closed, like a driver,
 * because CLBlast caches compiled programs. Calling dlopen again is cheap. */
static bool find_function(const char *name, void *function)
{
    void *library = rungi_library_open_file("libclblast.so.1", false);
    return library && rungi_library_symbol(library, name, function, sizeof(void *));
}

void rungi_clblast_where(char *text, size_t capacity)
{
    rungi_clblast_sgemm *sgemm;
    snprintf(text, capacity, "%s", find_function("CLBlastSgemm", &sgemm) ? "libclblast.so.1" : "");
}

/* ---- Tuned parameters ---------------------------------------------------------------------------------------- */

enum { PRECISION_SINGLE = 32, LINE_BYTES = 1024, PARAMETERS_MAX = 32 };

/* CLBlastOverrideParameters, as clblast_c.h declares it. */
typedef int override_function_t(cl_device_id device, const char *kernel, int precision, size_t count,
                                const char **names, const size_t *values);

static rung_status fail_at_line(const char *path, int line, const char *reason)
{
    return rungi_invalid("00_vendor: %s:%d %s; see tools/tune-clblast, or unset RUNG_CLBLAST_TUNING", path, line,
                         reason);
}

/* Parses "NAME=123". */
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

/* Parses a line and, unless `apply` is NULL, applies it. *found counts the lines with parameters. */
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
    return rungi_invalid("00_vendor: cannot read %s, the file that RUNG_CLBLAST_TUNING names", path);
}

static rung_status apply_lines(override_function_t *apply, cl_device_id id, const char *path, FILE *file)
{
    char line[LINE_BYTES];
    int number = 1, found = 0;
    rewind(file);
    for (; fgets(line, sizeof line, file); number++)
        TRY(strchr(line, '\n') ? apply_line(apply, id, path, number, line, &found)
                               : fail_at_line(path, number, "is too long or has no end"));
    if (ferror(file))
        return fail_unreadable(path); /* for example a folder */
    if (found == 0)
        return fail_at_line(path, number, "is its end, and no parameters were before it");
    return RUNG_OK;
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

/* Applies the file that RUNG_CLBLAST_TUNING names, once per device. Returns its path in `from`, or NULL. */
static rung_status load_tuning(rungi_opencl_device *device, const char **from)
{
    const char *path = secure_getenv("RUNG_CLBLAST_TUNING");
    override_function_t *apply;
    rung_status status = RUNG_OK;
    *from = NULL;
    if (!path || !*path)
        return RUNG_OK;
    if (!find_function("CLBlastOverrideParameters", &apply))
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

/* ---- Plans --------------------------------------------------------------------------------------------------- */

static bool blas_layout(const rung_matrix *view, int *transpose, size_t *ld)
{
    bool by_rows;
    int64_t stride;
    bool can = rungi_simt_blas_layout(view, &by_rows, &stride);
    *transpose = by_rows ? NOT_TRANSPOSED : TRANSPOSED;
    *ld = (size_t)stride;
    return can;
}

rung_status rungi_clblast_plan_create(rung_plan *plan, rungi_clblast_plan *clblast)
{
    rung_problem row_major = rungi_simt_row_major(&plan->problem);
    const char *tuning_file;
    int c_transpose;
    bool found = row_major.c.type == RUNG_F64 ? find_function("CLBlastDgemm", &clblast->dgemm)
                                              : find_function("CLBlastSgemm", &clblast->sgemm);
    if (!found)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: libclblast.so.1 was not found; install CLBlast "
                                                   "(libclblast1)");
    if (row_major.batch != 1)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: batches are not supported with CLBlast");
    plan->info.library = "CLBlast"; /* CLBlast does not report its version */
    if (row_major.a.cols == 0 || !blas_layout(&row_major.a, &clblast->a_transpose, &clblast->a_ld) ||
        !blas_layout(&row_major.b, &clblast->b_transpose, &clblast->b_ld) ||
        !blas_layout(&row_major.c, &c_transpose, &clblast->c_ld) || c_transpose != NOT_TRANSPOSED)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: CLBlast needs matrices with one stride of 1 and "
                                                   "k of at least 1");
    TRY(load_tuning(rungi_opencl_device_of(plan->device), &tuning_file));
    if (tuning_file && clblast->sgemm) {
        plan->info.origin = RUNG_ORIGIN_TUNING;
        snprintf(plan->origin_text, sizeof plan->origin_text, "%s", tuning_file);
    }
    return RUNG_OK;
}

/* Calls CLBlast and returns its status. */
static int multiply(const rungi_clblast_plan *clblast, const rung_problem *row_major, cl_command_queue *queue,
                    cl_event *event)
{
    const rung_matrix *a = &row_major->a, *b = &row_major->b, *c = &row_major->c;
    size_t m = (size_t)c->rows, n = (size_t)c->cols, k = (size_t)a->cols;
    size_t a_offset = (size_t)rungi_simt_view_offset(a), b_offset = (size_t)rungi_simt_view_offset(b);
    size_t c_offset = (size_t)rungi_simt_view_offset(c);
    if (clblast->dgemm)
        return clblast->dgemm(ROW_MAJOR, clblast->a_transpose, clblast->b_transpose, m, n, k, row_major->alpha,
                              rungi_opencl_memory_of(a), a_offset, clblast->a_ld, rungi_opencl_memory_of(b), b_offset,
                              clblast->b_ld, row_major->beta, rungi_opencl_memory_of(c), c_offset, clblast->c_ld, queue,
                              event);
    return clblast->sgemm(ROW_MAJOR, clblast->a_transpose, clblast->b_transpose, m, n, k, (float)row_major->alpha,
                          rungi_opencl_memory_of(a), a_offset, clblast->a_ld, rungi_opencl_memory_of(b), b_offset,
                          clblast->b_ld, (float)row_major->beta, rungi_opencl_memory_of(c), c_offset, clblast->c_ld,
                          queue, event);
}

rung_status rungi_clblast_plan_run(rung_plan *plan, const rungi_clblast_plan *clblast, rung_queue *queue,
                                   const rung_problem *problem, const rung_run_options *options)
{
    rungi_cl *cl = rungi_opencl_device_of(plan->device)->cl;
    rung_problem row_major = rungi_simt_row_major(problem);
    cl_command_queue native = rungi_opencl_native_queue(queue);
    rungi_opencl_waits waits;
    cl_event marker = NULL, event = NULL;
    /* CLBlast would read A and B; the core handles alpha = 0 (see rung_plan.zero_alpha_plan). */
    RUNGI_ASSERT(row_major.alpha != 0.0);
    rungi_opencl_waits_collect(options, &waits);
    /* CLBlast accepts no wait list and returns the event of its last command only. The marker waits for the list,
     * and its event is the start. */
    TRY(RUNGI_CL_CALL(cl, EnqueueMarkerWithWaitList, native, waits.count, waits.list, &marker));
    rungi_cl_track(cl, RUNGI_CL_EVENT);
    int status = multiply(clblast, &row_major, &native, &event);
    if (status != 0) {
        rungi_cl_release_event(cl, marker);
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: CLBlast failed with error %d", status);
    }
    rungi_cl_track(cl, RUNGI_CL_EVENT);
    rungi_opencl_signal(cl, options, marker, event);
    return RUNG_OK;
}
