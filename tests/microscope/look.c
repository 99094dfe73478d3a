/* SPDX-License-Identifier: Apache-2.0 */
/* look.c - prints what the microscope sees, for eyes and for scripts:
 *
 *   look KERNEL M N K [DTYPE [PARAMETERS [col]]]      ("" for a GPU's parameters; col: B's columns)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "microscope.h"
#include "target.h"

static void print_lines(const lab_sight *sight)
{
    static const char *const kinds[] = {
#define X(name, word) word,
        LAB_TRAFFIC_LIST(X)
#undef X
    };
    printf("line\tfrom\tkind\twidth\tarray");
#define X(name) printf("\t" #name);
    LAB_SIGHT_COUNT_LIST(X)
#undef X
    for (int64_t i = 0; i < sight->line_count; i++) {
        const lab_sight_line *line = &sight->lines[i];
        printf("\n%" PRId64 "\t%" PRId64 "\t%s\t%" PRId64 "\t%s", line->line, line->from, kinds[line->kind],
               line->width, line->array);
#define X(name) printf("\t%" PRId64, line->name);
        LAB_SIGHT_COUNT_LIST(X)
#undef X
    }
    printf("\n");
}

static void print_rest(const lab_sight *sight)
{
    for (int64_t i = 0; i < sight->branch_count; i++)
        printf("branch at %" PRId64 " from %" PRId64 ": %" PRId64 ", divergent %" PRId64 "\n", sight->branches[i].line,
               sight->branches[i].from, sight->branches[i].passed, sight->branches[i].divergent);
    for (int64_t i = 0; i < sight->barrier_count; i++)
        printf("barrier at %" PRId64 ": %" PRId64 "\n", sight->barriers[i].line, sight->barriers[i].passed);
    for (int64_t i = 0; i < sight->buffer_count; i++) {
        printf("buffer %s:", sight->buffers[i].name);
#define X(name) printf(" " #name " %" PRId64, sight->buffers[i].name);
        LAB_SIGHT_BUFFER_LIST(X)
#undef X
        printf("\n");
    }
}

static bool read_look(int argc, char **argv, lab_look *look)
{
    lab_options options = {.dtype = argc > 5 ? argv[5] : NULL};
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    int count;
    if (argc < 5 || lab_read_dtypes(&options, &compute, dtypes, &count) || count != 1)
        return false;
    *look = (lab_look){
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
    lab_look look;
    lab_sight sight;
    char why[1000];
    if (lab_microscope_is_child(argc, argv))
        return lab_microscope_child(argc, argv);
    if (!read_look(argc, argv, &look)) {
        fprintf(stderr, "look KERNEL M N K [DTYPE [PARAMETERS [col]]]\n");
        return LAB_USAGE;
    }
    if (!lab_microscope_look(&look, &sight, why, sizeof why)) {
        fprintf(stderr, "look: %s\n", why);
        return LAB_WRONG;
    }
    printf("%s in %s with %s\n", sight.kernel, sight.file, sight.parameters);
#define X(name) printf(#name " %" PRId64 "\n", sight.totals.name);
    LAB_SIGHT_TOTAL_LIST(X)
#undef X
    print_lines(&sight);
    print_rest(&sight);
    lab_sight_free(&sight);
    return LAB_GOOD;
}
