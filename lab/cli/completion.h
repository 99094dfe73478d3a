/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - the completion script for bash, from the tables of commands and options. */
#ifndef LAB_COMPLETION_H
#define LAB_COMPLETION_H

#include <stdio.h>

/* Values of options that other directories of the lab define, separated by spaces. */
typedef struct lab_completion_words {
    const char *suites, *gpus, *architectures;
} lab_completion_words;

/* Prints the script. */
void lab_completion_print(const lab_completion_words *words, FILE *out);

#endif /* LAB_COMPLETION_H */
