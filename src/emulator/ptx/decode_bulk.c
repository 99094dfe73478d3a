/* SPDX-License-Identifier: Apache-2.0 */
/* decode_bulk.c - decodes bulk copies and tensor copies.
 *
 * The list holds addresses as pairs, a base (0: none) and a constant that is added to it (0: none); bit i of offset2 says that
 * base i is a register of 8 bytes. The coordinates of a tensor follow the addresses. */
#include "base/try.h"
#include "emulator/ptx/atomic_operations.h"
#include "emulator/ptx/decode.h"
#include "emulator/ptx/hopper_operations.h"

/* Appends [address] to the list. */
static rung_status append_address(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *argument)
{
    ptx_operand_t base = 0, offset = 0;
    int index = instruction->list_length / 2, bytes = 8;
    if (argument->kind != PTX_ARGUMENT_ADDRESS)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s: the operand is not an address in brackets",
                               (int)parser->statement.text.length, parser->statement.text.text);
    if (argument->base == PTX_ARGUMENT_SYMBOL) {
        ptx_argument_t symbol = *argument;
        symbol.kind = PTX_ARGUMENT_SYMBOL;
        TRY(rungi_ptx_decode_source(parser, &symbol, PTX_U64, &base));
    } else {
        int64_t value = argument->offset;
        if (argument->base == PTX_ARGUMENT_REGISTER) {
            base = argument->operand;
            bytes = rungi_ptx_register_bytes(argument->type);
        }
        if (value != 0)
            TRY(rungi_ptx_constant(parser, &value, 8, &offset));
    }
    if (bytes != 4 && bytes != 8)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "the address register has the wrong size");
    instruction->offset2 |= (int64_t)(bytes == 8) << index;
    TRY(rungi_ptx_decode_append(parser, instruction, base));
    return rungi_ptx_decode_append(parser, instruction, offset);
}

/* Appends [tensor map, {coordinates}]: the address now, the coordinates with append_coordinates(). */
static rung_status append_coordinates(ptx_parser_t *parser, ptx_instruction_t *instruction,
                                      const ptx_argument_t *argument)
{
    int dimensions = rungi_ptx_match_slot(&parser->statement.match, "dim").text[0] - '0';
    if (argument->count != dimensions)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s has %d coordinates",
                               (int)parser->statement.text.length, parser->statement.text.text, argument->count);
    instruction->vector_length = (uint8_t)dimensions;
    for (int i = 0; i < dimensions; i++) {
        ptx_operand_t operand;
        TRY(rungi_ptx_decode_source(parser, &parser->statement.elements[argument->first + i], PTX_S32, &operand));
        TRY(rungi_ptx_decode_append(parser, instruction, operand));
    }
    return RUNG_OK;
}

static void set_reduction(const ptx_match_t *match, ptx_instruction_t *instruction)
{
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (rungi_ptx_match_is(match, "op", names[i]))
            instruction->operation = (uint8_t)(PTX_BULK_REDUCES + i);
}

/* Decodes the block mask of .multicast::cluster into operand 1. Returns the index of the next argument. */
static rung_status decode_mask(ptx_parser_t *parser, ptx_instruction_t *instruction, int *next)
{
    if (!rungi_ptx_match_has(&parser->statement.match, "multicast"))
        return RUNG_OK;
    if (*next >= parser->statement.argument_count)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "the mask of .multicast::cluster is missing");
    return rungi_ptx_decode_source(parser, &parser->statement.arguments[(*next)++], PTX_U16, &instruction->operand[1]);
}

static rung_status check_end(ptx_parser_t *parser, int next)
{
    int count = next + rungi_ptx_match_has(&parser->statement.match, "cache_hint");
    return rungi_ptx_decode_count(parser, count, count);
}

/* cp{.reduce}.async.bulk to shared memory: [to], [from], bytes, [mbarrier]{, mask}{, policy};  Operand 0: bytes. */
static rung_status decode_bulk_load(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    int next = 4;
    TRY(rungi_ptx_decode_count(parser, 4, 6));
    TRY(append_address(parser, instruction, &arguments[0]));
    TRY(append_address(parser, instruction, &arguments[1]));
    TRY(append_address(parser, instruction, &arguments[3]));
    TRY(rungi_ptx_decode_source(parser, &arguments[2], PTX_U32, &instruction->operand[0]));
    TRY(decode_mask(parser, instruction, &next));
    TRY(check_end(parser, next));
    set_reduction(&parser->statement.match, instruction);
    instruction->element_bytes = 16;
    bool is_global = rungi_ptx_match_is(&parser->statement.match, "src", "global");
    return rungi_ptx_decode_executor(parser, instruction, is_global ? "bulk_load" : "bulk_exchange");
}

/* cp{.reduce}.async.bulk to global memory: [to], [from], bytes{, policy}; */
static rung_status decode_bulk_store(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(check_end(parser, 3));
    TRY(append_address(parser, instruction, &arguments[0]));
    TRY(append_address(parser, instruction, &arguments[1]));
    TRY(rungi_ptx_decode_source(parser, &arguments[2], PTX_U32, &instruction->operand[0]));
    set_reduction(&parser->statement.match, instruction);
    instruction->element_bytes = 16;
    return rungi_ptx_decode_executor(parser, instruction, "bulk_store");
}

/* cp.async.bulk.tensor to shared memory: [to], [map, {coordinates}], [mbarrier]{, mask}{, policy}; */
static rung_status decode_tensor_load(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    int next = 3;
    TRY(rungi_ptx_decode_count(parser, 3, 5));
    TRY(append_address(parser, instruction, &arguments[0]));
    TRY(append_address(parser, instruction, &arguments[1]));
    TRY(append_address(parser, instruction, &arguments[2]));
    TRY(append_coordinates(parser, instruction, &arguments[1]));
    TRY(decode_mask(parser, instruction, &next));
    TRY(check_end(parser, next));
    instruction->element_bytes = 16;
    return rungi_ptx_decode_executor(parser, instruction, "tensor_load");
}

/* cp{.reduce}.async.bulk.tensor to global memory: [map, {coordinates}], [from]{, policy}; */
static rung_status decode_tensor_store(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    TRY(check_end(parser, 2));
    TRY(append_address(parser, instruction, &arguments[0]));
    TRY(append_address(parser, instruction, &arguments[1]));
    TRY(append_coordinates(parser, instruction, &arguments[0]));
    set_reduction(&parser->statement.match, instruction);
    instruction->element_bytes = 16;
    return rungi_ptx_decode_executor(parser, instruction, "tensor_store");
}

/* st.async [to], value or {values}, [mbarrier];  red.async [to], value, [mbarrier];  The values follow the addresses. */
static rung_status decode_async_store(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_argument_t *arguments = parser->statement.arguments;
    rungi_string_view vector = rungi_ptx_match_slot(&parser->statement.match, "vec");
    ptx_type_t type = (ptx_type_t)instruction->type;
    TRY(rungi_ptx_decode_count(parser, 3, 3));
    instruction->space = PTX_SPACE_SHARED_CLUSTER;
    instruction->vector_length = vector.length ? (uint8_t)(vector.text[1] - '0') : 1;
    instruction->element_bytes = (uint8_t)(rungi_ptx_type_bits(type) / 8);
    TRY(append_address(parser, instruction, &arguments[0]));
    TRY(rungi_ptx_decode_append(parser, instruction, 0)); /* there is no source address */
    TRY(rungi_ptx_decode_append(parser, instruction, 0));
    TRY(append_address(parser, instruction, &arguments[2]));
    TRY(rungi_ptx_decode_list(parser, instruction, &arguments[1], type, false));
    if (instruction->list_length != 6 + instruction->vector_length)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s has the wrong number of values",
                               (int)parser->statement.text.length, parser->statement.text.text);
    set_reduction(&parser->statement.match, instruction);
    return rungi_ptx_decode_executor(parser, instruction, "async_store");
}

const ptx_decoder_t rungi_ptx_bulk_decoders[] = {
    {"bulk_load", decode_bulk_load},       {"bulk_store", decode_bulk_store},   {"tensor_load", decode_tensor_load},
    {"tensor_store", decode_tensor_store}, {"async_store", decode_async_store}, {NULL, NULL}};
