/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h - what decode.c offers to the decoders of memory, control and matrix instructions. */
#pragma once

#include "emulator/ptx/parser.h"

/* Completes an instruction whose row, guard, flags, types and line are set. */
typedef rung_status (*ptx_decode_fn)(ptx_parser_t *parser, ptx_instruction_t *instruction);

/* Names of decoders in instructions.def, without "@". The list ends with a NULL name. */
typedef struct ptx_decoder {
    const char *name;
    ptx_decode_fn decode;
} ptx_decoder_t;
extern const ptx_decoder_t rungi_ptx_memory_decoders[];
extern const ptx_decoder_t rungi_ptx_control_decoders[];
extern const ptx_decoder_t rungi_ptx_move_decoders[];
extern const ptx_decoder_t rungi_ptx_warp_decoders[];
extern const ptx_decoder_t rungi_ptx_matrix_decoders[];
extern const ptx_decoder_t rungi_ptx_mma_decoders[];
extern const ptx_decoder_t rungi_ptx_hopper_decoders[];
extern const ptx_decoder_t rungi_ptx_bulk_decoders[];
extern const ptx_decoder_t rungi_ptx_wgmma_decoders[];

/* Fails with the line of the statement. */
#define PTX_DECODE_FAIL(parser, status, ...) \
    rungi_ptx_parser_fail(parser, (parser)->statement.line, status, __VA_ARGS__)

/* Fails with the statement and a reason. */
rung_status rungi_ptx_decode_fail(const ptx_parser_t *parser, const char *reason);

/* Checks the number of arguments. */
rung_status rungi_ptx_decode_count(const ptx_parser_t *parser, int min, int max);

/* Sets instruction->execute to the executor of this name (printf style). */
rung_status rungi_ptx_decode_executor(ptx_parser_t *parser, ptx_instruction_t *instruction, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Decodes a source: a register of the type's size, a number, or the address of a variable. */
rung_status rungi_ptx_decode_source(ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                    ptx_operand_t *operand);

/* Decodes a destination register. "_" becomes a register that nobody reads. */
rung_status rungi_ptx_decode_destination(ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                         ptx_operand_t *operand);

/* Decodes a register of any size that is at least the type's, as ld, st and cvt allow. */
rung_status rungi_ptx_decode_wide(ptx_parser_t *parser, const ptx_argument_t *argument, ptx_type_t type,
                                  bool is_destination, ptx_operand_t *operand, uint8_t *register_bytes);

/* Decodes [address] into operand[index], `offset` (or `offset2`), address_bytes and flags. `space` is that of the
 * instruction. An operand of 0 means that the address is the offset alone. */
rung_status rungi_ptx_decode_address(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                     const ptx_argument_t *argument, int index, ptx_space_t space, bool is_second);

/* Decodes a predicate source into operand[index] and its "!" into `flag`. */
rung_status rungi_ptx_decode_predicate(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                       const ptx_argument_t *argument, int index, uint32_t flag);

/* Appends an operand to the instruction's list. The operands of one instruction are appended before those of the next. */
rung_status rungi_ptx_decode_append(ptx_parser_t *parser, ptx_instruction_t *instruction, ptx_operand_t operand);

/* Appends the elements of {a, b, ...}, or a single register. */
rung_status rungi_ptx_decode_list(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *argument,
                                  ptx_type_t type, bool is_destination);

/* Returns the value of an integer argument. */
rung_status rungi_ptx_decode_immediate(ptx_parser_t *parser, const ptx_argument_t *argument, int64_t *value);

/* Returns the space that a slot names; PTX_SPACE_GENERIC if the slot is absent. */
ptx_space_t rungi_ptx_decode_space(const ptx_match_t *match);

/* Adds a branch target that is resolved at the end of its scope. */
rung_status rungi_ptx_decode_label(ptx_parser_t *parser, rungi_string_view name, int32_t list_index);
