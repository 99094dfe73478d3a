/* SPDX-License-Identifier: Apache-2.0 */
/* decode_matrix.h - what the decoders of mma, wmma and wgmma share. */
#pragma once

#include "emulator/ptx/matrix_shape.h"
#include "emulator/ptx/parser.h"

/* Reads a letter and a number of up to three digits at `*at`, and moves `*at` behind them. Returns -1 if there is none. */
int rungi_ptx_parse_dimension(rungi_string_view text, size_t *at, char letter);

/* Parses m16n8k16. Returns false if the text has another form. */
bool rungi_ptx_parse_shape(rungi_string_view text, ptx_matrix_shape_t *shape);

/* Fails because the shape or a type is not implemented. */
rung_status rungi_ptx_fail_shape(const ptx_parser_t *parser);

/* Appends a fragment of `elements` elements per warp, whose number of registers must be right. */
rung_status rungi_ptx_append_fragment(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                      const ptx_argument_t *argument, int elements, ptx_type_t type,
                                      bool is_destination);
