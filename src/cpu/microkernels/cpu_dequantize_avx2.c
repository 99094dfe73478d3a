/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_dequantize_avx2.c - cpu_dequantize_body.h, compiled for AVX2. */
#define DEQUANTIZE_FUNCTIONS rungi_cpu_dequantize_avx2
#include "cpu/microkernels/cpu_dequantize_body.h"
