/* SPDX-License-Identifier: Apache-2.0 */
/* convert_output.c - see convert_output.h. */
#include "convert/convert_output.h"

#include <errno.h>
#include <string.h>

#include "base/file_io.h"
#include "base/npy_header.h"
#include "base/try.h"
#include "common/text.h"

static rung_status fail_write(const lab_convert_output *output, const char *reason)
{
    return rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", output->path, reason);
}

rung_status lab_convert_output_open(const char *path, lab_convert_output *output)
{
    *output = (lab_convert_output){.path = path, .npy = {.file = -1}};
    return lab_path_ends_in(path, ".gguf") ? rung_weights_writer_create(path, &output->gguf) : RUNG_OK;
}

/* Returns NumPy's name of a type that an .npy file can hold. NumPy has no BF16 and saves it as two bytes without a type. */
static const char *npy_type_name(rung_type type)
{
    return type == RUNG_F32 ? "<f4" : type == RUNG_F16 ? "<f2" : "<V2";
}

rung_status lab_convert_output_add(lab_convert_output *output, const rung_weights_tensor *tensor, rung_type type)
{
    char header[RUNGI_NPY_HEADER_BYTES];
    const rung_matrix *view = &tensor->view;
    if (output->gguf) {
        static const int64_t one = 1; /* GGML has no tensors without dimensions */
        return rung_weights_writer_add(output->gguf, tensor->name, type,
                                       tensor->dimension_count > 0 ? tensor->dimension_count : 1,
                                       tensor->dimension_count > 0 ? tensor->dimensions : &one);
    }
    int64_t bytes = view->rows * view->cols * rung_type_size(type); /* fits: the input has as many elements */
    const char *error = rungi_atomic_file_open(&output->npy, output->path, bytes + RUNGI_NPY_HEADER_BYTES);
    if (error)
        return fail_write(output, error);
    rungi_npy_header_write(npy_type_name(type), view->rows, view->cols, header);
    return lab_convert_output_write(output, header, sizeof header);
}

rung_status lab_convert_output_write(lab_convert_output *output, const void *data, int64_t bytes)
{
    if (output->gguf)
        return rung_weights_writer_write(output->gguf, data, bytes);
    return rungi_write_all(output->npy.file, data, (size_t)bytes) ? RUNG_OK : fail_write(output, strerror(errno));
}

rung_status lab_convert_output_commit(lab_convert_output *output)
{
    if (output->gguf)
        return rung_weights_writer_commit(output->gguf);
    const char *error = rungi_atomic_file_commit(&output->npy);
    return error ? fail_write(output, error) : RUNG_OK;
}

void lab_convert_output_close(lab_convert_output *output)
{
    rung_weights_writer_destroy(output->gguf);
    rungi_atomic_file_discard(&output->npy);
}
