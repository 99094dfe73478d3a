/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - keeps contexts usable in the child of a fork. */
#ifndef RUNGI_FORK_H
#define RUNGI_FORK_H

#include "core/context.h"

/* Protects a context: from now on a fork waits until no thread changes it. Returns false if the system accepts no fork
 * handlers. */
bool rungi_fork_register(rung_context *context);
void rungi_fork_unregister(rung_context *context);

#endif /* RUNGI_FORK_H */
