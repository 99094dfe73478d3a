/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - files that describe a cluster. */
#include "fleet.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "fields.h"
#include "oracle.h"
#include "simulator.h"

enum { PATH_BYTES = 4096 };

typedef struct field {
    const char *name;
    size_t offset;
    double least;
} field_t;

static const field_t fields[] = {
#define X(field, least) {#field, offsetof(lab_fleet, field), least},
    LAB_FLEET_LIST(X)
#undef X
};

static const char *take(void *user, const char *name, const char *value)
{
    lab_fleet *fleet = user;
    if (strcmp(name, "title") == 0) {
        return snprintf(fleet->title, sizeof fleet->title, "%s", value) < (int)sizeof fleet->title
                   ? NULL
                   : "the title is longer than 63 letters";
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        double number;
        if (strcmp(fields[i].name, name) != 0)
            continue;
        if (!lab_read_number(value, &number) || !(number >= fields[i].least && number <= 1e18))
            return "not a number that it may be";
        memcpy((char *)fleet + fields[i].offset, &number, sizeof number);
        return NULL;
    }
    return "no such field";
}

/* ---- Files -------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

static int is_description(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0;
}

/* Whether `file`, "dgx-a100.txt", is what `name` asks for, with or without the ending, in upper or lower case. */
static bool is_named(const char *file, const char *name)
{
    size_t stem = strlen(file) - 4;
    return strcasecmp(file, name) == 0 || (strlen(name) == stem && strncasecmp(file, name, stem) == 0);
}

/* Finds the folder of descriptions: beside the command in a build tree, else where they were installed. Returns the number of
 * its entries, sorted, for free(); -1 if there is none. */
static int list_descriptions(char folder[PATH_BYTES], struct dirent ***entries)
{
    static const char *const places[] = {"machines", LAB_MACHINES_FOLDER};
    char self[PATH_BYTES - 512];
    int length = (int)lab_find_self(self, sizeof self), count = -1;
    for (int i = 0; i < 2 && count < 0; i++) {
        snprintf(folder, PATH_BYTES, "%.*s%s", length, self, places[i]);
        count = length > 0 ? scandir(folder, entries, is_description, alphasort) : -1;
    }
    return count;
}

/* Finds the description called `name`. False if there is none, with a sentence that lists those that there are. */
static bool find_description(const char *name, char path[PATH_BYTES], char *why, size_t capacity)
{
    char folder[PATH_BYTES];
    struct dirent **entries = NULL;
    bool is_found = false;
    int count = list_descriptions(folder, &entries);
    int used = snprintf(why, capacity, "%s is neither a file nor the name of a cluster; clusters are", name);
    for (int i = 0; i < count; i++) {
        const char *file = entries[i]->d_name;
        if (!is_found && is_named(file, name))
            is_found = snprintf(path, PATH_BYTES, "%s/%s", folder, file) < PATH_BYTES;
        if (used >= 0 && (size_t)used < capacity)
            used += snprintf(why + used, capacity - (size_t)used, " %.*s", (int)strlen(file) - 4, file);
        free(entries[i]);
    }
    if (count <= 0)
        snprintf(why, capacity, "%s is not a file, and no descriptions of clusters are installed", name);
    free(entries);
    return is_found;
}

bool lab_fleet_read(const char *name, lab_fleet *fleet, char *why, size_t capacity)
{
    char found[PATH_BYTES];
    const char *path = name;
    *fleet = (lab_fleet){.ranks_a_node = 1};
    if (!is_file(name)) {
        if (!find_description(name, found, why, capacity))
            return false;
        path = found;
    }
    snprintf(fleet->title, sizeof fleet->title, "%s", path);
    if (!lab_fields_read(path, take, fleet, why, capacity))
        return false;
    if (fleet->network > 0)
        return true;
    snprintf(why, capacity, "%s does not tell how fast the network is: network = 25e9", path);
    return false;
}

/* By what its inputs are, and for F32 by how they may be rounded. */
static double peak_of(const lab_fleet *fleet, const lab_dtype *dtype)
{
    switch (dtype->product.in) {
    case RUNG_F64: return fleet->f64;
    case RUNG_F32: return dtype->compute == RUNG_COMPUTE_TF32 ? fleet->tf32 : fleet->f32;
    case RUNG_F16: return fleet->f16;
    case RUNG_BF16: return fleet->bf16;
    case RUNG_I8: return fleet->i8;
    default: return 0;
    }
}

bool lab_fleet_speed(const lab_fleet *fleet, const lab_dtype *dtype, int64_t ranks, rung_cluster_speed *speed)
{
    bool is_near = fleet->node_network > 0 && (double)ranks <= fleet->ranks_a_node;
    *speed = rung_cluster_speed_default();
    speed->flops_per_second = peak_of(fleet, dtype);
    speed->latency_seconds = fleet->latency;
    speed->bytes_per_second = is_near ? fleet->node_network : fleet->network;
    speed->memory_bytes_per_second = fleet->memory_bandwidth;
    return speed->flops_per_second > 0;
}
