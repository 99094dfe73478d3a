/* SPDX-License-Identifier: Apache-2.0 */
/* lz4.c - decompresses an LZ4 block: a sequence of tokens. A token has two 4-bit lengths, then literals (first length),
 * then a 16-bit distance of a match (second length). A length of 15 is extended by the bytes that follow, up to and
 * including the first byte below 255. The last token has literals only. */
#include "base/lz4.h"

#include <string.h>

typedef struct lz4_reader {
    const unsigned char *at, *end;
} lz4_reader_t;

/* Adds the bytes that follow a length of 15; false at the end of the block. */
static bool read_length(lz4_reader_t *reader, size_t *length)
{
    unsigned char more = 255;
    if (*length != 15)
        return true;
    while (more == 255) {
        if (reader->at == reader->end)
            return false;
        more = *reader->at++;
        *length += more;
    }
    return true;
}

/* Copies one match. */
static bool read_match(lz4_reader_t *reader, size_t *distance, size_t *length)
{
    enum { MATCH_MIN = 4 };
    if (reader->end - reader->at < 2)
        return false;
    *distance = (size_t)reader->at[0] | (size_t)reader->at[1] << 8;
    reader->at += 2;
    if (!read_length(reader, length))
        return false;
    *length += MATCH_MIN;
    return true;
}

bool rungi_lz4_decompress(const unsigned char *packed, size_t packed_bytes, unsigned char *out, size_t bytes)
{
    lz4_reader_t reader = {packed, packed + packed_bytes};
    size_t used = 0;
    while (reader.at < reader.end) {
        unsigned char token = *reader.at++;
        size_t literals = token >> 4, length = token & 15, distance;
        if (!read_length(&reader, &literals) || literals > (size_t)(reader.end - reader.at) || literals > bytes - used)
            return false;
        memcpy(out + used, reader.at, literals);
        reader.at += literals;
        used += literals;
        if (reader.at == reader.end)
            break;
        if (!read_match(&reader, &distance, &length) || distance == 0 || distance > used || length > bytes - used)
            return false;
        for (; length > 0; length--, used++) /* the two may overlap */
            out[used] = out[used - distance];
    }
    return used == bytes;
}
