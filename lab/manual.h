/* SPDX-License-Identifier: Apache-2.0 */
/* manual.h - the manual's pages, from the tables that the command itself is made of. */
#ifndef LAB_MANUAL_H
#define LAB_MANUAL_H

#include <stdio.h>

/* rung(1), with LAB_COMMAND_COUNT, or the page of one command, rung-bench(1), for man. */
void lab_manual_print(int command, FILE *out);

#endif /* LAB_MANUAL_H */
