/* SPDX-License-Identifier: Apache-2.0 */
/* caches.c - see caches.h. */
#include "caches.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The first word of a file that the system writes, "" if there is none. */
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

/* "2048K" */
static int64_t bytes_of(const char *text)
{
    long long number = 0;
    char unit = 0;
    if (sscanf(text, "%lld%c", &number, &unit) < 1 || number < 0 || number > 1LL << 40)
        return 0;
    return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

lab_caches lab_caches_read(void)
{
    enum { INDICES = 8 };
    lab_caches caches = {{0}, 0};
    for (int i = 0; i < INDICES; i++) {
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

int64_t lab_caches_last(const lab_caches *caches)
{
    for (int i = LAB_CACHE_LEVELS - 1; i >= 0; i--)
        if (caches->level[i] > 0)
            return caches->level[i];
    return 0;
}

int64_t lab_last_cache(const rung_device_info *device)
{
    const int64_t plenty = (int64_t)256 << 20;
    lab_caches caches = lab_caches_read();
    int64_t told = strcmp(device->backend, "cpu") == 0 ? lab_caches_last(&caches) : 0;
    told = told > 0 ? told : device->last_level_cache_bytes;
    return told > 0 ? told : plenty;
}
