/* SPDX-License-Identifier: Apache-2.0 */
/* grade_submission.c - see grade_submission.h. Whatever a submission does to the child, the parent gets a result. */
#include "grade/grade_submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/options.h"
#include "common/failure.h"
#include "common/lab_clock.h"
#include "cuda_source/compile_job.h"
#include "grade/grade_points.h"
#include "io/temporary_file.h"
#include "process/sandbox.h"

/* Seconds of processor time after the limit, in which the child must report. */
enum { GRACE_SECONDS = 30, ELAPSED_RATIO = 10, PRINTED_BYTES_MAX = 1 << 20 };

/* ---- The child ---- */

/* What the cases of one grading have in common. */
typedef struct grade_run {
    const lab_grading *grading;
    lab_task_code code, reference; /* `reference` only for a reference.cu */
    lab_reference_function function;
    lab_task_case *cases;
    lab_task_run_result *results;
    lab_task_run_settings settings;
    int count, ran;
} grade_run_t;

/* Ends the grading because the task is broken, or the machine cannot grade it. */
static void report_broken(lab_grade_result *result, const char *why)
{
    snprintf(result->problem, sizeof result->problem, "%s", why);
    result->state = LAB_GRADE_TASK_BROKEN;
}

/* Opens reference.cu, or finds the compiled reference. */
static bool open_reference(grade_run_t *run, char *why, size_t capacity)
{
    static char path[LAB_TASK_PATH_BYTES + 256]; /* the code refers to it */
    const lab_task *task = run->grading->task;
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
                          run->grading->task->folder, run->grading->task->reference);
}

static bool has_memory(void)
{
    void *volatile memory = malloc(1 << 20); /* volatile: the call must not be optimized away */
    bool has = memory != NULL;
    free(memory);
    return has;
}

/* Runs a case. Returns false if this machine has no memory for it, for which the submission must not lose points. A kernel that
 * needs more than the emulator allows fails twice, while the machine has memory. */
static bool run_case(grade_run_t *run, int index, char *why, size_t capacity)
{
    const lab_task_run_result *result = &run->results[index];
    for (int attempt = 0; attempt < 2; attempt++) {
        lab_task_run(&run->code, &run->cases[index], &run->settings, &run->results[index]);
        if (!result->lacked_memory)
            return true;
        if (!has_memory())
            return lab_set_reason(why, capacity, "out of memory for the grading; end other programs");
    }
    return true;
}

/* Runs the cases until one does not end. Returns false if the task is broken. */
static bool run_cases(grade_run_t *run, char *why, size_t capacity)
{
    bool good = true, goes_on = true;
    for (int i = 0; good && goes_on && i < run->count && !lab_is_interrupted(); i++) {
        good = lab_task_case_fill(&run->cases[i], run->grading->seed, why, capacity) &&
               compute_reference(run, &run->cases[i], why, capacity);
        if (good) {
            good = run_case(run, i, why, capacity);
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
static void name_files(const lab_grading *grading, lab_finding_list *findings)
{
    for (int i = 0; i < findings->count; i++)
        snprintf(findings->items[i].file, sizeof findings->items[i].file, "%s", grading->path);
    findings->names_absolute = *grading->path == '/';
}

/* Compiles the submission. Returns false if there is nothing to run. */
static bool open_submission(grade_run_t *run)
{
    lab_grade_result *result = run->grading->result;
    lab_cuda_compile_status status;
    char why[LAB_GRADE_PROBLEM_BYTES];
    double limit = run->grading->seconds, seconds = LAB_TASK_COMPILE_SECONDS;
    if (limit > 0 && limit < seconds)
        seconds = limit;
    if (lab_task_code_open(run->grading->task, run->grading->path, run->grading->task->kernel, NULL, seconds,
                           &run->code, &status, why, sizeof why))
        return true;
    if (status == LAB_CUDA_NO_COMPILER || status == LAB_CUDA_NO_HEADERS) {
        snprintf(result->problem, sizeof result->problem, "%s", why);
        result->state = LAB_GRADE_NO_COMPILER;
    } else if (status == LAB_CUDA_NO_RESOURCES) { /* the submission must not lose points */
        report_broken(result, why);
    } else {
        lab_grade_fail(run->grading->task, result,
                       status == LAB_CUDA_REJECTED ? LAB_OBSTACLE_COMPILER
                       : status == LAB_CUDA_LIMIT  ? LAB_OBSTACLE_LIMIT
                                                   : LAB_OBSTACLE_LAUNCH,
                       why);
    }
    return false;
}

static void grade_submission(grade_run_t *run)
{
    const lab_grading *grading = run->grading;
    char why[LAB_GRADE_PROBLEM_BYTES];
    run->cases = calloc(LAB_TASK_CASES_MAX, sizeof *run->cases);
    run->results = calloc(LAB_TASK_CASES_MAX, sizeof *run->results);
    if (!run->cases || !run->results) {
        report_broken(grading->result, "out of memory");
        return;
    }
    if (!open_submission(run))
        return;
    run->count = lab_task_draw_cases(grading->task, grading->seed, run->cases, LAB_TASK_CASES_MAX);
    if (!open_reference(run, why, sizeof why) || !run_cases(run, why, sizeof why)) {
        report_broken(grading->result, why);
        return;
    }
    name_files(grading, &grading->result->findings);
    lab_grade_cases cases = {run->cases, run->results, run->count, run->ran};
    lab_grade_give_points(grading->task, &cases, grading->result);
}

/* The work of the child. */
static int grade_in_child(void *user)
{
    lab_grading *grading = user;
    FILE *printed = lab_temporary_open();
    grade_run_t run = {.grading = grading};
    if (!printed)
        printed = fopen("/dev/null", "w+e");
    if (!printed)
        return LAB_EXIT_USAGE;
    if (grading->seconds > 0)
        lab_sandbox_limit(grading->seconds + GRACE_SECONDS, 0);
    lab_sandbox_limit_file_size(PRINTED_BYTES_MAX);
    run.settings = (lab_task_run_settings){
        .is_checked = true,
        .until_cpu_ns = grading->seconds > 0 ? lab_clock_now_ns(LAB_CLOCK_CPU) + (int64_t)(grading->seconds * 1e9) : 0,
        .output = printed,
        .findings = &grading->result->findings};
    lab_supervise_step_begin("grading");
    grade_submission(&run);
    lab_supervise_step_end();
    copy_output(printed, grading->result);
    lab_task_code_close(&run.code);
    lab_task_code_close(&run.reference);
    free(run.cases);
    free(run.results);
    (void)fclose(printed);
    return lab_is_interrupted() ? LAB_EXIT_INTERRUPTED : LAB_EXIT_SUCCESS;
}

/* ---- The parent ---- */

int lab_grading_start(lab_grading *grading)
{
    int error = 0;
    grading->elapsed_seconds = grading->seconds > 0 ? ELAPSED_RATIO * (grading->seconds + GRACE_SECONDS) : 0;
    grading->child = lab_supervise_start(grade_in_child, grading, &grading->elapsed_seconds, &error);
    return grading->child ? 0 : error;
}

bool lab_grading_is_running(lab_grading *grading)
{
    lab_supervise_result child;
    char why[256];
    if (lab_supervise_is_running(grading->child, &child))
        return true;
    grading->child = NULL;
    grading->was_interrupted = child.ending == LAB_ENDED_INTERRUPTED || child.code == LAB_EXIT_INTERRUPTED;
    if (grading->was_interrupted || grading->result->state != LAB_GRADE_UNFINISHED)
        return false;
    if (child.ending == LAB_ENDED_CRASHED)
        snprintf(why, sizeof why, "the grading ended by signal %d; the submission exceeded a limit of time or memory",
                 child.code);
    else
        snprintf(why, sizeof why, "the grading did not end within its time limit");
    lab_grade_fail(grading->task, grading->result, LAB_OBSTACLE_END, why);
    return false;
}
