/* SPDX-License-Identifier: Apache-2.0 */
/* random_source.c - see random_source.h.
 *
 * The programs avoid what C leaves undefined: sums are computed as unsigned numbers, shifts are masked, divisors are
 * checked, and conversions from floating point are kept in range. NaNs are made equal before their bits are stored. They also
 * avoid what NVRTC changes: it makes min.f32 of x < 0 ? x : 0, which keeps -0, so less_f adds 0 to its result. */
#include "random_source.h"

#include <stdbool.h>
#include <string.h>

#include "random_prologue.h"

typedef struct generator {
    FILE *file;
    uint64_t state;
    int kernel, functions, indent, loops;
    bool reads_shared;
    bool in_function; /* the variables of a called function only */
} generator_t;

typedef enum value_type { INT, UINT, LONG, ULONG, FLOAT, DOUBLE, SHORT, BYTE, VALUE_TYPES } value_type_t;

static const struct {
    const char *name;   /* in C */
    const char *letter; /* of variables */
    int variables;
} types[VALUE_TYPES] = {{"int32_t", "i", 4}, {"uint32_t", "u", 4}, {"int64_t", "l", 2}, {"uint64_t", "q", 2},
                        {"float", "f", 4},   {"double", "d", 2},   {"int16_t", "h", 2}, {"uint8_t", "b", 2}};

static uint32_t draw(generator_t *generator, uint32_t count)
{
    generator->state = generator->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((generator->state >> 33) % count);
}

static void put_indent(generator_t *generator)
{
    fprintf(generator->file, "%*s", 4 * generator->indent, "");
}

/* ---- Expressions --------------------------------------------------------------------------------------------------- */

static void put_expression(generator_t *generator, value_type_t type, int depth);

static void put_constant(generator_t *generator, value_type_t type)
{
    static const char *const floats[] = {"0.0f", "1.0f", "-1.5f", "0.1f", "3.0e5f", "1.0e-40f", "16777216.0f", "-0.0f"};
    static const char *const doubles[] = {"0.0", "1.0", "-2.5", "0.1", "1.0e300", "4.9e-324", "9007199254740993.0",
                                          "-0.0"};
    static const char *const integers[] = {"0",   "1",          "2",           "-1",    "31",
                                           "255", "0x7fffffff", "-0x7fffffff", "12345", "0x5555"};
    if (type == FLOAT)
        fprintf(generator->file, "%s", floats[draw(generator, 8)]);
    else if (type == DOUBLE)
        fprintf(generator->file, "%s", doubles[draw(generator, 8)]);
    else
        fprintf(generator->file, "((%s)%s)", types[type].name, integers[draw(generator, 10)]);
}

static void put_leaf(generator_t *generator, value_type_t type)
{
    uint32_t choice = draw(generator, 8);
    if (choice == 0)
        put_constant(generator, type);
    else if (choice == 1 && type == UINT && !generator->in_function)
        fprintf(generator->file, "local[u%u & 7]", draw(generator, 4));
    else if (choice == 2 && type == UINT && !generator->in_function)
        fprintf(generator->file, "in[i%u & 15]", draw(generator, 4));
    else if (choice == 3 && type == UINT && !generator->in_function && generator->reads_shared)
        fprintf(generator->file, "shared[u%u & 63]", draw(generator, 4));
    else if (choice == 4 && type == FLOAT && !generator->in_function)
        fprintf(generator->file, "floats[u%u & 3]", draw(generator, 4));
    else if (choice == 5 && type == UINT)
        fprintf(generator->file, "table[u%u & 15]", draw(generator, 4));
    else
        fprintf(generator->file, "%s%u", types[type].letter, draw(generator, (uint32_t)types[type].variables));
}

/* A condition of two values of some type. */
static void put_condition(generator_t *generator, int depth)
{
    static const char *const comparisons[] = {"<", "<=", ">", ">=", "==", "!="};
    value_type_t type = (value_type_t)draw(generator, VALUE_TYPES);
    fprintf(generator->file, "(");
    put_expression(generator, type, depth);
    fprintf(generator->file, " %s ", comparisons[draw(generator, 6)]);
    put_expression(generator, type, depth);
    if (draw(generator, 4) == 0) {
        fprintf(generator->file, draw(generator, 2) ? " && " : " || ");
        put_condition(generator, 0);
    }
    fprintf(generator->file, ")");
}

static void put_call(generator_t *generator, const char *name, const value_type_t *arguments, int count, int depth)
{
    fprintf(generator->file, "%s(", name);
    for (int i = 0; i < count; i++) {
        fprintf(generator->file, i ? ", " : "");
        put_expression(generator, arguments[i], depth);
    }
    fprintf(generator->file, ")");
}

typedef struct operation {
    const char *name;
    value_type_t result, arguments[3];
    int count;
} operation_t;

static const operation_t operations[] = {{"add_i", INT, {INT, INT}, 2},
                                         {"sub_i", INT, {INT, INT}, 2},
                                         {"mul_i", INT, {INT, INT}, 2},
                                         {"div_i", INT, {INT, INT}, 2},
                                         {"rem_i", INT, {INT, INT}, 2},
                                         {"and_i", INT, {INT, INT}, 2},
                                         {"shr_i", INT, {INT, UINT}, 2},
                                         {"min_i", INT, {INT, INT}, 2},
                                         {"max_i", INT, {INT, INT}, 2},
                                         {"abs_i", INT, {INT}, 1},
                                         {"from_float_i", INT, {FLOAT}, 1},
                                         {"from_double_i", INT, {DOUBLE}, 1},
                                         {"cast_i", INT, {LONG}, 1},
                                         {"cast_i", INT, {SHORT}, 1},
                                         {"cast_i", INT, {BYTE}, 1},
                                         {"mulhi_i", INT, {INT, INT}, 2},
                                         {"bits_f", INT, {FLOAT}, 1},
                                         {"cast_i", INT, {UINT}, 1},
                                         {"not_i", INT, {INT}, 1},
                                         {"add_u", UINT, {UINT, UINT}, 2},
                                         {"sub_u", UINT, {UINT, UINT}, 2},
                                         {"mul_u", UINT, {UINT, UINT}, 2},
                                         {"div_u", UINT, {UINT, UINT}, 2},
                                         {"rem_u", UINT, {UINT, UINT}, 2},
                                         {"xor_u", UINT, {UINT, UINT}, 2},
                                         {"or_u", UINT, {UINT, UINT}, 2},
                                         {"shl_u", UINT, {UINT, UINT}, 2},
                                         {"shr_u", UINT, {UINT, UINT}, 2},
                                         {"popcount_u", UINT, {UINT}, 1},
                                         {"clz_u", UINT, {UINT}, 1},
                                         {"reverse_u", UINT, {UINT}, 1},
                                         {"mulhi_u", UINT, {UINT, UINT}, 2},
                                         {"permute_u", UINT, {UINT, UINT, UINT}, 3},
                                         {"rotate_u", UINT, {UINT, UINT}, 2},
                                         {"sad_u", UINT, {INT, INT, UINT}, 3},
                                         {"cast_u", UINT, {ULONG}, 1},
                                         {"cast_u", UINT, {INT}, 1},
                                         {"from_float_u", UINT, {FLOAT}, 1},
                                         {"logic_u", UINT, {UINT, UINT, UINT}, 3},
                                         {"dot_u", UINT, {INT, INT, INT}, 3},
                                         {"field_u", UINT, {UINT, UINT}, 2},
                                         {"add_l", LONG, {LONG, LONG}, 2},
                                         {"mul_l", LONG, {LONG, LONG}, 2},
                                         {"div_l", LONG, {LONG, LONG}, 2},
                                         {"rem_l", LONG, {LONG, LONG}, 2},
                                         {"shr_l", LONG, {LONG, UINT}, 2},
                                         {"cast_l", LONG, {INT}, 1},
                                         {"wide_l", LONG, {INT, INT}, 2},
                                         {"from_double_l", LONG, {DOUBLE}, 1},
                                         {"bits_d", LONG, {DOUBLE}, 1},
                                         {"cast_l", LONG, {SHORT}, 1},
                                         {"mulhi_l", LONG, {LONG, LONG}, 2},
                                         {"sub_q", ULONG, {ULONG, ULONG}, 2},
                                         {"mul_q", ULONG, {ULONG, ULONG}, 2},
                                         {"div_q", ULONG, {ULONG, ULONG}, 2},
                                         {"rem_q", ULONG, {ULONG, ULONG}, 2},
                                         {"xor_q", ULONG, {ULONG, ULONG}, 2},
                                         {"shl_q", ULONG, {ULONG, UINT}, 2},
                                         {"shr_q", ULONG, {ULONG, UINT}, 2},
                                         {"cast_q", ULONG, {UINT}, 1},
                                         {"cast_q", ULONG, {LONG}, 1},
                                         {"wide_q", ULONG, {UINT, UINT}, 2},
                                         {"clz_q", ULONG, {ULONG}, 1},
                                         {"add_f", FLOAT, {FLOAT, FLOAT}, 2},
                                         {"sub_f", FLOAT, {FLOAT, FLOAT}, 2},
                                         {"mul_f", FLOAT, {FLOAT, FLOAT}, 2},
                                         {"div_f", FLOAT, {FLOAT, FLOAT}, 2},
                                         {"fmaf", FLOAT, {FLOAT, FLOAT, FLOAT}, 3},
                                         {"root_f", FLOAT, {FLOAT}, 1},
                                         {"fabsf", FLOAT, {FLOAT}, 1},
                                         {"neg_f", FLOAT, {FLOAT}, 1},
                                         {"truncf", FLOAT, {FLOAT}, 1},
                                         {"floorf", FLOAT, {FLOAT}, 1},
                                         {"ceilf", FLOAT, {FLOAT}, 1},
                                         {"rintf", FLOAT, {FLOAT}, 1},
                                         {"cast_f", FLOAT, {INT}, 1},
                                         {"cast_f", FLOAT, {UINT}, 1},
                                         {"cast_f", FLOAT, {LONG}, 1},
                                         {"cast_f", FLOAT, {ULONG}, 1},
                                         {"cast_f", FLOAT, {DOUBLE}, 1},
                                         {"cast_f", FLOAT, {SHORT}, 1},
                                         {"less_f", FLOAT, {FLOAT, FLOAT}, 2},
                                         {"float_of_bits", FLOAT, {UINT}, 1},
                                         {"sign_f", FLOAT, {FLOAT, FLOAT}, 2},
                                         {"add_d", DOUBLE, {DOUBLE, DOUBLE}, 2},
                                         {"sub_d", DOUBLE, {DOUBLE, DOUBLE}, 2},
                                         {"mul_d", DOUBLE, {DOUBLE, DOUBLE}, 2},
                                         {"div_d", DOUBLE, {DOUBLE, DOUBLE}, 2},
                                         {"fma", DOUBLE, {DOUBLE, DOUBLE, DOUBLE}, 3},
                                         {"root_d", DOUBLE, {DOUBLE}, 1},
                                         {"cast_d", DOUBLE, {INT}, 1},
                                         {"cast_d", DOUBLE, {FLOAT}, 1},
                                         {"cast_d", DOUBLE, {ULONG}, 1},
                                         {"cast_d", DOUBLE, {LONG}, 1},
                                         {"floor", DOUBLE, {DOUBLE}, 1},
                                         {"fabs", DOUBLE, {DOUBLE}, 1},
                                         {"cast_h", SHORT, {INT}, 1},
                                         {"add_h", SHORT, {SHORT, SHORT}, 2},
                                         {"mul_h", SHORT, {SHORT, SHORT}, 2},
                                         {"cast_h", SHORT, {BYTE}, 1},
                                         {"cast_h", SHORT, {ULONG}, 1},
                                         {"cast_b", BYTE, {UINT}, 1},
                                         {"add_b", BYTE, {BYTE, BYTE}, 2},
                                         {"cast_b", BYTE, {SHORT}, 1},
                                         {"cast_b", BYTE, {LONG}, 1}};

static void put_expression(generator_t *generator, value_type_t type, int depth)
{
    if (depth <= 0 || draw(generator, 6) == 0) {
        put_leaf(generator, type);
        return;
    }
    if (draw(generator, 10) == 0) {
        fprintf(generator->file, "(");
        put_condition(generator, depth - 1);
        fprintf(generator->file, " ? ");
        put_expression(generator, type, depth - 1);
        fprintf(generator->file, " : ");
        put_expression(generator, type, depth - 1);
        fprintf(generator->file, ")");
        return;
    }
    for (;;) {
        const operation_t *operation = &operations[draw(generator, sizeof operations / sizeof *operations)];
        if (operation->result == type) {
            put_call(generator, operation->name, operation->arguments, operation->count, depth - 1);
            return;
        }
    }
}

/* ---- Statements ---------------------------------------------------------------------------------------------------- */

static void put_block(generator_t *generator, int depth, int statements);

static void put_assignment(generator_t *generator)
{
    value_type_t type = (value_type_t)draw(generator, VALUE_TYPES);
    fprintf(generator->file, "%s%u = ", types[type].letter, draw(generator, (uint32_t)types[type].variables));
    put_expression(generator, type, 3);
    fprintf(generator->file, ";\n");
}

static void put_store(generator_t *generator)
{
    bool is_float = draw(generator, 3) == 0;
    fprintf(generator->file, is_float ? "floats[u%u & 3] = " : "local[u%u & 7] = ", draw(generator, 4));
    put_expression(generator, is_float ? FLOAT : UINT, 2);
    fprintf(generator->file, ";\n");
}

static void put_if(generator_t *generator, int depth)
{
    fprintf(generator->file, "if ");
    put_condition(generator, 1);
    fprintf(generator->file, " {\n");
    put_block(generator, depth - 1, 2);
    put_indent(generator);
    if (draw(generator, 2)) {
        fprintf(generator->file, "} else {\n");
        put_block(generator, depth - 1, 2);
        put_indent(generator);
    }
    fprintf(generator->file, "}\n");
}

static void put_loop(generator_t *generator, int depth)
{
    int n = generator->loops++;
    bool is_while = draw(generator, 2);
    if (is_while)
        fprintf(generator->file, "for (int n%d = 0; n%d < %u + (int)(u%u & 7); n%d++) {\n", n, n, draw(generator, 3),
                draw(generator, 4), n);
    else
        fprintf(generator->file, "for (int n%d = 0; n%d < %u; n%d++) {\n", n, n, 1 + draw(generator, 9), n);
    put_block(generator, depth - 1, 2);
    generator->indent++;
    put_indent(generator);
    /* Not a sum: nvcc 13.0 widens sums with a loop counter to 64 bits as if they could not overflow. */
    fprintf(generator->file, "i%u ^= i%u ^ n%d;\n", draw(generator, 4), draw(generator, 4), n);
    if (draw(generator, 2)) {
        put_indent(generator);
        fprintf(generator->file, "if ");
        put_condition(generator, 1);
        fprintf(generator->file, draw(generator, 2) ? " break;\n" : " continue;\n");
        put_block(generator, 0, 1);
    }
    generator->indent--;
    put_indent(generator);
    fprintf(generator->file, "}\n");
}

static void put_switch(generator_t *generator, int depth)
{
    uint32_t cases = 3 + draw(generator, 8);
    fprintf(generator->file, "switch (u%u %% %uu) {\n", draw(generator, 4), cases + 1);
    for (uint32_t i = 0; i < cases; i++) {
        put_indent(generator);
        fprintf(generator->file, "case %u:\n", i);
        put_block(generator, depth > 1 ? 1 : 0, 1);
        if (draw(generator, 4)) {
            put_indent(generator);
            fprintf(generator->file, "    break;\n");
        } else {
            put_indent(generator);
            fprintf(generator->file, "    FALL_THROUGH;\n");
        }
    }
    put_indent(generator);
    fprintf(generator->file, "default:\n");
    put_block(generator, 0, 1);
    put_indent(generator);
    fprintf(generator->file, "}\n");
}

static void put_function_call(generator_t *generator)
{
    uint32_t function = draw(generator, (uint32_t)generator->functions);
    static const value_type_t arguments[] = {UINT, FLOAT, LONG};
    fprintf(generator->file, "{ pair_t result = ");
    char name[32];
    snprintf(name, sizeof name, "k%d_function%u", generator->kernel, function);
    put_call(generator, name, arguments, 3, 1);
    fprintf(generator->file, "; u%u = result.x; f%u = result.y; l%u = result.z; }\n", draw(generator, 4),
            draw(generator, 4), draw(generator, 2));
}

static void put_statement(generator_t *generator, int depth)
{
    uint32_t choice = draw(generator, 12);
    put_indent(generator);
    if (depth > 0 && choice < 2)
        put_if(generator, depth);
    else if (depth > 0 && choice < 4)
        put_loop(generator, depth);
    else if (depth > 0 && choice == 4)
        put_switch(generator, depth);
    else if (choice == 5 && generator->functions > 0)
        put_function_call(generator);
    else if (choice == 6 && !generator->in_function)
        put_store(generator);
    else
        put_assignment(generator);
}

static void put_block(generator_t *generator, int depth, int statements)
{
    generator->indent++;
    for (int i = 0; i < statements; i++)
        put_statement(generator, depth);
    generator->indent--;
}

/* ---- Functions and kernels ----------------------------------------------------------------------------------------- */

/* Declares the variables of all types; `source` is an expression of n that gives their bits. */
static void put_variables(generator_t *generator, const char *source)
{
    int n = 0;
    for (int type = 0; type < VALUE_TYPES; type++)
        for (int i = 0; i < types[type].variables; i++, n++) {
            fprintf(generator->file, "    %s %s%d = ", types[type].name, types[type].letter, i);
            fprintf(generator->file,
                    type == FLOAT    ? "float_of_bits("
                    : type == DOUBLE ? "double_of_word("
                                     : "(%s)(",
                    types[type].name);
            fprintf(generator->file, source, n);
            fprintf(generator->file, ");\n");
        }
}

/* A function with a struct as its result; the second one may call the first, and itself down to a depth. */
static void put_function(generator_t *generator, int index)
{
    fprintf(generator->file, "FUNCTION pair_t k%d_function%d(uint32_t x, float y, int64_t z)\n{\n", generator->kernel,
            index);
    put_variables(generator, "x * 2654435761u + %du");
    fprintf(generator->file, "    f0 = y;\n    l0 = z;\n    u0 = x;\n");
    if (index == 1)
        fprintf(generator->file,
                "    if (x %% 7u > 3u) {\n        pair_t again = k%d_function1(x / 7u, y, add_l(z, 1));\n"
                "        u1 = again.x;\n        f1 = again.y;\n    }\n",
                generator->kernel);
    generator->in_function = true;
    generator->functions = index;
    put_block(generator, 1, 1 + (int)draw(generator, 3));
    generator->in_function = false;
    fprintf(generator->file,
            "    pair_t result = {u0 ^ u1 ^ (uint32_t)i0, f0, add_l(l0, bits_f(f1))};\n    return result;\n}\n\n");
}

static void put_phase(generator_t *generator, bool is_last)
{
    fprintf(generator->file,
            "PHASE void k%d_%s(uint32_t thread, const uint32_t *in, uint32_t *shared, uint32_t *out)\n{\n",
            generator->kernel, is_last ? "last" : "first");
    put_variables(generator, "in[%d & 15]");
    fprintf(generator->file,
            "    uint32_t local[8] = {0, 1, 2, 3, 4, 5, 6, thread};\n    float floats[4] = {0.5f, 1, 2, 3};\n"
            "    u0 ^= thread;\n");
    generator->reads_shared = is_last; /* other threads write shared memory in the first phase */
    /* Depth and length differ: most kernels are small, because compiling them takes nearly all of the time. */
    int depth = draw(generator, 10) == 0 ? 3 : 1 + (int)draw(generator, 2);
    int statements = is_last ? 2 + (int)draw(generator, 4) : 1 + (int)draw(generator, 2);
    put_block(generator, depth, statements);
    if (!is_last) {
        fprintf(generator->file,
                "    (void)out;\n    shared[thread] = u0 ^ u1 ^ (uint32_t)i0 ^ (uint32_t)bits_f(f0);\n}\n\n");
        return;
    }
    int n = 0;
    for (int type = 0; type < VALUE_TYPES; type++)
        for (int i = 0; i < types[type].variables; i++) {
            const char *store = type == FLOAT                                     ? "bits_f"
                                : type == DOUBLE || type == LONG || type == ULONG ? "fold"
                                                                                  : "word";
            if (type == DOUBLE)
                fprintf(generator->file, "    out[%d] = fold(bits_d(d%d));\n", n++, i);
            else
                fprintf(generator->file, "    out[%d] = (uint32_t)%s(%s%d);\n", n++, store, types[type].letter, i);
        }
    for (int i = 0; i < 8; i++)
        fprintf(generator->file, "    out[%d] = local[%d];\n", n++, i);
    for (int i = 0; i < 4; i++)
        fprintf(generator->file, "    out[%d] = (uint32_t)bits_f(floats[%d]);\n", n++, i);
    fprintf(generator->file, "}\n\n");
}

void random_source_write(FILE *file, uint64_t seed, int count)
{
    for (size_t i = 0; i < sizeof random_prologue / sizeof *random_prologue; i++)
        fputs(random_prologue[i], file);
    for (int i = 0; i < count; i++) {
        generator_t generator = {
            .file = file, .state = (seed + (uint64_t)i) * 0x9e3779b97f4a7c15u + 12345, .kernel = i};
        draw(&generator, 2);
        put_function(&generator, 0);
        put_function(&generator, 1);
        generator.functions = 2;
        put_phase(&generator, false);
        put_phase(&generator, true);
        fprintf(file, "KERNEL(k%d)\n\n", i);
    }
}
