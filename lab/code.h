/* SPDX-License-Identifier: Apache-2.0 */
/* code.h - what a kernel's machine code is made of: the loop that multiplies, counted
 * instruction by instruction, and where it spills.
 *
 * The hottest loop is, of those that multiply and have none within them that does, the one with
 * the most multiplying instructions. Loops are natural ones, found by who can reach whom and
 * not by the order of addresses: compilers turn loops around and put rare code behind the end.
 * Every instruction counts once, predicated or not, and a NOP too, since it takes its turn; so
 * a rare branch counts as if it were always taken. */
#ifndef LAB_CODE_H
#define LAB_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Instructions that move data, and what each is called. One whose condition is never true,
 * "@!PT LDS", which the compiler puts before copies, counts among `other`. */
/* clang-format off */
#define LAB_MOVE_LIST(X)                                                        \
    X(SHARED_LOAD,  "LDS")                                                      \
    X(MATRIX_LOAD,  "LDSM")   /* from shared memory, for a matrix engine */     \
    X(SHARED_STORE, "STS")                                                      \
    X(GLOBAL_LOAD,  "LDG")                                                      \
    X(GLOBAL_COPY,  "LDGSTS") /* to shared memory, past the registers */        \
    X(GLOBAL_STORE, "STG")                                                      \
    X(LOCAL_LOAD,   "LDL")    /* a spill, or an array that is in no register */ \
    X(LOCAL_STORE,  "STL")
/* clang-format on */

typedef enum lab_move {
#define X(name, operation) LAB_MOVE_##name,
    LAB_MOVE_LIST(X)
#undef X
        LAB_MOVE_COUNT
} lab_move;

enum { LAB_WIDTHS = 6, LAB_OPERATION = 32, LAB_SPILLS_MAX = 32 };

typedef struct lab_mix {
    int64_t instructions;
    int64_t math;                              /* FFMA, FFMA2, DFMA, HMMA, IMMA, DMMA, IDP; or see is_integer */
    char operation[LAB_OPERATION];             /* the most frequent of those, "HMMA.16816.F32"; "" if none */
    int64_t multiply_adds;                     /* of a warp, all of math together; a thread has a 32nd */
    int64_t moves[LAB_MOVE_COUNT][LAB_WIDTHS]; /* by width: of 1, 2, 4, 8, 16, 32 bytes a thread */
    int64_t integer;                           /* whole numbers and addresses: IMAD, IADD3, LEA, ... */
    int64_t barriers;                          /* of the block */
    int64_t branches;
    int64_t other;
    bool is_integer; /* math is IMAD, of which some may be for addresses: no loop of the
                      * function multiplies otherwise */
} lab_mix;

/* All widths together. */
int64_t lab_mix_moves(const lab_mix *mix, lab_move move);

/* Local memory that one line of the kernel's file uses; a line of an inlined function counts
 * as the one that calls it. */
typedef struct lab_spill {
    char file[64]; /* "" where the code does not tell lines; the name without its folder */
    int64_t line;
    int64_t loads, stores; /* instructions */
} lab_spill;

typedef struct lab_code {
    bool has_loop;                    /* else `loop` is empty */
    lab_mix loop;                     /* one iteration of the hottest */
    lab_mix whole;                    /* the function that it is in; of several without a loop, the longest */
    lab_spill spills[LAB_SPILLS_MAX]; /* of all functions, in the order of the code */
    int64_t spill_count;              /* may pass LAB_SPILLS_MAX */
} lab_code;

/* From what nvdisasm -c or cuobjdump -sass prints; with -gi it tells lines. False, and why, if
 * it cannot be read to its end. */
bool lab_code_read(FILE *in, lab_code *code, char *why, size_t capacity);

/* From a cubin, by nvdisasm. False, and why, where that is not here or fails. */
bool lab_code_take_apart(const void *image, int64_t bytes, lab_code *code, char *why, size_t capacity);

/* Where nvdisasm is: as RUNG_NVDISASM says, on the PATH, or where toolkits and pip put it. */
bool lab_code_find_disassembler(char *path, size_t capacity);

extern const char *const lab_code_install; /* what to do where it is not */

#endif /* LAB_CODE_H */
