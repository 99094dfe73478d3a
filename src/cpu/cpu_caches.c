/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_caches.c - see cpu_caches.h. */
#include "cpu/cpu_caches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/system_caches.h"

static const rungi_caches unknown = {.l3_cores = 1};

/* One cache, as CPUID or the system reports it. Threads are hardware threads. */
typedef struct cache {
    int level;
    bool holds_data;
    int64_t bytes, threads;
} cache_t;

/* Adds a cache. `l1_threads` are the threads of one core. */
static void add_cache(rungi_caches *caches, const cache_t *found, int64_t *l1_threads)
{
    if (!found->holds_data || found->bytes <= 0)
        return;
    if (found->level == 1) {
        caches->l1 = found->bytes;
        *l1_threads = found->threads > 0 ? found->threads : 1;
    } else if (found->level == 2) {
        caches->l2 = found->bytes;
    } else if (found->level == 3) {
        caches->l3 = found->bytes;
        caches->l3_cores = found->threads > *l1_threads ? found->threads / *l1_threads : 1;
    }
}

/* ---- CPUID ------------------------------------------------------------------------------------ */

/* Bits `first` to `last` of a register. */
static int64_t bits(uint32_t value, int first, int last)
{
    return (int64_t)((value >> first) & (((uint32_t)2 << (last - first)) - 1));
}

rungi_caches rungi_caches_decode(const rungi_cpuid *subleaves, int count)
{
    enum { NO_CACHE = 0, INSTRUCTION = 2 };
    rungi_caches caches = unknown;
    int64_t l1_threads = 1;
    for (int i = 0; i < count && bits(subleaves[i].eax, 0, 4) != NO_CACHE; i++) {
        const rungi_cpuid *leaf = &subleaves[i];
        int64_t line = bits(leaf->ebx, 0, 11) + 1, partitions = bits(leaf->ebx, 12, 21) + 1;
        int64_t ways = bits(leaf->ebx, 22, 31) + 1, sets = (int64_t)leaf->ecx + 1;
        cache_t found = {.level = (int)bits(leaf->eax, 5, 7),
                         .holds_data = bits(leaf->eax, 0, 4) != INSTRUCTION,
                         .threads = bits(leaf->eax, 14, 25) + 1};
        found.bytes = sets <= INT64_MAX / (line * partitions * ways) ? line * partitions * ways * sets : 0;
        add_cache(&caches, &found, &l1_threads);
    }
    return caches;
}

#if defined(__x86_64__)
enum { SUBLEAVES = 8 };

static int read_leaf(unsigned leaf, rungi_cpuid subleaves[SUBLEAVES])
{
    int count = 0;
    while (count < SUBLEAVES && __get_cpuid_count(leaf, (unsigned)count, &subleaves[count].eax, &subleaves[count].ebx,
                                                  &subleaves[count].ecx, &subleaves[count].edx))
        count++;
    return count;
}

#endif

/* AMD's leaf is empty on Intel's processors, and Intel's on AMD's. */
static rungi_caches read_cpuid(void)
{
#if defined(__x86_64__)
    rungi_cpuid subleaves[SUBLEAVES];
    rungi_caches caches = rungi_caches_decode(subleaves, read_leaf(4, subleaves));
    return caches.l2 > 0 ? caches : rungi_caches_decode(subleaves, read_leaf(0x8000001d, subleaves));
#else
    return unknown;
#endif
}

/* ---- The system ------------------------------------------------------------------------------- */

/* The first line of a file, without its end. */
static bool read_line(const char *folder, int index, const char *name, char *line, int capacity)
{
    char path[512];
    if (snprintf(path, sizeof path, "%s/index%d/%s", folder, index, name) >= (int)sizeof path)
        return false;
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(line, capacity, file);
    if (file)
        (void)fclose(file);
    if (is_read)
        line[strcspn(line, "\n")] = '\0';
    return is_read;
}

/* Parses "2048K", up to a character of `ends`. Returns the character after it, or NULL. */
static const char *parse_size(const char *text, const char *ends, int64_t *bytes)
{
    static const char units[] = "KMG";
    const int64_t most = (int64_t)1 << 40;
    char *end;
    if (*text < '0' || *text > '9')
        return NULL;
    long long number = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    end += unit ? 1 : 0;
    if (number > most >> shift || !strchr(ends, *end))
        return NULL;
    *bytes = (int64_t)number << shift;
    return end;
}

/* Returns the number of processors in a list such as "0-3,64-67"; 0 if the list is invalid. */
static int64_t count_cpu_list(const char *list)
{
    int64_t count = 0;
    while (*list) {
        char *end;
        long first = strtol(list, &end, 10), last = first;
        if (end == list)
            return 0;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        count += last >= first ? last - first + 1 : 0;
        list = *end == ',' ? end + 1 : "";
    }
    return count;
}

rungi_caches rungi_caches_read(const char *folder)
{
    enum { INDICES = 8 };
    rungi_caches caches = unknown;
    int64_t l1_threads = 1;
    for (int i = 0; i < INDICES; i++) {
        char level[16], type[32], size[32], shared[4096];
        cache_t found = {.level = 0};
        if (!read_line(folder, i, "level", level, sizeof level) || !read_line(folder, i, "type", type, sizeof type) ||
            !read_line(folder, i, "size", size, sizeof size) || !parse_size(size, "", &found.bytes))
            continue;
        found.level = (int)strtol(level, NULL, 10);
        found.holds_data = strcmp(type, "Instruction") != 0;
        if (read_line(folder, i, "shared_cpu_list", shared, sizeof shared))
            found.threads = count_cpu_list(shared);
        add_cache(&caches, &found, &l1_threads);
    }
    return caches;
}

static int64_t min_known(int64_t one, int64_t other)
{
    return one == 0 || (other > 0 && other < one) ? other : one;
}

rungi_caches rungi_caches_merge(rungi_caches from_cpuid, rungi_caches from_system)
{
    return (rungi_caches){.l1 = min_known(from_cpuid.l1, from_system.l1),
                          .l2 = min_known(from_cpuid.l2, from_system.l2),
                          .l3 = min_known(from_cpuid.l3, from_system.l3),
                          .l3_cores = from_system.l3 > 0 ? from_system.l3_cores : from_cpuid.l3_cores};
}

/* From the files of Linux, or from a call of another system. */
static rungi_caches read_system(void)
{
    rungi_caches caches = rungi_caches_read("/sys/devices/system/cpu/cpu0/cache");
    rungi_system_caches reported = rungi_system_caches_read();
    if (caches.l1 == 0 && reported.l1 > 0)
        caches = (rungi_caches){.l1 = reported.l1,
                                .l2 = reported.l2,
                                .l3 = reported.l3,
                                .l3_cores = reported.cores > 0 ? reported.cores : 1};
    return caches;
}

rungi_caches rungi_caches_detect(void)
{
    const int64_t l1_assumed = 32 << 10, l2_assumed = 256 << 10;
    rungi_caches caches = rungi_caches_merge(read_cpuid(), read_system());
    caches.l1 = caches.l1 > 0 ? caches.l1 : l1_assumed;
    caches.l2 = caches.l2 > 0 ? caches.l2 : l2_assumed;
    return caches;
}

/* ---- The environment -------------------------------------------------------------------------- */

bool rungi_caches_parse(const char *text, rungi_caches *caches)
{
    const int64_t l1_least = 4 << 10, l2_least = 64 << 10, cores_most = 8192;
    rungi_caches parsed = unknown;
    const char *at = parse_size(text, ",", &parsed.l1);
    at = at && *at ? parse_size(at + 1, ",", &parsed.l2) : NULL;
    if (at && *at)
        at = parse_size(at + 1, "/", &parsed.l3);
    if (at && *at) {
        char *end;
        if (at[1] < '0' || at[1] > '9')
            return false;
        parsed.l3_cores = strtol(at + 1, &end, 10);
        at = *end ? NULL : end;
    }
    if (!at || parsed.l1 < l1_least || parsed.l2 < l2_least || parsed.l2 < parsed.l1 || parsed.l3_cores < 1 ||
        parsed.l3_cores > cores_most)
        return false;
    *caches = parsed;
    return true;
}

static bool describes_caches(const char *value)
{
    rungi_caches caches;
    return rungi_caches_parse(value, &caches);
}

const rungi_environment_variable rungi_caches_variable = {
    "RUNG_CPU_CACHES", "the sizes of L1, L2 and L3 and the number of cores that share the L3, such as 32K,256K,8M/4",
    describes_caches, false};

rungi_caches rungi_caches_effective(void)
{
    const char *text = rungi_environment_variable_value(&rungi_caches_variable);
    rungi_caches caches;
    return text && rungi_caches_parse(text, &caches) ? caches : rungi_caches_detect();
}
