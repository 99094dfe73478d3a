/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_static.c - programs that contain NVIDIA's static runtime, which nvcc links by default.
 *
 * The static runtime needs functions of the driver that NVIDIA does not document, so it does not work on another driver. The
 * symbol table of a program that is not stripped tells where the functions of the runtime are. When RUNG_EMULATED_STATIC is
 * 1 and this library is loaded by LD_PRELOAD, each of them is replaced in memory by a jump to the function of this library,
 * before the constructors of the program register its kernels. The file of the program is not changed. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulator/runtime/runtime.h"

typedef void (*any_function_t)(void);

#define MISSING_FUNCTION(name) cudaError_t name(void);
#include "emulator/runtime/runtime_missing.def"
#undef MISSING_FUNCTION

static const struct {
    const char *name;
    any_function_t function;
} functions[] = {
#define RUNTIME_FUNCTION(name, arguments) {#name, (any_function_t)name},
#include "emulator/runtime/runtime_functions.def"
#undef RUNTIME_FUNCTION
#define MISSING_FUNCTION(name) {#name, (any_function_t)name},
#include "emulator/runtime/runtime_missing.def"
#undef MISSING_FUNCTION
#define RUNTIME_ALIAS(alias, name) {#alias, (any_function_t)name},
#include "emulator/runtime/runtime_aliases.def"
#undef RUNTIME_ALIAS
    {"cudaGetErrorString", (any_function_t)cudaGetErrorString},
    {"cudaGetErrorName", (any_function_t)cudaGetErrorName},
    {"__cudaRegisterFatBinary", (any_function_t)__cudaRegisterFatBinary},
    {"__cudaRegisterFatBinaryEnd", (any_function_t)__cudaRegisterFatBinaryEnd},
    {"__cudaUnregisterFatBinary", (any_function_t)__cudaUnregisterFatBinary},
    {"__cudaRegisterFunction", (any_function_t)__cudaRegisterFunction},
    {"__cudaRegisterVar", (any_function_t)__cudaRegisterVar},
    {"__cudaRegisterManagedVar", (any_function_t)__cudaRegisterManagedVar},
    {"__cudaRegisterHostVar", (any_function_t)__cudaRegisterHostVar},
    {"__cudaRegisterTexture", (any_function_t)__cudaRegisterTexture},
    {"__cudaRegisterSurface", (any_function_t)__cudaRegisterSurface},
    {"__cudaInitModule", (any_function_t)__cudaInitModule},
    {"__cudaPushCallConfiguration", (any_function_t)__cudaPushCallConfiguration},
    {"__cudaPopCallConfiguration", (any_function_t)__cudaPopCallConfiguration},
    {"__cudaGetKernel", (any_function_t)__cudaGetKernel},
    {"__cudaLaunchKernel", (any_function_t)__cudaLaunchKernel},
};

/* ---- Jumps ------------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* jmp *0(%rip), and the address. */
static const unsigned char jump_code[] = {0xff, 0x25, 0, 0, 0, 0};
#elif defined(__aarch64__)
/* ldr x16, 8; br x16; and the address. */
static const unsigned char jump_code[] = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6};
#else
static const unsigned char jump_code[] = {0}; /* there is no jump for this processor: nothing is replaced */
#endif
enum { JUMP_BYTES = sizeof jump_code + sizeof(any_function_t), HAS_JUMP = sizeof jump_code > 1 };

static bool write_jump(unsigned char *at, any_function_t to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)at & ~(page - 1);
    size_t bytes = (((uintptr_t)at + JUMP_BYTES - 1) & ~(page - 1)) + page - first;
    if (mprotect((void *)first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(at, jump_code, sizeof jump_code);
    memcpy(at + sizeof jump_code, &to, sizeof to);
    __builtin___clear_cache((char *)at, (char *)at + JUMP_BYTES);
    mprotect((void *)first, bytes, PROT_READ | PROT_EXEC);
    return true;
}

static any_function_t function_called(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    return NULL;
}

/* ---- The symbol table ----------------------------------------------------------------------------------------- */

typedef struct elf_file {
    const unsigned char *bytes;
    size_t size;
} elf_file_t;

/* Returns a part of the file, or NULL if it is outside. */
static const void *part(const elf_file_t *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->size && bytes <= file->size - offset ? file->bytes + offset : NULL;
}

static const ElfW(Shdr) * section_at(const elf_file_t *file, const ElfW(Ehdr) * header, unsigned index)
{
    if (index >= header->e_shnum || header->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    return part(file, header->e_shoff + (uint64_t)index * sizeof(ElfW(Shdr)), sizeof(ElfW(Shdr)));
}

/* Replaces the functions of one symbol table. Returns their number. */
static int replace_symbols(const elf_file_t *file, const ElfW(Shdr) * table, const ElfW(Shdr) * strings, uintptr_t base)
{
    int count = 0;
    const ElfW(Sym) *symbols = part(file, table->sh_offset, table->sh_size);
    const char *names = part(file, strings->sh_offset, strings->sh_size);
    if (!symbols || !names || strings->sh_size == 0 || names[strings->sh_size - 1] != '\0')
        return 0;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const ElfW(Sym) *symbol = &symbols[i];
        bool is_function = (symbol->st_info & 15) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
                           symbol->st_name < strings->sh_size && symbol->st_size >= JUMP_BYTES;
        any_function_t function = is_function ? function_called(names + symbol->st_name) : NULL;
        if (function && write_jump((unsigned char *)(base + symbol->st_value), function))
            count++;
    }
    return count;
}

static int replace_in_file(const elf_file_t *file, uintptr_t base)
{
    const ElfW(Ehdr) *header = part(file, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return 0;
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *table = section_at(file, header, i);
        const ElfW(Shdr) *strings = table && table->sh_type == SHT_SYMTAB ? section_at(file, header, table->sh_link)
                                                                          : NULL;
        if (strings)
            return replace_symbols(file, table, strings, base);
    }
    return 0;
}

/* The first object is the program. */
static int find_base(struct dl_phdr_info *info, size_t size, void *base)
{
    (void)size;
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

__attribute__((constructor)) static void replace_static_runtime(void)
{
    const char *setting = getenv("RUNG_EMULATED_STATIC");
    if (!setting || strcmp(setting, "1") != 0)
        return;
    uintptr_t base = 0;
    struct stat status;
    int replaced = 0, file = HAS_JUMP ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : -1;
    dl_iterate_phdr(find_base, &base);
    if (file >= 0 && fstat(file, &status) == 0) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (bytes != MAP_FAILED) {
            replaced = replace_in_file(&(elf_file_t){bytes, (size_t)status.st_size}, base);
            munmap(bytes, (size_t)status.st_size);
        }
    }
    if (file >= 0)
        close(file);
    if (replaced == 0)
        fprintf(stderr, "rung: emulated GPU: the functions of the static CUDA runtime were not found in the program; "
                        "link it with -cudart shared\n");
}
