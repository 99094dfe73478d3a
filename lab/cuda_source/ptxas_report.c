/* SPDX-License-Identifier: Apache-2.0 */
/* ptxas_report.c - see ptxas_report.h. The report has one paragraph per function. */
#include "cuda_source/ptxas_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number before `words` in a text; 0 if the words do not occur. */
static int64_t number_before(const char *text, const char *end, const char *words)
{
    const char *at = strstr(text, words);
    if (!at || at > end)
        return 0;
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return atoll(at);
}

bool lab_ptxas_report_read(const char *log, const char *entry, lab_ptxas_report *report)
{
    char mark[600];
    snprintf(mark, sizeof mark, "'%.500s'", entry);
    const char *start = strstr(log, mark), *end = start ? strstr(start, "Compiling entry function") : NULL;
    if (!start)
        return false;
    end = end ? end : start + strlen(start);
    report->registers = number_before(start, end, " registers");
    report->shared_bytes = number_before(start, end, " bytes smem");
    report->spill_bytes = number_before(start, end, " bytes spill stores") +
                          number_before(start, end, " bytes spill loads");
    return report->registers > 0;
}
