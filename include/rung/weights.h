/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - reads the weights of neural networks from GGUF and safetensors files, and writes GGUF files.
 *
 * This header is the manual of librung-weights. Link rung-weights (pkg-config) or rung::weights
 * (CMake). The rules of rung.h on compatibility, errors, threads and output apply here too. This
 * program prints the tensors of a file and converts one of them to F32:
 *
 *     rung_weights *weights;
 *     if (rung_weights_open("model.gguf", &weights) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *     for (int64_t i = 0; i < rung_weights_count(weights); i++)
 *         printf("%s: %s\n", rung_weights_at(weights, i)->name, rung_weights_at(weights, i)->type_name);
 *     const rung_weights_tensor *tensor = rung_weights_find(weights, "output.weight");
 *     if (tensor && tensor->view.type == RUNG_Q8_0)
 *         rung_dequantize(tensor->view, NULL, rung_matrix_of(RUNG_F32, tensor->view.rows, tensor->view.cols, values));
 *     rung_weights_close(weights);
 *
 * Contents
 *     Reading     Writing
 */
#ifndef RUNG_WEIGHTS_H
#define RUNG_WEIGHTS_H

#include "rung/rung.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Reading ----------------------------------------------------------------------- */

/* An open file of tensors. The object is immutable: any number of threads may use it at the same
 * time. The file is mapped and not copied: its pages are read when they are used. The memory is
 * read-only. Do not shorten the file while it is open: reading a page that no longer exists ends
 * the process (SIGBUS). Replacing the file by a rename is safe. */
typedef struct rung_weights rung_weights;

enum { RUNG_WEIGHTS_DIMENSIONS_MAX = 8 };

/* One tensor of a file.
 *
 * `dimensions` are in the order of NumPy and PyTorch: the last dimension is contiguous. GGUF files
 * list them in the opposite order. `view` is the tensor as a row-major matrix: its columns are the
 * last dimension, its rows all other dimensions together. A vector is one row. A layer that
 * computes y = W x with n outputs and k inputs has an n x k view.
 *
 * The view is absent (its type is RUNG_TYPE_NONE) in two cases: rung has no such element type, for
 * example Q4_K, or the data are not aligned to the size of an element. Types with a view:
 *
 *     GGUF         F32, F16, BF16, F64, I8, I32, Q8_0, Q4_0
 *     safetensors  F32, F16, BF16, F64, I8, U8, I32, F8_E4M3, F8_E5M2, F8_E8M0 */
typedef struct rung_weights_tensor {
    const char *name;
    const char
           *type_name; /* as the format names it: "F32", "Q4_K"; "type 99" for a GGUF type that rung does not know */
    int64_t dimension_count;
    int64_t dimensions[RUNG_WEIGHTS_DIMENSIONS_MAX];
    const void *data;
    int64_t     data_bytes; /* 0 for a GGUF type that rung does not know */
    rung_matrix view;
} rung_weights_tensor;

/* Opens a GGUF file (version 2 or 3, little-endian) or a safetensors file. The contents decide, not
 * the name. All names, types, sizes and offsets are checked before the call returns; tensor data are
 * not read. Fails with
 *
 *     RUNG_STATUS_IO           the file cannot be opened, mapped or read
 *     RUNG_STATUS_INVALID      the file is damaged, or has neither format
 *     RUNG_STATUS_UNSUPPORTED  GGUF of another version or of a big-endian machine
 *     RUNG_STATUS_TOO_LARGE    a count or a size exceeds the limits: 1,048,576 tensors, names of 4,096
 *                              bytes, 8 dimensions, a safetensors header of 100,000,000 bytes */
RUNG_API rung_status rung_weights_open(const char *path, rung_weights **weights);

/* Returns the number of tensors; 0 for NULL. */
RUNG_API int64_t rung_weights_count(const rung_weights *weights);

/* Returns tensor `index`, in the order of the file; NULL for an index outside 0 to count - 1. The
 * tensor lives as long as `weights`. */
RUNG_API const rung_weights_tensor *rung_weights_at(const rung_weights *weights, int64_t index);

/* Returns the tensor with this name, or NULL if the file has no such tensor. Names are unique in a file. */
RUNG_API const rung_weights_tensor *rung_weights_find(const rung_weights *weights, const char *name);

/* Closes the file. Its tensors and views are invalid from then on. NULL is ignored. */
RUNG_API void rung_weights_close(rung_weights *weights);

/* ---- Writing ----------------------------------------------------------------------- */

/* A GGUF file that is being written. First add all tensors, then write their data in the same order,
 * then commit:
 *
 *     rung_weights_writer_create("model.gguf", &writer);
 *     rung_weights_writer_add(writer, "output.weight", RUNG_Q8_0, 2, (int64_t[]){n, k});
 *     rung_weights_writer_write(writer, blocks, n * k / 32 * 34);
 *     rung_weights_writer_commit(writer);
 *     rung_weights_writer_destroy(writer);
 *
 * The file is complete or absent: the data are written to a temporary file in the same folder, which
 * replaces PATH when the writer is committed. One thread at a time may use a writer. After a failed
 * rung_weights_writer_write() or rung_weights_writer_commit(), the writer can only be destroyed. */
typedef struct rung_weights_writer rung_weights_writer;

/* Creates a writer of a GGUF file, version 3. Nothing is written yet. */
RUNG_API rung_status rung_weights_writer_create(const char *path, rung_weights_writer **writer);

/* Adds a tensor with 1 to 4 dimensions, the last of which is contiguous. Types: F32, F16, BF16, F64,
 * I8, I32, Q8_0, Q4_0. For Q8_0 and Q4_0 the last dimension is a multiple of 32. Names have 1 to 63
 * bytes, as GGML requires, and are unique. */
RUNG_API rung_status rung_weights_writer_add(rung_weights_writer *writer, const char *name, rung_type type,
                                             int64_t dimension_count, const int64_t *dimensions);

/* Writes the next bytes of the data of all tensors, without padding between tensors. The data of a
 * tensor may be split between calls. No tensor can be added from then on. */
RUNG_API rung_status rung_weights_writer_write(rung_weights_writer *writer, const void *data, int64_t bytes);

/* Completes the file and gives it its name. Fails with RUNG_STATUS_INVALID if data are missing. */
RUNG_API rung_status rung_weights_writer_commit(rung_weights_writer *writer);

/* Destroys a writer. A file that was not committed is removed. NULL is ignored. */
RUNG_API void rung_weights_writer_destroy(rung_weights_writer *writer);

#ifdef __cplusplus
}
#endif

#endif /* RUNG_WEIGHTS_H */
