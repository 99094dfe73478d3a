/* SPDX-License-Identifier: Apache-2.0 */
/* microscope.h - what the warps of a kernel ask of memory, line by line, seen on a simulator.
 *
 * A look runs this very command again, as a child under Oclgrind with our plugin in it
 * (tools/microscope), and multiplies once. No GPU is needed, and nothing is timed: what is
 * counted follows from the addresses alone, one request for each access that the source names.
 * NVIDIA's compilers merge some, where an unrolled loop reads neighbours (04, 06, 07). A look
 * takes seconds for some ten million instructions, so problems should be a block or a few. */
#ifndef LAB_MICROSCOPE_H
#define LAB_MICROSCOPE_H

#include <stdbool.h>
#include <stddef.h>

#include "product.h"
#include "rung/rung.h"
#include "sight.h"
#include "simulator.h"

/* What to look at. A and C have rows side by side, so has B, unless its columns are to be. The
 * strides between them are as given, so that a block may stand as it does in a large matrix, or
 * 0: dense. */
typedef struct lab_look {
    const char *kernel;     /* by name or number, or a file */
    const char *parameters; /* NULL: those that a GPU would take, whatever its architecture */
    lab_product product;
    rung_compute compute;
    int64_t m, n, k;
    int64_t a_stride, b_stride, c_stride;
    bool b_col_major;
    double seconds; /* time limit; 0: LAB_LOOK_SECONDS, negative: none */
} lab_look;

enum { LAB_LOOK_SECONDS = 600 };

typedef enum lab_traffic {
#define X(name, word) LAB_##name,
    LAB_TRAFFIC_LIST(X)
#undef X
        LAB_TRAFFIC_COUNT
} lab_traffic;

typedef struct lab_sight_totals {
#define X(name) int64_t name;
    LAB_SIGHT_TOTAL_LIST(X)
#undef X
} lab_sight_totals;

/* Requests of one kind and width to one array. A line of the kernel's file may be reached from several of
 * the kernel's own: that is `from`, which is the same where nothing was called. */
typedef struct lab_sight_line {
    int64_t line, from;
    lab_traffic kind;
    int64_t width;  /* bytes a lane */
    char array[64]; /* the kernel's name for the argument or for the shared array */
#define X(name) int64_t name;
    LAB_SIGHT_COUNT_LIST(X)
#undef X
} lab_sight_line;

typedef struct lab_sight_branch {
    int64_t line, from, passed, divergent; /* by warps */
} lab_sight_branch;

typedef struct lab_sight_barrier {
    int64_t line, passed; /* by blocks */
} lab_sight_barrier;

/* By the kernel's name for it; "places+partials" if it is given twice. */
typedef struct lab_sight_buffer {
    char name[64];
#define X(name) int64_t name;
    LAB_SIGHT_BUFFER_LIST(X)
#undef X
} lab_sight_buffer;

typedef struct lab_sight {
    char kernel[64], file[256];             /* of the function and of its source */
    char parameters[RUNG_PARAMETERS_BYTES]; /* all of them, as they were */
    lab_sight_totals totals;
    lab_sight_line *lines;
    lab_sight_branch *branches;
    lab_sight_barrier *barriers;
    lab_sight_buffer *buffers;
    int64_t line_count, branch_count, barrier_count, buffer_count;
} lab_sight;

/* Looks, within the time limit. False, with a sentence in `why`, if it cannot be done, the kernel is refused, computes
 * a wrong result or reads where nothing is. Several threads may look at once. */
bool lab_microscope_look(const lab_look *look, lab_sight *sight, char *why, size_t capacity);
void lab_sight_free(lab_sight *sight);

/* All requests of a kind to an array, NULL for any, at a line, 0 for all, whatever their width and
 * wherever from; the width is that of the widest. */
lab_sight_line lab_sight_sum(const lab_sight *sight, int64_t line, lab_traffic kind, const char *array);

/* The parameters that a look takes: a GPU's, where none are given. */
bool lab_look_parameters(const rung_kernel *kernel, lab_product product, const char *given,
                         char text[RUNG_PARAMETERS_BYTES]);

/* Where the simulator's driver and the plugin are: RUNG_OCLGRIND and RUNG_MICROSCOPE if they are
 * set, else the usual places. "" for what is not there. */
typedef struct lab_microscope_parts {
    char oclgrind[LAB_SELF_PATH], plugin[LAB_SELF_PATH + 128];
} lab_microscope_parts;

void lab_microscope_find(lab_microscope_parts *parts);

/* What main must do first: the child, if this process was started as one. */
bool lab_microscope_is_child(int argc, char **argv);
int lab_microscope_child(int argc, char **argv);

#endif /* LAB_MICROSCOPE_H */
