/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the command line, read by the two tables commands.def and
 * options.def. */
#ifndef LAB_OPTIONS_H
#define LAB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes. */
enum {
#define EXIT(name, code, help) LAB_##name = code,
#include "exits.def"
#undef EXIT
};

enum {
#define COMMAND(name, arguments, help) LAB_COMMAND_##name,
#include "commands.def"
#undef COMMAND
    LAB_COMMAND_COUNT
};

/* The text of every option that was given, "" for a switch; NULL if it was not. */
typedef struct lab_options {
#define OPTION(field, argument, commands, help) const char *field;
#include "options.def"
#undef OPTION
    const char *argument;         /* what stands behind the command, NULL if nothing */
    const char *argument2;        /* and behind that */
    const char *const *arguments; /* all of them, of a command that takes as many as there are */
    int argument_count;
    int behind_dashes; /* how many of those follow a "--" */
} lab_options;

/* Reads argv[2] on for that command. False after a message on standard error. */
bool lab_options_read(int command, int argc, char **argv, lab_options *options);

/* The options that were given, each as "--name=value" for free(), but for those that `left_out` says;
 * as many as fit. How many there are. */
int lab_options_given(const lab_options *options, bool (*left_out)(const char *name), char **list, int capacity);

/* Prints the commands, or the options of one. */
void lab_options_help(int command, FILE *out);

/* The number of a command's name, LAB_COMMAND_COUNT if there is none. */
int lab_command_of(const char *name);

/* That there is no such command, which is meant perhaps, and the list, on standard error. */
void lab_command_unknown(const char *name);

/* The tables as they are, for the manual and the shell. */
typedef struct lab_command {
    const char *name, *arguments, *help;
} lab_command;

typedef struct lab_option {
    char name[32];        /* with dashes */
    const char *argument; /* "" for a switch */
    unsigned commands;    /* that take it: 1 << LAB_COMMAND_name */
    const char *help;     /* use lab_option_help: commands may have a text of their own */
} lab_option;

const lab_command *lab_command_at(int command);
const lab_option *lab_option_at(int index); /* NULL past the last */

/* The meaning of an option for a command that takes it. */
const char *lab_option_help(const lab_option *option, int command);

/* What every command's --help does, which is not in the table. */
extern const char *const lab_help_help;

/* An option's short form, 0 if it has none. */
char lab_option_letter(const lab_option *option);

/* Whole numbers and others, whole text; false if it is not one. */
bool lab_read_integer(const char *text, int64_t *value);
bool lab_read_number(const char *text, double *value);

/* Each command's function: what main runs and exits with. */
#define COMMAND(name, arguments, help) int lab_command_##name(const lab_options *options);
#include "commands.def"
#undef COMMAND

#endif /* LAB_OPTIONS_H */
