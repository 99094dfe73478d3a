/* SPDX-License-Identifier: Apache-2.0 */
/* decode_control.c - decodes branches, calls, returns and traps. */
#include "base/try.h"
#include "emulator/ptx/barrier_operations.h"
#include "emulator/ptx/decode.h"

static rung_status decode_branch(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 1, 1));
    const ptx_argument_t *argument = &parser->statement.arguments[0];
    instruction->control = PTX_CONTROL_BRANCH;
    if (argument->kind != PTX_ARGUMENT_NAME)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "bra needs a label");
    return rungi_ptx_decode_label(parser, argument->name, -1);
}

/* brx.idx index, targets; */
static rung_status decode_indexed_branch(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    TRY(rungi_ptx_decode_count(parser, 2, 2));
    const ptx_argument_t *list = &parser->statement.arguments[1];
    instruction->control = PTX_CONTROL_INDEXED_BRANCH;
    TRY(rungi_ptx_decode_source(parser, &parser->statement.arguments[0], PTX_U32, &instruction->operand[0]));
    if (list->kind != PTX_ARGUMENT_SYMBOL || list->symbol.kind != PTX_SYMBOL_TARGETS)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "brx.idx needs a .branchtargets list");
    const ptx_targets_t *targets = (const ptx_targets_t *)parser->targets.data + list->symbol.value;
    for (int32_t i = 0; i < targets->count; i++) {
        TRY(rungi_ptx_decode_append(parser, instruction, 0));
        TRY(rungi_ptx_decode_label(parser, targets->names[i], i));
    }
    return RUNG_OK;
}

/* Appends the parameters in parentheses: their operands in the frame. */
static rung_status append_parameters(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *list,
                                     int32_t *count)
{
    *count = list->count;
    for (int32_t i = 0; i < list->count; i++) {
        const ptx_argument_t *argument = &parser->statement.elements[list->first + i];
        if (argument->kind != PTX_ARGUMENT_SYMBOL || argument->symbol.kind != PTX_SYMBOL_PARAMETER ||
            argument->symbol.space != PTX_SPACE_FUNCTION_PARAM)
            return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED,
                                   "arguments of a call must be .param variables of the caller");
        TRY(rungi_ptx_decode_append(parser, instruction, (ptx_operand_t)argument->symbol.value));
        TRY(rungi_ptx_decode_append(parser, instruction, (ptx_operand_t)argument->symbol.bytes));
    }
    return RUNG_OK;
}

/* Checks the numbers of a call against the declaration of its function. */
static rung_status check_call(ptx_parser_t *parser, const ptx_function_t *callee, int32_t results, int32_t arguments)
{
    if (arguments == callee->parameter_count && results == callee->result_count)
        return RUNG_OK;
    return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID,
                           "the call has %d arguments and %d results; %s is declared with %d and %d", (int)arguments,
                           (int)results, callee->name, (int)callee->parameter_count, (int)callee->result_count);
}

/* call (result), function, (arguments), prototype;
 * The list holds offset and bytes of the results, then of the arguments. A call through a register takes the function's
 * index, which is its address, from operand 0. */
static rung_status decode_call(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    int next = 0;
    int32_t results = 0, arguments = 0;
    instruction->control = PTX_CONTROL_CALL;
    TRY(rungi_ptx_decode_count(parser, 1, 4));
    if (statement->arguments[next].kind == PTX_ARGUMENT_LIST)
        TRY(append_parameters(parser, instruction, &statement->arguments[next++], &results));
    if (next == statement->argument_count)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "call needs a function");
    const ptx_argument_t *callee = &statement->arguments[next++];
    if (callee->kind == PTX_ARGUMENT_SYMBOL && callee->symbol.kind == PTX_SYMBOL_FUNCTION) {
        ptx_call_t *call = rungi_ptx_vector_append(&parser->calls, sizeof *call, 1);
        if (!call)
            return RUNG_STATUS_NO_MEMORY;
        instruction->target = (int32_t)callee->symbol.value;
        *call = (ptx_call_t){parser->function_index, instruction->target};
    } else if (callee->kind == PTX_ARGUMENT_REGISTER) {
        TRY(rungi_ptx_decode_source(parser, callee, PTX_U64, &instruction->operand[0]));
    } else {
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "the called function is not declared");
    }
    if (next < statement->argument_count && statement->arguments[next].kind == PTX_ARGUMENT_LIST)
        TRY(append_parameters(parser, instruction, &statement->arguments[next++], &arguments));
    if (results > UINT8_MAX || arguments > UINT8_MAX)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "a call can have at most %d arguments", UINT8_MAX);
    instruction->vector_length = (uint8_t)results;
    instruction->operation = (uint8_t)arguments;
    const ptx_function_t *functions = parser->functions.data;
    return instruction->target >= 0 ? check_call(parser, &functions[instruction->target], results, arguments) : RUNG_OK;
}

static rung_status decode_plain(ptx_parser_t *parser, ptx_instruction_t *instruction, ptx_control_t control)
{
    instruction->control = (uint8_t)control;
    return rungi_ptx_decode_count(parser, 0, 0);
}

static rung_status decode_return(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_plain(parser, instruction, PTX_CONTROL_RETURN);
}

static rung_status decode_exit(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_plain(parser, instruction, PTX_CONTROL_EXIT);
}

static rung_status decode_trap(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_plain(parser, instruction, PTX_CONTROL_TRAP);
}

/* bar.sync a{, b};  bar.arrive a, b;  bar.red.popc.u32 d, a{, b}, {!}c;
 * Operands: 0 destination, 1 barrier, 2 threads (0: all), 3 predicate. */
static rung_status decode_barrier(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    const ptx_argument_t *arguments = statement->arguments;
    int next = 0, count = statement->argument_count;
    instruction->control = PTX_CONTROL_BARRIER;
    instruction->operation = rungi_ptx_match_is(&statement->match, "op", "arrive") ? PTX_BARRIER_ARRIVE
                                                                                   : PTX_BARRIER_SYNC;
    if (rungi_ptx_match_is(&statement->match, "op", "red")) {
        bool is_count = rungi_ptx_match_is(&statement->match, "bool", "popc");
        instruction->operation = is_count                                               ? PTX_BARRIER_RED_POPC
                                 : rungi_ptx_match_is(&statement->match, "bool", "and") ? PTX_BARRIER_RED_AND
                                                                                        : PTX_BARRIER_RED_OR;
        TRY(rungi_ptx_decode_count(parser, 3, 4));
        TRY(rungi_ptx_decode_destination(parser, &arguments[next++], is_count ? PTX_U32 : PTX_PRED,
                                         &instruction->operand[0]));
        TRY(rungi_ptx_decode_predicate(parser, instruction, &arguments[count - 1], 3, PTX_FLAG_NEGATE_A));
        count--;
    } else {
        TRY(rungi_ptx_decode_count(parser, instruction->operation == PTX_BARRIER_ARRIVE ? 2 : 1, 2));
    }
    TRY(rungi_ptx_decode_source(parser, &arguments[next++], PTX_U32, &instruction->operand[1]));
    if (next < count)
        TRY(rungi_ptx_decode_source(parser, &arguments[next], PTX_U32, &instruction->operand[2]));
    return RUNG_OK;
}

const ptx_decoder_t rungi_ptx_control_decoders[] = {
    {"branch", decode_branch},   {"indexed_branch", decode_indexed_branch},
    {"call", decode_call},       {"return", decode_return},
    {"exit", decode_exit},       {"trap", decode_trap},
    {"barrier", decode_barrier}, {NULL, NULL}};
