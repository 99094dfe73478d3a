/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - descriptions of GPUs for the speed model: throughput per clock, latencies and sizes. The list is gpus.def; a
 * file can describe another GPU. */
#ifndef LAB_GPUS_H
#define LAB_GPUS_H

#include <stdbool.h>
#include <stddef.h>

/* See gpus.def for the members; rates are per multiprocessor and clock. */
typedef struct lab_gpu {
    char name[32], title[64], arch[16], source[192];
    double sm_count, clock_mhz, dram_gbs, l2_kib;
    double has_engine;
    double fp32, fp64, int32, engine16, engine_tf32, engine_i8;
    double issue, lsu, shared, l1, l2, is_l1_caching;
    double lat_fma, lat_shared, lat_l1, lat_l2, lat_dram, lat_bar;
} lab_gpu;

/* Finds a GPU of the list by name, or reads a file with lines "field = number" after "like = NAME", which sets the other
 * fields. Returns false with a sentence in `why`. */
bool lab_gpu_find(const char *name, lab_gpu *machine, char *why, size_t capacity);

/* Finds the first GPU of an architecture. */
bool lab_gpu_of_arch(const char *arch, lab_gpu *machine);

/* Finds the GPU of the options --machine and --arch, either of which may be NULL; the default is that of sm_86. Returns
 * NULL or what is wrong. */
const char *lab_gpu_from_options(const char *name, const char *arch, lab_gpu *machine);

/* Gets a GPU of the list; false after the last one. */
bool lab_gpu_at(int index, lab_gpu *machine);

/* Returns the peak for `lanes` multiply-adds per multiprocessor and clock. */
double lab_gpu_peak_gflops(const lab_gpu *machine, double lanes);

#endif /* LAB_GPUS_H */
