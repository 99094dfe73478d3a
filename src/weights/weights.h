/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - the list of tensors that both readers fill: gguf_read.c and safetensors_read.c parse a file,
 * tensor_list.c checks and stores what they find. Files are untrusted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string_view.h"
#include "rung/weights.h"
#include "weights/mapped_file.h"

enum { RUNGI_WEIGHTS_TENSORS_MAX = 1 << 20, RUNGI_WEIGHTS_NAME_MAX = 1 << 12 };

struct rung_weights {
    const char *path;       /* for messages, while the file is parsed */
    rungi_mapped_file file; /* not open if the caller of rungi_weights_parse() owns the bytes */
    rung_weights_tensor *tensors;
    int64_t count, capacity;
    const rung_weights_tensor **by_name; /* sorted */
};

/* An element type of a format. */
typedef struct rungi_weights_type {
    const char *name;
    int64_t block_elements; /* along the last dimension; 0: the size is unknown */
    int64_t block_bits;
    rung_type type; /* RUNG_TYPE_NONE: rung has no such type */
} rungi_weights_type;

/* A tensor as a reader found it. */
typedef struct rungi_weights_entry {
    rungi_string_view name;
    rungi_weights_type type;
    int64_t dimension_count;
    int64_t dimensions[RUNG_WEIGHTS_DIMENSIONS_MAX]; /* the last one is contiguous */
    const uint8_t *data;                             /* inside the file */
    int64_t data_bytes;
} rungi_weights_entry;

/* Returns the type number `index` of GGUF's list, or NULL if rung does not know it. */
const rungi_weights_type *rungi_gguf_type_at(uint32_t index);

/* Finds the number of a type in GGUF's list. Returns false if GGUF has no such type. */
bool rungi_gguf_type_find(rung_type type, uint32_t *index);

/* Computes the bytes of a tensor from its type and dimensions. Returns false if the size overflows or the last dimension
 * is not a multiple of the block. A type of unknown size has 0 bytes. */
bool rungi_weights_entry_bytes(const rungi_weights_entry *entry, int64_t *bytes);

/* Checks the name of a tensor and appends the tensor. The data must be inside the file. */
rung_status rungi_weights_add(rung_weights *weights, const rungi_weights_entry *entry);

/* Checks that no two tensors have the same name or share bytes, and prepares rung_weights_find(). If `data` is not NULL,
 * the tensors must also cover the `bytes` bytes from there without gaps, as safetensors requires. */
rung_status rungi_weights_finish(rung_weights *weights, const uint8_t *data, int64_t bytes);

/* Read the tensors of a file in memory. */
rung_status rungi_gguf_read(rung_weights *weights, const uint8_t *bytes, int64_t count);
rung_status rungi_safetensors_read(rung_weights *weights, const uint8_t *bytes, int64_t count);

/* Creates the object for a file in memory, which must stay valid and unchanged. `path` names the file in messages. */
rung_status rungi_weights_parse(const char *path, const uint8_t *bytes, int64_t count, rung_weights **weights);
