/* SPDX-License-Identifier: Apache-2.0 */
/* peer_environment.h - sets environment variables so that other CPU libraries (MKL, OpenBLAS, BLIS, oneDNN) run at full speed.
 *
 * Some libraries take an unknown processor for an old one and run at a fraction of its speed. All of them let their threads
 * spin after a call, which disturbs the next contender. The settings are part of the results; variables that the user has
 * set remain unchanged. */
#pragma once

#include "rung/rung.h"

enum { LAB_ENV_SETTINGS_MAX = 8 };

typedef struct lab_env_setting {
    const char *name, *value; /* static */
    char why[256];
} lab_env_setting;

typedef struct lab_env_settings {
    lab_env_setting list[LAB_ENV_SETTINGS_MAX];
    int count;
} lab_env_settings;

/* Adds the libraries of --peers, "all" or a list like "mkl,blis", in front of the kernels. Returns NULL, or an error. */
const char *lab_peers_add(rung_context *context, const char *text, const rung_kernel **kernels, int capacity,
                          int *count);

/* Sets the variables that the installed libraries among these kernels need. Call it before the first plan, since a library
 * reads the environment once; for the same reason the libraries are examined in child processes. */
void lab_peers_prepare(const rung_kernel *const *kernels, int count, int64_t threads, lab_env_settings *settings);

/* Nanoseconds after which the threads of all libraries have stopped spinning. */
enum { LAB_PEERS_SPIN_NS = 3000000 };
