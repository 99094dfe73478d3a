/* SPDX-License-Identifier: Apache-2.0 */
/* plain_verify.c - see plain_verify.h. */
#include "plain_gemm/plain_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/lab_clock.h"
#include "common/text.h"
#include "cuda_source/source_options.h"
#include "findings/sarif.h"
#include "plain_gemm/plain_options.h"
#include "plain_gemm/plain_report.h"
#include "process/supervise.h"
#include "target/target.h"

enum { KERNELS_MAX = 16, DEFAULT_SECONDS = 60 };

typedef struct plain_session {
    const lab_options *options;
    lab_gemm_file file;
    lab_source_options source;
    lab_gemm_settings settings;
    double seconds; /* of --time-limit */
    lab_plain_report *reports[KERNELS_MAX];
    int count;
} plain_session_t;

/* ---- Cases ---- */

/* Returns a size in a direction: the smallest one, one step around the base, or in between. */
static int64_t pick_size(const lab_gemm_sizes *sizes, int direction, int which)
{
    int64_t step = sizes->step[direction], least = sizes->least[direction], base = sizes->base[direction], size;
    switch (which) {
    case 0: size = least; break;
    case 1: size = base; break;
    case 2: size = base + step; break;
    case 3: size = least + step; break;
    case 4: size = base - step >= least ? base - step : least; break;
    default: size = least + 3 * step;
    }
    if (step == 0)
        return base;
    return sizes->most[direction] > 0 && size > sizes->most[direction] ? sizes->most[direction] : size;
}

static lab_gemm_result run_case(lab_plain_report *report, const lab_gemm_problem *problem)
{
    char when[96];
    const int64_t size[3] = {problem->m, problem->n, problem->k};
    lab_gemm_result result = lab_gemm_run(&report->kernel, &report->meaning, problem);
    if (result.outcome == LAB_GEMM_LATE) {
        report->is_late = true;
        return result;
    }
    snprintf(when, sizeof when, "M = %lld, N = %lld, K = %lld.", (long long)problem->m, (long long)problem->n,
             (long long)problem->k);
    lab_finding_list_add(&report->findings, report->kernel.emulator, when);
    report->cases++;
    for (int i = 0; i < 3; i++)
        if (size[i] > report->sizes.largest[i])
            report->sizes.largest[i] = size[i];
    report->is_low_precision = report->is_low_precision || result.is_low_precision;
    if (result.precision)
        report->precision = result.precision;
    report->wrong_integers += result.outcome != LAB_GEMM_RIGHT && problem->is_exact;
    if (result.outcome != LAB_GEMM_RIGHT && report->wrong++ == 0)
        snprintf(report->first_wrong, sizeof report->first_wrong, "%lld x %lld x %lld: %s", (long long)problem->m,
                 (long long)problem->n, (long long)problem->k, result.text);
    return result;
}

enum { CASES = 12 };

/* Returns the number of cases. If all sizes are constants of the file, only the elements and the scalars differ. */
static size_t count_cases(const lab_gemm_kernel *kernel)
{
    const int64_t *fixed = kernel->fixed;
    if (fixed[0] == 0 || fixed[1] == 0 || fixed[2] == 0)
        return CASES;
    return fixed[0] * fixed[1] * fixed[2] > 1 << 24 ? 2 : 4;
}

/* Runs sizes that the kernel takes: the smallest, edges, rectangles; integers and fractions; several scalars. */
static void run_cases(lab_plain_report *report)
{
    static const int picks[CASES][3] = {{1, 1, 1}, {0, 0, 0}, {2, 2, 2}, {4, 4, 4}, {3, 1, 0}, {0, 3, 2},
                                        {2, 0, 3}, {5, 5, 5}, {1, 0, 4}, {0, 1, 1}, {4, 2, 5}, {1, 2, 1}};
    static const double scalars[][2] = {{1, 0}, {2, 3}, {-1, 1}, {0.5, 0}};
    const size_t count = count_cases(&report->kernel);
    for (size_t i = 0; i < count && !report->is_late && !lab_is_interrupted(); i++) {
        int64_t size[3];
        for (int d = 0; d < 3; d++)
            size[d] = pick_size(&report->sizes, d, picks[i][report->sizes.leader[d]]);
        lab_gemm_problem problem = {.m = size[0],
                                    .n = size[1],
                                    .k = size[2],
                                    .alpha = scalars[i % 4][0],
                                    .beta = scalars[i % 4][1],
                                    .is_exact = i % 2 == 1,
                                    .seed = 10 + i,
                                    .checks = RUNG_EMULATOR_CHECK_ALL};
        run_case(report, &problem);
    }
}

/* Runs the kernel as its names suggest and with all checks, to find out why no interpretation explains its result. A kernel
 * that does not end has its finding already; the time may not suffice for a second run. */
static void run_wrong_kernel(lab_plain_report *report)
{
    const int64_t *base = report->sizes.base;
    lab_gemm_problem problem = {.m = base[0],
                                .n = base[1],
                                .k = base[2],
                                .alpha = 2,
                                .beta = 3,
                                .is_exact = true,
                                .seed = 1,
                                .checks = RUNG_EMULATOR_CHECK_ALL};
    bool is_endless = report->first.outcome == LAB_GEMM_ENDLESS;
    if (is_endless)
        lab_finding_list_add(&report->findings, report->kernel.emulator, "");
    lab_gemm_result result = run_case(report, &problem);
    if (is_endless && result.outcome == LAB_GEMM_LATE)
        report->is_late = false;
    else
        report->first = result;
}

/* ---- Wrong results ---- */

/* Returns the line that stores the result, by running the base size; the line of the kernel if no line does. */
static int find_store_line(lab_plain_report *report)
{
    lab_gemm_kernel *kernel = &report->kernel;
    const int64_t *base = report->sizes.base;
    lab_gemm_problem problem = {.m = base[0], .n = base[1], .k = base[2], .is_exact = true, .seed = 1, .counts = true};
    rung_emulator_counts_clear(kernel->emulator);
    lab_gemm_run(kernel, &report->meaning, &problem);
    int line = kernel->line;
    for (int64_t i = 0; i < rung_emulator_line_count(kernel->emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(kernel->emulator, i);
        for (int s = 0; s < kernel->slot_count; s++)
            if ((row->kind == RUNG_EMULATOR_GLOBAL_STORE || row->kind == RUNG_EMULATOR_GLOBAL_ATOMIC) &&
                kernel->slots[s].role == LAB_ROLE_C && strcmp(row->array, kernel->slots[s].name) == 0)
                line = row->line;
    }
    rung_emulator_counts_clear(kernel->emulator);
    return line;
}

/* Returns a line with an access beyond a matrix at a size that fails; 0 if no line has one. */
static int find_failing_line(const lab_gemm_sizes *sizes)
{
    for (int i = 0; i < sizes->failure_count; i++)
        if (sizes->failures[i].line > 0)
            return sizes->failures[i].line;
    return 0;
}

static const char wrong_result[] = "wrong-result";

static void add_wrong_formula(lab_plain_report *report)
{
    char text[LAB_FINDING_TEXT_BYTES], what[512];
    const lab_gemm_formula *formula = &report->formula;
    lab_gemm_formula_describe(formula, what, sizeof what);
    snprintf(text, sizeof text, "The result is wrong: %s.", what);
    const char *fix = *formula->fix ? formula->fix
                      : formula->old == formula->wrong
                          ? "Check that the grid covers every element of C, and the condition of the store."
                          : "Check the condition and the index of the store.";
    lab_finding_list_add_own(&report->findings, wrong_result, report->kernel.file->path, find_store_line(report), text,
                             fix);
}

/* Adds that sizes must be equal, or have one value, although they are parameters. */
static void add_wrong_sizes(lab_plain_report *report)
{
    char text[LAB_FINDING_TEXT_BYTES], sizes[512], failure[512] = "";
    int line = find_failing_line(&report->sizes);
    lab_gemm_describe_sizes(&report->kernel, &report->sizes, sizes, sizeof sizes);
    for (int i = 0; i < 3 && !*failure; i++)
        lab_gemm_describe_failure(&report->sizes, i, failure, sizeof failure);
    snprintf(text, sizeof text, "The result is right only when %s, although the sizes are parameters. %s%s", sizes,
             failure, *failure ? "." : "");
    lab_finding_list_add_own(
        &report->findings, wrong_result, report->kernel.file->path, line > 0 ? line : find_store_line(report), text,
        "Check the row stride in each index (row-major: K for A, N for B and C), and which size each "
        "dimension of the grid covers.");
}

/* Adds a finding for wrong elements that nothing else explains, so that SARIF and JSON have a line. */
static void add_wrong_elements(lab_plain_report *report)
{
    char text[LAB_FINDING_TEXT_BYTES];
    bool is_precision = report->is_understood && report->wrong_integers == 0;
    snprintf(text, sizeof text, "The result is wrong%s. %s.",
             is_precision ? " for fractions, but right for small integers" : "", report->first_wrong);
    lab_finding_list_add_own(&report->findings, wrong_result, report->kernel.file->path, find_store_line(report), text,
                             is_precision ? "Look for a conversion to an integer or to a type of lower precision."
                                          : "Check the indices of the loads and of the store.");
}

/* ---- One kernel ---- */

/* Says why the kernel did not run at all. */
static void refuse(const plain_session_t *session, lab_plain_report *report)
{
    const lab_gemm_launch *launch = &report->first.launch;
    report->is_open = false;
    if (report->is_late) {
        snprintf(report->why, sizeof report->why, "the kernel did not end within %g seconds", session->seconds);
        if (launch->grid[0] > 0)
            lab_append(report->why, sizeof report->why, " with %u x %u x %u blocks of %u x %u x %u threads",
                       launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
                       launch->block[2]);
        lab_append(report->why, sizeof report->why,
                   "; launch fewer blocks, or raise the limit with --time-limit SECONDS");
        return;
    }
    bool is_empty = launch->grid[0] == 0 || launch->grid[1] == 0 || launch->grid[2] == 0;
    snprintf(report->why, sizeof report->why, "the launch is invalid: %s%s", report->first.text,
             report->first.outcome == LAB_GEMM_INVALID && is_empty
                 ? "; look for a division by 0, or a division that rounds down to 0"
                 : "");
}

/* Says that the formula is not known: a functor of the launch may change the result in any way. */
static void refuse_functor(lab_plain_report *report)
{
    report->is_open = false;
    snprintf(report->why, sizeof report->why,
             "the launch passes a struct of functions, and the result is neither a product nor its relu, so that rung "
             "verify does not know the right result; pass a functor that returns its argument, or use rung check");
}

static void verify_launch(plain_session_t *session, int function, const lab_cuda_launch *launch,
                          lab_plain_report *report)
{
    report->is_open = lab_gemm_kernel_open(&session->file, function, launch, &session->settings, &report->kernel,
                                           report->why, sizeof report->why);
    if (!report->is_open)
        return;
    report->is_understood = lab_gemm_find_meaning(&report->kernel, &report->meaning, report->sizes.base, &report->first,
                                                  &report->formula);
    if (report->is_understood) {
        int64_t base[3];
        memcpy(base, report->sizes.base, sizeof base);
        report->sizes = lab_gemm_find_sizes(&report->kernel, &report->meaning, base, &report->findings);
        run_cases(report);
        report->is_late = report->is_late || lab_gemm_is_late(&report->kernel);
        if (report->sizes.is_defect && !report->is_late)
            add_wrong_sizes(report);
    } else {
        report->is_late = report->first.outcome == LAB_GEMM_LATE;
        if (!report->is_late)
            run_wrong_kernel(report);
        if (report->is_late || report->first.outcome == LAB_GEMM_INVALID || report->first.outcome == LAB_GEMM_ERROR)
            refuse(session, report);
        else if (report->findings.count == 0 && !lab_gemm_formula_is_good(&report->formula) &&
                 lab_gemm_has_functor(&report->kernel))
            refuse_functor(report);
        else if (report->findings.count == 0 && lab_gemm_formula_is_good(&report->formula))
            add_wrong_formula(report);
    }
    if (report->is_open && report->wrong > 0 && report->findings.count == 0)
        add_wrong_elements(report);
}

/* ---- Output ---- */

/* Returns the findings of all kernels in one list, for free(); NULL if memory is exhausted. */
static lab_finding_list *collect_findings(const plain_session_t *session)
{
    lab_finding_list *all = calloc(1, sizeof *all);
    for (int i = 0; all && i < session->count; i++)
        for (int f = 0; f < session->reports[i]->findings.count && all->count < LAB_FINDINGS_MAX; f++)
            all->items[all->count++] = session->reports[i]->findings.items[f];
    return all;
}

/* Writes the file of --sarif. Returns false after printing an error. */
static bool save_sarif(const plain_session_t *session)
{
    char why[1024] = "out of memory";
    lab_finding_list *all = collect_findings(session);
    bool good = all && lab_sarif_save(all, session->options->sarif, why, sizeof why);
    if (!good)
        lab_fail(LAB_EXIT_USAGE, "%s", why);
    free(all);
    return good;
}

static void write_json(const plain_session_t *session)
{
    int cases = 0, wrong = 0;
    lab_json json = lab_json_open(stdout, "rung-verify-file/1");
    for (int i = 0; i < session->count; i++) {
        cases += session->reports[i]->cases;
        wrong += session->reports[i]->wrong;
    }
    lab_json_string(&json, "file", session->file.path);
    LAB_JSON_INTEGERS(&json, {"cases", cases}, {"wrong", wrong});
    lab_json_begin(&json, "kernels", '[');
    for (int i = 0; i < session->count; i++)
        lab_plain_report_write(session->reports[i], &json);
    lab_json_end(&json, ']');
    lab_finding_list *findings = collect_findings(session);
    if (findings)
        lab_finding_list_write(findings, &json);
    free(findings);
    lab_json_end(&json, '}');
}

/* ---- Interface ---- */

static bool read_options(plain_session_t *session, lab_launch_options *launch, char *why, size_t capacity)
{
    if (!lab_source_options_read(session->options, &session->source, why, capacity))
        return false;
    session->settings = (lab_gemm_settings){.architecture = session->source.architecture,
                                            .options = session->source.items,
                                            .option_count = session->source.count};
    if (!lab_parse_time_limit(session->options->time_limit, DEFAULT_SECONDS, &session->seconds))
        return lab_set_reason(why, capacity, "%s", LAB_TIME_LIMIT_USAGE);
    session->settings.seconds = session->seconds;
    session->settings.until = session->seconds > 0 ? lab_now_ns() + (int64_t)(session->seconds * 1e9) : 0;
    return lab_plain_options_read(session->options, launch, why, capacity);
}

static void close_report(lab_plain_report *report)
{
    lab_gemm_kernel_close(&report->kernel);
    free(report);
}

/* Removes the reports of a kernel's launches that could not be evaluated if another one ran, which then names them. */
static void merge_refused(plain_session_t *session, int first)
{
    lab_plain_report *ran = NULL;
    int count = first;
    for (int i = first; i < session->count && !ran; i++)
        ran = session->reports[i]->is_open ? session->reports[i] : NULL;
    for (int i = first; i < session->count; i++) {
        lab_plain_report *report = session->reports[i];
        if (!ran ? i == first : report->is_open) {
            session->reports[count++] = report;
            continue;
        }
        if (ran)
            lab_append(ran->not_run, sizeof ran->not_run, "%s%s", *ran->not_run ? "; " : "", report->why);
        close_report(report);
    }
    session->count = count;
}

static void note_not_run(lab_plain_report *report, const char *lines, const char *reason)
{
    char place[128];
    lab_gemm_name_launches(lines, place, sizeof place);
    if (*lines)
        lab_append(report->not_run, sizeof report->not_run, "%s%s: %s", *report->not_run ? "; " : "", place, reason);
}

/* Verifies a kernel with each configuration of its launches. Returns false if there is no room. */
static bool verify_kernel(plain_session_t *session, int function)
{
    const int first = session->count;
    lab_gemm_launches launches;
    char why[1024] = "";
    bool good = lab_gemm_find_launches(&session->file, function, &launches, why, sizeof why);
    for (int i = 0; i < launches.count && !lab_is_interrupted(); i++) {
        lab_plain_report *report = session->count < KERNELS_MAX ? calloc(1, sizeof *report) : NULL;
        if (!report)
            return false;
        session->reports[session->count++] = report;
        snprintf(report->why, sizeof report->why, "%s", why);
        if (!good)
            break;
        snprintf(report->launch_lines, sizeof report->launch_lines, "%s", launches.lines[i]);
        verify_launch(session, function, launches.items[i], report);
        if (!report->is_open && !report->kernel.is_launch_refused)
            break; /* other launches fail for the same reason */
    }
    merge_refused(session, first);
    if (session->count > first) {
        note_not_run(session->reports[first], launches.parts, "parts of the matrices are multiplied");
        note_not_run(session->reports[first], launches.dropped, "the kernel has too many launches");
    }
    return true;
}

static void verify_kernels(plain_session_t *session)
{
    bool has_room = true;
    for (int i = 0; i < session->file.outline.function_count && has_room && !lab_is_interrupted(); i++)
        if (lab_gemm_is_candidate(&session->file, i))
            has_room = verify_kernel(session, i);
    if (!has_room)
        lab_fail(LAB_EXIT_USAGE,
                 "only the first %d kernels and launches of %s were verified; name others with --kernel",
                 session->count, session->file.path);
}

static int exit_code(const plain_session_t *session)
{
    bool ran = false;
    for (int i = 0; i < session->count; i++) {
        const lab_plain_report *report = session->reports[i];
        if (report->is_late ||
            (report->is_open && (report->wrong > 0 || !report->is_understood || report->findings.count > 0)))
            return LAB_EXIT_WRONG;
        ran = ran || report->is_open;
    }
    return ran ? LAB_EXIT_SUCCESS : LAB_EXIT_USAGE;
}

/* Verifies and prints. Returns the exit code. */
static int verify_file(plain_session_t *session)
{
    const lab_options *options = session->options;
    verify_kernels(session);
    if (session->count == 0)
        lab_fail(LAB_EXIT_USAGE,
                 "%s has no kernel that takes three matrices%s%s; name one with --kernel, or use rung check",
                 session->file.path, options->kernel ? " and is named " : "", options->kernel ? options->kernel : "");
    else if (options->json)
        write_json(session);
    for (int i = 0; i < session->count && !options->json; i++)
        lab_plain_report_print(session->reports[i], &session->file, session->seconds);
    if (options->sarif && !save_sarif(session))
        return LAB_EXIT_USAGE;
    return exit_code(session);
}

int lab_plain_verify(const lab_options *options, const lab_plain_file *file)
{
    plain_session_t session = {.options = options};
    lab_launch_options launch;
    char why[1024];
    int code = LAB_EXIT_USAGE;
    if (!read_options(&session, &launch, why, sizeof why))
        code = lab_usage_error("verify", why);
    else {
        lab_interrupt_watch();
        bool good = lab_gemm_file_open(file, &launch, &session.file, why, sizeof why);
        code = good ? verify_file(&session) : lab_fail(LAB_EXIT_USAGE, "%s", why);
    }
    for (int i = 0; i < session.count; i++)
        close_report(session.reports[i]);
    lab_gemm_file_close(&session.file);
    lab_source_options_free(&session.source);
    return lab_is_interrupted() ? LAB_EXIT_INTERRUPTED : code;
}
