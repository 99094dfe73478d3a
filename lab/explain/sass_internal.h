/* SPDX-License-Identifier: Apache-2.0 */
/* sass_internal.h - the parser state that sass_parser.c (instructions) and sass_loops.c (loops) share. */
#pragma once

#include "explain/sass.h"

enum {
    CODE_MAX = 1 << 16,
    LABELS_MAX = 1 << 13,
    LOOPS_MAX = 1 << 10,
    LABEL_BYTES = 64,
    BARRIER_REGISTERS = 16,
    OPERANDS_BYTES = 96
};

typedef struct source_line {
    char file[64];
    int64_t line;
} source_line_t;

typedef struct sass_instruction {
    char operation[LAB_OPCODE_BYTES];
    char target[LABEL_BYTES]; /* a label, or an address such as 0x10; "" without a jump */
    long address;
    int barrier;            /* barrier register of BSSY, which names the target of its BSYNC */
    int branch_target;      /* index of an instruction, or -1 */
    bool falls_through;     /* the next instruction may follow */
    bool is_predicated_off; /* the predicate is @!PT */
    bool has_control;       /* the disassembly has the encoding */
    uint64_t control;       /* upper half of the encoding: from bit 41 on, timing and scoreboards */
    char operands[OPERANDS_BYTES];
    source_line_t source_line;
} sass_instruction_t;

typedef struct sass_label {
    char name[LABEL_BYTES];
    int at;
} sass_label_t;

typedef struct sass_loop {
    int head;
    unsigned char *members; /* one byte per instruction: 1 if it belongs to the loop */
    lab_instruction_mix mix;
} sass_loop_t;

/* The state of a parse and the function that is being read. The predecessors of an instruction are a linked list of
 * edges: edge 2i is the jump of instruction i, edge 2i + 1 its fall-through. */
typedef struct sass_parser {
    sass_instruction_t code[CODE_MAX];
    sass_label_t labels[LABELS_MAX];
    int code_count, label_count;
    source_line_t source_line; /* of the next instructions */
    sass_loop_t loops[LOOPS_MAX];
    int loop_count;
    int first_edge[CODE_MAX], next_edge[2 * CODE_MAX];
    int worklist[CODE_MAX];
    const char *function; /* to read; NULL: all */
    bool is_skipped;      /* the current function is another one */
    lab_sass *out;
    char *why;
    size_t capacity;
    bool failed;
} sass_parser_t;

/* Records the first error. */
void lab_sass_fail(sass_parser_t *parser, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns whether the operation is `name`, with or without modifiers: FFMA.FTZ is an FFMA, FFMA2 is not. */
bool lab_sass_has_opcode(const sass_instruction_t *instruction, const char *name);

/* Counts the instructions of a loop (`members`) or of the whole function (NULL). */
lab_instruction_mix lab_sass_count_mix(const sass_parser_t *parser, const unsigned char *members, bool is_integer);

/* Membership of an instruction: in the hottest loop, or only in the loop around it that has the barriers. */
enum { SASS_IN_LOOP = 1, SASS_AROUND_LOOP };

typedef struct sass_hottest {
    lab_instruction_mix mix; /* of the hottest loop */
    int head;                /* first instruction of the outer loop, if it has one, otherwise of the loop */
    int64_t barriers;        /* of that loop */
    unsigned char *members;  /* one byte per instruction; the caller's */
} sass_hottest_t;

/* Finds the hottest loop of the current function (sass_loops.c). Returns false if no loop multiplies. */
bool lab_sass_find_hottest_loop(sass_parser_t *parser, sass_hottest_t *hottest);

/* Returns the multiply-adds of a warp of a multiply instruction, and the bytes per thread of a memory access. */
int64_t lab_sass_multiply_adds(const sass_instruction_t *instruction);
int lab_sass_access_bytes(const sass_instruction_t *instruction, lab_memory_op move);
bool lab_sass_is_math(const sass_instruction_t *instruction, bool is_integer);
lab_memory_op lab_sass_memory_op(const sass_instruction_t *instruction);
bool lab_sass_has_any_opcode(const sass_instruction_t *instruction, const char *const *names);

/* Copies the loop with its timing (sass_loop_code.c). Returns false if memory is exhausted. Without encodings the list
 * stays empty. */
bool lab_sass_copy_loop(const sass_parser_t *parser, const sass_hottest_t *hottest, lab_sass *out);

/* Returns whether a loop with this mix is hotter than the loop found so far. */
bool lab_sass_is_hotter_loop(const lab_instruction_mix *mix, const lab_sass *than);
