/* SPDX-License-Identifier: Apache-2.0 */
/* emulator_check.c - checks a kernel file on librung-emulator, for kernel_check.h: compiles the file with NVRTC, runs a
 * few problems around the tile edges with all checks, and converts the emulator's findings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/text.h"
#include "emulate/emulated_multiply.h"
#include "explain/explain.h"
#include "verify/case_runner.h"
#include "verify/kernel_check.h"

enum { SUITE_STEP = 13, SEED = 1 };

/* A kernel file on the emulator. */
typedef struct checked_file {
    const rung_kernel_info *info;
    lab_tested_kernel subject;
    rung_kernel *kernel; /* of the cuda backend */
    rung_code *code;     /* of the last problem, or NULL */
    double seconds;
    lab_kernel_check *check;
} checked_file_t;

/* ---- Findings ---- */

/* Returns the line of a place in the user's file; 0 for another file. */
static int line_in_file(const checked_file_t *file, const rung_emulator_place *place)
{
    bool is_own = place->file && strcmp(lab_base_name(place->file), lab_base_name(file->info->file)) == 0;
    return is_own ? place->line : 0;
}

static bool is_read(const rung_emulator_place *place)
{
    return place->access == RUNG_EMULATOR_ACCESS_READ;
}

static lab_race_access race_access(const checked_file_t *file, const rung_emulator_place *place)
{
    return (lab_race_access){.line = line_in_file(file, place),
                             .kind = is_read(place) ? LAB_RACE_READ : LAB_RACE_WRITE};
}

static void add_race(const checked_file_t *file, const rung_emulator_finding *finding)
{
    lab_kernel_check_add_race(file->check, file->info->source, race_access(file, &finding->place),
                              race_access(file, &finding->other), finding->memory == RUNG_EMULATOR_MEMORY_SHARED);
}

static void add_async_copy(const checked_file_t *file, const rung_emulator_finding *finding)
{
    int line = line_in_file(file, &finding->place), copy = line_in_file(file, &finding->other);
    char where[48] = "";
    if (copy > 0)
        snprintf(where, sizeof where, " of line %d", copy);
    lab_kernel_check_add(
        file->check, LAB_FINDING_ASYNC_COPY, line,
        "missing wait: %s memory to which the copy%s has not arrived; wait for the copy, and then call "
        "__syncthreads()",
        is_read(&finding->place) ? "reads" : "writes", where);
}

static void add_finding(const checked_file_t *file, const rung_emulator_finding *finding)
{
    lab_kernel_check *check = file->check;
    int line = line_in_file(file, &finding->place);
    switch (finding->kind) {
    case RUNG_EMULATOR_RACE: add_race(file, finding); break;
    case RUNG_EMULATOR_ASYNC_COPY: add_async_copy(file, finding); break;
    case RUNG_EMULATOR_UNINITIALIZED: lab_kernel_check_add_uninitialised(check, line); break;
    case RUNG_EMULATOR_BARRIER: lab_kernel_check_add_divergent_barrier(check, line); break;
    case RUNG_EMULATOR_OUT_OF_BOUNDS:
        lab_kernel_check_add_out_of_bounds(check, line, is_read(&finding->place),
                                           finding->memory == RUNG_EMULATOR_MEMORY_SHARED);
        break;
    case RUNG_EMULATOR_MISALIGNED:
        lab_kernel_check_add(
            check, LAB_FINDING_MISALIGNED, line,
            "misaligned: %s %d bytes at an address that is not a multiple of %d; access single elements, "
            "or check the alignment first",
            is_read(&finding->place) ? "reads" : "writes", finding->bytes, finding->bytes);
        break;
    case RUNG_EMULATOR_INFINITE_LOOP:
        check->is_endless = true;
        lab_kernel_check_add(
            check, LAB_FINDING_ENDLESS, line,
            "the kernel did not finish within %g million instructions of a warp on the emulator; check "
            "that each loop ends, or raise --time-limit",
            file->seconds);
        break;
    default: lab_kernel_check_add(check, LAB_FINDING_OTHER, line, "the emulator reports: %s", finding->text);
    }
}

/* ---- Running ---- */

/* Describes why the kernel did not compile: a block that is too large, or an error that running the kernel reports, too. */
static bool explain_compile_error(const checked_file_t *file, const rung_problem *problem)
{
    int64_t threads = 0, shared_bytes = 0;
    if (rung_kernel_block_size(file->kernel, problem, file->subject.parameters, LAB_ACCESS_DEFAULT_ARCH, &threads,
                               &shared_bytes) == RUNG_OK)
        lab_kernel_check_add_block_limits(file->check, file->info, threads, shared_bytes);
    file->check->ran = file->check->count > 0;
    if (!file->check->ran)
        snprintf(file->check->why_not, sizeof file->check->why_not, "the kernel did not compile");
    return true;
}

/* Makes the code of a problem. Returns false if there is no compiler. */
static bool make_code(checked_file_t *file, const rung_problem *problem)
{
    if (file->code && rung_code_set_problem(file->code, file->kernel, problem) == RUNG_OK)
        return true;
    rung_code_destroy(file->code);
    file->code = NULL;
    rung_status status = rung_kernel_compile(file->kernel, problem, file->subject.parameters, LAB_ACCESS_DEFAULT_ARCH,
                                             &file->code);
    if (status == RUNG_OK)
        return true;
    if (status != RUNG_STATUS_NO_DEVICE)
        return explain_compile_error(file, problem);
    return lab_set_reason(file->check->why_not, sizeof file->check->why_not, "%s", rung_error_text());
}

/* Stores a wrong result that no finding explains: NVRTC compiles reads of unset variables to anything. */
static void check_result(checked_file_t *file, const lab_case *problem, const lab_case_data *data)
{
    lab_case_result result = {.fault = LAB_FAULT_NONE};
    lab_case_check_result(&file->subject, problem, data, &result);
    if (result.kind == LAB_CASE_WRONG)
        snprintf(file->check->wrong_result, sizeof file->check->wrong_result,
                 "compiled for " LAB_ACCESS_DEFAULT_ARCH
                 ", the kernel computes a wrong result: %.300s; check that each "
                 "variable is set before it is read",
                 result.message);
}

static void run_on_emulator(checked_file_t *file, const lab_case *problem, const lab_case_data *data)
{
    lab_kernel_check *check = file->check;
    const lab_operand_memory *operands[LAB_EMULATED_OPERANDS] = {&data->a, &data->b, &data->c, &data->bias,
                                                                 &data->residual};
    lab_emulated_problem emulated = {.is_c_input = true};
    lab_emulated_options options = {.checks = RUNG_EMULATOR_CHECK_ALL,
                                    .max_instructions = (int64_t)(file->seconds * LAB_ACCESS_INSTRUCTIONS_PER_SECOND)};
    rung_emulator *emulator;
    for (int i = 0; i < LAB_EMULATED_OPERANDS; i++)
        if (operands[i]->view.data)
            emulated.operands[i] = (lab_emulated_operand){operands[i]->view.data, operands[i]->bytes};
    bool ended = lab_emulated_multiply(file->code, &emulated, &options, &emulator, check->why_not,
                                       sizeof check->why_not);
    for (int64_t i = 0; emulator && i < rung_emulator_finding_count(emulator); i++)
        add_finding(file, rung_emulator_finding_at(emulator, i));
    check->ran = check->ran || ended || check->count > 0;
    if (ended && check->count == 0)
        check_result(file, problem, data);
    if (emulator)
        rung_emulator_destroy(emulator);
}

/* Runs one problem. Returns false if there is no compiler. */
static bool check_problem(checked_file_t *file, const lab_case *problem)
{
    lab_case_data data;
    bool good = true;
    if (lab_case_data_create(&file->subject, problem, &data)) {
        rung_problem views = lab_case_problem(&file->subject, problem, &data);
        rung_matrix *const all[] = {&views.a, &views.b, &views.c, &views.bias, &views.residual};
        for (int i = 0; i < LAB_EMULATED_OPERANDS; i++)
            all[i]->data = NULL;
        good = make_code(file, &views);
        if (good && file->code && file->code->argument_count > 0)
            run_on_emulator(file, problem, &data);
    }
    lab_case_data_free(&data);
    return good;
}

/* Runs the 1st, 14th and 27th problem of the suite edges, whose sizes are a tile minus one, a tile and a tile plus one in
 * each direction. */
static bool check_problems(checked_file_t *file)
{
    rung_type in = file->subject.product.in;
    lab_kernel_traits traits = {
        .bm = lab_kernel_value_or(file->kernel, file->subject.parameters, in, "BM", 16),
        .bn = lab_kernel_value_or(file->kernel, file->subject.parameters, in, "BN", 16),
        .bk = lab_kernel_value_or(file->kernel, file->subject.parameters, in, "BK", 8),
        .is_integer = lab_type_is_integer(in),
        .abilities = file->info->abilities,
    };
    lab_case_list list = lab_suite_cases(LAB_SUITE_edges, traits);
    bool good = !list.out_of_memory;
    for (int64_t i = 0; good && i < list.count && !lab_is_interrupted(); i += SUITE_STEP) {
        while (i + 1 < list.count && list.cases[i].has_d) /* a separate D is not an operand of a single launch */
            i++;
        good = check_problem(file, &list.cases[i]);
        if (!file->code)
            break; /* the kernel does not compile for other problems either */
    }
    free(list.cases);
    return good;
}

bool lab_emulator_check_kernel(const rung_kernel *kernel, const char *parameters, const lab_dtype *dtype,
                               double seconds, lab_kernel_check *check)
{
    checked_file_t file = {.info = rung_kernel_describe(kernel), .seconds = seconds, .check = check};
    memset(check, 0, sizeof *check);
    check->checker = "The emulator";
    if (!lab_kernel_open(NULL, "cuda", file.info->file, &file.kernel, check->why_not, sizeof check->why_not))
        return false;
    file.subject = (lab_tested_kernel){
        .kernel = file.kernel,
        .parameters = parameters                                   ? parameters
                      : lab_kernel_has_preset(file.kernel, "tiny") ? "tiny"
                                                                   : NULL,
        .product = dtype->product,
        .compute = dtype->compute,
        .accuracy = LAB_ACCURACY_ENGINE,
        .seed = SEED,
    };
    bool good = check_problems(&file);
    lab_kernel_check_drop_follow_ups(check);
    rung_code_destroy(file.code);
    rung_kernel_destroy(file.kernel);
    return good;
}
