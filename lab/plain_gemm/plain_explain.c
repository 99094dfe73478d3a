/* SPDX-License-Identifier: Apache-2.0 */
/* plain_explain.c - see plain_explain.h. The kernel runs whole small problems with two values of k on the emulator; the
 * averages per block separate what a block does once from what it does per step along k. */
#include "plain_gemm/plain_explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/lab_clock.h"
#include "common/text.h"
#include "cuda_source/ptxas_report.h"
#include "cuda_source/source_options.h"
#include "kernel_page/kernel_page.h"
#include "plain_gemm/gemm_meaning.h"
#include "plain_gemm/plain_options.h"
#include "target/target.h"

typedef struct plain_session {
    const lab_options *options;
    lab_gemm_file file;
    lab_gemm_settings settings;
    const lab_explain_request *request;
    lab_json json;
    int count;              /* kernels that were explained */
    int wrong;              /* among them, kernels that multiply wrongly: only a page shows them */
    bool has_failed_output; /* the page could not be written */
} plain_session_t;

/* One kernel of the file and its explanation. */
typedef struct plain_explanation {
    int function;                  /* of the outline */
    const lab_cuda_launch *launch; /* with which the kernel was opened; NULL if the file has none */
    lab_gemm_kernel kernel;
    char launch_lines[64]; /* of the host code: "40, 52" */
    lab_gemm_meaning meaning;
    int64_t base[3];
    lab_explain_request request;
    lab_explanation result;
} plain_explanation_t;

/* ---- Compiler's report ---- */

/* Reads registers, shared memory and spills of the kernel from ptxas's report. */
static bool read_report(const char *log, const char *entry, lab_explanation *result)
{
    lab_ptxas_report report;
    if (!lab_ptxas_report_read(log, entry, &report))
        return false;
    result->registers = report.registers;
    result->shared_bytes = report.shared_bytes;
    result->spill_bytes = report.spill_bytes;
    return true;
}

/* The oldest architecture that every nvdisasm reads. Its loop stands for that of an older one. */
enum { OLDEST_DISASSEMBLED = 75 };

static void disassemble_code(const lab_cuda_code *code, int architecture, lab_explanation *result)
{
    snprintf(result->sass_arch, sizeof result->sass_arch, "sm_%d", architecture);
    if (!code->cubin) {
        snprintf(result->why_not_disassembled, LAB_EXPLAIN_WHY_BYTES, "the compiler made no cubin");
        return;
    }
    result->is_disassembled = lab_sass_disassemble(code->cubin, code->cubin_bytes, code->lowered[0], &result->code,
                                                   result->why_not_disassembled, LAB_EXPLAIN_WHY_BYTES);
}

/* Disassembles the kernel, compiled again for a newer architecture if nvdisasm does not read its own. */
static void disassemble(const plain_session_t *session, plain_explanation_t *explanation)
{
    lab_explanation *result = &explanation->result;
    char program[4096], why[1024];
    lab_gemm_settings settings = session->settings;
    if (!lab_nvdisasm_find(program, sizeof program))
        result->missing_tools |= 1u << LAB_TOOL_NVDISASM;
    if (settings.architecture >= OLDEST_DISASSEMBLED)
        disassemble_code(&explanation->kernel.code, settings.architecture, result);
    else {
        lab_gemm_kernel other = {.slot_count = 0};
        settings.architecture = OLDEST_DISASSEMBLED;
        if (lab_gemm_kernel_open(&session->file, explanation->function, explanation->launch, &settings, &other, why,
                                 sizeof why))
            disassemble_code(&other.code, OLDEST_DISASSEMBLED, result);
        else
            snprintf(result->why_not_disassembled, LAB_EXPLAIN_WHY_BYTES, "%s", why);
        result->code.spill_count = 0; /* spills of the other architecture */
        lab_gemm_kernel_close(&other);
    }
    const lab_instruction_mix *loop = &result->code.loop;
    if (result->is_disassembled && result->code.has_loop && loop->instructions > 0)
        result->math_share = (double)loop->math / (double)loop->instructions;
}

/* ---- Counts ---- */

static lab_counted_launch counted_launch(const lab_gemm_kernel *kernel, const lab_gemm_launch *launch)
{
    return (lab_counted_launch){
        .entry = kernel->name,
        .file = kernel->file->path,
        .source = kernel->file->text,
        .parameters = "",
        .threads_per_block = (int64_t)launch->block[0] * launch->block[1] * launch->block[2],
        .blocks = (int64_t)launch->grid[0] * launch->grid[1] * launch->grid[2],
    };
}

static bool count_run(plain_explanation_t *explanation, const int64_t sizes[3], lab_access_counters *counters,
                      lab_gemm_launch *launch, char *why, size_t capacity)
{
    lab_gemm_kernel *kernel = &explanation->kernel;
    lab_gemm_problem problem = {.m = sizes[0],
                                .n = sizes[1],
                                .k = sizes[2],
                                .alpha = 1,
                                .beta = 0,
                                .is_exact = true,
                                .seed = 3,
                                .counts = true};
    rung_emulator_counts_clear(kernel->emulator);
    lab_gemm_result result = lab_gemm_run(kernel, &explanation->meaning, &problem);
    bool is_wrong = *explanation->result.wrong && result.outcome == LAB_GEMM_WRONG;
    if (result.outcome != LAB_GEMM_RIGHT && !is_wrong)
        return lab_set_reason(why, capacity, "%lld x %lld x %lld: %s", (long long)problem.m, (long long)problem.n,
                              (long long)problem.k, result.text);
    *launch = result.launch;
    lab_counted_launch counted = counted_launch(kernel, launch);
    return lab_access_counters_read(kernel->emulator, &counted, counters) ||
           lab_set_reason(why, capacity, "out of memory");
}

static void count_accesses(plain_explanation_t *explanation)
{
    lab_explanation *result = &explanation->result;
    lab_access_counters short_run = {.line_count = 0};
    lab_gemm_launch launch;
    int64_t longer[3] = {explanation->base[0], explanation->base[1], 2 * explanation->base[2]};
    bool is_fixed = explanation->kernel.fixed[2] > 0 || *result->wrong; /* the only k is that of the problem */
    if (is_fixed)
        longer[2] = explanation->base[2];
    if (lab_gemm_is_square(&explanation->kernel))
        longer[0] = longer[1] = longer[2];
    result->is_counted = (is_fixed || count_run(explanation, explanation->base, &short_run, &launch,
                                                result->why_uncounted, LAB_EXPLAIN_WHY_BYTES)) &&
                         count_run(explanation, longer, &result->counters, &launch, result->why_uncounted,
                                   LAB_EXPLAIN_WHY_BYTES);
    if (result->is_counted) {
        double steps = is_fixed ? 1 : (double)(result->k - explanation->base[2]) / (double)explanation->base[2];
        lab_explain_extrapolate(&short_run, result, steps);
        result->threads = (int64_t)launch.block[0] * launch.block[1] * launch.block[2];
        result->shared_bytes += launch.shared_bytes;
    }
    lab_access_counters_free(&short_run);
}

/* ---- Trace ---- */

/* Runs one problem with all checks and adds what they find. */
static lab_gemm_result run_checked(plain_explanation_t *explanation, const int64_t size[3], const char *when)
{
    lab_gemm_kernel *kernel = &explanation->kernel;
    lab_kernel_trace *trace = explanation->result.trace;
    lab_gemm_problem problem = {.m = size[0],
                                .n = size[1],
                                .k = size[2],
                                .alpha = 1,
                                .beta = 0,
                                .is_exact = true,
                                .seed = 3,
                                .checks = RUNG_EMULATOR_CHECK_ALL,
                                .counts = true};
    lab_gemm_result result = lab_gemm_run(kernel, &explanation->meaning, &problem);
    if (result.outcome != LAB_GEMM_INVALID && result.outcome != LAB_GEMM_ERROR && result.outcome != LAB_GEMM_LATE) {
        lab_kernel_trace_begin_run(trace, size[0], size[1], size[2]);
        lab_finding_list_add(&trace->findings, kernel->emulator, when);
    }
    return result;
}

/* Records single requests of the small problem, and checks it and a problem that no tile divides. */
static void trace_accesses(plain_explanation_t *explanation)
{
    lab_explanation *result = &explanation->result;
    lab_gemm_kernel *kernel = &explanation->kernel;
    const int64_t *base = explanation->base, *fixed = kernel->fixed;
    const bool is_square = lab_gemm_is_square(kernel);
    const int64_t odd[3] = {base[0] + 3, base[1] + (is_square ? 3 : 5), base[2] + (is_square ? 3 : 7)};
    char when[96];
    result->trace = lab_kernel_trace_create();
    if (!result->trace)
        return;
    rung_emulator_counts_clear(kernel->emulator);
    rung_emulator_set_trace(kernel->emulator, LAB_TRACE_WARPS, LAB_TRACE_STEPS);
    lab_gemm_result run = run_checked(explanation, base, "");
    lab_counted_launch counted = counted_launch(kernel, &run.launch);
    lab_kernel_trace_read(kernel->emulator, &counted, result->trace);
    rung_emulator_set_trace(kernel->emulator, 0, 0);
    snprintf(when, sizeof when, "M = %lld, N = %lld, K = %lld.", (long long)odd[0], (long long)odd[1],
             (long long)odd[2]);
    if (fixed[0] + fixed[1] + fixed[2] == 0 && !*result->wrong)
        run_checked(explanation, odd, when);
    rung_emulator_counts_clear(kernel->emulator);
}

/* ---- Prediction ---- */

/* Finds the tile of a block from the launch of the real problem. */
static double find_tiles(plain_explanation_t *explanation)
{
    lab_explanation *result = &explanation->result;
    lab_gemm_launch all, taller;
    char why[256];
    double blocks = 0, rows = 0;
    if (lab_gemm_launch_of(&explanation->kernel, &explanation->meaning, result->m, result->n, result->k, &all, why,
                           sizeof why) &&
        lab_gemm_launch_of(&explanation->kernel, &explanation->meaning, 2 * result->m, result->n, result->k, &taller,
                           why, sizeof why)) {
        blocks = (double)all.grid[0] * all.grid[1] * all.grid[2];
        for (int i = 0; i < 3; i++)
            if (taller.grid[i] > all.grid[i])
                rows = all.grid[i];
        if (explanation->kernel.fixed[0] > 0) /* the grid does not depend on m; y usually numbers the rows */
            rows = all.grid[1];
    }
    rows = rows > 0 ? rows : 1;
    double item_blocks = blocks / (double)lab_gemm_batch(&explanation->kernel);
    result->bm = (int64_t)((double)result->m / rows);
    result->bn = blocks > 0 ? (int64_t)((double)result->n * rows / item_blocks) : 1;
    result->bm = result->bm > 0 ? result->bm : 1;
    result->bn = result->bn > 0 ? result->bn : 1;
    return blocks;
}

static bool describe(plain_explanation_t *explanation, char *why, size_t capacity)
{
    lab_explanation *result = &explanation->result;
    const lab_gemm_kernel *kernel = &explanation->kernel;
    lab_type_pair pair = {.in = RUNG_TYPE_NONE, .out = RUNG_TYPE_NONE};
    for (int i = 0; i < kernel->slot_count; i++) {
        if (kernel->slots[i].role == LAB_ROLE_A)
            pair.in = kernel->slots[i].type.element;
        if (kernel->slots[i].role == LAB_ROLE_C)
            pair.out = kernel->slots[i].type.element;
    }
    if (lab_type_pair_index(pair) >= lab_type_pair_count())
        return lab_set_reason(why, capacity, "%s multiplies types that rung does not predict; run rung verify",
                              kernel->title);
    explanation->request.dtype = (lab_dtype){
        .product = pair, .compute = RUNG_COMPUTE_STRICT, .name = lab_type_pair_name(pair)};
    snprintf(result->kernel, sizeof result->kernel, "%s", kernel->title);
    snprintf(result->file, sizeof result->file, "%s", lab_base_name(kernel->file->path));
    snprintf(result->path, sizeof result->path, "-");
    if (lab_gemm_batch(kernel) > 1)
        snprintf(result->parameters, sizeof result->parameters, "batch of %lld", (long long)lab_gemm_batch(kernel));
    result->dtype = explanation->request.dtype.name;
    result->machine = explanation->request.machine;
    result->wants_metrics = explanation->request.wants_metrics;
    result->nsight_file = explanation->request.nsight_file;
    result->m = explanation->request.m, result->n = explanation->request.n, result->k = explanation->request.k;
    return true;
}

/* Returns whether the kernel is right for the requested size: a small problem with the same remainders must be. */
static bool is_right_size(plain_explanation_t *explanation, char *why, size_t capacity)
{
    const lab_explain_request *request = &explanation->request;
    const int64_t wanted[3] = {request->m, request->n, request->k}, *base = explanation->base;
    int64_t sizes[3];
    for (int i = 0; i < 3; i++)
        sizes[i] = base[i] + wanted[i] % base[i];
    if (sizes[0] == base[0] && sizes[1] == base[1] && sizes[2] == base[2])
        return true;
    lab_gemm_problem problem = {.m = sizes[0], .n = sizes[1], .k = sizes[2], .alpha = 1, .is_exact = true, .seed = 3};
    lab_gemm_result result = lab_gemm_run(&explanation->kernel, &explanation->meaning, &problem);
    return result.outcome == LAB_GEMM_RIGHT ||
           lab_set_reason(why, capacity, "%s is wrong for sizes such as %lld x %lld x %lld; run rung verify %s",
                          explanation->kernel.title, (long long)request->m, (long long)request->n,
                          (long long)request->k, explanation->kernel.file->path);
}

/* Finds what the kernel computes, and whether it is right for the requested size. `runs` says whether a wrong kernel can be
 * shown: its launch is valid, and it ends. */
static bool find_product(const plain_session_t *session, plain_explanation_t *explanation, bool *runs, char *why,
                         size_t capacity)
{
    lab_gemm_result first;
    lab_gemm_formula formula;
    *runs = true;
    if (!lab_gemm_find_meaning(&explanation->kernel, &explanation->meaning, explanation->base, &first, &formula)) {
        char what[512];
        lab_gemm_formula_describe(&formula, what, sizeof what);
        *runs = first.outcome == LAB_GEMM_WRONG || first.outcome == LAB_GEMM_STOPPED;
        return lab_set_reason(why, capacity, "%s computes no matrix product: %s; run rung verify %s for details",
                              explanation->kernel.title, lab_gemm_formula_is_good(&formula) ? what : first.text,
                              session->file.path);
    }
    int64_t *wanted[3] = {&explanation->request.m, &explanation->request.n, &explanation->request.k};
    for (int i = 0; i < 3; i++)
        if (explanation->kernel.fixed[i] > 0)
            *wanted[i] = explanation->kernel.fixed[i];
    return is_right_size(explanation, why, capacity);
}

/* Explains a kernel that is open. A page also shows a wrong kernel: with the small problem, and without a prediction. */
static bool explain(const plain_session_t *session, plain_explanation_t *explanation, char *why, size_t capacity)
{
    lab_explanation *result = &explanation->result;
    lab_explain_request *request = &explanation->request;
    bool runs;
    if (!find_product(session, explanation, &runs, why, capacity)) {
        if (!request->wants_trace || !runs || lab_is_interrupted())
            return false;
        snprintf(result->wrong, sizeof result->wrong, "%s", why);
        request->m = explanation->base[0], request->n = explanation->base[1], request->k = explanation->base[2];
    }
    if (!describe(explanation, why, capacity))
        return false;
    result->is_compiled = read_report(explanation->kernel.code.log, explanation->kernel.code.lowered[0], result);
    disassemble(session, explanation);
    count_accesses(explanation);
    if (request->wants_trace)
        trace_accesses(explanation);
    if (request->wants_trace && lab_gemm_is_late(&explanation->kernel)) /* a page must not hide what was not checked */
        return lab_set_reason(why, capacity,
                              "%s was not checked, because the time limit is over; raise it with --time-limit SECONDS",
                              explanation->kernel.title);
    lab_explain_compute_occupancy(result);
    lab_launch_traits traits = {.uses_engine = lab_explanation_uses_engine(result),
                                .grouped_tile_rows = 1,
                                .blocks = find_tiles(explanation),
                                .batch = (double)lab_gemm_batch(&explanation->kernel)};
    if (result->is_counted && result->is_compiled && result->is_disassembled && !*result->wrong)
        lab_explain_predict(&explanation->request, &traits, result);
    lab_explanation_find_issues(result, explanation->kernel.line);
    return true;
}

/* ---- Output ---- */

/* What the file is launched with, as far as the host code leaves a choice: the text of a note, or "". */
static void describe_choice(const plain_explanation_t *explanation, const lab_gemm_launches *launches, char *text,
                            size_t capacity)
{
    const lab_gemm_kernel *kernel = &explanation->kernel;
    const char *lists[LAB_GEMM_LAUNCHES_MAX + 2];
    char others[256] = "", own[128], place[300];
    int count = 0;
    *text = '\0';
    for (int i = 0; i < launches->count; i++)
        if (strcmp(launches->lines[i], explanation->launch_lines) != 0)
            lists[count++] = launches->lines[i];
    lists[count++] = launches->parts;
    lists[count++] = launches->dropped;
    for (int i = 0; i < count; i++)
        if (*lists[i])
            lab_append(others, sizeof others, "%s%s", *others ? ", " : "", lists[i]);
    lab_gemm_name_launches(explanation->launch_lines, own, sizeof own);
    lab_gemm_name_launches(others, place, sizeof place);
    if (*others)
        lab_append(text, capacity, "these are the numbers of %s; %s %s", own, place,
                   strchr(others, ',') ? "differ" : "differs");
    if (*kernel->constants)
        lab_append(text, capacity, "%sthe sizes are constants of the file: %s", *text ? "; " : "", kernel->constants);
    if (*kernel->assumed)
        lab_append(text, capacity,
                   "%sassumes %s, because the file does not name the type; choose another with --template",
                   *text ? "; " : "", kernel->assumed);
}

static void print_text(const plain_explanation_t *explanation, const char *choice)
{
    char note[512];
    lab_explanation_print(&explanation->result);
    if (*choice)
        printf("\nNote: %s.\n", choice);
    for (const char *at = explanation->kernel.code.log; lab_cuda_note_next(&at, note, sizeof note);)
        printf("\nNote: %s.\n", note);
}

static void write_json(const plain_explanation_t *explanation, lab_json *json)
{
    const lab_explanation *result = &explanation->result;
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", explanation->kernel.title);
    lab_json_integer(json, "line", explanation->kernel.line);
    LAB_JSON_STRINGS(json, {"launch_lines", explanation->launch_lines}, {"assumed", explanation->kernel.assumed},
                     {"arch", result->machine.arch}, {"machine", result->machine.name},
                     {"machine_title", result->machine.title}, {"dtype", result->dtype}, {"error", result->wrong});
    lab_json_sizes(json, result->m, result->n, result->k);
    lab_explanation_write_summary(json, &explanation->result);
    lab_explanation_write_details(json, &explanation->result);
    lab_json_end(json, '}');
}

/* Writes the page of --html. Returns false after printing an error. */
static bool save_page(const plain_session_t *session, const plain_explanation_t *explanation, const char *choice)
{
    char why[1024] = "out of memory", *data = NULL;
    size_t length;
    lab_json json = {.out = open_memstream(&data, &length)};
    if (json.out)
        write_json(explanation, &json);
    bool good = json.out && fclose(json.out) == 0;
    lab_kernel_page page = {.explanation = &explanation->result,
                            .file = lab_base_name(session->file.path),
                            .source = session->file.text,
                            .kernel_line = explanation->kernel.line,
                            .note = choice,
                            .data = data};
    good = good && lab_kernel_page_save(&page, session->options->html, why, sizeof why);
    free(data);
    if (!good)
        lab_fail(LAB_EXIT_USAGE, "%s", why);
    else if (!session->options->json)
        lab_kernel_page_print_summary(&page, session->options->html);
    return good;
}

/* Prints the explanation in the form that the options select. Returns false after printing an error. */
static bool print(plain_session_t *session, const plain_explanation_t *explanation, const lab_gemm_launches *launches)
{
    const lab_options *options = session->options;
    char choice[512];
    describe_choice(explanation, launches, choice, sizeof choice);
    if (options->json)
        write_json(explanation, &session->json);
    else if (!options->html)
        print_text(explanation, choice);
    return !options->html || save_page(session, explanation, choice);
}

/* ---- Interface ---- */

/* Opens the kernel with the first launch that can be evaluated. */
static bool open_kernel(const plain_session_t *session, int function, const lab_gemm_launches *launches,
                        plain_explanation_t *explanation, char *why, size_t capacity)
{
    char reason[1024];
    for (int i = 0; i < launches->count; i++) {
        lab_gemm_kernel_close(&explanation->kernel);
        if (lab_gemm_kernel_open(&session->file, function, launches->items[i], &session->settings, &explanation->kernel,
                                 i == 0 ? why : reason, i == 0 ? capacity : sizeof reason)) {
            snprintf(explanation->launch_lines, sizeof explanation->launch_lines, "%s", launches->lines[i]);
            explanation->function = function;
            explanation->launch = launches->items[i];
            return true;
        }
        if (!explanation->kernel.is_launch_refused)
            return false;
    }
    return false;
}

/* Explains one kernel and prints the result. Returns false after printing an error. */
static bool explain_kernel(plain_session_t *session, int function)
{
    char why[2048] = "out of memory";
    lab_gemm_launches launches;
    plain_explanation_t *explanation = calloc(1, sizeof *explanation);
    bool good = explanation && lab_gemm_find_launches(&session->file, function, &launches, why, sizeof why);
    if (good) {
        explanation->request = *session->request;
        good = open_kernel(session, function, &launches, explanation, why, sizeof why) &&
               explain(session, explanation, why, sizeof why);
    }
    if (!good)
        lab_fail(LAB_EXIT_WRONG, "%s", why);
    else if (!print(session, explanation, &launches))
        session->has_failed_output = true;
    if (good && *explanation->result.wrong)
        session->wrong++;
    if (explanation) {
        lab_explanation_free(&explanation->result);
        lab_gemm_kernel_close(&explanation->kernel);
    }
    free(explanation);
    session->count += good;
    return good;
}

static int count_candidates(const lab_gemm_file *file)
{
    int count = 0;
    for (int i = 0; i < file->outline.function_count; i++)
        count += lab_gemm_is_candidate(file, i);
    return count;
}

/* Explains every kernel that the options select. Returns the exit code. */
static int explain_file(plain_session_t *session)
{
    bool good = true;
    if (session->options->html && count_candidates(&session->file) > 1)
        return lab_fail(LAB_EXIT_USAGE,
                        "%s has %d kernels that take three matrices, and a page shows one; name it with --kernel",
                        session->file.path, count_candidates(&session->file));
    if (session->options->json) {
        session->json = lab_json_open(stdout, "rung-explain-file/1");
        lab_json_string(&session->json, "file", session->file.path);
        lab_json_begin(&session->json, "kernels", '[');
    }
    for (int i = 0; i < session->file.outline.function_count && good && !lab_is_interrupted(); i++)
        if (lab_gemm_is_candidate(&session->file, i))
            good = explain_kernel(session, i);
    if (session->options->json) {
        lab_json_end(&session->json, ']');
        lab_json_end(&session->json, '}');
    }
    if (good && session->count == 0)
        return lab_fail(LAB_EXIT_USAGE,
                        "%s has no kernel that takes three matrices; name one with --kernel, or use rung check",
                        session->file.path);
    if (session->has_failed_output)
        return LAB_EXIT_USAGE;
    return good && session->wrong == 0 ? LAB_EXIT_SUCCESS : LAB_EXIT_WRONG;
}

int lab_plain_explain(const lab_options *options, const lab_plain_file *file, const lab_explain_request *request)
{
    plain_session_t session = {.options = options, .request = request};
    lab_source_options source;
    lab_launch_options launch;
    const char *compiler_options[2 * LAB_REPEATED_MAX + 1] = {"--ptxas-options=-v"};
    char why[1024];
    int code;
    if (!lab_source_options_read(options, &source, why, sizeof why) ||
        !lab_plain_options_read(options, &launch, why, sizeof why))
        code = lab_usage_error("explain", why);
    else {
        memcpy(compiler_options + 1, source.items, sizeof source.items);
        session.settings = (lab_gemm_settings){
            .architecture = atoi(request->machine.arch + 3),
            .seconds = request->seconds > 0 ? request->seconds : 0,
            .until = request->seconds > 0 ? lab_now_ns() + (int64_t)(request->seconds * 1e9) : 0,
            .options = compiler_options,
            .option_count = source.count + 1,
            .wants_cubin = true};
        lab_interrupt_watch();
        bool good = lab_gemm_file_open(file, &launch, &session.file, why, sizeof why);
        code = good ? explain_file(&session) : lab_fail(LAB_EXIT_USAGE, "%s", why);
    }
    lab_gemm_file_close(&session.file);
    lab_source_options_free(&source);
    return lab_is_interrupted() ? LAB_EXIT_INTERRUPTED : code;
}
