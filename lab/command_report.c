/* SPDX-License-Identifier: Apache-2.0 */
/* command_report.c - rung report: result files as one page of pictures and tables.
 *
 * Where no file is named, a short ladder is run first, by the command itself as another process: what is drawn is
 * what rung bench would have written. */
#define _GNU_SOURCE /* environ */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "output_file.h"
#include "report.h"
#include "rung/rung.h"

static int complain(const char *sentence)
{
    fprintf(stderr, "rung: %s\n", sentence);
    return LAB_USAGE;
}

/* ---- A short ladder --------------------------------------------------------------------------------- */

/* rung bench with its output in this file; its exit code, or LAB_NOTHING if it could not be run. */
static int run_bench(const char *device, int output)
{
    char self[4096];
    const char *const arguments[] = {"rung", "bench", "--device", device, "--sizes", "128,256,512",
                                     "--budget", "0.3", "--json", NULL};
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    if (length <= 0 || posix_spawn_file_actions_init(&actions) != 0)
        return LAB_NOTHING;
    self[length] = '\0';
    bool good = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0;
    if (good) /* its interface is older than const */
        good = posix_spawn(&child, self, &actions, NULL, (char *const *)(uintptr_t)arguments, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    if (!good) {
        fprintf(stderr, "rung: rung bench cannot be started\n");
        return LAB_NOTHING;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return LAB_NOTHING;
    return WIFEXITED(status) ? WEXITSTATUS(status) : LAB_NOTHING;
}

static int add_ladder(lab_report *report, const char *device)
{
    char path[4096], why[512];
    const char *folder = getenv("TMPDIR");
    if (snprintf(path, sizeof path, "%s/rung-XXXXXX", folder && *folder ? folder : "/tmp") >= (int)sizeof path)
        return complain("TMPDIR has too long a name");
    int file = mkstemp(path);
    if (file < 0)
        return complain("no temporary file can be made: let TMPDIR name a folder that can be written");
    int code = run_bench(device, file);
    close(file);
    if (code == LAB_GOOD || code == LAB_WRONG || code == LAB_NOTHING) /* it may have written what was refused */
        if (!lab_report_add(report, path, "a short ladder, run just now", why, sizeof why) && code == LAB_GOOD)
            code = complain(why);
    unlink(path);
    return code;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static bool write_page(lab_report *report, const char *path, const char *title)
{
    bool to_terminal = strcmp(path, "-") == 0;
    FILE *out = to_terminal ? stdout : fopen(path, "w");
    if (!out) {
        fprintf(stderr, "rung: %s cannot be written: %s\n", path, strerror(errno));
        return false;
    }
    report->page.out = out;
    lab_report_write(report, title);
    bool good = !ferror(out);
    good = (to_terminal ? fflush(out) : fclose(out)) == 0 && good;
    if (!good || *report->page.why)
        fprintf(stderr, "rung: %s\n",
                *report->page.why ? report->page.why : "the page could not be written: is the disk full?");
    return good && !*report->page.why;
}

static bool add_files(lab_report *report, const lab_options *options)
{
    char why[1024];
    for (int i = 0; i < options->argument_count; i++)
        if (!lab_report_add(report, options->arguments[i], NULL, why, sizeof why)) {
            complain(why);
            return false;
        }
    return true;
}

static int make_report(lab_report *report, const lab_options *options)
{
    const char *path = options->output ? options->output : "rung-report.html";
    int code;
    if (options->argument_count > 0 && options->device)
        return complain("--device is for a ladder that is run now: name files or a device");
    const char *wrong = strcmp(path, "-") != 0 ? lab_output_check(path) : NULL;
    if (wrong)
        return complain(wrong);
    if (options->argument_count > 0)
        code = add_files(report, options) ? LAB_GOOD : LAB_USAGE;
    else
        code = add_ladder(report, options->device ? options->device : "cpu");
    if (code == LAB_USAGE)
        return code;
    if (report->input_count == 0)
        return code;
    if (!lab_report_group(report)) {
        fprintf(stderr, "rung: out of memory\n");
        return LAB_NOTHING;
    }
    report->page.charts = options->charts;
    report->page.version = rung_version();
    if (!write_page(report, path, options->title ? options->title : "How fast, and why"))
        return LAB_USAGE;
    if (strcmp(path, "-") != 0)
        printf("%s: %d pictures, %lld rows\n", path, report->page.figure_count, (long long)report->row_count);
    bool is_empty = report->row_count == 0 || (report->verified_count == 0 && !lab_has_kind(report, LAB_INPUT_TUNE) &&
                    !lab_has_kind(report, LAB_INPUT_EXPLAIN) && !lab_has_kind(report, LAB_INPUT_PEAK));
    return code != LAB_GOOD ? code : is_empty ? LAB_NOTHING : LAB_GOOD;
}

int lab_command_report(const lab_options *options)
{
    lab_report report = {0};
    int code = make_report(&report, options);
    lab_report_free(&report);
    return code;
}
