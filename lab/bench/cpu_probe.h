/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_probe.h - measures the current peak speed of this processor with a loop of only multiply-add instructions, which runs
 * for about 100 us before and after every sample.
 *
 * The probe is the peak that kernels are compared with, and it reveals the speed mode of the machine: a shared machine slows
 * down for seconds at a time, AMX most of all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/type_pair.h"
#include "rung/rung.h"

/* clang-format off */
#define LAB_CPU_PROBE_LIST(X)                                                       \
    X(NONE,     "none")                                                         \
    X(FMA_F32,  "fma f32")                                                      \
    X(FMA_F64,  "fma f64")                                                      \
    X(DOT_BF16, "dot bf16")                                                     \
    X(DOT_I8,   "dot i8")                                                       \
    X(AMX_BF16, "amx bf16")                                                     \
    X(AMX_I8,   "amx i8")
/* clang-format on */

typedef enum lab_cpu_probe {
#define X(name, word) LAB_CPU_PROBE_##name,
    LAB_CPU_PROBE_LIST(X)
#undef X
        LAB_CPU_PROBE_COUNT
} lab_cpu_probe;

const char *lab_cpu_probe_name(lab_cpu_probe probe);

/* Returns the fastest probe for a product: AMX, else dot products, else FMA. Asks the system for permission to use AMX. */
lab_cpu_probe lab_cpu_probe_for(lab_type_pair product, rung_compute compute);

/* Reports whether this processor has the instructions of a probe. */
bool lab_cpu_probe_is_available(lab_cpu_probe probe);

/* Runs the probe in `threads` threads at once, fewer if they cannot be started. Returns their GFLOPS together; a multiply-add
 * counts as two operations, also of integers. Returns 0 for LAB_CPU_PROBE_NONE; a thread with wrong sums counts as 0. */
double lab_cpu_probe_run(lab_cpu_probe probe, int threads);

/* Reports whether no kernel for this product can be faster than the probe. False if the probe is portable C, which vector
 * code exceeds, and for integers that this processor multiplies without dot products. */
bool lab_cpu_probe_is_upper_bound(lab_cpu_probe probe, lab_type_pair product);

/* Reports whether the probe is one of FMA, which every processor has. */
bool lab_cpu_probe_is_fma(lab_cpu_probe probe);

/* Reports whether the speed of the probe (AMX) may have two modes; see sample_statistics.h. */
bool lab_cpu_probe_has_modes(lab_cpu_probe probe);

enum { LAB_THREADS_MAX = 256 }; /* also the limit of --threads */

/* Calls work(item) for each of `count` items of `item_bytes` bytes: the first in the calling thread, every other one in a
 * thread of its own. All calls begin when all threads exist. Returns the number of items that ran: the first ones, at
 * most LAB_THREADS_MAX, and fewer if the system refuses a thread. */
int lab_thread_team_run(void (*work)(void *item), void *items, size_t item_bytes, int count);

/* Returns the width of the widest FMA of this processor in bits; 0 if it is unknown. */
int lab_cpu_fma_bits(void);
