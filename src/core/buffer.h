/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h - a buffer as the core and the backends share it. */
#ifndef RUNGI_BUFFER_H
#define RUNGI_BUFFER_H

#include <stdint.h>

#include "rung/rung.h"

/* The backend sets `address_space`, `address` and `kernel_offset`, the core all other members. The core compares
 * addresses within one address space to detect overlapping operands. */
struct rung_buffer {
    rung_device *device;
    int64_t offset; /* bytes into the caller's memory; 0 if the library allocated the memory */
    int64_t bytes;
    const void *address_space; /* identifies the memory that `address` refers to; NULL: memory of this process */
    uintptr_t address;         /* of the first byte */
    int64_t kernel_offset;     /* bytes from the pointer that a kernel receives to the first byte */
};

#endif /* RUNGI_BUFFER_H */
