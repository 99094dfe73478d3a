/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_types.c - GGUF's list of element types, as ggml.h numbers them: for the reader and the writer. */
#include "weights/weights.h"

#define BITS(bytes) (INT64_C(8) * (bytes))

/* clang-format off */
static const rungi_weights_type types[] = {
    [0]  = {"F32",     1,   32,        RUNG_F32},
    [1]  = {"F16",     1,   16,        RUNG_F16},
    [2]  = {"Q4_0",    32,  BITS(18),  RUNG_Q4_0},
    [3]  = {"Q4_1",    32,  BITS(20),  RUNG_TYPE_NONE},
    [6]  = {"Q5_0",    32,  BITS(22),  RUNG_TYPE_NONE},
    [7]  = {"Q5_1",    32,  BITS(24),  RUNG_TYPE_NONE},
    [8]  = {"Q8_0",    32,  BITS(34),  RUNG_Q8_0},
    [10] = {"Q2_K",    256, BITS(84),  RUNG_TYPE_NONE},
    [11] = {"Q3_K",    256, BITS(110), RUNG_TYPE_NONE},
    [12] = {"Q4_K",    256, BITS(144), RUNG_TYPE_NONE},
    [13] = {"Q5_K",    256, BITS(176), RUNG_TYPE_NONE},
    [14] = {"Q6_K",    256, BITS(210), RUNG_TYPE_NONE},
    [15] = {"Q8_K",    256, BITS(292), RUNG_TYPE_NONE},
    [16] = {"IQ2_XXS", 256, BITS(66),  RUNG_TYPE_NONE},
    [17] = {"IQ2_XS",  256, BITS(74),  RUNG_TYPE_NONE},
    [18] = {"IQ3_XXS", 256, BITS(98),  RUNG_TYPE_NONE},
    [19] = {"IQ1_S",   256, BITS(50),  RUNG_TYPE_NONE},
    [20] = {"IQ4_NL",  32,  BITS(18),  RUNG_TYPE_NONE},
    [21] = {"IQ3_S",   256, BITS(110), RUNG_TYPE_NONE},
    [22] = {"IQ2_S",   256, BITS(82),  RUNG_TYPE_NONE},
    [23] = {"IQ4_XS",  256, BITS(136), RUNG_TYPE_NONE},
    [24] = {"I8",      1,   8,         RUNG_I8},
    [25] = {"I16",     1,   16,        RUNG_TYPE_NONE},
    [26] = {"I32",     1,   32,        RUNG_I32},
    [27] = {"I64",     1,   64,        RUNG_TYPE_NONE},
    [28] = {"F64",     1,   64,        RUNG_F64},
    [29] = {"IQ1_M",   256, BITS(56),  RUNG_TYPE_NONE},
    [30] = {"BF16",    1,   16,        RUNG_BF16},
    [34] = {"TQ1_0",   256, BITS(54),  RUNG_TYPE_NONE},
    [35] = {"TQ2_0",   256, BITS(66),  RUNG_TYPE_NONE},
    [39] = {"MXFP4",   32,  BITS(17),  RUNG_TYPE_NONE},
    [40] = {"NVFP4",   64,  BITS(36),  RUNG_TYPE_NONE},
    [41] = {"Q1_0",    128, BITS(18),  RUNG_TYPE_NONE},
};
/* clang-format on */

enum { TYPES = sizeof types / sizeof *types };

const rungi_weights_type *rungi_gguf_type_at(uint32_t index)
{
    return index < TYPES && types[index].name ? &types[index] : NULL;
}

bool rungi_gguf_type_find(rung_type type, uint32_t *index)
{
    for (*index = 0; *index < TYPES; ++*index)
        if (type != RUNG_TYPE_NONE && types[*index].type == type)
            return true;
    return false;
}
