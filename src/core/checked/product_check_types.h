/* SPDX-License-Identifier: Apache-2.0 */
/* product_check_types.h - the state of a check, shared by product_sums.c, integer_check.c and
 * product_repair.c. */
#pragma once

#include "core/checked/product_check.h"

/* How much an element may differ from the exact one: `relative` times |A||B|, plus `absolute`, plus `vanished` times the
 * sums of the magnitudes of its row of A and its column of B; not at all if all products are 0. */
typedef struct rungi_error_bound {
    double relative, absolute, vanished;
    double largest;     /* the largest finite number of the accumulator */
    bool rounds_inputs; /* inputs near the largest number may become infinite */
    bool by_blocks;     /* elements of A count with the largest magnitude of their block (mode q8) */
} rungi_error_bound;

/* k is divided into segments, in which the magnitudes of A and B are compared. */
enum { RUNGI_CHECK_SEGMENTS = 8 };

/* Why the elements of a line in a tile are computed again. */
typedef enum rungi_check_flag {
    RUNGI_CHECK_NONE,
    RUNGI_CHECK_DIFFERS,    /* its sum differs from the expected one */
    RUNGI_CHECK_INSENSITIVE /* its sum may hide an error above the bound of an element */
} rungi_check_flag;

/* Rows or columns of a product, in tiles of `tile` lines. All arrays are padded with zeros. */
typedef struct rungi_check_axis {
    int64_t count, tile, tiles;
    int64_t padded;     /* elements per array of lines */
    double *weights;    /* a random sign divided by the sum of magnitudes in A or B; 0: the line is not checked */
    double *magnitudes; /* |weights| */
    double *sizes;      /* the sums of magnitudes */
    double *squares;    /* the sums of the squares of the weighted elements in A or B */
    double *parts;  /* per segment of k: the sums of the magnitudes of these elements, at last divided by their sum */
    double *totals; /* per tile: the sum of `magnitudes` */
    double *sums;   /* per tile, k elements: the weighted sum of the lines of A or B */
    double *sum_sizes;    /* the same of magnitudes */
    double *expected;     /* per tile of the other axis: the expected sum of each line in the tile */
    double *bounds;       /* the same of |A||B| */
    double *actual;       /* the sums that the product has */
    double *shares;       /* per tile: part of the sum of bounds that the two may differ by */
    int64_t *flagged;     /* room for the numbers of the flagged lines of a tile */
    unsigned char *flags; /* rungi_check_flag, as `expected` */
    uint32_t *integer_sums, *integer_expected, *integer_actual; /* of integers, which have one tile */
} rungi_check_axis;

struct rungi_product_check {
    rung_context *context;
    rungi_part_runner runner;
    const rungi_line_sums *const *line_sums;
    rungi_error_bound bound;
    rung_type sum_type;
    bool is_integer;
    bool has_unchecked_lines; /* a weight is 0 */
    double alpha;
    rung_matrix a, b;    /* host views: F32, F64 or BF16; I8 or I32 for integers */
    rung_matrix a_sizes; /* `a`, or in mode q8 the largest magnitudes of its blocks */
    void *copies[3];     /* memory of `a`, `b` and `a_sizes`, if they are copies */
    int64_t k, k_padded;
    int64_t segment;    /* its length: a multiple of the rows of a panel */
    int64_t max_summed; /* in a sum of more elements, rounding errors can cancel an error of one element */
    rungi_check_axis rows, cols;
    const rung_matrix *product; /* during the comparison */
    void *memory;               /* all arrays */
};

static inline uint64_t rungi_check_hash(uint64_t index)
{
    uint64_t mixed = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* Weights of integers are odd, so that one wrong element always changes the sum modulo 2^32. */
static inline uint32_t rungi_check_integer_weight(int64_t index, bool is_row)
{
    return (uint32_t)rungi_check_hash((uint64_t)index * 2 + is_row) | 1u;
}

/* Returns the largest difference between the sum of a line in a tile and the expected sum that is not looked into. If
 * `is_worst_case`, returns the largest difference that rounding can cause instead. */
double rungi_product_check_limit(const rungi_product_check *check, const rungi_check_axis *axis,
                                 const rungi_check_axis *other, int64_t line, int64_t tile, bool is_worst_case);

/* Calls work(job, part) for all parts; a small job, of few `elements`, stays on this thread. */
void rungi_product_check_run(const rungi_product_check *check, double elements, int64_t parts, rungi_part_work *work,
                             void *job);

/* insensitive_sums.c: flags lines whose sums may hide errors. */
void rungi_product_flag_insensitive(rungi_product_check *check);

/* integer_check.c: computes what is expected of a product of integers; compares it with the product and sets the flags. */
void rungi_integer_check_prepare(rungi_product_check *check);
void rungi_integer_check_compare(rungi_product_check *check);

/* product_repair.c: computes flagged lines of the product again and corrects wrong elements. */
rung_status rungi_product_repair(rungi_product_check *check, int64_t *corrected);
