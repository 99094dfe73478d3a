/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - any bytes as a group of up to eight problems. A group is refused with a sentence that leaves all memory as it was,
 * or its outputs have the same bits as those of single multiplications. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "random_problem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROBLEMS_MAX = 8 };

static random_memory_t memory;

/* Makes a problem like the first one of the group, as a group needs, unless the bytes ask for another. */
static rung_problem read_member(byte_reader_t *reader, const rung_problem *first)
{
    rung_problem problem = *first;
    int64_t m = read_size(reader, 12);
    problem.a.rows = m;
    problem.c.rows = m;
    problem.c.offset = read_size(reader, 1000);
    problem.a.offset = read_size(reader, 200);
    if (read_byte(reader) > 200) {
        problem.b.cols = problem.c.cols = read_size(reader, 12);
        problem.b.row_stride = read_size(reader, 40);
    }
    if (read_byte(reader) > 220)
        problem.a.cols = problem.b.rows = read_size(reader, 12);
    return problem;
}

/* A group passes over problems without a result, also if no kernel has their types. */
static void multiply_one_by_one(const rung_problem *problems, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (problems[i].a.rows > 0 && problems[i].b.cols > 0)
            MUST(rung_multiply(NULL, &problems[i], NULL) == RUNG_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char results[2][OPERAND_BYTES];
    rung_problem problems[PROBLEMS_MAX];
    byte_reader_t reader = {data, size};
    if (!memory.scales.start)
        random_memory_create(&memory);
    int64_t count = read_below(&reader, PROBLEMS_MAX + 1);
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = read_size(&reader, 4);
    for (int64_t i = 0; i < count; i++) {
        problems[i] = i == 0 || read_byte(&reader) > 240 ? read_problem(&reader, &memory, NULL)
                                                         : read_member(&reader, &problems[0]);
        if (!problem_is_runnable(&memory, &problems[i]))
            return 0;
    }
    rung_group group = rung_group_of(problems, count);
    if (count == 0)
        group.count = read_size(&reader, 1);
    if (count == 0 && group.count > 0)
        group.problems = NULL;
    rung_problem any = rung_problem_of((rung_matrix){0}, (rung_matrix){0}, (rung_matrix){0});
    prepare_memory(&memory, count > 0 ? &problems[0] : &any);
    rung_status status = rung_group_multiply(NULL, &group, &options);
    release_memory(&memory);
    MUST(status == RUNG_OK || strlen(rung_error_text()) > 15);
    if (status == RUNG_STATUS_INVALID || status == RUNG_STATUS_ALIASED)
        MUST(memory_is_unchanged(&memory));
    if (status != RUNG_OK)
        return 0;
    for (int i = 0; i < 2; i++) {
        unsigned char *start = memory.operands[OPERAND_C + i].start;
        memcpy(results[i], start, OPERAND_BYTES);
        memcpy(start, memory.before[OPERAND_C + i], OPERAND_BYTES);
    }
    multiply_one_by_one(problems, count);
    for (int i = 0; i < 2; i++)
        MUST(memcmp(results[i], memory.operands[OPERAND_C + i].start, OPERAND_BYTES) == 0);
    return 0;
}
