/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - see completion.h. Words are written into the script rather than asked for when a key
 * is pressed: devices take a second to be found. */
#include "lists.h"
#include "completion.h"

#include <string.h>

#include "cases.h"
#include "colour.h"
#include "machine.h"
#include "options.h"
#include "product.h"
#include "rung/rung.h"

static const char *const backends[] = {"cpu", "opencl", "cuda"};

enum { BACKEND_COUNT = sizeof backends / sizeof *backends };

static void write_backends(FILE *out)
{
    for (int i = 0; i < BACKEND_COUNT; i++)
        fprintf(out, "%s%s", i ? " " : "", backends[i]);
}

static bool has_kernel(const char *backend, const char *name)
{
    rung_kernel *kernel;
    for (int64_t i = 0; rung_kernel_at(NULL, backend, i, &kernel) == RUNG_OK; i++)
        if (strcmp(rung_kernel_describe(kernel)->name, name) == 0)
            return true;
    return false;
}

/* Of every backend, each name once. */
static void write_kernels(FILE *out)
{
    rung_kernel *kernel;
    fputs("rung_gemm", out);
    for (int i = 0; i < BACKEND_COUNT; i++)
        for (int64_t j = 0; rung_kernel_at(NULL, backends[i], j, &kernel) == RUNG_OK; j++) {
            const char *name = rung_kernel_describe(kernel)->name;
            bool is_told = false;
            for (int before = 0; before < i; before++)
                is_told = is_told || has_kernel(backends[before], name);
            if (!is_told)
                fprintf(out, " %s", name);
        }
}

static void write_dtypes(FILE *out)
{
    for (int i = 0; i < lab_product_count(); i++)
        fprintf(out, "%s ", lab_product_name(lab_product_at(i)));
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT; i++)
        fprintf(out, "%s%s", i > RUNG_COMPUTE_STRICT + 1 ? " " : "", rung_compute_name((rung_compute)i));
}

static void write_modes(FILE *out)
{
    for (int i = 0; i < LAB_COMPUTE_COUNT; i++)
        fprintf(out, "%s%s", i ? " " : "", rung_compute_name((rung_compute)i));
}

static void write_suites(FILE *out)
{
#define X(name) fputs(#name " ", out);
    LAB_SUITE_LIST(X)
#undef X
}

static void write_machines(FILE *out)
{
    lab_machine machine;
    for (int i = 0; lab_machine_at(i, &machine); i++)
        fprintf(out, "%s%s", i ? " " : "", machine.name);
}

/* Those for which there is a machine to predict for. */
static void write_architectures(FILE *out)
{
    static const char *const architectures[] = {
#define LIMITS(architecture, ...) "sm_" #architecture,
#include "limits.def"
#undef LIMITS
    };
    lab_machine machine;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (lab_machine_of(architectures[i], &machine))
            fprintf(out, "%s ", architectures[i]);
}

/* Options whose values are words, and how to list them. An entry for one command comes before the one for all. */
static const struct {
    const char *command; /* NULL: every command that takes the option */
    const char *option;
    void (*write)(FILE *out);
    const char *words;
    const char *kind; /* as in the script: words, files, or both */
} values[] = {
    {NULL, "device", write_backends, NULL, "words"},
    {NULL, "kernels", write_kernels, NULL, "words"},
    {NULL, "dtype", write_dtypes, NULL, "words"},
    {NULL, "compute", write_modes, NULL, "words"},
    {NULL, "suite", write_suites, NULL, "words"},
    {"plan", "machine", NULL, "", "files"},
    {NULL, "machine", write_machines, NULL, "both"},
    {NULL, "arch", write_architectures, NULL, "words"},
    {NULL, "epilogue", NULL, "bias_row bias_col bias relu gelu gelu_tanh silu residual", "words"},
    {NULL, "cache", NULL, "hot cold", "words"},
    {NULL, "inputs", NULL, "whole normal", "words"},
    {NULL, "peers", NULL, "all mkl openblas blis onednn", "words"},
    {"bench", "layout", NULL, "grid cyclic", "words"},
    {NULL, "layout", NULL, "rr rc cr cc", "words"},
    {NULL, "color", NULL, LAB_COLOUR_WORDS, "words"},
};

enum { VALUE_COUNT = sizeof values / sizeof *values };

static bool has_words(const lab_option *option)
{
    for (int i = 0; i < VALUE_COUNT; i++)
        if (strcmp(values[i].option, option->name) == 0)
            return true;
    return false;
}

/* `*" --device")`, or `"bench --layout")`, and its words, as a branch of a case. */
static void write_values(FILE *out)
{
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
        if (strcmp(option->argument, "FILE") == 0 && letter)
            fprintf(out, "    *\" -%c\" | *\" --%s\") kind=files ;;\n", letter, option->name);
        else if (strcmp(option->argument, "FILE") == 0)
            fprintf(out, "    *\" --%s\") kind=files ;;\n", option->name);
        else if (*option->argument && !has_words(option))
            fprintf(out, "    *\" --%s\") kind=anything ;;\n", option->name);
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

/* What stands behind a command: a command for help, else kernels and files. */
static void write_arguments(FILE *out)
{
    for (int i = 0; i < LAB_COMMAND_COUNT; i++) {
        const lab_command *command = lab_command_at(i);
        if (strstr(command->arguments, "COMMAND"))
            fprintf(out, "    %s) words=\"$_rung_commands\" kind=words ;;\n", command->name);
        else if (strstr(command->arguments, "KERNEL"))
            fprintf(out, "    %s) words=\"$_rung_kernels\" kind=both ;;\n", command->name);
        else if (!*command->arguments)
            fprintf(out, "    %s) kind=anything ;;\n", command->name);
        else
            fprintf(out, "    %s) kind=files ;;\n", command->name);
    }
}

void lab_completion_print(FILE *out)
{
    fprintf(out, "# Completion of rung %s for bash; written by: rung help --completion\n_rung_commands=\"",
            rung_version_text());
    write_commands(out);
    fputs("\"\n_rung_kernels=\"", out);
    write_kernels(out);
    fputs("\"\n\n"
          "# The values of a command's option, \"bench --device\": sets words, or kind to files, both or anything.\n"
          "_rung_values() {\n    words= kind=words\n    case $1 in\n",
          out);
    write_values(out);
    fputs("    *) return 1 ;;\n    esac\n}\n\n"
          "# The options of a command: sets words.\n"
          "_rung_options() {\n    words= kind=words\n    case $1 in\n",
          out);
    write_options(out);
    fputs("    esac\n}\n\n"
          "# What stands behind a command besides: sets words and kind.\n"
          "_rung_arguments() {\n    words= kind=words\n    case $1 in\n",
          out);
    write_arguments(out);
    fputs("    esac\n}\n\n"
          "_rung() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} list= words= kind=words\n"
          "    COMPREPLY=()\n"
          "    # --device=cpu comes in three words.\n"
          "    [ \"$word\" = = ] && word=\n"
          "    [ \"$before\" = = ] && before=${COMP_WORDS[COMP_CWORD - 2]}\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words=$_rung_commands\n"
          "    elif _rung_values \"${COMP_WORDS[1]} $before\"; then\n"
          "        # Of a list the last is completed.\n"
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
          "    fi\n"
          "    return 0\n"
          "}\n"
          "complete -F _rung rung\n",
          out);
}
