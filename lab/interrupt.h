/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C as a wish: end after what is under way, and tell what there is. A second one
 * ends the process at once. */
#ifndef LAB_INTERRUPT_H
#define LAB_INTERRUPT_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are noted, the first of them; one that was ignored stays so. */
void lab_interrupt_watch(void);

/* Whether there was one. */
bool lab_interrupted(void);

/* On standard error: that it was, and `what` there is nevertheless. */
void lab_interrupt_tell(const char *what);

#endif /* LAB_INTERRUPT_H */
