/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.h - the CPU as a backend of the core. */
#ifndef RUNGI_CPU_BACKEND_H
#define RUNGI_CPU_BACKEND_H

#include "core/backend.h"

extern const rungi_backend rungi_cpu_backend;

#endif /* RUNGI_CPU_BACKEND_H */
