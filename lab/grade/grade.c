/* SPDX-License-Identifier: Apache-2.0 */
/* grade.c - rung grade from options to exit code. The parent reads the task; a supervised child compiles the submission in a
 * sandbox, runs it on the emulator, and leaves the result in shared memory. Whatever the submission does to the child, the
 * parent prints a grade. */
#include "grade/grade.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/lab_clock.h"
#include "cuda_source/compile_job.h"
#include "findings/sarif.h"
#include "grade/grade_points.h"
#include "grade/task_folders.h"
#include "io/input_file.h"
#include "io/output_file.h"
#include "io/temporary_file.h"
#include "process/sandbox.h"
#include "process/supervise.h"
#include "target/target.h"

/* Seconds of processor time after the limit, in which the child must report. */
enum {
    DEFAULT_SECONDS = 60,
    GRACE_SECONDS = 30,
    ELAPSED_RATIO = 10,
    PRINTED_BYTES_MAX = 1 << 20,
    SOURCE_BYTES_MAX = 1 << 20
};

typedef struct grade_session {
    lab_task task;
    const char *path;
    uint64_t seed;
    double seconds; /* limit of processor time; 0: none */
    const char *sarif, *junit, *gradescope;
    lab_grade_result *result; /* in shared memory */
} grade_session_t;

/* ---- The child ---- */

/* What the cases of one grading have in common. */
typedef struct grade_run {
    const grade_session_t *session;
    lab_task_code code, reference; /* `reference` only for a reference.cu */
    lab_reference_function function;
    lab_task_case *cases;
    lab_task_run_result *results;
    lab_task_run_settings settings;
    int count, ran;
} grade_run_t;

/* Ends the grading because the task is broken. */
static void report_broken(lab_grade_result *result, const char *why)
{
    snprintf(result->problem, sizeof result->problem, "%s", why);
    result->state = LAB_GRADE_TASK_BROKEN;
}

/* Opens reference.cu, or finds the compiled reference. */
static bool open_reference(grade_run_t *run, char *why, size_t capacity)
{
    static char path[LAB_TASK_PATH_BYTES + 256]; /* the code refers to it */
    const lab_task *task = &run->session->task;
    lab_cuda_compile_status status;
    size_t length = strlen(task->reference);
    if (length <= 3 || strcmp(task->reference + length - 3, ".cu") != 0) {
        run->function = lab_reference_find(task->reference);
        return run->function ||
               lab_set_reason(why, capacity,
                              "%s/task.toml: reference is \"%s\"; use the name of a compiled reference "
                              "or a file that ends in .cu",
                              task->folder, task->reference);
    }
    snprintf(path, sizeof path, "%s/%s", task->folder, task->reference);
    return lab_task_code_open(task, path, "reference", "grid=1 block=1", LAB_TASK_COMPILE_SECONDS, &run->reference,
                              &status, why, capacity);
}

static bool compute_reference(grade_run_t *run, lab_task_case *one, char *why, size_t capacity)
{
    if (!run->function)
        return lab_task_run_reference(&run->reference, one, why, capacity);
    lab_reference reference = {one};
    return run->function(&reference) ||
           lab_set_reason(why, capacity, "%s/task.toml: the reference %s needs arguments or sizes that the task lacks",
                          run->session->task.folder, run->session->task.reference);
}

/* Runs the cases until one does not end. Returns false if the task is broken. */
static bool run_cases(grade_run_t *run, char *why, size_t capacity)
{
    bool good = true, goes_on = true;
    for (int i = 0; good && goes_on && i < run->count && !lab_is_interrupted(); i++) {
        good = lab_task_case_fill(&run->cases[i], run->session->seed, why, capacity) &&
               compute_reference(run, &run->cases[i], why, capacity);
        if (good) {
            lab_task_run(&run->code, &run->cases[i], &run->settings, &run->results[i]);
            run->ran = i + 1;
            goes_on = run->results[i].ending == LAB_TASK_RUN_COMPLETE;
        }
        lab_task_case_free(&run->cases[i]);
    }
    return good;
}

/* Copies what the kernels printed. Bytes that are no text are replaced. */
static void copy_output(FILE *printed, lab_grade_result *result)
{
    rewind(printed);
    size_t bytes = fread(result->output, 1, sizeof result->output - 1, printed);
    result->output_is_cut = bytes == sizeof result->output - 1 && fgetc(printed) != EOF;
    result->output[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++)
        if ((result->output[i] < ' ' || result->output[i] > '~') && result->output[i] != '\n' &&
            result->output[i] != '\t')
            result->output[i] = '?';
}

/* Findings name the file as the user did. Those without a line are about the whole kernel. */
static void name_files(const grade_session_t *session, lab_finding_list *findings)
{
    for (int i = 0; i < findings->count; i++)
        snprintf(findings->items[i].file, sizeof findings->items[i].file, "%s", session->path);
    findings->names_absolute = *session->path == '/';
}

/* Compiles the submission. Returns false if there is nothing to run. */
static bool open_submission(grade_run_t *run)
{
    lab_grade_result *result = run->session->result;
    lab_cuda_compile_status status;
    char why[LAB_GRADE_PROBLEM_BYTES];
    double limit = run->session->seconds, seconds = LAB_TASK_COMPILE_SECONDS;
    if (limit > 0 && limit < seconds)
        seconds = limit;
    if (lab_task_code_open(&run->session->task, run->session->path, run->session->task.kernel, NULL, seconds,
                           &run->code, &status, why, sizeof why))
        return true;
    if (status == LAB_CUDA_NO_COMPILER || status == LAB_CUDA_NO_HEADERS) {
        snprintf(result->problem, sizeof result->problem, "%s", why);
        result->state = LAB_GRADE_NO_COMPILER;
    } else {
        lab_grade_fail(&run->session->task, result, why);
    }
    return false;
}

static void grade_submission(grade_run_t *run)
{
    const grade_session_t *session = run->session;
    char why[LAB_GRADE_PROBLEM_BYTES];
    run->cases = calloc(LAB_TASK_CASES_MAX, sizeof *run->cases);
    run->results = calloc(LAB_TASK_CASES_MAX, sizeof *run->results);
    if (!run->cases || !run->results) {
        report_broken(session->result, "out of memory");
        return;
    }
    if (!open_submission(run))
        return;
    run->count = lab_task_draw_cases(&session->task, session->seed, run->cases, LAB_TASK_CASES_MAX);
    if (!open_reference(run, why, sizeof why) || !run_cases(run, why, sizeof why)) {
        report_broken(session->result, why);
        return;
    }
    name_files(session, &session->result->findings);
    lab_grade_cases cases = {run->cases, run->results, run->count, run->ran};
    lab_grade_give_points(&session->task, &cases, session->result);
}

/* The work of the child. */
static int grade_in_child(void *user)
{
    grade_session_t *session = user;
    FILE *printed = lab_temporary_open();
    grade_run_t run = {.session = session};
    if (!printed)
        printed = fopen("/dev/null", "w+e");
    if (!printed)
        return LAB_EXIT_USAGE;
    if (session->seconds > 0)
        lab_sandbox_limit(session->seconds + GRACE_SECONDS, 0);
    lab_sandbox_limit_file_size(PRINTED_BYTES_MAX);
    run.settings = (lab_task_run_settings){
        .is_checked = true,
        .until_cpu_ns = session->seconds > 0 ? lab_clock_now_ns(LAB_CLOCK_CPU) + (int64_t)(session->seconds * 1e9) : 0,
        .output = printed,
        .findings = &session->result->findings};
    lab_supervise_step_begin("grading");
    grade_submission(&run);
    lab_supervise_step_end();
    copy_output(printed, session->result);
    lab_task_code_close(&run.code);
    lab_task_code_close(&run.reference);
    free(run.cases);
    free(run.results);
    (void)fclose(printed);
    return lab_is_interrupted() ? LAB_EXIT_INTERRUPTED : LAB_EXIT_SUCCESS;
}

/* ---- The parent ---- */

static int read_options(const lab_options *options, grade_session_t *session)
{
    int64_t seed = 1;
    const char *unwritable;
    if (!options->argument || !options->argument2)
        return lab_usage_error("grade",
                               "name a task and a file: rung grade vector_add mine.cu (rung tasks lists the tasks)");
    if (options->seed && (!lab_parse_integer(options->seed, &seed) || seed < 0))
        return lab_option_error("grade", "--seed", options->seed, "use a whole number of at least 0");
    if (!lab_parse_time_limit(options->time_limit, DEFAULT_SECONDS, &session->seconds))
        return lab_usage_error("grade", LAB_TIME_LIMIT_USAGE);
    session->path = options->argument2;
    session->seed = (uint64_t)seed;
    session->sarif = options->sarif;
    session->junit = options->junit;
    session->gradescope = options->gradescope;
    const char *const files[] = {options->sarif, options->junit, options->gradescope};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] && (unwritable = lab_output_check(files[i])) != NULL)
            return lab_fail(LAB_EXIT_USAGE, "%s", unwritable);
    return LAB_EXIT_SUCCESS;
}

static int read_task(const lab_options *options, grade_session_t *session)
{
    char folder[LAB_TASK_PATH_BYTES], why[4096], ignored[4096];
    size_t bytes;
    bool is_found = lab_task_find_folder(options->argument, folder, sizeof folder, why, sizeof why);
    if (!is_found && lab_task_find_folder(options->argument2, folder, sizeof folder, ignored, sizeof ignored))
        return lab_fail(LAB_EXIT_USAGE, "name the task before the file: rung grade %s %s", options->argument2,
                        options->argument);
    if (!is_found || !lab_task_read(folder, &session->task, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    char *text = lab_file_read(session->path, SOURCE_BYTES_MAX, &bytes, why, sizeof why);
    free(text);
    return text ? LAB_EXIT_SUCCESS : lab_fail(LAB_EXIT_USAGE, "%s: %s", session->path, why);
}

/* Runs the child, and describes what happened if it left no result. */
static int supervise(grade_session_t *session)
{
    char why[256];
    const double seconds = session->seconds > 0 ? ELAPSED_RATIO * (session->seconds + GRACE_SECONDS) : 0;
    lab_supervise_result child = lab_supervise(grade_in_child, session, &seconds);
    if (child.ending == LAB_ENDED_INTERRUPTED || child.code == LAB_EXIT_INTERRUPTED)
        return LAB_EXIT_INTERRUPTED;
    if (child.ending == LAB_ENDED_NOT_STARTED)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "cannot start a process for the grading: %s", strerror(child.code));
    if (session->result->state != LAB_GRADE_UNFINISHED)
        return LAB_EXIT_SUCCESS;
    if (child.ending == LAB_ENDED_CRASHED)
        snprintf(why, sizeof why, "the grading ended by signal %d; the submission exceeded a limit of time or memory",
                 child.code);
    else
        snprintf(why, sizeof why, "the grading did not end within its time limit");
    lab_grade_fail(&session->task, session->result, why);
    return LAB_EXIT_SUCCESS;
}

/* Writes a file of the report. Returns false after printing an error. */
static bool save(const char *path, const lab_grade_report *report,
                 void (*write_report)(const lab_grade_report *, FILE *))
{
    lab_output_file file;
    if (!path)
        return true;
    if (!lab_output_open(path, &file)) {
        lab_fail(LAB_EXIT_USAGE, "%s: %s", path, strerror(errno));
        return false;
    }
    write_report(report, file.stream);
    if (lab_output_commit(&file))
        return true;
    lab_fail(LAB_EXIT_USAGE, "%s: %s", path, strerror(errno));
    return false;
}

static int report_grade(const lab_options *options, const grade_session_t *session)
{
    char why[1024];
    size_t bytes;
    const lab_grade_report report = {&session->task, session->result, session->path, session->seed};
    if (options->json) {
        lab_grade_write_json(&report);
    } else {
        char *source = lab_file_read(session->path, SOURCE_BYTES_MAX, &bytes, why, sizeof why);
        lab_grade_print(&report, source);
        free(source);
    }
    if (session->sarif && !lab_sarif_save(&session->result->findings, session->sarif, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    if (!save(session->junit, &report, lab_grade_write_junit) ||
        !save(session->gradescope, &report, lab_grade_write_gradescope))
        return LAB_EXIT_USAGE;
    return session->result->points == session->task.points ? LAB_EXIT_SUCCESS : LAB_EXIT_WRONG;
}

static int grade(const lab_options *options, grade_session_t *session)
{
    int code = read_options(options, session);
    if (code == LAB_EXIT_SUCCESS)
        code = read_task(options, session);
    if (code == LAB_EXIT_SUCCESS)
        code = supervise(session);
    if (code == LAB_EXIT_INTERRUPTED)
        lab_interrupt_report("nothing was graded; run the command again");
    if (code != LAB_EXIT_SUCCESS)
        return code;
    if (session->result->state == LAB_GRADE_NO_COMPILER)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "%s", session->result->problem);
    if (session->result->state == LAB_GRADE_TASK_BROKEN)
        return lab_fail(LAB_EXIT_USAGE, "%s", session->result->problem);
    return report_grade(options, session);
}

int lab_grade_run(const lab_options *options)
{
    grade_session_t *session = calloc(1, sizeof *session);
    if (session)
        session->result = lab_shared_memory_allocate(sizeof *session->result);
    int code = session && session->result ? grade(options, session) : lab_fail(LAB_EXIT_USAGE, "out of memory");
    if (session) {
        lab_shared_memory_free(session->result, sizeof *session->result);
        lab_task_free(&session->task);
    }
    free(session);
    return code;
}
