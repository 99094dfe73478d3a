/* SPDX-License-Identifier: Apache-2.0 */
/* driver_fatbin.c - finds the PTX for this GPU in the fat binaries of a program.
 *
 * A program passes a container (base/fat_binary.h) or its wrapper, in the section .nvFatBinSegment: u32 magic 0x466243b1, u32
 * version (1, or 2 for code that is linked at run time), u64 address of the container, u64 address of the names of linked
 * files. */
#include <stdio.h>

#include "base/fat_binary.h"
#include "emulator/driver/driver.h"

static const uint32_t wrapper_magic = 0x466243b1;

typedef struct wrapper {
    uint32_t magic, version;
    uint64_t container, names;
} wrapper_t;

static bool read_memory(const void *image, uint64_t offset, void *out, size_t bytes)
{
    return module_read_bytes((const unsigned char *)image + offset, out, bytes);
}

static uint32_t magic_at(const void *image)
{
    uint32_t magic = 0;
    return module_read_bytes(image, &magic, sizeof magic) ? magic : 0;
}

bool fatbin_is(const void *image)
{
    uint32_t magic = magic_at(image);
    return magic == wrapper_magic || magic == RUNGI_FAT_BINARY_MAGIC;
}

/* Begins to read the container of a wrapper, or the container itself. */
static bool open_container(const void *image, rungi_fat_binary *file)
{
    wrapper_t wrapper;
    if (magic_at(image) == wrapper_magic && module_read_bytes(image, &wrapper, sizeof wrapper))
        image = (const void *)(uintptr_t)wrapper.container;
    return image && rungi_fat_binary_open(file, read_memory, image, 0);
}

/* Finds the PTX entry with the highest architecture that the GPU runs. Its kind is 0 if every entry is too new. Returns false
 * if the container is damaged. */
static bool find_entry(rungi_fat_binary *file, int architecture, rungi_fat_binary_entry *best)
{
    rungi_fat_binary_entry entry;
    rungi_fat_binary_step step;
    *best = (rungi_fat_binary_entry){0};
    while ((step = rungi_fat_binary_next(file, &entry)) == RUNGI_FAT_BINARY_ENTRY)
        if (entry.kind == RUNGI_FAT_BINARY_PTX && entry.architecture <= architecture &&
            (best->kind == 0 || entry.architecture > best->architecture))
            *best = entry;
    return step == RUNGI_FAT_BINARY_END;
}

CUresult fatbin_find_ptx(const void *image, int architecture, char **text, size_t *bytes, char *reason, size_t capacity)
{
    rungi_fat_binary file;
    rungi_fat_binary_entry entry;
    if (!open_container(image, &file) || !find_entry(&file, architecture, &entry)) {
        snprintf(reason, capacity, "the fat binary is damaged");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    if (entry.kind == 0) {
        snprintf(reason, capacity,
                 "the fat binary has no PTX for sm_%d or older; compile with -gencode arch=compute_%d,code=compute_%d",
                 architecture, architecture, architecture);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    if (rungi_fat_binary_text(&file, &entry, text, bytes))
        return CUDA_SUCCESS;
    snprintf(reason, capacity, "the PTX of the fat binary cannot be decompressed");
    return CUDA_ERROR_INVALID_IMAGE;
}
