/* SPDX-License-Identifier: Apache-2.0 */
/* byte_reader.h - for fuzz targets that turn bytes into arguments: reads numbers until the bytes end; then every number is 0.
 * Also the check that ends the program with the condition that does not hold. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s, line %d: not %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

typedef struct byte_reader {
    const uint8_t *at;
    size_t left;
} byte_reader_t;

static inline unsigned read_byte(byte_reader_t *reader)
{
    if (reader->left == 0)
        return 0;
    reader->left--;
    return *reader->at++;
}

/* Returns a number below `limit`. */
static inline unsigned read_below(byte_reader_t *reader, unsigned limit)
{
    return read_byte(reader) % limit;
}

static inline int64_t read_int64(byte_reader_t *reader)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)read_byte(reader) << (8 * i);
    return (int64_t)value;
}

/* Returns a number that is usually small, sometimes near a power of two that overflows a product, and rarely any other. */
static inline int64_t read_size(byte_reader_t *reader, unsigned limit)
{
    unsigned kind = read_byte(reader);
    if (kind < 240)
        return kind % limit;
    if (kind < 244)
        return read_int64(reader);
    int64_t power = (int64_t)(UINT64_C(1) << read_below(reader, 63));
    return kind < 248 ? power : kind < 252 ? power - 1 : -power;
}
