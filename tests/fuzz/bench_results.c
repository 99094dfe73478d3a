/* SPDX-License-Identifier: Apache-2.0 */
/* bench_results.c - any bytes as a result of rung bench, for libFuzzer and for a corpus.
 *
 * They are refused with a sentence, or they are rows that can be told and compared; and whatever is
 * held against itself has not changed. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"
#include "io/bench_results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                 \
    do {                                                                \
        if (!(condition)) {                                             \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #condition); \
            abort();                                                    \
        }                                                               \
    } while (0)

static void print_and_compare_rows(const lab_results *results)
{
    for (int64_t i = 0; i < results->count; i++) {
        const lab_result *row = &results->rows[i];
        MUST(*row->kernel && *row->dtype);
        MUST(row->m >= 0 && row->n >= 0 && row->k >= 0 && row->batch >= 1);
        MUST(!row->verified || row->median_ns > 0 || *lab_json_get_text(row->fields, "why_not", ""));
    }
}

/* Where rows cannot be told apart they are taken in order, the same order on both sides. */
static void compare_with_itself(const lab_results *results)
{
    lab_comparison comparison;
    FILE *out = fopen("/dev/null", "w");
    MUST(out && lab_comparison_create(&(lab_compare_side){results, 1}, &(lab_compare_side){results, 1}, &comparison));
    MUST(comparison.count == results->count);
    MUST(comparison.count == comparison.before.count && comparison.count == comparison.after.count);
    MUST(comparison.totals[LAB_CHANGE_SLOWER] == 0 && comparison.totals[LAB_CHANGE_FASTER] == 0);
    for (int64_t i = 0; i < comparison.count; i++) {
        const lab_change_estimate *evidence = &comparison.pairs[i].estimate;
        MUST(*comparison.pairs[i].why_not || (evidence->p == 1 && lab_change_estimate_ratio(evidence) == 0));
    }
    lab_comparison_print(&comparison, out);
    lab_comparison_print_json(&comparison, out);
    lab_comparison_free(&comparison);
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_results results;
    char why[512] = "";
    if (lab_results_parse((const char *)data, size, "input", &results, why, sizeof why)) {
        print_and_compare_rows(&results);
        compare_with_itself(&results);
        lab_results_free(&results);
    } else {
        MUST(strncmp(why, "input: ", 7) == 0 && why[7]);
    }
    return 0;
}
