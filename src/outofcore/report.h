/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the report that a caller gets, with all that its pointers point to. */
#ifndef RUNGI_OUTOFCORE_REPORT_H
#define RUNGI_OUTOFCORE_REPORT_H

#include "rung/outofcore.h"

typedef struct rungi_report {
    rung_outofcore_report shown; /* first: the caller's pointer is to it */
    rung_outofcore_blocking blocking;
    rung_outofcore_device_report *devices;
    char **texts; /* two per device: name and failure */
} rungi_report;

/* Creates a report about `count` devices, with empty texts. */
rung_status rungi_report_create(int64_t count, rungi_report **report);

/* Sets the texts of device `index`, which are copied whole. */
void rungi_report_name(rungi_report *report, int64_t index, const char *name);
void rungi_report_fail(rungi_report *report, int64_t index, rung_status status, const char *failure);

#endif /* RUNGI_OUTOFCORE_REPORT_H */
