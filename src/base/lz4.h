/* SPDX-License-Identifier: Apache-2.0 */
/* lz4.h - decompresses embedded images. LZ4 reduces PTX to a quarter of its size, and the decompressor is small enough
 * to need no library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns false unless the block is valid and decompresses to exactly `bytes` bytes. */
bool rungi_lz4_decompress(const unsigned char *packed, size_t packed_bytes, unsigned char *out, size_t bytes);
