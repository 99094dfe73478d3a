/* SPDX-License-Identifier: Apache-2.0 */
/* convert_source.c - see convert_source.h. */
#include "convert/convert_source.h"

#include <stdio.h>
#include <string.h>

#include "base/try.h"
#include "common/elements.h"
#include "common/text.h"

/* Types that rung_dequantize() widens; lab_element_get() reads the others. */
static bool is_narrow(rung_type type)
{
    return type == RUNG_Q8_0 || type == RUNG_Q4_0 || type == RUNG_I8 || type == RUNG_U8 || type == RUNG_F8E4M3 ||
           type == RUNG_F8E5M2;
}

static bool is_readable(rung_type type)
{
    return is_narrow(type) || type == RUNG_F32 || type == RUNG_F64 || type == RUNG_F16 || type == RUNG_BF16 ||
           type == RUNG_I32;
}

/* ---- Opening -------------------------------------------------------------------------------------------- */

static rung_status open_npy(const char *path, const char *name, lab_convert_source *source)
{
    TRY(rung_outofcore_matrix_open_npy(path, RUNG_TYPE_NONE, &source->npy));
    rung_matrix view = rung_outofcore_matrix_view(source->npy);
    const char *base = lab_base_name(path);
    if (name)
        snprintf(source->npy_name, sizeof source->npy_name, "%s", name);
    else
        snprintf(source->npy_name, sizeof source->npy_name, "%.*s", (int)(strlen(base) - strlen(".npy")), base);
    source->npy_tensor = (rung_weights_tensor){.name = source->npy_name,
                                               .type_name = rung_type_name(view.type),
                                               .dimension_count = 2,
                                               .dimensions = {view.rows, view.cols},
                                               .view = view};
    source->only = &source->npy_tensor;
    return RUNG_OK;
}

static rung_status open_weights(const char *path, const char *name, lab_convert_source *source)
{
    TRY(rung_weights_open(path, &source->weights));
    int64_t count = rung_weights_count(source->weights);
    if (count == 0)
        return rung_error_set(RUNG_STATUS_INVALID, "%s has no tensors", path);
    if (!name)
        return RUNG_OK;
    source->only = rung_weights_find(source->weights, name);
    if (!source->only)
        return rung_error_set(RUNG_STATUS_NOT_FOUND, "%s has no tensor %s; it has %lld tensors, for example %s", path,
                              name, (long long)count, rung_weights_at(source->weights, 0)->name);
    return RUNG_OK;
}

static rung_status check_types(const lab_convert_source *source)
{
    for (int64_t i = 0; i < lab_convert_source_count(source); i++) {
        const rung_weights_tensor *tensor = lab_convert_source_at(source, i);
        if (!is_readable(tensor->view.type))
            return rung_error_set(RUNG_STATUS_UNSUPPORTED,
                                  "tensor %s of %s has type %s and cannot be converted: rung has no such type, or the "
                                  "data are not aligned to the elements; choose another tensor with --tensor",
                                  tensor->name, source->path, tensor->type_name);
    }
    return RUNG_OK;
}

rung_status lab_convert_source_open(const char *path, const char *name, lab_convert_source *source)
{
    *source = (lab_convert_source){.path = path};
    TRY(lab_path_ends_in(path, ".npy") ? open_npy(path, name, source) : open_weights(path, name, source));
    return check_types(source);
}

int64_t lab_convert_source_count(const lab_convert_source *source)
{
    return source->only ? 1 : rung_weights_count(source->weights);
}

const rung_weights_tensor *lab_convert_source_at(const lab_convert_source *source, int64_t index)
{
    return source->only ? source->only : rung_weights_at(source->weights, index);
}

void lab_convert_source_close(lab_convert_source *source)
{
    rung_outofcore_matrix_destroy(source->npy);
    rung_weights_close(source->weights);
}

/* ---- Reading -------------------------------------------------------------------------------------------- */

rung_status lab_convert_source_read(const lab_convert_source *source, const rung_weights_tensor *tensor, int64_t row,
                                    int64_t col, int64_t rows, int64_t cols, void *scratch, double *values)
{
    rung_matrix from, to = rung_matrix_of(RUNG_F64, rows, cols, values);
    if (source->npy) {
        TRY(rung_outofcore_matrix_read(source->npy, row, col, rows, cols, scratch));
        from = rung_matrix_of(tensor->view.type, rows, cols, scratch);
    } else {
        from = rung_matrix_block(tensor->view, row, col, rows, cols);
    }
    if (is_narrow(from.type))
        return rung_dequantize(from, NULL, to);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            lab_element_set(&to, i, j, lab_element_get(&from, i, j));
    return RUNG_OK;
}
