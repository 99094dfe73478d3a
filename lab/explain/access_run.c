/* SPDX-License-Identifier: Apache-2.0 */
/* access_run.c - makes the problem of an access request and runs it on the emulator, for counts or for a trace; see
 * access_counters.h and kernel_trace.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "emulate/emulated_multiply.h"
#include "explain/access_counters.h"
#include "explain/kernel_trace.h"
#include "target/target.h"
#include "verify/verify.h"

static const uint64_t SEED = 3;

enum { SIZE_MAX_COUNTED = 1 << 14 };

/* CHECKED=0 disables the second copy that the check for missing waits makes on OpenCL devices. */
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

/* ---- Problem ---- */

/* Returns the bytes of a matrix in memory, with the gaps between its rows or columns. */
static int64_t bytes_of(const rung_matrix *matrix)
{
    bool is_col_major = matrix->col_stride > 1;
    int64_t across = is_col_major ? matrix->cols : matrix->rows;
    return across * (is_col_major ? matrix->col_stride : matrix->row_stride) * rung_type_size(matrix->type);
}

/* Returns a matrix without memory; `stride` is its leading dimension (0: dense). */
static rung_matrix matrix_of(rung_type type, int64_t rows, int64_t cols, bool is_col_major, int64_t stride)
{
    int64_t along = is_col_major ? rows : cols, across = is_col_major ? cols : rows;
    stride = stride < along ? along : stride;
    rung_matrix matrix = rung_matrix_block(rung_matrix_of(type, across, stride, NULL), 0, 0, across, along);
    return is_col_major ? rung_matrix_transpose(matrix) : matrix;
}

static rung_problem problem_of(const lab_access_request *request)
{
    rung_type in = request->product.in, out = request->product.out;
    rung_problem problem = rung_problem_of(
        matrix_of(in, request->m, request->k, false, request->a_stride),
        matrix_of(in, request->k, request->n, request->b_col_major, request->b_stride),
        matrix_of(out, request->m, request->n, false, request->c_stride));
    problem.compute = request->compute;
    return problem;
}

/* Allocates the matrices and fills A and B with small integers. Returns false if memory is exhausted. */
static bool allocate_matrices(rung_problem *problem, lab_emulated_problem *emulated)
{
    rung_matrix *const matrices[] = {&problem->a, &problem->b, &problem->c};
    bool good = true;
    for (int i = 0; i < 3; i++) {
        int64_t bytes = bytes_of(matrices[i]);
        matrices[i]->data = calloc(1, (size_t)bytes);
        good = good && matrices[i]->data;
        emulated->operands[i] = (lab_emulated_operand){matrices[i]->data, bytes};
    }
    for (int i = 0; good && i < 2; i++)
        lab_fill_small_integers(matrices[i], 1, SEED, (uint64_t)i + 1);
    return good;
}

static void free_matrices(rung_problem *problem)
{
    free(problem->a.data);
    free(problem->b.data);
    free(problem->c.data);
}

/* ---- Run ---- */

/* Reports a wrong access, which makes the counts meaningless, or a wrong result. */
static bool check_run(rung_emulator *emulator, const rung_problem *problem, const rung_kernel *kernel, char *why,
                      size_t capacity)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    bool is_file = info->number == -1;
    char wrong[256];
    if (rung_emulator_finding_count(emulator) > 0)
        return lab_set_reason(why, capacity, "%s is incorrect: %s", info->name,
                              rung_emulator_finding_at(emulator, 0)->text);
    if (lab_freivalds_check(problem, SEED, wrong, sizeof wrong))
        return true;
    return lab_set_reason(why, capacity, "%s computes a wrong result: %s%s%s%s", info->name, wrong,
                          is_file ? "; run \"rung verify " : "", is_file ? info->file : "",
                          is_file ? "\" for details" : "");
}

static int64_t instruction_limit(double seconds)
{
    seconds = seconds == 0 ? LAB_ACCESS_RUN_SECONDS : seconds;
    return seconds < 0 || seconds > 1e9 ? 0 : 1 + (int64_t)(seconds * LAB_ACCESS_INSTRUCTIONS_PER_SECOND);
}

/* What a run is for: counts, or a trace. */
typedef struct run_output {
    lab_access_counters *counters;
    lab_kernel_trace *trace;
} run_output_t;

/* Reads what the emulator has recorded. */
static bool read_output(rung_emulator *emulator, const lab_counted_launch *launch, const run_output_t *output)
{
    if (output->trace) {
        const int64_t *size = output->trace->sizes[output->trace->run_count - 1];
        bool is_first = output->trace->run_count == 1;
        char when[96] = "";
        if (!is_first)
            snprintf(when, sizeof when, "M = %lld, N = %lld, K = %lld.", (long long)size[0], (long long)size[1],
                     (long long)size[2]);
        lab_finding_list_add(&output->trace->findings, emulator, when);
        return !is_first || lab_kernel_trace_read(emulator, launch, output->trace);
    }
    return lab_access_counters_read(emulator, launch, output->counters);
}

/* Runs the code, which has the launch of this problem. */
static bool run_code(const lab_access_request *request, const rung_kernel *kernel, const rung_code *code,
                     rung_problem *problem, const run_output_t *output, char *why, size_t capacity)
{
    lab_emulated_problem emulated = {.is_c_input = false};
    lab_emulated_options options = {.checks = RUNG_EMULATOR_CHECK_MEMORY,
                                    .counts_accesses = true,
                                    .max_instructions = instruction_limit(request->seconds)};
    rung_emulator *emulator = NULL;
    if (output->trace) {
        options.checks = RUNG_EMULATOR_CHECK_ALL;
        options.traced_warps = LAB_TRACE_WARPS;
        options.traced_requests = LAB_TRACE_STEPS;
    }
    bool good = allocate_matrices(problem, &emulated) || lab_set_reason(why, capacity, "not enough memory");
    good = good && lab_emulated_multiply(code, &emulated, &options, &emulator, why, capacity);
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    lab_counted_launch launch = {.entry = code->entry,
                                 .file = info->file,
                                 .source = info->source,
                                 .parameters = code->parameters,
                                 .threads_per_block = code->threads_per_block,
                                 .blocks = code->grid[0] * code->grid[1] * code->grid[2]};
    bool is_complete = good;
    good = good && (output->trace || check_run(emulator, problem, kernel, why, capacity));
    bool is_read = (good || (output->trace && emulator)) && read_output(emulator, &launch, output);
    if (is_complete && good && !is_read)
        good = lab_set_reason(why, capacity, "not enough memory");
    if (emulator)
        rung_emulator_destroy(emulator);
    free_matrices(problem);
    return good;
}

/* Compiles the kernel for the problem of the request, unless `code` fits, and runs it. */
static bool run_request(const lab_access_request *request, const rung_kernel *kernel, rung_code *code,
                        const run_output_t *output, char *why, size_t capacity)
{
    char parameters[RUNG_PARAMETERS_BYTES];
    rung_code *compiled = NULL;
    if (request->m < 1 || request->n < 1 || request->k < 1 || request->m > SIZE_MAX_COUNTED ||
        request->n > SIZE_MAX_COUNTED || request->k > SIZE_MAX_COUNTED)
        return lab_set_reason(
            why, capacity,
            "memory accesses are counted for 1 to 16384 rows and columns; choose smaller --m, --n and --k");
    if (!lab_access_request_parameters(kernel, request->product, request->parameters, parameters))
        return lab_set_reason(why, capacity,
                              "the list of parameters is too long; the maximum is %d bytes, with CHECKED=0",
                              RUNG_PARAMETERS_BYTES - 1);
    rung_problem problem = problem_of(request);
    bool fits = code && rung_code_set_problem(code, kernel, &problem) == RUNG_OK;
    if (!fits && rung_kernel_compile(kernel, &problem, parameters,
                                     request->arch ? request->arch : LAB_ACCESS_DEFAULT_ARCH, &compiled) != RUNG_OK)
        return lab_set_reason(why, capacity, "%s", rung_error_text());
    bool good = run_code(request, kernel, fits ? code : compiled, &problem, output, why, capacity);
    rung_code_destroy(compiled);
    return good;
}

bool lab_access_counters_run(const lab_access_request *request, const rung_kernel *kernel, rung_code *code,
                             lab_access_counters *counters, char *why, size_t capacity)
{
    run_output_t output = {.counters = counters};
    memset(counters, 0, sizeof *counters);
    bool good = run_request(request, kernel, code, &output, why, capacity);
    if (!good)
        lab_access_counters_free(counters);
    return good;
}

bool lab_access_trace_run(const lab_access_request *request, const rung_kernel *kernel, rung_code *code,
                          lab_kernel_trace *trace, char *why, size_t capacity)
{
    run_output_t output = {.trace = trace};
    lab_kernel_trace_begin_run(trace, request->m, request->n, request->k);
    return run_request(request, kernel, code, &output, why, capacity);
}

bool lab_access_counters_collect(const lab_access_request *request, lab_access_counters *counters, char *why,
                                 size_t capacity)
{
    rung_kernel *kernel;
    memset(counters, 0, sizeof *counters);
    if (!lab_kernel_open(NULL, "cuda", request->kernel, &kernel, why, capacity))
        return false;
    bool good = lab_access_counters_run(request, kernel, NULL, counters, why, capacity);
    rung_kernel_destroy(kernel);
    return good;
}
