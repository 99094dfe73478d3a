/* SPDX-License-Identifier: Apache-2.0 */
/* emulator.h - the emulator object: memory, modules, findings and counts. */
#pragma once

#include <pthread.h>

#include "emulator/machine/machine.h"

/* A range of global memory. Freed ranges stay in the list, so that use after free is told from wild addresses. */
typedef struct ptx_allocation {
    uint64_t start; /* address that kernels see */
    int64_t bytes;
    char name[64];
    bool is_freed, is_constant, is_module_variable;
    int64_t freed_at; /* number of the call of free */
} ptx_allocation_t;

struct rung_emulator_module {
    rung_emulator *emulator;
    ptx_module_t *module;
    rung_emulator_kernel *kernels;
    int64_t kernel_count;
    struct rung_emulator_module *next;
};

struct rung_emulator_kernel {
    rung_emulator_module *owner;
    int32_t function;
    rung_emulator_kernel_info info;
    int64_t *offsets, *bytes;
};

/* A finding with the texts that it owns. */
typedef struct ptx_finding {
    rung_emulator_finding finding;
    char text[512], kernel[256], file[512], other_file[512];
    int64_t block;   /* linear number of the first occurrence's block */
    unsigned traits; /* of all occurrences of a race (findings.c) */
} ptx_finding_t;

struct rung_emulator {
    rung_emulator_options options;
    int threads;
    unsigned char *global; /* host address of PTX_GLOBAL_BASE */
    uint64_t global_bytes, used_bytes;
    unsigned char *shadow; /* of the checks: one byte per byte of global memory, 1 if nobody has written it; or NULL */
    ptx_allocation_t *allocations;                              /* sorted by address */
    int64_t allocation_count, allocation_capacity, freed_count; /* freed_count of the list's allocations are freed */
    int64_t free_calls;
    uint64_t workspace; /* of cooperative launches; 0 before the first */
    rung_emulator_module *modules;
    pthread_mutex_t lock; /* of findings, counts and printf, while blocks run */
    ptx_finding_t *findings;
    int64_t finding_count, finding_capacity;
    int64_t failure; /* index of the finding that stopped the last launch, or -1 */
    bool are_findings_sorted;
    int64_t traced_warps, traced_requests; /* of each warp and instruction; 0: no trace */
    ptx_counts_t *counts;                  /* of launches since the last clear; NULL: none */
};

/* Returns the allocation that contains the address, freed or not, or NULL. */
const ptx_allocation_t *rungi_ptx_find_allocation(const rung_emulator *emulator, uint64_t address);

/* Returns the allocation whose end or start is near an address outside of all of them, or NULL. */
const ptx_allocation_t *rungi_ptx_nearest_allocation(const rung_emulator *emulator, uint64_t address);

/* Writes the name of an allocation in quotation marks, or that it has none. */
const char *rungi_ptx_allocation_text(const ptx_allocation_t *allocation, char *text, size_t capacity);

/* Returns whether an address is that of an element near a null pointer. */
bool rungi_ptx_is_null(uint64_t address);

/* Allocates global memory. */
rung_status rungi_ptx_allocate(rung_emulator *emulator, const char *name, int64_t bytes, int64_t alignment,
                               bool is_constant, uint64_t *address);

/* Returns the host address of a range of global memory, or NULL after failing with RUNG_STATUS_INVALID. */
unsigned char *rungi_ptx_global_range(rung_emulator *emulator, uint64_t address, int64_t bytes);

/* Runs all blocks. */
rung_status rungi_ptx_launch(ptx_launch_t *launch, int threads);

/* The host has written global memory: it is initialized. */
void rungi_ptx_check_host_write(rung_emulator *emulator, uint64_t address, int64_t bytes);

/* Memory was allocated: nobody has written it. */
void rungi_ptx_check_host_allocate(rung_emulator *emulator, uint64_t address, int64_t bytes);

/* Called before the first and after the last block of a launch. `threads` is the number of threads that the launch may
 * use; the first function lowers it if the checks need the blocks in order. */
rung_status rungi_ptx_check_launch_start(ptx_launch_t *launch, int *threads);
void rungi_ptx_check_launch_end(ptx_launch_t *launch);

/* Finds an executor for this processor by its name. */
ptx_execute_fn rungi_ptx_find_executor(const char *name);
