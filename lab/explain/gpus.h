/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.h - descriptions of GPUs for the speed model: throughput per clock, latencies and sizes. The list is gpus.def; a
 * file can describe another GPU. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The rates and latencies of a multiprocessor, in the order of gpus.def: member, and name in description files. */
/* clang-format off */
#define LAB_GPU_RATE_LIST(X)                                                                              \
    X(fp32, "fp32") X(fp64, "fp64") X(int32, "int32")                                                     \
    X(engine16, "engine16") X(engine_tf32, "engine_tf32") X(engine_i8, "engine_i8") X(engine_f64, "engine_f64") \
    X(issue, "issue") X(lsu, "lsu") X(shared, "shared") X(l1, "l1") X(l2, "l2") X(is_l1_caching, "caches") \
    X(lat_fma, "lat_fma") X(lat_shared, "lat_shared") X(lat_l1, "lat_l1") X(lat_l2, "lat_l2")             \
    X(lat_dram, "lat_dram") X(lat_bar, "lat_bar")
/* clang-format on */

/* See gpus.def for the members; rates are per multiprocessor and clock. */
typedef struct lab_gpu {
    char name[64], title[64], arch[16], source[192];
    double sm_count, clock_mhz, loaded_clock_mhz, dram_gbs, l2_kib;
    double engine; /* factor of the engine's rates; 0: no matrix engine */
#define X(member, name) double member;
    LAB_GPU_RATE_LIST(X)
#undef X
} lab_gpu;

/* Finds a GPU of the list by name, or reads a file with lines "field = number" after "like = NAME", which sets the other
 * fields. Returns false with a sentence in `why`. */
bool lab_gpu_find(const char *name, lab_gpu *machine, char *why, size_t capacity);

/* Find a GPU of gpus.def by its name, or the first one of an architecture. */
bool lab_gpu_find_listed(const char *name, lab_gpu *machine);
bool lab_gpu_of_arch(const char *arch, lab_gpu *machine);

/* Finds the GPU of the options --machine and --arch, either of which may be NULL; the default is that of sm_86. Returns
 * NULL or what is wrong. */
const char *lab_gpu_from_options(const char *name, const char *arch, lab_gpu *machine);

/* Gets a GPU of the list; false after the last one. */
bool lab_gpu_at(int index, lab_gpu *machine);

/* Returns the clock at which a kernel runs that uses this fraction of the multiply-add throughput. Power grows with the
 * utilisation and with the cube of the clock, because the voltage follows the clock. loaded_clock_mhz belongs to 0.78, the
 * utilisation of the kernel from which the first such clock was derived. */
double lab_gpu_clock_mhz(const lab_gpu *machine, double math_utilisation);

/* Returns the peak for `lanes` multiply-adds per multiprocessor and clock. */
double lab_gpu_peak_gflops(const lab_gpu *machine, double lanes);
