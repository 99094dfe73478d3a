/* SPDX-License-Identifier: Apache-2.0 */
/* manual.h - manual pages and the completion script for bash, from the tables of commands and options. */
#pragma once

#include <stdio.h>

/* Prints the page of a command, such as rung-bench(1), or rung(1) for LAB_COMMAND_COUNT, in the format of man. */
void lab_manual_print(int command, FILE *out);

/* Values of options that other directories of the lab define, separated by spaces. */
typedef struct lab_completion_words {
    const char *suites, *gpus, *architectures;
} lab_completion_words;

/* Prints the completion script. */
void lab_completion_print(const lab_completion_words *words, FILE *out);
