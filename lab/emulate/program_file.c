/* SPDX-License-Identifier: Apache-2.0 */
/* program_file.c - how a program uses CUDA. */
#include "emulate/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fat_binary.h"
#include "process/oclgrind_process.h"
#include "process/program_search.h"

/* ---- Finding ------------------------------------------------------------------------------------------- */

bool lab_program_find(const char *name, char *path, size_t capacity)
{
    if (strchr(name, '/'))
        return snprintf(path, capacity, "%s", name) < (int)capacity && access(path, X_OK) == 0;
    return lab_program_on_path(name, path, capacity);
}

bool lab_program_libraries_find(char *folder, size_t capacity)
{
    static const char *const folders[] = {"driver", LAB_EMULATED_FOLDER};
    char self[LAB_EXECUTABLE_PATH_BYTES], library[LAB_EXECUTABLE_PATH_BYTES + 512];
    int length = (int)lab_find_executable(self, sizeof self);
    for (int i = 0; length > 0 && i < 2; i++) {
        snprintf(folder, capacity, "%.*s%s", length, self, folders[i]);
        snprintf(library, sizeof library, "%s/libcuda.so.1", folder);
        if (access(library, R_OK) == 0)
            return true;
    }
    return false;
}

void lab_program_explain_missing(const char *name, char *why, size_t capacity)
{
    bool has_folder = strchr(name, '/') != NULL;
    if (access(name, F_OK) != 0)
        snprintf(why, capacity, has_folder ? "%.900s does not exist" : "%.900s is not in the folders of PATH", name);
    else if (access(name, X_OK) != 0)
        snprintf(why, capacity, "%.900s is not executable; run chmod +x on it if it is a program", name);
    else
        snprintf(why, capacity, "%.400s is not in the folders of PATH; to run the file in this folder, use ./%.400s",
                 name, name);
}

/* ---- ELF ------------------------------------------------------------------------------------------------- */

/* A file, or a section of it, which has no header. */
typedef struct elf_view {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Ehdr *header;
} elf_view_t;

/* Returns a part of the file, or NULL if it is outside. */
static const void *part(const elf_view_t *view, uint64_t offset, uint64_t bytes)
{
    return offset <= view->size && bytes <= view->size - offset ? view->bytes + offset : NULL;
}

/* Returns structures of the file, which are aligned in every valid file, or NULL. */
static const void *structures(const elf_view_t *view, uint64_t offset, uint64_t bytes)
{
    const void *first = part(view, offset, bytes);
    return (uintptr_t)first % _Alignof(Elf64_Shdr) == 0 ? first : NULL;
}

static const Elf64_Shdr *section_at(const elf_view_t *view, unsigned index)
{
    if (index >= view->header->e_shnum || view->header->e_shentsize != sizeof(Elf64_Shdr))
        return NULL;
    return structures(view, view->header->e_shoff + (uint64_t)index * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
}

/* Returns a string of a table of strings; "" if the offset is invalid. */
static const char *string_at(const elf_view_t *view, const Elf64_Shdr *table, uint64_t offset)
{
    const char *text = table && offset < table->sh_size ? part(view, table->sh_offset, table->sh_size) : NULL;
    return text && text[table->sh_size - 1] == '\0' ? text + offset : "";
}

static const Elf64_Shdr *section_called(const elf_view_t *view, const char *name)
{
    const Elf64_Shdr *names = section_at(view, view->header->e_shstrndx);
    for (unsigned i = 0; i < view->header->e_shnum; i++) {
        const Elf64_Shdr *section = section_at(view, i);
        if (section && strcmp(string_at(view, names, section->sh_name), name) == 0)
            return section;
    }
    return NULL;
}

/* Returns whether the program needs a library whose name begins with `prefix`. */
static bool needs_library(const elf_view_t *view, const char *prefix)
{
    const Elf64_Shdr *dynamic = section_called(view, ".dynamic");
    const Elf64_Dyn *entries = dynamic ? structures(view, dynamic->sh_offset, dynamic->sh_size) : NULL;
    const Elf64_Shdr *strings = dynamic ? section_at(view, dynamic->sh_link) : NULL;
    for (size_t i = 0; entries && i < dynamic->sh_size / sizeof *entries; i++)
        if (entries[i].d_tag == DT_NEEDED &&
            strncmp(string_at(view, strings, entries[i].d_un.d_val), prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

/* Returns whether the symbol table defines a symbol. */
static bool defines(const elf_view_t *view, const char *name)
{
    const Elf64_Shdr *table = section_called(view, ".symtab");
    const Elf64_Shdr *strings = table ? section_at(view, table->sh_link) : NULL;
    const Elf64_Sym *symbols = table ? structures(view, table->sh_offset, table->sh_size) : NULL;
    for (size_t i = 0; symbols && i < table->sh_size / sizeof *symbols; i++)
        if (symbols[i].st_shndx != SHN_UNDEF && strcmp(string_at(view, strings, symbols[i].st_name), name) == 0)
            return true;
    return false;
}

/* Libraries of NVIDIA with kernels of their own. */
static void find_closed_library(const elf_view_t *view, lab_program *program)
{
    static const char *const libraries[] = {"libcublas.so", "libcublasLt.so", "libcudnn.so",    "libcufft.so",
                                            "libcurand.so", "libcusolver.so", "libcusparse.so", "libnccl.so"};
    static const struct {
        const char *function, *library;
    } linked[] = {{"cublasCreate_v2", "libcublas_static.a"}, {"cufftExecC2C", "libcufft_static.a"}};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries && !program->closed_library; i++)
        if (needs_library(view, libraries[i]))
            program->closed_library = libraries[i];
    for (size_t i = 0; i < sizeof linked / sizeof *linked && !program->closed_library; i++)
        if (defines(view, linked[i].function))
            program->closed_library = linked[i].library;
}

/* ---- Fat binaries ------------------------------------------------------------------------------------------ */

static bool read_file(const void *image, uint64_t offset, void *out, size_t bytes)
{
    const void *from = part(image, offset, bytes);
    if (from)
        memcpy(out, from, bytes);
    return from != NULL;
}

static void count_entry(const rungi_fat_binary_entry *entry, lab_program *program)
{
    if (entry->kind == RUNGI_FAT_BINARY_PTX) {
        bool is_lowest = program->ptx_count++ == 0 || entry->architecture < program->ptx_lowest;
        program->ptx_lowest = is_lowest ? entry->architecture : program->ptx_lowest;
    } else if (entry->kind == RUNGI_FAT_BINARY_ELF) {
        bool is_highest = program->cubin_count++ == 0 || entry->architecture > program->cubin_highest;
        program->cubin_highest = is_highest ? entry->architecture : program->cubin_highest;
    }
}

/* Containers follow each other, aligned to 8 bytes. Stops at the first one that is damaged. */
static void read_containers(const elf_view_t *section, lab_program *program)
{
    rungi_fat_binary file;
    rungi_fat_binary_entry entry;
    for (uint64_t at = 0; at < section->size;) {
        if (!rungi_fat_binary_open(&file, read_file, section, at)) {
            at += 8;
            continue;
        }
        at = file.end;
        rungi_fat_binary_step step;
        while ((step = rungi_fat_binary_next(&file, &entry)) == RUNGI_FAT_BINARY_ENTRY)
            count_entry(&entry, program);
        if (step == RUNGI_FAT_BINARY_DAMAGED)
            return;
    }
}

/* ---- Programs ------------------------------------------------------------------------------------------------- */

/* The functions that a static runtime has tell its version. */
static int static_major(const elf_view_t *view)
{
    if (defines(view, "cudaGetDeviceProperties_v2"))
        return 12;
    return defines(view, "cudaGetDriverEntryPointByVersion") ? 13 : 11;
}

static void read_elf(const elf_view_t *view, lab_program *program)
{
    const Elf64_Shdr *fat = section_called(view, ".nv_fatbin");
    const unsigned char *bytes = fat ? part(view, fat->sh_offset, fat->sh_size) : NULL;
    program->is_relocatable = section_called(view, "__nv_relfatbin") != NULL;
    program->has_fat_binary = bytes != NULL;
    if (bytes)
        read_containers(&(elf_view_t){bytes, fat->sh_size, NULL}, program);
    find_closed_library(view, program);
    bool is_static = defines(view, "__cudaRegisterFatBinary");
    program->runtime = needs_library(view, "libcudart.so") ? LAB_RUNTIME_SHARED
                       : is_static                         ? LAB_RUNTIME_STATIC
                       : bytes                             ? LAB_RUNTIME_STRIPPED
                                                           : LAB_RUNTIME_NONE;
    if (program->runtime == LAB_RUNTIME_STATIC)
        program->runtime_major = static_major(view);
}

static bool is_elf(const elf_view_t *view)
{
    const Elf64_Ehdr *header = part(view, 0, sizeof *header);
    return header && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64;
}

bool lab_program_read(const char *path, lab_program *program, char *why, size_t capacity)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    *program = (lab_program){0};
    if (file < 0 || fstat(file, &status) != 0) {
        snprintf(why, capacity, "%s cannot be read: %s", path, strerror(errno));
        if (file >= 0)
            close(file);
        return false;
    }
    void *bytes = status.st_size > 0 ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED)
        return true; /* an empty file or a device: the system says what is wrong with it */
    elf_view_t view = {bytes, (size_t)status.st_size, bytes};
    program->is_elf = is_elf(&view);
    if (program->is_elf)
        read_elf(&view, program);
    munmap(bytes, (size_t)status.st_size);
    return true;
}

bool lab_program_refuse(const lab_program *program, int architecture, char *why, size_t capacity)
{
    if (!program->is_elf || !program->has_fat_binary)
        return false;
    if (program->runtime == LAB_RUNTIME_STRIPPED) {
        snprintf(why, capacity,
                 "the program contains the static CUDA runtime and no symbol table; link it with nvcc -cudart shared, "
                 "or do not strip it");
        return true;
    }
    if (program->is_relocatable) {
        snprintf(
            why, capacity,
            "the program was compiled with -rdc=true, so that its linked kernels are machine code of a GPU; compile "
            "it with -rdc=false, and put device functions that several files use into a header");
        return true;
    }
    if (program->ptx_count == 0 && program->cubin_count > 0) {
        snprintf(why, capacity,
                 "the program contains machine code for sm_%d and no PTX; compile it with nvcc -gencode "
                 "arch=compute_%d,code=compute_%d",
                 program->cubin_highest, architecture, architecture);
        return true;
    }
    if (program->ptx_count > 0 && program->ptx_lowest > architecture) {
        snprintf(why, capacity,
                 "the program contains PTX for compute_%d, and the emulated GPU is sm_%d; choose a newer GPU with "
                 "--machine, or compile with nvcc -gencode arch=compute_%d,code=compute_%d",
                 program->ptx_lowest, architecture, architecture, architecture);
        return true;
    }
    return false;
}
