/* SPDX-License-Identifier: Apache-2.0 */
/* plain_verify.c - see plain_verify.h. */
#include "plain_gemm/plain_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"
#include "common/failure.h"
#include "common/text.h"
#include "cuda_source/source_options.h"
#include "findings/sarif.h"
#include "plain_gemm/gemm_meaning.h"
#include "plain_gemm/gemm_sizes.h"
#include "plain_gemm/plain_options.h"
#include "process/supervise.h"
#include "target/target.h"

enum { KERNELS_MAX = 16, DEFAULT_SECONDS = 60 };

/* What was found out about one kernel with one configuration of its launch. */
typedef struct kernel_report {
    lab_gemm_kernel kernel;
    char launch_lines[64]; /* of the host code: "40, 52" */
    char not_run[512];     /* other launches of the kernel that did not run; "" if all did */
    bool is_open;          /* otherwise `why` says why not */
    bool is_understood;    /* an interpretation explains the result */
    lab_gemm_meaning meaning;
    lab_gemm_sizes sizes;
    lab_gemm_result first; /* at the base size */
    rung_compute compute;  /* the least precise mode that a case needed */
    bool is_low_precision;
    int cases, wrong;
    char first_wrong[768];
    lab_finding_list findings;
    char why[2048];
} kernel_report_t;

typedef struct plain_session {
    const lab_options *options;
    lab_gemm_file file;
    lab_source_options source;
    lab_gemm_settings settings;
    kernel_report_t *reports[KERNELS_MAX];
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

static lab_gemm_result run_case(kernel_report_t *report, const lab_gemm_problem *problem)
{
    char when[96];
    lab_gemm_result result = lab_gemm_run(&report->kernel, &report->meaning, problem);
    snprintf(when, sizeof when, "M = %lld, N = %lld, K = %lld.", (long long)problem->m, (long long)problem->n,
             (long long)problem->k);
    lab_finding_list_add(&report->findings, report->kernel.emulator, when);
    report->cases++;
    report->is_low_precision = report->is_low_precision || result.is_low_precision;
    if (result.compute != RUNG_COMPUTE_STRICT && result.outcome == LAB_GEMM_RIGHT)
        report->compute = result.compute;
    if (result.outcome != LAB_GEMM_RIGHT && report->wrong++ == 0)
        snprintf(report->first_wrong, sizeof report->first_wrong, "%lld x %lld x %lld: %s", (long long)problem->m,
                 (long long)problem->n, (long long)problem->k, result.text);
    return result;
}

/* Runs sizes that the kernel takes: the smallest, edges, rectangles; integers and fractions; several scalars. */
static void run_cases(kernel_report_t *report)
{
    static const int picks[][3] = {{1, 1, 1}, {0, 0, 0}, {2, 2, 2}, {4, 4, 4}, {3, 1, 0}, {0, 3, 2},
                                   {2, 0, 3}, {5, 5, 5}, {1, 0, 4}, {0, 1, 1}, {4, 2, 5}, {1, 2, 1}};
    static const double scalars[][2] = {{1, 0}, {2, 3}, {-1, 1}, {0.5, 0}};
    bool is_square = lab_gemm_is_square(&report->kernel);
    for (size_t i = 0; i < sizeof picks / sizeof *picks && !lab_is_interrupted(); i++) {
        int64_t size[3];
        for (int d = 0; d < 3; d++)
            size[d] = pick_size(&report->sizes, d, picks[i][is_square ? 0 : d]);
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

/* Runs the kernel as its names suggest, to find out why no interpretation explains its result. */
static void run_wrong_kernel(kernel_report_t *report)
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
    report->first = run_case(report, &problem);
}

static void verify_launch(plain_session_t *session, int function, const lab_cuda_launch *launch,
                          kernel_report_t *report)
{
    report->is_open = lab_gemm_kernel_open(&session->file, function, launch, &session->settings, &report->kernel,
                                           report->why, sizeof report->why);
    if (!report->is_open)
        return;
    report->is_understood = lab_gemm_find_meaning(&report->kernel, &report->meaning, report->sizes.base,
                                                  &report->first);
    if (!report->is_understood) {
        run_wrong_kernel(report);
        return;
    }
    int64_t base[3];
    memcpy(base, report->sizes.base, sizeof base);
    report->sizes = lab_gemm_find_sizes(&report->kernel, &report->meaning, base);
    run_cases(report);
}

/* ---- Text ---- */

static void print_field(const char *name, const char *text)
{
    printf("  %-9s ", name);
    lab_text_wrap(text, 12, 12, lab_terminal_width(stdout), stdout);
}

static void print_parameters(const kernel_report_t *report)
{
    char text[1024] = "";
    for (int i = 0; i < report->kernel.slot_count; i++) {
        const lab_gemm_slot *slot = &report->kernel.slots[i];
        if (slot->type.is_struct)
            continue;
        const char *role = lab_role_name(slot->role);
        lab_append(text, sizeof text, "%s%s", *text ? ", " : "", slot->name);
        if (strcmp(role, slot->name) != 0)
            lab_append(text, sizeof text, " = %s", slot->role == LAB_ROLE_UNKNOWN ? "a size" : role);
    }
    print_field("takes", text);
}

static void print_launch(const kernel_report_t *report)
{
    const lab_gemm_launch *launch = &report->first.launch;
    const lab_launch_source *source = &report->kernel.source;
    char text[1024], place[128];
    snprintf(text, sizeof text, "%u x %u x %u blocks of %u x %u x %u threads for %lld x %lld x %lld", launch->grid[0],
             launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
             (long long)report->sizes.base[0], (long long)report->sizes.base[1], (long long)report->sizes.base[2]);
    if (launch->shared_bytes > 0)
        lab_append(text, sizeof text, ", %lld bytes of dynamic shared memory", (long long)launch->shared_bytes);
    if (source->grid || source->block)
        lab_append(text, sizeof text,
                   report->kernel.options.line > 0 ? " (from the comment in line %d)" : " (as given)",
                   report->kernel.options.line);
    else if (source->launch) {
        lab_gemm_name_launches(report->launch_lines, place, sizeof place);
        lab_append(text, sizeof text, " (from %s)", place);
    }
    print_field("launch", text);
    if (*report->not_run)
        print_field("not run", report->not_run);
}

static void print_assumption(const kernel_report_t *report)
{
    char text[512];
    if (!*report->kernel.assumed)
        return;
    snprintf(text, sizeof text, "%s, because the file does not name the type; choose another with --template",
             report->kernel.assumed);
    print_field("assumes", text);
}

static void print_sizes(const kernel_report_t *report)
{
    char text[1536], sizes[512];
    if (lab_gemm_takes_any_size(&report->sizes)) {
        print_field("sizes", "any");
        return;
    }
    lab_gemm_describe_sizes(&report->kernel, &report->sizes, sizes, sizeof sizes);
    snprintf(text, sizeof text, "correct only when %s", sizes);
    print_field("sizes", text);
    for (int i = 0; i < 3; i++)
        if (*report->sizes.first_wrong[i])
            print_field("", report->sizes.first_wrong[i]);
}

static void print_result(const kernel_report_t *report)
{
    char text[1536];
    snprintf(text, sizeof text, "%d of %d right", report->cases - report->wrong, report->cases);
    if (report->is_low_precision)
        lab_append(text, sizeof text, "; the sums are rounded to the type of C at every step");
    else if (report->compute == RUNG_COMPUTE_TF32)
        lab_append(text, sizeof text, "; the precision is that of tf32");
    print_field("cases", text);
    if (report->wrong > 0)
        print_field("wrong", report->first_wrong);
}

static void print_report(const plain_session_t *session, const kernel_report_t *report)
{
    char meaning[512];
    if (!report->is_open) {
        printf("%s\n", *report->kernel.title ? report->kernel.title : session->file.path);
        print_field("not run", report->why);
        return;
    }
    printf("%s, %s:%d\n", report->kernel.title, lab_base_name(session->file.path), report->kernel.line);
    print_parameters(report);
    print_assumption(report);
    if (report->is_understood) {
        lab_gemm_describe_meaning(&report->kernel, &report->meaning, meaning, sizeof meaning);
        print_field("computes", meaning);
    } else
        print_field("computes", "no matrix product: no layout and no order of the sizes explains the result");
    print_launch(report);
    if (report->is_understood)
        print_sizes(report);
    print_result(report);
    if (report->findings.count == 0)
        print_field("findings", "none");
    else
        lab_finding_list_print(&report->findings, session->file.text, stdout);
}

/* ---- JSON ---- */

static void write_report(const kernel_report_t *report, lab_json *json)
{
    char text[512] = "";
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", report->kernel.title);
    lab_json_boolean(json, "ran", report->is_open);
    if (!report->is_open)
        lab_json_string(json, "reason", report->why);
    else {
        lab_json_integer(json, "line", report->kernel.line);
        LAB_JSON_STRINGS(json, {"launch_lines", report->launch_lines}, {"launches_not_run", report->not_run},
                         {"assumed", report->kernel.assumed});
        if (report->is_understood)
            lab_gemm_describe_meaning(&report->kernel, &report->meaning, text, sizeof text);
        lab_json_string(json, "computes", text);
        if (report->is_understood)
            lab_gemm_describe_sizes(&report->kernel, &report->sizes, text, sizeof text);
        lab_json_string(json, "sizes", report->is_understood && !*text ? "any" : text);
        LAB_JSON_INTEGERS(json, {"cases", report->cases}, {"wrong", report->wrong});
        lab_json_string(json, "first_wrong", report->first_wrong);
    }
    lab_json_end(json, '}');
}

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
        write_report(session->reports[i], &json);
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
    if (!lab_parse_time_limit(session->options->time_limit, DEFAULT_SECONDS, &session->settings.seconds))
        return lab_set_reason(why, capacity, "%s", LAB_TIME_LIMIT_USAGE);
    return lab_plain_options_read(session->options, launch, why, capacity);
}

static void close_report(kernel_report_t *report)
{
    lab_gemm_kernel_close(&report->kernel);
    free(report);
}

/* Removes the reports of a kernel's launches that could not be evaluated if another one ran, which then names them. */
static void merge_refused(plain_session_t *session, int first)
{
    kernel_report_t *ran = NULL;
    int count = first;
    for (int i = first; i < session->count && !ran; i++)
        ran = session->reports[i]->is_open ? session->reports[i] : NULL;
    for (int i = first; i < session->count; i++) {
        kernel_report_t *report = session->reports[i];
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

static void note_not_run(kernel_report_t *report, const char *lines, const char *reason)
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
        kernel_report_t *report = session->count < KERNELS_MAX ? calloc(1, sizeof *report) : NULL;
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
        const kernel_report_t *report = session->reports[i];
        if (report->is_open && (report->wrong > 0 || !report->is_understood || report->findings.count > 0))
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
        print_report(session, session->reports[i]);
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
