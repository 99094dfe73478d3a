/* SPDX-License-Identifier: Apache-2.0 */
/* emulator_api.c - the functions of rung/emulator.h that create emulators, load modules and launch kernels. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/try.h"
#include "base/versioned_struct.h"
#include "emulator/counts/counts.h"
#include "emulator/machine/emulator.h"
#include "emulator/ptx/parser.h"

/* ---- Emulators ----------------------------------------------------------------------------------------------------- */

enum { THREADS_MAX = 256 };
static const int64_t default_memory_bytes = (int64_t)64 << 30, smallest_memory_bytes = 1 << 20;

static rung_status read_options(const rung_emulator_options *given, rung_emulator_options *options)
{
    *options = rung_emulator_options_default();
    if (given)
        TRY(rungi_versioned_struct_read(given, options, sizeof *options, "rung_emulator_options",
                                        "rung_emulator_options_default"));
    if (options->threads < 0 || options->threads > THREADS_MAX)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "threads is %lld; the maximum is %d (0 selects the number of available CPUs)",
                          (long long)options->threads, THREADS_MAX);
    if (options->memory_bytes < 0 || (options->memory_bytes > 0 && options->memory_bytes < smallest_memory_bytes))
        return rungi_fail(RUNG_STATUS_INVALID, "memory_bytes is %lld; the minimum is %lld (0 selects 64 GiB)",
                          (long long)options->memory_bytes, (long long)smallest_memory_bytes);
    if (options->checks & ~(uint32_t)RUNG_EMULATOR_CHECK_ALL)
        return rungi_fail(RUNG_STATUS_INVALID, "checks is 0x%x; it has bits that no check uses", options->checks);
    if (options->max_instructions == 0)
        options->max_instructions = (int64_t)1 << 40;
    return RUNG_OK;
}

/* Reserves addresses; pages take memory when they are used. Halves the size if the system refuses. If the addresses that
 * kernels see are free on the host, they are used there, too, so that host and kernels can share pointers. */
static rung_status reserve_memory(rung_emulator *emulator)
{
    int64_t bytes = emulator->options.memory_bytes ? emulator->options.memory_bytes : default_memory_bytes;
    void *memory = MAP_FAILED;
    for (; bytes >= smallest_memory_bytes; bytes /= 2) {
        memory = mmap((void *)(uintptr_t)PTX_GLOBAL_BASE, (size_t)bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory != MAP_FAILED || emulator->options.memory_bytes)
            break;
    }
    if (memory == MAP_FAILED)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "cannot reserve %lld bytes of addresses; set memory_bytes to less",
                          (long long)bytes);
    emulator->global = memory;
    emulator->global_bytes = (uint64_t)bytes;
    return RUNG_OK;
}

rung_status rung_emulator_create(const rung_emulator_options *options, rung_emulator **emulator)
{
    rung_emulator_options read;
    if (!emulator)
        return rungi_fail(RUNG_STATUS_INVALID, "emulator is NULL");
    *emulator = NULL;
    TRY(read_options(options, &read));
    rung_emulator *created = calloc(1, sizeof *created);
    if (!created)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for an emulator");
    created->options = read;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    created->threads = read.threads               ? (int)read.threads
                       : processors < 1           ? 1
                       : processors > THREADS_MAX ? THREADS_MAX
                                                  : (int)processors;
    rung_status status = reserve_memory(created);
    if (status != RUNG_OK) {
        free(created);
        return status;
    }
    pthread_mutex_init(&created->lock, NULL);
    *emulator = created;
    return RUNG_OK;
}

void rung_emulator_destroy(rung_emulator *emulator)
{
    if (!emulator)
        return;
    while (emulator->modules)
        rung_emulator_module_unload(emulator->modules);
    munmap(emulator->global, emulator->global_bytes);
    if (emulator->shadow)
        munmap(emulator->shadow, emulator->global_bytes);
    pthread_mutex_destroy(&emulator->lock);
    free(emulator->allocations);
    free(emulator->findings);
    rungi_ptx_counts_free(emulator);
    free(emulator);
}

rung_status rung_emulator_set_checks(rung_emulator *emulator, uint32_t checks, bool count_accesses)
{
    if (!emulator || (checks & ~(uint32_t)RUNG_EMULATOR_CHECK_ALL))
        return rungi_fail(RUNG_STATUS_INVALID, "the emulator is NULL, or checks has bits that no check uses");
    emulator->options.checks = checks;
    emulator->options.count_accesses = count_accesses;
    return RUNG_OK;
}

/* ---- Modules and kernels ------------------------------------------------------------------------------------------- */

static rung_status allocate_variable(void *user, const char *name, int64_t bytes, int64_t alignment,
                                     const void *contents, int64_t content_bytes, bool is_constant, uint64_t *address)
{
    rung_emulator *emulator = user;
    TRY(rungi_ptx_allocate(emulator, name, bytes > 0 ? bytes : 1, alignment, is_constant, address));
    if (content_bytes > 0)
        memcpy(emulator->global + (*address - PTX_GLOBAL_BASE), contents, (size_t)content_bytes);
    rungi_ptx_check_host_write(emulator, *address, bytes); /* variables without initial values are zero */
    return RUNG_OK;
}

static bool fill_kernel(rung_emulator_module *owner, int32_t index, rung_emulator_kernel *kernel)
{
    const ptx_function_t *function = &owner->module->functions[index];
    size_t count = (size_t)function->parameter_count;
    *kernel = (rung_emulator_kernel){.owner = owner, .function = index};
    kernel->offsets = calloc(count + 1, sizeof *kernel->offsets);
    kernel->bytes = calloc(count + 1, sizeof *kernel->bytes);
    if (!kernel->offsets || !kernel->bytes)
        return false;
    for (size_t i = 0; i < count; i++) {
        kernel->offsets[i] = function->parameters[i].offset;
        kernel->bytes[i] = function->parameters[i].bytes;
    }
    kernel->info = (rung_emulator_kernel_info){.name = function->name,
                                               .parameter_count = (int64_t)count,
                                               .parameter_offsets = kernel->offsets,
                                               .parameter_bytes = kernel->bytes,
                                               .static_shared_bytes = function->static_shared_bytes,
                                               .local_bytes = function->stack_bytes};
    memcpy(kernel->info.required_block, function->required_block, sizeof function->required_block);
    memcpy(kernel->info.max_block, function->max_block, sizeof function->max_block);
    return true;
}

static bool list_kernels(rung_emulator_module *module)
{
    const ptx_module_t *parsed = module->module;
    module->kernels = calloc((size_t)parsed->function_count + 1, sizeof *module->kernels);
    for (int32_t i = 0; module->kernels && i < parsed->function_count; i++)
        if (parsed->functions[i].is_kernel && parsed->functions[i].is_defined &&
            !fill_kernel(module, i, &module->kernels[module->kernel_count++]))
            return false;
    return module->kernels != NULL;
}

rung_status rung_emulator_module_load(rung_emulator *emulator, const char *name, const char *text, size_t bytes,
                                      rung_emulator_module **module)
{
    if (!emulator || !name || !text || !module)
        return rungi_fail(RUNG_STATUS_INVALID, "the emulator, the name, the text or the module is NULL");
    *module = NULL;
    ptx_environment_t environment = {allocate_variable, rungi_ptx_find_executor, emulator};
    rung_emulator_module *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a module");
    loaded->emulator = emulator;
    loaded->next = emulator->modules;
    emulator->modules = loaded;
    rung_status status = rungi_ptx_parse(name, text, bytes, &environment, &loaded->module);
    if (status == RUNG_OK && !list_kernels(loaded))
        status = rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a module");
    if (status != RUNG_OK) {
        rung_emulator_module_unload(loaded);
        return status;
    }
    *module = loaded;
    return RUNG_OK;
}

void rung_emulator_module_unload(rung_emulator_module *module)
{
    if (!module)
        return;
    rung_emulator_module **link = &module->emulator->modules;
    while (*link != module)
        link = &(*link)->next;
    *link = module->next;
    for (int32_t i = 0; module->module && i < module->module->variable_count; i++)
        rung_emulator_free(module->emulator, module->module->variables[i].address);
    for (int64_t i = 0; i < module->kernel_count; i++) {
        free(module->kernels[i].offsets);
        free(module->kernels[i].bytes);
    }
    free(module->kernels);
    rungi_ptx_module_destroy(module->module);
    free(module);
}

rung_status rung_emulator_module_variable(const rung_emulator_module *module, const char *name, uint64_t *address,
                                          int64_t *bytes)
{
    for (int32_t i = 0; module && name && i < module->module->variable_count; i++) {
        const ptx_variable_t *variable = &module->module->variables[i];
        if (strcmp(variable->name, name) != 0)
            continue;
        *address = variable->address;
        *bytes = variable->bytes;
        return RUNG_OK;
    }
    return rungi_fail(RUNG_STATUS_INVALID, "the module has no variable \"%s\"", name ? name : "");
}

int64_t rung_emulator_kernel_count(const rung_emulator_module *module)
{
    return module ? module->kernel_count : 0;
}

rung_emulator_kernel *rung_emulator_kernel_at(rung_emulator_module *module, int64_t index)
{
    return module && index >= 0 && index < module->kernel_count ? &module->kernels[index] : NULL;
}

rung_status rung_emulator_kernel_find(rung_emulator_module *module, const char *name, rung_emulator_kernel **kernel)
{
    for (int64_t i = 0; module && name && i < module->kernel_count; i++)
        if (strcmp(module->kernels[i].info.name, name) == 0) {
            *kernel = &module->kernels[i];
            return RUNG_OK;
        }
    return rungi_fail(RUNG_STATUS_INVALID, "the module has no kernel \"%s\"", name ? name : "");
}

const rung_emulator_kernel_info *rung_emulator_kernel_get_info(const rung_emulator_kernel *kernel)
{
    return kernel ? &kernel->info : NULL;
}

/* ---- Launches ------------------------------------------------------------------------------------------------------ */

static rung_status check_extents(const rung_emulator_launch *launch, const ptx_function_t *function)
{
    static const uint32_t grid_max[] = {0x7fffffff, 65535, 65535}, block_max[] = {1024, 1024, 64};
    static const char axes[] = "xyz";
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] < 1 || launch->grid[i] > grid_max[i])
            return rungi_fail(RUNG_STATUS_INVALID, "the grid has %u blocks in %c; 1 to %u are valid", launch->grid[i],
                              axes[i], grid_max[i]);
        if (launch->block[i] < 1 || launch->block[i] > block_max[i])
            return rungi_fail(RUNG_STATUS_INVALID, "the block has %u threads in %c; 1 to %u are valid",
                              launch->block[i], axes[i], block_max[i]);
        if (function->required_block[i] && launch->block[i] != function->required_block[i])
            return rungi_fail(RUNG_STATUS_INVALID, "the block has %u threads in %c; %s requires %u", launch->block[i],
                              axes[i], function->name, function->required_block[i]);
        threads *= launch->block[i];
    }
    uint64_t max = function->max_block[0]
                       ? (uint64_t)function->max_block[0] * function->max_block[1] * function->max_block[2]
                       : 1024;
    if (threads > 1024 || threads > max)
        return rungi_fail(RUNG_STATUS_INVALID, "a block of %llu threads is too large; %s allows %llu",
                          (unsigned long long)threads, function->name, (unsigned long long)(max < 1024 ? max : 1024));
    return RUNG_OK;
}

/* The most shared memory that a block may have, in bytes. */
static int64_t shared_memory_max(int compute_capability)
{
    static const struct {
        int capability;
        int64_t kib;
    } limits[] = {{70, 96},  {72, 96},   {75, 64},   {80, 163},  {86, 99},   {87, 163}, {89, 99},
                  {90, 227}, {100, 227}, {101, 227}, {103, 227}, {110, 227}, {120, 99}, {121, 99}};
    int64_t kib = 48;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (compute_capability >= limits[i].capability)
            kib = limits[i].kib;
    return kib << 10;
}

static rung_status check_shared(const rung_emulator_launch *launch, const ptx_function_t *function,
                                int compute_capability)
{
    enum { STATIC_MAX = 48 << 10 };
    int64_t max = shared_memory_max(compute_capability);
    if (function->static_shared_bytes > STATIC_MAX)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s has %lld bytes of static shared memory; the maximum is %d. Declare the array as extern "
                          "__shared__ and pass its size to the launch",
                          function->name, (long long)function->static_shared_bytes, STATIC_MAX);
    if (launch->dynamic_shared_bytes < 0 || launch->dynamic_shared_bytes > max - function->static_shared_bytes)
        return rungi_fail(
            RUNG_STATUS_INVALID,
            "%s needs %lld bytes of static and %lld of dynamic shared memory; a block on sm_%d has at most %lld",
            function->name, (long long)function->static_shared_bytes, (long long)launch->dynamic_shared_bytes,
            compute_capability, (long long)max);
    return RUNG_OK;
}

/* Checks the limits of the GPU. A launch that exceeds one is a finding, too, at the line of the kernel. */
static rung_status check_limits(const rung_emulator_launch *launch, const ptx_launch_t *running, int compute_capability)
{
    const ptx_function_t *function = running->kernel;
    rung_status status = check_extents(launch, function);
    if (status == RUNG_OK)
        status = check_shared(launch, function, compute_capability);
    bool has_places = true;
    for (int i = 0; i < 3; i++)
        has_places = has_places && launch->grid[i] > 0 && launch->block[i] > 0;
    ptx_party_t here = {.pc = function->first};
    if (status != RUNG_OK && has_places && running->checks)
        rungi_ptx_report_pair(running, RUNG_EMULATOR_LIMIT, &here, NULL, 0, 0, "%s", rung_error_text());
    return status;
}

/* Sets the size of the clusters: that of the launch, that of .reqnctapercluster, or 1. */
static rung_status set_cluster(const rung_emulator_launch *launch, const ptx_function_t *function,
                               int compute_capability, ptx_launch_t *running)
{
    enum { BLOCKS_MAX = 16 };
    uint64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t own = function->required_cluster[i], asked = launch->cluster[i], size = asked ? asked : own ? own : 1;
        if (asked && own && asked != own)
            return rungi_fail(RUNG_STATUS_INVALID, "cluster[%d] is %u; %s requires %u", i, asked, function->name, own);
        if (size > BLOCKS_MAX || launch->grid[i] % size != 0)
            return rungi_fail(RUNG_STATUS_INVALID,
                              "cluster[%d] is %u; 1 to %d are valid, and grid[%d], %u, is a multiple", i, size,
                              BLOCKS_MAX, i, launch->grid[i]);
        running->cluster[i] = size;
        running->has_explicit_cluster = running->has_explicit_cluster || asked || own;
        blocks *= size;
    }
    if (blocks > BLOCKS_MAX)
        return rungi_fail(RUNG_STATUS_INVALID, "a cluster of %llu blocks is too large; the maximum is %d",
                          (unsigned long long)blocks, BLOCKS_MAX);
    if (blocks > 1 && compute_capability < 90)
        return rungi_fail(RUNG_STATUS_INVALID, "a cluster of %llu blocks needs sm_90; the GPU is sm_%d",
                          (unsigned long long)blocks, compute_capability);
    return RUNG_OK;
}

/* Makes the grid one cluster, so that its blocks run at the same time. The barrier of the grid needs memory, whose address
 * the kernel finds in %envreg1 and %envreg2. */
static rung_status set_cooperative(rung_emulator *emulator, const rung_emulator_launch *launch, ptx_launch_t *running)
{
    enum { BLOCKS_MAX = 4095, WORKSPACE_BYTES = 256 };
    uint64_t blocks = 1;
    for (int i = 0; i < 3 && blocks <= BLOCKS_MAX; i++)
        blocks *= launch->grid[i];
    if (blocks > BLOCKS_MAX)
        return rungi_fail(RUNG_STATUS_INVALID, "a cooperative launch has more than %d blocks, which is the maximum",
                          BLOCKS_MAX);
    if (running->has_explicit_cluster)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "a cooperative launch with clusters is not emulated");
    if (!emulator->workspace)
        TRY(rungi_ptx_allocate(emulator, "barrier of the grid", WORKSPACE_BYTES, WORKSPACE_BYTES, false,
                               &emulator->workspace));
    TRY(rung_emulator_fill(emulator, emulator->workspace, 0, 1, WORKSPACE_BYTES));
    memcpy(running->cluster, launch->grid, sizeof running->cluster);
    running->is_cooperative = true;
    running->workspace = emulator->workspace;
    return RUNG_OK;
}

static rung_status copy_parameters(const rung_emulator_kernel *kernel, const rung_emulator_launch *launch,
                                   ptx_launch_t *running)
{
    const ptx_function_t *function = running->kernel;
    if (function->parameter_count > 0 && !launch->arguments && !launch->parameter_buffer)
        return rungi_fail(RUNG_STATUS_INVALID, "%s takes %d arguments; arguments and parameter_buffer are NULL",
                          function->name, function->parameter_count);
    if (!launch->arguments && launch->parameter_bytes < function->parameter_bytes)
        return rungi_fail(RUNG_STATUS_INVALID, "the parameter buffer has %lld bytes; %s takes %lld",
                          (long long)launch->parameter_bytes, function->name, (long long)function->parameter_bytes);
    running->parameter_bytes = function->parameter_bytes;
    running->parameters = calloc((size_t)function->parameter_bytes + 16, 1);
    if (!running->parameters)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the parameters");
    if (!launch->arguments && function->parameter_bytes > 0)
        memcpy(running->parameters, launch->parameter_buffer, (size_t)function->parameter_bytes);
    for (int32_t i = 0; launch->arguments && i < function->parameter_count; i++)
        memcpy(running->parameters + kernel->offsets[i], launch->arguments[i], (size_t)kernel->bytes[i]);
    return RUNG_OK;
}

/* Turns the finding that stopped a launch into its error text. */
static rung_status describe_failure(const rung_emulator *emulator)
{
    const ptx_finding_t *last = emulator->failure >= 0 ? &emulator->findings[emulator->failure] : NULL;
    if (!last)
        return rungi_fail(RUNG_STATUS_DEVICE_LOST, "the launch failed");
    return rungi_fail(RUNG_STATUS_DEVICE_LOST, "%s: %s%s%s%d: %s", last->kernel, last->file, last->file[0] ? ":" : "",
                      last->file[0] ? "" : "PTX line ", last->finding.place.line, last->text);
}

rung_status rung_emulator_launch_kernel(rung_emulator_kernel *kernel, const rung_emulator_launch *launch)
{
    rung_emulator_launch read;
    if (!kernel)
        return rungi_fail(RUNG_STATUS_INVALID, "the kernel is NULL");
    TRY(rungi_versioned_struct_read(launch, &read, sizeof read, "rung_emulator_launch", "rung_emulator_launch_of"));
    rung_emulator *emulator = kernel->owner->emulator;
    const ptx_module_t *module = kernel->owner->module;
    const ptx_function_t *function = &module->functions[kernel->function];
    int capability = emulator->options.compute_capability ? emulator->options.compute_capability : module->target;
    ptx_launch_t running = {.emulator = emulator,
                            .module = module,
                            .kernel = function,
                            .kernel_index = kernel->function,
                            .dynamic_shared_bytes = read.dynamic_shared_bytes,
                            .global = emulator->global,
                            .global_bytes = emulator->used_bytes,
                            .checks = emulator->options.checks,
                            .counts = emulator->options.count_accesses,
                            .max_instructions = emulator->options.max_instructions};
    memcpy(running.grid, read.grid, sizeof running.grid);
    memcpy(running.size, read.block, sizeof running.size);
    TRY(check_limits(&read, &running, capability));
    TRY(set_cluster(&read, function, capability, &running));
    if (read.is_cooperative)
        TRY(set_cooperative(emulator, &read, &running));
    running.global_bytes = emulator->used_bytes; /* the workspace included */
    emulator->failure = -1;
    rung_status status = copy_parameters(kernel, &read, &running);
    if (status == RUNG_OK)
        status = rungi_ptx_launch(&running, function->needs_block_order ? 1 : emulator->threads);
    free(running.parameters);
    if (status == RUNG_OK && atomic_load(&running.is_cancelled))
        status = rungi_fail(RUNG_STATUS_CANCELLED, "the launch of %s was stopped", function->name);
    else if (status == RUNG_OK && atomic_load(&running.has_failed))
        status = describe_failure(emulator);
    return status;
}
