/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - the device, kernels and element types that the options of a command name. Functions that return an exit
 * code print their errors. */
#pragma once

#include "cli/options.h"
#include "common/type_pair.h"
#include "rung/rung.h"

enum { LAB_KERNELS_MAX = 64 };

typedef struct lab_target {
    rung_context *context; /* rung_gemm of this context runs on `device` */
    rung_device *device;
    rung_queue *queue;
    rung_kernel *owned[LAB_KERNELS_MAX]; /* kernels from files */
    int owned_count;
} lab_target;

/* Opens the device of the options, or the default device for these kernels. Returns LAB_EXIT_SUCCESS,
 * LAB_EXIT_UNAVAILABLE or LAB_EXIT_USAGE. Call lab_target_close() in every case. */
int lab_target_open(const lab_options *options, const char *kernels, lab_target *target);
void lab_target_close(lab_target *target);

/* Opens each device of a list such as "cpu,opencl:1" in the options or in RUNG_DEVICE; by default the CPU. Returns an exit
 * code. Call lab_target_close() for *count targets in every case. */
int lab_targets_open(const lab_options *options, const char *command, lab_target *targets, int capacity, int *count);

/* Finds the kernels of a list such as "01,04_shared,mine.cu"; NULL means all kernels of the device and its default
 * vendor library. A NULL entry of `kernels`, which has room for LAB_KERNELS_MAX, is rung_gemm. Returns an exit code. */
int lab_target_kernels(lab_target *target, const char *list, const rung_kernel **kernels, int *count);

/* Returns whether a list of kernels, which may be NULL, names a file. */
bool lab_list_has_file(const char *list);

/* The backends of the devices, each once, in the order of the device list. */
enum { LAB_BACKENDS_MAX = 8 };
typedef struct lab_backends {
    char names[LAB_BACKENDS_MAX][16];
    int count;
    rung_status status; /* not RUNG_OK: the devices cannot be listed, as rung_error_text() says */
} lab_backends;

/* Finds all backends, or only that of a device such as "opencl" or "opencl:1". */
lab_backends lab_backends_find(const char *device);

/* Opens a kernel by name or file, for rung_kernel_destroy(). Otherwise returns false and writes the reason to
 * `error`. */
bool lab_kernel_open(rung_context *context, const char *backend, const char *name, rung_kernel **kernel, char *error,
                     size_t capacity);

/* Appends the kernel or backend that an unknown name probably means, if any: " (did you mean 07_tile2d?)". */
void lab_append_kernel_suggestion(rung_context *context, const char *backend, const char *name, char *text,
                                  size_t capacity);
void lab_append_device_suggestion(const char *name, char *text, size_t capacity);

/* Evaluates a macro or parameter of a kernel. Returns `otherwise` if the kernel does not define it or it is not
 * positive. */
int64_t lab_kernel_value_or(const rung_kernel *kernel, const char *parameters, rung_type in, const char *name,
                            int64_t otherwise);

bool lab_kernel_has_preset(const rung_kernel *kernel, const char *name);

/* Element types and compute mode. */
typedef struct lab_dtype {
    lab_type_pair product;
    rung_compute compute;
    const char *name; /* as in --dtype */
} lab_dtype;

enum { LAB_DTYPES_MAX = LAB_TYPE_PAIRS_MAX + LAB_COMPUTE_COUNT };

/* Parses --dtype ("f32,f16:f32,tf32") and --compute. Lists each type once, with the mode of --compute, in the order of
 * lab_type_pair_at(), followed by the compute modes of f32. The defaults are f32 and strict. A mixed pair is an error. Returns
 * NULL, or an error text in static memory. */
const char *lab_parse_dtypes(const lab_options *options, rung_compute *compute, lab_dtype dtypes[LAB_DTYPES_MAX],
                             int *count);

/* The same, for commands that support mixed pairs ("f32*q8_0"). */
const char *lab_parse_mixed_dtypes(const lab_options *options, rung_compute *compute, lab_dtype dtypes[LAB_DTYPES_MAX],
                                   int *count);

/* Reports whether compute modes affect the type: F32 inputs, and all inputs if B is quantized. */
bool lab_dtype_has_modes(const lab_dtype *dtype);

/* Parses --dtype and --compute for a command that takes one type. Returns NULL, an error text, or `several_error` if
 * --dtype lists several types. */
const char *lab_parse_single_dtype(const lab_options *options, const char *several_error, lab_dtype *dtype);

#define LAB_SEVERAL_DTYPES_USAGE "--dtype takes one type here; run the command once per type"

/* Returns whether a kernel, or rung_gemm for NULL, may use the matrix engine of a GPU. */
bool lab_kernel_may_use_engine(const lab_target *target, const rung_kernel *kernel);

/* Returns whether `mode` is at least as precise as `requested`. The enumerators are not ordered by precision. */
bool lab_compute_is_as_precise(rung_compute mode, rung_compute requested);

/* Returns whether a kernel supports the type; rung_gemm (NULL) supports all types. */
bool lab_kernel_accepts_dtype(const rung_kernel *kernel, const lab_dtype *dtype);

/* Returns the library of a vendor kernel, "mkl" of "00_vendor:mkl", or NULL for other kernels. */
const char *lab_kernel_peer_name(const rung_kernel *kernel);

/* Returns whether the matrix engine of a kernel is emulated in software on its device. */
bool lab_kernel_is_emulated(const rung_kernel *kernel);

/* Prints an error in the command line: `rung COMMAND: MESSAGE. Run "rung help COMMAND" for all options.` Returns
 * LAB_EXIT_USAGE. */
int lab_usage_error(const char *command, const char *message);

/* Hides the progress line and prints `rung: MESSAGE` to standard error. Returns `code`. */
int lab_fail(int code, const char *format, ...) RUNG_PRINTF(2, 3);

/* Returns the exit code for the status of a call. Wrong results and device failures have their own; everything else that fails
 * is a usage error. */
int lab_exit_code(rung_status status);

/* Prints that an option has an invalid value, and which values are valid: `--every is "0"; VALID`. Returns
 * LAB_EXIT_USAGE. */
int lab_option_error(const char *command, const char *option, const char *value, const char *valid);
