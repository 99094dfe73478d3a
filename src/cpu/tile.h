/* SPDX-License-Identifier: Apache-2.0 */
/* tile.h - the inner loop of the CPU's fast kernels: tiles of C, held in registers while k
 * goes by. Each instruction set has its own sizes of tile, for each type of sums. */
#ifndef RUNGI_CPU_TILE_H
#define RUNGI_CPU_TILE_H

#include "cpu/features.h"
#include "rung/rung.h"

/* How B stands. */
typedef enum rungi_b_is { RUNGI_B_IN_PLACE, RUNGI_B_PACKED, RUNGI_B_PACKING } rungi_b_is;

/* C = alpha * A * B + beta * C for tiles beside and below each other; C is not read where beta is 0.
 * Strides are in elements. A's elements along k and the columns of B and of C stand beside
 * each other. What lies outside A, B and C is neither read nor written. */
typedef struct rungi_tile_job {
    int64_t k;
    const void *a;
    int64_t a_row;
    const void *b;
    int64_t b_step; /* to the next of k; not asked where B is packed */
    void *c;
    int64_t c_row;
    int64_t tiles, panels; /* beside, and below each other */
    int64_t cols;          /* of a tile; of several tiles, all that it can have */
    double alpha, beta;
    void *pack;       /* where B goes, where it is packed on the way */
    int64_t ahead;    /* steps that B is asked for before it is needed, */
    int64_t aside;    /* and elements from there on */
    bool brings_c;    /* C is asked for before the first step */
    const void *next; /* a row of A is asked for with each tile, beginning with this one; the
                       * next panel begins as many rows behind it as a tile has */
    int64_t next_row;
} rungi_tile_job;

typedef void rungi_tile(const rungi_tile_job *job);

enum { RUNGI_TILE_ROWS = 14, RUNGI_TILE_VECTORS = 2 };

/* Tiles of 1 to `rows` rows, and of one or two vectors of `lanes` elements. In a packed B the
 * rows of a tile follow each other, two vectors each, and tile follows tile; what is behind a
 * tile's last column is there, and counts for nothing. */
typedef struct rungi_tiles {
    int rows, lanes;
    rungi_tile *in_place[RUNGI_TILE_ROWS][RUNGI_TILE_VECTORS];
    rungi_tile *packed[RUNGI_TILE_ROWS][RUNGI_TILE_VECTORS];
    /* NULL for fewer rows, which are not worth the code. */
    rungi_tile *packing[RUNGI_TILE_ROWS][RUNGI_TILE_VECTORS]; /* in place first, and B goes to `pack` */
    /* Packed, two vectors, for C that is not soon read: past the caches. Every row of C begins at
     * a multiple of a vector's size, beta is 0. */
    rungi_tile *streaming[RUNGI_TILE_ROWS];
} rungi_tiles;

/* Those of an instruction set for sums of F32, F64 or I32. */
const rungi_tiles *rungi_tiles_of(rungi_isa isa, rung_type sum);

#define RUNGI_TILES_LIST(X) X(f32) X(f64) X(i32)
#define X(type) \
    extern const rungi_tiles rungi_tiles_avx512_##type, rungi_tiles_avx2_##type, rungi_tiles_portable_##type;
RUNGI_TILES_LIST(X)
#undef X

#endif /* RUNGI_CPU_TILE_H */
