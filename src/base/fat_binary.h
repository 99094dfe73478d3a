/* SPDX-License-Identifier: Apache-2.0 */
/* fat_binary.h - reads fat binaries, the containers in which nvcc puts PTX and machine code into programs. The emulated driver
 * reads them from the memory of the program, and `rung emulate` from its file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first four bytes of a container. */
#define RUNGI_FAT_BINARY_MAGIC UINT32_C(0xba55ed50)

/* Kinds of entries. There may be others. */
enum { RUNGI_FAT_BINARY_PTX = 1, RUNGI_FAT_BINARY_ELF = 2 };

/* Copies bytes at an offset of the image. Returns false if the image does not have them. */
typedef bool rungi_fat_binary_read(const void *image, uint64_t offset, void *out, size_t bytes);

typedef struct rungi_fat_binary {
    rungi_fat_binary_read *read;
    const void *image;
    uint64_t at, end; /* offsets of the next entry and behind the container */
} rungi_fat_binary;

typedef struct rungi_fat_binary_entry {
    int kind, architecture; /* 86 for sm_86 */
    uint64_t offset, bytes; /* of the contents, in the image */
    uint64_t flags, packed_bytes, text_bytes;
} rungi_fat_binary_entry;

typedef enum rungi_fat_binary_step {
    RUNGI_FAT_BINARY_ENTRY,
    RUNGI_FAT_BINARY_END,
    RUNGI_FAT_BINARY_DAMAGED
} rungi_fat_binary_step;

/* Begins to read the container at an offset. Returns false if no container begins there. */
bool rungi_fat_binary_open(rungi_fat_binary *file, rungi_fat_binary_read *read_bytes, const void *image,
                           uint64_t offset);

/* Reads the next entry. No entry extends behind the end of the container. */
rungi_fat_binary_step rungi_fat_binary_next(rungi_fat_binary *file, rungi_fat_binary_entry *entry);

/* Copies or decompresses the contents of an entry of PTX. The text ends with a zero byte, which `bytes` does not count; the
 * caller frees it. Returns false if the contents are damaged or memory is short. */
bool rungi_fat_binary_text(const rungi_fat_binary *file, const rungi_fat_binary_entry *entry, char **text,
                           size_t *bytes);
