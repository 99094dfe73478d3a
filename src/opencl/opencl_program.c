/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_program.c - compiles kernel files. A device compiles each kernel once per set of parameters. */
#include "opencl/opencl_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"

static rungi_opencl_program *find_program(rungi_opencl_device *device, const char *source, const char *options)
{
    for (rungi_opencl_program *at = device->programs; at; at = at->next)
        if (strcmp(at->options, options) == 0 && strcmp(at->source, source) == 0)
            return at;
    return NULL;
}

/* Finds the file and line that line `number` of the assembled text comes from, by its #line directives. */
static long find_origin(const char *source, long number, const char **file, int *file_length)
{
    long line = 1;
    *file = "input.cl";
    *file_length = (int)strlen(*file);
    for (long at = 1; at < number; at++, source++) {
        line++;
        if (strncmp(source, "#line ", 6) == 0) {
            const char *name = memchr(source, '"', strcspn(source, "\n"));
            line = strtol(source + 6, NULL, 10);
            if (name) {
                *file = name + 1;
                *file_length = (int)strcspn(*file, "\"\n");
            }
        }
        source += strcspn(source, "\n");
        if (!*source)
            break;
    }
    return line;
}

/* Copies a compiler's log with the places of the assembled text replaced by those of the files it was assembled
 * from. Compilers that obey #line have done so already; Oclgrind's names the text input.cl and counts its lines. */
static void restore_line_numbers(const char *source, const char *log, char *text, size_t capacity)
{
    static const char assembled_name[] = "input.cl:";
    size_t used = 0;
    bool line_begins = true;
    for (; *log && used + 1 < capacity; log++) {
        char *end = NULL;
        long number = line_begins && strncmp(log, assembled_name, sizeof assembled_name - 1) == 0
                          ? strtol(log + sizeof assembled_name - 1, &end, 10)
                          : 0;
        if (number > 0) {
            const char *file;
            int file_length;
            long line = find_origin(source, number, &file, &file_length);
            int written = snprintf(text + used, capacity - used, "%.*s:%ld", file_length, file, line);
            used += (size_t)written < capacity - used ? (size_t)written : capacity - used - 1;
            log = end;
        }
        line_begins = *log == '\n';
        if (!*log || used + 1 >= capacity)
            break;
        text[used++] = *log;
    }
    text[used] = '\0';
}

/* Makes the compiler's log the error text. */
static rung_status fail_with_log(rungi_opencl_device *device, const rungi_opencl_program *made, cl_int error,
                                 const char *file)
{
    char log[3000] = "";
    size_t length = 0;
    rung_context *context = device->base.context;
    device->cl->GetProgramBuildInfo(made->program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &length);
    char *full_log = length > 0 ? rungi_allocate_zeroed(context, length + 1) : NULL;
    if (full_log) {
        device->cl->GetProgramBuildInfo(made->program, device->id, CL_PROGRAM_BUILD_LOG, length, full_log, NULL);
        restore_line_numbers(made->source, full_log, log, sizeof log);
        rungi_release(context, full_log);
    }
    return rungi_fail(RUNG_STATUS_COMPILE_FAILED, "%s did not compile with %s (OpenCL error %d):\n%s", file,
                      made->options, (int)error, *log ? log : "the compiler gave no reason");
}

static rung_status build(rungi_opencl_device *device, const char *file, rungi_opencl_program *made)
{
    cl_int error;
    const char *source = made->source;
    made->program = device->cl->CreateProgramWithSource(device->context, 1, &source, NULL, &error);
    TRY(rungi_cl_check(error, "clCreateProgramWithSource"));
    rungi_cl_track(device->cl, RUNGI_CL_PROGRAM);
    error = device->cl->BuildProgram(made->program, 1, &device->id, made->options, NULL, NULL);
    if (error == CL_OUT_OF_HOST_MEMORY || error == CL_OUT_OF_RESOURCES)
        return rungi_cl_check(error, "clBuildProgram");
    return error == CL_SUCCESS ? RUNG_OK : fail_with_log(device, made, error, file);
}

static void free_program(rungi_opencl_device *device, rungi_opencl_program *program)
{
    rungi_cl_release_program(device->cl, program->program);
    rungi_release(device->base.context, program->source);
    rungi_release(device->base.context, program);
}

/* The caller holds the device's lock. Takes over `source`. */
static rung_status make_program(rungi_opencl_device *device, const char *file, char *source, const char *options,
                                rungi_opencl_program **out)
{
    rungi_opencl_program *made = rungi_allocate_zeroed(device->base.context, sizeof *made + strlen(options) + 1);
    if (!made) {
        rungi_release(device->base.context, source);
        return RUNG_STATUS_NO_MEMORY;
    }
    made->source = source;
    made->options = strcpy((char *)(made + 1), options);
    rung_status status = build(device, file, made);
    if (status != RUNG_OK) {
        free_program(device, made);
        return status;
    }
    made->next = device->programs;
    device->programs = made;
    *out = made;
    return RUNG_OK;
}

rung_status rungi_opencl_program_of(rungi_opencl_device *device, const rung_kernel *kernel,
                                    const rungi_parameter_values *values, const rungi_simt_path *path,
                                    cl_program *program)
{
    static const char first[] = "-cl-std=CL1.2 -w ";
    char options[sizeof first - 1 + RUNGI_SIMT_DEFINES_BYTES], *source;
    strcpy(options, first);
    rungi_simt_defines(kernel, values, path, options + sizeof first - 1);
    TRY(rungi_simt_source_of_path(kernel, path, &source));
    rung_status status = RUNG_OK;
    pthread_mutex_lock(&device->lock);
    rungi_opencl_program *found = find_program(device, source, options);
    bool is_cached = found != NULL;
    if (is_cached)
        rungi_release(device->base.context, source);
    else
        status = make_program(device, kernel->info.file, source, options, &found);
    *program = status == RUNG_OK ? found->program : NULL;
    pthread_mutex_unlock(&device->lock);
    /* Not under the lock: the caller's log function may call the library. */
    if (status == RUNG_OK && !is_cached)
        rungi_log(device->base.context, 2, "rung: %s compiled %s %s", device->base.info.name, kernel->info.file,
                  options);
    return status;
}

void rungi_opencl_programs_release(rungi_opencl_device *device)
{
    while (device->programs) {
        rungi_opencl_program *program = device->programs;
        device->programs = program->next;
        free_program(device, program);
    }
}
