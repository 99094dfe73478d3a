/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - unpacks an LZ4 block. It is a row of sequences: a byte with two lengths of four
 * bits, the first literals, two bytes of how far back to copy from, and again; 15 says that
 * bytes follow which add to the length, as long as they are 255. The last has literals
 * alone. */
#include "cuda/pack.h"

#include <string.h>

typedef struct reader {
    const unsigned char *at, *end;
} reader_t;

/* Adds the bytes that follow a length of 15; false at the end of the block. */
static bool read_length(reader_t *reader, size_t *length)
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

/* How far back, and how long. */
static bool read_match(reader_t *reader, size_t *distance, size_t *length)
{
    enum { SHORTEST = 4 };
    if (reader->end - reader->at < 2)
        return false;
    *distance = (size_t)reader->at[0] | (size_t)reader->at[1] << 8;
    reader->at += 2;
    if (!read_length(reader, length))
        return false;
    *length += SHORTEST;
    return true;
}

bool rungi_unpack(const unsigned char *packed, size_t packed_bytes, unsigned char *out, size_t bytes)
{
    reader_t reader = {packed, packed + packed_bytes};
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
