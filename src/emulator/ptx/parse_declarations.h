/* SPDX-License-Identifier: Apache-2.0 */
/* parse_declarations.h - declarations of variables and parameters, for the parser's files. */
#pragma once

#include "emulator/ptx/parser.h"

typedef struct ptx_declaration { /* one declared name */
    rungi_string_view name;
    ptx_type_t type;
    int vector_length;
    int64_t alignment, elements, bytes;
    bool is_unsized; /* name[] */
    ptx_space_t space;
    bool is_extern;
} ptx_declaration_t;

/* Parses attributes, type and vector length in any order: .align 16 .v4 .f32. */
rung_status rungi_ptx_parse_declared_type(ptx_parser_t *parser, ptx_declaration_t *declaration);

/* Completes a declaration whose type is known: the name and the array's size. */
rung_status rungi_ptx_parse_declared_name(ptx_parser_t *parser, ptx_declaration_t *declaration);
