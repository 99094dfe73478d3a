/* SPDX-License-Identifier: Apache-2.0 */
/* sass_loops.c - finds the natural loops of a disassembled function and the hottest of them; see sass.h. */
#include <stdlib.h>
#include <string.h>

#include "explain/sass_internal.h"

/* ---- Jumps ---- */

/* Returns the instruction at a label or an address of this function, or -1. */
static int find_instruction(const sass_parser_t *parser, const char *target)
{
    long address = strncmp(target, "0x", 2) == 0 ? strtol(target, NULL, 16) : -1;
    for (int i = 0; i < parser->label_count && address < 0; i++)
        if (strcmp(parser->labels[i].name, target) == 0)
            return parser->labels[i].at < parser->code_count ? parser->labels[i].at : -1;
    for (int i = 0; i < parser->code_count && address >= 0; i++)
        if (parser->code[i].address == address)
            return i;
    return -1;
}

static void resolve_jumps(sass_parser_t *parser)
{
    int reconvergence_point[BARRIER_REGISTERS];
    for (int i = 0; i < BARRIER_REGISTERS; i++)
        reconvergence_point[i] = -1;
    for (int i = 0; i < parser->code_count; i++) {
        sass_instruction_t *instruction = &parser->code[i];
        int target = *instruction->target ? find_instruction(parser, instruction->target) : -1;
        if (lab_sass_has_opcode(instruction, "BSSY") && instruction->barrier >= 0)
            reconvergence_point[instruction->barrier] = target;
        else if (lab_sass_has_opcode(instruction, "BSYNC"))
            instruction->branch_target = instruction->barrier >= 0 ? reconvergence_point[instruction->barrier] : -1;
        else
            instruction->branch_target = target;
    }
    if (parser->code_count > 0)
        parser->code[parser->code_count - 1].falls_through = false;
}

static void add_edge(sass_parser_t *parser, int edge, int to)
{
    parser->next_edge[edge] = parser->first_edge[to];
    parser->first_edge[to] = edge;
}

static void link_edges(sass_parser_t *parser)
{
    for (int i = 0; i < parser->code_count; i++)
        parser->first_edge[i] = -1;
    for (int i = 0; i < parser->code_count; i++) {
        if (parser->code[i].branch_target >= 0)
            add_edge(parser, 2 * i, parser->code[i].branch_target);
        if (parser->code[i].falls_through)
            add_edge(parser, 2 * i + 1, i + 1);
    }
}

/* ---- Loops ---- */

/* Marks all instructions from which `from` is reachable without passing `head`. Returns false if the function's entry is
 * among them: then `head` is no loop head. */
static bool mark_body(sass_parser_t *parser, unsigned char *members, int head, int from)
{
    int count = 0;
    members[head] = 1;
    if (!members[from]) {
        members[from] = 1;
        parser->worklist[count++] = from;
    }
    while (count > 0) {
        int at = parser->worklist[--count];
        if (at == 0)
            return false;
        for (int edge = parser->first_edge[at]; edge >= 0; edge = parser->next_edge[edge])
            if (!members[edge / 2]) {
                members[edge / 2] = 1;
                parser->worklist[count++] = edge / 2;
            }
    }
    return true;
}

/* Marks the loop of `head`, the union of all paths back to it. Returns false if there is no such loop. */
static bool mark_loop(sass_parser_t *parser, int head, unsigned char *all, unsigned char *path)
{
    bool found = false;
    for (int edge = parser->first_edge[head]; edge >= 0; edge = parser->next_edge[edge]) {
        memset(path, 0, (size_t)parser->code_count);
        if (!mark_body(parser, path, head, edge / 2))
            continue;
        found = true;
        for (int i = 0; i < parser->code_count; i++)
            all[i] |= path[i];
    }
    return found;
}

/* Returns how hot a loop is; 0 for a loop that does not multiply. A loop with IMAD as its only math must also load. */
static int64_t multiply_weight(const lab_instruction_mix *mix)
{
    int64_t loads = lab_instruction_mix_memory_ops(mix, LAB_MEMORY_OP_SHARED_LOAD) +
                    lab_instruction_mix_memory_ops(mix, LAB_MEMORY_OP_GLOBAL_LOAD);
    if (!mix->is_integer)
        return mix->math;
    return mix->math > 0 && loads > 0 ? mix->math + loads : 0;
}

static void find_loop(sass_parser_t *parser, int head, bool is_integer)
{
    size_t count_all = (size_t)parser->code_count;
    unsigned char *all = calloc(1, count_all), *path = calloc(1, count_all);
    bool is_added = false;
    if (!all || !path || parser->loop_count == LOOPS_MAX)
        lab_sass_fail(parser, "out of memory, or a function has more than %d loops", LOOPS_MAX);
    else if (mark_loop(parser, head, all, path)) {
        lab_instruction_mix mix = lab_sass_count_mix(parser, all, is_integer);
        is_added = multiply_weight(&mix) > 0;
        if (is_added)
            parser->loops[parser->loop_count++] = (sass_loop_t){head, all, mix};
    }
    free(path);
    if (!is_added)
        free(all);
}

static bool has_inner_loop(const sass_parser_t *parser, const sass_loop_t *outer)
{
    for (int i = 0; i < parser->loop_count; i++)
        if (parser->loops[i].head != outer->head && outer->members[parser->loops[i].head])
            return true;
    return false;
}

/* Returns the smallest loop with a barrier that contains `inner`, or -1. */
static int find_barrier_loop(const sass_parser_t *parser, int inner)
{
    int best = -1;
    for (int i = 0; i < parser->loop_count; i++) {
        const sass_loop_t *loop = &parser->loops[i];
        bool is_outer = loop->head != parser->loops[inner].head && loop->members[parser->loops[inner].head];
        if (is_outer && loop->mix.barriers > 0 &&
            (best < 0 || loop->mix.instructions < parser->loops[best].mix.instructions))
            best = i;
    }
    return best;
}

/* Copies what the caller needs of the hottest loop, and of the loop around it that has the barriers. */
static void copy_hottest(const sass_parser_t *parser, int index, sass_hottest_t *hottest)
{
    const sass_loop_t *loop = &parser->loops[index];
    int outer = loop->mix.barriers > 0 ? -1 : find_barrier_loop(parser, index);
    hottest->mix = loop->mix;
    hottest->head = outer < 0 ? loop->head : parser->loops[outer].head;
    hottest->barriers = outer < 0 ? loop->mix.barriers : parser->loops[outer].mix.barriers;
    for (int i = 0; i < parser->code_count; i++)
        hottest->members[i] = loop->members[i]                                ? SASS_IN_LOOP
                              : outer >= 0 && parser->loops[outer].members[i] ? SASS_AROUND_LOOP
                                                                              : 0;
}

/* Finds the hottest loop whose math is IMAD (`is_integer`) or another multiply. Returns false without such a loop. */
static bool find_hottest_of_kind(sass_parser_t *parser, bool is_integer, sass_hottest_t *hottest)
{
    int64_t heat = 0;
    int best = -1;
    for (int i = 0; i < parser->code_count && !parser->failed; i++) {
        int first = parser->first_edge[i];
        if (first >= 0 && (parser->next_edge[first] >= 0 || first / 2 >= i))
            find_loop(parser, i, is_integer);
    }
    for (int i = 0; i < parser->loop_count; i++)
        if (multiply_weight(&parser->loops[i].mix) > heat && !has_inner_loop(parser, &parser->loops[i])) {
            heat = multiply_weight(&parser->loops[i].mix);
            best = i;
        }
    if (best >= 0)
        copy_hottest(parser, best, hottest);
    while (parser->loop_count > 0)
        free(parser->loops[--parser->loop_count].members);
    return best >= 0;
}

bool lab_sass_find_hottest_loop(sass_parser_t *parser, sass_hottest_t *hottest)
{
    resolve_jumps(parser);
    link_edges(parser);
    return find_hottest_of_kind(parser, false, hottest) || find_hottest_of_kind(parser, true, hottest);
}

/* A loop that certainly multiplies is hotter than an IMAD loop; of the same kind, the weight decides. */
bool lab_sass_is_hotter_loop(const lab_instruction_mix *mix, const lab_sass *than)
{
    if (!than->has_loop || mix->is_integer != than->loop.is_integer)
        return !than->has_loop || !mix->is_integer;
    return multiply_weight(mix) > multiply_weight(&than->loop);
}
