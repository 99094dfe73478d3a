/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c - any bytes as a GGUF file; see weights_check.h. */
#include "weights_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_weights(data, size);
    return 0;
}
