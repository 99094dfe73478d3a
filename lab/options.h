/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - the command line, read by the two tables commands.def and
 * options.def. */
#ifndef LAB_OPTIONS_H
#define LAB_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Exit codes; they stay. */
enum { LAB_GOOD = 0, LAB_WRONG = 1, LAB_USAGE = 2, LAB_NOTHING = 77 };

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
    const char *argument; /* what stands behind the command, NULL if nothing */
    const char *argument2; /* and behind that */
    const char *const *arguments; /* all of them, of a command that takes as many as there are */
    int                argument_count;
} lab_options;

/* Reads argv[2] on for that command. False after a message on standard error. */
bool lab_options_read(int command, int argc, char **argv, lab_options *options);

/* The commands, or the options of one. */
void lab_options_help(int command, FILE *out);

/* The number of a command's name, LAB_COMMAND_COUNT if there is none. */
int lab_command_of(const char *name);

/* Whole numbers and others, whole text; false if it is not one. */
bool lab_read_integer(const char *text, int64_t *value);
bool lab_read_number(const char *text, double *value);

/* Each command's function: what main runs and exits with. */
#define COMMAND(name, arguments, help) int lab_command_##name(const lab_options *options);
#include "commands.def"
#undef COMMAND

#endif /* LAB_OPTIONS_H */
