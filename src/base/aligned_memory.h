/* SPDX-License-Identifier: Apache-2.0 */
/* aligned_memory.h - memory at multiples of a power of two. Windows has a function of its own to free it. */
#pragma once

#include <stddef.h>

/* Returns memory whose address is a multiple of `alignment`, a power of two; NULL if there is none. */
void *rungi_aligned_allocate(size_t alignment, size_t bytes);

/* Frees memory of rungi_aligned_allocate(). NULL is allowed. */
void rungi_aligned_free(void *memory);
