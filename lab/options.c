/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - getopt_long over the table of options, and help from it. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define IN(name) (1u << LAB_COMMAND_##name)

typedef struct option_row {
    char        name[32]; /* with dashes */
    const char *argument;
    unsigned    commands;
    const char *help;
} option_row;

static option_row rows[] = {
#define OPTION(field, argument, commands, help) {#field, argument, commands, help},
#include "options.def"
#undef OPTION
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const struct {
    const char *name, *arguments, *help;
} commands[] = {
#define COMMAND(name, arguments, help) {#name, arguments, help},
#include "commands.def"
#undef COMMAND
};

/* The field of a row: the struct has them in the table's order. */
static const char **field_of(lab_options *options, int row)
{
    const char **fields[] = {
#define OPTION(field, argument, commands, help) &options->field,
#include "options.def"
#undef OPTION
    };
    return fields[row];
}

static void write_dashes(void)
{
    for (int i = 0; i < ROW_COUNT; i++)
        for (char *at = rows[i].name; *at; at++)
            if (*at == '_')
                *at = '-';
}

int lab_command_of(const char *name)
{
    for (int i = 0; i < LAB_COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return i;
    return LAB_COMMAND_COUNT;
}

static int row_of(const char *name)
{
    int row = 0;
    while (row < ROW_COUNT && strcmp(rows[row].name, name) != 0)
        row++;
    return row;
}

static void help_on_commands(FILE *out)
{
    for (int i = 0; i < LAB_COMMAND_COUNT; i++)
        fprintf(out, "  rung %-7s %-18s  %s\n", commands[i].name, commands[i].arguments,
                commands[i].help);
}

void lab_options_help(int command, FILE *out)
{
    write_dashes();
    if (command == LAB_COMMAND_COUNT) {
        help_on_commands(out);
        return;
    }
    fprintf(out, "rung %s %s\n  %s\n\n", commands[command].name, commands[command].arguments,
            commands[command].help);
    for (int i = 0; i < ROW_COUNT; i++) {
        char left[64];
        if (!(rows[i].commands & 1u << command))
            continue;
        snprintf(left, sizeof left, "--%.31s %.24s", rows[i].name, rows[i].argument);
        fprintf(out, "  %-20s  %s\n", left, rows[i].help);
    }
}

bool lab_options_read(int command, int argc, char **argv, lab_options *options)
{
    struct option table[ROW_COUNT + 2];
    int row;
    write_dashes();
    memset(options, 0, sizeof *options);
    memset(table, 0, sizeof table);
    for (int i = 0; i < ROW_COUNT; i++)
        table[i] = (struct option){rows[i].name,
                                   *rows[i].argument ? required_argument : no_argument, NULL, i + 256};
    table[ROW_COUNT] = (struct option){"help", no_argument, NULL, 'h'};

    optind = 2;
    while ((row = getopt_long(argc, argv, "ho:", table, NULL)) != -1) {
        if (row == 'h') {
            lab_options_help(command, stdout);
            exit(LAB_GOOD);
        }
        if (row == 'o')
            row = row_of("output") + 256;
        if (row < 256)
            break; /* getopt has said what is wrong */
        row -= 256;
        if (!(rows[row].commands & 1u << command)) {
            fprintf(stderr, "rung: %s takes no --%s; see: rung help %s\n", commands[command].name,
                    rows[row].name, commands[command].name);
            return false;
        }
        *field_of(options, row) = optarg ? optarg : "";
    }
    if (row == -1 && strstr(commands[command].arguments, "...")) {
        options->arguments = (const char *const *)argv + optind;
        options->argument_count = argc - optind;
        return true;
    }
    if (row == -1 && optind < argc)
        options->argument = argv[optind++];
    if (row == -1 && optind < argc && strchr(commands[command].arguments, ' '))
        options->argument2 = argv[optind++];
    if (row == -1 && optind == argc && (!options->argument || *commands[command].arguments))
        return true;
    if (row == -1)
        fprintf(stderr, "rung: %s does not take \"%s\"\n", commands[command].name, argv[argc - 1]);
    fprintf(stderr, "rung: see: rung help %s\n", commands[command].name);
    return false;
}

bool lab_read_integer(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long read = strtoll(text, &end, 10);
    *value = read;
    return end != text && !*end && errno == 0;
}

bool lab_read_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end;
}
