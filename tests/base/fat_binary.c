/* SPDX-License-Identifier: Apache-2.0 */
/* fat_binary.c - the reader of fat binaries: containers as nvcc writes them, cut at every byte, and with damaged fields. */
#include "base/fat_binary.h"

#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

enum { CONTAINER = 16, ENTRY = 64, IMAGE_BYTES = 512, ENTRIES = 3, LZ4 = 0x2000 };

typedef struct image {
    unsigned char bytes[IMAGE_BYTES];
    size_t size;
} image_t;

static bool read_image(const void *from, uint64_t offset, void *out, size_t bytes)
{
    const image_t *image = from;
    if (offset > image->size || bytes > image->size - offset)
        return false;
    memcpy(out, image->bytes + offset, bytes);
    return true;
}

static void put(image_t *image, size_t at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        image->bytes[at + (size_t)i] = (unsigned char)(value >> 8 * i);
}

/* Appends an entry. Compressed contents have their decompressed size. */
static void add_entry(image_t *image, int kind, int architecture, const void *contents, size_t bytes, size_t text_bytes)
{
    size_t at = image->size, padded = (bytes + 7) / 8 * 8;
    put(image, at, (uint64_t)kind, 2);
    put(image, at + 4, ENTRY, 4);
    put(image, at + 8, padded, 8);
    put(image, at + 16, text_bytes ? bytes : 0, 4);
    put(image, at + 28, (uint64_t)architecture, 4);
    put(image, at + 40, text_bytes ? LZ4 : 0, 8);
    put(image, at + 56, text_bytes, 8);
    memcpy(image->bytes + at + ENTRY, contents, bytes);
    image->size += ENTRY + padded;
}

static const char plain[] = ".version 8.0 of sm_75", packed[] = "\x60zzzzz\0"; /* LZ4: six literals */

/* A container with machine code, PTX, and compressed PTX. */
static image_t make_image(void)
{
    image_t image = {.size = CONTAINER};
    add_entry(&image, RUNGI_FAT_BINARY_ELF, 90,
              "\x7f"
              "ELF",
              4, 0);
    add_entry(&image, RUNGI_FAT_BINARY_PTX, 75, plain, sizeof plain, 0);
    add_entry(&image, RUNGI_FAT_BINARY_PTX, 86, packed, sizeof packed - 1, 6);
    put(&image, 0, RUNGI_FAT_BINARY_MAGIC, 4);
    put(&image, 6, CONTAINER, 2);
    put(&image, 8, image.size - CONTAINER, 8);
    return image;
}

/* Reads everything. Returns how many entries are whole: their headers are valid, and so is their text if they are PTX. */
static int whole_entries(const image_t *image)
{
    rungi_fat_binary file;
    rungi_fat_binary_entry entry;
    int count = 0;
    if (!rungi_fat_binary_open(&file, read_image, image, 0))
        return -1;
    while (rungi_fat_binary_next(&file, &entry) == RUNGI_FAT_BINARY_ENTRY) {
        char *text;
        size_t bytes;
        bool is_whole = entry.kind == RUNGI_FAT_BINARY_ELF;
        if (entry.kind == RUNGI_FAT_BINARY_PTX && rungi_fat_binary_text(&file, &entry, &text, &bytes)) {
            is_whole = strcmp(text, entry.architecture == 75 ? plain : "zzzzz") == 0 && bytes == strlen(text);
            free(text);
        }
        count += is_whole;
    }
    return count;
}

static void entries(void **state)
{
    (void)state;
    image_t image = make_image();
    rungi_fat_binary file;
    rungi_fat_binary_entry entry;
    const int architectures[ENTRIES] = {90, 75, 86};
    assert_true(rungi_fat_binary_open(&file, read_image, &image, 0));
    for (int i = 0; i < ENTRIES; i++) {
        assert_int_equal(rungi_fat_binary_next(&file, &entry), RUNGI_FAT_BINARY_ENTRY);
        assert_int_equal(entry.architecture, architectures[i]);
    }
    assert_int_equal(rungi_fat_binary_next(&file, &entry), RUNGI_FAT_BINARY_END);
    assert_int_equal(file.end, image.size);
    assert_int_equal(whole_entries(&image), ENTRIES);
}

/* A cut image has fewer entries, and its reader ends. The last byte is padding of the third entry. */
static void cut_images(void **state)
{
    (void)state;
    image_t whole = make_image();
    size_t needed = whole.size - 8 + sizeof packed - 1;
    for (size_t size = 0; size < whole.size; size++) {
        image_t cut = whole;
        cut.size = size;
        if (size < CONTAINER)
            assert_int_equal(whole_entries(&cut), -1);
        else if (size < needed)
            assert_in_range(whole_entries(&cut), 0, ENTRIES - 1);
    }
}

/* Returns how many entries are whole if one field has another value. */
static int with_field(size_t at, uint64_t value, int bytes)
{
    image_t image = make_image();
    put(&image, at, value, bytes);
    return whole_entries(&image);
}

static void damaged_fields(void **state)
{
    (void)state;
    const size_t first = CONTAINER, second = first + ENTRY + 8, third = second + ENTRY + 24;
    assert_int_equal(with_field(0, 0x466243b1, 4), -1);
    assert_int_equal(with_field(6, 15, 2), -1);         /* header of the container */
    assert_int_equal(with_field(8, UINT64_MAX, 8), -1); /* bytes of the container */
    assert_int_equal(with_field(8, ENTRY + 7, 8), 0);   /* the container ends inside of the first entry */
    assert_int_equal(with_field(first + 4, ENTRY - 1, 4), 0);
    assert_int_equal(with_field(first + 4, UINT32_MAX, 4), 0);
    assert_int_equal(with_field(second + 8, UINT64_MAX, 8), 1);
    assert_int_equal(with_field(second + 8, UINT64_MAX - ENTRY + 1, 8), 1);
    assert_int_equal(with_field(second + 28, UINT32_MAX, 4), 1);
    assert_int_equal(with_field(third + 16, 9, 4), 2); /* more compressed bytes than contents */
    assert_int_equal(with_field(third + 56, 7, 8), 2); /* decompresses to fewer bytes */
    assert_int_equal(with_field(third + 56, UINT64_MAX, 8), 2);
    assert_int_equal(with_field(third + 40, 0x8000, 8), 2); /* no Zstandard frame */
}

/* Nobody allocates memory for compressed bytes that the entry does not have. */
static void compressed_bytes_are_contents(void **state)
{
    (void)state;
    image_t image = make_image();
    rungi_fat_binary file;
    rungi_fat_binary_entry entry;
    put(&image, CONTAINER + 2 * ENTRY + 8 + 24 + 16, UINT32_MAX, 4);
    assert_true(rungi_fat_binary_open(&file, read_image, &image, 0));
    for (int i = 0; i < 2; i++)
        assert_int_equal(rungi_fat_binary_next(&file, &entry), RUNGI_FAT_BINARY_ENTRY);
    assert_int_equal(rungi_fat_binary_next(&file, &entry), RUNGI_FAT_BINARY_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(entries), cmocka_unit_test(cut_images),
                                       cmocka_unit_test(damaged_fields),
                                       cmocka_unit_test(compressed_bytes_are_contents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
