/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - rung, the lab: greets, or hands on to a sub-command. */
#include <signal.h>
#include <string.h>

#include "colour.h"
#include "completion.h"
#include "manual.h"
#include "microscope.h"
#include "options.h"
#include "rung/rung.h"
#include "target.h"

static int (*const functions[])(const lab_options *) = {
#define COMMAND(name, arguments, help) lab_command_##name,
#include "commands.def"
#undef COMMAND
};

static void greet(FILE *out)
{
    fprintf(out, "rung %s: matrix multiplication, kernel by kernel\n\n", rung_version_text());
    lab_options_help(LAB_COMMAND_COUNT, out);
}

int lab_command_help(const lab_options *options)
{
    if (options->completion) {
        lab_completion_print(stdout);
        return LAB_GOOD;
    }
    if (!options->argument && options->man) {
        lab_manual_print(LAB_COMMAND_COUNT, stdout);
        return LAB_GOOD;
    }
    if (!options->argument) {
        greet(stdout);
        return LAB_GOOD;
    }
    int command = lab_command_of(options->argument);
    if (command == LAB_COMMAND_COUNT) {
        lab_command_unknown(options->argument);
        return LAB_USAGE;
    }
    if (options->man)
        lab_manual_print(command, stdout);
    else
        lab_options_help(command, stdout);
    return LAB_GOOD;
}

/* A result that did not reach its file is none. */
static int written(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "rung: standard output could not be written whole; is there room on its disk?\n");
    return code == LAB_GOOD ? LAB_USAGE : code;
}

int main(int argc, char **argv)
{
    lab_options options;
    signal(SIGCHLD, SIG_DFL); /* if it was inherited as ignored, waitpid could not report how a child ended */
    if (lab_microscope_is_child(argc, argv))
        return lab_microscope_child(argc, argv);
    if (argc < 2) {
        greet(stdout);
        printf("\nTry: rung devices, then: rung verify --device cpu\n");
        return LAB_GOOD;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("rung %s\n", rung_version_text());
        return LAB_GOOD;
    }
    int command = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ? LAB_COMMAND_help
                                                                               : lab_command_of(argv[1]);
    if (command == LAB_COMMAND_COUNT) {
        lab_command_unknown(argv[1]);
        return LAB_USAGE;
    }
    if (!lab_options_read(command, argc, argv, &options))
        return LAB_USAGE;
    if (!lab_colour_choose(options.color))
        return lab_usage(argv[1], "--color is auto, always or never");
    return written(functions[command](&options));
}
