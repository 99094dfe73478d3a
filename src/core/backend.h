/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - the interface between the core and a backend.
 *
 * A backend (cpu, opencl, cuda) opens devices. A device creates queues, events, buffers and plans; its functions are in
 * device.h. The core validates every argument before it calls a backend, and it holds the references between objects.
 * The core refers to no backend by name: src/backends.c has the list.
 *
 * The first member of a backend's own struct is the struct of device.h, so that core and backend share one pointer. */
#pragma once

#include <stdbool.h>

#include "core/gemm_types.h"
#include "rung/rung.h"

/* A kernel of a backend's ladder. */
typedef struct rungi_ladder_step {
    const char *name;           /* "04_shared" */
    const char *file;           /* "04_shared.cu" */
    const char *source;         /* contents of the file */
    rungi_gemm_types_set types; /* 0: rungi_backend.vendor_types */
    unsigned abilities;
    bool is_vendor;       /* a vendor library: used only when a caller selects it */
    const void *function; /* backends with kernels in C: the backend's table of functions */
} rungi_ladder_step;

/* The compiled code of a plan; see plan_types.h. */
typedef struct rungi_code rungi_code;

typedef struct rungi_backend {
    const char *name;
    const struct rungi_environment_variable *const *variables; /* ends in NULL; NULL: no variables */
    const rungi_ladder_step *ladder;
    int64_t ladder_count;
    rungi_gemm_types_set vendor_types; /* types that the vendor library multiplies */
    rungi_gemm_types_set
        source_types; /* types that kernels of callers may multiply; 0: the backend does not compile kernels */
    /* Optional: derive a kernel's abilities, and its need for a matrix engine, from the kernel's text. */
    unsigned (*abilities)(const rung_kernel *kernel);
    bool (*needs_engine)(const rung_kernel *kernel);
    bool has_multiplier; /* kernels with an epilogue apply the multiplier of a problem */
    bool has_engine;     /* every device has a matrix engine, or rejects kernels that need one itself */

    /* Loads libraries and symbols, once per context. The context remembers a failure and reports it to later calls. */
    rung_status (*load)(rung_context *context, void **state);
    void (*unload)(rung_context *context, void *state);
    /* Optional: called in the child of a fork. The child has one thread; all other threads of the state are gone,
     * whatever they were doing. Must not allocate. */
    void (*after_fork_in_child)(void *state);

    /* Adds the devices to the list. */
    rung_status (*list)(rung_context *context, void *state, rung_device_list *list);
    /* Opens a device. Index -1 selects the default device. */
    rung_status (*open)(rung_context *context, void *state, int64_t index, rung_device **device);
    /* Optional: adds the dependencies to the list. The driver need not be installed. */
    void (*list_dependencies)(rung_dependency_list *list);
    /* Optional: compiles the code of a plan without a device. The plan's device has no functions and only knows its
     * architecture, as the caller wrote it. */
    rung_status (*compile)(rung_plan *plan, rungi_code *code);
    /* Optional: wraps the caller's native context and device. */
    rung_status (*wrap)(rung_context *context, void *state, void *native_context, void *native_device,
                        rung_device **device);
} rungi_backend;

/* All backends in the order of the public device list; ends in NULL. */
extern const rungi_backend *const rungi_backends[];
