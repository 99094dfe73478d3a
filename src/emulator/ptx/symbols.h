/* SPDX-License-Identifier: Apache-2.0 */
/* symbols.h - the names that are visible at a point of a PTX module. Scopes nest: module, function, { }. */
#pragma once

#include "base/string_view.h"
#include "emulator/ptx/module.h"

typedef enum ptx_symbol_kind {
    PTX_SYMBOL_REGISTER,       /* value: ptx_operand_t */
    PTX_SYMBOL_REGISTER_RANGE, /* %r<count>; value: operand of the first */
    PTX_SYMBOL_VARIABLE,       /* value: address, or offset in the space */
    PTX_SYMBOL_PARAMETER,      /* of the kernel: value is the offset; of a function: operand of the frame */
    PTX_SYMBOL_LABEL,          /* value: index of the instruction */
    PTX_SYMBOL_FUNCTION,       /* value: index of the function */
    PTX_SYMBOL_TARGETS,        /* of .branchtargets: value is the index of the list */
    PTX_SYMBOL_PROTOTYPE       /* of .callprototype: value is the index of the prototype */
} ptx_symbol_kind_t;

typedef struct ptx_symbol {
    rungi_string_view name; /* points into the module's text */
    ptx_symbol_kind_t kind;
    ptx_type_t type;   /* of registers */
    ptx_space_t space; /* of variables and parameters */
    bool is_dynamic_shared;
    int64_t value, count, bytes; /* count: of a range, and of elements */
    int32_t next;                /* in the hash chain, or -1 */
    uint32_t hash;
} ptx_symbol_t;

enum { PTX_SYMBOL_BUCKETS = 4096, PTX_SCOPES_MAX = 64 };

typedef struct ptx_symbols {
    ptx_symbol_t *entries;
    int32_t count;
    int64_t capacity;
    int32_t buckets[PTX_SYMBOL_BUCKETS];
    int32_t scopes[PTX_SCOPES_MAX]; /* entries before each scope */
    int scope_count;
} ptx_symbols_t;

void rungi_ptx_symbols_begin(ptx_symbols_t *symbols);
void rungi_ptx_symbols_end(ptx_symbols_t *symbols);

/* Opens a scope. Returns false if scopes nest too deeply. */
bool rungi_ptx_symbols_open(ptx_symbols_t *symbols);

/* Removes the symbols of the innermost scope. */
void rungi_ptx_symbols_close(ptx_symbols_t *symbols);

/* Adds a copy of `symbol` to the innermost scope. Returns NULL if memory is short. */
ptx_symbol_t *rungi_ptx_symbols_add(ptx_symbols_t *symbols, const ptx_symbol_t *symbol);

/* Finds the innermost symbol of this name, or NULL. The pointer is valid until the next addition. */
const ptx_symbol_t *rungi_ptx_symbols_find(const ptx_symbols_t *symbols, rungi_string_view name);

/* Finds the register range that a name such as %r12 belongs to, and the number in it. */
const ptx_symbol_t *rungi_ptx_symbols_find_range(const ptx_symbols_t *symbols, rungi_string_view name, int64_t *number);
