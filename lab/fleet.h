/* SPDX-License-Identifier: Apache-2.0 */
/* fleet.h - a cluster as rung plan sees it: what one of its ranks does in a second. Descriptions are files, such as
 * machines/dgx-a100.txt. */
#ifndef LAB_FLEET_H
#define LAB_FLEET_H

#include "rung/cluster.h"
#include "target.h"

/* field, and the least that it may be. All are FLOP/s, bytes or bytes a second of one rank, but for counts of ranks and for
 * the latency in seconds; 0 where a file does not tell. */
/* clang-format off */
#define LAB_FLEET_LIST(X)                                                       \
    X(ranks,            1)                                                      \
    X(ranks_a_node,     1)                                                      \
    X(f64,              1)                                                      \
    X(f32,              1)                                                      \
    X(tf32,             1)                                                      \
    X(f16,              1)                                                      \
    X(bf16,             1)                                                      \
    X(i8,               1)                                                      \
    X(network,          1)                                                      \
    X(node_network,     1)                                                      \
    X(latency,          0)                                                      \
    X(memory,           1)                                                      \
    X(memory_bandwidth, 1)
/* clang-format on */

typedef struct lab_fleet {
    char title[64];
#define X(field, least) double field;
    LAB_FLEET_LIST(X)
#undef X
} lab_fleet;

/* Reads a description: the file `name`, or the one of that name among those that rung was installed with, in upper or lower
 * case and with or without ".txt". Returns false, with a sentence in `why`, if there is none or it is wrong. */
bool lab_fleet_read(const char *name, lab_fleet *fleet, char *why, size_t capacity);

/* A rank's speed for products of that type, between so many ranks: within one node if they fit it. False if the file has no
 * speed for the type. */
bool lab_fleet_speed(const lab_fleet *fleet, const lab_dtype *dtype, int64_t ranks, rung_cluster_speed *speed);

#endif /* LAB_FLEET_H */
