/* SPDX-License-Identifier: Apache-2.0 */
/* driver_coverage.c - writes which inline PTX statements launches have executed, for tests that must execute all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/driver/driver.h"
#include "emulator/ptx/module.h"

enum { EXECUTED = 1, WRITTEN = 2 };

static const char *coverage_file(void)
{
    const char *file = getenv("RUNG_EMULATED_COVERAGE");
    return file && *file ? file : NULL;
}

bool coverage_is_wanted(void)
{
    return coverage_file() != NULL;
}

void coverage_begin(struct ptx_module *module)
{
    if (coverage_is_wanted())
        module->executed = calloc((size_t)module->instruction_count + 1, 1);
}

/* Returns whether a line begins or ends inline PTX: compilers mark it with comments. */
static bool is_mark(const char *line, size_t length, const char *mark)
{
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    return length >= strlen(mark) && memcmp(line, mark, strlen(mark)) == 0;
}

static void write_statement(FILE *file, const ptx_module_t *module, int32_t location, const char *line, size_t length)
{
    const char *name = "";
    int32_t number = 0;
    if (location >= 0) {
        int32_t at = module->locations[location].file;
        number = module->locations[location].line;
        if (at > 0 && at < module->file_count && module->files[at])
            name = module->files[at];
    }
    while (length > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        length--;
    }
    fprintf(file, "%s\t%d\t%.*s\n", name, number, (int)length, line);
}

/* Writes the instructions of one line of the text that were executed for the first time. `pc` is the first instruction that
 * may be of the line; instructions are in the order of the text. */
static void write_line(FILE *file, ptx_module_t *module, int32_t *pc, int32_t number, const char *line, size_t length,
                       bool is_inline)
{
    while (*pc < module->instruction_count && module->instructions[*pc].line < number)
        (*pc)++;
    for (; *pc < module->instruction_count && module->instructions[*pc].line == number; (*pc)++) {
        if (is_inline && module->executed[*pc] == EXECUTED)
            write_statement(file, module, module->instructions[*pc].location, line, length);
        if (module->executed[*pc])
            module->executed[*pc] |= WRITTEN;
    }
}

void coverage_write(struct ptx_module *module)
{
    const char *name = coverage_file(), *at = module->text, *end = at + module->text_bytes;
    FILE *file = name && module->executed ? fopen(name, "ae") : NULL;
    bool is_inline = false;
    int32_t pc = 0;
    for (int32_t number = 1; file && at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        is_inline = (is_inline || is_mark(at, length, "// begin inline asm")) &&
                    !is_mark(at, length, "// end inline asm");
        write_line(file, module, &pc, number, at, length, is_inline);
        at += length + 1;
    }
    if (file)
        (void)fclose(file);
}
