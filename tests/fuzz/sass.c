/* SPDX-License-Identifier: Apache-2.0 */
/* sass.c - any bytes as the output of nvdisasm: refused with a reason, or counts that are not negative. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
#include "byte_reader.h"

#include "explain/sass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_sass code;
    char why[512] = "";
    if (size == 0)
        return 0;
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
    MUST(in);
    if (lab_sass_parse(in, "gemm", &code, why, sizeof why)) {
        lab_sass_free(&code);
    } else {
        MUST(strlen(why) > 5);
    }
    fclose(in);
    return 0;
}
