/* SPDX-License-Identifier: Apache-2.0 */
/* resource.h - limits of a process (system.c): Windows has none that a process sets for itself, so setrlimit() fails with ENOSYS. */
#pragma once

#include <stdint.h>

#define RLIMIT_CPU 0
#define RLIMIT_FSIZE 1
#define RLIMIT_CORE 4
#define RLIMIT_AS 9
#define RLIM_INFINITY UINT64_MAX

typedef uint64_t rlim_t;
typedef int __rlimit_resource_t;

struct rlimit {
    rlim_t rlim_cur, rlim_max;
};

struct rusage {
    long ru_maxrss;
};

int getrlimit(int resource, struct rlimit *limit);
int setrlimit(int resource, const struct rlimit *limit);
int wait4(int process, int *status, int options, struct rusage *usage);
