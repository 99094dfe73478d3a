/* SPDX-License-Identifier: Apache-2.0 */
/* manual.c - see manual.h. The pages use the macros of man(7). */
#include "cli/manual.h"

#include <ctype.h>
#include <string.h>

#include "cli/options.h"
#include "rung/rung.h"

static const struct {
    int command;
    const char *text;
} descriptions[] = {
#define DESCRIPTION(command, text) {LAB_COMMAND_##command, text},
#include "cli/descriptions.def"
#undef DESCRIPTION
};

static const struct {
    int command;
    const char *line, *help;
} examples[] = {
#define EXAMPLE(command, line, help) {LAB_COMMAND_##command, line, help},
#include "cli/examples.def"
#undef EXAMPLE
};

/* A variable, file or exit code with its meaning. */
typedef struct manual_entry {
    const char *name, *help;
} manual_entry_t;

static const manual_entry_t variables[] = {
#define VARIABLE(name, help) {#name, help},
#include "cli/manual_variables.def"
#undef VARIABLE
};

static const manual_entry_t files[] = {
#define INSTALLED_FILE(path, help) {path, help},
#include "cli/installed_files.def"
#undef INSTALLED_FILE
};

static const manual_entry_t exits[] = {
#define EXIT(name, code, help) {#code, help},
#include "cli/exit_codes.def"
#undef EXIT
};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* Writes text, with the special characters of man(7) escaped. */
static void write_text(const char *text, FILE *out)
{
    static const char special[] = "-\\~^";
    static const char *const escapes[] = {"\\-", "\\e", "\\(ti", "\\(ha"};
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++) {
        const char *found = strchr(special, *text);
        if (found)
            fputs(escapes[found - special], out);
        else
            fputc(*text, out);
    }
}

static void write_line(const char *text, FILE *out)
{
    write_text(text, out);
    fputc('\n', out);
}

/* Writes a term in bold, its argument (or NULL) in italics, and the help text. */
static void write_term(const char *term, const char *argument, const char *help, FILE *out)
{
    fputs(".TP\n\\fB", out);
    write_text(term, out);
    fputs("\\fR", out);
    if (argument && *argument) {
        fputs(" \\fI", out);
        write_text(argument, out);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    write_line(help, out);
}

static void write_entries(const char *title, const manual_entry_t *entries, int count, FILE *out)
{
    fprintf(out, ".SH %s\n", title);
    for (int i = 0; i < count; i++)
        write_term(entries[i].name, NULL, entries[i].help, out);
}

/* Writes the title, "RUNG-BENCH", and the name, "rung-bench". */
static void write_title(int command, FILE *out)
{
    char name[64];
    bool is_whole = command == LAB_COMMAND_COUNT;
    snprintf(name, sizeof name, "rung%s%s", is_whole ? "" : "-", is_whole ? "" : lab_command_at(command)->name);
    fputs(".TH ", out);
    for (const char *at = name; *at; at++)
        fputc(toupper((unsigned char)*at), out);
    fprintf(out, " 1 \"\" \"rung %s\" \"User Commands\"\n.SH NAME\n", rung_version_text());
    write_text(name, out);
    fputs(" \\- ", out);
    write_line(is_whole ? "matrix multiplication, kernel by kernel" : lab_command_at(command)->help, out);
}

static void write_synopsis(int command, FILE *out)
{
    fputs(".SH SYNOPSIS\n\\fBrung", out);
    if (command == LAB_COMMAND_COUNT) {
        fputs("\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.br\n\\fBrung \\-\\-version\\fR\n", out);
        return;
    }
    fprintf(out, " %s\\fR ", lab_command_at(command)->name);
    write_text(lab_command_at(command)->arguments, out);
    fprintf(out, "%s[\\fIOPTIONS\\fR]\n", *lab_command_at(command)->arguments ? " " : "");
}

static void write_description(int command, FILE *out)
{
    const char *text =
        "rung multiplies matrices on the CPU, on OpenCL devices and on NVIDIA GPUs. It checks its kernels, "
        "measures them and explains their speed. Each command has a manual page of its own.";
    if (command < LAB_COMMAND_COUNT)
        text = lab_command_at(command)->help;
    for (int i = 0; i < COUNT(descriptions); i++)
        if (descriptions[i].command == command)
            text = descriptions[i].text;
    fputs(".SH DESCRIPTION\n", out);
    write_line(text, out);
}

static void write_commands(FILE *out)
{
    fputs(".SH COMMANDS\n", out);
    for (int i = 0; i < LAB_COMMAND_COUNT; i++) {
        const lab_command *command = lab_command_at(i);
        write_term(command->name, command->arguments, command->help, out);
    }
}

static void write_options(int command, FILE *out)
{
    const lab_option *option;
    fputs(".SH OPTIONS\n", out);
    for (int i = 0; (option = lab_option_at(i)) != NULL; i++) {
        char term[64], letter = lab_option_letter(option);
        if (!(option->commands & 1u << command))
            continue;
        if (letter)
            snprintf(term, sizeof term, "-%c, --%s", letter, option->name);
        else
            snprintf(term, sizeof term, "--%s", option->name);
        write_term(term, option->argument, lab_option_help(option, command), out);
    }
    write_term("-h, --help", NULL, lab_help_option_text, out);
}

/* Writes the examples of one command, or all. */
static void write_examples(int command, FILE *out)
{
    bool is_first = true;
    for (int i = 0; i < COUNT(examples); i++) {
        if (command != LAB_COMMAND_COUNT && examples[i].command != command)
            continue;
        if (is_first)
            fputs(".SH EXAMPLES\n", out);
        is_first = false;
        write_term(examples[i].line, NULL, examples[i].help, out);
    }
}

static void write_see_also(int command, FILE *out)
{
    /* "\%" forbids groff to break a name. */
    fprintf(out, ".SH SEE ALSO\n%s", command == LAB_COMMAND_COUNT ? "" : ".BR rung (1)");
    bool is_first = command == LAB_COMMAND_COUNT;
    for (int i = 0; i < LAB_COMMAND_COUNT; i++) {
        if (i == command)
            continue;
        fprintf(out, "%s.BR \\%%rung\\-%s (1)", is_first ? "" : ",\n", lab_command_at(i)->name);
        is_first = false;
    }
    fputs("\n.PP\nThe library's manual is its header, rung/rung.h.\n", out);
}

void lab_manual_print(int command, FILE *out)
{
    write_title(command, out);
    write_synopsis(command, out);
    write_description(command, out);
    if (command == LAB_COMMAND_COUNT)
        write_commands(out);
    else
        write_options(command, out);
    write_entries("EXIT STATUS", exits, COUNT(exits), out);
    write_entries("ENVIRONMENT", variables, COUNT(variables), out);
    write_entries("FILES", files, COUNT(files), out);
    write_examples(command, out);
    write_see_also(command, out);
}
