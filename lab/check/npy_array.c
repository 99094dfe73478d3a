/* SPDX-License-Identifier: Apache-2.0 */
/* npy_array.c - see npy_array.h. */
#define _POSIX_C_SOURCE 200809L
#include "check/npy_array.h"

#include <stdlib.h>

#include "base/checked_arithmetic.h"
#include "base/npy_header.h"
#include "common/failure.h"
#include "io/input_file.h"

/* Computes the number of elements. Returns NULL, or what is wrong with the header. */
static const char *count_elements(const rungi_npy_header *header, int64_t *count)
{
    *count = 1;
    if (header->dimensions > RUNGI_NPY_DIMENSIONS_MAX)
        return "has more than 8 dimensions";
    for (int i = 0; i < header->dimensions; i++)
        if (!rungi_checked_multiply(*count, header->sizes[i], count))
            return "has more elements than 64 bits count";
    if (header->is_column_major && header->dimensions > 1)
        return "is in Fortran order; save numpy.ascontiguousarray(x)";
    return NULL;
}

/* Reads the header. Returns NULL, or what is wrong. */
static const char *read_header(lab_npy_array *array)
{
    rungi_npy_header header;
    char *bytes = malloc(RUNGI_NPY_HEADER_MAX_BYTES);
    if (!bytes)
        return "does not fit the memory";
    int64_t length = (int64_t)fread(bytes, 1, RUNGI_NPY_HEADER_MAX_BYTES, array->file), end = 0;
    const char *wrong = rungi_npy_header_parse(bytes, length, &header);
    free(bytes);
    if (!wrong)
        wrong = count_elements(&header, &array->count);
    if (wrong)
        return wrong;
    array->type = lab_element_type_of_numpy(header.type);
    if (array->type == LAB_ELEMENT_TYPE_COUNT)
        return "has elements of an unsupported type; save a little-endian array of floats or integers";
    if (!rungi_checked_multiply(array->count, lab_element_type_bytes(array->type), &end) ||
        !rungi_checked_add(end, header.data_offset, &end) || fseeko(array->file, 0, SEEK_END) != 0 ||
        ftello(array->file) < end)
        return "is shorter than its header says";
    return fseeko(array->file, header.data_offset, SEEK_SET) == 0 ? NULL : "cannot be read";
}

bool lab_npy_array_open(const char *path, lab_npy_array *array, char *why, size_t capacity)
{
    char reason[256];
    *array = (lab_npy_array){.file = lab_file_open(path, INT64_MAX, reason, sizeof reason)};
    if (!array->file)
        return lab_set_reason(why, capacity, "%s: %s", path, reason);
    const char *wrong = read_header(array);
    return !wrong || lab_set_reason(why, capacity, "%s %s", path, wrong);
}

void lab_npy_array_close(lab_npy_array *array)
{
    if (array->file)
        fclose(array->file);
    array->file = NULL;
}
