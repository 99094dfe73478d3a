/* SPDX-License-Identifier: Apache-2.0 */
/* ptxas_report.h - reads what ptxas reports about a kernel with the option --ptxas-options=-v. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct lab_ptxas_report {
    int64_t registers;    /* per thread */
    int64_t shared_bytes; /* static, per block */
    int64_t spill_bytes;  /* stored and loaded */
} lab_ptxas_report;

/* Finds the paragraph of a kernel, by its mangled name, in the log of the compiler. Returns false if there is none. */
bool lab_ptxas_report_read(const char *log, const char *entry, lab_ptxas_report *report);
