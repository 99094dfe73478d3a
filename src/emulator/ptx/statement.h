/* SPDX-License-Identifier: Apache-2.0 */
/* statement.h - one PTX instruction as it was parsed, before decoding. */
#pragma once

#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/lexer.h"
#include "emulator/ptx/symbols.h"

typedef enum ptx_argument_kind {
    PTX_ARGUMENT_REGISTER, /* also special registers */
    PTX_ARGUMENT_INTEGER,
    PTX_ARGUMENT_F32,
    PTX_ARGUMENT_F64,
    PTX_ARGUMENT_SYMBOL,  /* a variable, a parameter or a function, plus `offset` */
    PTX_ARGUMENT_NAME,    /* a name that is not known yet: a label */
    PTX_ARGUMENT_ADDRESS, /* [register + offset], [symbol + offset], [integer] */
    PTX_ARGUMENT_LIST,    /* {a, b} or (a, b) */
    PTX_ARGUMENT_SINK     /* _ */
} ptx_argument_kind_t;

typedef struct ptx_argument {
    ptx_argument_kind_t kind;
    ptx_argument_kind_t base; /* of an address: register, symbol or integer */
    bool is_negated;          /* !p, -r */
    ptx_operand_t operand;    /* of registers */
    ptx_type_t type;          /* of registers */
    uint64_t integer;         /* value or bits of a number */
    int64_t offset;
    rungi_string_view name;
    ptx_symbol_t symbol;  /* a copy */
    int32_t first, count; /* of a list: elements of the statement; also {x, y} inside an address */
    bool has_second;      /* d|p */
    ptx_operand_t second; /* register after "|"; 0 if it is "_" */
    ptx_type_t second_type;
} ptx_argument_t;

enum { PTX_ARGUMENTS_MAX = 12, PTX_ELEMENTS_MAX = 320 };

typedef struct ptx_statement {
    ptx_opcode_t opcode;
    ptx_match_t match;
    const ptx_table_row_t *row;
    rungi_string_view text; /* the opcode with its modifiers */
    ptx_operand_t guard;
    bool guard_negated;
    ptx_argument_t arguments[PTX_ARGUMENTS_MAX];
    int argument_count;
    ptx_argument_t elements[PTX_ELEMENTS_MAX];
    int element_count;
    int line;
} ptx_statement_t;
