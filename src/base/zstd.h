/* SPDX-License-Identifier: Apache-2.0 */
/* zstd.h - decompresses Zstandard frames (RFC 8878), which nvcc puts into fat binaries, without a library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns false unless the input is one valid frame, without a dictionary, that decompresses to exactly `bytes` bytes.
 * The checksum of the frame is not verified. */
bool rungi_zstd_decompress(const unsigned char *packed, size_t packed_bytes, unsigned char *out, size_t bytes);
