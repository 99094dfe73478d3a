/* SPDX-License-Identifier: Apache-2.0 */
/* driver_fatbin.c - finds PTX in fat binaries, the containers that nvcc puts into programs.
 *
 * The format is not documented; these facts were read from files that nvcc 13.0 wrote in all its compression modes:
 *
 *   wrapper, in the section .nvFatBinSegment: u32 magic 0x466243b1, u32 version (1, or 2 for code that is linked at run
 *       time), u64 address of the container, u64 address of the names of linked files
 *   container, in the section .nv_fatbin: u32 magic 0xba55ed50, u16 version 1, u16 bytes of this header (16), u64 bytes of
 *       the entries that follow
 *   entry: u16 kind (1 PTX, 2 ELF with SASS), u16 version 0x0101, u32 bytes of the entry's header, u64 bytes of the
 *       contents with padding, u32 bytes of compressed contents or 0, u32 offset of options, u16 minor and u16 major
 *       version, u32 architecture (86 for sm_86), u32 offset and u32 bytes of a name, u64 flags, u64 zero, u64 bytes of the
 *       contents when decompressed. Of the flags, 0x2000 says that the contents are an LZ4 block, 0x8000 a Zstandard frame.
 *
 * All numbers are little-endian. Decompressed PTX ends with a zero byte. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lz4.h"
#include "base/zstd.h"
#include "emulator/driver/driver.h"

enum { ENTRY_PTX = 1, COMPRESSED_LZ4 = 0x2000, COMPRESSED_ZSTD = 0x8000 };
static const uint32_t wrapper_magic = 0x466243b1, container_magic = 0xba55ed50;
static const uint64_t container_bytes_max = (uint64_t)1 << 32, text_bytes_max = (uint64_t)1 << 28;

typedef struct wrapper {
    uint32_t magic, version;
    uint64_t container, names;
} wrapper_t;

typedef struct container {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
} container_t;

typedef struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t compressed_bytes, options;
    uint16_t minor, major;
    uint32_t architecture, name, name_bytes;
    uint64_t flags, zero, text_bytes;
} entry_t;

static uint32_t magic_at(const void *image)
{
    uint32_t magic = 0;
    return module_read_bytes(image, &magic, sizeof magic) ? magic : 0;
}

bool fatbin_is(const void *image)
{
    uint32_t magic = magic_at(image);
    return magic == wrapper_magic || magic == container_magic;
}

/* Returns the container of a wrapper, or the container itself; NULL for other data. */
static const unsigned char *find_container(const void *image, container_t *container)
{
    wrapper_t wrapper;
    if (magic_at(image) == wrapper_magic && module_read_bytes(image, &wrapper, sizeof wrapper))
        image = (const void *)(uintptr_t)wrapper.container;
    bool is_container = image && module_read_bytes(image, container, sizeof *container) &&
                        container->magic == container_magic && container->header_bytes >= sizeof *container &&
                        container->bytes <= container_bytes_max;
    return is_container ? image : NULL;
}

/* Copies or decompresses the contents of an entry. */
static bool unpack(const unsigned char *from, const entry_t *entry, unsigned char *out, size_t size)
{
    if (!(entry->flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD)))
        return module_read_bytes(from, out, size);
    size_t bytes = entry->compressed_bytes;
    unsigned char *packed = malloc(bytes + 1);
    bool is_good = packed && module_read_bytes(from, packed, bytes) &&
                   (entry->flags & COMPRESSED_ZSTD ? rungi_zstd_decompress(packed, bytes, out, size)
                                                   : rungi_lz4_decompress(packed, bytes, out, size));
    free(packed);
    return is_good;
}

/* Returns the text of an entry, which ends with a zero byte. */
static bool read_text(const unsigned char *at, const entry_t *entry, char **text, size_t *bytes)
{
    bool is_compressed = entry->flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD);
    uint64_t size = is_compressed ? entry->text_bytes : entry->bytes;
    if (size == 0 || size > text_bytes_max || entry->compressed_bytes > entry->bytes)
        return false;
    unsigned char *out = malloc((size_t)size + 1);
    if (!out || !unpack(at + entry->header_bytes, entry, out, (size_t)size)) {
        free(out);
        return false;
    }
    out[size] = '\0';
    *text = (char *)out;
    *bytes = strlen(*text);
    return true;
}

/* Returns the PTX entry with the highest architecture that the GPU runs; NULL if every entry is too new. */
static const unsigned char *find_entry(const unsigned char *container, const container_t *header, int architecture,
                                       entry_t *best)
{
    const unsigned char *found = NULL;
    uint64_t at = 0;
    entry_t entry = {0};
    while (header->bytes - at >= sizeof entry) {
        const unsigned char *here = container + header->header_bytes + at;
        uint64_t left = header->bytes - at;
        if (!module_read_bytes(here, &entry, sizeof entry) || entry.header_bytes < sizeof entry ||
            entry.header_bytes > left || entry.bytes > left - entry.header_bytes)
            return NULL;
        bool runs = entry.kind == ENTRY_PTX && entry.architecture <= (uint32_t)architecture;
        if (runs && (!found || entry.architecture > best->architecture)) {
            found = here;
            *best = entry;
        }
        at += entry.header_bytes + entry.bytes;
    }
    return found;
}

CUresult fatbin_find_ptx(const void *image, int architecture, char **text, size_t *bytes, char *reason, size_t capacity)
{
    container_t header;
    entry_t entry = {0};
    const unsigned char *container = find_container(image, &header);
    if (!container) {
        snprintf(reason, capacity, "the fat binary is damaged");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    const unsigned char *found = find_entry(container, &header, architecture, &entry);
    if (!found) {
        snprintf(reason, capacity,
                 "the fat binary has no PTX for sm_%d or older; compile with -gencode arch=compute_%d,code=compute_%d",
                 architecture, architecture, architecture);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (read_text(found, &entry, text, bytes))
        return CUDA_SUCCESS;
    snprintf(reason, capacity, "the PTX of the fat binary cannot be decompressed");
    return CUDA_ERROR_INVALID_IMAGE;
}
