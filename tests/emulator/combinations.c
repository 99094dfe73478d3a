/* SPDX-License-Identifier: Apache-2.0 */
/* combinations.c - see combinations.h. */
#include "combinations.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *slot_value(const combination_t *combination, const char *name)
{
    for (int i = 0; i < combination->slot_count; i++)
        if (strcmp(combination->slots[i].name, name) == 0)
            return combination->slots[i].value;
    return "";
}

bool slot_is(const combination_t *combination, const char *name, const char *value)
{
    return strcmp(slot_value(combination, name), value) == 0;
}

/* ---- Expansion ----------------------------------------------------------------------------------------------------- */

typedef struct expansion {
    bool (*use)(void *, const combination_t *);
    void *context;
    bool is_stopped, is_wrong;
} expansion_t;

static void copy_text(char *to, size_t size, const char *from, size_t length)
{
    snprintf(to, size, "%.*s", (int)length, from);
}

static void finish(expansion_t *expansion, combination_t *combination)
{
    const char *opcode = combination->row->opcode;
    size_t length = strlen(opcode);
    bool has_cc = slot_has(combination, "cc");
    combination->reads_carry = strcmp(opcode, "addc") == 0 || strcmp(opcode, "subc") == 0 ||
                               strcmp(opcode, "madc") == 0;
    combination->writes_carry = has_cc;
    copy_text(combination->text, sizeof combination->text, opcode, length);
    for (int i = 0; i < combination->slot_count; i++) {
        length = strlen(combination->text);
        snprintf(combination->text + length, sizeof combination->text - length, ".%s", combination->slots[i].value);
    }
    if (!expansion->use(expansion->context, combination))
        expansion->is_stopped = true;
}

/* Returns the type that a specification such as "a:stype" names. */
static bool spec_type(const combination_t *combination, const char *name, type_t *type)
{
    char wide[16];
    if (!*name || strcmp(name, "type") == 0)
        *type = combination->type;
    else if (strcmp(name, "stype") == 0)
        *type = combination->stype;
    else if (strcmp(name, "wide") == 0) {
        snprintf(wide, sizeof wide, "%c%d", *combination->type.name, 2 * combination->type.bits);
        return type_of(wide, type);
    } else
        return type_of(name, type);
    return type->bits > 0;
}

static int register_bits(const combination_t *combination, const type_t *type)
{
    bool is_byte = strcmp(type->name, "b8") == 0; /* two elements of 4 bits */
    int bits = type->bits * type->count < 16 && !is_byte ? 16 : type->bits * type->count;
    if (combination->has_wide_registers && type->kind != KIND_FLOAT)
        bits = bits < 64 ? 2 * bits : 64;
    return bits;
}

static void expand_operands(expansion_t *expansion, combination_t *combination, const char *specs);

/* Adds one operand and expands the rest. */
static void add_operand(expansion_t *expansion, const combination_t *combination, operand_t operand, bool has_second,
                        const char *rest)
{
    combination_t longer = *combination;
    operand.register_bits = register_bits(combination, &operand.type);
    longer.operands[longer.operand_count++] = operand;
    if (has_second) {
        operand_t second = {.is_destination = true, .is_second = true};
        type_of("pred", &second.type);
        longer.operands[longer.operand_count++] = second;
    }
    expand_operands(expansion, &longer, rest);
}

static void expand_operands(expansion_t *expansion, combination_t *combination, const char *specs)
{
    char spec[32];
    specs += strspn(specs, " ");
    size_t length = strcspn(specs, " ");
    copy_text(spec, sizeof spec, specs, length);
    if (length == 0) {
        finish(expansion, combination);
        return;
    }
    operand_t operand = {.is_destination = *spec == 'd' || *spec == 'p'};
    bool is_pair = strchr(spec, '|') != NULL, is_optional = spec[length - 1] == '?';
    spec[strcspn(spec, "|?")] = 0;
    const char *colon = strchr(spec, ':');
    bool is_predicate = *spec == '!' || *spec == 'p';
    if (!spec_type(combination, is_predicate ? "pred" : colon ? colon + 1 : "", &operand.type)) {
        expansion->is_wrong = true;
        return;
    }
    operand.is_table = strcmp(combination->row->opcode, "lop3") == 0 && *spec == 'e';
    if (is_optional && !is_pair)
        expand_operands(expansion, combination, specs + length);
    if (is_optional || !is_pair)
        add_operand(expansion, combination, operand, false, specs + length);
    if (is_pair)
        add_operand(expansion, combination, operand, true, specs + length);
    operand.is_negated = true;
    if (*spec == '!')
        add_operand(expansion, combination, operand, false, specs + length);
}

/* cvt has a decoder of its own, and registers that may be wider than the types. lop3 has a table. */
static void begin_operands(expansion_t *expansion, combination_t *combination)
{
    static const uint32_t tables[] = {0, 0x96, 0xc0, 0xe8, 0x1b, 0xff};
    bool is_cvt = strcmp(combination->row->executor, "@cvt") == 0;
    if (strcmp(combination->row->opcode, "lop3") == 0) {
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
            combination->table = tables[i];
            expand_operands(expansion, combination, combination->row->operands);
        }
        return;
    }
    expand_operands(expansion, combination, is_cvt ? "d:type a:stype" : combination->row->operands);
    combination->has_wide_registers = true;
    if (is_cvt && (combination->type.kind != KIND_FLOAT || combination->stype.kind != KIND_FLOAT))
        expand_operands(expansion, combination, "d:type a:stype");
}

static void expand_slots(expansion_t *expansion, combination_t *combination, const char *pattern)
{
    pattern += strspn(pattern, " ");
    size_t length = strcspn(pattern, " ");
    if (expansion->is_stopped)
        return;
    if (length == 0) {
        if (slot_has(combination, "type") && !type_of(slot_value(combination, "type"), &combination->type))
            expansion->is_wrong = true;
        if (slot_has(combination, "stype") && !type_of(slot_value(combination, "stype"), &combination->stype))
            expansion->is_wrong = true;
        begin_operands(expansion, combination);
        return;
    }
    size_t name_length = strcspn(pattern, "?: ");
    bool is_optional = pattern[name_length] == '?';
    size_t start = name_length + is_optional, index = (size_t)combination->slot_count;
    combination_t copy = *combination;
    if (is_optional)
        expand_slots(expansion, &copy, pattern + length);
    const char *at = pattern[start] == ':' ? pattern + start + 1 : pattern;
    const char *end = pattern[start] == ':' ? pattern + length : pattern + name_length;
    while (at < end) {
        size_t value_length = strcspn(at, "| ?");
        copy = *combination;
        copy_text(copy.slots[index].name, sizeof copy.slots[index].name, pattern, name_length);
        copy_text(copy.slots[index].value, sizeof copy.slots[index].value, at, value_length);
        copy.slot_count++;
        expand_slots(expansion, &copy, pattern + length);
        at += value_length + 1;
    }
}

bool combinations_of(const row_t *row, bool (*use)(void *context, const combination_t *combination), void *context)
{
    combination_t combination = {.row = row};
    expansion_t expansion = {.use = use, .context = context};
    expand_slots(&expansion, &combination, row->modifiers);
    return !expansion.is_wrong;
}

/* ---- Kernels ------------------------------------------------------------------------------------------------------- */

typedef struct writer {
    char *to;
    size_t size, length;
} writer_t;

static void put(writer_t *writer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (writer->length < writer->size)
        writer->length += (size_t)vsnprintf(writer->to + writer->length, writer->size - writer->length, format,
                                            arguments);
    va_end(arguments);
}

/* Registers of sources are %a0, %a1, ...; of results %d0, %d1, ... */
static void put_registers(writer_t *writer, const combination_t *combination)
{
    int sources = 0, results = 0;
    for (int i = 0; i < combination->operand_count; i++) {
        const operand_t *operand = &combination->operands[i];
        int index = operand->is_destination ? results++ : sources++;
        char letter = operand->is_destination ? 'd' : 'a';
        if (operand->type.kind == KIND_PREDICATE)
            put(writer, ".reg .pred %%%c%d;\n", letter, index);
        else
            put(writer, ".reg .b%d %%%c%d;\n", operand->register_bits, letter, index);
    }
}

static void put_prologue(writer_t *writer, const combination_t *combination, const char *name)
{
    put(writer, ".visible .entry %s(", name);
    for (int i = 0; i < SOURCES_MAX; i++)
        put(writer, ".param .u64 s%d, ", i);
    for (int i = 0; i < RESULTS_MAX; i++)
        put(writer, ".param .u64 r%d, ", i);
    put(writer, ".param .u32 n)\n{\n.reg .pred %%exits;\n.reg .b32 %%t<9>;\n.reg .b64 %%at<4>;\n");
    put_registers(writer, combination);
    put(writer, "mov.u32 %%t0, %%tid.x;\nmov.u32 %%t1, %%ctaid.x;\nmov.u32 %%t2, %%ntid.x;\n"
                "mad.lo.s32 %%t0, %%t1, %%t2, %%t0;\nld.param.u32 %%t1, [n];\n"
                "setp.ge.u32 %%exits, %%t0, %%t1;\n@%%exits exit;\n"
                "rem.u32 %%t1, %%t0, 3;\nand.b32 %%t2, %%t0, 32;\nsetp.eq.u32 %%exits, %%t1, 0;\n"
                "setp.ne.and.u32 %%exits, %%t2, 0, %%exits;\n@%%exits exit;\nmul.wide.u32 %%at0, %%t0, 8;\n");
}

static void put_address(writer_t *writer, char letter, int index)
{
    put(writer, "ld.param.u64 %%at1, [%c%d];\nadd.s64 %%at1, %%at1, %%at0;\n", letter, index);
}

static int put_loads(writer_t *writer, const combination_t *combination)
{
    int source = 0;
    for (int i = 0; i < combination->operand_count; i++) {
        const operand_t *operand = &combination->operands[i];
        if (operand->is_destination)
            continue;
        put_address(writer, 's', source);
        if (operand->type.kind == KIND_PREDICATE)
            put(writer, "ld.global.u32 %%t3, [%%at1];\nsetp.ne.u32 %%a%d, %%t3, 0;\n", source);
        else
            put(writer, "ld.global.b%d %%a%d, [%%at1];\n", operand->register_bits, source);
        source++;
    }
    if (combination->reads_carry) {
        put_address(writer, 's', source);
        put(writer, "ld.global.u32 %%t3, [%%at1];\nadd.cc.u32 %%t3, %%t3, 0xffffffff;\n");
    }
    return source;
}

static void put_instruction(writer_t *writer, const combination_t *combination)
{
    int sources = 0, results = 0;
    put(writer, "%s", combination->text);
    for (int i = 0; i < combination->operand_count; i++) {
        const operand_t *operand = &combination->operands[i];
        put(writer, "%s", i == 0 ? " " : operand->is_second ? "|" : ", ");
        if (operand->is_table)
            put(writer, "%u", combination->table);
        else
            put(writer, "%s%%%c%d", operand->is_negated ? "!" : "", operand->is_destination ? 'd' : 'a',
                operand->is_destination ? results : sources);
        operand->is_destination ? results++ : sources++;
    }
    put(writer, ";\n");
}

size_t combination_kernel(const combination_t *combination, const char *name, char *to, size_t size)
{
    writer_t writer = {to, size, 0};
    int result = 0;
    put_prologue(&writer, combination, name);
    put_loads(&writer, combination);
    put_instruction(&writer, combination);
    if (combination->writes_carry)
        put(&writer, "addc.u32 %%t4, 0, 0;\n");
    for (int i = 0; i < combination->operand_count; i++) {
        const operand_t *operand = &combination->operands[i];
        if (!operand->is_destination)
            continue;
        put_address(&writer, 'r', result);
        if (operand->type.kind == KIND_PREDICATE)
            put(&writer, "selp.u32 %%t3, 1, 0, %%d%d;\nst.global.u32 [%%at1], %%t3;\n", result);
        else
            put(&writer, "st.global.b%d [%%at1], %%d%d;\n", operand->register_bits, result);
        result++;
    }
    if (combination->writes_carry) {
        put_address(&writer, 'r', result);
        put(&writer, "st.global.u32 [%%at1], %%t4;\n");
    }
    put(&writer, "exit;\n}\n");
    return writer.length;
}
