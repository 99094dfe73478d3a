/* SPDX-License-Identifier: Apache-2.0 */
/* cache_sizes.c - see cache_sizes.h. */
#include "bench/cache_sizes.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads the first word of a file of cache `index`; "" on failure. */
static void read_word(int index, const char *name, char *word, size_t capacity)
{
    char path[128], format[16];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
    snprintf(format, sizeof format, "%%%zus", capacity - 1);
    FILE *file = fopen(path, "re");
    *word = 0;
    if (!file)
        return;
    if (fscanf(file, format, word) != 1)
        *word = 0;
    fclose(file);
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
        read_word(i, "type", type, sizeof type);
        read_word(i, "level", level, sizeof level);
        read_word(i, "size", size, sizeof size);
        if (strcmp(type, "Instruction") != 0 && *level >= '1' && *level < '1' + LAB_CACHE_LEVELS)
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
