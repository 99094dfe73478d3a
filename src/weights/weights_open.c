/* SPDX-License-Identifier: Apache-2.0 */
/* weights_open.c - the functions of rung/weights.h that read: opens a file, recognizes its format, and finds tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/cancellation.h"
#include "base/try.h"
#include "weights/weights.h"

static void destroy(rung_weights *weights)
{
    for (int64_t i = 0; i < weights->count; i++)
        free((char *)weights->tensors[i].name);
    free(weights->tensors);
    free(weights->by_name);
    rungi_mapped_file_close(&weights->file);
    free(weights);
}

/* A safetensors file begins with the size of its header and the brace of the header. */
static rung_status read_tensors(rung_weights *weights, const uint8_t *bytes, int64_t count)
{
    enum { BRACE_OFFSET = 8 };
    if (count >= 4 && memcmp(bytes, "GGUF", 4) == 0)
        return rungi_gguf_read(weights, bytes, count);
    if (count > BRACE_OFFSET && bytes[BRACE_OFFSET] == '{')
        return rungi_safetensors_read(weights, bytes, count);
    return rungi_invalid("%s is neither a GGUF nor a safetensors file", weights->path);
}

rung_status rungi_weights_parse(const char *path, const uint8_t *bytes, int64_t count, rung_weights **weights)
{
    *weights = NULL;
    rung_weights *created = calloc(1, sizeof *created);
    if (!created)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to open %s", path);
    created->path = path;
    rung_status status = read_tensors(created, bytes, count);
    if (status != RUNG_OK) {
        destroy(created);
        return status;
    }
    created->path = NULL; /* it belongs to the caller */
    *weights = created;
    return RUNG_OK;
}

rung_status rung_weights_open(const char *path, rung_weights **weights)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_mapped_file file;
    if (!weights)
        return rungi_invalid("rung_weights_open needs a place for the weights; `weights` is NULL");
    *weights = NULL;
    if (!path)
        return rungi_invalid("the path of the weights is NULL");
    TRY(rungi_mapped_file_open(path, &file));
    rung_status status = rungi_weights_parse(path, file.bytes, file.count, weights);
    if (status != RUNG_OK) {
        rungi_mapped_file_close(&file);
        return status;
    }
    (*weights)->file = file;
    return RUNG_OK;
}

int64_t rung_weights_count(const rung_weights *weights)
{
    return weights ? weights->count : 0;
}

const rung_weights_tensor *rung_weights_at(const rung_weights *weights, int64_t index)
{
    return index >= 0 && index < rung_weights_count(weights) ? &weights->tensors[index] : NULL;
}

const rung_weights_tensor *rung_weights_find(const rung_weights *weights, const char *name)
{
    int64_t low = 0, high = name ? rung_weights_count(weights) : 0;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(name, weights->by_name[middle]->name);
        if (order == 0)
            return weights->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void rung_weights_close(rung_weights *weights)
{
    RUNGI_DISABLE_CANCELLATION;
    if (weights)
        destroy(weights);
}
