/* SPDX-License-Identifier: Apache-2.0 */
/* decode_hopper.c - decodes instructions of clusters and mbarriers. */
#include "base/try.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/hopper_operations.h"

/* ---- Clusters ------------------------------------------------------------------------------------------------------ */

/* mapa d, a, b;  a is an address in shared memory or the name of a variable. */
static rung_status decode_mapa(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    ptx_type_t type = (ptx_type_t)instruction->type;
    TRY(rungi_ptx_decode_count(parser, 3, 3));
    instruction->space = (uint8_t)rungi_ptx_decode_space(&parser->statement.match);
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], type, &instruction->operand[0]));
    TRY(rungi_ptx_decode_source(parser, &arguments[1], type, &instruction->operand[1]));
    TRY(rungi_ptx_decode_source(parser, &arguments[2], PTX_U32, &instruction->operand[2]));
    return rungi_ptx_decode_executor(parser, instruction, "mapa_b%d", rungi_ptx_type_bits(type));
}

/* getctarank d, a; */
static rung_status decode_getctarank(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    ptx_type_t type = (ptx_type_t)instruction->type;
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    instruction->space = (uint8_t)rungi_ptx_decode_space(&parser->statement.match);
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], PTX_U32, &instruction->operand[0]));
    TRY(rungi_ptx_decode_source(parser, &arguments[1], type, &instruction->operand[1]));
    return rungi_ptx_decode_executor(parser, instruction, "getctarank_b%d", rungi_ptx_type_bits(type));
}

static rung_status decode_cluster_arrive(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 0, 0));
    instruction->flags |= rungi_ptx_match_is(&parser->statement.match, "sem", "relaxed") ? PTX_FLAG_RELAXED : 0;
    return rungi_ptx_decode_executor(parser, instruction, "cluster_arrive");
}

static rung_status decode_cluster_wait(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 0, 0));
    instruction->control = PTX_CONTROL_WAIT;
    return rungi_ptx_decode_executor(parser, instruction, "cluster_wait");
}

/* ---- mbarriers ----------------------------------------------------------------------------------------------------- */

static rung_status decode_mbarrier_address(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                           const ptx_argument_t *argument)
{
    const ptx_match_t *match = &parser->statement.match;
    instruction->space = (uint8_t)rungi_ptx_decode_space(match);
    instruction->flags |= rungi_ptx_match_is(match, "sem", "relaxed") ? PTX_FLAG_RELAXED : 0;
    return rungi_ptx_decode_address(parser, instruction, argument, 1, (ptx_space_t)instruction->space, false);
}

/* init [a], count;  inval [a];  expect_tx [a], bytes;  complete_tx [a], bytes;   Operands: 1 address, 2 number. */
static rung_status decode_mbarrier(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    static const struct {
        const char *name;
        ptx_mbarrier_operation_t operation;
    } operations[] = {{"init", PTX_MBARRIER_INIT},
                      {"inval", PTX_MBARRIER_INVALIDATE},
                      {"expect_tx", PTX_MBARRIER_EXPECT},
                      {"complete_tx", PTX_MBARRIER_COMPLETE}};
    const ptx_statement_t *statement = &parser->statement;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (rungi_ptx_match_is(&statement->match, "op", operations[i].name))
            instruction->operation = (uint8_t)operations[i].operation;
    int count = instruction->operation == PTX_MBARRIER_INVALIDATE ? 1 : 2;
    TRY(rungi_ptx_decode_count(parser, count, count));
    TRY(decode_mbarrier_address(parser, instruction, &statement->arguments[0]));
    if (count == 2)
        TRY(rungi_ptx_decode_source(parser, &statement->arguments[1], PTX_U32, &instruction->operand[2]));
    return rungi_ptx_decode_executor(parser, instruction, "mbarrier");
}

/* arrive{_drop}{.expect_tx|.noComplete} state, [a]{, number};   Operands: 0 state (0: none), 1 address, 2 number (0: 1). */
static rung_status decode_mbarrier_arrive(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    bool needs_number = rungi_ptx_match_has(&statement->match, "expect_tx") ||
                        rungi_ptx_match_has(&statement->match, "noComplete");
    TRY(rungi_ptx_decode_count(parser, 2 + needs_number, 3));
    instruction->operation = (rungi_ptx_match_has(&statement->match, "expect_tx") ? PTX_ARRIVE_EXPECTS : 0) |
                             (rungi_ptx_match_has(&statement->match, "noComplete") ? PTX_ARRIVE_NO_COMPLETE : 0) |
                             (rungi_ptx_match_is(&statement->match, "op", "arrive_drop") ? PTX_ARRIVE_DROPS : 0);
    if (statement->arguments[0].kind != PTX_ARGUMENT_SINK)
        TRY(rungi_ptx_decode_destination(parser, &statement->arguments[0], PTX_B64, &instruction->operand[0]));
    TRY(decode_mbarrier_address(parser, instruction, &statement->arguments[1]));
    if (statement->argument_count == 3)
        TRY(rungi_ptx_decode_source(parser, &statement->arguments[2], PTX_U32, &instruction->operand[2]));
    return rungi_ptx_decode_executor(parser, instruction, "mbarrier_arrive");
}

/* test_wait{.parity} p, [a], state or parity;  try_wait{.parity} p, [a], state or parity{, time};
 * Operands: 0 predicate, 1 address, 2 state or parity. */
static rung_status decode_mbarrier_wait(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    bool is_try = rungi_ptx_match_is(&statement->match, "op", "try_wait");
    bool has_parity = rungi_ptx_match_has(&statement->match, "parity");
    TRY(rungi_ptx_decode_count(parser, 3, is_try ? 4 : 3));
    instruction->control = PTX_CONTROL_WAIT;
    instruction->operation = (is_try ? PTX_WAIT_BLOCKS : 0) | (has_parity ? PTX_WAIT_PARITY : 0);
    TRY(rungi_ptx_decode_destination(parser, &statement->arguments[0], PTX_PRED, &instruction->operand[0]));
    TRY(decode_mbarrier_address(parser, instruction, &statement->arguments[1]));
    TRY(rungi_ptx_decode_source(parser, &statement->arguments[2], has_parity ? PTX_U32 : PTX_B64,
                                &instruction->operand[2]));
    if (statement->argument_count == 4)
        TRY(rungi_ptx_decode_source(parser, &statement->arguments[3], PTX_U32, &instruction->operand[3]));
    return rungi_ptx_decode_executor(parser, instruction, "mbarrier_wait");
}

/* pending_count d, state; */
static rung_status decode_mbarrier_pending(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    TRY(rungi_ptx_decode_destination(parser, &parser->statement.arguments[0], PTX_U32, &instruction->operand[0]));
    TRY(rungi_ptx_decode_source(parser, &parser->statement.arguments[1], PTX_B64, &instruction->operand[1]));
    return rungi_ptx_decode_executor(parser, instruction, "mbarrier_pending_count");
}

/* cp.async.mbarrier.arrive{.noinc} [a]; */
static rung_status decode_copy_arrive(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 1, 1));
    instruction->operation = rungi_ptx_match_has(&parser->statement.match, "noinc");
    TRY(decode_mbarrier_address(parser, instruction, &parser->statement.arguments[0]));
    return rungi_ptx_decode_executor(parser, instruction, "cp_async_mbarrier_arrive");
}

const ptx_decoder_t rungi_ptx_hopper_decoders[] = {{"mapa", decode_mapa},
                                                   {"getctarank", decode_getctarank},
                                                   {"cluster_arrive", decode_cluster_arrive},
                                                   {"cluster_wait", decode_cluster_wait},
                                                   {"mbarrier", decode_mbarrier},
                                                   {"mbarrier_arrive", decode_mbarrier_arrive},
                                                   {"mbarrier_wait", decode_mbarrier_wait},
                                                   {"mbarrier_pending_count", decode_mbarrier_pending},
                                                   {"cp_async_mbarrier_arrive", decode_copy_arrive},
                                                   {NULL, NULL}};
