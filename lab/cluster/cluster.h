/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - descriptions of clusters and plans for rung plan, and the launcher of rung bench --cluster. */
#pragma once

#include "rung/cluster.h"
#include "target/target.h"

/* The speed of a cluster's ranks, from a file such as machines/dgx-a100.txt: fields and their minimum. All are FLOP/s, bytes
 * or bytes per second of one rank, except for numbers of ranks and the latency in seconds; 0 if a file does not set them. */
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

/* A multiply on a cluster, to be planned. */
typedef struct lab_cluster_plan_request {
    const char *machine; /* the name of the description, for messages */
    lab_cluster_description description;
    lab_dtype dtype;
    int64_t ranks, m, n, k;
} lab_cluster_plan_request;

/* Grid, cost and prediction for one number of ranks. */
typedef struct lab_cluster_plan {
    rung_cluster_problem cluster;
    rung_cluster_grid grid;
    rung_cluster_cost cost;
    rung_cluster_speed speed;
    rung_cluster_prediction predicted;
    double peak_fraction; /* of the peak of all ranks */
    double bound_ratio;   /* received bytes over the lower bound */
} lab_cluster_plan;

rung_status lab_cluster_plan_ranks(const lab_cluster_plan_request *request, int64_t ranks, lab_cluster_plan *plan);

enum { LAB_CLUSTER_SWEEP_MAX = 32, LAB_CLUSTER_RANKS_MAX = 1 << 17 };

/* Plans for several numbers of ranks. */
typedef struct lab_cluster_sweep {
    lab_cluster_plan plans[LAB_CLUSTER_SWEEP_MAX];
    int count;
    int64_t half_of_peak; /* largest number of ranks with at least half of the peak; 0: none */
    int64_t useful;       /* largest number of ranks for which each doubling saves a tenth of the time; 0: unknown */
} lab_cluster_sweep;

/* Plans the requested number of ranks and powers of two, up to the size of the cluster, that fit the memory. */
void lab_cluster_sweep_plan(const lab_cluster_plan_request *request, lab_cluster_sweep *sweep);

/* Runs rung-cluster, the program that links MPI, with these options and waits for it. Returns its exit code; if it died,
 * prints which rank died and returns a failing code, so that any launcher ends the job. */
int lab_cluster_launch(const lab_options *options);
