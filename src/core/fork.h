/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - contexts in a process that forks. */
#ifndef RUNGI_FORK_H
#define RUNGI_FORK_H

#include "core/context.h"

/* From here on a fork finds nothing of the context's half done, until it is let go. False if
 * the system does not take the handlers. */
bool rungi_fork_watch(rung_context *context);
void rungi_fork_forget(rung_context *context);

#endif /* RUNGI_FORK_H */
