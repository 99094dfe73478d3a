/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - parses the command line by the tables commands.def and options.def. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
#define EXIT(name, code, help) LAB_EXIT_##name = code,
#include "cli/exit_codes.def"
#undef EXIT
};

enum {
#define COMMAND(name, arguments, help) LAB_COMMAND_##name,
#include "cli/commands.def"
    LAB_COMMAND_COUNT
};

enum { LAB_REPEATED_MAX = 64 };

/* The values of the options: "" for a switch, NULL for an option that is not given. */
typedef struct lab_options {
#define OPTION(field, argument, commands, help) const char *field;
#include "cli/options.def"
    const char *argument;         /* first argument of the command, or NULL */
    const char *argument2;        /* second argument, or NULL */
    const char *const *arguments; /* all arguments, for commands with "..." */
    int argument_count;
    int arguments_after_dashes; /* number of arguments after "--" */
    struct {
        size_t offset; /* of the option's member */
        const char *value;
    } repeated[LAB_REPEATED_MAX]; /* values of options that may be given several times, in order */
    int repeated_count;
} lab_options;

/* Parses argv from argv[2] for a command. Returns false after printing an error. */
bool lab_options_parse(int command, int argc, char **argv, lab_options *options);

/* Writes the given options, except those that `left_out` (or NULL) accepts, as "--name=value" texts, which the caller frees.
 * Returns their number, at most `capacity`. */
int lab_options_to_arguments(const lab_options *options, bool (*left_out)(const char *name), char **list, int capacity);

/* Returns value number `index` of an option that may be given several times; NULL after the last. `member` is the option's
 * member of `options`. */
const char *lab_option_repeated(const lab_options *options, const char *const *member, int index);

/* Returns the value of the option with this name, "" for a switch; NULL if the option is not given. */
const char *lab_option_value(const lab_options *options, const char *name);

/* Prints the options of a command, or the list of commands for LAB_COMMAND_COUNT. */
void lab_options_help(int command, FILE *out);

/* Returns the command with this name, or LAB_COMMAND_COUNT. */
int lab_command_find(const char *name);

/* Prints that a command is unknown, with a suggestion or the list of commands. */
void lab_command_report_unknown(const char *name);

/* The tables, for the manual and the completion. */
typedef struct lab_command {
    const char *name, *arguments, *help;
} lab_command;

typedef struct lab_option {
    char name[32];        /* with dashes instead of underscores */
    const char *argument; /* "" for a switch */
    unsigned commands;    /* that accept the option: bits 1 << LAB_COMMAND_name */
    const char *help;     /* default; use lab_option_help() */
    size_t offset;        /* of its member of lab_options */
} lab_option;

const lab_command *lab_command_at(int command);
const lab_option *lab_option_at(int index); /* NULL after the last */

/* Returns the help text of an option for a command. */
const char *lab_option_help(const lab_option *option, int command);

/* The help text of --help, which is not in the table. */
extern const char *const lab_help_option_text;

/* Returns the short form of an option, or 0. */
char lab_option_letter(const lab_option *option);

/* Parse a complete text as a decimal integer or as a number. Return false if it is not one. */
bool lab_parse_integer(const char *text, int64_t *value);
bool lab_parse_number(const char *text, double *value);

/* Parses a size such as "256M" (MiB); without a letter, bytes. Returns false if it is not positive or too large. */
bool lab_parse_bytes(const char *text, int64_t *bytes);

/* Parses an architecture: "sm_86", "86" or "sm_90a". Returns false if it is not from 50 to 121. */
bool lab_parse_architecture(const char *text, int *architecture);

/* Parses `count` integers with an x between them: "300x400". */
bool lab_parse_extents(const char *text, int count, int64_t *extents);

/* The functions of the commands. They return an exit code. */
#define COMMAND(name, arguments, help) int lab_command_##name(const lab_options *options);
#include "cli/commands.def"
