/* SPDX-License-Identifier: Apache-2.0 */
/* outofcore_report.c - see outofcore_report.h. */
#include "outofcore/outofcore_report.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancellation.h"

rung_status rungi_outofcore_report_create(int64_t count, rungi_outofcore_report **created)
{
    rungi_outofcore_report *report = calloc(1, sizeof *report);
    *created = NULL;
    if (report) {
        report->devices = calloc((size_t)count + 1, sizeof *report->devices);
        report->texts = calloc(2 * (size_t)count + 1, sizeof *report->texts);
    }
    if (!report || !report->devices || !report->texts) {
        rung_outofcore_report_destroy(report ? &report->public_report : NULL);
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a report about %lld devices", (long long)count);
    }
    report->blocking = rung_outofcore_blocking_default();
    report->public_report.blocking = &report->blocking;
    report->public_report.device_count = count;
    for (int64_t i = 0; i < count; i++)
        report->devices[i].name = report->devices[i].failure = "";
    *created = report;
    return RUNG_OK;
}

/* Copies a text into a slot of the report. */
static const char *copy_text(char **slot, const char *text)
{
    free(*slot);
    *slot = malloc(strlen(text) + 1);
    return *slot ? strcpy(*slot, text) : "(no memory for this text)";
}

void rungi_outofcore_report_set_name(rungi_outofcore_report *report, int64_t index, const char *name)
{
    report->devices[index].name = copy_text(&report->texts[2 * index], name);
}

void rungi_outofcore_report_set_failure(rungi_outofcore_report *report, int64_t index, rung_status status,
                                        const char *failure)
{
    report->devices[index].status = status;
    report->devices[index].failure = copy_text(&report->texts[2 * index + 1], failure);
}

const rung_outofcore_device_report *rung_outofcore_report_device(const rung_outofcore_report *report, int64_t index)
{
    if (!report || index < 0 || index >= report->device_count)
        return NULL;
    return &((const rungi_outofcore_report *)report)->devices[index];
}

void rung_outofcore_report_destroy(rung_outofcore_report *public_report)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_outofcore_report *report = (rungi_outofcore_report *)public_report;
    if (!report)
        return;
    for (int64_t i = 0; report->texts && i < 2 * public_report->device_count; i++)
        free(report->texts[i]);
    free(report->texts);
    free(report->devices);
    free(report);
}
