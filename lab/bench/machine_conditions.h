/* SPDX-License-Identifier: Apache-2.0 */
/* machine_conditions.h - the sizes of this machine's caches and memory, and its state during a measurement: the load, the
 * time that a hypervisor took away, and the clock rates. */
#pragma once

#include "io/json_writer.h"
#include "rung/rung.h"

enum { LAB_CACHE_LEVELS = 4 };

/* Bytes of the data caches of a processor, level[0] being L1, and of the memory; 0 if unknown. A level that processors share
 * counts as a whole. */
typedef struct lab_cache_sizes {
    int64_t level[LAB_CACHE_LEVELS], memory;
} lab_cache_sizes;

lab_cache_sizes lab_cache_sizes_read(void);

/* Returns the bytes of the last level whose size is known. */
int64_t lab_cache_sizes_last_level(const lab_cache_sizes *caches);

/* Returns the last-level cache of a device in bytes: from the system for the CPU, from the driver for others, and 256 MiB,
 * more than any device has, if neither knows it. */
int64_t lab_device_last_level_cache(const rung_device_info *device);

/* The state at one moment; negative numbers are unknown. */
typedef struct lab_conditions {
    double load;          /* average of the last minute */
    int64_t ticks, steal; /* of all processors since the start, and those that a hypervisor took away */
    double clock_mhz;     /* of the fastest processor, as the system reports it */
    int64_t throttles;    /* how often processors were throttled for heat, since the start */
    double gpu_clock_mhz, gpu_celsius;
    int64_t gpu_throttle; /* why the clock of an NVIDIA GPU is reduced, as bits (see nvidia-smi) */
} lab_conditions;

/* Reads the current state; of an NVIDIA GPU with nvidia-smi, if that is installed. */
lab_conditions lab_conditions_read(const rung_device_info *device);

/* Returns which percentage of all processors' time a hypervisor took away; negative if unknown. */
double lab_conditions_steal_percent(const lab_conditions *before, const lab_conditions *after);

enum { LAB_WARNINGS_MAX = 4 };

typedef struct lab_warnings {
    char list[LAB_WARNINGS_MAX][160];
    int count;
} lab_warnings;

/* Returns what makes the times unreliable when `threads` of `processors` were used: other load, reduced clocks, or more than
 * 2 % of stolen time. */
lab_warnings lab_conditions_warnings(const lab_conditions *before, const lab_conditions *after, int64_t threads,
                                     int64_t processors);

/* Writes the JSON object "conditions". */
void lab_conditions_print(lab_json *json, const lab_conditions *before, const lab_conditions *after,
                          const lab_warnings *warnings);
