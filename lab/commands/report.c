/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - rung report: result files as one page of pictures and tables.
 *
 * Without a file, runs a short ladder first: starts rung bench as a child process and draws its result. An interruption
 * (SIGINT, SIGTERM) ends the measurement; the page then shows what was measured so far and says so, and the exit code
 * is 130. */
#define _GNU_SOURCE /* strsignal */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/interrupt.h"
#include "io/output_file.h"
#include "report/report.h"
#include "process/child_process.h"
#include "target/target.h"
#include "io/temporary_file.h"

/* ---- A short ladder --------------------------------------------------------------------------------- */

/* Waits for rung bench. Forwards an interruption once: bench then ends after the current sample. */
static int wait_for_bench(pid_t child)
{
    bool was_forwarded = false;
    int status;
    while (lab_child_is_running(child, &status))
        if (lab_is_interrupted() && !was_forwarded) {
            kill(child, SIGINT);
            was_forwarded = true;
        }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (!WIFSIGNALED(status))
        return LAB_EXIT_UNAVAILABLE;
    if (was_forwarded)
        return LAB_EXIT_INTERRUPTED;
    return lab_fail(LAB_EXIT_WRONG,
                    "rung bench was killed by signal %d (%s); no page was written. Run rung bench alone for details",
                    WTERMSIG(status), strsignal(WTERMSIG(status)));
}

/* Runs rung bench with its output in this file. Returns its exit code, or LAB_EXIT_UNAVAILABLE if it cannot be started. */
static int run_bench(const char *device, int output)
{
    const char *const arguments[] = {"rung",        "bench",    "--device", device,   "--sizes",
                                     "128,256,512", "--budget", "0.3",      "--json", NULL};
    pid_t child;
    int error = lab_child_start("/proc/self/exe", (char *const *)(uintptr_t)arguments, NULL,
                                (lab_child_streams){-1, output, -1}, &child);
    return error ? lab_fail(LAB_EXIT_UNAVAILABLE, "cannot start rung bench: %s; %s", strerror(error),
                            lab_child_start_advice(error))
                 : wait_for_bench(child);
}

/* Adds the result of a short run. Its file has no name, so nothing is left of it, however this process ends. */
static int add_short_run(lab_report *report, const char *device)
{
    char path[64], why[4608];
    FILE *file = lab_temporary_open();
    if (!file) {
        lab_temporary_error_text(errno, why, sizeof why);
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    lab_interrupt_watch();
    int code = run_bench(device, fileno(file));
    bool has_results = code == LAB_EXIT_SUCCESS || code == LAB_EXIT_WRONG || code == LAB_EXIT_UNAVAILABLE ||
                       code == LAB_EXIT_INTERRUPTED;
    bool added = has_results && lab_report_add(report, path, "a short ladder, run just now", why, sizeof why);
    fclose(file);
    if (code == LAB_EXIT_SUCCESS && !added)
        code = lab_fail(LAB_EXIT_USAGE, "%s", why);
    else if (code == LAB_EXIT_INTERRUPTED)
        lab_interrupt_report(added ? "the page shows what was measured so far; run the command again for all of it"
                                   : "nothing was measured yet, and no page was written");
    return code;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static bool print_write_error(const char *path)
{
    lab_fail(LAB_EXIT_USAGE, "cannot write %s: %s", path, strerror(errno));
    return false;
}

static bool write_page(lab_report *report, const char *path, const char *title)
{
    bool to_standard = strcmp(path, "-") == 0;
    lab_output_file output = {.stream = stdout};
    if (!to_standard && !lab_output_open(path, &output))
        return print_write_error(path);
    report->page.out = output.stream;
    lab_report_write(report, title);
    if (*report->page.why)
        lab_fail(LAB_EXIT_USAGE, "%s", report->page.why);
    if (!to_standard && !lab_output_commit(&output)) /* main() checks standard output */
        return print_write_error(path);
    return !*report->page.why;
}

static int add_files(lab_report *report, const lab_options *options)
{
    char why[1024];
    for (int i = 0; i < options->argument_count; i++)
        if (!lab_report_add(report, options->arguments[i], NULL, why, sizeof why))
            return lab_fail(LAB_EXIT_USAGE, "%s", why);
    return LAB_EXIT_SUCCESS;
}

/* Checks the page's name before anything is read or run. Returns NULL or what is wrong. */
static const char *check_page(const char *path, const lab_options *options)
{
    static char why[LAB_OUTPUT_PATH_BYTES + 128];
    if (strcmp(path, "-") == 0)
        return NULL;
    for (int i = 0; i < options->argument_count; i++)
        if (lab_output_is_same_file(path, options->arguments[i])) {
            snprintf(why, sizeof why, "%.*s is also result file %d; choose another file for the page with --output",
                     LAB_OUTPUT_PATH_BYTES, path, i + 1);
            return why;
        }
    return lab_output_check(path);
}

static int make_report(lab_report *report, const lab_options *options)
{
    const char *path = options->output ? options->output : "rung-report.html";
    int code;
    if (options->argument_count > 0 && options->device)
        return lab_fail(LAB_EXIT_USAGE,
                        "--device cannot be combined with result files: give files, or a device to measure now");
    const char *wrong = check_page(path, options);
    if (wrong)
        return lab_fail(LAB_EXIT_USAGE, "%s", wrong);
    if (options->argument_count > 0)
        code = add_files(report, options);
    else
        code = add_short_run(report, options->device ? options->device : "cpu");
    if (code == LAB_EXIT_USAGE || report->input_count == 0)
        return code;
    if (!lab_report_group_rows(report))
        return lab_fail(LAB_EXIT_UNAVAILABLE, "out of memory");
    report->page.charts_folder = options->charts;
    report->page.version = rung_version_text();
    if (!write_page(report, path, options->title ? options->title : "How fast, and why"))
        return LAB_EXIT_USAGE;
    if (strcmp(path, "-") != 0)
        printf("%s: %d pictures, %lld rows\n", path, report->page.figure_count, (long long)report->row_count);
    bool is_empty = report->row_count == 0 ||
                    (report->verified_count == 0 && !lab_report_has_kind(report, LAB_REPORT_INPUT_TUNE) &&
                     !lab_report_has_kind(report, LAB_REPORT_INPUT_EXPLAIN) &&
                     !lab_report_has_kind(report, LAB_REPORT_INPUT_PEAK));
    return code != LAB_EXIT_SUCCESS ? code : is_empty ? LAB_EXIT_UNAVAILABLE : LAB_EXIT_SUCCESS;
}

int lab_command_report(const lab_options *options)
{
    lab_report report = {0};
    int code = make_report(&report, options);
    lab_report_free(&report);
    return code;
}
