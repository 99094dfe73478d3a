/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h - what bash needs to complete a command line of rung, from the tables that the command
 * itself is made of. */
#ifndef LAB_COMPLETION_H
#define LAB_COMPLETION_H

#include <stdio.h>

void lab_completion_print(FILE *out);

#endif /* LAB_COMPLETION_H */
