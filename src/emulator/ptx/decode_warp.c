/* SPDX-License-Identifier: Apache-2.0 */
/* decode_warp.c - decodes instructions of a whole warp: shuffles, votes, matches, reductions. Operand 4 is the member
 * mask; the scheduler waits for its lanes. */
#include "base/try.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/warp_operations.h"

static int find_mode(const ptx_match_t *match, const char *slot, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (rungi_ptx_match_is(match, slot, names[i]))
            return i;
    return 0;
}

/* shfl.sync.mode.b32 d|p, a, b, c, members;  The list holds c. */
static rung_status decode_shuffle(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(rungi_ptx_decode_count(parser, 5, 5));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->operation = (uint8_t)find_mode(&parser->statement.match, "mode", modes, 4);
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], PTX_B32, &instruction->operand[0]));
    if (arguments[0].second && arguments[0].second_type != PTX_PRED)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "the second destination of shfl is a predicate");
    instruction->operand[5] = arguments[0].second;
    for (int i = 1; i < 5; i++)
        TRY(rungi_ptx_decode_source(parser, &arguments[i], PTX_B32, &instruction->operand[i]));
    return rungi_ptx_decode_executor(parser, instruction, "shuffle");
}

/* vote.sync.mode.type d, {!}a, members; */
static rung_status decode_vote(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(rungi_ptx_decode_count(parser, 3, 3));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->operation = (uint8_t)find_mode(&parser->statement.match, "mode", modes, 4);
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], (ptx_type_t)instruction->type, &instruction->operand[0]));
    TRY(rungi_ptx_decode_predicate(parser, instruction, &arguments[1], 1, PTX_FLAG_NEGATE_A));
    TRY(rungi_ptx_decode_source(parser, &arguments[2], PTX_B32, &instruction->operand[4]));
    return rungi_ptx_decode_executor(parser, instruction, "vote");
}

/* match.any.sync.type d, a, members;  match.all.sync.type d|p, a, members; */
static rung_status decode_match(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(rungi_ptx_decode_count(parser, 3, 3));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->operation = rungi_ptx_match_is(&parser->statement.match, "mode", "all");
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], PTX_B32, &instruction->operand[0]));
    instruction->operand[5] = arguments[0].second;
    TRY(rungi_ptx_decode_source(parser, &arguments[1], (ptx_type_t)instruction->type, &instruction->operand[1]));
    TRY(rungi_ptx_decode_source(parser, &arguments[2], PTX_B32, &instruction->operand[4]));
    return rungi_ptx_decode_executor(parser, instruction, "match_b%d",
                                     rungi_ptx_type_bits((ptx_type_t)instruction->type));
}

/* redux.sync.op.type d, a, members; */
static rung_status decode_redux(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    static const char *const operations[] = {"add", "min", "max", "and", "or", "xor"};
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(rungi_ptx_decode_count(parser, 3, 3));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    instruction->operation = (uint8_t)find_mode(&parser->statement.match, "op", operations, 6);
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], PTX_B32, &instruction->operand[0]));
    TRY(rungi_ptx_decode_source(parser, &arguments[1], PTX_B32, &instruction->operand[1]));
    TRY(rungi_ptx_decode_source(parser, &arguments[2], PTX_B32, &instruction->operand[4]));
    return rungi_ptx_decode_executor(parser, instruction, "redux");
}

/* elect.sync d|p, members; */
static rung_status decode_elect(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    TRY(rungi_ptx_decode_destination(parser, &arguments[0], PTX_B32, &instruction->operand[0]));
    instruction->operand[5] = arguments[0].second;
    TRY(rungi_ptx_decode_source(parser, &arguments[1], PTX_B32, &instruction->operand[4]));
    return rungi_ptx_decode_executor(parser, instruction, "elect");
}

/* bar.warp.sync members; */
static rung_status decode_warp_barrier(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 1, 1));
    instruction->control = PTX_CONTROL_WARP_SYNC;
    return rungi_ptx_decode_source(parser, &parser->statement.arguments[0], PTX_B32, &instruction->operand[4]);
}

const ptx_decoder_t rungi_ptx_warp_decoders[] = {{"shuffle", decode_shuffle},
                                                 {"vote", decode_vote},
                                                 {"match", decode_match},
                                                 {"redux", decode_redux},
                                                 {"elect", decode_elect},
                                                 {"warp_barrier", decode_warp_barrier},
                                                 {NULL, NULL}};
