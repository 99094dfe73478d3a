/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - images are kept packed, as LZ4 blocks: PTX is a fourth of its size then, and the
 * library links no packer. */
#ifndef RUNGI_CUDA_PACK_H
#define RUNGI_CUDA_PACK_H

#include <stdbool.h>
#include <stddef.h>

/* False unless the block is sound and comes to just so many bytes. */
bool rungi_unpack(const unsigned char *packed, size_t packed_bytes, unsigned char *out, size_t bytes);

#endif /* RUNGI_CUDA_PACK_H */
