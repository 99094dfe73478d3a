/* SPDX-License-Identifier: Apache-2.0 */
/* thread_team.h - runs a function in several threads that begin together, for measurements of all processors. */
#ifndef LAB_THREAD_TEAM_H
#define LAB_THREAD_TEAM_H

#include <stddef.h>

enum { LAB_THREADS_MAX = 256 }; /* also the limit of --threads */

/* Calls work(item) for each of `count` items of `item_bytes` bytes: the first in the calling thread, every other one in a
 * thread of its own. All calls begin when all threads exist. Returns the number of items that ran: the first ones, at
 * most LAB_THREADS_MAX, and fewer if the system refuses a thread. */
int lab_thread_team_run(void (*work)(void *item), void *items, size_t item_bytes, int count);

#endif /* LAB_THREAD_TEAM_H */
