/* SPDX-License-Identifier: Apache-2.0 */
/* element_type.c - see element_type.h. */
#include "check/element_type.h"

#include <string.h>

#include "base/float16.h"

static const struct {
    const char *name;
    int64_t bytes;
    lab_element_kind kind;
    const char *numpy;
} types[] = {
#define X(name, bytes, kind, numpy) {#name, bytes, kind, numpy},
    LAB_ELEMENT_TYPE_LIST(X)
#undef X
};

const char *lab_element_type_name(lab_element_type type)
{
    return types[type].name;
}

int64_t lab_element_type_bytes(lab_element_type type)
{
    return types[type].bytes;
}

lab_element_kind lab_element_type_kind(lab_element_type type)
{
    return types[type].kind;
}

lab_element_type lab_element_type_find(rungi_string_view name)
{
    int type = 0;
    while (type < LAB_ELEMENT_TYPE_COUNT && !rungi_string_view_equals(name, types[type].name))
        type++;
    return (lab_element_type)type;
}

lab_element_type lab_element_type_of_numpy(const char *name)
{
    int type = 0;
    if (*name != '<' && *name != '|')
        return LAB_ELEMENT_TYPE_COUNT;
    if (strcmp(name + 1, "b1") == 0)
        return LAB_ELEMENT_u8;
    while (type < LAB_ELEMENT_TYPE_COUNT && strcmp(name + 1, types[type].numpy) != 0)
        type++;
    return (lab_element_type)type;
}

/* ---- Elements ---- */

double lab_element_read(lab_element_type type, const void *elements, int64_t index)
{
    const char *at = (const char *)elements + index * types[type].bytes;
    uint16_t half;
    float single;
    double value;
    switch (type) {
    case LAB_ELEMENT_f64: memcpy(&value, at, sizeof value); return value;
    case LAB_ELEMENT_f32: memcpy(&single, at, sizeof single); return single;
    case LAB_ELEMENT_f16: memcpy(&half, at, sizeof half); return rungi_f16_to_f32(half);
    case LAB_ELEMENT_bf16: memcpy(&half, at, sizeof half); return rungi_bf16_to_f32(half);
    case LAB_ELEMENT_u64: return (double)(uint64_t)lab_element_read_integer(type, elements, index);
    default: return (double)lab_element_read_integer(type, elements, index);
    }
}

void lab_element_write(lab_element_type type, void *elements, int64_t index, double value)
{
    char *at = (char *)elements + index * types[type].bytes;
    float single = (float)value;
    uint16_t half;
    switch (type) {
    case LAB_ELEMENT_f64: memcpy(at, &value, sizeof value); break;
    case LAB_ELEMENT_f32: memcpy(at, &single, sizeof single); break;
    case LAB_ELEMENT_f16:
        half = rungi_f16_from_f32(single);
        memcpy(at, &half, sizeof half);
        break;
    case LAB_ELEMENT_bf16:
        half = rungi_bf16_from_f32(single);
        memcpy(at, &half, sizeof half);
        break;
    default: lab_element_write_integer(type, elements, index, value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : 0);
    }
}

/* Bytes are in the order of the machine, which is that of GPUs: the lowest first. */
int64_t lab_element_read_integer(lab_element_type type, const void *elements, int64_t index)
{
    int64_t bytes = types[type].bytes;
    uint64_t value = 0;
    memcpy(&value, (const char *)elements + index * bytes, (size_t)bytes);
    if (types[type].kind == LAB_KIND_SIGNED && bytes < 8 && (value >> (8 * bytes - 1) & 1))
        value |= ~(uint64_t)0 << (8 * bytes);
    return (int64_t)value;
}

void lab_element_write_integer(lab_element_type type, void *elements, int64_t index, int64_t value)
{
    memcpy((char *)elements + index * types[type].bytes, &value, (size_t)types[type].bytes);
}
