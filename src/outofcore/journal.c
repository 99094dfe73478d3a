/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - see journal.h. */
#include "outofcore/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/checked.h"

enum { SUM = 10 }; /* " #1234abcd" */

/* FNV-1a: a torn or mixed line is to be noticed, not an enemy. */
static uint32_t sum_of(const char *text, size_t length)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * 16777619u;
    return sum;
}

int rungi_journal_line(char line[RUNGI_JOURNAL_LINE], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(line, RUNGI_JOURNAL_LINE, format, arguments);
    va_end(arguments);
    if (used < 0 || used > RUNGI_JOURNAL_LINE - SUM - 2)
        return 0;
    return used + sprintf(line + used, " #%08x\n", (unsigned)sum_of(line, (size_t)used));
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* The length of a line's own text, without sum and end; -1 where the sum is another's. */
static int64_t good_length(const char *line, int64_t length)
{
    char sum[SUM + 1];
    if (length <= SUM)
        return -1;
    snprintf(sum, sizeof sum, " #%08x", (unsigned)sum_of(line, (size_t)(length - SUM)));
    return memcmp(line + length - SUM, sum, SUM) == 0 ? length - SUM : -1;
}

/* Whole numbers behind a word, one blank before each, and nothing behind them. */
static bool read_numbers(const char *line, int64_t length, const char *word, int64_t *numbers, int count)
{
    int64_t at = (int64_t)strlen(word);
    if (length < at || memcmp(line, word, (size_t)at) != 0)
        return false;
    for (int i = 0; i < count; i++) {
        int64_t digits = 0;
        if (at >= length || line[at++] != ' ')
            return false;
        for (numbers[i] = 0; at < length && line[at] >= '0' && line[at] <= '9'; at++, digits++)
            if (!rungi_multiply(numbers[i], 10, &numbers[i]) || !rungi_add(numbers[i], line[at] - '0', &numbers[i]))
                return false;
        if (digits == 0 || (digits > 1 && line[at - digits] == '0'))
            return false;
    }
    return at == length;
}

/* A line of the body; false if it is none. */
static bool take_line(const char *line, int64_t length, rungi_journal *journal,
                      bool (*each)(void *user, const rung_outofcore_blocking *blocking, int64_t block), void *user)
{
    int64_t numbers[4];
    if (journal->has_blocking)
        return read_numbers(line, length, "block", numbers, 1) && each(user, &journal->blocking, numbers[0]);
    if (!read_numbers(line, length, "cut", numbers, 4))
        return false;
    journal->blocking = (rung_outofcore_blocking){.size = sizeof journal->blocking,
                                                  .block_rows = numbers[0],
                                                  .block_cols = numbers[1],
                                                  .panel_depth = numbers[2],
                                                  .memory_bytes = numbers[3]};
    journal->has_blocking = true;
    return true;
}

/* Every version's first line begins so. */
static const char first_word[] = "rung-multiply ";

bool rungi_journal_is_ours(const char *text, int64_t bytes)
{
    const char *newline = bytes > 0 ? memchr(text, '\n', (size_t)bytes) : NULL;
    return newline && good_length(text, newline - text) > (int64_t)strlen(first_word) &&
           memcmp(text, first_word, strlen(first_word)) == 0;
}

bool rungi_journal_is_torn(const char *text, int64_t bytes, const char *head)
{
    return bytes < (int64_t)strlen(head) && memcmp(text, head, (size_t)bytes) == 0;
}

/* Finds the line of the head from which on a text differs. A torn line behind a good first one is RUNGI_JOURNAL_GOOD: nothing
 * was done yet. */
static rungi_journal_kind find_difference(const char *text, int64_t bytes, const char *head)
{
    int64_t same = 0;
    while (same < bytes && head[same] && text[same] == head[same])
        same++;
    int64_t begin = same;
    while (begin > 0 && head[begin - 1] != '\n')
        begin--;
    const char *line = head + begin, *newline = memchr(text + begin, '\n', (size_t)(bytes - begin));
    if (begin == 0)
        return RUNGI_JOURNAL_OTHER_FORMAT;
    if (!newline || good_length(text + begin, newline - text - begin) < 0)
        return RUNGI_JOURNAL_GOOD;
    return strncmp(line, "a ", 2) == 0    ? RUNGI_JOURNAL_OTHER_A
           : strncmp(line, "b ", 2) == 0  ? RUNGI_JOURNAL_OTHER_B
           : strncmp(line, "c0 ", 3) == 0 ? RUNGI_JOURNAL_OTHER_C0
                                          : RUNGI_JOURNAL_OTHER_PROBLEM;
}

rungi_journal_kind rungi_journal_parse(const char *text, int64_t bytes, const char *head, rungi_journal *journal,
                                       bool (*each)(void *user, const rung_outofcore_blocking *blocking, int64_t block),
                                       void *user)
{
    int64_t at = (int64_t)strlen(head);
    *journal = (rungi_journal){.end = 0};
    if (rungi_journal_is_torn(text, bytes, head))
        return RUNGI_JOURNAL_GOOD; /* nothing was done */
    if (bytes < at || memcmp(text, head, (size_t)at) != 0)
        return find_difference(text, bytes, head);
    while (at < bytes) {
        const char *line = text + at, *newline = memchr(line, '\n', (size_t)(bytes - at));
        int64_t length = newline ? good_length(line, newline - line) : -1;
        if (length < 0)
            break; /* torn by a power cut, which may leave any of what was not synced: what stands behind counts for nothing */
        if (!take_line(line, length, journal, each, user))
            return RUNGI_JOURNAL_DAMAGED;
        at = newline + 1 - text;
    }
    journal->end = at;
    return RUNGI_JOURNAL_GOOD;
}
