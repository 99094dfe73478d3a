/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - reads a cubin: an ELF file whose .nv.info sections tell of its kernels.
 *
 * NVIDIA documents the container (ELF) and not the notes in it. Their numbers are those
 * that cuobjdump prints, held against the compiler's own report by test_image. */
#include "image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MACHINE_CUDA = 190,
    /* From this ABI version on the architecture stands in bits 8 to 15 of the flags. */
    ABI_SECOND = 8,
    ACCELERATED_FIRST = 0x800,
    ACCELERATED_SECOND = 0x8,
    /* What the system keeps of a block's shared memory where it keeps any. */
    SHARED_RESERVED = 1024
};

/* Notes: a byte for the form of the value, one for what it is, two for the value or its
 * length. */
enum { FORM_BYTES = 4 };
enum { NOTE_MAX_THREADS = 0x05, NOTE_FRAME_SIZE = 0x11, NOTE_PARAMETER = 0x17, NOTE_REGISTERS = 0x2f };

typedef struct image_reader {
    const unsigned char *bytes;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr names; /* the section with the names of sections */
    image_t *image;
} image_reader_t;

/* ---- Bounds ------------------------------------------------------------------------------- */

static bool read_at(const image_reader_t *reader, uint64_t offset, void *to, size_t bytes)
{
    if (offset > reader->size || bytes > reader->size - offset)
        return false;
    memcpy(to, reader->bytes + offset, bytes);
    return true;
}

static bool section_at(const image_reader_t *reader, unsigned index, Elf64_Shdr *section)
{
    return index < reader->header.e_shnum &&
           read_at(reader, reader->header.e_shoff + (uint64_t)index * sizeof *section, section, sizeof *section);
}

/* Whether all of a section's bytes are there. */
static bool is_inside(const image_reader_t *reader, const Elf64_Shdr *section)
{
    return section->sh_type == SHT_NOBITS ||
           (section->sh_offset <= reader->size && section->sh_size <= reader->size - section->sh_offset);
}

/* The name at an offset of a table of strings, or NULL if it has no end. */
static const char *string_at(const image_reader_t *reader, const Elf64_Shdr *table, uint64_t offset)
{
    if (table->sh_type == SHT_NOBITS || !is_inside(reader, table) || offset >= table->sh_size)
        return NULL;
    const char *text = (const char *)reader->bytes + table->sh_offset + offset;
    return memchr(text, '\0', table->sh_size - offset) ? text : NULL;
}

static const char *section_name(const image_reader_t *reader, const Elf64_Shdr *section)
{
    return string_at(reader, &reader->names, section->sh_name);
}

static uint32_t number_at(const unsigned char *bytes)
{
    uint32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* What follows a prefix, or NULL. */
static const char *behind(const char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(name, prefix, length) == 0 ? name + length : NULL;
}

/* ---- Sections ----------------------------------------------------------------------------- */

static image_function_t *function_called(image_t *image, const char *name)
{
    for (int i = 0; i < image->function_count; i++)
        if (strcmp(image->functions[i].name, name) == 0)
            return &image->functions[i];
    return NULL;
}

const image_function_t *image_find(const image_t *image, const char *name)
{
    for (int i = 0; i < image->function_count; i++)
        if (strcmp(image->functions[i].name, name) == 0)
            return &image->functions[i];
    return NULL;
}

/* Every .text.NAME is a kernel. */
static bool add_function(image_reader_t *reader, const Elf64_Shdr *section, const char *name)
{
    image_t *image = reader->image;
    const char *kernel = behind(name, ".text.");
    (void)section;
    if (!kernel)
        return true;
    if (*kernel == '\0' || strlen(kernel) >= IMAGE_NAME || image->function_count == IMAGE_FUNCTIONS ||
        function_called(image, kernel))
        return false;
    image_function_t *function = &image->functions[image->function_count++];
    strcpy(function->name, kernel);
    function->max_threads = 1024;
    return true;
}

/* One note of a kernel's own section. */
static bool read_own_note(image_function_t *function, int what, const unsigned char *value, size_t length)
{
    if (what == NOTE_MAX_THREADS && length >= 12) {
        uint64_t threads = (uint64_t)number_at(value) * number_at(value + 4);
        threads = threads <= 1024 ? threads * number_at(value + 8) : threads;
        function->max_threads = threads <= 1024 ? (int)threads : 1024;
        return function->max_threads > 0;
    }
    if (what == NOTE_PARAMETER) {
        if (length < 12)
            return false;
        unsigned ordinal = number_at(value + 4) & 0xffff;
        if (ordinal >= IMAGE_PARAMETERS)
            return false;
        function->parameter_bytes[ordinal] = (int)(number_at(value + 8) >> 18);
        if ((int)ordinal >= function->parameter_count)
            function->parameter_count = (int)ordinal + 1;
    }
    return true;
}

/* The name of a symbol, or NULL. */
static const char *symbol_name(const image_reader_t *reader, const Elf64_Shdr *table, uint64_t index, Elf64_Sym *symbol)
{
    Elf64_Shdr strings;
    if (!is_inside(reader, table) || table->sh_type == SHT_NOBITS || index >= table->sh_size / sizeof *symbol ||
        !read_at(reader, table->sh_offset + index * sizeof *symbol, symbol, sizeof *symbol) ||
        !section_at(reader, table->sh_link, &strings))
        return NULL;
    return string_at(reader, &strings, symbol->st_name);
}

/* One note of the section for all kernels: a kernel's symbol and a number. */
static bool read_shared_note(image_reader_t *reader, const Elf64_Shdr *section, int what, const unsigned char *value,
                             size_t length)
{
    Elf64_Shdr table;
    Elf64_Sym symbol;
    if (what != NOTE_REGISTERS && what != NOTE_FRAME_SIZE)
        return true;
    if (length < 8 || !section_at(reader, section->sh_link, &table))
        return false;
    const char *name = symbol_name(reader, &table, number_at(value), &symbol);
    if (!name)
        return false;
    image_function_t *function = function_called(reader->image, name);
    uint32_t number = number_at(value + 4);
    if (number > INT32_MAX)
        return false;
    if (function && what == NOTE_REGISTERS)
        function->registers = (int)number;
    else if (function)
        function->frame = (int)number;
    return true;
}

static bool read_notes(image_reader_t *reader, const Elf64_Shdr *section, const char *name)
{
    const char *rest = behind(name, ".nv.info");
    if (!rest || section->sh_type == SHT_NOBITS || (*rest && *rest != '.'))
        return true;
    image_function_t *function = *rest ? function_called(reader->image, rest + 1) : NULL;
    const unsigned char *at = reader->bytes + section->sh_offset, *end = at + section->sh_size;
    while (end - at >= 4) {
        size_t length = at[0] == FORM_BYTES ? (size_t)(at[2] | at[3] << 8) : 0;
        int what = at[0] == FORM_BYTES ? at[1] : -1;
        at += 4;
        if (length > (size_t)(end - at))
            return false;
        bool good = function ? read_own_note(function, what, at, length)
                             : *rest || read_shared_note(reader, section, what, at, length);
        if (!good)
            return false;
        at += length;
    }
    return at == end;
}

static bool read_shared_size(image_reader_t *reader, const Elf64_Shdr *section, const char *name)
{
    const char *kernel = behind(name, ".nv.shared.");
    image_function_t *function = kernel ? function_called(reader->image, kernel) : NULL;
    if (!function)
        return true;
    function->shared = (int)section->sh_size;
    return section->sh_size <= 1 << 20;
}

/* Called after read_shared_size has seen them all. */
static bool subtract_reserved_shared(image_reader_t *reader, const Elf64_Shdr *section, const char *name)
{
    (void)section;
    if (!behind(name, ".nv.shared.reserved."))
        return true;
    for (int i = 0; i < reader->image->function_count; i++)
        if (reader->image->functions[i].shared >= SHARED_RESERVED)
            reader->image->functions[i].shared -= SHARED_RESERVED;
    return true;
}

/* ---- The name of the image ------------------------------------------------------------------ */

static bool read_text(image_reader_t *reader, const Elf64_Sym *symbol)
{
    Elf64_Shdr section;
    if (!section_at(reader, symbol->st_shndx, &section) || section.sh_type == SHT_NOBITS ||
        !is_inside(reader, &section) || symbol->st_size == 0 || symbol->st_size > IMAGE_TEXT ||
        symbol->st_value > section.sh_size || symbol->st_size > section.sh_size - symbol->st_value)
        return false;
    memcpy(reader->image->text, reader->bytes + section.sh_offset + symbol->st_value, symbol->st_size);
    return reader->image->text[symbol->st_size - 1] == '\0';
}

static bool read_symbols(image_reader_t *reader, const Elf64_Shdr *section, const char *name)
{
    Elf64_Sym symbol;
    (void)name;
    if (section->sh_type != SHT_SYMTAB)
        return true;
    for (uint64_t i = 0; i < section->sh_size / sizeof symbol; i++) {
        const char *called = symbol_name(reader, section, i, &symbol);
        if (!called)
            return false;
        if (strcmp(called, "rung_image") == 0 && !read_text(reader, &symbol))
            return false;
    }
    return true;
}

/* ---- The file ------------------------------------------------------------------------------- */

bool image_is_elf(const void *bytes)
{
    return memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t image_elf_size(const void *bytes)
{
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof header);
    uint64_t sections = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    uint64_t segments = header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize;
    return larger(sizeof header, larger(sections, segments));
}

static bool read_header(image_reader_t *reader)
{
    Elf64_Ehdr *header = &reader->header;
    if (!read_at(reader, 0, header, sizeof *header) || !image_is_elf(header->e_ident) ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != MACHINE_CUDA || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_shoff > reader->size || header->e_shnum > (reader->size - header->e_shoff) / sizeof(Elf64_Shdr))
        return false;
    bool second = header->e_ident[EI_ABIVERSION] >= ABI_SECOND;
    unsigned flags = header->e_flags;
    reader->image->architecture = (int)((second ? flags >> 8 : flags) & 0xff);
    reader->image->only_architecture = flags & (second ? ACCELERATED_SECOND : ACCELERATED_FIRST);
    return section_at(reader, header->e_shstrndx, &reader->names);
}

static bool each_section(image_reader_t *reader, bool (*visit)(struct image_reader *, const Elf64_Shdr *, const char *))
{
    Elf64_Shdr section;
    for (unsigned i = 1; i < reader->header.e_shnum; i++) {
        const char *name = section_at(reader, i, &section) && is_inside(reader, &section)
                               ? section_name(reader, &section)
                               : NULL;
        if (!name || !visit(reader, &section, name))
            return false;
    }
    return true;
}

static image_result_t parse_elf(const void *bytes, size_t size, image_t *image)
{
    image_reader_t reader = {.bytes = bytes, .size = size, .image = image};
    bool good = read_header(&reader) && each_section(&reader, add_function) && each_section(&reader, read_notes) &&
                each_section(&reader, read_shared_size) && each_section(&reader, subtract_reserved_shared) &&
                each_section(&reader, read_symbols);
    return good && image->function_count > 0 ? IMAGE_OK : IMAGE_DAMAGED;
}

image_result_t image_parse(const void *bytes, size_t size, image_t *image)
{
    memset(image, 0, sizeof *image);
    if (size >= SELFMAG && image_is_elf(bytes))
        return parse_elf(bytes, size, image);
    char *text = malloc(size + 1);
    if (!text)
        return IMAGE_DAMAGED;
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    image_result_t result = image_parse_ptx(text, image);
    free(text);
    return result;
}
