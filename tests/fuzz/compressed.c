/* SPDX-License-Identifier: Apache-2.0 */
/* compressed.c - any bytes as LZ4 or Zstandard data. The first byte selects the format, two more the size of the result. The
 * decompressors write the whole result or fail, and read and write nothing else. */
#include "byte_reader.h"

#include "base/lz4.h"
#include "base/zstd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    size_t bytes = (size_t)(data[1] | data[2] << 8), packed = size - 3;
    unsigned char *in = malloc(packed ? packed : 1), *out = malloc(bytes ? bytes : 1),
                  *again = malloc(bytes ? bytes : 1);
    MUST(in && out && again);
    memcpy(in, data + 3, packed);
    memset(out, 0xa5, bytes);
    memset(again, 0x5a, bytes);
    bool (*decompress)(const unsigned char *, size_t, unsigned char *, size_t) = data[0] % 2 ? rungi_zstd_decompress
                                                                                             : rungi_lz4_decompress;
    bool is_valid = decompress(in, packed, out, bytes);
    MUST(decompress(in, packed, again, bytes) == is_valid);
    MUST(!is_valid || memcmp(out, again, bytes) == 0); /* no byte was left as it was */
    free(in);
    free(out);
    free(again);
    return 0;
}
