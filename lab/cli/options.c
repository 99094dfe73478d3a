/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. Parsing uses getopt_long with the table of all options. */
#include "cli/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest_word.h"
#include "cli/terminal.h"

#define IN(name) (1u << LAB_COMMAND_##name)

static lab_option option_table[] = {
#define OPTION(field, argument, commands, help) {#field, argument, commands, help, offsetof(lab_options, field)},
#include "cli/options.def"
};

enum { OPTION_COUNT = sizeof option_table / sizeof *option_table };

static const lab_command commands[] = {
#define COMMAND(name, arguments, help) {#name, arguments, help},
#include "cli/commands.def"
};

/* Short forms. */
static const struct {
    char letter;
    size_t offset; /* of the option's member of lab_options */
} letters[] = {
#define LETTER(letter, field) {letter, offsetof(lab_options, field)},
#include "cli/options.def"
};

enum { LETTER_COUNT = sizeof letters / sizeof *letters };

/* Members of the options that may be given several times. */
static const size_t repeated_offsets[] = {
#define REPEATED(field) offsetof(lab_options, field),
#include "cli/options.def"
};

/* Help texts for single commands. */
static const struct {
    size_t offset; /* of the option's member of lab_options */
    int command;
    const char *help;
} command_meanings[] = {
#define MEANING(field, command, help) {offsetof(lab_options, field), LAB_COMMAND_##command, help},
#include "cli/options.def"
};

const char *const lab_help_option_text = "show this help";

/* Returns the member of an option by its index. */
static const char **field_of(const lab_options *options, int row)
{
    return (const char **)(void *)((char *)options + option_table[row].offset);
}

static void replace_underscores(void)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        for (char *at = option_table[i].name; *at; at++)
            if (*at == '_')
                *at = '-';
}

int lab_command_find(const char *name)
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
    replace_underscores();
    return index < OPTION_COUNT ? &option_table[index] : NULL;
}

const char *lab_option_help(const lab_option *option, int command)
{
    for (size_t i = 0; i < sizeof command_meanings / sizeof *command_meanings; i++)
        if (command_meanings[i].offset == option->offset && command_meanings[i].command == command)
            return command_meanings[i].help;
    return option->help;
}

char lab_option_letter(const lab_option *option)
{
    for (int i = 0; i < LETTER_COUNT; i++)
        if (letters[i].offset == option->offset)
            return letters[i].letter;
    return 0;
}

void lab_command_report_unknown(const char *name)
{
    const char *names[LAB_COMMAND_COUNT];
    for (int i = 0; i < LAB_COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *nearest = lab_nearest_word(name, names, LAB_COMMAND_COUNT);
    fprintf(stderr, "rung: unknown command \"%s\"", name);
    if (nearest) {
        fprintf(stderr, " (did you mean %s?). Run \"rung help\" for all commands.\n", nearest);
        return;
    }
    fprintf(stderr, ". The commands are:\n");
    lab_options_help(LAB_COMMAND_COUNT, stderr);
}

/* ---- Help ------------------------------------------------------------------------------------------ */

/* Returns the width of help texts: that of the terminal, from 40 to 100 columns. */
static int help_width(FILE *out)
{
    int width = lab_terminal_width(out);
    return width > 100 ? 100 : width < 40 ? 40 : width;
}

/* Prints two columns. A text that is too long for the left one gets its own line. */
static void print_help_line(const char *left, int column, const char *help, FILE *out)
{
    int length = fprintf(out, "  %s", left);
    fprintf(out, "%s%*s", length + 2 > column ? "\n" : "", length + 2 > column ? column : column - length, "");
    lab_text_wrap(help, column, column, help_width(out), out);
}

static void print_command_list(FILE *out)
{
    for (int i = 0; i < LAB_COMMAND_COUNT; i++) {
        char left[64];
        snprintf(left, sizeof left, "rung %-7s %s", commands[i].name, commands[i].arguments);
        print_help_line(left, 35, commands[i].help, out);
    }
}

static void print_option_help(const lab_option *option, int command, FILE *out)
{
    char left[80], letter = lab_option_letter(option);
    snprintf(left, sizeof left, "%c%c%s--%.31s%s%.24s", letter ? '-' : ' ', letter ? letter : ' ', letter ? ", " : "  ",
             option->name, *option->argument ? " " : "", option->argument);
    print_help_line(letter ? left : left + 4, 24, lab_option_help(option, command), out);
}

void lab_options_help(int command, FILE *out)
{
    replace_underscores();
    if (command == LAB_COMMAND_COUNT) {
        print_command_list(out);
        return;
    }
    fprintf(out, "rung %s %s\n  ", commands[command].name, commands[command].arguments);
    lab_text_wrap(commands[command].help, 2, 2, help_width(out), out);
    fputc('\n', out);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & 1u << command)
            print_option_help(&option_table[i], command, out);
    print_help_line("-h, --help", 24, lab_help_option_text, out);
}

/* ---- Parsing --------------------------------------------------------------------------------------- */

static bool command_has_option(int command, int row)
{
    return row >= 0 && row < OPTION_COUNT && option_table[row].commands & 1u << command;
}

static void report_unknown_option(int command, const char *name)
{
    const char *names[OPTION_COUNT];
    for (int i = 0; i < OPTION_COUNT; i++)
        names[i] = command_has_option(command, i) ? option_table[i].name : NULL;
    const char *nearest = lab_nearest_word(name, names, OPTION_COUNT);
    fprintf(stderr, "rung %s: unknown option --%s%s%s%s.", commands[command].name, name,
            nearest ? " (did you mean --" : "", nearest ? nearest : "", nearest ? "?)" : "");
}

/* Returns the index of the option for which getopt_long returned `found`, or a negative number if no option matches. */
static int option_index_of(int found)
{
    for (int i = 0; found > 0 && found < 256 && i < OPTION_COUNT; i++)
        if (lab_option_letter(&option_table[i]) == found)
            return i;
    return found - 256;
}

/* Prints the error of getopt_long, which returned `found` for this text. */
static void report_getopt_error(int command, int found, const char *text)
{
    char name[64];
    const char *own = commands[command].name;
    int row = option_index_of(optopt);
    if (found == ':' && command_has_option(command, row)) {
        fprintf(stderr, "rung %s: --%s needs a value (%s).", own, option_table[row].name, option_table[row].argument);
        return;
    }
    if (command_has_option(command, row)) {
        fprintf(stderr, "rung %s: --%s takes no value.", own, option_table[row].name);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    if (optopt > 0 && optopt < 256)
        fprintf(stderr, "rung %s: unknown option -%c.", own, optopt);
    else
        report_unknown_option(command, name + strspn(name, "-"));
}

/* Fills the table and the short forms (":ho:") for getopt_long. The table has the options of all commands; otherwise
 * --m would be an abbreviation of --memory for commands without --m. */
static void fill_table(int command, struct option table[OPTION_COUNT + 2], char *short_forms)
{
    memset(table, 0, (OPTION_COUNT + 2) * sizeof *table);
    for (int i = 0; i < OPTION_COUNT; i++)
        table[i] = (struct option){option_table[i].name, *option_table[i].argument ? required_argument : no_argument,
                                   NULL, i + 256};
    table[OPTION_COUNT] = (struct option){"help", no_argument, NULL, 'h'};
    /* Options behind the name of a program are its own: "+" stops at the first argument. */
    bool has_program = strncmp(commands[command].arguments, "PROGRAM", 7) == 0;
    short_forms += sprintf(short_forms, "%s:h", has_program ? "+" : "");
    for (int i = 0; i < OPTION_COUNT; i++)
        if (lab_option_letter(&option_table[i]))
            short_forms += sprintf(short_forms, "%c%s", lab_option_letter(&option_table[i]),
                                   *option_table[i].argument ? ":" : "");
}

/* Returns the number of arguments after the first "--", which getopt_long does not report. */
static int count_after_double_dash(int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return argc - 1 - i;
    return 0;
}

static bool is_repeated(int row)
{
    for (size_t i = 0; i < sizeof repeated_offsets / sizeof *repeated_offsets; i++)
        if (repeated_offsets[i] == option_table[row].offset)
            return true;
    return false;
}

/* Stores the value of an option. Returns false after printing an error. */
static bool store_value(int command, int row, const char *value, lab_options *options)
{
    *field_of(options, row) = value;
    if (!is_repeated(row))
        return true;
    if (options->repeated_count == LAB_REPEATED_MAX) {
        fprintf(stderr, "rung %s: --%s is given too often; at most %d such options are possible.",
                commands[command].name, option_table[row].name, LAB_REPEATED_MAX);
        return false;
    }
    options->repeated[options->repeated_count].offset = option_table[row].offset;
    options->repeated[options->repeated_count++].value = value;
    return true;
}

bool lab_options_parse(int command, int argc, char **argv, lab_options *options)
{
    struct option table[OPTION_COUNT + 2];
    char short_forms[4 + 2 * LETTER_COUNT + 1];
    int row;
    replace_underscores();
    memset(options, 0, sizeof *options);
    fill_table(command, table, short_forms);
    options->arguments_after_dashes = count_after_double_dash(argc, argv);

    optind = 2;
    opterr = 0;
    while ((row = getopt_long(argc, argv, short_forms, table, NULL)) != -1) {
        if (row == 'h') {
            lab_options_help(command, stdout);
            exit(LAB_EXIT_SUCCESS);
        }
        if (row == '?' || row == ':') {
            report_getopt_error(command, row, argv[optind - 1]);
            break;
        }
        if (!command_has_option(command, option_index_of(row))) {
            report_unknown_option(command, option_table[option_index_of(row)].name);
            row = '?';
            break;
        }
        if (!store_value(command, option_index_of(row), optarg ? optarg : "", options)) {
            row = '?';
            break;
        }
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

const char *lab_option_repeated(const lab_options *options, const char *const *member, int index)
{
    const size_t offset = (size_t)((const char *)member - (const char *)options);
    for (int i = 0; i < options->repeated_count; i++)
        if (options->repeated[i].offset == offset && index-- == 0)
            return options->repeated[i].value;
    return NULL;
}

const char *lab_option_value(const lab_options *options, const char *name)
{
    replace_underscores();
    for (int i = 0; i < OPTION_COUNT; i++)
        if (strcmp(option_table[i].name, name) == 0)
            return *field_of(options, i);
    return NULL;
}

/* Returns value number `index` of any option; NULL after the last. */
static const char *value_at(const lab_options *options, int row, int index)
{
    const char *const *field = (const char *const *)field_of(options, row);
    return is_repeated(row) ? lab_option_repeated(options, field, index) : index == 0 ? *field : NULL;
}

int lab_options_to_arguments(const lab_options *options, bool (*left_out)(const char *name), char **list, int capacity)
{
    int count = 0;
    const char *value;
    replace_underscores();
    for (int i = 0; i < OPTION_COUNT; i++)
        for (int n = 0; count < capacity && (value = value_at(options, i, n)); n++) {
            size_t room = strlen(option_table[i].name) + strlen(value) + 4;
            if ((left_out && left_out(option_table[i].name)) || !(list[count] = malloc(room)))
                break;
            snprintf(list[count++], room, "--%s%s%s", option_table[i].name, *option_table[i].argument ? "=" : "",
                     value);
        }
    return count;
}

bool lab_parse_integer(const char *text, int64_t *value)
{
    char *end;
    errno = 0;
    long long read = strtoll(text, &end, 10);
    *value = read;
    return end != text && !*end && errno == 0;
}

bool lab_parse_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end;
}

bool lab_parse_bytes(const char *text, int64_t *bytes)
{
    static const char units[] = "KMGT";
    char number[32];
    size_t length = strlen(text);
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (length >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)length - (shift > 0), text);
    if (!lab_parse_integer(number, bytes) || *bytes <= 0 || *bytes > INT64_MAX >> shift)
        return false;
    *bytes <<= shift;
    return true;
}

bool lab_parse_architecture(const char *text, int *architecture)
{
    char digits[8];
    const char *number = strncmp(text, "sm_", 3) == 0 ? text + 3 : text;
    size_t length = strspn(number, "0123456789");
    int64_t value;
    bool has_suffix = strcmp(number + length, "a") == 0; /* the compiler adds it from sm_90 on */
    if (length >= sizeof digits || (number[length] && !has_suffix))
        return false;
    snprintf(digits, sizeof digits, "%.*s", (int)length, number);
    if (!lab_parse_integer(digits, &value) || value < 50 || value > 121 || (has_suffix && value < 90))
        return false;
    *architecture = (int)value;
    return true;
}

bool lab_parse_extents(const char *text, int count, int64_t *extents)
{
    for (int i = 0; i < count; i++) {
        char number[32];
        size_t length = strcspn(text, "x");
        bool is_last = text[length] == '\0';
        snprintf(number, sizeof number, "%.*s", (int)length, text);
        if (length >= sizeof number || is_last != (i == count - 1) || !lab_parse_integer(number, &extents[i]))
            return false;
        text += length + 1;
    }
    return true;
}
