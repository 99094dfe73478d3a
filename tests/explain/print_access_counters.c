/* SPDX-License-Identifier: Apache-2.0 */
/* print_access_counters.c - prints what the memory access counters count, for eyes and for scripts:
 *
 *   look KERNEL M N K [DTYPE [PARAMETERS [col]]]      ("" for a GPU's parameters; col: B's columns)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/access_counters.h"
#include "target/target.h"

static void print_lines(const lab_access_counters *counters)
{
    static const char *const kinds[] = {
#define X(name, word) word,
        LAB_ACCESS_KIND_LIST(X)
#undef X
    };
    printf("line\tkind\twidth\tarray");
#define X(name) printf("\t" #name);
    LAB_ACCESS_LINE_LIST(X)
#undef X
    for (int64_t i = 0; i < counters->line_count; i++) {
        const lab_access_line *line = &counters->lines[i];
        printf("\n%" PRId64 "\t%s\t%" PRId64 "\t%s", line->line, kinds[line->kind], line->width, line->array);
#define X(name) printf("\t%" PRId64, line->name);
        LAB_ACCESS_LINE_LIST(X)
#undef X
    }
    printf("\n");
}

static void print_rest(const lab_access_counters *counters)
{
    for (int64_t i = 0; i < counters->branch_count; i++)
        printf("branch at %" PRId64 ": %" PRId64 ", divergent %" PRId64 "\n", counters->branches[i].line,
               counters->branches[i].passed, counters->branches[i].divergent);
    for (int64_t i = 0; i < counters->barrier_count; i++)
        printf("barrier at %" PRId64 ": %" PRId64 "\n", counters->barriers[i].line, counters->barriers[i].passed);
    for (int64_t i = 0; i < counters->buffer_count; i++) {
        printf("buffer %s:", counters->buffers[i].name);
#define X(name) printf(" " #name " %" PRId64, counters->buffers[i].name);
        LAB_ACCESS_BUFFER_LIST(X)
#undef X
        printf("\n");
    }
}

static bool parse_arguments(int argc, char **argv, lab_access_request *look)
{
    lab_options options = {.dtype = argc > 5 ? argv[5] : NULL};
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    int count;
    if (argc < 5 || lab_parse_dtypes(&options, &compute, dtypes, &count) || count != 1)
        return false;
    *look = (lab_access_request){
        .kernel = argv[1],
        .parameters = argc > 6 && *argv[6] ? argv[6] : NULL,
        .product = dtypes[0].product,
        .compute = dtypes[0].compute,
        .m = atoll(argv[2]),
        .n = atoll(argv[3]),
        .k = atoll(argv[4]),
        .b_col_major = argc > 7 && strcmp(argv[7], "col") == 0,
    };
    return true;
}

int main(int argc, char **argv)
{
    lab_access_request look;
    lab_access_counters counters;
    char why[1000];
    if (!parse_arguments(argc, argv, &look)) {
        fprintf(stderr, "look KERNEL M N K [DTYPE [PARAMETERS [col]]]\n");
        return LAB_EXIT_USAGE;
    }
    if (!lab_access_counters_collect(&look, &counters, why, sizeof why)) {
        fprintf(stderr, "look: %s\n", why);
        return LAB_EXIT_WRONG;
    }
    printf("%s in %s with %s\n", counters.kernel, counters.file, counters.parameters);
#define X(name) printf(#name " %" PRId64 "\n", counters.totals.name);
    LAB_ACCESS_TOTAL_LIST(X)
#undef X
    print_lines(&counters);
    print_rest(&counters);
    lab_access_counters_free(&counters);
    return LAB_EXIT_SUCCESS;
}
