/* SPDX-License-Identifier: Apache-2.0 */
/* fat_binary.c - any bytes as a fat binary, which programs of `rung emulate` bring along: entries lie in the container, and the
 * text of an entry is complete or missing. */
#include "byte_reader.h"

#include "base/fat_binary.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct image {
    const uint8_t *data;
    size_t size;
} image_t;

static bool read_image(const void *image, uint64_t offset, void *out, size_t bytes)
{
    const image_t *whole = image;
    if (offset > whole->size || bytes > whole->size - offset)
        return false;
    memcpy(out, whole->data + offset, bytes);
    return true;
}

static void read_entry(const rungi_fat_binary *file, const rungi_fat_binary_entry *entry)
{
    char *text;
    size_t bytes;
    /* A container may state that its text has gigabytes: the memory exists only if the packed bytes can be that many. */
    if (!rungi_fat_binary_text(file, entry, &text, &bytes))
        return;
    MUST(text[bytes] == '\0');
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    image_t image = {data, size};
    rungi_fat_binary file;
    rungi_fat_binary_entry entry;
    int count = 0;
    if (!rungi_fat_binary_open(&file, read_image, &image, 0))
        return 0;
    while (rungi_fat_binary_next(&file, &entry) == RUNGI_FAT_BINARY_ENTRY) {
        MUST(entry.offset <= file.end && entry.bytes <= file.end - entry.offset);
        MUST(++count <= (int)size); /* every entry has a header */
        read_entry(&file, &entry);
    }
    return 0;
}
