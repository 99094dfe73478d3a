/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - numbers by counter: the n-th number of a stream is a function of n,
 * so every device, order and thread count sees the same matrices. */
#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include <stdint.h>

/* Philox 4x32-10 (Salmon et al., SC'11): 32 bits of word `index % 4` of block
 * `index / 4`. */
uint32_t lab_random(uint64_t seed, uint64_t stream, uint64_t index);

/* Uniform in [-1, 1), on a grid of 2^-23. */
double lab_random_real(uint64_t seed, uint64_t stream, uint64_t index);

/* Normally distributed around 0, of deviation 1 (Box and Muller, 1958). */
double lab_random_normal(uint64_t seed, uint64_t stream, uint64_t index);

#endif /* LAB_RANDOM_H */
