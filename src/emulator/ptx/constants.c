/* SPDX-License-Identifier: Apache-2.0 */
/* constants.c - the pool of constants of a module. Equal constants of one size share their lane array. */
#include <string.h>

#include "base/error.h"
#include "emulator/ptx/parser.h"

typedef struct pooled_constant {
    unsigned char value[16];
    int32_t bytes, offset;
    int32_t next; /* in the chain of its hash, or -1 */
} pooled_constant_t;

enum { BUCKETS = 1024 };

static uint32_t bucket_of(const unsigned char value[16], int bytes)
{
    uint32_t hash = 2166136261u + (uint32_t)bytes;
    for (int i = 0; i < 16; i++)
        hash = (hash ^ value[i]) * 16777619u;
    return hash % BUCKETS;
}

/* The first BUCKETS entries of the index hold the heads of the chains in `next`. */
static bool begin_index(ptx_parser_t *parser)
{
    if (parser->constant_index.count > 0)
        return true;
    pooled_constant_t *heads = rungi_ptx_vector_append(&parser->constant_index, sizeof *heads, BUCKETS);
    for (int i = 0; heads && i < BUCKETS; i++)
        heads[i].next = -1;
    return heads != NULL;
}

rung_status rungi_ptx_constant(ptx_parser_t *parser, const void *value, int bytes, ptx_operand_t *operand)
{
    unsigned char key[16] = {0};
    memcpy(key, value, (size_t)(bytes ? bytes : 4));
    if (!begin_index(parser))
        return RUNG_STATUS_NO_MEMORY;
    uint32_t bucket = bucket_of(key, bytes);
    const pooled_constant_t *entries = parser->constant_index.data;
    for (int32_t i = entries[bucket].next; i >= 0; i = entries[i].next)
        if (entries[i].bytes == bytes && memcmp(entries[i].value, key, sizeof key) == 0) {
            *operand = (ptx_operand_t)entries[i].offset | PTX_BASE_CONSTANT;
            return RUNG_OK;
        }
    int32_t size = bytes ? PTX_WARP_LANES * bytes : 64; /* a predicate's mask takes one line */
    unsigned char *lanes = rungi_ptx_vector_append(&parser->constants, 1, size);
    pooled_constant_t *added = rungi_ptx_vector_append(&parser->constant_index, sizeof *added, 1);
    if (!lanes || !added)
        return RUNG_STATUS_NO_MEMORY;
    for (int lane = 0; lane < (bytes ? PTX_WARP_LANES : 1); lane++)
        memcpy(lanes + (size_t)lane * (size_t)bytes, key, (size_t)(bytes ? bytes : 4));
    memcpy(added->value, key, sizeof key);
    added->bytes = bytes;
    added->offset = parser->constants.count - size;
    pooled_constant_t *heads = parser->constant_index.data;
    added->next = heads[bucket].next;
    heads[bucket].next = parser->constant_index.count - 1;
    *operand = (ptx_operand_t)added->offset | PTX_BASE_CONSTANT;
    return RUNG_OK;
}
