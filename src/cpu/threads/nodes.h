/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.h - the NUMA nodes of the machine. A processor reaches the memory of its own node faster than that of others. */
#pragma once

#include <stdint.h>

enum {
    RUNGI_NODES_MAX = 16,              /* more nodes are folded onto these */
    RUNGI_NODES_PROCESSORS_MAX = 8192, /* processors with higher numbers are ignored */
};

typedef struct rungi_nodes {
    int count;                                        /* nodes that have processors; 1 if there is nothing to know */
    uint8_t of_processor[RUNGI_NODES_PROCESSORS_MAX]; /* 0 to count - 1; 0 if the node is unknown */
} rungi_nodes;

/* Reads the online nodes and their online processors. Nodes without processors do not count; the others are numbered from 0
 * in ascending order. `root` is a prefix of /sys, for tests. Without such files there is one node. */
void rungi_nodes_read(const char *root, rungi_nodes *nodes);

/* Returns the node of the processor that the calling thread runs on: 0 to count - 1. */
int rungi_nodes_current(const rungi_nodes *nodes);
