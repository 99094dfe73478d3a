/* SPDX-License-Identifier: Apache-2.0 */
/* decode_memory.c - decodes loads, stores, atomics, asynchronous copies and hints. */
#include "base/try.h"
#include "emulator/ptx/atomic_operations.h"
#include "emulator/ptx/decode.h"

/* Sets the flags of volatile, relaxed, acquire and release accesses. */
static void set_semantics(const ptx_match_t *match, ptx_instruction_t *instruction)
{
    bool acquires = rungi_ptx_match_is(match, "sem", "acquire") || rungi_ptx_match_is(match, "sem", "acq_rel");
    bool releases = rungi_ptx_match_is(match, "sem", "release") || rungi_ptx_match_is(match, "sem", "acq_rel");
    if (rungi_ptx_match_is(match, "sem", "volatile"))
        instruction->flags |= PTX_FLAG_VOLATILE;
    if (acquires || releases || rungi_ptx_match_is(match, "sem", "relaxed"))
        instruction->flags |= PTX_FLAG_RELAXED;
    instruction->flags |= (acquires ? PTX_FLAG_ACQUIRE : 0) | (releases ? PTX_FLAG_RELEASE : 0);
}

static int vector_length(const ptx_match_t *match)
{
    rungi_string_view vector = rungi_ptx_match_slot(match, "vec");
    return vector.length ? vector.text[1] - '0' : 1;
}

/* Returns the type of the first register of a list; `type` if the list has no register. */
static ptx_type_t register_type(const ptx_argument_t *elements, int count, ptx_type_t type)
{
    for (int i = 0; i < count; i++)
        if (elements[i].kind == PTX_ARGUMENT_REGISTER)
            return elements[i].type;
    return type;
}

/* Decodes the data registers of ld and st into the list, each at least as wide as the type. "_" is as wide as the
 * registers. */
static rung_status decode_data(ptx_parser_t *parser, ptx_instruction_t *instruction, const ptx_argument_t *argument,
                               bool is_destination)
{
    bool is_list = argument->kind == PTX_ARGUMENT_LIST;
    const ptx_argument_t *elements = is_list ? &parser->statement.elements[argument->first] : argument;
    if ((is_list ? argument->count : 1) != instruction->vector_length)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "%.*s has %d elements in its list",
                               (int)parser->statement.text.length, parser->statement.text.text, argument->count);
    ptx_type_t type = (ptx_type_t)instruction->type,
               sink_type = register_type(elements, instruction->vector_length, type);
    for (int i = 0; i < instruction->vector_length; i++) {
        ptx_operand_t operand;
        uint8_t register_bytes;
        TRY(rungi_ptx_decode_wide(parser, &elements[i], elements[i].kind == PTX_ARGUMENT_SINK ? sink_type : type,
                                  is_destination, &operand, &register_bytes));
        if (i > 0 && register_bytes != instruction->register_bytes)
            return PTX_DECODE_FAIL(parser, RUNG_STATUS_UNSUPPORTED, "the registers of a vector have different sizes");
        instruction->register_bytes = register_bytes;
        TRY(rungi_ptx_decode_append(parser, instruction, operand));
    }
    return RUNG_OK;
}

static rung_status check_cache_policy(ptx_parser_t *parser, int arguments)
{
    int policy = rungi_ptx_match_has(&parser->statement.match, "cache_hint");
    return rungi_ptx_decode_count(parser, arguments + policy, arguments + policy);
}

/* Loads from and stores to parameters of functions use the list for data; bytes per lane are in offset2. */
static rung_status decode_access(ptx_parser_t *parser, ptx_instruction_t *instruction, bool is_load)
{
    const ptx_statement_t *statement = &parser->statement;
    const ptx_argument_t *data = &statement->arguments[is_load ? 0 : 1];
    const ptx_argument_t *address = &statement->arguments[is_load ? 1 : 0];
    TRY(check_cache_policy(parser, 2));
    set_semantics(&statement->match, instruction);
    instruction->space = (uint8_t)rungi_ptx_decode_space(&statement->match);
    instruction->vector_length = (uint8_t)vector_length(&statement->match);
    instruction->element_bytes = (uint8_t)(rungi_ptx_type_bits((ptx_type_t)instruction->type) / 8);
    if (instruction->element_bytes * instruction->vector_length > 32)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "an access of more than 32 bytes per thread is not valid");
    TRY(rungi_ptx_decode_address(parser, instruction, address, 0, (ptx_space_t)instruction->space, false));
    instruction->offset2 = instruction->list_length;
    instruction->list_length = 0;
    TRY(decode_data(parser, instruction, data, is_load));
    const char *action = is_load ? "load" : "store";
    if (instruction->space == PTX_SPACE_FUNCTION_PARAM) {
        int64_t bytes = (int64_t)instruction->element_bytes * instruction->vector_length;
        if (instruction->offset + bytes > instruction->offset2)
            return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "the access ends outside of the parameter");
        return rungi_ptx_decode_executor(parser, instruction, "%s_function_param", action);
    }
    if (instruction->space == PTX_SPACE_PARAM && is_load && instruction->operand[0] == 0)
        return rungi_ptx_decode_executor(parser, instruction, "load_param");
    bool is_word = instruction->element_bytes == 4 && instruction->register_bytes == 4;
    bool is_plain_space = instruction->space == PTX_SPACE_GLOBAL || instruction->space == PTX_SPACE_SHARED;
    if (is_word && is_plain_space)
        return rungi_ptx_decode_executor(parser, instruction, "%s_%s_words", action,
                                         instruction->space == PTX_SPACE_GLOBAL ? "global" : "shared");
    return rungi_ptx_decode_executor(parser, instruction, "%s", action);
}

static rung_status decode_load(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_access(parser, instruction, true);
}

static rung_status decode_store(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_access(parser, instruction, false);
}

static ptx_atomic_operation_t atomic_operation(const ptx_match_t *match)
{
    static const char *const names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (rungi_ptx_match_is(match, "op", names[i]))
            return (ptx_atomic_operation_t)i;
    return PTX_ATOMIC_ADD;
}

/* atom d, [a], b{, c};  red [a], b;   Operands: 0 destination (0: none), 1 address, 2 b, 3 c. */
static rung_status decode_atomic(ptx_parser_t *parser, ptx_instruction_t *instruction, bool has_result)
{
    const ptx_statement_t *statement = &parser->statement;
    ptx_type_t type = (ptx_type_t)instruction->type;
    int next = has_result;
    instruction->operation = (uint8_t)atomic_operation(&statement->match);
    TRY(check_cache_policy(parser, has_result + 2 + (instruction->operation == PTX_ATOMIC_CAS)));
    set_semantics(&statement->match, instruction);
    instruction->flags |= PTX_FLAG_RELAXED;
    instruction->space = (uint8_t)rungi_ptx_decode_space(&statement->match);
    instruction->element_bytes = (uint8_t)(rungi_ptx_type_bits(type) / 8);
    if ((instruction->operation == PTX_ATOMIC_INC || instruction->operation == PTX_ATOMIC_DEC) && type != PTX_U32)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "inc and dec need .u32");
    if ((type == PTX_F32 || type == PTX_F64) && instruction->operation != PTX_ATOMIC_ADD)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "atomics of .f32 and .f64 are .add only");
    if (has_result && statement->arguments[0].kind != PTX_ARGUMENT_SINK)
        TRY(rungi_ptx_decode_destination(parser, &statement->arguments[0], type, &instruction->operand[0]));
    TRY(rungi_ptx_decode_address(parser, instruction, &statement->arguments[next], 1, (ptx_space_t)instruction->space,
                                 false));
    TRY(rungi_ptx_decode_source(parser, &statement->arguments[next + 1], type, &instruction->operand[2]));
    if (instruction->operation == PTX_ATOMIC_CAS)
        TRY(rungi_ptx_decode_source(parser, &statement->arguments[next + 2], type, &instruction->operand[3]));
    return rungi_ptx_decode_executor(parser, instruction, "atomic_%s", rungi_ptx_type_name(type));
}

static rung_status decode_atom(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_atomic(parser, instruction, true);
}

static rung_status decode_red(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return decode_atomic(parser, instruction, false);
}

/* cp.async [to], [from], bytes{, size of the source | ignore-src};
 * Operands: 0 destination, 1 source, 2 size of the source (0: all), 3 predicate that ignores the source. */
static rung_status decode_cp_async(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    const ptx_statement_t *statement = &parser->statement;
    const ptx_argument_t *arguments = statement->arguments;
    int policy = rungi_ptx_match_has(&statement->match, "cache_hint");
    int64_t bytes;
    TRY(rungi_ptx_decode_count(parser, 3 + policy, 4 + policy));
    TRY(rungi_ptx_decode_address(parser, instruction, &arguments[0], 0, PTX_SPACE_SHARED, false));
    TRY(rungi_ptx_decode_address(parser, instruction, &arguments[1], 1, PTX_SPACE_GLOBAL, true));
    TRY(rungi_ptx_decode_immediate(parser, &arguments[2], &bytes));
    bool is_valid_size = bytes == 16 ||
                         (rungi_ptx_match_is(&statement->match, "cop", "ca") && (bytes == 4 || bytes == 8));
    if (!is_valid_size)
        return PTX_DECODE_FAIL(parser, RUNG_STATUS_INVALID, "cp.async copies 4, 8 or 16 bytes (with .cg: 16), not %lld",
                               (long long)bytes);
    instruction->element_bytes = (uint8_t)bytes;
    instruction->vector_length = 1;
    if (statement->argument_count - policy == 4) {
        const ptx_argument_t *last = &arguments[3];
        if (last->kind == PTX_ARGUMENT_REGISTER && last->type == PTX_PRED)
            TRY(rungi_ptx_decode_predicate(parser, instruction, last, 3, PTX_FLAG_NEGATE_A));
        else
            TRY(rungi_ptx_decode_source(parser, last, PTX_U32, &instruction->operand[2]));
    }
    return rungi_ptx_decode_executor(parser, instruction, "cp_async");
}

/* Hints: the address is parsed, and nothing happens. */
static rung_status decode_hint(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    return rungi_ptx_decode_executor(parser, instruction, "nop");
}

/* createpolicy.* d, ...: the policy has no meaning here. */
static rung_status decode_createpolicy(ptx_parser_t *parser, ptx_instruction_t *instruction)
{
    uint64_t zero = 0;
    TRY(rungi_ptx_decode_count(parser, 1, 5));
    TRY(rungi_ptx_decode_destination(parser, &parser->statement.arguments[0], PTX_B64, &instruction->operand[0]));
    TRY(rungi_ptx_constant(parser, &zero, 8, &instruction->operand[1]));
    return rungi_ptx_decode_executor(parser, instruction, "mov_b64");
}

const ptx_decoder_t rungi_ptx_memory_decoders[] = {{"load", decode_load},
                                                   {"store", decode_store},
                                                   {"atom", decode_atom},
                                                   {"red", decode_red},
                                                   {"cp_async", decode_cp_async},
                                                   {"address_only", decode_hint},
                                                   {"address_and_size", decode_hint},
                                                   {"fence_tensormap", decode_hint},
                                                   {"createpolicy", decode_createpolicy},
                                                   {NULL, NULL}};
