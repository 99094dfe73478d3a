/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.c - see symbols.h. A hash table whose chains hold the innermost symbols first. */
#include "emulator/ptx/symbols.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/ptx/vector.h"

static uint32_t hash_of(rungi_string_view name)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)name.text[i]) * 16777619u;
    return hash;
}

void rungi_ptx_symbols_begin(ptx_symbols_t *symbols)
{
    memset(symbols, 0, sizeof *symbols);
    for (int i = 0; i < PTX_SYMBOL_BUCKETS; i++)
        symbols->buckets[i] = -1;
}

void rungi_ptx_symbols_end(ptx_symbols_t *symbols)
{
    free(symbols->entries);
    symbols->entries = NULL;
}

bool rungi_ptx_symbols_open(ptx_symbols_t *symbols)
{
    if (symbols->scope_count == PTX_SCOPES_MAX)
        return false;
    symbols->scopes[symbols->scope_count++] = symbols->count;
    return true;
}

void rungi_ptx_symbols_close(ptx_symbols_t *symbols)
{
    int32_t count = symbols->scopes[--symbols->scope_count];
    while (symbols->count > count) {
        const ptx_symbol_t *symbol = &symbols->entries[--symbols->count];
        symbols->buckets[symbol->hash % PTX_SYMBOL_BUCKETS] = symbol->next;
    }
}

ptx_symbol_t *rungi_ptx_symbols_add(ptx_symbols_t *symbols, const ptx_symbol_t *symbol)
{
    ptx_symbol_t *entries = rungi_ptx_grow(symbols->entries, (int64_t)symbols->count + 1, &symbols->capacity,
                                           sizeof *entries);
    if (!entries)
        return NULL;
    symbols->entries = entries;
    ptx_symbol_t *added = &symbols->entries[symbols->count];
    *added = *symbol;
    added->hash = hash_of(symbol->name);
    int32_t *bucket = &symbols->buckets[added->hash % PTX_SYMBOL_BUCKETS];
    added->next = *bucket;
    *bucket = symbols->count++;
    return added;
}

static const ptx_symbol_t *find(const ptx_symbols_t *symbols, rungi_string_view name, bool wants_range)
{
    uint32_t hash = hash_of(name);
    for (int32_t i = symbols->buckets[hash % PTX_SYMBOL_BUCKETS]; i >= 0; i = symbols->entries[i].next) {
        const ptx_symbol_t *symbol = &symbols->entries[i];
        if (symbol->hash == hash && symbol->name.length == name.length &&
            (symbol->kind == PTX_SYMBOL_REGISTER_RANGE) == wants_range &&
            memcmp(symbol->name.text, name.text, name.length) == 0)
            return symbol;
    }
    return NULL;
}

const ptx_symbol_t *rungi_ptx_symbols_find(const ptx_symbols_t *symbols, rungi_string_view name)
{
    return find(symbols, name, false);
}

const ptx_symbol_t *rungi_ptx_symbols_find_range(const ptx_symbols_t *symbols, rungi_string_view name, int64_t *number)
{
    size_t digits = 0;
    while (digits < name.length && digits < 9 && isdigit((unsigned char)name.text[name.length - 1 - digits]))
        digits++;
    /* A range may itself end with a digit: %r1<10> declares %r10 to %r19. The longest number is tried first. */
    for (; digits > 0; digits--) {
        size_t length = name.length - digits;
        *number = 0;
        for (size_t i = length; i < name.length; i++)
            *number = 10 * *number + (name.text[i] - '0');
        if (digits > 1 && name.text[length] == '0')
            continue;
        const ptx_symbol_t *symbol = find(symbols, rungi_string_view_of(name.text, length), true);
        if (symbol && *number < symbol->count)
            return symbol;
    }
    return NULL;
}
