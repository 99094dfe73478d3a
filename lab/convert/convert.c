/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - see convert.h. Tensors are converted in chunks, so that the memory does not depend on their size. Each chunk
 * is read back and compared with the input. */
#include "convert/convert.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "common/elements.h"
#include "common/text.h"
#include "convert/convert_output.h"
#include "convert/convert_source.h"

enum { CHUNK_ELEMENTS = 1 << 18, BLOCK = 32 /* elements per block of Q8_0 and Q4_0 */ };

struct lab_conversion {
    lab_convert_source source;
    lab_convert_output output;
    lab_converted_tensor *results;
    int64_t count;
    double *values, *back; /* CHUNK_ELEMENTS each: the input, and the output as it is read back */
    void *scratch, *data;  /* CHUNK_ELEMENTS of 8 bytes: an input that is not mapped, and the output */
};

/* A part of a tensor. */
typedef struct chunk {
    const rung_weights_tensor *tensor;
    int64_t row, col, rows, cols;
} chunk_t;

static bool has_blocks(rung_type type)
{
    return type == RUNG_Q8_0 || type == RUNG_Q4_0;
}

/* ---- Errors --------------------------------------------------------------------------------------------- */

/* Returns the bound of the error of an element, relative to the largest magnitude of its block, and the magnitude below
 * which the error no longer decreases because scales or elements become subnormal. */
static double bound_of(rung_type type, double *least_magnitude)
{
    const double f16_rounding = 0x1p-11, f32_rounding = 0x1p-20 /* of inputs and of the computation, generously */;
    switch (type) {
    case RUNG_F16: *least_magnitude = 0x1p-14; return f16_rounding + f32_rounding;
    case RUNG_BF16: *least_magnitude = (double)FLT_MIN; return 0x1p-8 + f32_rounding;
    case RUNG_Q8_0: *least_magnitude = 127 * 0x1p-14; return 0.5 / 127 + f16_rounding + f32_rounding;
    case RUNG_Q4_0: *least_magnitude = 8 * 0x1p-14; return 1.0 / 8 + f16_rounding + f32_rounding;
    default: *least_magnitude = (double)FLT_MIN; return 0x1p-24;
    }
}

/* Returns the relative error of one block. */
static double block_error(const double *values, const double *back, int64_t count, double least_magnitude)
{
    double largest = least_magnitude, error = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(values[i]));
        error = fmax(error, fabs(values[i] - back[i]));
    }
    return error / largest;
}

/* Returns the index of the first element that is not finite, or `count`. */
static int64_t find_infinite(const double *values, int64_t count)
{
    int64_t i = 0;
    while (i < count && isfinite(values[i]))
        i++;
    return i;
}

static rung_status refuse_element(const lab_conversion *conversion, const chunk_t *chunk, int64_t index,
                                  const char *reason)
{
    return rung_error_set(RUNG_STATUS_INVALID, "element (%lld, %lld) of tensor %s is %g%s",
                          (long long)(chunk->row + index / chunk->cols), (long long)(chunk->col + index % chunk->cols),
                          chunk->tensor->name, conversion->values[index], reason);
}

/* Checks that the input and the output are finite. */
static rung_status check_finite(const lab_conversion *conversion, const chunk_t *chunk)
{
    int64_t count = chunk->rows * chunk->cols, found = find_infinite(conversion->values, count);
    bool is_input = found < count;
    if (!is_input)
        found = find_infinite(conversion->back, count);
    if (found == count)
        return RUNG_OK;
    return refuse_element(conversion, chunk, found,
                          is_input ? "; only finite numbers can be converted"
                                   : ", which is too large for the type; use f32");
}

/* Names the largest element of a chunk that rung_quantize refuses, because a block needs a scale that F16 cannot hold. */
static rung_status refuse_large_scale(const lab_conversion *conversion, const chunk_t *chunk)
{
    int64_t largest = 0;
    for (int64_t i = 1; i < chunk->rows * chunk->cols; i++)
        if (fabs(conversion->values[i]) > fabs(conversion->values[largest]))
            largest = i;
    return refuse_element(conversion, chunk, largest,
                          ", which makes the scale of its block too large for F16; use f32");
}

/* Updates the largest error of the tensor. */
static rung_status compare_chunk(const lab_conversion *conversion, const chunk_t *chunk, lab_converted_tensor *result)
{
    double least_magnitude;
    result->bound = bound_of(result->to, &least_magnitude);
    for (int64_t i = 0; i < chunk->rows; i++)
        for (int64_t j = 0; j < chunk->cols; j += BLOCK) {
            int64_t first = i * chunk->cols + j;
            result->error = fmax(result->error, block_error(conversion->values + first, conversion->back + first,
                                                            rungi_min(BLOCK, chunk->cols - j), least_magnitude));
        }
    if (result->error > result->bound)
        return rung_error_set(RUNG_STATUS_DEVICE_LOST,
                              "tensor %s has an error of %g, which exceeds the bound %g of %s; please report this bug",
                              result->name, result->error, result->bound, rung_type_name(result->to));
    return RUNG_OK;
}

/* ---- Chunks --------------------------------------------------------------------------------------------- */

/* Converts the values of a chunk to `to`, and back. */
static rung_status convert_values(const lab_conversion *conversion, const chunk_t *chunk, const rung_matrix *to)
{
    rung_matrix values = rung_matrix_of(RUNG_F64, to->rows, to->cols, conversion->values),
                back = rung_matrix_of(RUNG_F64, to->rows, to->cols, conversion->back);
    if (has_blocks(to->type)) {
        rung_status status = rung_quantize(values, *to, NULL);
        if (status == RUNG_STATUS_INVALID) /* the values are finite, so a scale is not */
            return refuse_large_scale(conversion, chunk);
        TRY(status);
        return rung_dequantize(*to, NULL, back);
    }
    for (int64_t i = 0; i < to->rows; i++)
        for (int64_t j = 0; j < to->cols; j++) {
            lab_element_set(to, i, j, lab_element_get(&values, i, j));
            lab_element_set(&back, i, j, lab_element_get(to, i, j));
        }
    return RUNG_OK;
}

static rung_status convert_chunk(lab_conversion *conversion, const chunk_t *chunk, lab_converted_tensor *result)
{
    rung_matrix to = rung_matrix_of(result->to, chunk->rows, chunk->cols, conversion->data);
    int64_t bytes = chunk->rows * chunk->cols / rung_type_block_elements(to.type) * rung_type_block_bytes(to.type);
    TRY(lab_convert_source_read(&conversion->source, chunk->tensor, chunk->row, chunk->col, chunk->rows, chunk->cols,
                                conversion->scratch, conversion->values));
    if (find_infinite(conversion->values, chunk->rows * chunk->cols) == chunk->rows * chunk->cols)
        TRY(convert_values(conversion, chunk, &to));
    TRY(check_finite(conversion, chunk));
    TRY(compare_chunk(conversion, chunk, result));
    TRY(lab_convert_output_write(&conversion->output, conversion->data, bytes));
    result->bytes += bytes;
    return RUNG_OK;
}

/* Converts a tensor by several rows at a time, or by parts of a row if rows are long. */
static rung_status convert_tensor(lab_conversion *conversion, const rung_weights_tensor *tensor,
                                  lab_converted_tensor *result)
{
    const rung_matrix *view = &tensor->view;
    if (view->rows == 0 || view->cols == 0)
        return RUNG_OK;
    int64_t cols = rungi_min(view->cols, CHUNK_ELEMENTS), rows = CHUNK_ELEMENTS / cols;
    for (int64_t row = 0; row < view->rows; row += rows)
        for (int64_t col = 0; col < view->cols; col += cols) {
            chunk_t chunk = {tensor, row, col, rungi_min(rows, view->rows - row), rungi_min(cols, view->cols - col)};
            if (lab_is_interrupted())
                return rung_error_set(RUNG_STATUS_CANCELLED, "the conversion was interrupted");
            TRY(convert_chunk(conversion, &chunk, result));
            lab_progress_show(&(lab_progress){
                .what = tensor->name, .done = (double)row, .count = (double)view->rows, .units = "rows"});
        }
    return RUNG_OK;
}

/* ---- All tensors ---------------------------------------------------------------------------------------- */

/* Returns the type of a tensor in the output. If all tensors of a file are converted to blocks, vectors and tensors whose
 * rows are not whole blocks become F32, as llama.cpp does. */
static rung_type choose_type(const lab_convert_source *source, const rung_weights_tensor *tensor, rung_type type)
{
    bool is_selected = lab_convert_source_count(source) == 1;
    if (!has_blocks(type) || is_selected || (tensor->dimension_count > 1 && tensor->view.cols % BLOCK == 0))
        return type;
    return RUNG_F32;
}

static rung_status check_npy_output(const lab_convert_request *request, const lab_convert_source *source)
{
    if (lab_path_ends_in(request->output, ".gguf"))
        return RUNG_OK;
    if (lab_convert_source_count(source) > 1)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s has %lld tensors, but an .npy file holds one; choose it with --tensor NAME, for "
                              "example --tensor %s",
                              request->input, (long long)lab_convert_source_count(source),
                              lab_convert_source_at(source, 0)->name);
    return RUNG_OK;
}

static rung_status add_tensors(lab_conversion *conversion, rung_type type)
{
    for (int64_t i = 0; i < conversion->count; i++) {
        const rung_weights_tensor *tensor = lab_convert_source_at(&conversion->source, i);
        lab_converted_tensor *result = &conversion->results[i];
        *result = (lab_converted_tensor){.name = tensor->name,
                                         .dimension_count = tensor->dimension_count,
                                         .from = tensor->view.type,
                                         .to = choose_type(&conversion->source, tensor, type)};
        memcpy(result->dimensions, tensor->dimensions, sizeof result->dimensions);
        TRY(lab_convert_output_add(&conversion->output, tensor, result->to));
    }
    return RUNG_OK;
}

static rung_status allocate(lab_conversion *conversion)
{
    conversion->count = lab_convert_source_count(&conversion->source);
    conversion->results = calloc((size_t)conversion->count, sizeof *conversion->results);
    conversion->values = malloc(CHUNK_ELEMENTS * sizeof *conversion->values);
    conversion->back = malloc(CHUNK_ELEMENTS * sizeof *conversion->back);
    conversion->scratch = malloc(CHUNK_ELEMENTS * sizeof(double));
    conversion->data = malloc(CHUNK_ELEMENTS * sizeof(double));
    return conversion->results && conversion->values && conversion->back && conversion->scratch && conversion->data
               ? RUNG_OK
               : rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to convert");
}

static rung_status convert_all(const lab_convert_request *request, lab_conversion *conversion)
{
    TRY(lab_convert_source_open(request->input, request->tensor, &conversion->source));
    TRY(check_npy_output(request, &conversion->source));
    TRY(lab_convert_output_open(request->output, &conversion->output));
    TRY(allocate(conversion));
    TRY(add_tensors(conversion, request->type));
    for (int64_t i = 0; i < conversion->count; i++)
        TRY(convert_tensor(conversion, lab_convert_source_at(&conversion->source, i), &conversion->results[i]));
    return lab_convert_output_commit(&conversion->output);
}

rung_status lab_convert(const lab_convert_request *request, lab_conversion **conversion)
{
    *conversion = calloc(1, sizeof **conversion);
    if (!*conversion)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to convert");
    (*conversion)->output.npy.file = -1;
    return convert_all(request, *conversion);
}

int64_t lab_conversion_count(const lab_conversion *conversion)
{
    return conversion->count;
}

const lab_converted_tensor *lab_conversion_at(const lab_conversion *conversion, int64_t index)
{
    return &conversion->results[index];
}

void lab_conversion_destroy(lab_conversion *conversion)
{
    if (!conversion)
        return;
    lab_convert_output_close(&conversion->output);
    lab_convert_source_close(&conversion->source);
    free(conversion->results);
    free(conversion->values);
    free(conversion->back);
    free(conversion->scratch);
    free(conversion->data);
    free(conversion);
}
