/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_dequantize_avx512.c - cpu_dequantize_body.h, compiled for AVX-512. */
#define DEQUANTIZE_FUNCTIONS rungi_cpu_dequantize_avx512
#include "cpu/microkernels/cpu_dequantize_body.h"
