/* SPDX-License-Identifier: Apache-2.0 */
/* manual.h - manual pages, from the tables of commands and options. */
#ifndef LAB_MANUAL_H
#define LAB_MANUAL_H

#include <stdio.h>

/* Prints the page of a command, such as rung-bench(1), or rung(1) for LAB_COMMAND_COUNT, in the format of man. */
void lab_manual_print(int command, FILE *out);

#endif /* LAB_MANUAL_H */
