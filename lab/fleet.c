/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.c - files that describe a cluster. */
#include "fleet.h"

#include <string.h>

#include "oracle.h"
#include "fields.h"

typedef struct field {
    const char *name;
    size_t      offset;
    double      least;
} field;

static const field fields[] = {
#define X(field, least) {#field, offsetof(lab_fleet, field), least},
    LAB_FLEET_LIST(X)
#undef X
};

static const char *take(void *user, const char *name, const char *value)
{
    lab_fleet *fleet = user;
    if (strcmp(name, "title") == 0) {
        snprintf(fleet->title, sizeof fleet->title, "%s", value);
        return NULL;
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

bool lab_fleet_read(const char *path, lab_fleet *fleet, char *why, size_t capacity)
{
    *fleet = (lab_fleet){.ranks_a_node = 1};
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
    switch (lab_product_in(dtype->product)) {
    case RUNG_F64:
        return fleet->f64;
    case RUNG_F32:
        return dtype->compute == RUNG_TF32 ? fleet->tf32 : fleet->f32;
    case RUNG_F16:
        return fleet->f16;
    case RUNG_BF16:
        return fleet->bf16;
    case RUNG_I8:
        return fleet->i8;
    default:
        return 0;
    }
}

bool lab_fleet_speed(const lab_fleet *fleet, const lab_dtype *dtype, int64_t ranks, rung_rank_speed *speed)
{
    bool is_near = fleet->node_network > 0 && (double)ranks <= fleet->ranks_a_node;
    *speed = (rung_rank_speed){.flops = peak_of(fleet, dtype), .latency = fleet->latency,
                               .bandwidth = is_near ? fleet->node_network : fleet->network,
                               .memory = fleet->memory_bandwidth};
    return speed->flops > 0;
}
