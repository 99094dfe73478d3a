/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_description.h - the speed of a cluster's ranks, for rung plan. Descriptions are files such as
 * machines/dgx-a100.txt. */
#ifndef LAB_CLUSTER_DESCRIPTION_H
#define LAB_CLUSTER_DESCRIPTION_H

#include "rung/cluster.h"
#include "target/target.h"

/* Fields and their minimum. All are FLOP/s, bytes or bytes per second of one rank, except for numbers of ranks and the
 * latency in seconds; 0 if a file does not set them. */
/* clang-format off */
#define LAB_CLUSTER_FIELDS(X)                                                       \
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

typedef struct lab_cluster_description {
    char title[64];
#define X(field, minimum) double field;
    LAB_CLUSTER_FIELDS(X)
#undef X
} lab_cluster_description;

/* Reads the file `name`, or the installed description of that name, in upper or lower case and with or without ".txt".
 * Returns false and writes `error` if there is none or it is invalid. */
bool lab_cluster_description_read(const char *name, lab_cluster_description *description, char *error, size_t capacity);

/* Returns the speed of one of `ranks` ranks for a type; the network is that within a node if all ranks fit in one. Returns
 * false if the file has no speed for the type. */
bool lab_cluster_description_speed(const lab_cluster_description *description, const lab_dtype *dtype, int64_t ranks,
                                   rung_cluster_speed *speed);

#endif /* LAB_CLUSTER_DESCRIPTION_H */
