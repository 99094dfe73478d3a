/* SPDX-License-Identifier: Apache-2.0 */
/* control_flow.c - finds where the lanes of a divergent branch meet again: at the branch's immediate post-dominator.
 *
 * Post-dominators are computed per instruction with the iterative algorithm of Cooper, Harvey and Kennedy on the reversed
 * graph. Node `count` is the exit: returns, exits and traps lead to it. */
#include <stdlib.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/parser.h"

typedef struct graph {
    const ptx_instruction_t *instructions; /* of the function */
    const ptx_operand_t *lists;
    int32_t first, count;
    int32_t *order;     /* nodes, the exit first, in reverse postorder of the reversed graph */
    int32_t *number;    /* position of a node in `order`; -1 if it does not reach the exit */
    int32_t *dominator; /* immediate post-dominator */
    int32_t *predecessor_first, *predecessors;
} graph_t;

static bool ends_path(const ptx_instruction_t *instruction)
{
    bool leaves = instruction->control == PTX_CONTROL_RETURN || instruction->control == PTX_CONTROL_EXIT ||
                  instruction->control == PTX_CONTROL_TRAP;
    return leaves && !instruction->guard;
}

/* Calls `visit` for each successor of a node. */
static void for_successors(const graph_t *graph, int32_t node, void (*visit)(void *, int32_t, int32_t), void *user)
{
    const ptx_instruction_t *instruction = &graph->instructions[node];
    bool leaves = instruction->control == PTX_CONTROL_RETURN || instruction->control == PTX_CONTROL_EXIT ||
                  instruction->control == PTX_CONTROL_TRAP;
    bool always_branches = instruction->control == PTX_CONTROL_BRANCH && !instruction->guard;
    if (leaves)
        visit(user, node, graph->count);
    if (instruction->control == PTX_CONTROL_BRANCH)
        visit(user, node, instruction->target - graph->first);
    if (instruction->control == PTX_CONTROL_INDEXED_BRANCH) {
        for (int32_t i = 0; i < instruction->list_length; i++)
            visit(user, node, (int32_t)graph->lists[instruction->list_first + i] - graph->first);
        if (!instruction->guard)
            return;
    }
    if (!ends_path(instruction) && !always_branches && node + 1 < graph->count)
        visit(user, node, node + 1);
}

static void count_predecessor(void *user, int32_t from, int32_t to)
{
    (void)from;
    ((graph_t *)user)->predecessor_first[to + 1]++;
}

static void add_predecessor(void *user, int32_t from, int32_t to)
{
    graph_t *graph = user;
    graph->predecessors[graph->predecessor_first[to]++] = from;
}

/* Lists the predecessors of each node: predecessor_first[n] to predecessor_first[n + 1]. */
static bool list_predecessors(graph_t *graph)
{
    int32_t nodes = graph->count + 1;
    for (int32_t i = 0; i < graph->count; i++)
        for_successors(graph, i, count_predecessor, graph);
    for (int32_t i = 0; i < nodes; i++)
        graph->predecessor_first[i + 1] += graph->predecessor_first[i];
    graph->predecessors = malloc(((size_t)graph->predecessor_first[nodes] + 1) * sizeof(int32_t));
    if (!graph->predecessors)
        return false;
    for (int32_t i = 0; i < graph->count; i++)
        for_successors(graph, i, add_predecessor, graph);
    for (int32_t i = nodes; i > 0; i--)
        graph->predecessor_first[i] = graph->predecessor_first[i - 1];
    graph->predecessor_first[0] = 0;
    return true;
}

/* Numbers the nodes that reach the exit, in reverse postorder from the exit along reversed edges. */
static bool number_nodes(graph_t *graph)
{
    int32_t nodes = graph->count + 1, depth = 0, left = nodes;
    int32_t *stack = malloc((size_t)nodes * sizeof *stack), *next = malloc((size_t)nodes * sizeof *next);
    bool has_memory = stack && next;
    if (has_memory) {
        for (int32_t i = 0; i < nodes; i++) {
            graph->number[i] = -1;
            next[i] = graph->predecessor_first[i];
        }
        stack[depth++] = graph->count;
        graph->number[graph->count] = 0;
        while (depth > 0) {
            int32_t node = stack[depth - 1];
            if (next[node] < graph->predecessor_first[node + 1]) {
                int32_t predecessor = graph->predecessors[next[node]++];
                if (graph->number[predecessor] < 0) {
                    graph->number[predecessor] = 0;
                    stack[depth++] = predecessor;
                }
            } else {
                depth--;
                graph->order[--left] = node;
            }
        }
        for (int32_t i = left; i < nodes; i++)
            graph->number[graph->order[i]] = i;
    }
    free(stack);
    free(next);
    return has_memory;
}

static int32_t intersect(const graph_t *graph, int32_t x, int32_t y)
{
    while (x != y) {
        while (graph->number[x] > graph->number[y])
            x = graph->dominator[x];
        while (graph->number[y] > graph->number[x])
            y = graph->dominator[y];
    }
    return x;
}

typedef struct meeting {
    const graph_t *graph;
    int32_t dominator; /* of the successors so far; -1: none yet */
} meeting_t;

static void meet(void *user, int32_t from, int32_t to)
{
    meeting_t *meeting = user;
    (void)from;
    if (meeting->graph->number[to] < 0 || meeting->graph->dominator[to] < 0)
        return;
    meeting->dominator = meeting->dominator < 0 ? to : intersect(meeting->graph, meeting->dominator, to);
}

static void find_post_dominators(graph_t *graph)
{
    int32_t nodes = graph->count + 1;
    bool has_changed = true;
    for (int32_t i = 0; i < nodes; i++)
        graph->dominator[i] = -1;
    graph->dominator[graph->count] = graph->count;
    while (has_changed) {
        has_changed = false;
        for (int32_t i = 0; i < nodes; i++) {
            int32_t node = graph->order[i];
            if (node < 0 || node == graph->count)
                continue;
            meeting_t meeting = {graph, -1};
            for_successors(graph, node, meet, &meeting);
            if (meeting.dominator >= 0 && graph->dominator[node] != meeting.dominator) {
                graph->dominator[node] = meeting.dominator;
                has_changed = true;
            }
        }
    }
}

static void set_reconvergence(const graph_t *graph, ptx_instruction_t *instructions)
{
    for (int32_t i = 0; i < graph->count; i++) {
        ptx_instruction_t *instruction = &instructions[graph->first + i];
        bool is_branch = instruction->control == PTX_CONTROL_BRANCH ||
                         instruction->control == PTX_CONTROL_INDEXED_BRANCH;
        int32_t dominator = graph->dominator[i];
        if (is_branch)
            instruction->reconvergence = dominator < 0 || dominator == graph->count ? -1 : graph->first + dominator;
    }
}

static rung_status analyse_function(ptx_parser_t *parser, const ptx_function_t *function)
{
    if (function->end == function->first)
        return RUNG_OK;
    graph_t graph = {.instructions = (const ptx_instruction_t *)parser->instructions.data + function->first,
                     .lists = parser->lists.data,
                     .first = function->first,
                     .count = function->end - function->first};
    size_t nodes = (size_t)graph.count + 1;
    graph.order = malloc(nodes * sizeof(int32_t));
    graph.number = malloc(nodes * sizeof(int32_t));
    graph.dominator = malloc(nodes * sizeof(int32_t));
    graph.predecessor_first = calloc(nodes + 1, sizeof(int32_t));
    bool has_memory = graph.order && graph.number && graph.dominator && graph.predecessor_first;
    for (size_t i = 0; has_memory && i < nodes; i++)
        graph.order[i] = -1;
    has_memory = has_memory && list_predecessors(&graph) && number_nodes(&graph);
    if (has_memory) {
        find_post_dominators(&graph);
        set_reconvergence(&graph, parser->instructions.data);
    }
    free(graph.order);
    free(graph.number);
    free(graph.dominator);
    free(graph.predecessor_first);
    free(graph.predecessors);
    return has_memory ? RUNG_OK : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to analyse a PTX module");
}

/* Lanes of a kernel that have nothing left to do but to exit must not wait for the others, which may wait at a barrier
 * for all threads that have not exited. */
static void exit_without_waiting(ptx_instruction_t *instructions, const ptx_function_t *kernel)
{
    for (int32_t i = kernel->first; i < kernel->end; i++) {
        ptx_instruction_t *branch = &instructions[i];
        bool is_branch = branch->control == PTX_CONTROL_BRANCH || branch->control == PTX_CONTROL_INDEXED_BRANCH;
        if (!is_branch || branch->reconvergence < 0)
            continue;
        const ptx_instruction_t *next = &instructions[branch->reconvergence];
        if ((next->control == PTX_CONTROL_RETURN || next->control == PTX_CONTROL_EXIT) && !next->guard)
            branch->reconvergence = -1;
    }
}

/* Sets where the scheduler's inner loop ends. */
static void set_run_ends(ptx_instruction_t *instructions, const ptx_function_t *function)
{
    for (int32_t i = function->end - 1, end = function->end; i >= function->first; i--) {
        end = instructions[i].control == PTX_CONTROL_NONE ? end : i;
        instructions[i].run_end = end;
    }
}

rung_status rungi_ptx_find_reconvergence(ptx_parser_t *parser)
{
    const ptx_function_t *functions = parser->functions.data;
    for (int32_t i = 0; i < parser->functions.count; i++)
        if (functions[i].is_defined) {
            TRY(analyse_function(parser, &functions[i]));
            set_run_ends(parser->instructions.data, &functions[i]);
            if (functions[i].is_kernel)
                exit_without_waiting(parser->instructions.data, &functions[i]);
        }
    return RUNG_OK;
}
