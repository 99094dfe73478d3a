/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - what a command runs on and with: a device, kernels by name or file,
 * element types. Messages about what cannot be had go to standard error here. */
#ifndef LAB_TARGET_H
#define LAB_TARGET_H

#include "lists.h"
#include "options.h"
#include "product.h"
#include "rung/rung.h"

enum { LAB_KERNELS_MAX = 64 };

typedef struct lab_target {
    rung_context *context; /* whose device of rung_gemm is `device` too */
    rung_device *device;
    rung_queue *queue;
    rung_kernel *owned[LAB_KERNELS_MAX]; /* from files */
    int owned_count;
} lab_target;

/* The device that the options name, or the one that fits what they list. An exit
 * code: LAB_GOOD, LAB_NOTHING or LAB_USAGE. */
int lab_target_open(const lab_options *options, const char *kernels, lab_target *target);
void lab_target_close(lab_target *target);

/* The kernels of a list like "01,04_shared,mine.cu", or with NULL all of the ladder,
 * the vendor's too, but not each vendor by its own name; NULL among them stands for
 * "rung_gemm". */
int lab_target_kernels(lab_target *target, const char *list, const rung_kernel **kernels, int *count);

/* Returns whether a list of kernels, which may be NULL, names a file. */
bool lab_names_file(const char *list);

/* One kernel by its name, or from its file; a sentence on why not. For rung_kernel_destroy. */
bool lab_kernel_open(rung_context *context, const char *backend, const char *name, rung_kernel **kernel, char *why,
                     size_t capacity);

/* Adds to a sentence which kernel of the ladder, or which backend, is meant by a name that there is
 * not, where that can be told: "; did you mean 07_tile2d?" */
void lab_suggest_kernel(rung_context *context, const char *backend, const char *name, char *text, size_t capacity);
void lab_suggest_device(const char *name, char *text, size_t capacity);

/* What a macro or parameter of a kernel comes to; `otherwise` where it has none above 0. */
int64_t lab_kernel_number(const rung_kernel *kernel, const char *parameters, rung_type in, const char *name,
                          int64_t otherwise);

bool lab_has_preset(const rung_kernel *kernel, const char *name);

/* What is to be multiplied, and how precisely. */
typedef struct lab_dtype {
    lab_product product;
    rung_compute compute;
    const char *name; /* as it was asked for */
} lab_dtype;

enum { LAB_DTYPES_MAX = LAB_PRODUCTS_MAX + LAB_COMPUTE_COUNT };

/* What --dtype and --compute ask for: "f32,f16:f32", each in the mode of --compute, once, in
 * the order of lab_product_at(); and behind them modes: "tf32" is f32 in that. f32, and
 * strict, where they are not given. NULL, or a sentence on what is wrong. */
const char *lab_read_dtypes(const lab_options *options, rung_compute *compute, lab_dtype dtypes[LAB_DTYPES_MAX],
                            int *count);

/* Whether a matrix engine may have computed what a kernel, or with NULL the library, gives. */
bool lab_may_use_engine(const lab_target *target, const rung_kernel *kernel);

/* Returns whether `mode` is at least as precise as `requested`. The numbers of the modes say nothing about it. */
bool lab_compute_is_as_precise(rung_compute mode, rung_compute requested);

/* Whether a kernel multiplies that; NULL, rung_gemm, finds one that does. */
bool lab_takes(const rung_kernel *kernel, const lab_dtype *dtype);

/* The word behind a vendor of several, "mkl" of "00_vendor:mkl"; NULL for all else. */
const char *lab_peer_of(const rung_kernel *kernel);

/* Whether a kernel's matrix engine is software here: slow, and of no speed to speak of. */
bool lab_is_emulated(const rung_kernel *kernel);

/* A wrong option: the sentence and where to look. Returns LAB_USAGE. */
int lab_usage(const char *command, const char *message);

#endif /* LAB_TARGET_H */
