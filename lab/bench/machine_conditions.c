/* SPDX-License-Identifier: Apache-2.0 */
/* machine_conditions.c - see machine_conditions.h. Whatever cannot be read remains unknown: nothing here fails. */
#include "bench/machine_conditions.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NVIDIA's reasons for a reduced clock that do not affect a measurement: idle, or set by an application or a display. */
enum { GPU_HARMLESS = 0x1 | 0x2 | 0x100 };

/* ---- Reading ------------------------------------------------------------------------------------------ */

/* Reads the first line of a file; "" on failure. */
static void read_line(const char *path, char *line, size_t capacity)
{
    FILE *file = fopen(path, "re");
    if (!file || !fgets(line, (int)capacity, file))
        *line = 0;
    if (file)
        fclose(file);
}

static double read_number(const char *path, double otherwise)
{
    char line[128];
    double number;
    read_line(path, line, sizeof line);
    return sscanf(line, "%lf", &number) == 1 ? number : otherwise;
}

/* Reads user nice system idle iowait irq softirq steal. The numbers after them are part of the first two. */
static void read_ticks(lab_conditions *found)
{
    char line[512];
    long long part[8] = {0};
    read_line("/proc/stat", line, sizeof line);
    if (sscanf(line, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &part[0], &part[1], &part[2], &part[3], &part[4],
               &part[5], &part[6], &part[7]) != 8)
        return;
    found->ticks = 0;
    for (int i = 0; i < 8; i++)
        found->ticks += part[i];
    found->steal = part[7];
}

/* Reads one number from each matching file. Returns their maximum and their sum. */
static void read_matching_files(const char *pattern, double *largest, double *sum)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    *largest = *sum = 0;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        double number = read_number(found.gl_pathv[i], 0);
        *largest = fmax(*largest, number);
        *sum += number;
    }
    globfree(&found);
}

/* Returns the highest "cpu MHz : 2000.000". */
static double read_cpuinfo(void)
{
    char line[4096];
    double most = -1, number;
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "cpu MHz : %lf", &number) == 1)
            most = fmax(most, number);
    fclose(file);
    return most;
}

static void read_processors(lab_conditions *found)
{
    double khz = -1, events = -1, unused = -1;
    read_matching_files("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq", &khz, &unused);
    found->clock_mhz = khz > 0 ? khz / 1000 : read_cpuinfo();
    read_matching_files("/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/core_throttle_count", &unused, &events);
    found->throttles = (int64_t)events;
}

static bool is_nvidia(const rung_device_info *device)
{
    return strcmp(device->backend, "cuda") == 0 || strstr(device->platform, "NVIDIA") ||
           strstr(device->title, "NVIDIA");
}

/* Runs nvidia-smi for at most five seconds, since it may wait forever for a driver that does not answer. It numbers devices
 * as the driver does, unless the user has reordered them. */
static void read_gpu(const rung_device_info *device, lab_conditions *found)
{
    char command[256];
    double clock, celsius;
    unsigned long long reasons;
    const char *colon = strchr(device->name, ':');
    snprintf(command, sizeof command,
             "timeout -k 1 5 nvidia-smi --query-gpu=clocks.sm,temperature.gpu,clocks_throttle_reasons.active "
             "--format=csv,noheader,nounits -i %d 2>/dev/null",
             colon ? atoi(colon + 1) : 0);
    FILE *answer = popen(command, "re");
    if (!answer)
        return;
    if (fscanf(answer, "%lf , %lf , %llx", &clock, &celsius, &reasons) == 3) {
        found->gpu_clock_mhz = clock;
        found->gpu_celsius = celsius;
        found->gpu_throttle = (int64_t)reasons;
    }
    pclose(answer);
}

lab_conditions lab_conditions_read(const rung_device_info *device)
{
    lab_conditions found = {.ticks = -1,
                            .steal = -1,
                            .clock_mhz = -1,
                            .throttles = -1,
                            .gpu_clock_mhz = -1,
                            .gpu_celsius = -1,
                            .gpu_throttle = -1};
    found.load = read_number("/proc/loadavg", -1);
    read_ticks(&found);
    read_processors(&found);
    if (is_nvidia(device))
        read_gpu(device, &found);
    return found;
}

/* ---- Caches -------------------------------------------------------------------------------------------- */

/* Reads a file of cache `index` of the first processor; "" on failure. */
static void read_cache_file(int index, const char *name, char *text, size_t capacity)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    read_line(path, text, capacity);
}

/* Parses a size such as "2048K". */
static int64_t bytes_of(const char *text)
{
    long long number = 0;
    char unit = 0;
    if (sscanf(text, "%lld%c", &number, &unit) < 1 || number < 0 || number > 1LL << 40)
        return 0;
    return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

lab_cache_sizes lab_cache_sizes_read(void)
{
    enum { CACHE_INDEX_COUNT = 8 };
    lab_cache_sizes caches = {{0}, 0};
    for (int i = 0; i < CACHE_INDEX_COUNT; i++) {
        char type[32], level[8], size[32];
        read_cache_file(i, "type", type, sizeof type);
        read_cache_file(i, "level", level, sizeof level);
        read_cache_file(i, "size", size, sizeof size);
        if (strncmp(type, "Instruction", 11) != 0 && *level >= '1' && *level < '1' + LAB_CACHE_LEVELS)
            caches.level[*level - '1'] = bytes_of(size);
    }
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    caches.memory = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    return caches;
}

int64_t lab_cache_sizes_last_level(const lab_cache_sizes *caches)
{
    for (int i = LAB_CACHE_LEVELS - 1; i >= 0; i--)
        if (caches->level[i] > 0)
            return caches->level[i];
    return 0;
}

int64_t lab_device_last_level_cache(const rung_device_info *device)
{
    const int64_t fallback = (int64_t)256 << 20;
    lab_cache_sizes caches = lab_cache_sizes_read();
    int64_t bytes = strcmp(device->backend, "cpu") == 0 ? lab_cache_sizes_last_level(&caches) : 0;
    bytes = bytes > 0 ? bytes : device->last_level_cache_bytes;
    return bytes > 0 ? bytes : fallback;
}

/* ---- Warnings ------------------------------------------------------------------------------------------ */

double lab_conditions_steal_percent(const lab_conditions *before, const lab_conditions *after)
{
    if (before->ticks < 0 || after->ticks <= before->ticks)
        return -1;
    return 100 * (double)(after->steal - before->steal) / (double)(after->ticks - before->ticks);
}

static char *next_warning(lab_warnings *warnings)
{
    return warnings->list[warnings->count++];
}

/* Tolerates a load of half a processor, as of a shell and a terminal. */
lab_warnings lab_conditions_warnings(const lab_conditions *before, const lab_conditions *after, int64_t threads,
                                     int64_t processors)
{
    const size_t room = sizeof((lab_warnings *)NULL)->list[0];
    lab_warnings warnings = {.count = 0};
    double stolen = lab_conditions_steal_percent(before, after);
    if (before->load > (double)(processors - threads) + 0.5)
        snprintf(
            next_warning(&warnings), room,
            "the load was %.2f before the measurement, which uses %lld of %lld processors: other processes disturbed it",
            before->load, (long long)threads, (long long)processors);
    if (stolen > 2)
        snprintf(next_warning(&warnings), room,
                 "a hypervisor gave %.1f %% of the processors' time to other machines (steal)", stolen);
    if (before->throttles >= 0 && after->throttles > before->throttles)
        snprintf(next_warning(&warnings), room, "processors were throttled %lld times because of heat",
                 (long long)(after->throttles - before->throttles));
    if (after->gpu_throttle > 0 && after->gpu_throttle & ~(int64_t)GPU_HARMLESS)
        snprintf(next_warning(&warnings), room, "the GPU's clock was reduced to %.0f MHz (nvidia-smi: reasons 0x%llx)",
                 after->gpu_clock_mhz, (unsigned long long)after->gpu_throttle);
    return warnings;
}

/* ---- JSON ------------------------------------------------------------------------------------------------ */

static void print_number(lab_json *json, const char *name, double value)
{
    if (value >= 0)
        lab_json_number(json, name, value);
}

static void print_snapshot(lab_json *json, const char *name, const lab_conditions *found)
{
    lab_json_begin(json, name, '{');
    print_number(json, "load", found->load);
    print_number(json, "clock_mhz", found->clock_mhz);
    print_number(json, "throttles", (double)found->throttles);
    print_number(json, "gpu_clock_mhz", found->gpu_clock_mhz);
    print_number(json, "gpu_celsius", found->gpu_celsius);
    print_number(json, "gpu_throttle", (double)found->gpu_throttle);
    lab_json_end(json, '}');
}

void lab_conditions_print(lab_json *json, const lab_conditions *before, const lab_conditions *after,
                          const lab_warnings *warnings)
{
    lab_json_begin(json, "conditions", '{');
    print_snapshot(json, "before", before);
    print_snapshot(json, "after", after);
    print_number(json, "steal_percent", lab_conditions_steal_percent(before, after));
    lab_json_begin(json, "warnings", '[');
    for (int i = 0; i < warnings->count; i++)
        lab_json_string(json, NULL, warnings->list[i]);
    lab_json_end(json, ']');
    lab_json_end(json, '}');
}
