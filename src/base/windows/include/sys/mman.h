/* SPDX-License-Identifier: Apache-2.0 */
/* mman.h - anonymous memory (memory.c). Files cannot be mapped: mmap() of a file fails with ENOSYS. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_SHARED 1
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 0x20
#define MAP_NORESERVE 0x4000
#define MAP_FAILED ((void *)-1)
#define MADV_DONTNEED 4
#define MADV_HUGEPAGE 14

void *mmap(void *address, size_t bytes, int protection, int flags, int file, int64_t offset);
int munmap(void *memory, size_t bytes);
int madvise(void *memory, size_t bytes, int advice);
