/* SPDX-License-Identifier: Apache-2.0 */
/* access_counters_child.c - the child's part of access_counters.h: multiplies once on Oclgrind with our plugin.
 *
 * The parent (access_counters.c) sets the environment. The child checks the result and appends what the plugin cannot
 * know to the plugin's file. Errors go to standard error, which the parent reports. */
#include "explain/access_counters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "target/target.h"
#include "verify/verify.h"

static const uint64_t SEED = 3;

enum { CHILD_ARGUMENTS = 6, VECTOR_STORES_BYTES = 4096 };

typedef struct simulated_run {
    lab_target target;
    rung_kernel *kernel;
    char parameters[RUNG_PARAMETERS_BYTES];
    rung_problem host_problem, device_problem; /* in host memory, and on the device */
    rung_buffer *workspace;
    rung_plan *plan;
    char why[8192]; /* what failed; "" if it is already printed */
} simulated_run_t;

bool lab_access_counters_is_child(int argc, char **argv)
{
    return argc == 1 + CHILD_ARGUMENTS && strcmp(argv[1], "--under-microscope") == 0;
}

/* Reads the arguments that the parent wrote, which are valid. */
static void read_request(char **argv, lab_access_request *request)
{
    int compute = 0, b_col_major = 0;
    *request = (lab_access_request){.kernel = argv[2], .parameters = *argv[3] ? argv[3] : NULL};
    lab_type_pair_find(argv[4], strlen(argv[4]), &request->product);
    sscanf(argv[5], LAB_ACCESS_CHILD_NUMBERS(SCNd64), &compute, &b_col_major, &request->m, &request->n, &request->k,
           &request->a_stride, &request->b_stride, &request->c_stride);
    request->compute = (rung_compute)compute;
    request->b_col_major = b_col_major != 0;
}

/* ---- Kernel and parameters ---- */

/* Passes the lines of put_two and put_four (mma.h) to the plugin, which reads them before each launch. Both are macros
 * with two or four stores, which are one store on a GPU. */
static bool export_vector_stores(simulated_run_t *run)
{
    const char *source = rung_kernel_describe(run->kernel)->source;
    char text[VECTOR_STORES_BYTES] = "";
    size_t used = 0;
    int line = 1;
    bool has_macros = strstr(source, "\"mma.h\"") != NULL;
    for (const char *at = source; has_macros && *at; at++) {
        int parts = strncmp(at, "put_two(", 8) == 0 ? 2 : strncmp(at, "put_four(", 9) == 0 ? 4 : 0;
        if (parts > 0 && used + 32 >= sizeof text)
            return lab_set_reason(
                run->why, sizeof run->why,
                "the kernel has too many calls of put_two and put_four; memory accesses cannot be counted");
        if (parts > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%d:%d,", line, parts);
        line += *at == '\n';
    }
    return setenv("RUNG_MICROSCOPE_PUTS", text, 1) == 0;
}

/* Oclgrind is a CPU device, for which the library would choose other parameters. CHECKED=0 disables the second copy
 * that the check for missing waits makes. */
bool lab_access_request_parameters(const rung_kernel *kernel, lab_type_pair product, const char *given,
                                   char text[RUNG_PARAMETERS_BYTES])
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    const char *chosen = given ? given : info->defaults;
    const char *sum = rung_type_name(lab_type_pair_accumulator(product));
    for (int64_t i = 0; !given && i < info->preset_count; i++)
        if (strcmp(rung_kernel_preset(kernel, i)->name, sum) == 0)
            chosen = rung_kernel_preset(kernel, i)->name;
    const char *unchecked = "";
    for (int64_t i = 0; i < info->parameter_count; i++)
        if (strcmp(rung_kernel_parameter(kernel, i)->name, "CHECKED") == 0)
            unchecked = *chosen ? ",CHECKED=0" : "CHECKED=0";
    int length = snprintf(text, RUNG_PARAMETERS_BYTES, "%s%s", chosen, unchecked);
    return length >= 0 && length < RUNG_PARAMETERS_BYTES;
}

/* Opens Oclgrind's device and the kernel. Another device has no counters. */
static bool open_simulator(const lab_access_request *request, simulated_run_t *run)
{
    lab_options options = {.device = "opencl"};
    if (lab_target_open(&options, NULL, &run->target) != LAB_EXIT_SUCCESS ||
        !lab_kernel_open(run->target.context, "opencl", request->kernel, &run->kernel, run->why, sizeof run->why))
        return false;
    const char *platform = rung_device_describe(run->target.device)->platform;
    return strcmp(platform, "Oclgrind") == 0 ||
           lab_set_reason(
               run->why, sizeof run->why,
               "OpenCL selected %s instead of Oclgrind, which counts the memory accesses; install the OpenCL "
               "loader ocl-icd (Debian: ocl-icd-libopencl1) and remove other copies of libOpenCL",
               platform);
}

/* ---- Multiply ---- */

/* Allocates a matrix in host and device memory; `stride` is its leading dimension (0: dense). */
static bool make_operand(const simulated_run_t *run, rung_type type, int64_t rows, int64_t cols, bool is_col_major,
                         int64_t stride, rung_matrix *host, rung_matrix *device)
{
    int64_t along = is_col_major ? rows : cols, across = is_col_major ? cols : rows;
    stride = stride < along ? along : stride;
    int64_t bytes = across * stride * rung_type_size(type);
    *host = rung_matrix_block(rung_matrix_of(type, across, stride, calloc(1, (size_t)bytes)), 0, 0, across, along);
    *device = *host;
    device->data = NULL;
    if (!host->data || rung_buffer_create(run->target.device, bytes, &device->buffer) != RUNG_OK)
        return false;
    if (is_col_major) {
        *host = rung_matrix_transpose(*host);
        *device = rung_matrix_transpose(*device);
    }
    return true;
}

/* Returns the size of the matrix in memory, with gaps. */
static int64_t bytes_of(const rung_matrix *matrix)
{
    bool is_col_major = matrix->col_stride > 1;
    int64_t across = is_col_major ? matrix->cols : matrix->rows;
    return across * (is_col_major ? matrix->col_stride : matrix->row_stride) * rung_type_size(matrix->type);
}

/* Fills an input with small integers and copies it to the device. */
static bool fill_and_upload(const simulated_run_t *run, const rung_matrix *host, const rung_matrix *device,
                            uint64_t stream)
{
    lab_fill_small_integers(host, 1, SEED, stream);
    return rung_buffer_write(run->target.queue, device->buffer, 0, bytes_of(host), host->data, NULL) == RUNG_OK;
}

static bool make_problem(const lab_access_request *request, simulated_run_t *run)
{
    rung_type in = request->product.in, out = request->product.out;
    rung_matrix host[3], device[3];
    if (!make_operand(run, in, request->m, request->k, false, request->a_stride, &host[0], &device[0]) ||
        !make_operand(run, in, request->k, request->n, request->b_col_major, request->b_stride, &host[1], &device[1]) ||
        !make_operand(run, out, request->m, request->n, false, request->c_stride, &host[2], &device[2]))
        return false;
    run->host_problem = rung_problem_of(host[0], host[1], host[2]);
    run->device_problem = rung_problem_of(device[0], device[1], device[2]);
    run->host_problem.compute = run->device_problem.compute = request->compute;
    return fill_and_upload(run, &host[0], &device[0], 1) && fill_and_upload(run, &host[1], &device[1], 2);
}

static bool run_plan(simulated_run_t *run)
{
    rung_plan_options options = {
        .size = sizeof(rung_plan_options), .kernel = run->kernel, .parameters = run->parameters, .split_k = 1};
    rung_run_options run_options = {.size = sizeof(rung_run_options)};
    rung_queue *queue = run->target.queue;
    const rung_matrix *c = &run->host_problem.c;
    if (rung_plan_create(run->target.device, &run->device_problem, &options, &run->plan) != RUNG_OK)
        return false;
    int64_t bytes = rung_plan_describe(run->plan)->workspace_bytes;
    if (rung_buffer_create(run->target.device, bytes, &run->workspace) != RUNG_OK)
        return false;
    run_options.workspace = run->workspace;
    return rung_plan_run(run->plan, queue, &run->device_problem, &run_options) == RUNG_OK &&
           rung_buffer_read(queue, run->device_problem.c.buffer, 0, bytes_of(c), c->data, NULL) == RUNG_OK &&
           rung_queue_finish(queue) == RUNG_OK;
}

static bool is_result_correct(simulated_run_t *run)
{
    char why[256];
    if (lab_freivalds_check(&run->host_problem, SEED, why, sizeof why))
        return true;
    const rung_kernel_info *info = rung_kernel_describe(run->kernel);
    bool is_file = info->number == -1;
    return lab_set_reason(run->why, sizeof run->why, "%s computes a wrong result: %s%s%s%s", info->name, why,
                          is_file ? "; run \"rung verify " : "", is_file ? info->file : "",
                          is_file ? "\" for details" : "");
}

/* Writes the last line, without which the parent rejects the file. */
static bool write_end(simulated_run_t *run, const char *path)
{
    FILE *out = fopen(path, "ae");
    bool good = out && fprintf(out, "run\t%s\n", rung_plan_describe(run->plan)->parameters) > 0;
    good = out && fclose(out) == 0 && good;
    return good || lab_set_reason(run->why, sizeof run->why, "cannot write %s: %s", path, strerror(errno));
}

static bool run_request(const lab_access_request *request, const char *output, simulated_run_t *run)
{
    if (!open_simulator(request, run) || !export_vector_stores(run))
        return false;
    if (!lab_access_request_parameters(run->kernel, request->product, request->parameters, run->parameters))
        return lab_set_reason(run->why, sizeof run->why,
                              "the list of parameters is too long; the maximum is %d bytes, with CHECKED=0",
                              RUNG_PARAMETERS_BYTES - 1);
    if (!make_problem(request, run) || !run_plan(run))
        return lab_set_reason(run->why, sizeof run->why, "%s", rung_error_text());
    return is_result_correct(run) && write_end(run, output);
}

static void close_simulated_run(simulated_run_t *run)
{
    rung_matrix *host[] = {&run->host_problem.a, &run->host_problem.b, &run->host_problem.c};
    rung_matrix *device[] = {&run->device_problem.a, &run->device_problem.b, &run->device_problem.c};
    for (int i = 0; i < 3; i++) {
        free(host[i]->data);
        rung_buffer_destroy(device[i]->buffer);
    }
    rung_buffer_destroy(run->workspace);
    rung_plan_destroy(run->plan);
    rung_kernel_destroy(run->kernel);
    lab_target_close(&run->target);
}

int lab_access_counters_child_main(int argc, char **argv)
{
    lab_access_request request;
    simulated_run_t run = {0};
    (void)argc;
    read_request(argv, &request);
    bool good = run_request(&request, argv[CHILD_ARGUMENTS], &run);
    if (!good && *run.why)
        fprintf(stderr, "rung: %s\n", run.why);
    close_simulated_run(&run);
    return good ? LAB_EXIT_SUCCESS : LAB_EXIT_WRONG;
}
