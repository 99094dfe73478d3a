/* SPDX-License-Identifier: Apache-2.0 */
/* fat_binary.c - reads containers, their entries and the text of PTX.
 *
 * The format is not documented; these facts were read from files that nvcc 13.0 wrote in all its compression modes:
 *
 *   container, in the section .nv_fatbin: u32 magic 0xba55ed50, u16 version 1, u16 bytes of this header (16), u64 bytes of
 *       the entries that follow. Containers are aligned to 8 bytes
 *   entry: u16 kind (1 PTX, 2 ELF with SASS), u16 version 0x0101, u32 bytes of the entry's header, u64 bytes of the
 *       contents with padding, u32 bytes of compressed contents or 0, u32 offset of options, u16 minor and u16 major
 *       version, u32 architecture (86 for sm_86), u32 offset and u32 bytes of a name, u64 flags, u64 zero, u64 bytes of the
 *       contents when decompressed. Of the flags, 0x2000 says that the contents are an LZ4 block, 0x8000 a Zstandard frame.
 *
 * All numbers are little-endian. Decompressed PTX ends with a zero byte. */
#include "base/fat_binary.h"

#include <stdlib.h>
#include <string.h>

#include "base/lz4.h"
#include "base/zstd.h"

enum { COMPRESSED_LZ4 = 0x2000, COMPRESSED_ZSTD = 0x8000 };
static const uint64_t container_bytes_max = (uint64_t)1 << 32, text_bytes_max = (uint64_t)1 << 28;

typedef struct container {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
} container_t;

typedef struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t packed_bytes, options;
    uint16_t minor, major;
    uint32_t architecture, name, name_bytes;
    uint64_t flags, zero, text_bytes;
} entry_t;

_Static_assert(sizeof(container_t) == 16 && sizeof(entry_t) == 64, "as in the file");

bool rungi_fat_binary_open(rungi_fat_binary *file, rungi_fat_binary_read *read_bytes, const void *image,
                           uint64_t offset)
{
    container_t header;
    if (offset > UINT64_MAX / 2 || !read_bytes(image, offset, &header, sizeof header) ||
        header.magic != RUNGI_FAT_BINARY_MAGIC || header.header_bytes < sizeof header ||
        header.bytes > container_bytes_max)
        return false;
    uint64_t at = offset + header.header_bytes;
    *file = (rungi_fat_binary){read_bytes, image, at, at + header.bytes};
    return true;
}

rungi_fat_binary_step rungi_fat_binary_next(rungi_fat_binary *file, rungi_fat_binary_entry *entry)
{
    entry_t header;
    uint64_t left = file->end - file->at;
    if (left < sizeof header)
        return RUNGI_FAT_BINARY_END;
    if (!file->read(file->image, file->at, &header, sizeof header) || header.header_bytes < sizeof header ||
        header.header_bytes > left || header.bytes > left - header.header_bytes || header.packed_bytes > header.bytes ||
        header.architecture > INT32_MAX)
        return RUNGI_FAT_BINARY_DAMAGED;
    *entry = (rungi_fat_binary_entry){.kind = header.kind,
                                      .architecture = (int)header.architecture,
                                      .offset = file->at + header.header_bytes,
                                      .bytes = header.bytes,
                                      .flags = header.flags,
                                      .packed_bytes = header.packed_bytes,
                                      .text_bytes = header.text_bytes};
    file->at = entry->offset + entry->bytes;
    return RUNGI_FAT_BINARY_ENTRY;
}

static bool is_compressed(const rungi_fat_binary_entry *entry)
{
    return entry->flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD);
}

static bool decompress(const rungi_fat_binary *file, const rungi_fat_binary_entry *entry, unsigned char *out,
                       size_t size)
{
    size_t bytes = (size_t)entry->packed_bytes;
    unsigned char *packed = malloc(bytes + 1);
    bool is_good = packed && file->read(file->image, entry->offset, packed, bytes) &&
                   (entry->flags & COMPRESSED_ZSTD ? rungi_zstd_decompress(packed, bytes, out, size)
                                                   : rungi_lz4_decompress(packed, bytes, out, size));
    free(packed);
    return is_good;
}

bool rungi_fat_binary_text(const rungi_fat_binary *file, const rungi_fat_binary_entry *entry, char **text,
                           size_t *bytes)
{
    uint64_t size = is_compressed(entry) ? entry->text_bytes : entry->bytes;
    if (size == 0 || size > text_bytes_max || entry->packed_bytes > entry->bytes)
        return false;
    unsigned char *out = malloc((size_t)size + 1);
    bool is_good = out && (is_compressed(entry) ? decompress(file, entry, out, (size_t)size)
                                                : file->read(file->image, entry->offset, out, (size_t)size));
    if (!is_good) {
        free(out);
        return false;
    }
    out[size] = '\0';
    *text = (char *)out;
    *bytes = strlen(*text);
    return true;
}
