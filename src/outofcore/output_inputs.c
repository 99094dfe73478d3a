/* SPDX-License-Identifier: Apache-2.0 */
/* output_inputs.c - identifies the inputs of a multiply, so that a journal is resumed only with unchanged files. */
#define _GNU_SOURCE /* struct stat with nanoseconds */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/try.h"
#include "outofcore/output.h"

const char *rungi_output_input_name(rungi_output_input input)
{
    static const char *const names[] = {"A", "B", "C"};
    return names[input];
}

/* Returns the number of inputs that `problem` reads: C0 is not read if beta is 0. */
static int input_count(const rungi_outofcore_problem *problem)
{
    return problem->beta != 0 ? RUNGI_OUTPUT_NO_INPUT : RUNGI_OUTPUT_INPUT_C0;
}

static const rung_outofcore_matrix *input_of(const rungi_outofcore_problem *problem, int input)
{
    const rung_outofcore_matrix *inputs[] = {&problem->a, &problem->b, &problem->c0};
    return inputs[input];
}

static bool is_in_file(const rung_outofcore_matrix *matrix)
{
    return !matrix->view.data && matrix->fd >= 0;
}

bool rungi_output_inputs_are_files(const rungi_outofcore_problem *problem)
{
    for (int i = 0; i < input_count(problem); i++)
        if (!is_in_file(input_of(problem, i)))
            return false;
    return true;
}

/* ---- Head of the journal -------------------------------------------------------------------------------- */

_Static_assert((RUNGI_OUTPUT_NO_INPUT + 2) * RUNGI_JOURNAL_LINE_BYTES <= RUNGI_JOURNAL_HEAD_BYTES,
               "the head has room for its lines");

/* Checks the length that rungi_journal_format_line() returned for a line of the head. */
static rung_status check_line(int length)
{
    if (length == 0)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the description of the problem does not fit in a journal");
    return RUNG_OK;
}

/* Appends the identity of an input file and its view. The device number is left out because a reboot may change it. ctime
 * changes with contents and inode and, unlike mtime, cannot be set. The sample is for file systems whose clock is coarse
 * or runs backwards. */
static rung_status append_input(char *head, const char *name, const rung_outofcore_matrix *matrix)
{
    const rung_matrix *view = &matrix->view;
    char *line = head + strlen(head);
    struct stat about;
    uint64_t sample;
    if (!is_in_file(matrix))
        return check_line(rungi_journal_format_line(line, "%s memory", name));
    if (fstat(matrix->fd, &about) != 0)
        return rungi_fail(RUNG_STATUS_IO, "an input's file cannot be examined: %s", strerror(errno));
    TRY(rungi_outofcore_file_fingerprint(matrix->fd, &sample));
    return check_line(rungi_journal_format_line(
        line,
        "%s %lld bytes, modified %lld.%09ld, changed %lld.%09ld, file %llu, sample %016llx, %s %lld %lld %lld %lld "
        "%lld %lld",
        name, (long long)about.st_size, (long long)about.st_mtim.tv_sec, (long)about.st_mtim.tv_nsec,
        (long long)about.st_ctim.tv_sec, (long)about.st_ctim.tv_nsec, (unsigned long long)about.st_ino,
        (unsigned long long)sample, rung_type_name(view->type), (long long)matrix->data_offset, (long long)view->rows,
        (long long)view->cols, (long long)view->row_stride, (long long)view->col_stride, (long long)view->offset));
}

rung_status rungi_output_write_head(const rungi_outofcore_problem *problem, char head[RUNGI_JOURNAL_HEAD_BYTES])
{
    static const char *const words[] = {"a", "b", "c0"};
    const rung_matrix *a = &problem->a.view, *b = &problem->b.view;
    TRY(check_line(rungi_journal_format_line(head, "rung-multiply 2")));
    TRY(check_line(rungi_journal_format_line(
        head + strlen(head), "problem %s:%s, %lld %lld %lld, alpha %a, beta %a, %s, %s%s", rung_type_name(a->type),
        rung_type_name(problem->c.view.type), (long long)a->rows, (long long)b->cols, (long long)a->cols,
        problem->alpha, problem->beta, rung_compute_name(problem->compute), problem->is_raw ? "bare" : "npy",
        problem->is_checked ? ", checked" : "")));
    for (int i = 0; i < input_count(problem); i++)
        TRY(append_input(head, words[i], input_of(problem, i)));
    return RUNG_OK;
}

/* ---- Changed inputs ------------------------------------------------------------------------------------- */

rungi_output_input rungi_output_find_input_at(const rungi_output *output, const char *path)
{
    for (int i = 0; i < input_count(output->problem); i++) {
        const rung_outofcore_matrix *matrix = input_of(output->problem, i);
        if (is_in_file(matrix) && rungi_output_is_same_file(matrix->fd, path))
            return (rungi_output_input)i;
    }
    return RUNGI_OUTPUT_NO_INPUT;
}

void rungi_output_describe_changed_input(const rungi_output *output, rungi_journal_match match,
                                         char text[RUNGI_OUTPUT_DESCRIPTION_BYTES])
{
    rungi_output_input input = match == RUNGI_JOURNAL_A_CHANGED   ? RUNGI_OUTPUT_INPUT_A
                               : match == RUNGI_JOURNAL_B_CHANGED ? RUNGI_OUTPUT_INPUT_B
                                                                  : RUNGI_OUTPUT_INPUT_C0;
    const char *name = rungi_output_input_name(input);
    char link[64], path[RUNGI_OUTPUT_DESCRIPTION_BYTES - 8];
    snprintf(link, sizeof link, "/proc/self/fd/%d", input_of(output->problem, input)->fd);
    ssize_t length = readlink(link, path, sizeof path);
    if (length > 0 && length < (ssize_t)sizeof path)
        snprintf(text, RUNGI_OUTPUT_DESCRIPTION_BYTES, "%s (%.*s)", name, (int)length, path);
    else
        snprintf(text, RUNGI_OUTPUT_DESCRIPTION_BYTES, "%s", name);
}

rung_status rungi_output_check_inputs_unchanged(const rungi_output *output, bool *is_changed)
{
    char head[RUNGI_JOURNAL_HEAD_BYTES], name[RUNGI_OUTPUT_DESCRIPTION_BYTES];
    rungi_journal journal;
    *is_changed = false;
    TRY(rungi_output_write_head(output->problem, head));
    *is_changed = strcmp(head, output->head) != 0;
    if (!*is_changed)
        return RUNG_OK;
    rungi_output_describe_changed_input(
        output, rungi_journal_parse(head, (int64_t)strlen(head), output->head, &journal, NULL, NULL), name);
    return rungi_fail(RUNG_STATUS_IO,
                      "%s changed while it was read (size, mtime, ctime, inode or contents); the computed blocks "
                      "are discarded",
                      name);
}
