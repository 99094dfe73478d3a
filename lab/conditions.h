/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.h - how the machine was while something was measured: who else ran on it, what a
 * hypervisor took away, how fast its clocks went and whether they were held back. */
#ifndef LAB_CONDITIONS_H
#define LAB_CONDITIONS_H

#include "json.h"
#include "rung/rung.h"

/* At one moment; below 0 where the machine does not tell. */
typedef struct lab_conditions {
    double load;          /* of the last minute */
    int64_t ticks, steal; /* of all processors since the start, and taken by a hypervisor */
    double clock_mhz;     /* of the fastest processor, as the system sees it */
    int64_t throttles;    /* times that processors were too hot, since the start */
    double gpu_clock_mhz, gpu_celsius;
    int64_t gpu_throttle; /* why NVIDIA's clock is held back, a set of bits (see nvidia-smi) */
} lab_conditions;

/* NVIDIA's own command is asked about the device if it is NVIDIA's and the command is there. */
lab_conditions lab_conditions_read(const rung_device_info *device);

/* Per cent of all processors' time between the two; below 0 if it is not known. */
double lab_conditions_stolen(const lab_conditions *before, const lab_conditions *after);

enum { LAB_WARNINGS_MAX = 4 };

typedef struct lab_warnings {
    char list[LAB_WARNINGS_MAX][160];
    int count;
} lab_warnings;

/* What of it makes times doubtful, where so many of so many processors were used: others ran on
 * those, clocks were held back, more than 2 % was stolen. */
lab_warnings lab_conditions_judge(const lab_conditions *before, const lab_conditions *after, int64_t threads,
                                  int64_t processors);

/* An object "conditions". */
void lab_conditions_print(lab_json *json, const lab_conditions *before, const lab_conditions *after,
                          const lab_warnings *warnings);

#endif /* LAB_CONDITIONS_H */
