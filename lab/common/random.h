/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - counter-based random numbers: number n of a stream is a function of n, so that matrices do not depend on the
 * device, the order or the number of threads. */
#pragma once

#include <stdint.h>

/* Returns 32 random bits: word `index % 4` of block `index / 4` of Philox 4x32-10 (Salmon et al., SC'11). */
uint32_t lab_random(uint64_t seed, uint64_t stream, uint64_t index);

/* Returns a uniformly distributed multiple of 2^-23 in [-1, 1). */
double lab_random_uniform(uint64_t seed, uint64_t stream, uint64_t index);

/* Returns a normally distributed number with mean 0 and standard deviation 1 (Box and Muller, 1958). */
double lab_random_normal(uint64_t seed, uint64_t stream, uint64_t index);
