/* SPDX-License-Identifier: Apache-2.0 */
/* fault_injection.c - reads the list of planted errors and counts towards them. */
#include "fault_injection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One "SYMBOL:N:CODE". A mistake in a test's list must not look like a pass. */
static void read_one(const char *text, fault_t *fault)
{
    char which[16];
    if (sscanf(text, "%63[^:,]:%15[^:,]:%d", fault->symbol, which, &fault->code) != 3) {
        fprintf(stderr, "emulated driver: a fault is SYMBOL:N:CODE, not \"%s\"\n", text);
        abort();
    }
    fault->at = strcmp(which, "*") == 0 ? 0 : atoi(which);
    fault->seen = 0;
}

static void read_all(faults_t *faults, const char *text)
{
    snprintf(faults->text, sizeof faults->text, "%s", text);
    faults->count = 0;
    for (const char *at = faults->text; *at && faults->count < FAULTS_MAX;) {
        read_one(at, &faults->list[faults->count++]);
        at += strcspn(at, ",");
        at += *at == ',';
    }
}

int faults_next(faults_t *faults, const char *symbol)
{
    int code = 0;
    const char *text = getenv(faults->variable);
    if (!text)
        text = "";
    if (strncmp(text, faults->text, sizeof faults->text - 1) != 0)
        read_all(faults, text);
    for (int i = 0; i < faults->count; i++) {
        fault_t *fault = &faults->list[i];
        if (strcmp(fault->symbol, symbol) != 0)
            continue;
        fault->seen++;
        if (fault->at == 0 || fault->at == fault->seen)
            code = fault->code;
    }
    return code;
}
