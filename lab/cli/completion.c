/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - see manual.h. The script contains all words, because finding the devices at each key press would
 * take a second. */
#include "cli/manual.h"

#include <string.h>

#include "cli/terminal.h"
#include "cli/options.h"
#include "common/type_pair.h"
#include "grade/grade.h"
#include "rung/rung.h"

static const char *const backends[] = {"cpu", "opencl", "cuda"};

enum { BACKEND_COUNT = sizeof backends / sizeof *backends };

static void write_backends(FILE *out)
{
    for (int i = 0; i < BACKEND_COUNT; i++)
        fprintf(out, "%s%s", i ? " " : "", backends[i]);
}

/* Writes the kernels of all backends, each name once. */
static void write_kernels(FILE *out)
{
    rung_kernel *kernel, *same;
    fputs("rung_gemm", out);
    for (int i = 0; i < BACKEND_COUNT; i++)
        for (int64_t j = 0; rung_kernel_at(NULL, backends[i], j, &kernel) == RUNG_OK; j++) {
            const char *name = rung_kernel_describe(kernel)->name;
            bool is_listed = false;
            for (int before = 0; before < i; before++)
                is_listed = is_listed || rung_kernel_find(NULL, backends[before], name, &same) == RUNG_OK;
            if (!is_listed)
                fprintf(out, " %s", name);
        }
}

static void write_dtypes(FILE *out)
{
    for (int i = 0; i < lab_type_pair_total(); i++)
        fprintf(out, "%s ", lab_type_pair_name(lab_type_pair_at(i)));
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT; i++)
        fprintf(out, "%s%s", i > RUNG_COMPUTE_STRICT + 1 ? " " : "", rung_compute_name((rung_compute)i));
}

static void write_compute_modes(FILE *out)
{
    for (int i = 0; i < LAB_COMPUTE_COUNT; i++)
        fprintf(out, "%s%s", i ? " " : "", rung_compute_name((rung_compute)i));
}

/* Writes the options with values as branches of a case: `*" --device")` for all commands, or `"bench --layout")`. */
static void write_values(const lab_completion_words *words, FILE *out)
{
    /* An entry for one command precedes the one for all. */
    const struct {
        const char *command; /* NULL: every command that has the option */
        const char *option;
        void (*write)(FILE *out); /* or NULL, and `words` */
        const char *words;
        const char *kind; /* as in the script: words, files or both */
    } values[] = {
        {NULL, "device", write_backends, NULL, "words"},
        {NULL, "kernels", write_kernels, NULL, "words"},
        {NULL, "dtype", write_dtypes, NULL, "words"},
        {NULL, "compute", write_compute_modes, NULL, "words"},
        {NULL, "suite", NULL, words->suites, "words"},
        {"plan", "machine", NULL, "", "files"},
        {NULL, "machine", NULL, words->gpus, "both"},
        {NULL, "arch", NULL, words->architectures, "words"},
        {NULL, "epilogue", NULL, "bias_row bias_col bias relu gelu gelu_tanh silu residual", "words"},
        {NULL, "cache", NULL, "hot cold", "words"},
        {NULL, "inputs", NULL, "whole normal", "words"},
        {NULL, "peers", NULL, "all mkl openblas blis onednn", "words"},
        {"bench", "layout", NULL, "grid cyclic", "words"},
        {NULL, "layout", NULL, "rr rc cr cc", "words"},
        {NULL, "color", NULL, LAB_COLOUR_WORDS, "words"},
    };
    enum { VALUE_COUNT = sizeof values / sizeof *values };
    const lab_option *option;
    for (int i = 0; i < VALUE_COUNT; i++) {
        fprintf(out, "    %s\"%s --%s\") words=\"", values[i].command ? "" : "*",
                values[i].command ? values[i].command : "", values[i].option);
        if (values[i].write)
            values[i].write(out);
        else
            fputs(values[i].words, out);
        fprintf(out, "\" kind=%s ;;\n", values[i].kind);
    }
    for (int i = 0; (option = lab_option_at(i)) != NULL; i++) {
        char letter = lab_option_letter(option);
        bool has_words = false;
        for (int j = 0; j < VALUE_COUNT; j++)
            has_words = has_words || strcmp(values[j].option, option->name) == 0;
        const char *kind = strcmp(option->argument, "FILE") == 0     ? "files"
                           : strcmp(option->argument, "FOLDER") == 0 ? "folders"
                                                                     : "anything";
        if (!*option->argument || has_words)
            continue;
        if (letter)
            fprintf(out, "    *\" -%c\" | *\" --%s\") kind=%s ;;\n", letter, option->name, kind);
        else
            fprintf(out, "    *\" --%s\") kind=%s ;;\n", option->name, kind);
    }
}

static void write_options(FILE *out)
{
    for (int command = 0; command < LAB_COMMAND_COUNT; command++) {
        const lab_option *option;
        fprintf(out, "    %s) words=\"--help", lab_command_at(command)->name);
        for (int i = 0; (option = lab_option_at(i)) != NULL; i++)
            if (option->commands & 1u << command)
                fprintf(out, " --%s", option->name);
        fputs("\" ;;\n", out);
    }
}

static void write_commands(FILE *out)
{
    for (int i = 0; i < LAB_COMMAND_COUNT; i++)
        fprintf(out, "%s ", lab_command_at(i)->name);
    fputs("--help --version", out);
}

/* Writes what completes the arguments of each command: commands for help, otherwise kernels and files. */
static void write_arguments(FILE *out)
{
    for (int i = 0; i < LAB_COMMAND_COUNT; i++) {
        const lab_command *command = lab_command_at(i);
        if (strstr(command->arguments, "COMMAND"))
            fprintf(out, "    %s) words=\"$_rung_commands\" kind=words ;;\n", command->name);
        else if (strstr(command->arguments, "TASK"))
            fprintf(out, "    %s) words=\"$_rung_tasks\" kind=both ;;\n", command->name);
        else if (strstr(command->arguments, "KERNEL"))
            fprintf(out, "    %s) words=\"$_rung_kernels\" kind=both ;;\n", command->name);
        else if (!*command->arguments)
            fprintf(out, "    %s) kind=anything ;;\n", command->name);
        else
            fprintf(out, "    %s) kind=files ;;\n", command->name);
    }
}

void lab_completion_print(const lab_completion_words *words, FILE *out)
{
    fprintf(out, "# Completion of rung %s for bash; written by: rung help --completion\n_rung_commands=\"",
            rung_version_text());
    write_commands(out);
    fputs("\"\n_rung_kernels=\"", out);
    write_kernels(out);
    fputs("\"\n_rung_tasks=\"", out);
    lab_tasks_write_names(out);
    fputs(
        "\"\n\n"
        "# The values of a command's option, \"bench --device\": sets words, or kind to files, folders, both or anything.\n"
        "_rung_values() {\n    words= kind=words\n    case $1 in\n",
        out);
    write_values(words, out);
    fputs("    *) return 1 ;;\n    esac\n}\n\n"
          "# The options of a command: sets words.\n"
          "_rung_options() {\n    words= kind=words\n    case $1 in\n",
          out);
    write_options(out);
    fputs("    esac\n}\n\n"
          "# The arguments of a command: sets words and kind.\n"
          "_rung_arguments() {\n    words= kind=words\n    case $1 in\n",
          out);
    write_arguments(out);
    fputs("    esac\n}\n\n"
          "_rung() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} list= words= kind=words\n"
          "    COMPREPLY=()\n"
          "    # bash splits --device=cpu into three words.\n"
          "    [ \"$word\" = = ] && word=\n"
          "    [ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words=$_rung_commands\n"
          "    elif _rung_values \"${COMP_WORDS[1]} $before\"; then\n"
          "        # Complete the last word of a list.\n"
          "        [[ $kind = words && $word = *,* ]] && list=${word%,*},\n"
          "    elif [[ $word = -* ]]; then\n"
          "        _rung_options \"${COMP_WORDS[1]}\"\n"
          "    else\n"
          "        _rung_arguments \"${COMP_WORDS[1]}\"\n"
          "    fi\n"
          "    [ -n \"$words\" ] &&\n"
          "        mapfile -t COMPREPLY < <(compgen -P \"$list\" -W \"$words\" -- \"${word#\"$list\"}\")\n"
          "    if [ $kind = files ] || [ $kind = both ]; then\n"
          "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$word\")\n"
          "        compopt -o filenames 2> /dev/null\n"
          "    elif [ $kind = folders ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
          "        compopt -o filenames 2> /dev/null\n"
          "    fi\n"
          "    return 0\n"
          "}\n"
          "complete -F _rung rung\n",
          out);
}
