/* SPDX-License-Identifier: Apache-2.0 */
/* sass_internal.h - the parser state that sass_parser.c (instructions) and sass_loops.c (loops) share. */
#pragma once

#include "explain/sass.h"

enum { CODE_MAX = 1 << 16, LABELS_MAX = 1 << 13, LOOPS_MAX = 1 << 10, LABEL_BYTES = 64, BARRIER_REGISTERS = 16 };

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

/* Finds the hottest loop of the current function (sass_loops.c). Returns false if no loop multiplies. */
bool lab_sass_find_hottest_loop(sass_parser_t *parser, lab_instruction_mix *hottest);

/* Returns whether a loop with this mix is hotter than the loop found so far. */
bool lab_sass_is_hotter_loop(const lab_instruction_mix *mix, const lab_sass *than);
