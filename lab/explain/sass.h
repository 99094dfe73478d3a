/* SPDX-License-Identifier: Apache-2.0 */
/* sass.h - counts the machine instructions (SASS) of a kernel: its hottest loop and its spills.
 *
 * The hottest loop is the innermost multiplying loop with the most multiply instructions. Loops are natural loops of the
 * control flow graph, not ranges of addresses, because compilers rotate loops and move rare code behind the end. Every
 * instruction counts once, with or without a predicate, and a NOP too, because each takes an issue slot. A rare branch
 * therefore counts as if it were always taken. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Instructions that move data, with their opcodes. An instruction whose predicate is never true, such as the "@!PT LDS"
 * that the compiler puts before copies, counts as `other`. */
/* clang-format off */
#define LAB_MEMORY_OP_LIST(X)                                                        \
    X(SHARED_LOAD,  "LDS")                                                      \
    X(MATRIX_LOAD,  "LDSM")   /* from shared memory, for a matrix engine */     \
    X(SHARED_STORE, "STS")                                                      \
    X(GLOBAL_LOAD,  "LDG")                                                      \
    X(GLOBAL_COPY,  "LDGSTS") /* to shared memory, past the registers */        \
    X(GLOBAL_STORE, "STG")                                                      \
    X(LOCAL_LOAD,   "LDL")    /* a spill, or an array in local memory */    \
    X(LOCAL_STORE,  "STL")
/* clang-format on */

typedef enum lab_memory_op {
#define X(name, operation) LAB_MEMORY_OP_##name,
    LAB_MEMORY_OP_LIST(X)
#undef X
        LAB_MEMORY_OP_COUNT
} lab_memory_op;

enum { LAB_ACCESS_WIDTHS = 6, LAB_OPCODE_BYTES = 32, LAB_SPILLS_MAX = 32 };

typedef struct lab_instruction_mix {
    int64_t instructions;
    int64_t math;                     /* FFMA, FFMA2, HFMA2, DFMA, HMMA, IMMA, DMMA, QMMA, IDP; IMAD if is_integer */
    char operation[LAB_OPCODE_BYTES]; /* the most frequent math operation, "HMMA.16816.F32"; "" if none */
    int64_t multiply_adds;            /* of all math instructions, per warp */
    int64_t moves[LAB_MEMORY_OP_COUNT][LAB_ACCESS_WIDTHS]; /* by width: 1, 2, 4, 8, 16, 32 bytes per thread */
    int64_t integer;                                       /* integers and addresses: IMAD, IADD3, LEA, ... */
    int64_t barriers;                                      /* BAR */
    int64_t branches;
    int64_t other;
    bool is_integer; /* math is IMAD, some of which may compute addresses; no loop has other math */
} lab_instruction_mix;

const char *lab_memory_op_name(lab_memory_op move); /* "LDS" */

/* Returns the sum over all widths. */
int64_t lab_instruction_mix_memory_ops(const lab_instruction_mix *mix, lab_memory_op move);

/* Local memory accesses of one line of the kernel's file. A line of an inlined function counts as its calling line. */
typedef struct lab_spill {
    char file[64]; /* without folder; "" without line information */
    int64_t line;
    int64_t loads, stores; /* instructions */
} lab_spill;

/* The unit of a multiprocessor that executes an instruction, as far as the issue simulator tells units apart. */
typedef enum lab_sass_unit {
    LAB_UNIT_FMA,        /* FP32 multiply-adds and additions */
    LAB_UNIT_FMA_HEAVY,  /* IMAD and other work that only half of the FP32 lanes can do */
    LAB_UNIT_ALU,        /* integers, logic, comparisons, moves */
    LAB_UNIT_FP64,       /* DFMA */
    LAB_UNIT_TENSOR,     /* HMMA, IMMA, DMMA, QMMA (FP8) */
    LAB_UNIT_MEMORY,     /* loads, stores and copies */
    LAB_UNIT_COPY_GROUP, /* LDGDEPBAR: ends a group of asynchronous copies */
    LAB_UNIT_WAIT,       /* DEPBAR: waits until few operations of a scoreboard remain */
    LAB_UNIT_BARRIER,    /* BAR */
    LAB_UNIT_OTHER       /* takes an issue slot and no unit that could be busy */
} lab_sass_unit;

enum { LAB_SCOREBOARDS = 6, LAB_NO_SCOREBOARD = 7, LAB_SOURCES_MAX = 3, LAB_NO_REGISTER = 255 };

/* An instruction of the hottest loop, with what the compiler tells the hardware about its timing: the clocks until the
 * next instruction of the warp, the scoreboard that its result or its read operands release, and the scoreboards it
 * waits for. */
typedef struct lab_loop_instruction {
    char operation[LAB_OPCODE_BYTES];
    lab_sass_unit unit;
    lab_memory_op move; /* of LAB_UNIT_MEMORY */
    int width;          /* of a memory access: bytes per thread */
    double multiply_adds;
    int stall;                             /* clocks until the warp may issue its next instruction */
    int write_scoreboard;                  /* released when the result is there; LAB_NO_SCOREBOARD */
    int read_scoreboard;                   /* released when the operands were read */
    unsigned wait_mask;                    /* scoreboards that must be free before the issue */
    int wait_scoreboard, wait_remaining;   /* of LAB_UNIT_WAIT */
    unsigned char source[LAB_SOURCES_MAX]; /* registers by operand slot; LAB_NO_REGISTER */
    unsigned reuse;                        /* slots whose value is kept for the next instruction */
    int basic_block;                       /* number of the straight piece of code that it belongs to */
    bool is_conditional;                   /* a jump before it may skip it */
    char file[64];
    int64_t line; /* of the kernel's file; 0 without line information */
} lab_loop_instruction;

typedef struct lab_sass {
    bool has_loop;                   /* if false, `loop` is empty */
    lab_instruction_mix loop;        /* one iteration of the hottest loop */
    lab_loop_instruction *loop_code; /* its instructions, in order, within those of the loop around it that has the
                                       * barriers; NULL if the disassembly has no encodings */
    int loop_code_count;
    int repeat_begin, repeat_end;     /* the range of `loop_code` that is the hottest loop itself */
    int64_t loop_barriers;            /* of `loop_code` */
    lab_instruction_mix whole;        /* the function of that loop; without a loop, the longest function */
    lab_spill spills[LAB_SPILLS_MAX]; /* of all functions, in code order */
    int64_t spill_count;              /* may exceed LAB_SPILLS_MAX */
} lab_sass;

/* Parses the output of nvdisasm -c or cuobjdump -sass; -gi adds line information, -hex the encodings. `function` is the
 * function to read; NULL: all of them. Returns false, with a sentence in `why`, if the text is invalid. The caller frees
 * the code. */
bool lab_sass_parse(FILE *in, const char *function, lab_sass *code, char *why, size_t capacity);
void lab_sass_free(lab_sass *code);

/* Disassembles a cubin with nvdisasm and parses the result. Returns false, with a sentence in `why`, if nvdisasm is
 * missing or fails. The caller frees the code. */
bool lab_sass_disassemble(const void *image, int64_t bytes, const char *function, lab_sass *code, char *why,
                          size_t capacity);

/* Finds nvdisasm: RUNG_NVDISASM, the PATH, or the folders of CUDA toolkits and pip packages. */
bool lab_nvdisasm_find(char *path, size_t capacity);

extern const char *const lab_nvdisasm_install_hint; /* how to install nvdisasm */
