/* SPDX-License-Identifier: Apache-2.0 */
/* group_copy.h - the matrices of a group in two buffers of a device: all inputs in one, all outputs in the other.
 *
 * Matrices without gaps that lie next to each other in host memory, such as the experts of one array, form a region:
 * one copy moves the whole region from or to the caller's memory. All other matrices are packed into staging memory,
 * which is copied at once. A buffer has the staged matrices first and then the regions. */
#pragma once

#include "core/group_check.h"
#include "core/staging/timeline.h"

/* A range of host memory of which every byte belongs to a matrix. */
typedef struct rungi_group_region {
    char *host;
    int64_t bytes, offset; /* in the buffer */
    bool is_uploaded;
} rungi_group_region;

/* A matrix of the group. */
typedef struct rungi_group_view {
    rung_matrix *device;      /* in the buffer */
    const rung_matrix *host;  /* where an input is read, or an output is stored */
    const rung_matrix *start; /* has the elements that are uploaded: an input, or what beta multiplies; NULL: none */
    uintptr_t first;          /* host address */
    int64_t bytes;
    bool is_staged;
} rungi_group_view;

/* The contents of one buffer. */
typedef struct rungi_group_side {
    rungi_group_view *views;
    rungi_group_region *regions; /* at most one per view */
    int64_t view_count, region_count;
    int64_t uploaded_bytes, staged_bytes; /* of staged matrices; those that are uploaded come first */
    int64_t bytes;                        /* of the buffer */
    char *staging;
    rung_buffer *buffer;
} rungi_group_side;

/* A group in device memory. */
typedef struct rungi_group_copy {
    rung_context *context;
    rungi_group group;                /* the problems with device views and without addends */
    rung_quantization *quantizations; /* two per problem: those of B in host memory, and in device memory */
    rungi_group_side inputs, outputs;
} rungi_group_copy;

/* Assigns every matrix its place and creates the problems in device memory, without the buffers. */
rung_status rungi_group_copy_init(rung_context *context, const rungi_group *host, rungi_group_copy *copy);

/* Creates the buffers, and the staging memory. */
rung_status rungi_group_copy_allocate(rungi_group_copy *copy, rung_queue *queue);

/* Submits the uploads of all inputs, and of all outputs that beta multiplies. */
rung_status rungi_group_copy_upload(rungi_group_copy *copy, rung_queue *queue, rungi_timeline *timeline);

/* Submits the downloads of all outputs. From here on the caller's outputs change. */
rung_status rungi_group_copy_download(rungi_group_copy *copy, rung_queue *queue, rungi_timeline *timeline);

/* Unpacks the staged outputs, after the queue was finished. */
rung_status rungi_group_copy_unpack(rungi_group_copy *copy, rungi_timeline *timeline);

/* Frees everything. The queue was finished. */
void rungi_group_copy_free(rungi_group_copy *copy);
