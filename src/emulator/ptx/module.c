/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - see module.h. */
#include "emulator/ptx/module.h"

#include <stdlib.h>
#include <string.h>

#include "base/aligned_memory.h"

static const struct {
    const char *name;
    int bits;
    ptx_type_kind_t kind;
} types[PTX_TYPE_COUNT] = {
    {"", 0, PTX_KIND_NONE},
#define PTX_TYPE(enumerator, name, bits, kind) {name, bits, PTX_KIND_##kind},
#include "emulator/ptx/types.def"
#undef PTX_TYPE
};

const char *rungi_ptx_type_name(ptx_type_t type)
{
    return types[type].name;
}

int rungi_ptx_type_bits(ptx_type_t type)
{
    return types[type].bits;
}

ptx_type_kind_t rungi_ptx_type_kind(ptx_type_t type)
{
    return types[type].kind;
}

int rungi_ptx_register_bytes(ptx_type_t type)
{
    return types[type].bits <= 16 ? 2 : types[type].bits / 8;
}

ptx_type_t rungi_ptx_type_of(rungi_string_view name)
{
    for (int type = 1; type < PTX_TYPE_COUNT; type++)
        if (rungi_string_view_equals(name, types[type].name))
            return (ptx_type_t)type;
    return PTX_TYPE_NONE;
}

/* The user's file is the one of the outermost call, where the kernel is. Inlined library code is shown at the line of that
 * file that called it. */
int32_t rungi_ptx_user_location(const ptx_location_t *locations, int32_t location)
{
    int32_t outermost = location;
    if (location < 0)
        return -1;
    for (int depth = 0; depth < 256 && locations[outermost].inlined_at >= 0; depth++)
        outermost = locations[outermost].inlined_at;
    int32_t user = location;
    while (user != outermost && locations[user].file != locations[outermost].file)
        user = locations[user].inlined_at;
    return user;
}

int32_t rungi_ptx_module_user_location(const ptx_module_t *module, int32_t location)
{
    return rungi_ptx_user_location(module->locations, location);
}

static void free_parameters(ptx_parameter_t *parameters, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        free(parameters[i].name);
    free(parameters);
}

void rungi_ptx_module_destroy(ptx_module_t *module)
{
    if (!module)
        return;
    for (int32_t i = 0; i < module->function_count; i++) {
        free(module->functions[i].name);
        free_parameters(module->functions[i].parameters, module->functions[i].parameter_count);
        free_parameters(module->functions[i].results, module->functions[i].result_count);
    }
    for (int32_t i = 0; i < module->file_count; i++)
        free(module->files[i]);
    for (int32_t i = 0; i < module->variable_count; i++)
        free(module->variables[i].name);
    for (int32_t i = 0; i < module->shared_array_count; i++)
        free(module->shared_arrays[i].name);
    free(module->shared_arrays);
    free(module->instructions);
    free(module->functions);
    free(module->locations);
    free(module->files);
    free(module->variables);
    free(module->lists);
    free(module->undefined_reads);
    rungi_aligned_free(module->constants);
    free(module->text);
    free(module->name);
    free(module->executed);
    free(module);
}
