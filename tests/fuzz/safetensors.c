/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - any bytes as a safetensors file; see weights_check.h. A changed header rarely has the size that the first
 * eight bytes say, so the bytes are also read with the size that ends the header at its last brace. */
#include "weights_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_BYTES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_weights(data, size);
    size_t end = size;
    while (end > SIZE_BYTES && data[end - 1] != '}')
        end--;
    uint8_t *copy = size > SIZE_BYTES ? malloc(size) : NULL;
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    for (int i = 0; i < SIZE_BYTES; i++)
        copy[i] = (uint8_t)((uint64_t)(end - SIZE_BYTES) >> 8 * i);
    check_weights(copy, size);
    free(copy);
    return 0;
}
