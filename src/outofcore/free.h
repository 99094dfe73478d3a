/* SPDX-License-Identifier: Apache-2.0 */
/* free.h - how much memory this process may still take. */
#ifndef RUNGI_OUTOFCORE_FREE_H
#define RUNGI_OUTOFCORE_FREE_H

#include <stdint.h>

/* Bytes that the system has for new work, and a container no more than its limit leaves: half a GiB where it does not say.
 * `root` goes before every path, "" but in tests. */
int64_t rungi_free_memory(const char *root);

#endif /* RUNGI_OUTOFCORE_FREE_H */
