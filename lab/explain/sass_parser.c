/* SPDX-License-Identifier: Apache-2.0 */
/* sass_parser.c - parses a disassembly and counts its instructions; sass_loops.c finds the loops. See sass.h. */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/enum_names.h"
#include "common/failure.h"
#include "explain/sass_internal.h"

enum { WARP = 32 };

void lab_sass_fail(sass_parser_t *parser, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!parser->failed)
        vsnprintf(parser->why, parser->capacity, format, arguments);
    va_end(arguments);
    parser->failed = true;
}

/* ---- Instructions ---- */

bool lab_sass_has_opcode(const sass_instruction_t *instruction, const char *name)
{
    size_t length = strlen(name);
    char end = strncmp(instruction->operation, name, length) == 0 ? instruction->operation[length] : 'x';
    return end == '\0' || end == '.';
}

bool lab_sass_has_any_opcode(const sass_instruction_t *instruction, const char *const *names)
{
    while (*names && !lab_sass_has_opcode(instruction, *names))
        names++;
    return *names != NULL;
}

/* Returns whether the operation has a modifier such as ".64". */
static bool has_modifier(const sass_instruction_t *instruction, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strchr(instruction->operation, '.'); at; at = strchr(at + 1, '.'))
        if (strncmp(at + 1, word, length) == 0 && (at[1 + length] == '.' || at[1 + length] == '\0'))
            return true;
    return false;
}

/* Returns whether an instruction multiplies. Of integer instructions, only a plain IMAD does: IMAD.MOV, .WIDE, .SHL and
 * so on move data and compute addresses. */
bool lab_sass_is_math(const sass_instruction_t *instruction, bool is_integer)
{
    if (lab_sass_has_opcode(instruction, "HFMA2") && strstr(instruction->operands, "RZ, RZ"))
        return false; /* a constant, which the compiler computes from zeros */
    static const char *const math[] = {"FFMA", "FFMA2", "HFMA2", "DFMA", "HMMA", "IMMA", "DMMA", "QMMA", "IDP", NULL};
    return is_integer ? strcmp(instruction->operation, "IMAD") == 0 : lab_sass_has_any_opcode(instruction, math);
}

/* Returns the multiply-adds of a warp. The modifier of a matrix instruction is its shape m, n, k. The 884 of sm_70
 * consists of four steps, each done by every quarter of the warp. */
int64_t lab_sass_multiply_adds(const sass_instruction_t *instruction)
{
    static const struct {
        const char *shape;
        int64_t count;
    } shapes[] = {{"1684", 16 * 8 * 4},   {"1688", 16 * 8 * 8},   {"16816", 16 * 8 * 16},
                  {"16832", 16 * 8 * 32}, {"16864", 16 * 8 * 64}, {"8816", 8 * 8 * 16},
                  {"8832", 8 * 8 * 32},   {"884", 8 * 8 * 4},     {"16x8x4", 16 * 8 * 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (has_modifier(instruction, shapes[i].shape))
            return shapes[i].count;
    if (lab_sass_has_opcode(instruction, "FFMA2"))
        return 2 * WARP;
    if (lab_sass_has_opcode(instruction, "HFMA2")) /* a scalar operand is the same half twice */
        return strstr(instruction->operands, ".H0_H0") || strstr(instruction->operands, ".H1_H1") ? WARP : 2 * WARP;
    if (lab_sass_has_opcode(instruction, "IDP"))
        return (has_modifier(instruction, "4A") ? 4 : 2) * WARP;
    return WARP;
}

/* Returns the index of the width per thread, 4 bytes by default. The last modifier of LDSM is the number of tiles, with
 * 4 bytes per thread each. */
static int width_of(const sass_instruction_t *instruction, lab_memory_op move)
{
    static const struct {
        const char *word;
        int width;
    } widths[] = {{"U8", 0}, {"S8", 0}, {"U16", 1}, {"S16", 1}, {"64", 3}, {"128", 4}, {"256", 5}};
    if (move == LAB_MEMORY_OP_MATRIX_LOAD)
        return has_modifier(instruction, "4") ? 4 : has_modifier(instruction, "2") ? 3 : 2;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (has_modifier(instruction, widths[i].word))
            return widths[i].width;
    return 2;
}

int lab_sass_access_bytes(const sass_instruction_t *instruction, lab_memory_op move)
{
    return 1 << width_of(instruction, move);
}

LAB_DEFINE_ENUM_NAME(lab_memory_op_name, lab_memory_op, LAB_MEMORY_OP_LIST)

/* Returns LAB_MEMORY_OP_COUNT for other instructions. */
lab_memory_op lab_sass_memory_op(const sass_instruction_t *instruction)
{
    lab_memory_op move = (lab_memory_op)0;
    while (move < LAB_MEMORY_OP_COUNT &&
           (instruction->is_predicated_off || !lab_sass_has_opcode(instruction, lab_memory_op_name(move))))
        move++;
    return move;
}

/* Counts an instruction that is not math. */
static void count_instruction(const sass_instruction_t *instruction, lab_instruction_mix *mix)
{
    static const char *const integer[] = {"IMAD",  "IADD3",  "IADD", "IADD32I", "LEA",  "ISETP",  "LOP3",
                                          "SHF",   "SHL",    "SHR",  "IMNMX",   "IABS", "ISCADD", "XMAD",
                                          "VIADD", "VIMNMX", "LOP",  "IMUL",    NULL};
    static const char *const branches[] = {"BRA", "JMP", "BRX", "CALL", "RET", "EXIT", "BSYNC", "BSSY", NULL};
    lab_memory_op move = lab_sass_memory_op(instruction);
    if (move < LAB_MEMORY_OP_COUNT)
        mix->moves[move][width_of(instruction, move)]++;
    else if (lab_sass_has_any_opcode(instruction, integer))
        mix->integer++;
    else if (lab_sass_has_opcode(instruction, "BAR"))
        mix->barriers++;
    else if (lab_sass_has_any_opcode(instruction, branches))
        mix->branches++;
    else
        mix->other++;
}

/* Finds the most frequent math operation of the members. */
static void find_main_opcode(const sass_parser_t *parser, const unsigned char *members, lab_instruction_mix *mix)
{
    int most = 0;
    for (int i = 0; i < parser->code_count; i++) {
        const sass_instruction_t *instruction = &parser->code[i];
        int count = 0;
        if ((members && !members[i]) || !lab_sass_is_math(instruction, mix->is_integer) ||
            strcmp(instruction->operation, mix->operation) == 0)
            continue;
        for (int j = i; j < parser->code_count; j++)
            count += (!members || members[j]) && strcmp(parser->code[j].operation, instruction->operation) == 0;
        if (count > most)
            snprintf(mix->operation, sizeof mix->operation, "%s", instruction->operation);
        most = count > most ? count : most;
        if (2 * most > mix->math)
            return;
    }
}

lab_instruction_mix lab_sass_count_mix(const sass_parser_t *parser, const unsigned char *members, bool is_integer)
{
    lab_instruction_mix mix = {.is_integer = is_integer};
    for (int i = 0; i < parser->code_count; i++) {
        const sass_instruction_t *instruction = &parser->code[i];
        if (members && !members[i])
            continue;
        mix.instructions++;
        if (!lab_sass_is_math(instruction, is_integer)) {
            count_instruction(instruction, &mix);
            continue;
        }
        mix.math++;
        mix.multiply_adds += lab_sass_multiply_adds(instruction);
    }
    find_main_opcode(parser, members, &mix);
    return mix;
}

int64_t lab_instruction_mix_memory_ops(const lab_instruction_mix *mix, lab_memory_op move)
{
    int64_t sum = 0;
    for (int i = 0; i < LAB_ACCESS_WIDTHS; i++)
        sum += mix->moves[move][i];
    return sum;
}

/* ---- Parsing ---- */

/* Copies the word at `text` and returns the text after it. */
static const char *copy_word(const char *text, char *word, size_t capacity)
{
    text += strspn(text, " \t`(");
    size_t length = strcspn(text, " \t,;)");
    snprintf(word, capacity, "%.*s", (int)length, text);
    return text + length;
}

/* Reads "P1, `(.L_x_1) ;": the last operand is the target, an operand before it is a condition. */
static void read_branch(sass_instruction_t *added, const char *operands)
{
    const char *last = strrchr(operands, ',');
    copy_word(last ? last + 1 : operands, added->target, sizeof added->target);
    added->falls_through = added->falls_through || last;
}

/* Counts a use of local memory at the current source line. */
static void add_spill(sass_parser_t *parser, bool is_load)
{
    lab_sass *out = parser->out;
    int64_t known = out->spill_count < LAB_SPILLS_MAX ? out->spill_count : LAB_SPILLS_MAX, i = 0;
    while (i < known && (out->spills[i].line != parser->source_line.line ||
                         strcmp(out->spills[i].file, parser->source_line.file) != 0))
        i++;
    if (i == known) {
        out->spill_count++; /* beyond the list, a line may count twice */
        if (i == LAB_SPILLS_MAX)
            return;
        out->spills[i] = (lab_spill){.line = parser->source_line.line};
        memcpy(out->spills[i].file, parser->source_line.file, sizeof out->spills[i].file);
    }
    out->spills[i].loads += is_load;
    out->spills[i].stores += !is_load;
}

/* Adds an instruction such as "@!P0 BRA `(.L_x_1) ;". */
static void add_instruction(sass_parser_t *parser, const char *text, long address)
{
    static const char *const branches[] = {"BRA", "JMP", "CALL", NULL}; /* CALL may leave a loop, too */
    static const char *const ends[] = {"BRA", "JMP", "BSYNC", "EXIT", "RET", "BRX", NULL};
    char guard[LABEL_BYTES] = "", barrier[LABEL_BYTES];
    if (parser->code_count == CODE_MAX) {
        lab_sass_fail(parser, "a function has more than %d instructions, the maximum", CODE_MAX);
        return;
    }
    sass_instruction_t *added = &parser->code[parser->code_count++];
    *added = (sass_instruction_t){.address = address, .barrier = -1, .branch_target = -1};
    text += strspn(text, " \t{");
    if (*text == '@')
        text = copy_word(text, guard, sizeof guard);
    text = copy_word(text, added->operation, sizeof added->operation);
    snprintf(added->operands, sizeof added->operands, "%.*s", (int)strcspn(text, ";"), text);
    added->source_line = parser->source_line;
    added->falls_through = *guard || !lab_sass_has_any_opcode(added, ends);
    added->is_predicated_off = strcmp(guard, "@!PT") == 0;
    if (lab_sass_has_any_opcode(added, branches))
        read_branch(added, text);
    if (lab_sass_has_opcode(added, "BSSY") || lab_sass_has_opcode(added, "BSYNC")) {
        text = copy_word(text, barrier, sizeof barrier);
        added->barrier = barrier[0] == 'B' ? (int)(strtoul(barrier + 1, NULL, 10) % BARRIER_REGISTERS) : -1;
    }
    if (lab_sass_has_opcode(added, "BSSY"))
        copy_word(text + strspn(text, ", "), added->target, sizeof added->target);
    lab_memory_op move = lab_sass_memory_op(added);
    if (move == LAB_MEMORY_OP_LOCAL_LOAD || move == LAB_MEMORY_OP_LOCAL_STORE)
        add_spill(parser, move == LAB_MEMORY_OP_LOCAL_LOAD);
}

static void add_label(sass_parser_t *parser, const char *line, const char *colon)
{
    if (parser->label_count == LABELS_MAX) {
        lab_sass_fail(parser, "a function has more than %d labels, the maximum", LABELS_MAX);
        return;
    }
    sass_label_t *added = &parser->labels[parser->label_count++];
    snprintf(added->name, sizeof added->name, "%.*s", (int)(colon - line), line);
    added->at = parser->code_count;
}

/* Reads `//## File "tile.h", line 62 inlined at "07_tile2d.cu", line 74`. One such line per caller follows, up to the
 * kernel itself, so the last one counts. */
static void read_source_line(sass_parser_t *parser, const char *text)
{
    const char *name = strchr(text, '"'), *end = name ? strchr(name + 1, '"') : NULL;
    const char *line = end ? strstr(end, "line ") : NULL;
    if (!line)
        return;
    for (const char *at = ++name; at < end; at++)
        name = *at == '/' ? at + 1 : name;
    snprintf(parser->source_line.file, sizeof parser->source_line.file, "%.*s", (int)(end - name), name);
    parser->source_line.line = strtol(line + 5, NULL, 10);
}

/* Analyses the function that ends here. */
static void end_function(sass_parser_t *parser)
{
    lab_sass *out = parser->out;
    sass_hottest_t hottest = {.members = calloc(1, (size_t)parser->code_count)};
    if (!hottest.members) {
        lab_sass_fail(parser, "out of memory");
        return;
    }
    bool found = lab_sass_find_hottest_loop(parser, &hottest);
    bool is_first = !out->has_loop && parser->code_count > out->whole.instructions;
    if ((found && lab_sass_is_hotter_loop(&hottest.mix, out)) || (!found && is_first))
        out->whole = lab_sass_count_mix(parser, NULL, found && hottest.mix.is_integer);
    if (found && lab_sass_is_hotter_loop(&hottest.mix, out)) {
        out->loop = hottest.mix;
        if (!lab_sass_copy_loop(parser, &hottest, out))
            lab_sass_fail(parser, "out of memory");
    }
    free(hottest.members);
    out->has_loop = out->has_loop || found;
    parser->code_count = parser->label_count = 0;
    parser->source_line = (source_line_t){.line = 0};
}

/* Reads the second line of an encoding: its upper half, as a number in a comment. */
static void read_control(sass_parser_t *parser, const char *text)
{
    if (parser->code_count == 0)
        return;
    sass_instruction_t *last = &parser->code[parser->code_count - 1];
    last->control = strtoull(text, NULL, 16);
    last->has_control = true;
}

/* Reads ".section .text.NAME,..." or "Function : NAME": whether the function is one to read. */
static void begin_function(sass_parser_t *parser, const char *text)
{
    const char *name = strstr(text, ".text."), *other = strstr(text, "Function : ");
    name = name ? name + strlen(".text.") : other ? other + strlen("Function : ") : "";
    size_t length = strcspn(name, ",\" \t\r\n");
    parser->is_skipped = parser->function &&
                         (strlen(parser->function) != length || strncmp(name, parser->function, length) != 0);
}

/* Reads a line of nvdisasm or cuobjdump -sass: one instruction per line, after its address. */
static void read_line(sass_parser_t *parser, const char *line)
{
    const char *text = line + strspn(line, " \t"), *colon = strchr(text, ':');
    bool is_function_start = (strncmp(text, ".section", 8) == 0 && strchr(" \t", text[8])) ||
                             strstr(text, "Function : ");
    char *end;
    if (is_function_start && parser->code_count > 0)
        end_function(parser);
    if (is_function_start)
        begin_function(parser, text);
    if (parser->is_skipped)
        return;
    if (strncmp(text, "/* 0x", 5) == 0) {
        read_control(parser, text + 3);
    } else if (strncmp(text, "/*", 2) == 0) {
        long address = strtol(text + 2, &end, 16);
        if (strncmp(end, "*/", 2) == 0 && strchr(end, ';'))
            add_instruction(parser, end + 2, address);
    } else if (strncmp(text, "//## File", 9) == 0) {
        read_source_line(parser, text);
    } else if (colon && colon[1 + strspn(colon + 1, " \t\r\n")] == '\0') {
        add_label(parser, text, colon);
    }
}

bool lab_sass_parse(FILE *in, const char *function, lab_sass *code, char *why, size_t capacity)
{
    char line[1 << 12];
    *code = (lab_sass){.has_loop = false};
    sass_parser_t *parser = calloc(1, sizeof *parser);
    if (!parser)
        return lab_set_reason(why, capacity, "out of memory");
    parser->out = code;
    parser->function = function;
    parser->why = why;
    parser->capacity = capacity;
    while (!parser->failed && fgets(line, sizeof line, in))
        read_line(parser, line);
    if (!parser->failed && parser->code_count > 0)
        end_function(parser);
    if (!parser->failed && code->whole.instructions == 0)
        lab_sass_fail(parser, "the disassembly has no instructions");
    bool good = !parser->failed;
    free(parser);
    if (!good)
        lab_sass_free(code);
    return good;
}

void lab_sass_free(lab_sass *code)
{
    free(code->loop_code);
    code->loop_code = NULL;
    code->loop_code_count = 0;
}
