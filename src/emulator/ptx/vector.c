/* SPDX-License-Identifier: Apache-2.0 */
/* vector.c - see vector.h. */
#include "emulator/ptx/vector.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void *rungi_ptx_grow(void *array, int64_t needed, int64_t *capacity, size_t size)
{
    if (needed <= *capacity)
        return array;
    int64_t larger = *capacity > INT64_MAX / 4 ? INT64_MAX / 2 : 2 * *capacity;
    larger = larger < needed ? needed : larger < 16 ? 16 : larger;
    void *grown = (uint64_t)larger <= SIZE_MAX / size ? realloc(array, (size_t)larger * size) : NULL;
    if (grown)
        *capacity = larger;
    return grown;
}

void *rungi_ptx_vector_append(ptx_vector_t *vector, size_t size, int32_t count)
{
    if (count > INT32_MAX - vector->count) {
        rungi_fail(RUNG_STATUS_NO_MEMORY, "the module is too large");
        return NULL;
    }
    void *data = rungi_ptx_grow(vector->data, (int64_t)vector->count + count, &vector->capacity, size);
    if (!data) {
        rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a PTX module");
        return NULL;
    }
    vector->data = data;
    void *added = (char *)data + (size_t)vector->count * size;
    memset(added, 0, (size_t)count * size);
    vector->count += count;
    return added;
}
