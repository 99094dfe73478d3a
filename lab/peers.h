/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - the CPU's other libraries at their best: what they are to find in the environment
 * before they are loaded.
 *
 * Some take a processor that they do not know for an old one and run at a part of its speed;
 * all let their threads wait for more work in a loop, which the next contender would feel. What
 * is set here is told with the results, and what the user has set stays. */
#ifndef LAB_PEERS_H
#define LAB_PEERS_H

#include "rung/rung.h"

enum { LAB_SETTINGS_MAX = 8 };

typedef struct lab_setting {
    char name[32], value[32], why[256];
} lab_setting;

typedef struct lab_settings {
    lab_setting list[LAB_SETTINGS_MAX];
    int count;
} lab_settings;

/* What --peers asks for, added in front of the kernels: "all", or words like "mkl,blis". NULL,
 * or a sentence on what is wrong. */
const char *lab_peers_add(rung_context *context, const char *text, const rung_kernel **kernels, int capacity,
                          int *count);

/* Sets what the installed libraries among these kernels need, before any of the kernels makes its first plan
 * in this process. Libraries are loaded in a child process for that, since they read the environment once. */
void lab_peers_prepare(const rung_kernel *const *kernels, int count, int64_t threads, lab_settings *settings);

/* So long, in nanoseconds, until the threads of all of them sleep. */
int64_t lab_peers_rest(void);

#endif /* LAB_PEERS_H */
