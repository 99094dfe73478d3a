/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - rung report: result files as one page of pictures and tables.
 *
 * Where no file is named, a short ladder is run first, by the command itself as another process: what is drawn is
 * what rung bench would have written. An interruption (SIGINT, SIGTERM) ends the measurement; the page then shows
 * what was measured so far and says so, and the exit code is 130. */
#define _GNU_SOURCE /* strsignal */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/lab_clock.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "io/output_file.h"
#include "report/report.h"
#include "rung/rung.h"
#include "process/child_process.h"
#include "io/temporary_file.h"

static int print_error(const char *sentence)
{
    fprintf(stderr, "rung: %s\n", sentence);
    return LAB_EXIT_USAGE;
}

/* ---- A short ladder --------------------------------------------------------------------------------- */

/* Waits for rung bench. An interruption is passed on once: bench then ends after the sample under way. */
static int wait_for_bench(pid_t child)
{
    bool was_forwarded = false;
    int status = 0;
    for (;;) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            break;
        if (ended < 0 && errno != EINTR)
            return LAB_EXIT_UNAVAILABLE;
        if (lab_is_interrupted() && !was_forwarded) {
            kill(child, SIGINT);
            was_forwarded = true;
        }
        lab_sleep_ns(10000000);
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (was_forwarded)
        return LAB_EXIT_INTERRUPTED;
    fprintf(stderr,
            "rung: rung bench was killed by signal %d (%s); no page was written. Run rung bench alone for details\n",
            WTERMSIG(status), strsignal(WTERMSIG(status)));
    return LAB_EXIT_WRONG;
}

/* rung bench with its output in this file; its exit code, or LAB_EXIT_UNAVAILABLE if it could not be run. */
static int run_bench(const char *device, int output)
{
    const char *const arguments[] = {"rung",        "bench",    "--device", device,   "--sizes",
                                     "128,256,512", "--budget", "0.3",      "--json", NULL};
    pid_t child;
    int error = lab_child_start("/proc/self/exe", (char *const *)(uintptr_t)arguments,
                                (lab_child_streams){-1, output, -1}, &child);
    if (error) {
        fprintf(stderr, "rung: cannot start rung bench: %s\n", strerror(error));
        return LAB_EXIT_UNAVAILABLE;
    }
    return wait_for_bench(child);
}

/* The file has no name: nothing is left of it, however this process ends. */
static int add_short_run(lab_report *report, const char *device)
{
    char path[64], why[4608];
    FILE *file = lab_temporary_open();
    if (!file) {
        lab_temporary_error_text(errno, why, sizeof why);
        return print_error(why);
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    lab_interrupt_watch();
    int code = run_bench(device, fileno(file));
    bool has_results = code == LAB_EXIT_SUCCESS || code == LAB_EXIT_WRONG || code == LAB_EXIT_UNAVAILABLE ||
                       code == LAB_EXIT_INTERRUPTED;
    bool added = has_results && lab_report_add(report, path, "a short ladder, run just now", why, sizeof why);
    fclose(file);
    if (code == LAB_EXIT_SUCCESS && !added)
        code = print_error(why);
    else if (code == LAB_EXIT_INTERRUPTED)
        lab_interrupt_report(added ? "the page shows what was measured so far; run the command again for all of it"
                                   : "nothing was measured yet, and no page was written");
    return code;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static bool print_write_error(const char *path)
{
    char why[LAB_OUTPUT_PATH_BYTES + 256];
    snprintf(why, sizeof why, "cannot write %s: %s", path, strerror(errno));
    print_error(why);
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
        print_error(report->page.why);
    if (!to_standard && !lab_output_commit(&output)) /* main() checks standard output */
        return print_write_error(path);
    return !*report->page.why;
}

static bool add_files(lab_report *report, const lab_options *options)
{
    char why[1024];
    for (int i = 0; i < options->argument_count; i++)
        if (!lab_report_add(report, options->arguments[i], NULL, why, sizeof why)) {
            print_error(why);
            return false;
        }
    return true;
}

/* Checks the page's name before anything is read or run. NULL, or what is wrong. */
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
        return print_error("--device cannot be combined with result files: give files, or a device to measure now");
    const char *wrong = check_page(path, options);
    if (wrong)
        return print_error(wrong);
    if (options->argument_count > 0)
        code = add_files(report, options) ? LAB_EXIT_SUCCESS : LAB_EXIT_USAGE;
    else
        code = add_short_run(report, options->device ? options->device : "cpu");
    if (code == LAB_EXIT_USAGE)
        return code;
    if (report->input_count == 0)
        return code;
    if (!lab_report_group_rows(report)) {
        fprintf(stderr, "rung: out of memory\n");
        return LAB_EXIT_UNAVAILABLE;
    }
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
