/* SPDX-License-Identifier: Apache-2.0 */
/* curand_device.h - stub of curand_kernel.h, which the packages of headers for NVRTC do not contain: generators with the same
 * functions and other sequences of numbers. */
#pragma once

#include "rung_stubs/cuda_host.h"

struct curandStateXORWOW_t {
    unsigned int v[6];
};
typedef curandStateXORWOW_t curandState;
typedef curandStateXORWOW_t curandState_t;
typedef curandStateXORWOW_t curandStateXORWOW;
typedef curandStateXORWOW_t curandStatePhilox4_32_10_t;
typedef curandStateXORWOW_t curandStateMRG32k3a;

template <class S>
inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, S *state)
{
    state->v[0] = (unsigned int)(seed * 2654435761u + sequence * 40503u + offset);
}

template <class S> inline unsigned int curand(S *state)
{
    state->v[0] = state->v[0] * 1664525u + 1013904223u;
    return state->v[0];
}

template <class S> inline float curand_uniform(S *state)
{
    return ((curand(state) >> 8) + 1) * (1.0f / 16777216.0f);
}

template <class S> inline double curand_uniform_double(S *state)
{
    return curand_uniform(state);
}

template <class S> inline float curand_normal(S *state)
{
    return sqrtf(-2.0f * logf(curand_uniform(state))) * cospif(2.0f * curand_uniform(state));
}
