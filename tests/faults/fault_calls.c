/* SPDX-License-Identifier: Apache-2.0 */
/* fault_calls.c - see fault_calls.h. Nothing here may allocate: it runs inside malloc. */
#define _GNU_SOURCE /* dl_iterate_phdr, dlvsym */
#include "fault_calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static fault_state own_state;
static fault_state *state = &own_state;

/* Set while this library itself calls functions that it wraps. */
static __thread int is_inside __attribute__((tls_model("initial-exec")));

/* ---- Modules --------------------------------------------------------------------------------------------------------- */

enum { MODULES_MAX = 32, FRAMES_MAX = 12 };

typedef struct module {
    uintptr_t start, end, base;
    char name[48];
} module_t;

static module_t modules[MODULES_MAX];
static atomic_int module_count;

/* The libraries and programs of rung; not the tests' replacements of other libraries. */
static bool is_rung_file(const char *path)
{
    static const char *const programs[] = {"rung", "rung-cluster"};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strncmp(name, "librung", 7) == 0)
        return true;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(name, programs[i]) == 0)
            return true;
    return false;
}

static bool has_module(uintptr_t base)
{
    for (int i = 0; i < atomic_load(&module_count); i++)
        if (modules[i].base == base)
            return true;
    return false;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *user)
{
    static char program[512];
    const char *path = info->dlpi_name;
    (void)size, (void)user;
    if (!*path) {
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        program[length > 0 ? length : 0] = '\0';
        path = program;
    }
    int count = atomic_load(&module_count);
    if (!is_rung_file(path) || count >= MODULES_MAX || has_module(info->dlpi_addr))
        return 0;
    module_t *module = &modules[count];
    module->base = info->dlpi_addr;
    module->start = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        module->start = start < module->start ? start : module->start;
        module->end = start + header->p_memsz > module->end ? start + header->p_memsz : module->end;
    }
    const char *slash = strrchr(path, '/');
    snprintf(module->name, sizeof module->name, "%.47s", slash ? slash + 1 : path);
    atomic_store(&module_count, count + 1);
    return 0;
}

void fault_find_modules(void)
{
    is_inside++;
    dl_iterate_phdr(add_module, NULL);
    is_inside--;
}

static const module_t *find_module(const void *address)
{
    for (int i = 0; i < atomic_load(&module_count); i++)
        if ((uintptr_t)address >= modules[i].start && (uintptr_t)address < modules[i].end)
            return &modules[i];
    return NULL;
}

bool fault_is_rung(const void *address)
{
    return find_module(address) != NULL;
}

void *fault_real(const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static void *(*real_dlsym)(void *, const char *);
    is_inside++;
    for (size_t i = 0; !real_dlsym && i < sizeof versions / sizeof *versions; i++)
        *(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    void *found = real_dlsym ? real_dlsym(RTLD_NEXT, name) : NULL;
    is_inside--;
    return found;
}

/* ---- State ----------------------------------------------------------------------------------------------------------- */

void fault_use_state(fault_state *new_state)
{
    state = new_state;
}

void fault_arm(int64_t fail_at, fault_mode mode, int classes)
{
    memset(state, 0, sizeof *state);
    state->fail_at = fail_at;
    state->mode = (int32_t)mode;
    state->classes = classes;
    fault_find_modules();
    atomic_store(&state->is_armed, 1);
}

void fault_disarm(void)
{
    atomic_store(&state->is_armed, 0);
}

bool fault_has_failed(void)
{
    return atomic_load(&state->has_failed) != 0;
}

bool fault_is_lasting(void)
{
    return state->mode == FAULT_FROM_ON;
}

const char *fault_record(void)
{
    return state->record;
}

static void record_call(const char *function, const void *caller)
{
    void *frames[FRAMES_MAX + 4];
    int count = backtrace(frames, FRAMES_MAX + 4), used;
    used = snprintf(state->record, sizeof state->record, "%s", function);
    bool is_past = false;
    for (int i = 0; i < count; i++) {
        is_past = is_past || frames[i] == caller;
        const module_t *module = find_module(frames[i]);
        if (is_past && module && used < FAULT_RECORD_BYTES - 80)
            used += snprintf(state->record + used, sizeof state->record - (size_t)used, " %s+0x%lx", module->name,
                             (unsigned long)((uintptr_t)frames[i] - 1 - module->base));
    }
}

bool fault_hits(fault_class class, const char *function, const void *caller)
{
    if (is_inside || !atomic_load_explicit(&state->is_armed, memory_order_relaxed) || !(state->classes >> class & 1) ||
        !fault_is_rung(caller))
        return false;
    if (atomic_load(&state->has_failed))
        return state->mode == FAULT_FROM_ON && state->failed_class == (int32_t) class;
    if (atomic_fetch_add(&state->calls, 1) + 1 != state->fail_at)
        return false;
    is_inside++;
    record_call(function, caller);
    is_inside--;
    state->failed_class = (int32_t) class;
    atomic_store(&state->has_failed, 1);
    return true;
}

/* ---- What rung holds ------------------------------------------------------------------------------------------------- */

enum { SLOTS = 1 << 20, REMOVED = 1 };

typedef struct slot {
    uintptr_t memory;
    const void *caller;
} slot_t;

static slot_t *slots;
static int64_t live_allocations;
static atomic_int_least64_t live_objects;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void acquire(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        ;
}

static void release(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static slot_t *find_slot(uintptr_t memory, bool is_new)
{
    size_t at = (memory >> 4) * 0x9E3779B97F4A7C15u >> 44;
    for (size_t i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS) {
        if (slots[at].memory == memory || (is_new && slots[at].memory == REMOVED))
            return &slots[at];
        if (slots[at].memory == 0)
            return is_new ? &slots[at] : NULL;
    }
    return NULL;
}

void fault_note_allocation(void *memory, const void *caller)
{
    if (!slots || !memory || is_inside || !fault_is_rung(caller))
        return;
    acquire();
    slot_t *slot = find_slot((uintptr_t)memory, true);
    if (slot) {
        *slot = (slot_t){(uintptr_t)memory, caller};
        live_allocations++;
    }
    release();
}

void fault_note_release(void *memory)
{
    if (!slots || !memory)
        return;
    acquire();
    slot_t *slot = find_slot((uintptr_t)memory, false);
    if (slot) {
        slot->memory = REMOVED;
        live_allocations--;
    }
    release();
}

void fault_note_driver_object(int change)
{
    atomic_fetch_add(&live_objects, change);
}

int64_t fault_live_allocations(void)
{
    return live_allocations;
}

int64_t fault_live_driver_objects(void)
{
    return atomic_load(&live_objects);
}

void fault_print_live(void)
{
    for (size_t i = 0; slots && i < SLOTS; i++) {
        const module_t *module = slots[i].memory > REMOVED ? find_module(slots[i].caller) : NULL;
        if (module)
            fprintf(stderr, "live: allocation by %s+0x%lx\n", module->name,
                    (unsigned long)((uintptr_t)slots[i].caller - 1 - module->base));
    }
}

/* ---- Start ------------------------------------------------------------------------------------------------------------ */

static void use_file(const char *path)
{
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        syscall(SYS_close, file);
    if (mapped != MAP_FAILED)
        state = mapped;
}

__attribute__((constructor)) static void start(void)
{
    void *frames[2];
    const char *path = getenv("RUNG_FAULTS");
    is_inside++;
    if (getenv("RUNG_FAULTS_HELD")) {
        void *memory = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        slots = memory == MAP_FAILED ? NULL : memory;
    }
    if (path)
        use_file(path);
    backtrace(frames, 2); /* the first call allocates and opens a library */
    pthread_atfork(acquire, release, release);
    is_inside--;
    fault_find_modules();
    const char *fail_at = getenv("RUNG_FAULTS_AT");
    if (fail_at)
        fault_arm(atoll(fail_at), FAULT_ONCE, FAULT_ALL_CLASSES);
}
