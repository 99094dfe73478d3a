/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.h - the CPU as a backend of the core. */
#pragma once

#include "core/backend.h"

extern const rungi_backend rungi_cpu_backend;
