/* SPDX-License-Identifier: Apache-2.0 */
/* weights_check.h - parses any bytes as a file of weights, for gguf.c and safetensors.c: tensors of an accepted file lie
 * inside it, do not overlap and are found by their names; a rejected file has its reason. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weights/weights.h"

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "not: %s\n", what);
        abort();
    }
}

static void check_tensor(const rung_weights *weights, int64_t index, const uint8_t *bytes, size_t size)
{
    const rung_weights_tensor *tensor = rung_weights_at(weights, index);
    const uint8_t *data = tensor->data;
    const rung_matrix *view = &tensor->view;
    must(rung_weights_find(weights, tensor->name) == tensor, "found by its name");
    must(tensor->dimension_count >= 0 && tensor->dimension_count <= RUNG_WEIGHTS_DIMENSIONS_MAX, "dimensions");
    must(data >= bytes && tensor->data_bytes >= 0 && tensor->data_bytes <= bytes + size - data, "data inside the file");
    for (int64_t i = 0; i < index; i++) {
        const rung_weights_tensor *other = rung_weights_at(weights, i);
        const uint8_t *other_data = other->data;
        must(data + tensor->data_bytes <= other_data || other_data + other->data_bytes <= data, "separate data");
    }
    if (view->type == RUNG_TYPE_NONE)
        return;
    must(view->rows >= 0 && view->cols >= 0 && view->cols % rung_type_block_elements(view->type) == 0, "whole blocks");
    must(view->rows == 0 || view->cols == 0 ||
             view->cols / rung_type_block_elements(view->type) <=
                 tensor->data_bytes / rung_type_block_bytes(view->type) / view->rows,
         "a view inside the data");
}

static void check_weights(const uint8_t *bytes, size_t size)
{
    rung_weights *weights;
    rung_status status = rungi_weights_parse("input", bytes, (int64_t)size, &weights);
    must((status == RUNG_OK) == (weights != NULL), "an object if and only if the file is accepted");
    must(status == RUNG_OK || strlen(rung_error_text()) > 20, "a reason");
    for (int64_t i = 0; i < rung_weights_count(weights); i++)
        check_tensor(weights, i, bytes, size);
    rung_weights_close(weights);
}
