/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - see npy.h. */
#include "outofcore/npy.h"

#include <string.h>

/* NumPy's names of the types. NumPy has no BF16 and saves it as "V2", two bytes without a type. */
static const struct {
    const char *name;
    rung_type type;
} names[] = {
    {"<f4", RUNG_F32}, {"<f8", RUNG_F64}, {"<f2", RUNG_F16},  {"|i1", RUNG_I8},
    {"<i1", RUNG_I8},  {"<i4", RUNG_I32}, {"<V2", RUNG_BF16}, {"|V2", RUNG_BF16},
};

enum { NAMES = sizeof names / sizeof *names };

static const char *find_type(const char *name, rung_type expected_type, rung_type *type)
{
    int i = 0;
    while (i < NAMES && strcmp(names[i].name, name) != 0)
        i++;
    if (i == NAMES && name[0] == '>')
        return "is big-endian; convert it, for example with array.astype('<f4')";
    if (i == NAMES)
        return "has elements of an unsupported type; save it as f4, f8, f2, i1 or i4";
    *type = names[i].type;
    if (expected_type == RUNG_TYPE_NONE && *type == RUNG_BF16)
        return "has two-byte elements without a type; if they are bf16, set the type";
    if (expected_type != RUNG_TYPE_NONE && expected_type != *type)
        return "has elements of another type than the requested one";
    return NULL;
}

/* ---- The start of the file ------------------------------------------------------------------------- */

const char *rungi_npy_parse(const char *bytes, int64_t count, rung_type expected_type, rungi_npy *npy)
{
    rungi_npy_header header;
    const char *error = rungi_npy_header_parse(bytes, count, &header);
    if (error)
        return error;
    if (header.dimensions != 2)
        return "does not have two dimensions; save array.reshape(rows, columns)";
    npy->rows = header.sizes[0];
    npy->cols = header.sizes[1];
    npy->is_column_major = header.is_column_major;
    npy->data_offset = header.data_offset;
    return find_type(header.type, expected_type, &npy->type);
}

void rungi_npy_write(rung_type type, int64_t rows, int64_t cols, char header[RUNGI_NPY_HEADER_BYTES])
{
    int i = 0;
    while (names[i].type != type)
        i++;
    rungi_npy_header_write(names[i].name, rows, cols, header);
}
