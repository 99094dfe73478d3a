/* SPDX-License-Identifier: Apache-2.0 */
/* resume_journal.c - see resume_journal.h. */
#include "outofcore/resume_journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"

enum { CHECKSUM_BYTES = 10 }; /* " #1234abcd" */

/* Returns the 32-bit FNV-1a hash, which is part of the file format. It detects torn lines, not deliberate changes. */
static uint32_t checksum(const char *text, size_t length)
{
    uint32_t sum = 2166136261u;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * 16777619u;
    return sum;
}

int rungi_journal_format_line(char line[RUNGI_JOURNAL_LINE_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int used = vsnprintf(line, RUNGI_JOURNAL_LINE_BYTES, format, arguments);
    va_end(arguments);
    if (used < 0 || used > RUNGI_JOURNAL_LINE_BYTES - CHECKSUM_BYTES - 2)
        return 0;
    return used + sprintf(line + used, " #%08x\n", (unsigned)checksum(line, (size_t)used));
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* Returns the length of a line without checksum and newline; -1 if the checksum is wrong. */
static int64_t checked_length(const char *line, int64_t length)
{
    char sum[CHECKSUM_BYTES + 1];
    if (length <= CHECKSUM_BYTES)
        return -1;
    snprintf(sum, sizeof sum, " #%08x", (unsigned)checksum(line, (size_t)(length - CHECKSUM_BYTES)));
    return memcmp(line + length - CHECKSUM_BYTES, sum, CHECKSUM_BYTES) == 0 ? length - CHECKSUM_BYTES : -1;
}

/* Parses `word` followed by exactly `count` integers, one space before each. */
static bool parse_numbers(const char *line, int64_t length, const char *word, int64_t *numbers, int count)
{
    int64_t at = (int64_t)strlen(word);
    if (length < at || memcmp(line, word, (size_t)at) != 0)
        return false;
    for (int i = 0; i < count; i++) {
        int64_t digits = 0;
        if (at >= length || line[at++] != ' ')
            return false;
        for (numbers[i] = 0; at < length && line[at] >= '0' && line[at] <= '9'; at++, digits++)
            if (!rungi_checked_multiply(numbers[i], 10, &numbers[i]) ||
                !rungi_checked_add(numbers[i], line[at] - '0', &numbers[i]))
                return false;
        if (digits == 0 || (digits > 1 && line[at - digits] == '0'))
            return false;
    }
    return at == length;
}

/* Parses a line after the head. Returns false if it is invalid. */
static bool parse_line(const char *line, int64_t length, rungi_journal *journal, rungi_journal_visitor *visit_block,
                       void *user)
{
    int64_t numbers[4];
    if (journal->has_blocking)
        return parse_numbers(line, length, "block", numbers, 1) && visit_block(user, &journal->blocking, numbers[0]);
    if (!parse_numbers(line, length, "cut", numbers, 4))
        return false;
    journal->blocking = (rung_outofcore_blocking){.size = sizeof journal->blocking,
                                                  .block_rows = numbers[0],
                                                  .block_cols = numbers[1],
                                                  .panel_depth = numbers[2],
                                                  .memory_bytes = numbers[3]};
    journal->has_blocking = true;
    return true;
}

/* The first line of every version begins with this text. */
static const char signature[] = "rung-multiply ";

bool rungi_journal_has_signature(const char *text, int64_t bytes)
{
    const char *newline = bytes > 0 ? memchr(text, '\n', (size_t)bytes) : NULL;
    return newline && checked_length(text, newline - text) > (int64_t)strlen(signature) &&
           memcmp(text, signature, strlen(signature)) == 0;
}

bool rungi_journal_is_head_truncated(const char *text, int64_t bytes, const char *head)
{
    return bytes < (int64_t)strlen(head) && memcmp(text, head, (size_t)bytes) == 0;
}

/* Finds the first line of the head in which a text differs. A torn line after a valid first line is RUNGI_JOURNAL_MATCHES:
 * no block was written yet. */
static rungi_journal_match find_changed_line(const char *text, int64_t bytes, const char *head)
{
    int64_t same = 0;
    while (same < bytes && head[same] && text[same] == head[same])
        same++;
    int64_t begin = same;
    while (begin > 0 && head[begin - 1] != '\n')
        begin--;
    const char *line = head + begin, *newline = memchr(text + begin, '\n', (size_t)(bytes - begin));
    if (begin == 0)
        return RUNGI_JOURNAL_UNKNOWN_VERSION;
    if (!newline || checked_length(text + begin, newline - text - begin) < 0)
        return RUNGI_JOURNAL_MATCHES;
    return strncmp(line, "a ", 2) == 0    ? RUNGI_JOURNAL_A_CHANGED
           : strncmp(line, "b ", 2) == 0  ? RUNGI_JOURNAL_B_CHANGED
           : strncmp(line, "c0 ", 3) == 0 ? RUNGI_JOURNAL_C0_CHANGED
                                          : RUNGI_JOURNAL_DIFFERENT_PROBLEM;
}

rungi_journal_match rungi_journal_parse(const char *text, int64_t bytes, const char *head, rungi_journal *journal,
                                        rungi_journal_visitor *visit_block, void *user)
{
    int64_t at = (int64_t)strlen(head);
    *journal = (rungi_journal){.valid_bytes = 0};
    if (rungi_journal_is_head_truncated(text, bytes, head))
        return RUNGI_JOURNAL_MATCHES;
    if (bytes < at || memcmp(text, head, (size_t)at) != 0)
        return find_changed_line(text, bytes, head);
    while (at < bytes) {
        const char *line = text + at, *newline = memchr(line, '\n', (size_t)(bytes - at));
        int64_t length = newline ? checked_length(line, newline - line) : -1;
        if (length < 0)
            break; /* torn by a power failure: later lines may be torn too */
        if (!parse_line(line, length, journal, visit_block, user))
            return RUNGI_JOURNAL_DAMAGED;
        at = newline + 1 - text;
    }
    journal->valid_bytes = at;
    return RUNGI_JOURNAL_MATCHES;
}
