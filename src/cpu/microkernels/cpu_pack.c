/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pack.c - see cpu_pack.h. */
#include "cpu/microkernels/cpu_pack.h"

#include "core/float16.h"

#include <string.h>

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

static bool is_accumulator_type(rung_type in)
{
    return in == RUNG_F32 || in == RUNG_F64 || in == RUNG_I32;
}

#if defined(__x86_64__)
/* Returns false if there is no AVX-512 version for the block. */
static bool try_pack_avx512(rungi_isa isa, const rungi_cpu_pack_args *pack)
{
    bool is_half = pack->in == RUNG_F16 || pack->in == RUNG_BF16;
    if (isa < RUNGI_ISA_AVX512)
        return false;
    if (is_accumulator_type(pack->in) && pack->row_stride == 1) {
        rungi_cpu_transpose_avx512(rung_type_size(pack->in), pack);
        return true;
    }
    for (int64_t i = 0; is_half && pack->col_stride == 1 && i < pack->rows; i++)
        rungi_cpu_widen_avx512(pack->in, (const uint16_t *)pack->from + i * pack->row_stride, pack->cols,
                               (float *)pack->to + i * pack->to_row_stride);
    return is_half && pack->col_stride == 1;
}
#else
static bool try_pack_avx512(rungi_isa isa, const rungi_cpu_pack_args *pack)
{
    (void)isa;
    (void)pack;
    return false;
}
#endif

void rungi_cpu_pack(rungi_isa isa, const rungi_cpu_pack_args *pack)
{
    int64_t size = rung_type_size(pack->in);
    bool is_copy = is_accumulator_type(pack->in) && pack->col_stride == 1;
    if (!is_copy && try_pack_avx512(isa, pack))
        return;
    for (int64_t i = 0; i < pack->rows; i++)
        if (is_copy)
            memcpy((char *)pack->to + i * pack->to_row_stride * size,
                   (const char *)pack->from + i * pack->row_stride * size, (size_t)(pack->cols * size));
        else
            pack_row(pack, i);
}
