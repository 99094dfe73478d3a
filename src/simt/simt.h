/* SPDX-License-Identifier: Apache-2.0 */
/* simt.h - parts that all devices with blocks and threads share (OpenCL and CUDA): the ladder of kernel files, their
 * complete source, the compiled path, split-K, the shape of a launch and the shared part of a plan. simt_launch.h runs a
 * plan. */
#pragma once

#include "core/plan_types.h"

/* in_t, sum_t and out_t of dialect.h can be any combination of RUNGI_GEMM_TYPES_LIST. A kernel with quantized.h has another
 * type for B. */
#define RUNGI_SIMT_PRODUCTS RUNGI_GEMM_TYPES_ALL

/* The ladder of a backend that runs these files. The first step is the vendor's library. */
#define VENDOR(number, step) RUNGI_SIMT_STEP_##number,
#define CPU(number, step)
#define SIMT(number, step) RUNGI_SIMT_STEP_##number,
enum {
#include "core/ladder.def"
    RUNGI_SIMT_LADDER_COUNT
};
#undef VENDOR
#undef CPU
#undef SIMT

extern const rungi_ladder_step rungi_simt_ladder[RUNGI_SIMT_LADDER_COUNT];

/* The functions of rungi_device_ops that every device of this kind has, except `close`. A device declares and lists its
 * own functions, rungi_cuda_queue_create() and so on, with X(queue_create). */
/* clang-format off */
#define RUNGI_SIMT_DEVICE_FUNCTION_LIST(X)                                                        \
    X(queue_create) X(queue_finish) X(queue_destroy) X(queue_native)                              \
    X(event_create) X(event_wait) X(event_time) X(event_span) X(event_is_done) X(event_copy)      \
    X(event_destroy) X(event_native)                                                              \
    X(buffer_create) X(buffer_destroy) X(buffer_native) X(buffer_copy)                            \
    X(host_allocate) X(host_release)                                                              \
    X(plan_create) X(plan_run) X(group_run) X(plan_destroy)
/* clang-format on */

/* view_t of dialect.h: the same layout on host and device. */
typedef struct rungi_simt_view {
    int64_t offset, row_stride, col_stride, batch_stride;
} rungi_simt_view;

/* launch_args_t of epilogue.h: the same layout on host and device. */
typedef struct rungi_simt_launch_args {
    int64_t batch, first_item, splits, k_per_slice, flags, batch_offsets_start, partials_offset;
    int64_t scratch_offset; /* see engine.h */
    rungi_simt_view bias, residual, addend;
} rungi_simt_launch_args;

/* quantization_args_t of quantized.h: the same layout on host and device. */
typedef struct rungi_simt_quantization_args {
    rungi_simt_view scales, zero_points;
    int64_t first_col, flags, b_start, scales_start, zero_points_start;
} rungi_simt_quantization_args;

/* ---- Kernels (simt_source.c) ---- */

/* Base: m, n, k, alpha, a, its view, b, its view, beta, c, its view. With epilogue.h also launch_args, batch_offsets,
 * bias, residual, partials. One more argument is the scratch memory of an emulated matrix engine, or the addend of
 * reduce.cu. With tma.h the two last arguments are the tensor maps of A and B instead. With quantized.h, three
 * more arguments follow the first 16: the scales and zero points of B, and rungi_simt_quantization_args. With scaled_mma.h
 * two more follow these: the scales of A, and rungi_simt_quantization_args for A. */
enum {
    RUNGI_SIMT_BASE_ARGUMENTS = 11,
    RUNGI_SIMT_EPILOGUE_ARGUMENTS = 16,
    RUNGI_SIMT_REDUCTION_ARGUMENTS = 17,
    RUNGI_SIMT_TENSOR_ARGUMENTS = 18,
    RUNGI_SIMT_QUANTIZED_ARGUMENTS = 19,
    RUNGI_SIMT_PAIR_ARGUMENTS = 21,
    RUNGI_SIMT_ARGUMENTS_MAX = 21
};

/* Returns the number of arguments of this kernel. */
int rungi_simt_argument_count(const rung_kernel *kernel);

/* Returns whether the kernel is compiled for different paths (includes tile.h). */
bool rungi_simt_has_paths(const rung_kernel *kernel);

/* Returns whether the kernel copies 16-byte chunks (includes swizzle.h). */
bool rungi_simt_copies_chunks(const rung_kernel *kernel);

/* Returns the RUNG_ABILITY_* flags of the kernel: those of epilogue.h if it includes that header, without batch offsets
 * if it has tensor maps. */
unsigned rungi_simt_abilities(const rung_kernel *kernel);

/* Returns whether the kernel uses a matrix engine (includes engine.h or wgmma.h). */
bool rungi_simt_needs_engine(const rung_kernel *kernel);

/* Returns whether the kernel multiplies by a B of another type than A (includes quantized.h). */
bool rungi_simt_has_narrow_b(const rung_kernel *kernel);

/* Returns whether the kernel multiplies two quantized matrices (includes scaled_mma.h). It includes quantized.h, too. */
bool rungi_simt_has_narrow_a(const rung_kernel *kernel);

/* Returns whether the kernel copies tiles with tensor maps (includes tma.h). */
bool rungi_simt_has_tensor_maps(const rung_kernel *kernel);

/* Scratch memory of each thread where the engine is emulated: ENGINE_WORDS of engine.h. */
enum { RUNGI_SIMT_SCRATCH_BYTES_PER_THREAD = 64 * 4 };

/* Returns the FP32 multiply-adds per clock and multiprocessor of an NVIDIA GPU, by compute capability. */
static inline int64_t rungi_simt_fma_per_clock(int64_t major, int64_t minor)
{
    bool halved = major == 7 || (major == 6 && minor == 0) || (major == 8 && minor == 0);
    return halved ? 64 : 128;
}

/* Maximum length of the name of a kernel function. */
enum { RUNGI_SIMT_ENTRY_NAME_MAX = 127 };

/* Copies the name of a file up to `capacity` - 1 characters, with characters that end a C string replaced by '_'. */
void rungi_simt_quote_file_name(const char *file, char *name, size_t capacity);

/* Returns the kernel's source with each #include replaced by the library's header. #line directives let the messages of
 * a compiler name the right file and line. The caller releases the text. */
rung_status rungi_simt_source_assemble(const rung_kernel *kernel, char **text);

/* Returns whether one launch of the kernel can compute several problems: it selects its path and its problem as kernels
 * 07 to 10, 12, 15 and 16 do. */
bool rungi_simt_can_group(const rung_kernel *kernel);

/* Returns the source of a kernel for groups: group.h before the kernel function, and group_begin.h at the start of its
 * body. The source is otherwise that of rungi_simt_source_assemble(). */
rung_status rungi_simt_group_source_assemble(const rung_kernel *kernel, char **text);

/* ---- Paths (simt_path.c) ---- */

/* Returns an equivalent problem in which C has the larger stride between rows. A column-major C becomes row-major with
 * exchanged operands: (A B)^T = B^T A^T. */
rung_problem rungi_simt_row_major(const rung_problem *problem);

/* Returns the equivalent problem that a kernel computes: the row-major one or, if the kernel is for few rows, the one whose C
 * has at most as many rows as columns. */
rung_problem rungi_simt_orient(const rung_kernel *kernel, const rung_problem *problem);

/* A B of another type than A, or a quantized A or B, as quantized.h and scaled_mma.h describe it. Blocks of 0 rows or columns have all of them. */
typedef struct rungi_simt_narrow {
    rung_type type; /* RUNG_TYPE_NONE: B has the type of A */
    rung_type scale_type, zero_type;
    int64_t block_rows, block_cols;
    bool has_units;
} rungi_simt_narrow;

/* The path of a kernel, which macros select when it is compiled (see tile.h). A kernel without paths has the general
 * path. */
typedef struct rungi_simt_path {
    rung_type in, out;
    bool has_compute; /* the next is the macro COMPUTE: not the kernel's info.compute */
    rung_compute compute;
    bool has_paths, wide, guarded, a_mn_major, b_mn_major;
    bool by_chunks, has_partial_chunks; /* `wide` means 16-byte chunks; some cross an edge, which selects other code */
    bool split, bias, residual, addend; /* see epilogue.h */
    rung_activation activation;
    bool has_runtime_flags;     /* the last five are passed at run time */
    bool is_group;              /* each block finds its problem in a table: see group.h */
    rungi_simt_narrow narrow_a; /* of a kernel with scaled_mma.h */
    rungi_simt_narrow narrow_b;
} rungi_simt_path;

/* Returns the source of a kernel for a path: one of the two functions above. (simt_source.c) */
rung_status rungi_simt_source_of_path(const rung_kernel *kernel, const rungi_simt_path *path, char **text);

/* Chooses the path of a problem that rungi_simt_orient() returned. `aligned` has flags of rungi_alignment. */
rung_status rungi_simt_path_choose(const rung_kernel *kernel, const rungi_parameter_values *values,
                                   const rung_problem *problem, unsigned aligned, rungi_simt_path *path);

/* Chooses the most general path that the problems of plan->group need together. `oriented` is the oriented problem of the
 * plan. */
rung_status rungi_simt_group_path_choose(const rung_plan *plan, const rung_problem *oriented, rungi_simt_path *path);

/* Returns whether the kernel can load vectors from the operands of such a problem: the `wide` of its path. */
bool rungi_simt_is_wide(const rung_kernel *kernel, const rung_problem *problem, unsigned aligned);

/* Writes the name of the path as people see it: "wide_guarded", "general_epilogue", or "-" for a kernel without paths.
 * Suffixes of the operand layout: along_l means that A and B are MN-major, along_k that both are K-major, turned that A
 * is MN-major and B is K-major. */
void rungi_simt_path_name(const rungi_simt_path *path, char *text, size_t capacity);

/* Capacity for any text of rungi_simt_defines: "-D" and a space per parameter, and the macros of a path. */
enum { RUNGI_SIMT_DEFINES_BYTES = RUNG_PARAMETERS_BYTES + 3 * RUNGI_PARAMETERS_MAX + 512 };

/* Writes all compiler options of the kernel: "-DTILE=32 -DUNROLL=4 -DWIDE=1 ...". */
void rungi_simt_defines(const rung_kernel *kernel, const rungi_parameter_values *values, const rungi_simt_path *path,
                        char text[RUNGI_SIMT_DEFINES_BYTES]);

/* alpha or beta as a kernel argument: the bytes of a sum_t. */
typedef union rungi_simt_scalar {
    float f32;
    double f64;
    uint32_t u32;
} rungi_simt_scalar;

rungi_simt_scalar rungi_simt_scalar_of(double value, rung_type type);

/* ---- Split-K (simt_plan.c) ---- */

/* The slices of k and the contents of the workspace: batch offsets, then partial sums, then the scratch memory of an
 * emulated engine. Offsets are in bytes. */
typedef struct rungi_simt_split {
    int64_t splits, k_per_slice;
    int64_t partials_offset, scratch_offset, workspace_bytes;
} rungi_simt_split;

/* Chooses the slices for the row-major problem of a plan. `blocks` is the number of blocks per item, `bk` their step
 * along k, and `covers_c` says that one launch covers C. */
rung_status rungi_simt_split_choose(const rung_plan *plan, const rung_problem *row_major, int64_t blocks, int64_t bk,
                                    bool covers_c, rungi_simt_split *split);

/* Returns whether scales or zero points of B have batch offsets. (simt_launch.c) */
bool rungi_simt_scales_have_batch_offsets(const rung_problem *problem);

/* ---- Launch shape (simt_plan.c) ---- */

/* The part of C that one launch covers. The number of blocks per grid is limited, so a very large C takes several
 * launches of rows x cols each; the last ones are smaller. */
typedef struct rungi_simt_shape {
    int64_t threads;    /* per block */
    int64_t bm, bn;     /* rows and columns of C per block */
    int64_t rows, cols; /* of C per launch */
    int64_t blocks;     /* of all launches, for one item */
} rungi_simt_shape;

/* CUDA's limit of blocks in y (items of a batch) and in z (slices of k). */
enum { RUNGI_SIMT_GRID_YZ_MAX = 65535 };

rung_status rungi_simt_shape_init(const rung_kernel *kernel, const rungi_parameter_values *values, int64_t m, int64_t n,
                                  int64_t blocks_max, rungi_simt_shape *shape);

/* ---- Tensor maps (simt_tensor.c) ---- */

/* Bytes of the contiguous dimension in a box: TENSOR_ROW_BYTES of tma.h. */
enum { RUNGI_SIMT_TENSOR_ROW_BYTES = 128, RUNGI_SIMT_TENSOR_RANK = 3 };

/* An operand as a tensor map describes it. Dimensions: the contiguous one, the other one, items of the batch. */
typedef struct rungi_simt_tensor {
    uintptr_t handle; /* of the buffer */
    int64_t offset;   /* of the first element, in bytes */
    int64_t element_bytes;
    uint64_t sizes[RUNGI_SIMT_TENSOR_RANK], strides[RUNGI_SIMT_TENSOR_RANK - 1]; /* strides: bytes */
    uint32_t box[RUNGI_SIMT_TENSOR_RANK];
} rungi_simt_tensor;

/* CUtensorMap of the CUDA driver. */
typedef struct rungi_simt_tensor_map {
    _Alignas(64) unsigned char bytes[128];
} rungi_simt_tensor_map;

/* Checks that tensor maps can describe the operands of a row-major problem on a path. */
rung_status rungi_simt_tensor_check(const rung_kernel *kernel, const rung_problem *row_major,
                                    const rungi_simt_path *path);

/* Describes mn x k elements of each of `items` items of an operand, for tiles of tile_mn x BK. The strides of `view` are
 * those of (mn, k): B is transposed. */
rungi_simt_tensor rungi_simt_tensor_of(uintptr_t handle, rung_type type, const rungi_simt_view *view, int64_t mn,
                                       int64_t k, int64_t items, int64_t tile_mn, bool mn_major);

/* ---- Ranking (simt_rank.c) ---- */

/* Ranks kernels and presets for an NVIDIA GPU by their predicted time: the function rank_presets of a device. */
int rungi_simt_rank_presets(const rung_plan *plan, rungi_ranked_preset ranked[RUNGI_RANKED_PRESETS_MAX]);

/* ---- Groups (simt_group.c) ---- */

/* Counts the blocks of all problems of plan->group, and the bytes of their table. Fails if the counts are too large for
 * one table. */
rung_status rungi_simt_group_count(const rung_plan *plan, const rungi_simt_shape *shape, int64_t *blocks,
                                   int64_t *table_bytes);

/* ---- Plans (simt_plan.c) ---- */

/* The part of a plan that OpenCL and CUDA share. */
typedef struct rungi_simt_plan {
    rungi_simt_path path;
    rungi_simt_shape shape, reduce_shape; /* the second for split-K */
    rungi_simt_split split;
    int64_t blocks_max;   /* per launch */
    int arguments;        /* of the kernel */
    int64_t shared_bytes; /* SHARED_BYTES of the kernel file, or 0 */
} rungi_simt_plan;

/* Fills `simt` and plan->info, or returns why the device does not support the plan. */
rung_status rungi_simt_plan_init(rung_plan *plan, int64_t blocks_max, rungi_simt_plan *simt);

/* Changes the plan so that the kernel stores its sums in the workspace and reduce.cu applies the epilogue. For devices
 * that have no kernel with the epilogue compiled in. */
rung_status rungi_simt_plan_separate_epilogue(rung_plan *plan, rungi_simt_plan *simt);

/* Creates the kernel that adds the slices of k, and its parameters and path. Fills simt->reduce_shape. The caller
 * destroys the kernel. */
rung_status rungi_simt_reduction_init(const rung_plan *plan, int64_t blocks_max, rungi_simt_plan *simt,
                                      rung_kernel **kernel, rungi_parameter_values *values, rungi_simt_path *path);

/* Checks what is known only after compiling: the threads per block for which the registers suffice, and the shared
 * memory. */
rung_status rungi_simt_check_compiled(const rung_device *device, const rung_kernel *kernel, int64_t threads,
                                      int64_t threads_max, int64_t shared_bytes);
