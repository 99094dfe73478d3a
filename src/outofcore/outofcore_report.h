/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_report.h - the report of a call, with the memory that its pointers point to. */
#ifndef RUNGI_OUTOFCORE_REPORT_H
#define RUNGI_OUTOFCORE_REPORT_H

#include "rung/outofcore.h"

typedef struct rungi_outofcore_report {
    rung_outofcore_report public_report; /* first, so that the caller's pointer is also this struct's */
    rung_outofcore_blocking blocking;
    rung_outofcore_device_report *devices;
    char **texts; /* two per device: name and failure */
} rungi_outofcore_report;

/* Creates a report about `count` devices, with empty texts. */
rung_status rungi_outofcore_report_create(int64_t count, rungi_outofcore_report **report);

/* Copies the name, or the failure, of device `index`. */
void rungi_outofcore_report_set_name(rungi_outofcore_report *report, int64_t index, const char *name);
void rungi_outofcore_report_set_failure(rungi_outofcore_report *report, int64_t index, rung_status status,
                                        const char *failure);

#endif /* RUNGI_OUTOFCORE_REPORT_H */
