/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pack.c - see cpu_pack.h. */
#include "cpu/microkernels/cpu_pack.h"

#include <string.h>

#include "base/float16.h"
#include "base/ggml_blocks.h"
#include "core/matrix.h"

/* Converts one row element by element, for any type and stride. */
static void pack_row(const rungi_cpu_pack_args *pack, int64_t i)
{
    int64_t first = i * pack->row_stride, stride = pack->col_stride, cols = pack->cols,
            offset = i * pack->to_row_stride;
#define CONVERT_ROW(in_type, out_type, widen) \
    for (int64_t j = 0; j < cols; j++)        \
        ((out_type *)pack->to)[offset + j] = (out_type)widen(((const in_type *)pack->from)[first + j * stride]);
    switch (pack->in) {
    case RUNG_F32: CONVERT_ROW(float, float, ) break;
    case RUNG_F64: CONVERT_ROW(double, double, ) break;
    case RUNG_F16: CONVERT_ROW(uint16_t, float, rungi_f16_to_f32) break;
    case RUNG_BF16: CONVERT_ROW(uint16_t, float, rungi_bf16_to_f32) break;
    case RUNG_I8: CONVERT_ROW(int8_t, uint32_t, (int32_t)) break;
    case RUNG_I32: CONVERT_ROW(uint32_t, uint32_t, ) break;
    default: break;
    }
#undef CONVERT_ROW
}

/* Dequantizes one block, which lies along the rows of column j. */
static void dequantize_block(const rungi_cpu_pack_args *pack, int64_t i, int64_t j)
{
    const char *block = (const char *)pack->from + rungi_type_bytes(pack->in, i + j * pack->col_stride);
    float values[RUNGI_GGML_BLOCK_ELEMENTS], *to = (float *)pack->to + i * pack->to_row_stride + j;
    if (pack->in == RUNG_Q8_0)
        rungi_q8_0_dequantize((const void *)block, values);
    else
        rungi_q4_0_dequantize((const void *)block, values);
    for (int64_t e = 0; e < RUNGI_GGML_BLOCK_ELEMENTS; e++)
        to[e * pack->to_row_stride] = values[e];
}

static void dequantize(const rungi_cpu_pack_args *pack)
{
    for (int64_t j = 0; j < pack->cols; j++)
        for (int64_t i = 0; i < pack->rows; i += RUNGI_GGML_BLOCK_ELEMENTS)
            dequantize_block(pack, i, j);
}

void rungi_cpu_pack(rungi_isa isa, const rungi_cpu_pack_args *pack)
{
    int64_t size = rung_type_size(pack->in);
    bool is_copy = rungi_is_accumulator_type(pack->in) && pack->col_stride == 1;
#if defined(__x86_64__)
    if (!is_copy && isa >= RUNGI_ISA_AVX512 && rungi_cpu_try_pack_avx512(pack))
        return;
#else
    (void)isa;
#endif
    if (rungi_type_has_scales(pack->in)) {
        dequantize(pack);
        return;
    }
    for (int64_t i = 0; i < pack->rows; i++)
        if (is_copy)
            memcpy((char *)pack->to + i * pack->to_row_stride * size,
                   (const char *)pack->from + i * pack->row_stride * size, (size_t)(pack->cols * size));
        else
            pack_row(pack, i);
}
