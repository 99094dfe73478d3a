/* SPDX-License-Identifier: Apache-2.0 */
/* nodes.c - reads the NUMA nodes from /sys/devices/system/node. See nodes.h.
 *
 * Memory is placed by first touch only: the system takes a page from the node of the thread that writes it first. There is
 * no memory policy to set, and no library is needed. */
#define _GNU_SOURCE /* sched_getcpu */
#include "cpu/threads/nodes.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NUMBERS_MAX = RUNGI_NODES_PROCESSORS_MAX }; /* Linux has at most 1024 nodes and 8192 processors */

typedef void number_visitor(int number, void *user);

/* Reads a number whose first character is `*next`. `*next` becomes the first character after it. Returns -1 if `*next` is not a
 * digit. */
static int read_number(FILE *file, int *next)
{
    int number = -1;
    for (; *next >= '0' && *next <= '9'; *next = fgetc(file))
        number = number > NUMBERS_MAX ? number : (number < 0 ? 0 : number) * 10 + (*next - '0');
    return number;
}

/* Calls `visit` for each number of a file with a list such as "0-3,8,10-11". The list may be empty. */
static void visit_list(const char *path, number_visitor *visit, void *user)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    int next;
    do {
        next = fgetc(file);
        int first = read_number(file, &next), last = first;
        if (first >= 0 && next == '-') {
            next = fgetc(file);
            last = read_number(file, &next);
        }
        for (int number = first; number >= 0 && number <= last && number < NUMBERS_MAX; number++)
            visit(number, user);
    } while (next == ',');
    (void)fclose(file);
}

typedef struct node_reader {
    const char *root;
    rungi_nodes *nodes;
    int found; /* nodes with processors so far */
    bool has_processors;
} node_reader_t;

static void add_processor(int processor, void *user)
{
    node_reader_t *reader = user;
    reader->has_processors = true;
    reader->nodes->of_processor[processor] = (uint8_t)(reader->found % RUNGI_NODES_MAX);
}

static void add_node(int node, void *user)
{
    char path[PATH_MAX];
    node_reader_t *reader = user;
    reader->has_processors = false;
    if (snprintf(path, sizeof path, "%s/sys/devices/system/node/node%d/cpulist", reader->root, node) < (int)sizeof path)
        visit_list(path, add_processor, reader);
    reader->found += reader->has_processors;
}

void rungi_nodes_read(const char *root, rungi_nodes *nodes)
{
    char path[PATH_MAX];
    node_reader_t reader = {.root = root, .nodes = nodes};
    memset(nodes, 0, sizeof *nodes);
    if (snprintf(path, sizeof path, "%s/sys/devices/system/node/online", root) < (int)sizeof path)
        visit_list(path, add_node, &reader);
    nodes->count = reader.found < 1 ? 1 : reader.found < RUNGI_NODES_MAX ? reader.found : RUNGI_NODES_MAX;
}

int rungi_nodes_current(const rungi_nodes *nodes)
{
    int processor = nodes->count > 1 ? sched_getcpu() : -1;
    return processor >= 0 && processor < RUNGI_NODES_PROCESSORS_MAX ? nodes->of_processor[processor] : 0;
}
