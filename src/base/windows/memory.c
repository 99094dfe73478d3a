/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - mmap() of anonymous memory. Windows counts memory against its limit when it is committed, not when it is first
 * used. The emulator reserves far more than it uses (MAP_NORESERVE), so such memory is only reserved here, and a handler
 * commits its pages at the first access. */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "base/windows/windows_api.h"

enum { RANGES_MAX = 4096, COMMIT_BYTES = 1 << 20 };

/* Reserved memory. A range with an `end` of 0 is unused. */
typedef struct reserved_range {
    _Atomic uintptr_t start, end;
} reserved_range_t;

static reserved_range_t ranges[RANGES_MAX];
static atomic_int range_count; /* ranges that were ever used */
static INIT_ONCE is_installed = INIT_ONCE_STATIC_INIT;

/* Returns the range that has this address, or NULL. */
static reserved_range_t *find_range(uintptr_t address)
{
    int count = atomic_load(&range_count);
    for (int i = 0; i < count; i++)
        if (address < atomic_load(&ranges[i].end) && address >= atomic_load(&ranges[i].start))
            return &ranges[i];
    return NULL;
}

/* Commits the memory around an address, which another thread may have done already. */
static bool commit_at(uintptr_t address)
{
    const reserved_range_t *range = find_range(address);
    if (!range)
        return false;
    uintptr_t start = address & ~(uintptr_t)(COMMIT_BYTES - 1), end = start + COMMIT_BYTES;
    uintptr_t first = atomic_load(&range->start), last = atomic_load(&range->end);
    start = start > first ? start : first;
    end = end < last ? end : last;
    return VirtualAlloc((void *)start, end - start, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

static LONG CALLBACK on_exception(EXCEPTION_POINTERS *exception)
{
    const EXCEPTION_RECORD *record = exception->ExceptionRecord;
    bool is_access = record->ExceptionCode == EXCEPTION_ACCESS_VIOLATION && record->NumberParameters >= 2;
    return is_access && commit_at(record->ExceptionInformation[1]) ? EXCEPTION_CONTINUE_EXECUTION
                                                                   : EXCEPTION_CONTINUE_SEARCH;
}

static BOOL CALLBACK install(INIT_ONCE *once, void *parameter, void **context)
{
    (void)once, (void)parameter, (void)context;
    return AddVectoredExceptionHandler(1, on_exception) != NULL;
}

/* Adds a range to the list. Returns false if the list is full. */
static bool add_range(uintptr_t start, uintptr_t end)
{
    for (int i = 0; i < RANGES_MAX; i++) {
        uintptr_t unused = 0;
        if (!atomic_compare_exchange_strong(&ranges[i].start, &unused, start))
            continue;
        atomic_store(&ranges[i].end, end);
        for (int count = atomic_load(&range_count); count <= i;)
            atomic_compare_exchange_weak(&range_count, &count, i + 1);
        return true;
    }
    return false;
}

static void *reserve(void *address, size_t bytes)
{
    void *memory = VirtualAlloc(address, bytes, MEM_RESERVE, PAGE_READWRITE);
    bool is_usable = memory && InitOnceExecuteOnce(&is_installed, install, NULL, NULL) &&
                     add_range((uintptr_t)memory, (uintptr_t)memory + bytes);
    if (memory && !is_usable)
        VirtualFree(memory, 0, MEM_RELEASE);
    return is_usable ? memory : NULL;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, int64_t offset)
{
    (void)protection, (void)offset;
    const int tries = address ? 2 : 1;
    void *memory = NULL;
    if (file >= 0) {
        errno = ENOSYS;
        return MAP_FAILED;
    }
    for (int i = 0; !memory && i < tries; i++) {
        memory = flags & MAP_NORESERVE ? reserve(address, bytes)
                                       : VirtualAlloc(address, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
        address = NULL; /* the address is a wish */
    }
    if (!memory)
        errno = ENOMEM;
    return memory ? memory : MAP_FAILED;
}

int munmap(void *memory, size_t bytes)
{
    (void)bytes;
    reserved_range_t *range = find_range((uintptr_t)memory);
    if (range) {
        atomic_store(&range->end, 0);
        atomic_store(&range->start, 0);
    }
    return VirtualFree(memory, 0, MEM_RELEASE) ? 0 : rungi_windows_fail();
}

int madvise(void *memory, size_t bytes, int advice)
{
    bool can_discard = advice == MADV_DONTNEED && find_range((uintptr_t)memory);
    if (can_discard && VirtualFree(memory, bytes, MEM_DECOMMIT)) /* zero at the next access */
        return 0;
    errno = ENOSYS;
    return -1;
}
