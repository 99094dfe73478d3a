/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_list.c - stores the tensors of a file and checks what both formats have in common: names, sizes, types, and that
 * tensors are separate. See weights.h. */
#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "weights/weights.h"

/* ---- Sizes ---------------------------------------------------------------------------------------------- */

/* Computes the number of rows: the product of all dimensions but the last. */
static bool multiply_rows(const rungi_weights_entry *entry, int64_t *rows)
{
    *rows = 1;
    for (int64_t i = 0; i + 1 < entry->dimension_count; i++)
        if (!rungi_checked_multiply(*rows, entry->dimensions[i], rows))
            return false;
    return true;
}

static int64_t columns_of(const rungi_weights_entry *entry)
{
    return entry->dimension_count == 0 ? 1 : entry->dimensions[entry->dimension_count - 1];
}

bool rungi_weights_entry_bytes(const rungi_weights_entry *entry, int64_t *bytes)
{
    int64_t rows, elements, bits, block = entry->type.block_elements;
    *bytes = 0;
    if (!multiply_rows(entry, &rows) || !rungi_checked_multiply(rows, columns_of(entry), &elements))
        return false;
    if (block == 0)
        return true;
    if (columns_of(entry) % block != 0 || !rungi_checked_multiply(elements / block, entry->type.block_bits, &bits) ||
        bits % 8 != 0)
        return false;
    *bytes = bits / 8;
    return true;
}

/* ---- Adding --------------------------------------------------------------------------------------------- */

/* A name is a C string, and it may be printed to a terminal. */
static rung_status check_name(const rung_weights *weights, rungi_string_view name)
{
    if (name.length > RUNGI_WEIGHTS_NAME_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has a tensor whose name has %zu bytes; the maximum is %d",
                          weights->path, name.length, RUNGI_WEIGHTS_NAME_MAX);
    for (size_t i = 0; i < name.length; i++)
        if ((unsigned char)name.text[i] < ' ' || name.text[i] == '\x7f')
            return rungi_invalid("%s has a tensor whose name contains control character %d; rename the tensor",
                                 weights->path, name.text[i]);
    return RUNG_OK;
}

static rung_status make_room(rung_weights *weights)
{
    enum { FIRST_CAPACITY = 16 };
    if (weights->count < weights->capacity)
        return RUNG_OK;
    if (weights->count == RUNGI_WEIGHTS_TENSORS_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has more than %d tensors, the maximum", weights->path,
                          RUNGI_WEIGHTS_TENSORS_MAX);
    int64_t capacity = weights->capacity ? 2 * weights->capacity : FIRST_CAPACITY;
    rung_weights_tensor *tensors = realloc(weights->tensors, (size_t)capacity * sizeof *tensors);
    if (!tensors)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the list of tensors of %s", weights->path);
    weights->tensors = tensors;
    weights->capacity = capacity;
    return RUNG_OK;
}

/* Copies the name and the name of the type to one block of memory. */
static rung_status copy_names(const rung_weights *weights, const rungi_weights_entry *entry,
                              rung_weights_tensor *tensor)
{
    size_t length = entry->name.length, type_bytes = strlen(entry->type.name) + 1;
    char *names = malloc(length + 1 + type_bytes);
    if (!names)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the names of the tensors of %s", weights->path);
    memcpy(names, entry->name.text, length);
    names[length] = '\0';
    memcpy(names + length + 1, entry->type.name, type_bytes);
    tensor->name = names;
    tensor->type_name = names + length + 1;
    return RUNG_OK;
}

/* Returns the view of a tensor, or an absent view if rung has no such type or the data are misaligned. */
static rung_matrix view_of(const rungi_weights_entry *entry)
{
    static const rung_matrix absent;
    rung_type type = entry->type.type;
    int64_t rows, size = rung_type_size(type);
    if (type == RUNG_TYPE_NONE || !multiply_rows(entry, &rows))
        return absent;
    if (size == 0) /* GGML's blocks begin with an F16 scale */
        size = (int64_t)sizeof(uint16_t);
    if (entry->data_bytes == 0) /* nothing is at the address, which may be the end of the file */
        return rung_matrix_of(type, rows, columns_of(entry), NULL);
    if ((uintptr_t)entry->data % (uintptr_t)size != 0)
        return absent;
    return rung_matrix_of(type, rows, columns_of(entry), entry->data);
}

rung_status rungi_weights_add(rung_weights *weights, const rungi_weights_entry *entry)
{
    TRY(check_name(weights, entry->name));
    TRY(make_room(weights));
    rung_weights_tensor *tensor = &weights->tensors[weights->count];
    *tensor = (rung_weights_tensor){.dimension_count = entry->dimension_count,
                                    .data = entry->data,
                                    .data_bytes = entry->data_bytes,
                                    .view = view_of(entry)};
    memcpy(tensor->dimensions, entry->dimensions, sizeof tensor->dimensions);
    TRY(copy_names(weights, entry, tensor));
    weights->count++;
    return RUNG_OK;
}

/* ---- Checks of all tensors ------------------------------------------------------------------------------ */

static int compare_names(const void *x, const void *y)
{
    const rung_weights_tensor *const *first = x, *const *second = y;
    return strcmp((*first)->name, (*second)->name);
}

/* Orders tensors by their first byte; at the same place, empty ones first. */
static int compare_places(const void *x, const void *y)
{
    const rung_weights_tensor *first = *(const rung_weights_tensor *const *)x;
    const rung_weights_tensor *second = *(const rung_weights_tensor *const *)y;
    const uint8_t *first_data = first->data, *second_data = second->data;
    if (first_data != second_data)
        return first_data < second_data ? -1 : 1;
    return (first->data_bytes > second->data_bytes) - (first->data_bytes < second->data_bytes);
}

static rung_status check_places(const rung_weights *weights, const uint8_t *data, int64_t bytes)
{
    const uint8_t *end = data;
    for (int64_t i = 0; i < weights->count; i++) {
        const rung_weights_tensor *tensor = weights->by_name[i];
        const uint8_t *first = tensor->data;
        if (end && first < end)
            return rungi_invalid("%s is damaged: the data of tensor %s overlap those of %s", weights->path,
                                 tensor->name, weights->by_name[i - 1]->name);
        if (data && first != end)
            return rungi_invalid("%s is damaged: %lld bytes before the data of tensor %s belong to no tensor",
                                 weights->path, (long long)(first - end), tensor->name);
        end = first + tensor->data_bytes;
    }
    if (data && end != data + bytes)
        return rungi_invalid("%s is damaged: %lld bytes at its end belong to no tensor", weights->path,
                             (long long)(data + bytes - end));
    return RUNG_OK;
}

rung_status rungi_weights_finish(rung_weights *weights, const uint8_t *data, int64_t bytes)
{
    size_t count = (size_t)weights->count;
    weights->by_name = malloc((count + 1) * sizeof *weights->by_name);
    if (!weights->by_name)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the list of tensors of %s", weights->path);
    for (size_t i = 0; i < count; i++)
        weights->by_name[i] = &weights->tensors[i];
    qsort(weights->by_name, count, sizeof *weights->by_name, compare_places);
    TRY(check_places(weights, data, bytes));
    qsort(weights->by_name, count, sizeof *weights->by_name, compare_names);
    for (size_t i = 1; i < count; i++)
        if (compare_names(&weights->by_name[i - 1], &weights->by_name[i]) == 0)
            return rungi_invalid("%s has two tensors with the name %s; names must be unique", weights->path,
                                 weights->by_name[i]->name);
    return RUNG_OK;
}
