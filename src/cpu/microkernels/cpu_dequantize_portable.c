/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_dequantize_portable.c - cpu_dequantize_body.h, compiled for any processor. */
#define DEQUANTIZE_FUNCTIONS rungi_cpu_dequantize_portable
#include "cpu/microkernels/cpu_dequantize_body.h"
