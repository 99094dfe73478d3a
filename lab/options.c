/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - getopt_long over the table of options, and help from it. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "terminal.h"

#define IN(name) (1u << LAB_COMMAND_##name)

static lab_option rows[] = {
#define OPTION(field, argument, commands, help) {#field, argument, commands, help},
#include "options.def"
#undef OPTION
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static const lab_command commands[] = {
#define COMMAND(name, arguments, help) {#name, arguments, help},
#include "commands.def"
#undef COMMAND
};

/* Short forms. */
static const struct {
    char letter;
    const char *field;
} letters[] = {
#define OPTION(field, argument, commands, help)
#define LETTER(letter, field) {letter, #field},
#include "options.def"
#undef OPTION
};

enum { LETTER_COUNT = sizeof letters / sizeof *letters };

/* Options that mean something else for a command, by the row of the option. */
enum {
#define OPTION(field, argument, commands, help) ROW_##field,
#include "options.def"
#undef OPTION
};

static const struct {
    int row, command;
    const char *help;
} meanings[] = {
#define OPTION(field, argument, commands, help)
#define MEANING(field, command, help) {ROW_##field, LAB_COMMAND_##command, help},
#include "options.def"
#undef OPTION
};

const char *const lab_help_help = "show this help";

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

const lab_command *lab_command_at(int command)
{
    return &commands[command];
}

const lab_option *lab_option_at(int index)
{
    write_dashes();
    return index < ROW_COUNT ? &rows[index] : NULL;
}

const char *lab_option_help(const lab_option *option, int command)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].row == option - rows && meanings[i].command == command)
            return meanings[i].help;
    return option->help;
}

char lab_option_letter(const lab_option *option)
{
    for (int i = 0; i < LETTER_COUNT; i++)
        if (strcmp(letters[i].field, option->name) == 0)
            return letters[i].letter;
    return 0;
}

void lab_command_unknown(const char *name)
{
    const char *names[LAB_COMMAND_COUNT];
    for (int i = 0; i < LAB_COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *nearest = lab_nearest(name, names, LAB_COMMAND_COUNT);
    fprintf(stderr, "rung: unknown command \"%s\"", name);
    if (nearest) {
        fprintf(stderr, " (did you mean %s?). Run \"rung help\" for all commands.\n", nearest);
        return;
    }
    fprintf(stderr, ". The commands are:\n");
    lab_options_help(LAB_COMMAND_COUNT, stderr);
}

/* ---- Help ------------------------------------------------------------------------------------------ */

/* Lines longer than a hundred columns are hard to read, and none are shorter than forty. */
static int help_width(FILE *out)
{
    int width = lab_terminal_width(out);
    return width > 100 ? 100 : width < 40 ? 40 : width;
}

/* Two columns; what is too long for the left one has a line of its own. */
static void help_line(const char *left, int column, const char *help, FILE *out)
{
    int length = fprintf(out, "  %s", left);
    fprintf(out, "%s%*s", length + 2 > column ? "\n" : "", length + 2 > column ? column : column - length, "");
    lab_text_wrap(help, column, column, help_width(out), out);
}

static void help_on_commands(FILE *out)
{
    for (int i = 0; i < LAB_COMMAND_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "rung %-7s %s", commands[i].name, commands[i].arguments);
        help_line(left, 35, commands[i].help, out);
    }
}

static void help_on_option(const lab_option *option, int command, FILE *out)
{
    char left[80], letter = lab_option_letter(option);
    snprintf(left, sizeof left, "%c%c%s--%.31s%s%.24s", letter ? '-' : ' ', letter ? letter : ' ', letter ? ", " : "  ",
             option->name, *option->argument ? " " : "", option->argument);
    help_line(letter ? left : left + 4, 24, lab_option_help(option, command), out);
}

void lab_options_help(int command, FILE *out)
{
    write_dashes();
    if (command == LAB_COMMAND_COUNT) {
        help_on_commands(out);
        return;
    }
    fprintf(out, "rung %s %s\n  ", commands[command].name, commands[command].arguments);
    lab_text_wrap(commands[command].help, 2, 2, help_width(out), out);
    fputc('\n', out);
    for (int i = 0; i < ROW_COUNT; i++)
        if (rows[i].commands & 1u << command)
            help_on_option(&rows[i], command, out);
    help_line("-h, --help", 24, lab_help_help, out);
}

/* ---- Reading --------------------------------------------------------------------------------------- */

static const char *nearest_option(int command, const char *text)
{
    const char *names[ROW_COUNT];
    for (int i = 0; i < ROW_COUNT; i++)
        names[i] = rows[i].commands & 1u << command ? rows[i].name : NULL;
    return lab_nearest(text, names, ROW_COUNT);
}

static bool takes(int command, int row)
{
    return row >= 0 && row < ROW_COUNT && rows[row].commands & 1u << command;
}

static void complain_unknown(int command, const char *name)
{
    const char *nearest = nearest_option(command, name);
    fprintf(stderr, "rung %s: unknown option --%s%s%s%s.", commands[command].name, name,
            nearest ? " (did you mean --" : "", nearest ? nearest : "", nearest ? "?)" : "");
}

/* Prints what getopt_long found wrong with this text: `found` is what it returned. */
static void complain(int command, int found, const char *text)
{
    char name[64];
    const char *own = commands[command].name;
    int row = optopt - 256;
    for (int i = 0; i < LETTER_COUNT; i++)
        for (int j = 0; optopt == letters[i].letter && j < ROW_COUNT; j++)
            row = strcmp(rows[j].name, letters[i].field) == 0 ? j : row;
    if (found == ':' && takes(command, row)) {
        fprintf(stderr, "rung %s: --%s needs a value (%s).", own, rows[row].name, rows[row].argument);
        return;
    }
    if (takes(command, row)) {
        fprintf(stderr, "rung %s: --%s takes no value.", own, rows[row].name);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    if (optopt > 0 && optopt < 256)
        fprintf(stderr, "rung %s: unknown option -%c.", own, optopt);
    else
        complain_unknown(command, name + strspn(name, "-"));
}

/* The table for getopt_long, and ":ho:" for its letters. It has the options of all commands, so that --m is not
 * taken for an abbreviation of --memory where only that exists. */
static void fill_table(struct option table[ROW_COUNT + 2], char *short_forms)
{
    memset(table, 0, (ROW_COUNT + 2) * sizeof *table);
    for (int i = 0; i < ROW_COUNT; i++)
        table[i] = (struct option){rows[i].name, *rows[i].argument ? required_argument : no_argument, NULL, i + 256};
    table[ROW_COUNT] = (struct option){"help", no_argument, NULL, 'h'};
    short_forms += sprintf(short_forms, ":h");
    for (int i = 0; i < ROW_COUNT; i++)
        if (lab_option_letter(&rows[i]))
            short_forms += sprintf(short_forms, "%c%s", lab_option_letter(&rows[i]), *rows[i].argument ? ":" : "");
}

static int row_of(int found)
{
    for (int i = 0; i < ROW_COUNT && found < 256; i++)
        if (lab_option_letter(&rows[i]) == found)
            return i;
    return found - 256;
}

/* How many words follow the first "--", which getopt_long would forget. */
static int count_behind_dashes(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return argc - 1 - i;
    return 0;
}

bool lab_options_read(int command, int argc, char **argv, lab_options *options)
{
    struct option table[ROW_COUNT + 2];
    char short_forms[3 + 2 * LETTER_COUNT + 1];
    int row;
    write_dashes();
    memset(options, 0, sizeof *options);
    fill_table(table, short_forms);
    options->behind_dashes = count_behind_dashes(argc, argv);

    optind = 2;
    opterr = 0;
    while ((row = getopt_long(argc, argv, short_forms, table, NULL)) != -1) {
        if (row == 'h') {
            lab_options_help(command, stdout);
            exit(LAB_GOOD);
        }
        if (row == '?' || row == ':') {
            complain(command, row, argv[optind - 1]);
            break;
        }
        if (!takes(command, row_of(row))) {
            complain_unknown(command, rows[row_of(row)].name);
            row = '?';
            break;
        }
        *field_of(options, row_of(row)) = optarg ? optarg : "";
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
        fprintf(stderr, "rung %s: unexpected argument \"%s\".", commands[command].name, argv[argc - 1]);
    fprintf(stderr, " Run \"rung help %s\" for all options.\n", commands[command].name);
    return false;
}

int lab_options_given(const lab_options *options, bool (*left_out)(const char *name), char **list, int capacity)
{
    lab_options given = *options;
    int count = 0;
    write_dashes();
    for (int i = 0; i < ROW_COUNT && count < capacity; i++) {
        const char *value = *field_of(&given, i);
        size_t room = value ? strlen(rows[i].name) + strlen(value) + 4 : 0;
        if (!value || left_out(rows[i].name) || !(list[count] = malloc(room)))
            continue;
        snprintf(list[count++], room, "--%s%s%s", rows[i].name, *rows[i].argument ? "=" : "", value);
    }
    return count;
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
