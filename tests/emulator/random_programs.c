/* SPDX-License-Identifier: Apache-2.0 */
/* random_programs.c - random structured programs give the same results on the emulator and lane by lane.
 *
 * A program is a tree of assignments, conditions, loops with break and continue, calls and returns on four variables per
 * thread. It is written as PTX and also interpreted here for one thread at a time, where divergence does not exist. */
#include "run_ptx.h"

enum {
    NODES_MAX = 600,
    TEXT_BYTES = 1 << 18,
    FUNCTIONS = 3,
    VARIABLES = 4,
    DEPTH_MAX = 4,
    PROGRAMS = 400,
    THREADS_MAX = 96
};

typedef enum node_kind { ASSIGN, IF, LOOP, BREAK, CONTINUE, RETURN, CALL, SHUFFLE } node_kind_t;

typedef struct node {
    node_kind_t kind;
    uint32_t a, b, c, operation, constant;
    int32_t first, other; /* first nodes of the branches; -1: none */
    int32_t next;
} node_t;

typedef struct program {
    uint64_t seed;
    node_t nodes[NODES_MAX];
    int32_t node_count;
    int32_t function[FUNCTIONS], kernel; /* first nodes */
    bool has_shuffles;                   /* then no thread returns early */
    char *text;
    size_t length;
    int labels, temporaries;
} program_t;

typedef struct thread {
    uint32_t x[VARIABLES];
} thread_t;

typedef enum outcome { NORMAL, BROKEN, CONTINUED, RETURNED } outcome_t;

static uint32_t random_below(program_t *program, uint32_t bound)
{
    program->seed = program->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(program->seed >> 33) % bound;
}

/* ---- Generation ---------------------------------------------------------------------------------------------------- */

static node_kind_t random_kind(program_t *program, int depth, int loops, int functions)
{
    uint32_t choice = random_below(program, 100);
    if (depth == 0 && program->has_shuffles && choice >= 75)
        return SHUFFLE;
    if (choice < 35 || depth >= DEPTH_MAX)
        return ASSIGN;
    if (choice < 65)
        return IF;
    if (choice < 80)
        return LOOP;
    if (choice < 90 && functions > 0)
        return CALL;
    if (choice < 94 && loops > 0 && depth > 1)
        return choice < 92 ? BREAK : CONTINUE;
    return choice < 97 && depth > 0 && (functions < FUNCTIONS || !program->has_shuffles) ? RETURN : ASSIGN;
}

/* Returns the first node of a random list of statements. `functions` may be called. */
static int32_t random_list(program_t *program, int depth, int loops, int functions)
{
    int32_t first = -1, last = -1;
    uint32_t count = 1 + random_below(program, depth ? 3 : 8);
    for (uint32_t i = 0; i < count && program->node_count < NODES_MAX - 1; i++) {
        int32_t index = program->node_count++;
        node_t node = {.kind = random_kind(program, depth, loops, functions), .first = -1, .other = -1, .next = -1};
        node.a = random_below(program, VARIABLES);
        node.b = random_below(program, VARIABLES);
        node.c = node.kind == CALL ? random_below(program, (uint32_t)functions) : random_below(program, VARIABLES);
        node.operation = random_below(program, 5);
        node.constant = random_below(program, 8);
        program->nodes[index] = node;
        if (node.kind == IF || node.kind == LOOP)
            program->nodes[index].first = random_list(program, depth + 1, loops + (node.kind == LOOP), functions);
        if (node.kind == IF && random_below(program, 2))
            program->nodes[index].other = random_list(program, depth + 1, loops, functions);
        if (last >= 0)
            program->nodes[last].next = index;
        first = first < 0 ? index : first;
        last = index;
        if (node.kind == BREAK || node.kind == CONTINUE || node.kind == RETURN)
            break;
    }
    return first;
}

/* ---- Interpretation ------------------------------------------------------------------------------------------------ */

static uint32_t operate(uint32_t operation, uint32_t x, uint32_t y)
{
    switch (operation) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 3: return x ^ y;
    default: return x | y;
    }
}

static outcome_t interpret(const program_t *program, int32_t first, thread_t *thread);

static uint32_t interpret_call(const program_t *program, uint32_t function, uint32_t argument)
{
    thread_t callee = {{argument, argument * 3, argument ^ 5, argument + 7}};
    interpret(program, program->function[function], &callee);
    return callee.x[0];
}

static outcome_t interpret_loop(const program_t *program, const node_t *node, thread_t *thread)
{
    for (uint32_t count = thread->x[node->a] & 7; count > 0; count--) {
        outcome_t outcome = interpret(program, node->first, thread);
        if (outcome == RETURNED)
            return RETURNED;
        if (outcome == BROKEN)
            break;
    }
    return NORMAL;
}

static outcome_t interpret(const program_t *program, int32_t first, thread_t *thread)
{
    for (int32_t i = first; i >= 0; i = program->nodes[i].next) {
        const node_t *node = &program->nodes[i];
        outcome_t outcome = NORMAL;
        switch (node->kind) {
        case ASSIGN:
            thread->x[node->a] = operate(node->operation, thread->x[node->b], thread->x[node->c]) + node->constant;
            break;
        case IF:
            outcome = interpret(
                program, (thread->x[node->a] >> 2 & 3) == (node->constant & 3) ? node->first : node->other, thread);
            break;
        case LOOP: outcome = interpret_loop(program, node, thread); break;
        case BREAK: return BROKEN;
        case CONTINUE: return CONTINUED;
        case RETURN: return RETURNED;
        case CALL: thread->x[node->a] = interpret_call(program, node->c, thread->x[node->b]); break;
        case SHUFFLE: break; /* see expected_results() */
        }
        if (outcome != NORMAL)
            return outcome;
    }
    return NORMAL;
}

/* Exchanges a variable between lanes whose numbers differ in one bit. */
static void interpret_shuffle(const node_t *node, thread_t *threads, uint32_t count)
{
    thread_t before[THREADS_MAX];
    memcpy(before, threads, count * sizeof *threads);
    for (uint32_t i = 0; i < count; i++)
        threads[i].x[node->a] = before[i ^ (1u << node->operation)].x[node->b];
}

/* Runs top-level statements for all threads before the next one, since shuffles exchange their values. */
static void expected_results(const program_t *program, thread_t *threads, uint32_t count)
{
    bool has_returned[THREADS_MAX] = {false};
    for (uint32_t i = 0; i < count; i++)
        threads[i] = (thread_t){{i, i * 7 + 1, i ^ 13, i * i}};
    for (int32_t i = program->kernel; i >= 0; i = program->nodes[i].next) {
        program_t *mutable = (program_t *)(uintptr_t)program;
        int32_t next = program->nodes[i].next;
        mutable->nodes[i].next = -1;
        for (uint32_t t = 0; t < count; t++)
            if (!has_returned[t])
                has_returned[t] = interpret(program, i, &threads[t]) == RETURNED;
        mutable->nodes[i].next = next;
        if (program->nodes[i].kind == SHUFFLE)
            interpret_shuffle(&program->nodes[i], threads, count);
    }
}

/* ---- PTX ----------------------------------------------------------------------------------------------------------- */

static void emit(program_t *program, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void emit(program_t *program, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    program->length += (size_t)vsnprintf(program->text + program->length, TEXT_BYTES - program->length, format,
                                         arguments);
    va_end(arguments);
    assert_true(program->length < TEXT_BYTES);
}

/* Where break and continue of a list lead to, and how it returns. */
typedef struct context {
    int head, end, depth;
    bool is_kernel;
} context_t;

static void emit_return(program_t *program, context_t context)
{
    if (!context.is_kernel) {
        emit(program, "st.param.b32 [result], %%x0;\nret;\n");
        return;
    }
    for (int i = 0; i < VARIABLES; i++)
        emit(program, "st.global.u32 [%%rd1+%d], %%x%d;\n", 4 * i, i);
    emit(program, random_below(program, 2) ? "ret;\n" : "exit;\n");
}

static void emit_list(program_t *program, int32_t first, context_t context);

static void emit_if(program_t *program, const node_t *node, context_t context)
{
    int label = program->labels++;
    emit(program, "shr.u32 %%r0, %%x%u, 2;\nand.b32 %%r0, %%r0, 3;\nsetp.ne.u32 %%p0, %%r0, %u;\n@%%p0 bra ELSE%d;\n",
         node->a, node->constant & 3, label);
    emit_list(program, node->first, context);
    emit(program, "bra ENDIF%d;\nELSE%d:\n", label, label);
    emit_list(program, node->other, context);
    emit(program, "ENDIF%d:\n", label);
}

static void emit_loop(program_t *program, const node_t *node, context_t context)
{
    int label = program->labels++, depth = context.depth;
    context_t inner = {label, label, depth + 1, context.is_kernel};
    emit(program, "and.b32 %%c%d, %%x%u, 7;\nadd.u32 %%c%d, %%c%d, 1;\n", depth, node->a, depth, depth);
    emit(program, "HEAD%d:\nsub.u32 %%c%d, %%c%d, 1;\nsetp.eq.u32 %%p0, %%c%d, 0;\n@%%p0 bra END%d;\n", label, depth,
         depth, depth, label);
    emit_list(program, node->first, inner);
    emit(program, "bra HEAD%d;\nEND%d:\n", label, label);
}

static void emit_call(program_t *program, const node_t *node)
{
    emit(
        program,
        "{\n.param .b32 a;\n.param .b32 r;\nst.param.b32 [a], %%x%u;\ncall.uni (r), f%u, (a);\nld.param.b32 %%x%u, [r];\n}\n",
        node->b, node->c, node->a);
}

/* Uses new registers for intermediate values, as compilers do, and sometimes guards that write a register in two parts. */
static void emit_assignment(program_t *program, const node_t *node)
{
    static const char *const operations[] = {"add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "or.b32"};
    int t = program->temporaries;
    program->temporaries += 3;
    emit(program, "%s %%s%d, %%x%u, %%x%u;\n", operations[node->operation], t, node->b, node->c);
    if (random_below(program, 2)) {
        emit(program, "add.u32 %%x%u, %%s%d, %u;\n", node->a, t, node->constant);
        return;
    }
    emit(program, "setp.lt.u32 %%p1, %%x%u, 20;\n@%%p1 add.u32 %%s%d, %%s%d, %u;\n", node->b, t + 1, t, node->constant);
    emit(program, "sub.u32 %%s%d, %%s%d, 1;\n@!%%p1 add.u32 %%s%d, %%s%d, %u;\n", t + 2, t, t + 1, t + 2,
         node->constant + 1);
    emit(program, "mov.b32 %%x%u, %%s%d;\n", node->a, t + 1);
}

static void emit_list(program_t *program, int32_t first, context_t context)
{
    for (int32_t i = first; i >= 0; i = program->nodes[i].next) {
        const node_t *node = &program->nodes[i];
        switch (node->kind) {
        case ASSIGN: emit_assignment(program, node); break;
        case IF: emit_if(program, node, context); break;
        case LOOP: emit_loop(program, node, context); break;
        case BREAK: emit(program, "bra END%d;\n", context.end); break;
        case CONTINUE: emit(program, "bra HEAD%d;\n", context.head); break;
        case RETURN: emit_return(program, context); break;
        case CALL: emit_call(program, node); break;
        case SHUFFLE:
            emit(program, "shfl.sync.bfly.b32 %%x%u, %%x%u, %u, 31, -1;\n", node->a, node->b, 1u << node->operation);
            break;
        }
    }
}

static const char registers[] = ".reg .pred %p<2>; .reg .b32 %r<2>; .reg .b32 %x<4>; .reg .b32 %c<8>; .reg .b64 %rd<3>;"
                                ".reg .b32 %s<1800>;\n";

static void emit_program(program_t *program)
{
    emit(program, PTX_HEADER);
    for (int i = 0; i < FUNCTIONS; i++) {
        emit(program, ".func (.param .b32 result) f%d(.param .b32 argument)\n{\n%s", i, registers);
        emit(program, "ld.param.b32 %%x0, [argument];\nmul.lo.u32 %%x1, %%x0, 3;\nxor.b32 %%x2, %%x0, 5;\n"
                      "add.u32 %%x3, %%x0, 7;\n");
        emit_list(program, program->function[i], (context_t){-1, -1, 0, false});
        emit_return(program, (context_t){-1, -1, 0, false});
        emit(program, "}\n");
    }
    emit(program, ".visible .entry k(.param .u64 out)\n{\n%s", registers);
    emit(program, "ld.param.u64 %%rd0, [out];\nmov.u32 %%x0, %%tid.x;\nmul.wide.u32 %%rd1, %%x0, 16;\n"
                  "add.s64 %%rd1, %%rd0, %%rd1;\nmad.lo.u32 %%x1, %%x0, 7, 1;\nxor.b32 %%x2, %%x0, 13;\n"
                  "mul.lo.u32 %%x3, %%x0, %%x0;\n");
    emit_list(program, program->kernel, (context_t){-1, -1, 0, true});
    emit_return(program, (context_t){-1, -1, 0, true});
    emit(program, "}\n");
}

static void test_program(uint64_t seed)
{
    static program_t program;
    static thread_t expected[THREADS_MAX], found[THREADS_MAX];
    char *text = malloc(TEXT_BYTES);
    assert_non_null(text);
    program = (program_t){.seed = seed * 977 + 1, .text = text, .has_shuffles = seed % 2};
    for (int i = 0; i < FUNCTIONS; i++)
        program.function[i] = random_list(&program, 1, 0, i);
    program.kernel = random_list(&program, 0, 0, FUNCTIONS);
    emit_program(&program);
    uint32_t threads = program.has_shuffles ? 64 : 1 + random_below(&program, THREADS_MAX);
    expected_results(&program, expected, threads);
    run_t run = run_ptx(text, threads, (uint32_t *)found, threads * VARIABLES, 0, 10000000);
    if (run.status != RUNG_OK || run.findings || memcmp(expected, found, threads * sizeof *found) != 0)
        fail_msg("seed %llu, %u threads, %lld findings: %s\n%s", (unsigned long long)seed, threads,
                 (long long)run.findings, run.error, text);
    free(text);
}

static void programs_give_the_results_of_single_threads(void **state)
{
    (void)state;
    const char *count = getenv("RUNG_TEST_PROGRAMS");
    for (uint64_t seed = 0; seed < (count ? strtoull(count, NULL, 10) : PROGRAMS); seed++)
        test_program(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_give_the_results_of_single_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
