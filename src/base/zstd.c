/* SPDX-License-Identifier: Apache-2.0 */
/* zstd.c - decompresses a Zstandard frame, as RFC 8878 describes it: blocks of literals, which are coded by Huffman, and
 * sequences (literal length, match length, offset), which are coded by FSE. The whole output is the window. */
#include "base/zstd.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bits ------------------------------------------------------------------------------------------------------- */

typedef struct span {
    const unsigned char *at;
    size_t bytes;
} span_t;

/* Takes bytes from the start of a span; false if it is too short. */
static bool take(span_t *from, size_t bytes, span_t *out)
{
    if (bytes > from->bytes)
        return false;
    *out = (span_t){from->at, bytes};
    from->at += bytes;
    from->bytes -= bytes;
    return true;
}

static bool take_number(span_t *from, size_t bytes, uint64_t *value)
{
    span_t taken;
    if (!take(from, bytes, &taken))
        return false;
    *value = 0;
    for (size_t i = 0; i < bytes; i++)
        *value |= (uint64_t)taken.at[i] << (8 * i);
    return true;
}

/* Returns `count` (at most 32) bits from bit `offset` on; bits outside of the span are 0. */
static uint32_t bits_at(span_t span, int64_t offset, int count)
{
    uint64_t value = 0;
    int64_t first = offset >= 0 ? offset / 8 : -((7 - offset) / 8);
    for (int64_t i = 0; i < 6; i++)
        if (first + i >= 0 && (uint64_t)(first + i) < span.bytes)
            value |= (uint64_t)span.at[first + i] << (8 * i);
    return (uint32_t)(value >> (offset - first * 8) & ((UINT64_C(1) << count) - 1));
}

static int highest_bit(uint32_t value)
{
    int bit = -1;
    for (; value; value >>= 1)
        bit++;
    return bit;
}

/* A stream that is read from its end. The highest set bit of the last byte marks the end. */
typedef struct backward {
    span_t span;
    int64_t left; /* bits; negative after reading too many, which are 0 */
} backward_t;

static bool backward_open(span_t span, backward_t *stream)
{
    if (span.bytes == 0 || span.at[span.bytes - 1] == 0)
        return false;
    *stream = (backward_t){span, (int64_t)(span.bytes - 1) * 8 + highest_bit(span.at[span.bytes - 1])};
    return true;
}

static uint32_t backward_read(backward_t *stream, int count)
{
    stream->left -= count;
    return bits_at(stream->span, stream->left, count);
}

/* ---- FSE -------------------------------------------------------------------------------------------------------- */

enum { FSE_LOG_MAX = 9, FSE_SIZE_MAX = 1 << FSE_LOG_MAX, SYMBOLS_MAX = 256, WEIGHT_LOG_MAX = 6 };

typedef struct fse_table {
    int log;
    bool is_set;
    uint8_t symbol[FSE_SIZE_MAX], bits[FSE_SIZE_MAX];
    uint16_t base[FSE_SIZE_MAX];
} fse_table_t;

/* Puts the symbols into the states, in the order that the format prescribes. */
static bool fse_spread(fse_table_t *table, const int16_t *counts, int symbols, uint32_t *next)
{
    uint32_t size = 1u << table->log, high = size, step = (size >> 1) + (size >> 3) + 3, at = 0;
    for (int s = 0; s < symbols; s++) {
        next[s] = (uint32_t)(counts[s] < 0 ? 1 : counts[s]);
        if (counts[s] == -1) {
            if (high == 0)
                return false;
            table->symbol[--high] = (uint8_t)s;
        }
    }
    for (int s = 0; s < symbols; s++)
        for (int i = 0; i < counts[s]; i++) {
            table->symbol[at] = (uint8_t)s;
            do
                at = (at + step) & (size - 1);
            while (at >= high && high > 0);
        }
    return at == 0;
}

static bool fse_build(fse_table_t *table, const int16_t *counts, int symbols, int log)
{
    uint32_t next[SYMBOLS_MAX] = {0}, size = 1u << log;
    int32_t sum = 0;
    for (int s = 0; s < symbols; s++)
        sum += counts[s] < 0 ? 1 : counts[s];
    table->log = log;
    if (sum != 1 << log || !fse_spread(table, counts, symbols, next))
        return false;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t state = next[table->symbol[i]]++;
        table->bits[i] = (uint8_t)(log - highest_bit(state));
        table->base[i] = (uint16_t)((state << table->bits[i]) - size);
    }
    table->is_set = true;
    return true;
}

/* Reads the probabilities of a table, and moves `from` behind them. */
static bool fse_read(span_t *from, int log_max, int symbols_max, fse_table_t *table)
{
    int16_t counts[SYMBOLS_MAX] = {0};
    int log = (int)bits_at(*from, 0, 4) + 5, symbol = 0;
    int64_t offset = 4;
    int32_t remaining = (1 << log) + 1, threshold = 1 << log, width = log + 1;
    if (log > log_max)
        return false;
    while (remaining > 1 && symbol < symbols_max) {
        int32_t limit = 2 * threshold - 1 - remaining, value = (int32_t)bits_at(*from, offset, width);
        bool is_short = (value & (threshold - 1)) < limit;
        int32_t count = is_short ? value & (threshold - 1) : value >= threshold ? value - limit : value;
        offset += is_short ? width - 1 : width;
        count--;
        remaining -= count < 0 ? -count : count;
        counts[symbol++] = (int16_t)count;
        for (uint32_t repeat = count == 0 ? 3 : 0; repeat == 3; symbol += (int)repeat) {
            repeat = bits_at(*from, offset, 2);
            offset += 2;
        }
        if (symbol > symbols_max || remaining < 1)
            return false;
        for (; remaining < threshold && threshold > 1; threshold >>= 1)
            width--;
    }
    span_t used;
    return remaining == 1 && take(from, (size_t)(offset + 7) / 8, &used) && fse_build(table, counts, symbol, log);
}

static uint32_t fse_next(const fse_table_t *table, uint32_t state, backward_t *stream)
{
    return table->base[state] + backward_read(stream, table->bits[state]);
}

/* ---- Huffman ---------------------------------------------------------------------------------------------------- */

enum { HUFFMAN_LOG_MAX = 11 };

typedef struct huffman {
    int log; /* 0: there is no table */
    uint8_t symbol[1 << HUFFMAN_LOG_MAX], bits[1 << HUFFMAN_LOG_MAX];
} huffman_t;

static bool huffman_build(huffman_t *table, uint8_t *weights, int count)
{
    uint32_t sum = 0, at = 0;
    for (int i = 0; i < count; i++) {
        if (weights[i] > HUFFMAN_LOG_MAX)
            return false;
        sum += weights[i] ? 1u << (weights[i] - 1) : 0;
    }
    int log = highest_bit(sum) + 1;
    uint32_t left = (1u << (log > 0 ? log : 0)) - sum;
    if (sum == 0 || log > HUFFMAN_LOG_MAX || count >= SYMBOLS_MAX || (left & (left - 1)) != 0)
        return false;
    weights[count++] = (uint8_t)(highest_bit(left) + 1); /* the last weight completes the code */
    for (int w = 1; w <= log; w++)
        for (int s = 0; s < count; s++)
            for (uint32_t i = 0; weights[s] == w && i < 1u << (w - 1); i++, at++) {
                table->symbol[at] = (uint8_t)s;
                table->bits[at] = (uint8_t)(log + 1 - w);
            }
    table->log = log;
    return at == 1u << log;
}

/* Two states take turns; the stream ends where one of them reads too many bits. */
static bool read_coded_weights(span_t span, uint8_t *weights, int *count)
{
    fse_table_t table = {0};
    backward_t stream;
    if (!fse_read(&span, WEIGHT_LOG_MAX, SYMBOLS_MAX, &table) || !backward_open(span, &stream))
        return false;
    uint32_t state[2] = {backward_read(&stream, table.log), backward_read(&stream, table.log)};
    for (int turn = 0; *count < SYMBOLS_MAX - 1; turn ^= 1) {
        weights[(*count)++] = table.symbol[state[turn]];
        state[turn] = fse_next(&table, state[turn], &stream);
        if (stream.left < 0) {
            weights[(*count)++] = table.symbol[state[turn ^ 1]];
            return true;
        }
    }
    return false;
}

static bool huffman_read(span_t *from, huffman_t *table)
{
    uint8_t weights[SYMBOLS_MAX + 1] = {0};
    uint64_t header;
    span_t span;
    int count = 0;
    if (!take_number(from, 1, &header))
        return false;
    if (header < 128)
        return take(from, (size_t)header, &span) && read_coded_weights(span, weights, &count) &&
               huffman_build(table, weights, count);
    count = (int)header - 127;
    if (!take(from, (size_t)(count + 1) / 2, &span))
        return false;
    for (int i = 0; i < count; i++)
        weights[i] = i % 2 ? span.at[i / 2] & 15 : span.at[i / 2] >> 4;
    return huffman_build(table, weights, count);
}

static bool huffman_decode(const huffman_t *table, span_t span, unsigned char *out, size_t bytes)
{
    backward_t stream;
    if (!backward_open(span, &stream))
        return false;
    for (size_t i = 0; i < bytes; i++) {
        uint32_t code = bits_at(stream.span, stream.left - table->log, table->log);
        out[i] = table->symbol[code];
        stream.left -= table->bits[code];
        if (stream.left < 0)
            return false;
    }
    return stream.left == 0;
}

/* ---- Literals --------------------------------------------------------------------------------------------------- */

enum { BLOCK_BYTES_MAX = 128 << 10 };

typedef struct decoder {
    unsigned char *out;
    size_t used, bytes;
    huffman_t huffman;
    fse_table_t tables[3]; /* literal lengths, offsets, match lengths */
    uint32_t offsets[3];   /* that sequences repeat */
    unsigned char literals[BLOCK_BYTES_MAX];
    size_t literal_bytes;
} decoder_t;

static bool decode_four(decoder_t *decoder, span_t from)
{
    size_t quarter = (decoder->literal_bytes + 3) / 4;
    uint64_t sizes[3];
    span_t stream;
    for (int i = 0; i < 3; i++)
        if (!take_number(&from, 2, &sizes[i]))
            return false;
    for (size_t i = 0; i < 4; i++) {
        size_t bytes = i < 3 ? quarter : decoder->literal_bytes - 3 * quarter;
        if (!take(&from, i < 3 ? (size_t)sizes[i] : from.bytes, &stream) ||
            !huffman_decode(&decoder->huffman, stream, decoder->literals + i * quarter, bytes))
            return false;
    }
    return true;
}

static bool read_plain_literals(decoder_t *decoder, span_t *from, bool is_repeated)
{
    uint64_t header;
    span_t taken;
    int format = from->at[0] >> 2 & 3;
    size_t size = format == 1 ? 2 : format == 3 ? 3 : 1;
    if (!take_number(from, size, &header))
        return false;
    decoder->literal_bytes = (size_t)(header >> (size == 1 ? 3 : 4));
    if (decoder->literal_bytes > BLOCK_BYTES_MAX || !take(from, is_repeated ? 1 : decoder->literal_bytes, &taken))
        return false;
    if (is_repeated)
        memset(decoder->literals, taken.at[0], decoder->literal_bytes);
    else
        memcpy(decoder->literals, taken.at, taken.bytes);
    return true;
}

static bool read_literals(decoder_t *decoder, span_t *from)
{
    static const int widths[4] = {10, 10, 14, 18};
    uint64_t header;
    span_t coded;
    if (from->bytes == 0)
        return false;
    int type = from->at[0] & 3, format = from->at[0] >> 2 & 3, width = widths[format];
    if (type < 2)
        return read_plain_literals(decoder, from, type == 1);
    if (!take_number(from, format < 2 ? 3 : (size_t)format + 2, &header))
        return false;
    decoder->literal_bytes = (size_t)(header >> 4 & ((1u << width) - 1));
    size_t bytes = (size_t)(header >> (4 + width) & ((1u << width) - 1));
    if (decoder->literal_bytes > BLOCK_BYTES_MAX || !take(from, bytes, &coded))
        return false;
    if (type == 2 && !huffman_read(&coded, &decoder->huffman))
        return false;
    if (decoder->huffman.log == 0)
        return false;
    if (format == 0)
        return huffman_decode(&decoder->huffman, coded, decoder->literals, decoder->literal_bytes);
    return decoder->literal_bytes >= 6 && decode_four(decoder, coded);
}

/* ---- Sequences -------------------------------------------------------------------------------------------------- */

enum { LITERAL_LENGTHS, OFFSETS, MATCH_LENGTHS };

/* clang-format off */
static const int16_t default_literals[36] = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1,
                                             1, 1, 1, -1, -1, -1, -1};
static const int16_t default_offsets[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1,
                                            -1};
static const int16_t default_matches[53] = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                            1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
/* Extra bits of a code; a code's first value follows from those of the lower codes. */
static const uint8_t literal_bits[36] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10,
                                         11, 12, 13, 14, 15, 16};
static const uint8_t match_bits[53] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                       0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
/* clang-format on */

static uint32_t first_value(const uint8_t *bits, uint32_t code, uint32_t smallest)
{
    for (uint32_t i = 0; i < code; i++)
        smallest += 1u << bits[i];
    return smallest;
}

static bool read_table(span_t *from, int mode, int which, fse_table_t *table)
{
    static const int16_t *const defaults[3] = {default_literals, default_offsets, default_matches};
    static const int symbols[3] = {36, 29, 53}, symbols_max[3] = {36, 32, 53}, logs[3] = {6, 5, 6},
                     logs_max[3] = {9, 8, 9};
    uint64_t symbol;
    switch (mode) {
    case 0: return fse_build(table, defaults[which], symbols[which], logs[which]);
    case 1:
        if (!take_number(from, 1, &symbol) || symbol >= (uint64_t)symbols_max[which])
            return false;
        *table = (fse_table_t){.is_set = true};
        table->symbol[0] = (uint8_t)symbol;
        return true;
    case 2: return fse_read(from, logs_max[which], symbols_max[which], table);
    default: return table->is_set;
    }
}

/* Returns the offset of a sequence, and updates those that are repeated. 0 is invalid. */
static uint32_t next_offset(uint32_t *offsets, uint32_t value, uint32_t literals)
{
    uint32_t offset = value > 3 ? value - 3 : 0, index = 2;
    if (value <= 3) {
        uint32_t which = value - 1 + (literals == 0);
        offset = which == 3 ? offsets[0] - 1 : offsets[which];
        index = which < 2 ? which : 2;
    }
    for (; index > 0; index--)
        offsets[index] = offsets[index - 1];
    offsets[0] = offset;
    return offset;
}

static bool copy_sequence(decoder_t *decoder, size_t *literal, uint32_t literals, uint32_t matches, uint32_t offset)
{
    size_t room = decoder->bytes - decoder->used;
    if (literals > decoder->literal_bytes - *literal || literals > room || matches > room - literals)
        return false;
    memcpy(decoder->out + decoder->used, decoder->literals + *literal, literals);
    decoder->used += literals;
    *literal += literals;
    if (offset == 0 || offset > decoder->used)
        return false;
    for (; matches > 0; matches--, decoder->used++) /* the two may overlap */
        decoder->out[decoder->used] = decoder->out[decoder->used - offset];
    return true;
}

static bool decode_sequences(decoder_t *decoder, span_t from, uint64_t count, size_t *literal)
{
    fse_table_t *table = decoder->tables;
    backward_t stream;
    uint32_t state[3];
    if (!backward_open(from, &stream))
        return false;
    for (int i = 0; i < 3; i++)
        state[i] = backward_read(&stream, table[i].log);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t code[3];
        for (int t = 0; t < 3; t++)
            code[t] = table[t].symbol[state[t]];
        uint32_t value = (1u << code[OFFSETS]) + backward_read(&stream, (int)code[OFFSETS]);
        uint32_t matches = first_value(match_bits, code[MATCH_LENGTHS], 3) +
                           backward_read(&stream, match_bits[code[MATCH_LENGTHS]]);
        uint32_t literals = first_value(literal_bits, code[LITERAL_LENGTHS], 0) +
                            backward_read(&stream, literal_bits[code[LITERAL_LENGTHS]]);
        if (i + 1 < count) {
            state[LITERAL_LENGTHS] = fse_next(&table[LITERAL_LENGTHS], state[LITERAL_LENGTHS], &stream);
            state[MATCH_LENGTHS] = fse_next(&table[MATCH_LENGTHS], state[MATCH_LENGTHS], &stream);
            state[OFFSETS] = fse_next(&table[OFFSETS], state[OFFSETS], &stream);
        }
        if (stream.left < 0 ||
            !copy_sequence(decoder, literal, literals, matches, next_offset(decoder->offsets, value, literals)))
            return false;
    }
    return stream.left == 0;
}

static bool read_sequence_count(span_t *from, uint64_t *count)
{
    uint64_t more;
    if (!take_number(from, 1, count))
        return false;
    if (*count == 255) {
        if (!take_number(from, 2, &more))
            return false;
        *count = more + 0x7f00;
    } else if (*count >= 128) {
        if (!take_number(from, 1, &more))
            return false;
        *count = ((*count - 128) << 8) + more;
    }
    return true;
}

static bool decode_block(decoder_t *decoder, span_t from)
{
    uint64_t count, modes;
    size_t literal = 0;
    if (!read_literals(decoder, &from) || !read_sequence_count(&from, &count))
        return false;
    if (count > 0) {
        if (!take_number(&from, 1, &modes) || (modes & 3) != 0)
            return false;
        for (int i = 0; i < 3; i++)
            if (!read_table(&from, (int)(modes >> (6 - 2 * i) & 3), i, &decoder->tables[i]))
                return false;
        if (!decode_sequences(decoder, from, count, &literal))
            return false;
    }
    size_t left = decoder->literal_bytes - literal;
    if (left > decoder->bytes - decoder->used)
        return false;
    memcpy(decoder->out + decoder->used, decoder->literals + literal, left);
    decoder->used += left;
    return true;
}

/* ---- Frames ----------------------------------------------------------------------------------------------------- */

/* Reads the header; nothing in it is needed but its length. */
static bool skip_header(span_t *from, bool *has_checksum)
{
    static const size_t dictionary_bytes[4] = {0, 1, 2, 4}, size_bytes[4] = {0, 2, 4, 8};
    uint64_t magic, descriptor, dictionary = 0;
    span_t skipped;
    if (!take_number(from, 4, &magic) || magic != 0xfd2fb528 || !take_number(from, 1, &descriptor))
        return false;
    bool is_single = descriptor >> 5 & 1;
    size_t size = size_bytes[descriptor >> 6];
    if (size == 0 && is_single)
        size = 1;
    *has_checksum = descriptor >> 2 & 1;
    return take(from, is_single ? 0 : 1, &skipped) &&
           take_number(from, dictionary_bytes[descriptor & 3], &dictionary) && dictionary == 0 &&
           take(from, size, &skipped);
}

static bool read_block(decoder_t *decoder, span_t *from, int type, size_t size)
{
    span_t block;
    if (type == 3 || !take(from, type == 1 ? 1 : size, &block))
        return false;
    if (type == 2)
        return decode_block(decoder, block);
    if (size > decoder->bytes - decoder->used)
        return false;
    if (type == 0)
        memcpy(decoder->out + decoder->used, block.at, size);
    else
        memset(decoder->out + decoder->used, block.at[0], size);
    decoder->used += size;
    return true;
}

static bool read_frame(decoder_t *decoder, span_t from)
{
    uint64_t header = 0, checksum;
    bool has_checksum = false;
    if (!skip_header(&from, &has_checksum))
        return false;
    while (!(header & 1))
        if (!take_number(&from, 3, &header) ||
            !read_block(decoder, &from, (int)(header >> 1 & 3), (size_t)(header >> 3)))
            return false;
    return (!has_checksum || take_number(&from, 4, &checksum)) && from.bytes == 0 && decoder->used == decoder->bytes;
}

bool rungi_zstd_decompress(const unsigned char *packed, size_t packed_bytes, unsigned char *out, size_t bytes)
{
    decoder_t *decoder = calloc(1, sizeof *decoder);
    if (!decoder)
        return false;
    decoder->out = out;
    decoder->bytes = bytes;
    decoder->offsets[0] = 1, decoder->offsets[1] = 4, decoder->offsets[2] = 8;
    bool is_valid = read_frame(decoder, (span_t){packed, packed_bytes});
    free(decoder);
    return is_valid;
}
