/* SPDX-License-Identifier: Apache-2.0 */
/* shared_layout.c - assigns offsets to variables in shared memory, and finds what each kernel needs.
 *
 * A module may hold many kernels, each with its own variables. Two variables must not overlap if one kernel, or a function
 * that it calls, uses both; others may. Each variable gets the lowest offset that this rule allows. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/ptx/parser.h"

typedef struct layout {
    ptx_parser_t *parser;
    int32_t functions, variables;
    unsigned char *calls; /* functions x functions: transitive closure, itself included */
    unsigned char *uses;  /* functions x variables: of the function or its callees */
} layout_t;

/* Any function may be called through a register, so kernels that make such calls reach every function. */
static void close_calls(layout_t *layout)
{
    const ptx_call_t *calls = layout->parser->calls.data;
    int32_t n = layout->functions;
    const ptx_function_t *functions = layout->parser->functions.data;
    const ptx_instruction_t *instructions = layout->parser->instructions.data;
    for (int32_t i = 0; i < layout->parser->calls.count; i++)
        layout->calls[(size_t)calls[i].caller * (size_t)n + (size_t)calls[i].callee] = 1;
    for (int32_t f = 0; f < n; f++)
        for (int32_t i = functions[f].first; i < functions[f].end; i++)
            if (instructions[i].control == PTX_CONTROL_CALL && instructions[i].target < 0)
                for (int32_t g = 0; g < n; g++)
                    layout->calls[(size_t)f * (size_t)n + (size_t)g] = !functions[g].is_kernel;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = 0; i < n; i++)
            if (layout->calls[(size_t)i * (size_t)n + (size_t)k])
                for (int32_t j = 0; j < n; j++)
                    layout->calls[(size_t)i * (size_t)n + (size_t)j] |=
                        layout->calls[(size_t)k * (size_t)n + (size_t)j];
}

static void find_uses(layout_t *layout)
{
    const ptx_shared_reference_t *references = layout->parser->shared_references.data;
    size_t n = (size_t)layout->functions, v = (size_t)layout->variables;
    for (int32_t i = 0; i < layout->parser->shared_references.count; i++)
        for (size_t f = 0; f < n; f++)
            if (f == (size_t)references[i].function || layout->calls[f * n + (size_t)references[i].function])
                layout->uses[f * v + (size_t)references[i].variable] = 1;
}

static bool used_together(const layout_t *layout, int32_t x, int32_t y)
{
    const ptx_function_t *functions = layout->parser->functions.data;
    size_t v = (size_t)layout->variables;
    for (int32_t f = 0; f < layout->functions; f++)
        if (functions[f].is_kernel && layout->uses[(size_t)f * v + (size_t)x] &&
            layout->uses[(size_t)f * v + (size_t)y])
            return true;
    return false;
}

/* Moves a variable behind each earlier one that it overlaps and must not, until none is left. */
static void place(const layout_t *layout, int32_t index)
{
    ptx_shared_variable_t *variables = layout->parser->shared_variables.data;
    ptx_shared_variable_t *variable = &variables[index];
    bool has_moved = true;
    variable->offset = 0;
    while (has_moved) {
        has_moved = false;
        for (int32_t i = 0; i < index; i++) {
            const ptx_shared_variable_t *other = &variables[i];
            if (other->is_dynamic || other->offset + other->bytes <= variable->offset ||
                variable->offset + variable->bytes <= other->offset || !used_together(layout, i, index))
                continue;
            variable->offset = (other->offset + other->bytes + variable->alignment - 1) & -variable->alignment;
            has_moved = true;
        }
    }
}

/* Sets what each kernel needs, and where dynamic shared memory begins: behind the static memory of every kernel that uses
 * it, since functions are compiled once for all kernels. */
static void set_sizes(layout_t *layout)
{
    ptx_function_t *functions = layout->parser->functions.data;
    const ptx_shared_variable_t *variables = layout->parser->shared_variables.data;
    int64_t dynamic_offset = 0, alignment = 128;
    for (int32_t f = 0; f < layout->functions; f++) {
        for (int32_t i = 0; i < layout->variables; i++) {
            if (!layout->uses[(size_t)f * (size_t)layout->variables + (size_t)i])
                continue;
            int64_t end = variables[i].offset + variables[i].bytes;
            functions[f].uses_dynamic_shared |= variables[i].is_dynamic;
            if (!variables[i].is_dynamic && end > functions[f].static_shared_bytes)
                functions[f].static_shared_bytes = end;
        }
        functions[f].uses_recursion = layout->calls[(size_t)f * (size_t)layout->functions + (size_t)f];
        if (functions[f].is_kernel && functions[f].uses_dynamic_shared &&
            functions[f].static_shared_bytes > dynamic_offset)
            dynamic_offset = functions[f].static_shared_bytes;
    }
    for (int32_t i = 0; i < layout->variables; i++)
        if (variables[i].is_dynamic && variables[i].alignment > alignment)
            alignment = variables[i].alignment;
    layout->parser->module->dynamic_shared_offset = (dynamic_offset + alignment - 1) & -alignment;
}

/* Writes the offsets into the instructions and constants that refer to variables. */
static void complete_references(const layout_t *layout)
{
    const ptx_shared_variable_t *variables = layout->parser->shared_variables.data;
    const ptx_shared_reference_t *references = layout->parser->shared_references.data;
    ptx_instruction_t *instructions = layout->parser->instructions.data;
    unsigned char *constants = layout->parser->constants.data;
    for (int32_t i = 0; i < layout->parser->shared_references.count; i++) {
        const ptx_shared_reference_t *reference = &references[i];
        const ptx_shared_variable_t *variable = &variables[reference->variable];
        int64_t offset = variable->is_dynamic ? layout->parser->module->dynamic_shared_offset : variable->offset;
        uint64_t address = (uint64_t)(offset + reference->generic);
        if (reference->instruction >= 0 && reference->is_second_offset)
            instructions[reference->instruction].offset2 += offset;
        else if (reference->instruction >= 0)
            instructions[reference->instruction].offset += offset;
        for (int lane = 0; reference->instruction < 0 && lane < PTX_WARP_LANES; lane++)
            memcpy(constants + reference->constant + (size_t)lane * (size_t)reference->constant_bytes, &address,
                   (size_t)reference->constant_bytes);
    }
}

/* Adds the local memory of callees: the longest chain. Recursion gets a fixed stack. */
static void add_callee_local_memory(const layout_t *layout)
{
    enum { RECURSION_STACK_BYTES = 64 * 1024 };
    ptx_function_t *functions = layout->parser->functions.data;
    int32_t n = layout->functions;
    for (int32_t f = 0; f < n; f++) {
        int64_t callees = 0;
        bool recurses = false;
        if (!functions[f].is_kernel)
            continue;
        for (int32_t g = 0; g < n; g++)
            if (g != f && layout->calls[(size_t)f * (size_t)n + (size_t)g]) {
                callees += (functions[g].local_bytes + 15) & -16;
                recurses |= layout->calls[(size_t)g * (size_t)n + (size_t)g] != 0;
            }
        functions[f].stack_bytes = ((functions[f].local_bytes + 15) & -16) + callees +
                                   (recurses ? RECURSION_STACK_BYTES : 0);
    }
}

/* Finds the last part of a mangled name, for example a_tile in _ZZ5sgemmE6a_tile, in its first `end` characters. */
static bool find_last_part(rungi_string_view name, size_t end, rungi_string_view *part)
{
    for (size_t i = end; i > 3; i--) {
        size_t next = i, length = 0;
        while (next < end && name.text[next] >= '0' && name.text[next] <= '9' && length < end)
            length = 10 * length + (size_t)(name.text[next++] - '0');
        *part = rungi_string_view_of(name.text + next, length);
        if (name.text[i - 1] == 'E' && next > i && length == end - next)
            return true;
    }
    return false;
}

/* Returns the name of a variable without that of its function. The second variable of a name ends with _0. */
static rungi_string_view array_name(rungi_string_view name)
{
    rungi_string_view part;
    size_t suffix = name.length;
    if (name.length < 4 || memcmp(name.text, "_ZZ", 3) != 0)
        return name;
    if (find_last_part(name, name.length, &part))
        return part;
    while (suffix > 3 && name.text[suffix - 1] != '_')
        suffix--;
    return find_last_part(name, suffix - 1, &part) ? part : name;
}

/* Lists the variables of each kernel for the counts. */
static bool list_arrays(const layout_t *layout)
{
    ptx_module_t *module = layout->parser->module;
    const ptx_function_t *functions = layout->parser->functions.data;
    const ptx_shared_variable_t *variables = layout->parser->shared_variables.data;
    size_t n = (size_t)layout->functions, v = (size_t)layout->variables, count = 0;
    for (size_t i = 0; i < n * v; i++)
        count += functions[i / v].is_kernel && layout->uses[i];
    module->shared_arrays = calloc(count + 1, sizeof *module->shared_arrays);
    for (size_t i = 0; module->shared_arrays && i < n * v; i++) {
        const ptx_shared_variable_t *variable = &variables[i % v];
        if (!functions[i / v].is_kernel || !layout->uses[i])
            continue;
        rungi_string_view name = array_name(variable->name);
        ptx_shared_array_t *array = &module->shared_arrays[module->shared_array_count++];
        array->kernel = (int32_t)(i / v);
        array->offset = variable->is_dynamic ? module->dynamic_shared_offset : variable->offset;
        array->bytes = variable->is_dynamic ? INT32_MAX : variable->bytes;
        array->name = calloc(name.length + 1, 1);
        if (!array->name)
            return false;
        memcpy(array->name, name.text, name.length);
    }
    return module->shared_arrays != NULL;
}

rung_status rungi_ptx_layout_shared(ptx_parser_t *parser)
{
    layout_t layout = {
        .parser = parser, .functions = parser->functions.count, .variables = parser->shared_variables.count};
    size_t n = (size_t)layout.functions, v = (size_t)layout.variables;
    layout.calls = calloc(n * n + 1, 1);
    layout.uses = calloc(n * v + 1, 1);
    if (layout.calls && layout.uses) {
        close_calls(&layout);
        find_uses(&layout);
        for (int32_t i = 0; i < layout.variables; i++)
            place(&layout, i);
        set_sizes(&layout);
        complete_references(&layout);
        add_callee_local_memory(&layout);
    }
    bool has_memory = layout.calls && layout.uses && list_arrays(&layout);
    free(layout.calls);
    free(layout.uses);
    return has_memory ? RUNG_OK : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to lay out shared memory");
}
