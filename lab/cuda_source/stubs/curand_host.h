/* SPDX-License-Identifier: Apache-2.0 */
/* curand_host.h - stub of cuRAND's interface of the host. */
#pragma once

#include "rung_stubs/cuda_host.h"

typedef struct rung_stub_generator *curandGenerator_t;
enum curandStatus_t { CURAND_STATUS_SUCCESS };
typedef curandStatus_t curandStatus;
enum curandRngType_t { CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MTGP32 = 141 };

#define RUNG_STUB_RAND(name)          \
    RUNG_STUB(curandStatus_t, name)   \
    {                                 \
        return CURAND_STATUS_SUCCESS; \
    }
RUNG_STUB_RAND(curandCreateGenerator)
RUNG_STUB_RAND(curandDestroyGenerator)
RUNG_STUB_RAND(curandSetPseudoRandomGeneratorSeed)
RUNG_STUB_RAND(curandGenerateUniform)
RUNG_STUB_RAND(curandGenerateNormal)
#undef RUNG_STUB_RAND
