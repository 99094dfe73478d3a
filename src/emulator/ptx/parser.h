/* SPDX-License-Identifier: Apache-2.0 */
/* parser.h - parses the text of a PTX module and decodes its instructions. */
#pragma once

#include "emulator/ptx/module.h"
#include "emulator/ptx/statement.h"
#include "emulator/ptx/vector.h"

/* What the parser needs from the emulator. */
typedef struct ptx_environment {
    /* Allocates a variable of the module in global memory. It begins with `content_bytes` of `contents`; the rest is 0. */
    rung_status (*allocate)(void *user, const char *name, int64_t bytes, int64_t alignment, const void *contents,
                            int64_t content_bytes, bool is_constant, uint64_t *address);
    /* Finds an executor by its name, or returns NULL. */
    ptx_execute_fn (*find_executor)(const char *name);
    void *user;
} ptx_environment_t;

/* Parses `bytes` of text. The text is copied into the module. */
rung_status rungi_ptx_parse(const char *name, const char *text, size_t bytes, const ptx_environment_t *environment,
                            ptx_module_t **module);

/* ---- For the files of the parser and the decoder --------------------------------------------------------------------- */

typedef struct ptx_fixup { /* of a branch to a label */
    int32_t instruction;
    int32_t list_index; /* of a target list's entry; -1 for ptx_instruction_t.target */
    int scope_depth;
    rungi_string_view name;
    int line;
} ptx_fixup_t;

typedef struct ptx_targets { /* a .branchtargets list; also the functions of .calltargets */
    rungi_string_view *names;
    int32_t count;
} ptx_targets_t;

/* A reference to a variable in shared memory. Offsets are assigned when the whole module is known. */
typedef struct ptx_shared_reference {
    int32_t function, variable;
    int32_t instruction; /* whose `offset` is increased; -1 if a constant refers to the variable */
    int64_t constant;    /* byte offset in the constants */
    int constant_bytes;  /* of one lane */
    bool is_second_offset;
    int64_t generic; /* added for a generic address */
} ptx_shared_reference_t;

typedef struct ptx_shared_variable {
    rungi_string_view name;
    int64_t bytes, alignment, offset;
    bool is_dynamic;
} ptx_shared_variable_t;

typedef struct ptx_call { /* for the layout of shared memory, local memory and recursion */
    int32_t caller, callee;
} ptx_call_t;

typedef struct ptx_mention { /* of a register in an instruction's text; a destination is also listed by its decoder */
    int32_t instruction;
    ptx_operand_t operand;
    int32_t bytes; /* of one lane */
    bool is_destination;
} ptx_mention_t;

typedef struct ptx_register_area { /* of one declaration of registers in a frame */
    int32_t function;
    int64_t first, end; /* bytes */
} ptx_register_area_t;

typedef struct ptx_parser {
    ptx_lexer_t lexer;
    ptx_module_t *module;
    const ptx_environment_t *environment;
    ptx_symbols_t symbols;
    ptx_statement_t statement; /* the one being parsed */
    ptx_function_t *function;  /* being parsed, or NULL */
    int32_t function_index;
    int32_t location;       /* of the last .loc */
    int32_t location_end;   /* instructions before the last .loc */
    int32_t first_location; /* of the function */
    int32_t first_mention;
    int64_t predicate_slot; /* next free predicate in the frame, and the end of its 64 bytes */
    int64_t predicate_slots_end;
    ptx_vector_t instructions, functions, locations, files, variables, constants;
    unsigned char *aligned_constants; /* copy of the constants for the module */
    ptx_vector_t fixups, targets, shared_variables, shared_references, calls, lists;
    ptx_vector_t mentions, ambiguous_locations, register_areas;
    bool lacks_mentions;         /* memory was short */
    ptx_vector_t constant_index; /* hash of constants, to reuse them */
} ptx_parser_t;

/* Fails with "NAME:LINE: message". */
rung_status rungi_ptx_parser_fail(const ptx_parser_t *parser, int line, rung_status status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails with "NAME:LINE: expected `what`, found TOKEN". */
rung_status rungi_ptx_parser_fail_expected(const ptx_parser_t *parser, const char *what);

/* Returns a copy that ends with 0, or NULL after failing with RUNG_STATUS_NO_MEMORY. */
char *rungi_ptx_copy_name(rungi_string_view name);

bool rungi_ptx_parser_is(const ptx_parser_t *parser, char punctuation);
bool rungi_ptx_parser_accept(ptx_parser_t *parser, char punctuation);
rung_status rungi_ptx_parser_expect(ptx_parser_t *parser, char punctuation);
bool rungi_ptx_parser_accept_dot(ptx_parser_t *parser, const char *name); /* ".file" */
rung_status rungi_ptx_parser_expect_name(ptx_parser_t *parser, rungi_string_view *name);
rung_status rungi_ptx_parser_expect_integer(ptx_parser_t *parser, int64_t *value);

/* Skips to the end of a directive that has no effect here. */
void rungi_ptx_parser_skip_directive(ptx_parser_t *parser);

/* Parses a type such as .f32. Returns PTX_TYPE_NONE if the token is not a type. */
ptx_type_t rungi_ptx_parser_accept_type(ptx_parser_t *parser);

/* Parses .entry and .func after the keyword: a declaration or a definition. */
rung_status rungi_ptx_parse_function(ptx_parser_t *parser, bool is_kernel);

/* Parses the body of a function, from "{" to "}". */
rung_status rungi_ptx_parse_body(ptx_parser_t *parser);

/* Begins the locations of a function, parses a .loc directive, and finds callers that the directives leave open
 * (locations.c). */
void rungi_ptx_begin_locations(ptx_parser_t *parser);
rung_status rungi_ptx_parse_location(ptx_parser_t *parser);
void rungi_ptx_resolve_locations(ptx_parser_t *parser);

/* Parses the arguments of the instruction in parser->statement, up to ";". */
rung_status rungi_ptx_parse_arguments(ptx_parser_t *parser);

/* Parses a declaration of variables after its space, for example ".align 4 .b8 name[16] = {...};". */
rung_status rungi_ptx_parse_variables(ptx_parser_t *parser, ptx_space_t space, bool is_extern);

/* Fails if the frame of the function has no room for `count` times `bytes`. */
rung_status rungi_ptx_check_frame(const ptx_parser_t *parser, int64_t count, int64_t bytes);

/* Allocates `count` registers of a type in the function's frame. */
rung_status rungi_ptx_allocate_registers(ptx_parser_t *parser, ptx_type_t type, int64_t count, ptx_operand_t *operand);

/* Returns a constant of 32 equal lanes of 2, 4, 8 or 16 bytes; of a predicate (`bytes` 0), one mask. */
rung_status rungi_ptx_constant(ptx_parser_t *parser, const void *value, int bytes, ptx_operand_t *operand);

/* Decodes parser->statement and appends the instruction. */
rung_status rungi_ptx_decode(ptx_parser_t *parser);

/* Assigns offsets to variables in shared memory and completes references to them. */
rung_status rungi_ptx_layout_shared(ptx_parser_t *parser);

/* Finds the immediate post-dominator of every branch. */
rung_status rungi_ptx_find_reconvergence(ptx_parser_t *parser);

/* Sets ptx_function_t.needs_block_order (block_order.c). */
void rungi_ptx_find_block_order(ptx_parser_t *parser);

/* Notes that the instruction being parsed mentions a register. */
void rungi_ptx_mention(ptx_parser_t *parser, ptx_operand_t operand, ptx_type_t type, bool is_destination);

/* Finds arithmetic with registers that nobody sets, and lets it report them (undefined_registers.c). */
rung_status rungi_ptx_find_undefined(ptx_parser_t *parser);

/* Finds the shared arrays that addresses are in, before registers share places (address_origins.c). */
rung_status rungi_ptx_find_origins(ptx_parser_t *parser);

/* Lets registers share places in the frame (register_allocation.c). */
rung_status rungi_ptx_allocate_places(ptx_parser_t *parser);

/* Finds the accesses to shared memory that ptxas merges into wider ones, and sets ptx_instruction_t.merged. */
rung_status rungi_ptx_merge_accesses(ptx_module_t *module);
