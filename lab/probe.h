/* SPDX-License-Identifier: Apache-2.0 */
/* probe.h - how fast this processor multiplies right now: a loop of nothing but the
 * instructions that a product is made of, run for a moment beside every sample.
 *
 * It is the peak that a kernel can be held against, and it tells a machine's moods apart: a
 * shared one slows down for seconds at a time, its matrix tiles most of all. */
#ifndef LAB_PROBE_H
#define LAB_PROBE_H

#include <stdbool.h>

#include "product.h"
#include "rung/rung.h"

/* clang-format off */
#define LAB_PROBE_LIST(X)                                                       \
    X(NONE,     "none")                                                         \
    X(FMA_F32,  "fma f32")                                                      \
    X(FMA_F64,  "fma f64")                                                      \
    X(DOT_BF16, "dot bf16")                                                     \
    X(DOT_I8,   "dot i8")                                                       \
    X(AMX_BF16, "amx bf16")                                                     \
    X(AMX_I8,   "amx i8")
/* clang-format on */

typedef enum lab_probe {
#define X(name, word) LAB_PROBE_##name,
    LAB_PROBE_LIST(X)
#undef X
        LAB_PROBE_COUNT
} lab_probe;

const char *lab_probe_name(lab_probe probe);

/* The best that this processor has for a product: tiles, else dot products, else FMA. Asks the
 * system for the tiles, which it gives a process that asks. */
lab_probe lab_probe_of(lab_product product, rung_compute compute);

/* Whether this processor has those instructions. */
bool lab_probe_is_here(lab_probe probe);

/* GFLOPS of so many threads together, all at it for some 100 us; a multiply and an add count
 * as two, of whole numbers too. 0 of none, and of a thread whose sums are wrong. */
double lab_probe_run(lab_probe probe, int threads);

/* Whether nothing that this product is made of can be faster than the probe. Not so where it is plain C,
 * which kernels' vectors are faster than, and of whole numbers that no engine here multiplies. */
bool lab_probe_is_roof(lab_probe probe, lab_product product);

/* Whether its speed may have two modes, see samples.h. */
bool lab_probe_has_modes(lab_probe probe);

/* The widest FMA of this processor, in bits; 0 where there is none or it is not known. */
int lab_probe_width(void);

#endif /* LAB_PROBE_H */
