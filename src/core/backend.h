/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h - what a backend is to the core: two small tables of functions.
 *
 * A backend (cpu, opencl, cuda) opens devices; a device makes queues, events, buffers
 * and plans. The core checks every argument before it calls in here, holds the
 * references, and knows no backend by name: src/backends.c has the list.
 *
 * Each backend's own structs begin with the struct of device.h, so that the core
 * and the backend share one pointer.
 */
#ifndef RUNGI_BACKEND_H
#define RUNGI_BACKEND_H

#include <stdbool.h>

#include "core/device_list.h"
#include "core/product.h"
#include "rung/rung.h"

/* A step of the ladder as a backend has it. */
typedef struct rungi_ladder_step {
    const char *name;   /* "04_shared" */
    const char *file;   /* "04_shared.cu" */
    const char *source; /* its text, ending in 0 */
    unsigned products;  /* bits, see product.h; 0: the vendor's */
    unsigned abilities;
    bool is_vendor;       /* somebody else's: never chosen unasked */
    const void *function; /* for backends whose kernels are C: the backend's own table of it */
} rungi_ladder_step;

/* What the core makes of a kernel's code: see plan.h. */
typedef struct rungi_code rungi_code;

typedef struct rungi_backend {
    const char *name;
    const struct rungi_variable *const *variables; /* of the environment, ending in NULL; NULL: none */
    const rungi_ladder_step *ladder;
    int64_t ladder_count;
    unsigned vendor_products; /* what its vendor's library takes */
    unsigned source_products; /* what a caller's own file takes; 0: none is taken */
    /* Optional: what a file is able to do, and whether it needs a matrix engine, from what it
     * says. */
    unsigned (*abilities)(const rung_kernel *kernel);
    bool (*needs_engine)(const rung_kernel *kernel);
    bool has_engine; /* its devices have one, or refuse such kernels themselves */

    /* Libraries and symbols, once a context; a failure is remembered and told. */
    rung_status (*load)(rung_context *context, void **state);
    void (*unload)(rung_context *context, void *state);
    /* Optional: this process is a fork's child. It has one thread, and those of the state are
     * gone, whatever they were doing. Allocates nothing. */
    void (*forked)(void *state);

    /* Adds its devices to the list. */
    rung_status (*list)(rung_context *context, void *state, rung_device_list *list);
    /* index -1: the one to take when none is named. */
    rung_status (*open)(rung_context *context, void *state, int64_t index, rung_device **device);
    /* Optional: adds its dependencies to the list. The driver need not be installed. */
    void (*list_dependencies)(rung_dependency_list *list);
    /* Optional: the code that such a plan runs, of a device that need not be here: the plan's
     * has no functions and knows its architecture, as the caller wrote it, and no more. */
    rung_status (*compile)(rung_plan *plan, rungi_code *code);
    /* Optional: NULL where there is nothing to wrap. */
    rung_status (*wrap)(rung_context *context, void *state, void *native_context, void *native_device,
                        rung_device **device);
} rungi_backend;

/* The list, ending in NULL; in order of the public listing. */
extern const rungi_backend *const rungi_backends[];

#endif /* RUNGI_BACKEND_H */
