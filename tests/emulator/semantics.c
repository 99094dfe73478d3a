/* SPDX-License-Identifier: Apache-2.0 */
/* semantics.c - compares every arithmetic instruction of the emulator with a reference.
 *
 *     semantics [--operands N] [--only TEXT] [--write FOLDER] [--list]
 *
 * Walks the arithmetic rows of instructions.def, expands each into all combinations of its modifiers, runs one kernel per
 * combination on N operands (2000 unless told) and compares the results. A combination that does not load is an error.
 * --only selects the combinations whose text contains TEXT. --write stores the kernels as PTX files, for ptxas. --list
 * prints each combination. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "combinations.h"
#include "reference.h"
#include "rung/emulator.h"

enum { BLOCK = 128, MODULE_KERNELS = 64, KERNEL_BYTES = 6000, FAILURES_SHOWN = 40 };
static const uint64_t untouched = 0xa5a5a5a5a5a5a5a5u;

static const row_t rows[] = {
#define INSTRUCTION(opcode, modifiers, operands, executor, support, note) \
    {opcode, modifiers, operands, executor, #support},
#include "emulator/ptx/instructions.def"
#undef INSTRUCTION
};

typedef struct pool {
    char type[16];
    int position;
    uint64_t *values;
} pool_t;

typedef struct session {
    rung_emulator *emulator;
    int64_t operands;
    const char *only, *folder;
    bool lists;
    uint64_t sources[SOURCES_MAX], results[RESULTS_MAX];
    uint64_t *host[SOURCES_MAX], *got[RESULTS_MAX];
    pool_t pools[256];
    int pool_count;
    combination_t pending[MODULE_KERNELS];
    int pending_count, modules;
    int64_t combinations, compared, not_loaded, wrong, rows_tested;
} session_t;

static void stop_on(rung_status status, const char *what)
{
    if (status == RUNG_OK)
        return;
    fprintf(stderr, "semantics: %s failed: %s\n", what, rung_error_text());
    exit(1);
}

/* ---- Comparison ---------------------------------------------------------------------------------------------------- */

static reference_fn reference_of(const combination_t *combination)
{
    reference_fn (*const finders[])(const combination_t *) = {reference_convert, reference_compare, reference_integer,
                                                              reference_float};
    for (size_t i = 0; i < sizeof finders / sizeof *finders; i++) {
        reference_fn found = finders[i](combination);
        if (found)
            return found;
    }
    return NULL;
}

static bool is_within(double got, double value, double bound)
{
    if (isnan(value) || isnan(got))
        return isnan(value) == isnan(got);
    return got == value || bound == INFINITY || fabs(got - value) <= bound;
}

/* Compares the elements of a destination: equal bits, or NaN where any NaN is allowed. */
static bool are_equal(const type_t *type, const expected_t *expected, int result, uint64_t got)
{
    tolerance_t tolerance = expected->tolerance[result];
    uint64_t bits = expected->bits[result];
    if (got == bits || tolerance == ANY_VALUE || (result == 0 && expected->has_other && got == expected->other))
        return true;
    if (!type->format)
        return false;
    for (int i = 0; i < type->count; i++) {
        uint64_t x = low_bits(got >> i * type->bits, type->bits), y = low_bits(bits >> i * type->bits, type->bits);
        uint64_t other = low_bits(expected->other >> i * type->bits, type->bits);
        bool is_tf32 = strcmp(type->name, "tf32") == 0;
        double value = format_decode(type->format, is_tf32 ? x >> 13 : x);
        bool are_nan = isnan(value) && isnan(format_decode(type->format, is_tf32 ? y >> 13 : y));
        if (tolerance == WITHIN_BOUND
                ? !is_within(value, expected->value[i], expected->bound[i])
                : x != y && !(expected->has_other && x == other) && !(tolerance == ANY_NAN && are_nan))
            return false;
    }
    return true;
}

static void show_failure(session_t *session, const combination_t *combination, int64_t element, int result,
                         const expected_t *expected)
{
    if (session->wrong > FAILURES_SHOWN)
        return;
    printf("%s%s:", combination->text, combination->has_wide_registers ? " (wide registers)" : "");
    for (int i = 0, source = 0; i < combination->operand_count; i++)
        if (!combination->operands[i].is_destination) {
            printf(" %s0x%llx", combination->operands[i].is_negated ? "!" : "",
                   (unsigned long long)session->host[source][element]);
            source++;
        }
    printf(" gives 0x%llx in result %d; expected 0x%llx", (unsigned long long)session->got[result][element], result,
           (unsigned long long)expected->bits[result]);
    if (expected->tolerance[result] == WITHIN_BOUND)
        printf(" (%.17g within %g)", expected->value[0], expected->bound[0]);
    printf("\n");
}

/* Compares one element. Returns false if it is wrong. */
static bool compare_element(session_t *session, const combination_t *combination, reference_fn reference,
                            int64_t element)
{
    uint64_t in[SOURCES_MAX];
    expected_t expected = {{0}, {EXACT}, 0, false, {0}, {0}};
    bool exits = (element & 32) && element % 3 == 0;
    for (int i = 0; i < SOURCES_MAX; i++)
        in[i] = session->host[i] ? session->host[i][element] : 0;
    if (!exits)
        reference(combination, in, &expected);
    int result = 0;
    for (int i = 0; i < combination->operand_count + combination->writes_carry; i++) {
        bool is_carry = i == combination->operand_count;
        const operand_t *operand = &combination->operands[is_carry ? 0 : i];
        if (!operand->is_destination)
            continue;
        bool is_word = is_carry || operand->type.kind == KIND_PREDICATE;
        int bits = is_word ? 32 : operand->register_bits;
        uint64_t got = low_bits(session->got[result][element], bits);
        type_t plain = {.bits = 32, .count = 1};
        /* A result in b32 or b16 bits has the format of slot "type". */
        const type_t *type = is_word ? &plain
                             : combination->type.format && bits == combination->type.bits * combination->type.count
                                 ? &combination->type
                                 : &operand->type;
        if (exits ? got != low_bits(untouched, bits) : !are_equal(type, &expected, result, got)) {
            session->wrong++;
            show_failure(session, combination, element, result, &expected);
            return false;
        }
        result++;
    }
    return true;
}

/* ---- Execution ----------------------------------------------------------------------------------------------------- */

static uint64_t *pool_of(session_t *session, const type_t *type, int position)
{
    for (int i = 0; i < session->pool_count; i++)
        if (strcmp(session->pools[i].type, type->name) == 0 && session->pools[i].position == position)
            return session->pools[i].values;
    pool_t *pool = &session->pools[session->pool_count++];
    snprintf(pool->type, sizeof pool->type, "%s", type->name);
    pool->position = position;
    pool->values = malloc((size_t)session->operands * 8);
    if (!pool->values || session->pool_count == (int)(sizeof session->pools / sizeof *session->pools))
        exit(1);
    for (int64_t i = 0; i < session->operands; i++)
        pool->values[i] = operand_at(type, position, i);
    return pool->values;
}

/* The type of values for a source: b32 sources of packed conversions hold what slot "stype" says. */
static type_t value_type(const combination_t *combination, const operand_t *operand)
{
    const type_t *stype = &combination->stype;
    bool holds_pair = stype->count == 2 && operand->type.kind == KIND_BITS;
    return holds_pair ? *stype : operand->type;
}

static void write_sources(session_t *session, const combination_t *combination)
{
    int source = 0;
    type_t predicate;
    type_of("pred", &predicate);
    memset(session->host, 0, sizeof session->host);
    for (int i = 0; i < combination->operand_count + combination->reads_carry; i++) {
        bool is_carry = i == combination->operand_count;
        if (!is_carry && combination->operands[i].is_destination)
            continue;
        type_t type = is_carry ? predicate : value_type(combination, &combination->operands[i]);
        session->host[source] = pool_of(session, &type, source);
        stop_on(rung_emulator_write(session->emulator, session->sources[source], session->host[source],
                                    session->operands * 8),
                "writing operands");
        source++;
    }
    for (int i = 0; i < RESULTS_MAX; i++)
        stop_on(
            rung_emulator_fill(session->emulator, session->results[i], (uint32_t)untouched, 4, session->operands * 2),
            "filling results");
}

static void run_kernel(session_t *session, rung_emulator_module *module, const char *name,
                       const combination_t *combination)
{
    rung_emulator_kernel *kernel;
    uint32_t n = (uint32_t)session->operands;
    void *arguments[SOURCES_MAX + RESULTS_MAX + 1];
    for (int i = 0; i < SOURCES_MAX; i++)
        arguments[i] = &session->sources[i];
    for (int i = 0; i < RESULTS_MAX; i++)
        arguments[SOURCES_MAX + i] = &session->results[i];
    arguments[SOURCES_MAX + RESULTS_MAX] = &n;
    write_sources(session, combination);
    stop_on(rung_emulator_kernel_find(module, name, &kernel), "finding a kernel");
    rung_emulator_launch launch = rung_emulator_launch_of((n + BLOCK - 1) / BLOCK, BLOCK, arguments);
    stop_on(rung_emulator_launch_kernel(kernel, &launch), combination->text);
    for (int i = 0; i < RESULTS_MAX; i++)
        stop_on(rung_emulator_read(session->emulator, session->results[i], session->got[i], session->operands * 8),
                "reading results");
    reference_fn reference = reference_of(combination);
    int64_t wrong = 0;
    for (int64_t i = 0; i < session->operands; i++) {
        wrong += !compare_element(session, combination, reference, i);
        if (wrong == 2) /* one more line of this combination would say nothing new */
            break;
    }
    session->compared += session->operands;
}

static rung_status load(session_t *session, int first, int count, char *text, rung_emulator_module **module)
{
    size_t size = (size_t)count * KERNEL_BYTES + 200;
    size_t length = (size_t)snprintf(text, size, ".version 9.0\n.target sm_120a\n.address_size 64\n");
    for (int i = first; i < first + count; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        length += combination_kernel(&session->pending[i], name, text + length, size - length);
    }
    if (session->folder) {
        char path[512];
        snprintf(path, sizeof path, "%s/%05d.ptx", session->folder, session->modules++);
        FILE *file = fopen(path, "w");
        if (file) {
            fwrite(text, 1, length, file);
            fclose(file);
        }
    }
    return rung_emulator_module_load(session->emulator, "semantics.ptx", text, length, module);
}

/* Loads and runs the pending combinations as one module; if that fails, each as its own. */
static void flush(session_t *session)
{
    static char text[MODULE_KERNELS * KERNEL_BYTES + 200];
    rung_emulator_module *module;
    char name[16];
    bool is_whole = session->pending_count > 0 && load(session, 0, session->pending_count, text, &module) == RUNG_OK;
    for (int i = 0; i < session->pending_count; i++) {
        if (!is_whole && load(session, i, 1, text, &module) != RUNG_OK) {
            session->not_loaded++;
            if (session->not_loaded <= FAILURES_SHOWN)
                printf("%s does not load: %s\n", session->pending[i].text, rung_error_text());
            continue;
        }
        snprintf(name, sizeof name, "k%d", i);
        run_kernel(session, module, name, &session->pending[i]);
        if (!is_whole)
            rung_emulator_module_unload(module);
    }
    if (is_whole)
        rung_emulator_module_unload(module);
    session->pending_count = 0;
}

static bool add_combination(void *context, const combination_t *combination)
{
    session_t *session = context;
    if (session->only && !strstr(combination->text, session->only))
        return true;
    session->combinations++;
    if (session->lists)
        printf("%s\n", combination->text);
    if (!reference_of(combination)) {
        session->not_loaded++;
        printf("%s has no reference: add one to tests/emulator/reference_*.c\n", combination->text);
        return true;
    }
    session->pending[session->pending_count++] = *combination;
    if (session->pending_count == MODULE_KERNELS)
        flush(session);
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

static bool is_arithmetic(const row_t *row)
{
    if (strcmp(row->support, "REFUSED") == 0)
        return false;
    if (strcmp(row->executor, "@cvt") == 0)
        return true;
    if (*row->executor == '@' || strcmp(row->opcode, "activemask") == 0)
        return false;
    return *row->operands == 'd' || *row->operands == 'p';
}

static void begin(session_t *session)
{
    rung_emulator_options options = rung_emulator_options_default();
    options.memory_bytes = (int64_t)1 << 30;
    stop_on(rung_emulator_create(&options, &session->emulator), "creating an emulator");
    for (int i = 0; i < SOURCES_MAX; i++)
        stop_on(rung_emulator_allocate(session->emulator, session->operands * 8, "source", &session->sources[i]),
                "allocating");
    for (int i = 0; i < RESULTS_MAX; i++) {
        stop_on(rung_emulator_allocate(session->emulator, session->operands * 8, "result", &session->results[i]),
                "allocating");
        session->got[i] = malloc((size_t)session->operands * 8);
        if (!session->got[i])
            exit(1);
    }
}

static bool read_arguments(session_t *session, int count, char **arguments)
{
    for (int i = 1; i < count; i++) {
        bool has_value = i + 1 < count;
        if (strcmp(arguments[i], "--operands") == 0 && has_value)
            session->operands = atoll(arguments[++i]);
        else if (strcmp(arguments[i], "--only") == 0 && has_value)
            session->only = arguments[++i];
        else if (strcmp(arguments[i], "--write") == 0 && has_value)
            session->folder = arguments[++i];
        else if (strcmp(arguments[i], "--list") == 0)
            session->lists = true;
        else
            return false;
    }
    return session->operands > 0 && session->operands <= 1 << 24;
}

int main(int count, char **arguments)
{
    static session_t session = {.operands = 2000};
    if (!read_arguments(&session, count, arguments)) {
        fprintf(stderr, "usage: semantics [--operands N] [--only TEXT] [--write FOLDER] [--list]; N is 1 to %d\n",
                1 << 24);
        return 2;
    }
    begin(&session);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!is_arithmetic(&rows[i]))
            continue;
        session.rows_tested++;
        if (!combinations_of(&rows[i], add_combination, &session)) {
            printf("row %s %s cannot be read\n", rows[i].opcode, rows[i].modifiers);
            session.not_loaded++;
        }
    }
    flush(&session);
    printf("%lld rows, %lld combinations, %lld operands compared: %lld combinations do not load, %lld wrong results\n",
           (long long)session.rows_tested, (long long)session.combinations, (long long)session.compared,
           (long long)session.not_loaded, (long long)session.wrong);
    rung_emulator_destroy(session.emulator);
    return session.not_loaded || session.wrong || session.combinations == 0;
}
