/* SPDX-License-Identifier: Apache-2.0 */
/* library_limits.h - limits that several components of the library share. */
#ifndef RUNGI_LIBRARY_LIMITS_H
#define RUNGI_LIBRARY_LIMITS_H

#include <stdint.h>

enum {
    RUNGI_BACKENDS_MAX = 8,
    RUNGI_LADDER_MAX = 32,         /* kernels per backend */
    RUNGI_THREADS_MAX = 8192,      /* more than any machine has processors: a larger number is a mistake */
    RUNGI_TUNING_PATH_BYTES = 4096 /* path of a tuning file, including the terminating 0 */
};

/* Bytes of workspace that a call may allocate in addition to its operands. */
static const int64_t rungi_workspace_bytes_max = (int64_t)64 << 20;

#endif /* RUNGI_LIBRARY_LIMITS_H */
