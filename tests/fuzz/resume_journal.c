/* SPDX-License-Identifier: Apache-2.0 */
/* resume_journal.c - any bytes as a journal: it tells of blocks only by lines that are whole, and says up to where it is
 * good. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outofcore/resume_journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_block(void *user, const rung_outofcore_blocking *blocking, int64_t block)
{
    int64_t *count = user;
    if (block < 0 || blocking->block_rows < 0)
        abort();
    ++*count;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char head[2 * RUNGI_JOURNAL_LINE_BYTES], line[RUNGI_JOURNAL_LINE_BYTES];
    rungi_journal journal, again;
    int64_t count = 0, count_again = 0;
    rungi_journal_format_line(head, "rung-multiply 1");
    rungi_journal_format_line(line, "problem f32, 5 6 7");
    strcat(head, line);
    rungi_journal_match kind = rungi_journal_parse((const char *)data, (int64_t)size, head, &journal, count_block,
                                                   &count);
    if (kind != RUNGI_JOURNAL_MATCHES)
        return 0;
    if (journal.valid_bytes < 0 || journal.valid_bytes > (int64_t)size || (count > 0 && !journal.has_blocking))
        abort();
    /* Cut back to where it is good, it says the same. */
    kind = rungi_journal_parse((const char *)data, journal.valid_bytes, head, &again, count_block, &count_again);
    if (kind != RUNGI_JOURNAL_MATCHES || count_again != count || again.valid_bytes != journal.valid_bytes)
        abort();
    return 0;
}
