/* SPDX-License-Identifier: Apache-2.0 */
/* grade.c - rung grade from options to exit code, for one submission or for a class. */
#include "grade/grade.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "common/failure.h"
#include "findings/sarif.h"
#include "grade/class.h"
#include "grade/grade_submission.h"
#include "grade/task_folders.h"
#include "grade/variant.h"
#include "io/input_file.h"
#include "io/output_file.h"
#include "target/target.h"

enum { DEFAULT_SECONDS = 60, SOURCE_BYTES_MAX = 1 << 20 };

/* What the command line asks for. */
typedef struct grade_request {
    const lab_options *options;
    lab_task task;
    uint64_t seed;
    double seconds; /* limit of processor time; 0: none */
    int64_t jobs;   /* of a class */
} grade_request_t;

/* ---- Options ---- */

/* Returns the first option that does not fit the use: a class or one file. */
static const char *find_misplaced(const lab_options *options)
{
    if (!options->class)
        return options->html ? "--html" : options->jobs ? "--jobs" : options->variants ? "--variants" : NULL;
    return options->sarif        ? "--sarif"
           : options->junit      ? "--junit"
           : options->gradescope ? "--gradescope"
           : options->variant    ? "--variant"
                                 : NULL;
}

static int check_use(const lab_options *options)
{
    const char *misplaced = find_misplaced(options);
    if (!options->class && (!options->argument || !options->argument2))
        return lab_usage_error("grade",
                               "name a task and a file: rung grade vector_add mine.cu (rung tasks lists the tasks)");
    if (options->class && (!options->argument || options->argument2))
        return lab_usage_error("grade", "--class needs a task and no file: rung grade vector_add --class submissions");
    if (!misplaced)
        return LAB_EXIT_SUCCESS;
    char text[128];
    snprintf(text, sizeof text, options->class ? "%s is for one file, not for --class" : "%s needs --class", misplaced);
    return lab_usage_error("grade", text);
}

static int check_files(const lab_options *options)
{
    const char *const files[] = {options->sarif, options->junit, options->gradescope, options->html};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *unwritable = files[i] ? lab_output_check(files[i]) : NULL;
        if (unwritable)
            return lab_fail(LAB_EXIT_USAGE, "%s", unwritable);
    }
    return LAB_EXIT_SUCCESS;
}

static int read_options(grade_request_t *request)
{
    const lab_options *options = request->options;
    int64_t seed = 1;
    int code = check_use(options);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    if (options->seed && (!lab_parse_integer(options->seed, &seed) || seed < 0))
        return lab_option_error("grade", "--seed", options->seed, "use a whole number of at least 0");
    if (!lab_parse_time_limit(options->time_limit, DEFAULT_SECONDS, &request->seconds))
        return lab_usage_error("grade", LAB_TIME_LIMIT_USAGE);
    request->jobs = sysconf(_SC_NPROCESSORS_ONLN);
    if (options->jobs &&
        (!lab_parse_integer(options->jobs, &request->jobs) || request->jobs < 1 || request->jobs > LAB_CLASS_JOBS_MAX))
        return lab_option_error("grade", "--jobs", options->jobs, "use a number from 1 to 256");
    request->jobs = request->jobs < 1 ? 1 : request->jobs > LAB_CLASS_JOBS_MAX ? LAB_CLASS_JOBS_MAX : request->jobs;
    request->seed = (uint64_t)seed;
    return check_files(options);
}

static int read_task(grade_request_t *request)
{
    const lab_options *options = request->options;
    char folder[LAB_TASK_PATH_BYTES], why[4096], ignored[4096];
    bool is_found = lab_task_find_folder(options->argument, folder, sizeof folder, why, sizeof why);
    if (!is_found && options->argument2 &&
        lab_task_find_folder(options->argument2, folder, sizeof folder, ignored, sizeof ignored))
        return lab_fail(LAB_EXIT_USAGE, "name the task before the file: rung grade %s %s", options->argument2,
                        options->argument);
    if (!is_found || !lab_task_read(folder, &request->task, why, sizeof why) ||
        (options->variant && !lab_variant_choose(&request->task, options->variant, why, sizeof why)))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    return LAB_EXIT_SUCCESS;
}

/* ---- One submission ---- */

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

static int report_grade(const grade_request_t *request, const lab_grading *grading)
{
    const lab_options *options = request->options;
    char why[1024];
    size_t bytes;
    const lab_grade_report report = {&request->task, grading->result, grading->path, grading->seed, options->variant};
    if (options->json) {
        lab_grade_write_json(&report);
    } else {
        char *source = lab_file_read(grading->path, SOURCE_BYTES_MAX, &bytes, why, sizeof why);
        lab_grade_print(&report, source);
        free(source);
    }
    if (options->sarif && !lab_sarif_save(&grading->result->findings, options->sarif, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    if (!save(options->junit, &report, lab_grade_write_junit) ||
        !save(options->gradescope, &report, lab_grade_write_gradescope))
        return LAB_EXIT_USAGE;
    return grading->result->points == request->task.points ? LAB_EXIT_SUCCESS : LAB_EXIT_WRONG;
}

/* Refuses a file that cannot be read. */
static int check_file(const char *path)
{
    char why[1024];
    size_t bytes;
    char *text = lab_file_read(path, SOURCE_BYTES_MAX, &bytes, why, sizeof why);
    free(text);
    return text ? LAB_EXIT_SUCCESS : lab_fail(LAB_EXIT_USAGE, "%s: %s", path, why);
}

static int grade_file(const grade_request_t *request, lab_grade_result *result)
{
    lab_grading grading = {.task = &request->task,
                           .path = request->options->argument2,
                           .seed = request->seed,
                           .seconds = request->seconds,
                           .result = result};
    int code = check_file(grading.path);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    int error = lab_grading_start(&grading);
    if (error != 0)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "cannot start a process for the grading: %s", strerror(error));
    while (lab_grading_is_running(&grading))
        ;
    if (grading.was_interrupted)
        return LAB_EXIT_INTERRUPTED;
    if (result->state == LAB_GRADE_NO_COMPILER)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "%s", result->problem);
    if (result->state == LAB_GRADE_TASK_BROKEN)
        return lab_fail(LAB_EXIT_USAGE, "%s", result->problem);
    return report_grade(request, &grading);
}

static int grade_one(const grade_request_t *request)
{
    lab_grade_result *result = lab_shared_memory_allocate(sizeof *result);
    int code = result ? grade_file(request, result) : lab_fail(LAB_EXIT_USAGE, "out of memory");
    lab_shared_memory_free(result, sizeof *result);
    return code;
}

/* ---- A class ---- */

static int report_class(const grade_request_t *request, const lab_class *class)
{
    char why[LAB_OUTPUT_PATH_BYTES + 256];
    lab_class_summary *summary = lab_class_summarize(class);
    if (!summary)
        return lab_fail(LAB_EXIT_USAGE, "out of memory");
    int code = summary->full == class->count ? LAB_EXIT_SUCCESS : LAB_EXIT_WRONG;
    if (request->options->json)
        lab_class_write_json(class, summary, stdout);
    else
        lab_class_print(class, summary);
    if (request->options->html && !lab_class_save_page(class, summary, request->options->html, why, sizeof why))
        code = lab_fail(LAB_EXIT_USAGE, "%s", why);
    free(summary);
    return code;
}

static int grade_class(const grade_request_t *request)
{
    char why[4096];
    lab_class class = {.task = &request->task,
                       .folder = request->options->class,
                       .seed = request->seed,
                       .seconds = request->seconds,
                       .jobs = (int)request->jobs,
                       .has_variants = request->options->variants != NULL};
    int code = LAB_EXIT_SUCCESS;
    if (!lab_class_read(&class, why, sizeof why))
        code = lab_fail(LAB_EXIT_USAGE, "%s", why);
    if (code == LAB_EXIT_SUCCESS)
        code = lab_class_grade(&class);
    if (code == LAB_EXIT_SUCCESS)
        code = report_class(request, &class);
    lab_class_free(&class);
    return code;
}

int lab_grade_run(const lab_options *options)
{
    grade_request_t *request = calloc(1, sizeof *request);
    if (!request)
        return lab_fail(LAB_EXIT_USAGE, "out of memory");
    request->options = options;
    int code = read_options(request);
    if (code == LAB_EXIT_SUCCESS)
        code = read_task(request);
    if (code == LAB_EXIT_SUCCESS)
        code = options->class ? grade_class(request) : grade_one(request);
    if (code == LAB_EXIT_INTERRUPTED)
        lab_interrupt_report("nothing was graded; run the command again");
    lab_task_free(&request->task);
    free(request);
    return code;
}
