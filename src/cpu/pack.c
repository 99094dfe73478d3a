/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - moves blocks of matrices to where a kernel reads them: copied, turned, widened. */
#include "cpu/pack.h"

#include "core/convert.h"

#include <string.h>

/* Any types and strides, an element at a time. */
static void pack_row(const rungi_pack *pack, int64_t i)
{
    int64_t first = i * pack->row_stride, stride = pack->col_stride, cols = pack->cols, place = i * pack->to_row;
#define EACH(in_type, out_type, widen) \
    for (int64_t j = 0; j < cols; j++) \
        ((out_type *)pack->to)[place + j] = (out_type)widen(((const in_type *)pack->from)[first + j * stride]);
    switch (pack->in) {
    case RUNG_F32: EACH(float, float, ) break;
    case RUNG_F64: EACH(double, double, ) break;
    case RUNG_F16: EACH(uint16_t, float, rungi_f16_to_f32) break;
    case RUNG_BF16: EACH(uint16_t, float, rungi_bf16_to_f32) break;
    case RUNG_I8: EACH(int8_t, uint32_t, (int32_t)) break;
    case RUNG_I32: EACH(uint32_t, uint32_t, ) break;
    default: break;
    }
#undef EACH
}

static bool is_wide(rung_type in)
{
    return in == RUNG_F32 || in == RUNG_F64 || in == RUNG_I32;
}

#if defined(__x86_64__)
/* True if it is done. */
static bool pack_by_vectors(rungi_isa isa, const rungi_pack *pack)
{
    bool is_half = pack->in == RUNG_F16 || pack->in == RUNG_BF16;
    if (isa < RUNGI_ISA_AVX512)
        return false;
    if (is_wide(pack->in) && pack->row_stride == 1) {
        rungi_turn_avx512(rung_type_size(pack->in), pack);
        return true;
    }
    for (int64_t i = 0; is_half && pack->col_stride == 1 && i < pack->rows; i++)
        rungi_widen_avx512(pack->in, (const uint16_t *)pack->from + i * pack->row_stride, pack->cols,
                           (float *)pack->to + i * pack->to_row);
    return is_half && pack->col_stride == 1;
}
#else
static bool pack_by_vectors(rungi_isa isa, const rungi_pack *pack)
{
    (void)isa;
    (void)pack;
    return false;
}
#endif

void rungi_cpu_pack(rungi_isa isa, const rungi_pack *pack)
{
    int64_t size = rung_type_size(pack->in);
    bool is_copy = is_wide(pack->in) && pack->col_stride == 1;
    if (!is_copy && pack_by_vectors(isa, pack))
        return;
    for (int64_t i = 0; i < pack->rows; i++)
        if (is_copy)
            memcpy((char *)pack->to + i * pack->to_row * size, (const char *)pack->from + i * pack->row_stride * size,
                   (size_t)(pack->cols * size));
        else
            pack_row(pack, i);
}
