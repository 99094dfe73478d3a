/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the executable rung: parses the command line and runs a command of lab/commands. */
#include <signal.h>
#include <string.h>

#include "cli/terminal.h"
#include "cli/options.h"
#include "explain/explain.h"
#include "rung/rung.h"
#include "target/target.h"

static int (*const functions[])(const lab_options *) = {
#define COMMAND(name, arguments, help) lab_command_##name,
#include "cli/commands.def"
};

/* Flushes standard output. Returns the exit code of the command, or LAB_EXIT_USAGE if writing failed. */
static int check_stdout_written(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "rung: cannot write all of the output; is the disk of standard output full?\n");
    return code == LAB_EXIT_SUCCESS ? LAB_EXIT_USAGE : code;
}

int main(int argc, char **argv)
{
    lab_options options;
    signal(SIGCHLD, SIG_DFL); /* if the parent ignored SIGCHLD, waitpid would not report how a child ended */
    if (argc < 2) {
        lab_command_help(&(lab_options){.argument = NULL});
        printf("\nTry: rung devices, then: rung verify --device cpu\n");
        return LAB_EXIT_SUCCESS;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("rung %s\n", rung_version_text());
        return LAB_EXIT_SUCCESS;
    }
    int command = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? LAB_COMMAND_help
                                                                               : lab_command_find(argv[1]);
    if (command == LAB_COMMAND_COUNT) {
        lab_command_report_unknown(argv[1]);
        return LAB_EXIT_USAGE;
    }
    if (!lab_options_parse(command, argc, argv, &options))
        return LAB_EXIT_USAGE;
    if (!lab_colour_set_mode(options.color))
        return lab_option_error(argv[1], "--color", options.color, "use auto, always or never");
    return check_stdout_written(functions[command](&options));
}
