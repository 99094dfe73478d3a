/* SPDX-License-Identifier: Apache-2.0 */
/* sass_loop_code.c - decodes the timing of the hottest loop from the encodings of its instructions; see sass.h.
 *
 * From sm_70 on an instruction has 128 bits. Bits 105 to 125 tell the hardware when it may issue: stall clocks (4 bits), a
 * hint to switch warps (1), the scoreboard of the result (3) and of the operands (3), the scoreboards to wait for (6), and
 * the operands to keep in the operand cache (4). The layout is described by Jia et al., "Dissecting the NVIDIA Volta GPU
 * architecture via microbenchmarking" (2018). */
#include <stdlib.h>
#include <string.h>

#include "explain/sass_internal.h"

enum { CONTROL_SHIFT = 41 }; /* bit 105 within the upper half */

/* Returns `bits` bits of the control field from `at` on. */
static unsigned control_bits(const sass_instruction_t *instruction, int at, int bits)
{
    return (unsigned)(instruction->control >> (CONTROL_SHIFT + at)) & ((1u << bits) - 1);
}

static void decode_control(const sass_instruction_t *from, lab_loop_instruction *to)
{
    to->stall = (int)control_bits(from, 0, 4);
    to->write_scoreboard = (int)control_bits(from, 5, 3);
    to->read_scoreboard = (int)control_bits(from, 8, 3);
    to->wait_mask = control_bits(from, 11, 6);
    to->reuse = control_bits(from, 17, 4);
}

static lab_sass_unit unit_of(const sass_instruction_t *instruction)
{
    static const char *const fma[] = {"FFMA", "FFMA2", "FMUL", "FADD", NULL};
    static const char *const heavy[] = {"IMAD", "IDP", "HFMA2", "HADD2", "HMUL2", NULL};
    static const char *const tensor[] = {"HMMA", "IMMA", "DMMA", "QMMA", NULL};
    static const char *const fp64[] = {"DFMA", "DADD", "DMUL", NULL};
    static const char *const other[] = {"BRA", "BSSY", "BSYNC", "NOP", "WARPSYNC", "JMP", "CALL", "RET", NULL};
    if (instruction->is_predicated_off || lab_sass_has_any_opcode(instruction, other))
        return LAB_UNIT_OTHER;
    if (lab_sass_memory_op(instruction) < LAB_MEMORY_OP_COUNT)
        return LAB_UNIT_MEMORY;
    if (lab_sass_has_any_opcode(instruction, fma))
        return LAB_UNIT_FMA;
    if (lab_sass_has_any_opcode(instruction, heavy))
        return LAB_UNIT_FMA_HEAVY;
    if (lab_sass_has_any_opcode(instruction, tensor))
        return LAB_UNIT_TENSOR;
    if (lab_sass_has_any_opcode(instruction, fp64))
        return LAB_UNIT_FP64;
    if (lab_sass_has_opcode(instruction, "LDGDEPBAR"))
        return LAB_UNIT_COPY_GROUP;
    if (lab_sass_has_opcode(instruction, "DEPBAR"))
        return LAB_UNIT_WAIT;
    if (lab_sass_has_opcode(instruction, "BAR"))
        return LAB_UNIT_BARRIER;
    return instruction->operation[0] == 'U' ? LAB_UNIT_OTHER : LAB_UNIT_ALU; /* U: the uniform data path */
}

/* Reads "SB0, 0x1": the scoreboard and how many of its operations may remain. */
static void read_wait(const char *operands, lab_loop_instruction *to)
{
    const char *board = strstr(operands, "SB"), *count = strchr(operands, ',');
    to->wait_scoreboard = board ? (int)(strtoul(board + 2, NULL, 10) % LAB_SCOREBOARDS) : 0;
    to->wait_remaining = count ? (int)strtol(count + 1, NULL, 16) : 0;
}

/* Reads the source registers "R2, R3.reuse, R4" after the destination. */
static void read_sources(const char *operands, lab_loop_instruction *to)
{
    const char *at = strchr(operands, ',');
    for (int slot = 0; slot < LAB_SOURCES_MAX; slot++)
        to->source[slot] = LAB_NO_REGISTER;
    for (int slot = 0; slot < LAB_SOURCES_MAX && at; slot++, at = strchr(at, ',')) {
        at += 1 + strspn(at + 1, " -|~!");
        if (at[0] == 'R' && at[1] >= '0' && at[1] <= '9')
            to->source[slot] = (unsigned char)strtoul(at + 1, NULL, 10);
    }
}

static void copy_instruction(const sass_instruction_t *from, lab_loop_instruction *to)
{
    *to = (lab_loop_instruction){
        .unit = unit_of(from), .move = lab_sass_memory_op(from), .line = from->source_line.line};
    memcpy(to->operation, from->operation, sizeof to->operation);
    memcpy(to->file, from->source_line.file, sizeof to->file);
    decode_control(from, to);
    read_sources(from->operands, to);
    if (lab_sass_is_math(from, false))
        to->multiply_adds = (double)lab_sass_multiply_adds(from);
    if (to->unit == LAB_UNIT_MEMORY)
        to->width = lab_sass_access_bytes(from, to->move);
    if (to->unit == LAB_UNIT_WAIT)
        read_wait(from->operands, to);
}

/* Returns whether the instructions of the hottest loop follow each other, so that the range can be repeated. */
static bool is_contiguous(const lab_sass *out, const unsigned char *inner)
{
    int changes = 0;
    for (int i = 1; i < out->loop_code_count; i++)
        changes += inner[i] != inner[i - 1];
    return changes <= 2;
}

/* Returns whether a basic block begins at an instruction: it is the target of a jump, or follows one. */
static bool begins_block(const sass_parser_t *parser, int at)
{
    if (at == 0 || parser->code[at - 1].branch_target >= 0 || !parser->code[at - 1].falls_through)
        return true;
    for (int edge = parser->first_edge[at]; edge >= 0; edge = parser->next_edge[edge])
        if (edge / 2 != at - 1)
            return true;
    return false;
}

/* Returns whether a conditional jump of the loop skips an instruction. */
static bool is_skipped(const sass_parser_t *parser, const sass_hottest_t *hottest, int at)
{
    for (int i = 0; i < at; i++)
        if (hottest->members[i] && parser->code[i].branch_target > at && parser->code[i].falls_through &&
            hottest->members[parser->code[i].branch_target])
            return true;
    return false;
}

/* Copies the instructions from the head on: the head does not always have the first address. */
static void copy_members(const sass_parser_t *parser, const sass_hottest_t *hottest, lab_sass *out,
                         unsigned char *inner)
{
    int block = 0;
    out->repeat_begin = out->repeat_end = 0;
    for (int i = 0; i < parser->code_count; i++) {
        int at = (hottest->head + i) % parser->code_count;
        if (!hottest->members[at])
            continue;
        int to = out->loop_code_count++;
        copy_instruction(&parser->code[at], &out->loop_code[to]);
        out->loop_code[to].is_conditional = is_skipped(parser, hottest, at);
        block += begins_block(parser, at);
        out->loop_code[to].basic_block = block;
        inner[to] = hottest->members[at] == SASS_IN_LOOP;
        if (inner[to] && out->repeat_end == 0)
            out->repeat_begin = to;
        if (inner[to])
            out->repeat_end = to + 1;
    }
}

bool lab_sass_copy_loop(const sass_parser_t *parser, const sass_hottest_t *hottest, lab_sass *out)
{
    size_t count = 0;
    bool has_control = true;
    for (int i = 0; i < parser->code_count; i++) {
        count += hottest->members[i] != 0;
        has_control = has_control && (!hottest->members[i] || parser->code[i].has_control);
    }
    lab_sass_free(out);
    if (!has_control || count == 0)
        return true;
    unsigned char *inner = calloc(count, 1);
    out->loop_code = calloc(count, sizeof *out->loop_code);
    out->loop_barriers = hottest->barriers;
    bool good = inner && out->loop_code;
    if (good) {
        copy_members(parser, hottest, out, inner);
        if (!is_contiguous(out, inner))
            lab_sass_free(out);
    }
    free(inner);
    return good;
}
