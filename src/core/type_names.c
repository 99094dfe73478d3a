/* SPDX-License-Identifier: Apache-2.0 */
/* type_names.c - the names of element types, compute modes, engines and activations, in messages, files and command
 * lines. */
#include "core/enum_counts.h"
#include "rung/rung.h"

/* Returns the name at an index, or "?" outside the list. */
static const char *name_or_unknown(const char *const *names, int count, int index)
{
    return index >= 0 && index < count ? names[index] : "?";
}

const char *rung_type_name(rung_type type)
{
    static const char *const names[RUNGI_TYPE_COUNT] = {
        [RUNG_TYPE_NONE] = "none", [RUNG_F32] = "f32",   [RUNG_F64] = "f64",       [RUNG_F16] = "f16",
        [RUNG_BF16] = "bf16",      [RUNG_I8] = "i8",     [RUNG_I32] = "i32",       [RUNG_U8] = "u8",
        [RUNG_I4] = "i4",          [RUNG_U4] = "u4",     [RUNG_F8E4M3] = "f8e4m3", [RUNG_F8E5M2] = "f8e5m2",
        [RUNG_F4E2M1] = "f4e2m1",  [RUNG_E8M0] = "e8m0", [RUNG_Q8_0] = "q8_0",     [RUNG_Q4_0] = "q4_0",
    };
    return name_or_unknown(names, RUNGI_TYPE_COUNT, (int)type);
}

const char *rung_compute_name(rung_compute compute)
{
    static const char *const names[RUNGI_COMPUTE_COUNT] = {
        [RUNG_COMPUTE_STRICT] = "strict", [RUNG_COMPUTE_BF16X3] = "bf16x3", [RUNG_COMPUTE_TF32] = "tf32",
        [RUNG_COMPUTE_BF16X1] = "bf16x1", [RUNG_COMPUTE_TF32X3] = "tf32x3", [RUNG_COMPUTE_Q8] = "q8",
    };
    return name_or_unknown(names, RUNGI_COMPUTE_COUNT, (int)compute);
}

int rungi_compute_find(rungi_string_view name)
{
    int compute = 0;
    while (compute < RUNGI_COMPUTE_COUNT && !rungi_string_view_equals(name, rung_compute_name((rung_compute)compute)))
        compute++;
    return compute;
}

bool rungi_compute_is_as_precise(rung_compute mode, rung_compute requested)
{
    /* By precision, 1 is the most precise mode. The values of rung_compute are not in this order, because later versions
     * append modes. */
    static const int ranks[] = {
        [RUNG_COMPUTE_STRICT] = 1, [RUNG_COMPUTE_BF16X3] = 2, [RUNG_COMPUTE_TF32X3] = 3,
        [RUNG_COMPUTE_TF32] = 4,   [RUNG_COMPUTE_BF16X1] = 5, [RUNG_COMPUTE_Q8] = 6,
    };
    _Static_assert(sizeof ranks / sizeof *ranks == RUNGI_COMPUTE_COUNT, "every compute mode has a rank");
    return (unsigned)mode < RUNGI_COMPUTE_COUNT && (unsigned)requested < RUNGI_COMPUTE_COUNT &&
           ranks[mode] <= ranks[requested];
}

const char *rung_engine_name(rung_engine engine)
{
    static const char *const names[RUNGI_ENGINE_COUNT] = {
        [RUNG_ENGINE_NONE] = "none",
        [RUNG_ENGINE_HARDWARE] = "hardware",
        [RUNG_ENGINE_EMULATED] = "software",
    };
    return name_or_unknown(names, RUNGI_ENGINE_COUNT, (int)engine);
}

const char *rung_activation_name(rung_activation activation)
{
    static const char *const names[RUNGI_ACTIVATION_COUNT] = {
        [RUNG_ACTIVATION_NONE] = "none",           [RUNG_ACTIVATION_RELU] = "relu", [RUNG_ACTIVATION_GELU] = "gelu",
        [RUNG_ACTIVATION_GELU_TANH] = "gelu_tanh", [RUNG_ACTIVATION_SILU] = "silu",
    };
    return name_or_unknown(names, RUNGI_ACTIVATION_COUNT, (int)activation);
}
