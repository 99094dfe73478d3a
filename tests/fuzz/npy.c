/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - any bytes as the beginning of an .npy file: what is taken makes sense, and what is not has its reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outofcore/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "not: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > RUNGI_NPY_HEADER_MAX_BYTES)
        return 0;
    for (int as = RUNG_TYPE_NONE; as <= RUNG_U8; as++) {
        rungi_npy npy;
        const char *wrong = rungi_npy_parse((const char *)data, (int64_t)size, (rung_type)as, &npy);
        if (wrong) {
            must(strlen(wrong) > 10, "a reason");
            continue;
        }
        must(npy.rows >= 0 && npy.cols >= 0, "sizes");
        must(npy.data_offset >= 10 && npy.data_offset <= (int64_t)size, "a start within the bytes");
        must(as == RUNG_TYPE_NONE ? npy.type != RUNG_BF16 : (int)npy.type == as, "the type that was asked for");
    }
    return 0;
}
