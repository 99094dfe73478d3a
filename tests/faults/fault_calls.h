/* SPDX-License-Identifier: Apache-2.0 */
/* fault_calls.h - a library that replaces functions of the C library and makes the N-th call of rung fail.
 *
 * The library is preloaded or linked. It counts the calls that rung's own code makes, as the return address tells: calls of the
 * C library, of drivers and of tests are not counted. It records which call failed, and counts what rung holds: memory, and objects
 * of drivers. fault_calls.c has the counting, wrapped_calls.c and wrapped_drivers.c the functions. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default) /* of all that the files of the library define */

typedef enum fault_class {
    FAULT_MEMORY,
    FAULT_FILES,
    FAULT_THREADS,
    FAULT_PROCESSES,
    FAULT_LIBRARIES,
    FAULT_DRIVERS,
} fault_class;

enum { FAULT_ALL_CLASSES = 63, FAULT_RECORD_BYTES = 2048 };

typedef enum fault_mode {
    FAULT_ONCE, /* only the N-th call fails */
    FAULT_FROM_ON, /* the N-th call fails and all later ones of its class: no memory is left, the disk is full, the device is lost */
} fault_mode;

/* Shared by all processes of a command. tools/fault-points reads and writes these bytes, too. */
typedef struct fault_state {
    atomic_int_least64_t calls; /* counted so far */
    int64_t fail_at;            /* the N of the call that fails; 0: none */
    int32_t mode;
    int32_t classes; /* the classes that are counted, one bit each */
    atomic_int_least32_t is_armed;
    atomic_int_least32_t has_failed;
    int32_t failed_class;
    int32_t unused;
    char record
        [FAULT_RECORD_BYTES]; /* the call that failed: function, then "module+offset" of each caller, innermost first */
} fault_state;

/* Uses this memory for the state from now on. Without a call, it is the file that RUNG_FAULTS names, or memory of the process.
 * With RUNG_FAULTS_AT=N, call N of each process fails. */
void fault_use_state(fault_state *state);

/* Starts to count: call `fail_at` will fail. */
void fault_arm(int64_t fail_at, fault_mode mode, int classes);
void fault_disarm(void);
bool fault_has_failed(void);
const char *fault_record(void);

/* Number of allocations and of driver objects that rung's code made and has not released. */
int64_t fault_live_allocations(void), fault_live_driver_objects(void);

/* Writes the callers of the live allocations to standard error. */
void fault_print_live(void);

/* ---- For the wrapped functions ------------------------------------------------------------------------------------- */

/* Counts a call and returns whether it fails. `caller` is the return address. */
bool fault_hits(fault_class class, const char *function, const void *caller);

/* Returns whether all later calls of a class fail, too. */
bool fault_is_lasting(void);

/* Returns whether the address is in rung's code. */
bool fault_is_rung(const void *address);

/* Finds the modules of rung again, after a library was opened. */
void fault_find_modules(void);

void fault_note_allocation(void *memory, const void *caller);
void fault_note_release(void *memory);
void fault_note_driver_object(int change);

/* Returns the next definition of a function. */
void *fault_real(const char *name);
