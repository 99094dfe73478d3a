/* SPDX-License-Identifier: Apache-2.0 */
/* access_counters.c - see access_counters.h: names, sums and memory of the counters. access_run.c runs requests. */
#include "explain/access_counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/enum_names.h"

LAB_DEFINE_ENUM_NAME(lab_access_kind_name, lab_access_kind, LAB_ACCESS_KIND_LIST)

void lab_access_counters_free(lab_access_counters *counters)
{
    free(counters->lines);
    free(counters->branches);
    free(counters->barriers);
    free(counters->buffers);
    memset(counters, 0, sizeof *counters);
}

lab_access_line lab_access_counters_sum(const lab_access_counters *counters, int64_t line, lab_access_kind kind,
                                        const char *array)
{
    lab_access_line sum = {.line = line, .kind = kind};
    snprintf(sum.array, sizeof sum.array, "%s", array ? array : "");
    for (int64_t i = 0; i < counters->line_count; i++) {
        const lab_access_line *found = &counters->lines[i];
        if (found->kind != kind || (line != 0 && found->line != line) || (array && strcmp(found->array, array) != 0))
            continue;
        sum.width = found->width > sum.width ? found->width : sum.width;
#define X(name) sum.name += found->name;
        LAB_ACCESS_LINE_LIST(X)
#undef X
    }
    return sum;
}
