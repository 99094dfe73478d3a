/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h - matrix multiplication on the CPU, on OpenCL devices and on NVIDIA GPUs.
 *
 * This header is the manual. Include it as <rung/rung.h> and link with -lrung. The interface has
 * two levels.
 *
 * One call multiplies matrices in memory:
 *
 *     rung_matrix a = rung_matrix_of(RUNG_F32, m, k, a_data);
 *     rung_matrix b = rung_matrix_of(RUNG_F32, k, n, b_data);
 *     rung_matrix c = rung_matrix_of(RUNG_F32, m, n, c_data);
 *     if (rung_gemm(NULL, 1.0, a, b, 0.0, c) != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *
 * Use plans for device memory, packed weights and repeated work: open a device, create a plan for
 * a problem, run the plan on a queue. See "Plans".
 *
 * Contents
 *     Version and export          Queues, events and buffers
 *     Status and errors           Native objects
 *     Element types               Kernels
 *     Matrices                    Plans
 *     Problems                    Packed operands
 *     One call                    Candidates
 *     Context                     Tuning
 *     Devices                     Environment variables
 *
 * These rules apply to every function:
 *
 * Compatibility
 *           A program compiled against one version of this header runs with every later version of
 *           the library that has the same major number (from 0.2 on).
 *           - rung_matrix is a plain value. Its fields never change.
 *           - Other structs that the caller fills begin with `size`. Create them with their
 *             ..._of() or ..._default() function, which sets `size`; then set fields. Later
 *             versions append fields, and 0 in a new field means the old behaviour. If a field that
 *             the library does not know is not 0, the call fails with RUNG_STATUS_UNSUPPORTED. If
 *             `size` is 0, the call fails with RUNG_STATUS_INVALID.
 *           - Structs that the library returns by pointer belong to the library. Later versions
 *             append fields, so such a struct may be larger than its sizeof in your program. Do not
 *             step from one struct to the next by pointer arithmetic; call the accessor function
 *             for each. Their strings are never NULL.
 *           - Later versions add enumerators. Treat an unknown value as "something else".
 * Errors    A function that can fail returns a rung_status. Output parameters come last. If a
 *           function that creates an object fails, it sets its output parameter to NULL. A
 *           multiplication that fails with RUNG_STATUS_INVALID, _ALIASED, _TOO_LARGE or
 *           _UNSUPPORTED has not touched its output; after other failures the output is undefined.
 *           If a call that puts work on a queue fails, or rung_queue_finish() reports a failure,
 *           call rung_queue_finish() before you free memory that the queue's work uses.
 * Arguments The library reads structs and arrays only during the call, except batch_offsets.
 * Threads   Any number of threads may use a context, a device, a kernel or a plan at the same
 *           time. One thread at a time may use a queue or an event. Many threads may read a
 *           buffer, or one may write it.
 * Lifetime  Every destroy function, and rung_device_close(), accepts NULL. Objects may be destroyed
 *           in any order, even while work is in flight: each object keeps alive the objects that it
 *           needs. Destroying a queue or an event waits for its work. A kernel returned by
 *           rung_kernel_at() or rung_kernel_find() lives until the context and all devices opened
 *           in the context are destroyed.
 * Memory    rung_plan_run() allocates no memory, with three exceptions: a run that is logged; the
 *           first run on the CPU after a fork, which starts threads again; and a run on the CPU
 *           while the concurrent runs of the context together use more threads than any single
 *           plan of the context has.
 * Output    The library never exits or aborts. It prints only if RUNG_VERBOSE or
 *           rung_context_options.verbose requests a log. It caches compiled GPU kernels in
 *           $XDG_CACHE_HOME/rung, else ~/.cache/rung, at most 1 GiB. (Debug and
 *           sanitizer builds check internal invariants; a failed check prints and aborts.)
 * Fork      A process may fork at any time. The child can use the CPU and every CPU object
 *           created before. Other devices follow the rules of their drivers.
 * Cancel    pthread_cancel() does not interrupt a call: the call completes first. Call no
 *           function while asynchronous cancellation is enabled.
 * Signals   On processors with AMX, the first plan that uses AMX asks the operating system for
 *           permission to use it. From then on, an alternate signal stack (sigaltstack) of any
 *           thread must have at least 16 KiB, because signal frames then include the AMX registers.
 *           If the process has a smaller alternate signal stack, the request fails, and rung
 *           multiplies without AMX. With RUNG_CPU_ISA=dot, rung never requests AMX.
 */
#ifndef RUNG_H
#define RUNG_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version and export ------------------------------------------------------- */

#define RUNG_VERSION_MAJOR 0
#define RUNG_VERSION_MINOR 2
#define RUNG_VERSION_PATCH 0

/* Version of this header as one number: 0.2.0 is 200, 1.12.3 is 11203. */
#define RUNG_VERSION (RUNG_VERSION_MAJOR * 10000 + RUNG_VERSION_MINOR * 100 + RUNG_VERSION_PATCH)

/* On Windows, define RUNG_STATIC to link the static library. RUNG_BUILD is defined only while
 * the library itself is compiled. */
#if defined(_WIN32) && defined(RUNG_STATIC)
#define RUNG_API
#elif defined(_WIN32) && defined(RUNG_BUILD)
#define RUNG_API __declspec(dllexport)
#elif defined(_WIN32)
#define RUNG_API __declspec(dllimport)
#elif defined(__GNUC__)
#define RUNG_API __attribute__((visibility("default")))
#else
#define RUNG_API
#endif

/* Lets compilers check printf formats. */
#if defined(__GNUC__)
#define RUNG_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define RUNG_PRINTF(format, first)
#endif

/* Tells GCC that creating a view does not read the memory it points to. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define RUNG_READS_NOTHING(argument) __attribute__((access(none, argument)))
#else
#define RUNG_READS_NOTHING(argument)
#endif

/* Return the version of the library that runs, which may be newer than this header: a number
 * like RUNG_VERSION, and text like "0.2.0". */
RUNG_API int         rung_version(void);
RUNG_API const char *rung_version_text(void);

/* ---- Status and errors --------------------------------------------------------- */

/* Result of every function that can fail. Values are stable across versions. */
typedef enum rung_status {
    RUNG_OK                    = 0,
    RUNG_STATUS_INVALID        = -1,  /* an argument is out of range */
    RUNG_STATUS_ALIASED        = -2,  /* the output overlaps itself or an input */
    RUNG_STATUS_TOO_LARGE      = -3,  /* a size or a stride overflows, or a text or a file exceeds its maximum size */
    RUNG_STATUS_NO_MEMORY      = -4,  /* out of memory */
    RUNG_STATUS_NO_DEVICE      = -5,  /* no such device, or its driver is not installed */
    RUNG_STATUS_UNSUPPORTED    = -6,  /* no kernel on this device supports the problem */
    RUNG_STATUS_COMPILE_FAILED = -7,  /* a kernel did not compile */
    RUNG_STATUS_DEVICE_LOST    = -8,  /* the device failed and must be opened again */
    RUNG_STATUS_NOT_FOUND      = -9,  /* no kernel, parameter or file has that name */
    RUNG_STATUS_IO             = -10, /* a file could not be read or written */
    RUNG_STATUS_CANCELLED      = -11, /* a callback stopped the call; a stopped rung_tune() returns RUNG_OK */
    RUNG_STATUS_CORRUPTED      = -12  /* a checked product is wrong and could not be corrected */
} rung_status;

/* Return the enumerator's name (for example "RUNG_STATUS_ALIASED") and a short description. Both
 * accept any number. */
RUNG_API const char *rung_status_name(rung_status status);
RUNG_API const char *rung_status_text(rung_status status);

/* Returns a description of this thread's most recent error: what was wrong, with values, and
 * what to do. A compiler's log follows if there is one. Returns "" before the first error, never
 * NULL. The text is valid until the next failing call on this thread. Do not parse the text; test
 * the status. */
RUNG_API const char *rung_error_text(void);

/* For libraries built on rung: stores a description for this thread's rung_error_text(),
 * formatted like printf, and returns `status`. The arguments may include the text that
 * rung_error_text() returned. */
RUNG_API rung_status rung_error_set(rung_status status, const char *format, ...) RUNG_PRINTF(2, 3);

/* ---- Element types -------------------------------------------------------------- */

/* Values are stable across versions and consecutive from 1. */
typedef enum rung_type {
    RUNG_TYPE_NONE = 0, /* no type: the view is absent */
    RUNG_F32       = 1,
    RUNG_F64       = 2,
    RUNG_F16       = 3,
    RUNG_BF16      = 4,
    RUNG_I8        = 5,
    RUNG_I32       = 6,

    /* F8E4M3 and F8E5M2 are multiplied by the same type on NVIDIA GPUs: by 12_matrix from sm_89 on, and
     * by 13_wgmma on sm_90. The emulated 12_matrix multiplies them, too. 15_quantized and 16_quantized_matrix multiply A by
     * a B of another type (see rung_accumulator_type()). The CPU and 17_block_scaled multiply quantized by quantized matrices. E8M0 is
     * a type of scales only. A problem for which the device has no kernel fails with RUNG_STATUS_UNSUPPORTED. */
    RUNG_U8        = 7,
    RUNG_I4        = 8, /* 2 elements per byte, the first in the low half */
    RUNG_U4        = 9,
    RUNG_F8E4M3    = 10, /* no infinities, as in OCP's E4M3 */
    RUNG_F8E5M2    = 11,
    RUNG_F4E2M1    = 12, /* MXFP4 and NVFP4 elements, packed like I4 */
    RUNG_E8M0      = 13, /* powers of two: the scales of MXFP4 */
    RUNG_Q8_0      = 14, /* GGML blocks: an F16 scale, then 32 x 8 bits */
    RUNG_Q4_0      = 15  /* GGML blocks: an F16 scale, then 32 x 4 bits */
} rung_type;

/* Elements are stored in blocks: of 1 element for most types, of 2 for 4-bit types, of 32 for
 * GGML's. These functions return the number of elements and the number of bytes per block; 0 for
 * unknown types. */
RUNG_API int64_t rung_type_block_elements(rung_type type);
RUNG_API int64_t rung_type_block_bytes(rung_type type);

/* Returns the number of bytes per element; 0 for types with several elements per block. */
RUNG_API int64_t rung_type_size(rung_type type);

/* Returns "f32" and the like; "none" for RUNG_TYPE_NONE; "?" for other values, so that a loop
 * from 1 to the first "?" visits every type. */
RUNG_API const char *rung_type_name(rung_type type);

/* Returns the type in which this version accumulates A * B into C; RUNG_TYPE_NONE if no kernel of
 * this version multiplies these types. alpha and beta are rounded to this type; for I32 they must
 * be whole numbers from -2^31 to 2^31 - 1. Only the final result, after the epilogue, is rounded to
 * C's type; if C is F16 or BF16, it is rounded to F32 first. Integers are exact modulo 2^32.
 *
 *     A and B   C                accumulator
 *     F32       F32, F16, BF16   F32
 *     F64       F64, F32         F64
 *     F16       F16, F32         F32
 *     BF16      BF16, F32        F32
 *     I8        I32              I32
 *     I32       I32              I32
 *     F8E4M3    F32, BF16        F32
 *     F8E5M2    F32, BF16        F32
 *
 * A may be F32, F16 or BF16, and C of the type of A or F32, if B is Q8_0, Q4_0, I8, U8, I4, U4, F8E4M3, F8E5M2
 * or F4E2M1; F32 is also multiplied by F16 and BF16 into F32. The accumulator is F32. Blocks of Q8_0 and Q4_0
 * lie along k (row_stride 1): B is a transposed n x k matrix, as GGUF files store weights.
 *
 * A and B may both be I8, U8, I4, U4, F8E4M3, F8E5M2 or F4E2M1, equal or not, with a C of F32 or BF16. The
 * accumulator is F32. */
RUNG_API rung_type rung_accumulator_type(rung_type a, rung_type b, rung_type c);

/* Convert 16-bit types, for compilers that lack them. Conversion from F32 rounds to nearest,
 * ties to even; values beyond the largest become infinite. A NaN stays a NaN and becomes
 * quiet; its sign and the upper bits of its payload are preserved. */
RUNG_API float    rung_f16_to_f32(uint16_t bits);
RUNG_API uint16_t rung_f16_from_f32(float value);
RUNG_API float    rung_bf16_to_f32(uint16_t bits);
RUNG_API uint16_t rung_bf16_from_f32(float value);

/* Convert 8-bit types. Conversion from F32 rounds to nearest, ties to even. Values beyond the
 * largest (448 for F8E4M3, 57344 for F8E5M2) and infinities become the largest. A NaN stays a NaN
 * with its sign. */
RUNG_API float   rung_f8e4m3_to_f32(uint8_t bits);
RUNG_API uint8_t rung_f8e4m3_from_f32(float value);
RUNG_API float   rung_f8e5m2_to_f32(uint8_t bits);
RUNG_API uint8_t rung_f8e5m2_from_f32(float value);

/* Convert 4-bit elements, in the lower half of the byte, and the powers of two that are the scales of
 * MX formats. F4E2M1 rounds to nearest, ties to even; values beyond 6 become 6 with their sign, and
 * a NaN becomes 6. E8M0 rounds down to a power of two, from 2^-127 to 2^127; a negative number
 * becomes a NaN. */
RUNG_API float   rung_f4e2m1_to_f32(uint8_t bits);
RUNG_API uint8_t rung_f4e2m1_from_f32(float value);
RUNG_API float   rung_e8m0_to_f32(uint8_t bits);
RUNG_API uint8_t rung_e8m0_from_f32(float value);

/* ---- Matrices ------------------------------------------------------------------- */

typedef struct rung_context rung_context;
typedef struct rung_device  rung_device;
typedef struct rung_queue   rung_queue;
typedef struct rung_event   rung_event;
typedef struct rung_buffer  rung_buffer;
typedef struct rung_kernel  rung_kernel;
typedef struct rung_plan    rung_plan;

/* A view of a matrix, or of a batch: several matrices (items) with the same shape. Element (i, j)
 * of item b is element number
 *
 *     offset + i * row_stride + j * col_stride + b * batch_stride
 *
 * counted from `data` (memory of this process) or from the start of `buffer` (device
 * memory); the other one is NULL. All counts are in elements. Strides are not negative. A stride of
 * 0 repeats a row, a column or an item. Inputs may repeat elements; outputs may not. If
 * `batch_offsets` is not NULL, it points to rung_problem.batch offsets, and batch_offsets[b]
 * replaces b * batch_stride. The offsets must not be negative; those of an output must ascend. Keep
 * the array unchanged until the work is done. `data` must be aligned to the size of an element.
 * Memory between the elements of an output is never written; memory after the last element need not
 * exist.
 *
 * A view owns nothing. Transposes, storage orders and blocks are views; nothing is copied to create
 * one. A zero-initialized view, {0}, means that the operand is absent. This is the default of every
 * optional operand.
 *
 * rung_matrix_of(), _ld() and _in_buffer() return views of one item: batch_stride is 0 and
 * batch_offsets is NULL. rung_matrix_transpose(), _block() and _broadcast() keep both. None of
 * them fails. A view with impossible sizes is invalid, stays invalid through further functions,
 * and is rejected with RUNG_STATUS_INVALID by every call that uses it. */
typedef struct rung_matrix {
    rung_type      type;
    int64_t        rows, cols;
    int64_t        row_stride, col_stride;
    void          *data;
    rung_buffer   *buffer;
    int64_t        offset;
    int64_t        batch_stride;
    const int64_t *batch_offsets;
} rung_matrix;

typedef enum rung_order {
    RUNG_ORDER_ROW_MAJOR = 0, /* C: the elements of a row are adjacent */
    RUNG_ORDER_COL_MAJOR = 1  /* Fortran and BLAS: the elements of a column are adjacent */
} rung_order;

/* Returns a dense row-major view. `data` is const so that inputs can be const; the memory of an
 * output must still be writable. */
RUNG_API rung_matrix rung_matrix_of(rung_type type, int64_t rows, int64_t cols, const void *data) RUNG_READS_NOTHING(4);

/* Returns a view with a leading dimension, as BLAS describes a matrix: `ld` elements from one
 * row to the next (row-major, ld >= cols) or from one column to the next (column-major,
 * ld >= rows). A smaller `ld` gives an invalid view. For a transposed argument, describe the
 * matrix as it is in memory and transpose the view:
 *
 *     rung_matrix a = rung_matrix_ld(RUNG_F64, m, k, lda, RUNG_ORDER_COL_MAJOR, a_data);
 *     rung_matrix b = rung_matrix_ld(RUNG_F64, n, k, ldb, RUNG_ORDER_COL_MAJOR, b_data);
 *     rung_gemm(NULL, 1.0, a, rung_matrix_transpose(b), 0.0, c);               (C = A * B^T) */
RUNG_API rung_matrix rung_matrix_ld(rung_type type, int64_t rows, int64_t cols, int64_t ld, rung_order order,
                                    const void *data) RUNG_READS_NOTHING(6);

/* Returns a dense row-major view of device memory that begins `offset` elements into the
 * buffer. For other strides, set the fields of the result. */
RUNG_API rung_matrix rung_matrix_in_buffer(rung_type type, int64_t rows, int64_t cols, rung_buffer *buffer,
                                           int64_t offset);

/* Returns the transposed view: the same elements with rows and columns exchanged. */
RUNG_API rung_matrix rung_matrix_transpose(rung_matrix matrix);

/* Returns a view of the rows x cols block whose first element is (row, col). A block that
 * exceeds the matrix gives an invalid view. */
RUNG_API rung_matrix rung_matrix_block(rung_matrix matrix, int64_t row, int64_t col, int64_t rows, int64_t cols);

/* Returns a rows x cols view that repeats a single row, a single column or a single element. Each
 * size of the matrix must be 1 or the requested size; otherwise the view is invalid. A bias with
 * one number per column is a 1 x n matrix broadcast to m x n:
 *
 *     problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, n, bias_data), m, n); */
RUNG_API rung_matrix rung_matrix_broadcast(rung_matrix matrix, int64_t rows, int64_t cols);

/* ---- Problems ------------------------------------------------------------------- */

/* Precision of the multiplication, from most to least precise. A problem runs in the mode that it
 * requests or in a more precise one. The table lists, for each mode, how the inputs are used and a
 * bound on the absolute error of each element of A * B. u is the unit roundoff of the accumulator,
 * |A||B| is the product of the absolute values, and gamma(n) = n u / (1 - n u). Rounding of alpha,
 * beta and the result adds to these bounds.
 *
 *     mode     inputs                                  error bound
 *     strict   as they are                             gamma(k) |A||B|
 *     bf16x3   F32 split into three BF16 values each,
 *              the six largest of nine products        (1.02 gamma(6 k) + 2^-24) |A||B|
 *     tf32x3   F32 split into two TF32 values each,
 *              the three largest of four products      (1.02 gamma(3 k) + 2^-21) |A||B|
 *     tf32     F32 rounded to 11 significant bits      (1.02 gamma(k) + 2^-10 + 2^-22) |A||B|
 *     bf16x1   F32 rounded to 8 significant bits       (1.02 gamma(k) + 2^-7 + 2^-16) |A||B|
 *     q8       A rounded to blocks of 8-bit integers   (1.02 gamma(k) + 2^-7 + 2^-16) |A|max |B|
 *
 * If A and B have the same type and no scales, the modes affect F32 only. If B has another type than A, or if both are
 * quantized, the modes affect every type of A, and quantized elements are first converted to F32 as by
 * rung_dequantize(). In q8
 * with a B of Q8_0 or Q4_0, each row of A is divided into blocks of 32 elements. The elements of a block
 * share a scale, with which the largest magnitude becomes 127. In |A|max, each element is replaced by the
 * largest magnitude of its block. In all modes but strict, inputs below 2^-126 may count as 0, and
 * inputs that round past the largest number become infinite. In bf16x3 and tf32x3, parts of an input
 * below 2^-126 may count as 0, and an infinite input may give NaN. (The CPU uses FMA for the blocks
 * of C that such inputs contribute to, and has none of these exceptions.) The tensor cores of a GPU
 * add several products at a time and truncate: for 16-bit inputs and for the modes of F32, replace
 * gamma(n) in the bounds by gamma(3 n). The processor's own BF16 instructions (AMX, AVX512_BF16 and
 * BFMMLA of AArch64) may treat inputs and sums below 2^-126 as 0, even in strict mode. BFMMLA rounds
 * sums to odd: if k is odd, replace gamma(k) by gamma(k + 1). */
typedef enum rung_compute {
    RUNG_COMPUTE_STRICT = 0,
    RUNG_COMPUTE_BF16X3 = 1,
    RUNG_COMPUTE_TF32   = 2,
    RUNG_COMPUTE_BF16X1 = 3,
    RUNG_COMPUTE_TF32X3 = 4,
    RUNG_COMPUTE_Q8     = 5
} rung_compute;

/* Function applied to each element of the result. GELU and SiLU need a floating-point result.
 * GELU_TANH and SILU of minus infinity are 0, their limit; GELU of minus infinity is NaN. */
typedef enum rung_activation {
    RUNG_ACTIVATION_NONE      = 0,
    RUNG_ACTIVATION_RELU      = 1, /* max(v, 0); NaN stays NaN */
    RUNG_ACTIVATION_GELU      = 2, /* v/2 (1 + erf(v / sqrt 2)) */
    RUNG_ACTIVATION_GELU_TANH = 3, /* v/2 (1 + tanh(sqrt(2/pi) (v + 0.044715 v^3))) */
    RUNG_ACTIVATION_SILU      = 4  /* v / (1 + exp(-v)) */
} rung_activation;

/* Return "tf32", "gelu_tanh" and the like; "?" for unknown values. */
RUNG_API const char *rung_compute_name(rung_compute compute);
RUNG_API const char *rung_activation_name(rung_activation activation);

/* How the stored elements of an operand are dequantized:
 *
 *     value = scale * (element - zero point)
 *
 * One scale and one zero point apply to a block of block_rows x block_cols elements. If block_rows
 * is 0, a block has all rows; if block_cols is 0, all columns. Element (i, j) uses element
 * (i / block_rows, j / block_cols) of `scales` and `zero_points`. An absent `scales` means 1,
 * absent `zero_points` mean 0.
 *
 *     per tensor       block 0 x 0               scales 1 x 1
 *     per column of B  block 0 x 1               scales 1 x n
 *     MXFP4 B          block 32 x 1, F4E2M1      scales k/32 x n of E8M0
 *     NVFP4 B          block 16 x 1, F4E2M1      scales k/16 x n of F8E4M3, global scale in alpha
 *     Q8_0, Q4_0       the type holds its scales; no rung_quantization is needed
 *
 *     per row of A     block 1 x 0               scales m x 1
 *     MXFP8 A          block 1 x 32, F8E4M3      scales m x k/32 of E8M0
 *
 * In a problem, B may have a rung_quantization if A is F32, F16 or BF16, or if A is quantized, too. A may have one if
 * B is I8, U8, I4, U4, F8E4M3, F8E5M2 or F4E2M1. In a batch, batch_stride and batch_offsets of the views give the scales of
 * each item. */
typedef struct rung_quantization {
    size_t      size; /* set by rung_quantization_default() */
    rung_matrix scales;
    rung_matrix zero_points;
    int64_t     block_rows, block_cols;
} rung_quantization;

static inline rung_quantization rung_quantization_default(void)
{
    rung_quantization quantization;
    memset(&quantization, 0, sizeof quantization);
    quantization.size = sizeof quantization;
    return quantization;
}

/* Convert a matrix in host memory to a narrow type, and back. The floating-point matrix has type F32,
 * F64, F16 or BF16; its elements are rounded to F32 first. The quantized matrix has the same size.
 *
 *     Q8_0, Q4_0                  `quantization` is NULL. Blocks of 32 elements lie along the stride
 *                                 that is 1; the bytes are those of GGML
 *     I8, I4, F8E4M3, F8E5M2      scale = largest magnitude / largest number of the type
 *     U8, U4 with zero points     scale = range / largest number; 0 stays exact
 *     F4E2M1, F8 with E8M0        MXFP4 and MXFP8, as the OCP specification computes scales
 *     F4E2M1 with F8E4M3          NVFP4 without its global scale
 *
 * rung_quantize() chooses and writes the scales and zero points that are present in `quantization`
 * (absent scales: 1) and rounds elements to nearest. It fails with RUNG_STATUS_INVALID if a value is
 * not finite, or if the values of a block are so large that their scale, or its product with an element,
 * is not finite: F16 scales are at most 65504. It fails with RUNG_STATUS_UNSUPPORTED if the type of the
 * zero points lacks a whole number from 0 to the largest number of the elements. Nothing is written if a
 * call fails. */
RUNG_API rung_status rung_quantize(rung_matrix from, rung_matrix to, const rung_quantization *quantization);
RUNG_API rung_status rung_dequantize(rung_matrix from, const rung_quantization *quantization, rung_matrix to);

/* D = activation(alpha * A * B + beta * C + bias) * multiplier + residual
 *
 * A is m x k, B is k x n; C, D, bias, multiplier and residual are m x n. The multiplication by the
 * multiplier is element by element. Sizes may be 0. If alpha is 0, A and B are not read, but they
 * must be valid views. If beta is 0, C is not read: a NaN in C has no effect. If beta is 0 and D is
 * present, C is ignored and may be absent. The bias, the activation, the multiplier and the residual
 * are called the epilogue.
 *
 * Create a problem with rung_problem_of() and set the fields that you need. Most callers store the
 * result in C and leave D absent:
 *
 *     rung_problem problem = rung_problem_of(a, b, c);
 *     problem.activation = RUNG_ACTIVATION_SILU;
 *     rung_status status = rung_multiply(NULL, &problem, NULL);
 *
 * With problem.multiplier = up, where an earlier multiplication has computed `up`, the same problem
 * stores silu(A * B) * up, which is the SwiGLU layer of a language model.
 *
 * A batch consists of `batch` multiplications (items) of the same form that run as one unit of
 * work; see rung_matrix for the addresses of the items. If the batch_stride of an input is 0 and
 * the input has no batch_offsets, all items use the same matrix. This example has six dense A and
 * six dense C, but only one B:
 *
 *     problem.batch = 6;
 *     problem.a.batch_stride = m * k;
 *     problem.c.batch_stride = m * n; */
typedef struct rung_problem {
    size_t                   size;       /* set by rung_problem_of() */
    double                   alpha;      /* default 1 */
    double                   beta;       /* default 0 */
    rung_matrix              a, b;       /* rung_accumulator_type() lists their types */
    rung_matrix              c;          /* read if beta is not 0; written if D is absent */
    rung_matrix              d;          /* if absent, the result is stored in C. D and C must have the same type in
                                          * this version and must not overlap, unless they are the same view */
    int64_t                  batch;      /* number of items; default 1; 0 also means one item */
    rung_compute             compute;    /* default RUNG_COMPUTE_STRICT */
    rung_activation          activation; /* default RUNG_ACTIVATION_NONE */
    rung_matrix              bias;       /* may be absent; has the result's type; usually broadcast; no batch_offsets */
    rung_matrix              residual;   /* may be absent; has the result's type; no batch_offsets */
    const rung_quantization *a_quantization, *b_quantization; /* default NULL: no scales and no zero points */
    const rung_quantization *d_quantization;                  /* NULL in this version */
    rung_matrix              multiplier; /* may be absent; has the result's type; no batch_offsets; CPU only in this
                                          * version: other devices fail with RUNG_STATUS_UNSUPPORTED */
} rung_problem;

/* Returns the problem C = A * B, with the defaults that are listed in rung_problem. */
static inline rung_problem rung_problem_of(rung_matrix a, rung_matrix b, rung_matrix c)
{
    rung_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.size  = sizeof problem;
    problem.alpha = 1.0;
    problem.a     = a;
    problem.b     = b;
    problem.c     = c;
    problem.batch = 1;
    return problem;
}

/* Checks a problem without running it: shapes match, no size overflows, every view lies inside
 * its buffer, and the output overlaps neither itself nor an input. Every call that computes
 * makes the same checks. Two views with the same strides, such as blocks of one matrix, are
 * compared exactly; other views count as overlapping if their address ranges overlap. For a batched
 * output with equally spaced items, the check takes the row, column and batch strides in ascending
 * order: each stride must be at least the number of elements that the dimensions with smaller
 * strides span. Items at irregular batch_offsets are compared one by one; an item whose address
 * range overlaps those of more than 64 others counts as overlapping.
 *
 * rung_problem_check() fails with RUNG_STATUS_UNSUPPORTED if no kernel of this version supports the
 * types or the quantization of the problem. rung_plan_create() decides whether a device has a
 * kernel for the problem. */
RUNG_API rung_status rung_problem_check(const rung_problem *problem);

/* ---- One call ------------------------------------------------------------------- */

/* Computes C = alpha * A * B + beta * C for matrices in memory and returns when C is complete.
 * Runs on the context's device (rung_context_options.device). If that device has its own
 * memory, operands are copied to it and C is copied back; large operands are split into
 * panels so that copies overlap with computation (see RUNG_OVERLAP). The kernels for the panels may
 * differ from the kernel for the whole problem; the error bounds are the same.
 *
 * If `context` is NULL, the call uses the default context, whose device is $RUNG_DEVICE, else the
 * CPU. The default context is created on first use and lives as long as the process. Plans of
 * recent calls are cached. */
RUNG_API rung_status rung_gemm(rung_context *context, double alpha, rung_matrix a, rung_matrix b, double beta,
                               rung_matrix c);

typedef struct rung_multiply_options {
    size_t       size;      /* set by rung_multiply_options_default() */
    int64_t      threads;   /* CPU: maximum number of threads, including the calling thread, 1 to 8192; 0 selects
                      * the context's number. Other devices ignore this field */
    int64_t      checked;   /* 1: check the product and correct it; default 0. See below */
    int64_t     *corrected; /* with `checked`: receives the number of elements that were corrected; may be NULL */
    rung_device *device;    /* a device of the same context; NULL: the context's device. The library keeps plans and
                          * memory between calls only for the context's device */
} rung_multiply_options;

static inline rung_multiply_options rung_multiply_options_default(void)
{
    rung_multiply_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Computes any rung_problem in the same way as rung_gemm(). `options` may be NULL. The number of
 * threads does not change the bits of the result; see rung_context_create(). */
RUNG_API rung_status rung_multiply(rung_context *context, const rung_problem *problem,
                                   const rung_multiply_options *options);

/* Faulty memory, or a faulty processor, can make single elements of a result wrong without a sign. With
 * rung_multiply_options.checked, the library finds such errors in the product A * B, on every device:
 *
 *     rung_multiply_options options = rung_multiply_options_default();
 *     int64_t corrected;
 *     options.checked = 1;
 *     options.corrected = &corrected;
 *     rung_status status = rung_multiply(NULL, &problem, &options);
 *
 * Before the multiplication, the host computes weighted sums of A and B, and from them the sum of every row and every column
 * of the product, in tiles. A row or column of a tile whose sum differs by more than half the mean error bound of its
 * elements (see rung_compute) is computed again, and elements whose error exceeds their bound are corrected. So a correct
 * result is never changed, and single errors of more than the bound are found. Where a sum could hide such an error, all
 * elements of the row or column are computed again: for k below 32, and for matrices in which a few elements are much larger
 * than the others. This takes several times as long as the multiplication. Errors in integers are always found if a row or a
 * column has only one. If the sum of a corrected row or column is still wrong, because A or B changed during the call or
 * because memory is faulty, the call fails with RUNG_STATUS_CORRUPTED.
 *
 * These are not checked: rows of A and columns of B with an infinity or a NaN, elements that may overflow, the epilogue and
 * beta * C, and the result after the call. If beta is not 0, if there is an epilogue, or if C is narrower than the
 * accumulator, the product is computed in temporary memory of the accumulator's type and the host computes the rest.
 * Inputs other than F32, F64, BF16, I8 and I32 are also copied in F32. Every k x n product of m rows needs O(mk + kn + mn)
 * additional operations, and more if elements are computed again. The results have the same error bounds as without checks,
 * but may have other bits.
 *
 * Runs of plans on the CPU can be checked, too (rung_run_options.checked). The host needs A and B, so a run with `checked`
 * fails with RUNG_STATUS_UNSUPPORTED on a device with its own memory, and with a packed B. */

/* A group: an array of problems with different sizes that run as one unit of work, for example the
 * experts of a mixture-of-experts layer. All problems of a group have the same types, the same
 * compute mode and activation, and either all or none of them have a bias, and likewise a multiplier
 * and a residual. m, n, k, strides, alpha and beta may differ. m, n and k may be 0; a problem with an
 * m or n of 0 stores nothing and needs no bias. A group of such problems alone does nothing, also if
 * no kernel has its types. Batches are not supported: list each item as a problem.
 *
 *     rung_problem problems[64];
 *     for (int i = 0; i < 64; i++)
 *         problems[i] = rung_problem_of(a[i], b[i], c[i]);
 *     rung_group group = rung_group_of(problems, 64);
 *     rung_status status = rung_group_multiply(NULL, &group, NULL);
 *
 * Every problem must have been created by the same version of rung_problem_of(), that is, with the
 * same `size`.
 *
 * Experts whose weights are packed once need less time. With packed_b, all buffers belong to one CPU
 * device of the context, and the data of problem.b are not used. packed_b[i] may be NULL if problem i
 * does not read B: if alpha, m, n or k is 0. Several problems may share a buffer. No output may overlap a buffer. */
typedef struct rung_group {
    size_t              size;     /* set by rung_group_of() */
    const rung_problem *problems; /* may be NULL if count is 0 */
    int64_t             count;
    rung_buffer *const *packed_b; /* default NULL. CPU only in this version: packed_b[i] holds B of problem i, as
                                   * packed by rung_plan_pack_b() */
} rung_group;

static inline rung_group rung_group_of(const rung_problem *problems, int64_t count)
{
    rung_group group;
    memset(&group, 0, sizeof group);
    group.size     = sizeof group;
    group.problems = problems;
    group.count    = count;
    return group;
}

/* Computes all problems of a group, whose matrices are in memory, and returns when all outputs are
 * complete. Everything is checked before anything is computed: each problem as by rung_multiply(),
 * and the outputs, which must not overlap an output or an input of another problem. Inputs may
 * overlap. The error text names the problem by its index. A view whose address range overlaps those
 * of more than 256 outputs counts as overlapping.
 *
 * The CPU computes all problems in one pass of its threads. Each result has the same bits as after
 * rung_multiply() with the problem. OpenCL and CUDA devices compute all problems by one launch, with
 * one kernel and one tile size, so the bits may differ from those of rung_multiply(). They compute
 * the problems one after another if the group has a single problem, if one launch is impossible (no
 * kernel for the types, no compiler for CUDA) or if its memory cannot be allocated; with
 * RUNG_VERBOSE=1 the log says which, and why. After a failure with RUNG_STATUS_INVALID or _ALIASED, no
 * output has been touched. After another failure, such as RUNG_STATUS_TOO_LARGE or _UNSUPPORTED for a
 * problem that the device cannot compute, the outputs of other problems may be written. `options` may
 * be NULL. */
RUNG_API rung_status rung_group_multiply(rung_context *context, const rung_group *group,
                                         const rung_multiply_options *options);

/* ---- Context -------------------------------------------------------------------- */

/* Allocates `bytes` (> 0) aligned to `alignment`, a power of two. Returns NULL on failure. The
 * release function receives a pointer that the allocate function returned. Neither may call the
 * library. Several threads, including threads of the library, may call both at the same time. */
typedef void *(*rung_allocate_function)(void *user, size_t bytes, size_t alignment);
typedef void (*rung_release_function)(void *user, void *memory);

/* Receives one log line, without a newline. */
typedef void (*rung_log_function)(void *user, const char *line);

/* One step of a rung_gemm() or rung_multiply() call, for timelines. */
typedef struct rung_span {
    const char *name;       /* "A up" and "C down" (copies to and from the device), "pack" and "unpack"
                             * (in this process), or a kernel's name; valid during the callback */
    int64_t     queue;      /* 0, 1 or 2; -1: this process */
    int64_t     start, end; /* nanoseconds since the start of the call */
    int64_t     bytes;      /* bytes copied; 0 for a kernel */
} rung_span;

/* Receives one span. Called for every span of a successful call, in no particular order, on
 * the calling thread, before the call returns. */
typedef void (*rung_span_function)(void *user, const rung_span *span);

/* Computes part `part` of a multiplication. `work_user` is the last argument of the
 * rung_parallel_function that received this function. */
typedef void (*rung_work_function)(void *work_user, int64_t part);

/* Lets the program's own thread pool compute: calls work(work_user, part) once for each part from 0
 * to parts - 1, and returns after all of these calls have returned. See
 * rung_context_options.parallel_for.
 *
 *     static void parallel_for(void *user, int64_t parts, rung_work_function work, void *work_user)
 *     {
 *     #pragma omp parallel for schedule(static, 1)
 *         for (int64_t part = 0; part < parts; part++)
 *             work(work_user, part);
 *     }
 *
 * The calls may be made on any threads, in any order, at the same time or one after another. A plain
 * loop is valid. No part waits for another part, and a part never calls this function. Several
 * threads may call this function at the same time: those that multiply at the same time. A
 * multiplication inside a task of the same pool also calls it, on a thread of that pool. A pool that
 * cannot run tasks inside tasks must then make the calls on the calling thread.
 *
 * The number of parts is at most the number of threads of the multiplication. A part uses the
 * rounding mode and the denormal setting of the thread that called the library. When the part
 * returns, the floating-point environment of its thread is as before.
 *
 * A call after this function has returned, or two calls for one part, is an error of the program:
 * the behaviour is undefined. A missing call is an error, too; the calling thread then computes
 * alone what is missing. C++ exceptions must not leave this function. */
typedef void (*rung_parallel_function)(void *user, int64_t parts, rung_work_function work, void *work_user);

typedef struct rung_context_options {
    size_t                 size;    /* set by rung_context_options_default() */
    const char            *device;  /* device of rung_gemm and rung_multiply; NULL: $RUNG_DEVICE, else "cpu" */
    int64_t                threads; /* CPU: maximum number of threads per multiplication, including the
                                     * calling thread, 1 to 8192; 0: $RUNG_THREADS, else the available CPUs */
    int                    verbose; /* log level: 1, 2, or -1 for no log; 0: $RUNG_VERBOSE */
    rung_log_function      log;     /* receives the log; NULL: standard error */
    void                  *log_user;
    rung_allocate_function allocate; /* NULL: the C library's allocator. Set both functions or neither */
    rung_release_function  release;
    void                  *memory_user;
    rung_span_function     span; /* receives the timeline of each call; NULL: no timeline */
    void                  *span_user;
    rung_parallel_function parallel_for; /* CPU: runs the parts of a multiplication on the program's
                                          * threads, and the context starts no threads; set `threads` to
                                          * their number. NULL: threads of the context */
    void                  *parallel_for_user;
} rung_context_options;

static inline rung_context_options rung_context_options_default(void)
{
    rung_context_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Creates a context, which owns devices, compiled kernels, threads and the log. NULL options
 * are the defaults. Every function that takes a context accepts NULL: the default context (see
 * rung_gemm).
 *
 * On the CPU, a large multiplication is split between threads of the context and the calling
 * thread. Only C is split, never k, so the result has the same bits for any number of threads.
 * Exception: the bit pattern of a NaN may differ, because IEEE 754 does not specify it. Vendor
 * libraries (00_vendor: MKL, OpenBLAS, cuBLAS and others) may split k, so their bits may depend on
 * the number of threads. Block sizes are derived from the processor's cache sizes, and different
 * block sizes may give different bits. To use the same block sizes on several machines, set
 * RUNG_CPU_CACHES.
 *
 * With `parallel_for`, the program's threads compute instead. The bits of the result are the same as
 * with threads of the context. A multiplication that uses one thread does not call the function.
 * 00_vendor does not use it: the vendor's library has its own threads.
 *
 * Verbose 1 logs one line per multiplication: time, device, kernel, origin of its parameters, the
 * command of the rung tool that repeats the problem (`rung verify`), and rejected kernels and
 * tuning records with the reasons. Work on a queue is logged after it has completed, by the next
 * rung_plan_run(), rung_queue_finish() or rung_queue_destroy() on this queue. Verbose 2 also logs
 * every kernel that is compiled and every library that is not found. Invalid environment variables
 * are reported if verbose is 1 or 2. If the context has a log function, they are also reported if
 * verbose is 0. */
RUNG_API rung_status rung_context_create(const rung_context_options *options, rung_context **context);
RUNG_API void        rung_context_destroy(rung_context *context);

/* ---- Devices -------------------------------------------------------------------- */

/* Properties of a device. A number is 0 if the driver does not report it. A "unit" is a
 * streaming multiprocessor (CUDA) or a compute unit (OpenCL). */
typedef struct rung_device_info {
    const char *name;     /* for rung_device_open(): "cpu", "opencl:0", "cuda:0" */
    const char *backend;  /* "cpu", "opencl", "cuda" */
    const char *title;    /* the manufacturer's name for it */
    const char *platform; /* the driver's name */
    const char *driver;   /* the driver's version */
    const char *missing;  /* "" if the device can be opened; else why not and what to do */
    int64_t     compute_units;
    int64_t     warp_size; /* threads per warp */
    int64_t     max_threads_per_unit;
    int64_t     max_threads_per_block;
    int64_t     registers_per_block;
    int64_t     registers_per_unit;
    int64_t     shared_bytes_per_block;
    int64_t     shared_bytes_per_unit;
    int64_t     last_level_cache_bytes;
    int64_t     clock_khz;
    int64_t     memory_clock_khz;
    int64_t     memory_bus_bits;
    int64_t     memory_bytes;
    int64_t     max_buffer_bytes;
    int64_t     memory_bytes_per_second;   /* computed from other properties */
    int64_t     peak_f32_flops_per_second; /* computed from other properties */
} rung_device_info;

/* Lists the devices of every backend. Each call searches again. A backend without a device has one
 * entry: its name is the backend's, and `missing` says why no device was found.
 *
 *     rung_device_list *list;
 *     if (rung_device_list_create(NULL, &list) == RUNG_OK) {
 *         for (int64_t i = 0; i < rung_device_list_count(list); i++)
 *             puts(rung_device_list_at(list, i)->name);
 *         rung_device_list_destroy(list);
 *     }
 *
 * Entries live as long as the list. An index outside the list gives NULL; a NULL list has no
 * entries. */
typedef struct rung_device_list rung_device_list;

RUNG_API rung_status             rung_device_list_create(rung_context *context, rung_device_list **list);
RUNG_API int64_t                 rung_device_list_count(const rung_device_list *list);
RUNG_API const rung_device_info *rung_device_list_at(const rung_device_list *list, int64_t index);
RUNG_API void                    rung_device_list_destroy(rung_device_list *list);

/* An optional component that a backend uses if it is present: a compiler, a vendor library, or
 * kernels that were compiled into this library. */
typedef struct rung_dependency {
    const char *backend; /* "cuda" */
    const char *name;    /* "NVRTC" */
    const char *found;   /* version and path; "" if the dependency was not found */
    const char *purpose; /* what it enables */
    const char *install; /* what to install */
} rung_dependency;

/* Lists the dependencies of every backend, like rung_device_list; no driver is needed. */
typedef struct rung_dependency_list rung_dependency_list;

RUNG_API rung_status            rung_dependency_list_create(rung_context *context, rung_dependency_list **list);
RUNG_API int64_t                rung_dependency_list_count(const rung_dependency_list *list);
RUNG_API const rung_dependency *rung_dependency_list_at(const rung_dependency_list *list, int64_t index);
RUNG_API void                   rung_dependency_list_destroy(rung_dependency_list *list);

/* Opens "cpu", "opencl" (the first GPU, else the first device), "opencl:1", "cuda" or "cuda:1";
 * NULL selects the context's device. A CUDA device does not survive a fork: in the child, calls
 * that use it fail with RUNG_STATUS_DEVICE_LOST. */
RUNG_API rung_status rung_device_open(rung_context *context, const char *name, rung_device **device);
RUNG_API void        rung_device_close(rung_device *device);

/* Returns the properties of the device, valid until it is closed. */
RUNG_API const rung_device_info *rung_device_describe(const rung_device *device);

/* Returns the context in which the device was opened. */
RUNG_API rung_context *rung_device_context(const rung_device *device);

/* ---- Queues, events and buffers ---------------------------------------------------- */

/* A queue runs its work in order. The CPU device completes work before each call returns.
 * rung_queue_finish() waits for all work of the queue and reports its first failure. */
RUNG_API rung_status rung_queue_create(rung_device *device, rung_queue **queue);
RUNG_API rung_status rung_queue_finish(rung_queue *queue);
RUNG_API void        rung_queue_destroy(rung_queue *queue);

/* An event refers to one unit of work: the most recent one that was put on a queue with this
 * event as rung_run_options.signal. Waits (rung_event_wait() and rung_run_options.wait) refer to
 * the work that the event refers to at the time of the call. A wait for an event that was never
 * signalled returns immediately. Events work between all queues of a device; the library submits
 * work to the device in each call, so that no queue needs to be flushed or finished.
 *
 *     rung_run_options upload = rung_run_options_default(), run = rung_run_options_default();
 *     upload.signal = arrived;
 *     rung_buffer_write(copies, a_buffer, 0, bytes, a_data, &upload);
 *     run.wait = &arrived;
 *     run.wait_count = 1;
 *     rung_plan_run(plan, queue, &problem, &run);               (after the upload on the other queue)
 *
 * If the work failed, rung_event_wait() returns the status of the failure. */
RUNG_API rung_status rung_event_create(rung_device *device, rung_event **event);
RUNG_API rung_status rung_event_wait(rung_event *event);
RUNG_API void        rung_event_destroy(rung_event *event);

/* Waits for the event and returns how long the device worked: from the start of the first kernel or
 * copy of the work to the end of the last, without time in the queue. Every queue created by
 * rung_queue_create() provides times. A wrapped OpenCL queue provides them if profiling is enabled,
 * and a wrapped CUevent must not have CU_EVENT_DISABLE_TIMING. On CUDA the time begins when the
 * queue reaches the work: if the queue was idle, the launch overhead is included. */
RUNG_API rung_status rung_event_time(rung_event *event, int64_t *nanoseconds);

/* Options of a unit of work (a run, a copy or a packing step); NULL selects the defaults. */
typedef struct rung_run_options {
    size_t             size; /* set by rung_run_options_default() */
    rung_event *const *wait; /* events of the same device that the work waits for, at most 64 */
    int64_t            wait_count;
    rung_event        *signal;    /* event to signal when the work is complete */
    rung_buffer       *workspace; /* for plans: at least rung_plan_info.workspace_bytes, 16-byte aligned, not
                                   * used by an operand or by another run in flight */
    rung_buffer       *packed_b;  /* for plans with packed_b: B as packed by rung_plan_pack_b() */
    int64_t            threads;   /* CPU: maximum number of the plan's threads to use; 0: all. Other devices
                                   * ignore this field */
    int64_t            checked;   /* for plans on the CPU, without packed_b: 1 checks the product and corrects it, as
                                   * rung_multiply_options.checked does. Default 0 */
    int64_t           *corrected; /* with `checked`: receives the number of elements that were corrected; may be NULL */
} rung_run_options;

static inline rung_run_options rung_run_options_default(void)
{
    rung_run_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Creates a buffer in device memory; on the CPU, in memory of this process. The buffer is at least
 * 64-byte aligned. 0 bytes are allowed. */
RUNG_API rung_status rung_buffer_create(rung_device *device, int64_t bytes, rung_buffer **buffer);
RUNG_API void        rung_buffer_destroy(rung_buffer *buffer);

/* Copy `bytes` between memory and a buffer, beginning `offset` bytes into the buffer. The copy
 * may be asynchronous. Until rung_queue_finish() or a wait for the copy's event returns, do not
 * change the source of a write (`from`) and do not use the destination of a read (`to`). */
RUNG_API rung_status rung_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                       const void *from, const rung_run_options *options);
RUNG_API rung_status rung_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                      const rung_run_options *options);

/* ---- Native objects --------------------------------------------------------------- */

/* Wrap native objects that the caller already has. The library uses a wrapped object and never
 * destroys it. It retains the object if the native interface counts references.
 *
 *     backend   device                     queue             event     buffer
 *     cpu       -                          -                 -         a pointer
 *     opencl    cl_context, cl_device_id   cl_command_queue  cl_event  cl_mem
 *     cuda      CUcontext, NULL            CUstream          CUevent   CUdeviceptr
 *
 * A wrapped buffer begins `offset` bytes into the native one.
 *
 * OpenCL: a wrapped queue must be in-order; event times need a queue with profiling.
 *
 * CUDA: every call restores the current CUcontext. A cudaStream_t is a CUstream. For stream 0
 * pass CU_STREAM_LEGACY, (CUstream)0x1; do not pass CU_STREAM_PER_THREAD. Queues created by
 * rung_queue_create() do not synchronize with stream 0. A wrapped CUevent is recorded when it
 * is signalled; event times need an event without CU_EVENT_DISABLE_TIMING. A plan that runs
 * on a stream in capture mode becomes part of the graph and is not logged: create the plan
 * before the capture, destroy no queue or event during the capture, and keep the plan, its
 * device, the workspace and batch_offsets as long as the graph. */
RUNG_API rung_status rung_device_wrap(rung_context *context, const char *backend, void *native_context,
                                      void *native_device, rung_device **device);
RUNG_API rung_status rung_queue_wrap(rung_device *device, void *native, rung_queue **queue);
RUNG_API rung_status rung_event_wrap(rung_device *device, void *native, rung_event **event);
RUNG_API rung_status rung_buffer_wrap(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                      rung_buffer **buffer);

/* Return the native object; NULL if there is none. The native handle of an event belongs to
 * its most recent signal and is released at the next one. */
RUNG_API void *rung_queue_native(const rung_queue *queue);
RUNG_API void *rung_event_native(const rung_event *event);
RUNG_API void *rung_buffer_native(const rung_buffer *buffer);

/* ---- Kernels ---------------------------------------------------------------------- */

/* The kernels of a backend form a ladder, from 01_naive to the fastest. 00_vendor runs a vendor
 * library (MKL, OpenBLAS, CLBlast, cuBLAS). A kernel is one step of the ladder, or a file of the
 * caller. Its source text declares its parameters and constraints:
 *
 *     #ifndef TILE                            a parameter, its default,
 *     #define TILE 32 // 8 16 32              and the values worth trying
 *     #endif
 *     #define BM TILE                         rows and columns of C
 *     #define BN TILE                         per thread block
 *     #if TILE * TILE > 1024                  a constraint, checked before
 *     #error "a block has at most 1024 threads"    anything is compiled
 *     #endif
 *     KERNEL(TILE * TILE)                     threads per block
 *     my_kernel(...)                          name of the function
 *
 * Comment lines declare the types, the precision and the presets of a kernel:
 *
 *     // takes: f32,f16:f32                   supported types: f32 for A, B and C, or f16 for
 *                                             A and B with f32 for C; default: all
 *     // takes: bf16 from sm_80               types that need a newer NVIDIA GPU
 *     // computes: tf32,tf32x3                precisions for F32 inputs; default: strict. A plan
 *                                             uses the least precise one that is sufficient; if that
 *                                             is not the least precise of the list, the macro COMPUTE
 *                                             is its rung_compute
 *     // preset small: BM=64,BN=64            named parameters
 *
 * Presets with these names replace the defaults: "cpu" on OpenCL devices that are processors,
 * "f64" and "i32" for that accumulator type, "cpu_f64" for both, "sm_75" on that NVIDIA
 * architecture, and "tf32x3" or "bf16x3" in that compute mode, if the kernel has several. "small" ("cpu_small", "sm_75_small") replaces them if the total area of its tiles,
 * including the parts outside C, is less than half that of the default tiles. On a GPU, two more
 * rules apply if rung_plan_options.kernel is NULL. The number of tiles is first rounded up to a
 * multiple of the compute units, so that idle units count. If one small tile covers all rows or all
 * columns of C, "small" is used whenever its total area is less than that of the default tiles.
 *
 * These rules are for OpenCL devices and for kernels that the caller names. If
 * rung_plan_options.kernel is NULL, a CUDA device predicts the time of every preset of the kernels
 * at the top of the ladder and uses the fastest one, with its number of split-K slices. */

/* A parameter of a kernel. */
typedef struct rung_parameter {
    const char    *name;
    int64_t        value;   /* the default */
    const int64_t *choices; /* values worth trying; other values are allowed */
    int64_t        choice_count;
} rung_parameter;

/* A condition under which a kernel rejects its parameters. */
typedef struct rung_constraint {
    const char *rejected_if; /* C expression over the parameters */
    const char *reason;
} rung_constraint;

typedef struct rung_preset {
    const char *name;
    const char *parameters;
} rung_preset;

/* Size in bytes of a buffer that holds any list of parameters ("TILE=16,UNROLL=4") with its
 * terminating 0. Calls with a longer list fail with RUNG_STATUS_INVALID. */
enum { RUNG_PARAMETERS_BYTES = 688 };

/* Bits of rung_kernel_info.abilities. */
enum {
    RUNG_ABILITY_BATCH_OFFSETS = 1, /* batches with batch_offsets */
    RUNG_ABILITY_EPILOGUE      = 2, /* bias, activation, residual; on the CPU also the multiplier, which GPUs refuse */
    RUNG_ABILITY_SPLIT_K       = 4,
    RUNG_ABILITY_PACKED_B      = 8
};

/* Whether a kernel uses the instructions of a matrix engine (tensor cores, AMX). An emulated engine
 * exists for verification on other devices. It is very slow, and the library uses it only if the
 * caller selects the kernel by name. */
typedef enum rung_engine { RUNG_ENGINE_NONE = 0, RUNG_ENGINE_HARDWARE = 1, RUNG_ENGINE_EMULATED = 2 } rung_engine;

/* Returns "none", "hardware" or, for RUNG_ENGINE_EMULATED, "software"; "?" for unknown values. */
RUNG_API const char *rung_engine_name(rung_engine engine);

typedef struct rung_kernel_info {
    const char  *name;    /* "04_shared", or the name of the caller's file */
    int          number;  /* 4; 0 for a vendor library, which is selected only by name; -1 for a
                           * kernel of the caller */
    const char  *backend; /* "cpu", "opencl", "cuda" */
    const char  *summary; /* the first comment line of the source */
    const char  *file;    /* "04_shared.cu" */
    const char  *source;  /* the whole text */
    rung_compute compute; /* precision for F32 inputs; the lowest if there are several */
    rung_engine  engine;
    unsigned     abilities; /* RUNG_ABILITY_... bits */
    const char  *defaults;  /* all parameters with their default values, "TILE=32" */
    int64_t      parameter_count, constraint_count, preset_count;
    int          only_sm; /* 90: the kernel uses instructions of sm_90a, which exist on sm_90 GPUs only, and other
                           * devices reject it; 0: any device */
} rung_kernel_info;

/* Return a kernel of a backend's ladder, by index or by name ("04_shared", or shorter: "4",
 * "04", "shared"); no device is needed. The kernel belongs to the context. For an index past the
 * end, rung_kernel_at() fails with RUNG_STATUS_NOT_FOUND.
 *
 * The CPU has several vendor libraries: "00_vendor:mkl", "00_vendor:openblas",
 * "00_vendor:blis" and "00_vendor:onednn". "00_vendor" is the library that RUNG_CPU_VENDOR names,
 * else the first library of this list that is installed. Each library is searched for in these
 * places, in this order: the Python environment that this library was installed in with pip, the
 * active Python or Conda environment, $MKLROOT, the path of the dynamic
 * loader, /opt/intel, ~/.local, /usr/local. Vendor libraries multiply one problem at a time per
 * process, with the plan's number of threads. */
RUNG_API rung_status rung_kernel_at(rung_context *context, const char *backend, int64_t index, rung_kernel **kernel);
RUNG_API rung_status rung_kernel_find(rung_context *context, const char *backend, const char *name,
                                      rung_kernel **kernel);

/* Creates a kernel from source text in rung's kernel dialect, which src/simt/kernels/dialect.h of
 * the source tree describes. `file` is its name in messages. rung_kernel_destroy() ignores kernels
 * that belong to the context. */
RUNG_API rung_status rung_kernel_from_source(rung_context *context, const char *backend, const char *file,
                                             const char *text, rung_kernel **kernel);
RUNG_API void        rung_kernel_destroy(rung_kernel *kernel);

/* Return the properties of a kernel, and its parameters, constraints and presets by index;
 * NULL past the end. Valid as long as the kernel. */
RUNG_API const rung_kernel_info *rung_kernel_describe(const rung_kernel *kernel);
RUNG_API const rung_parameter   *rung_kernel_parameter(const rung_kernel *kernel, int64_t index);
RUNG_API const rung_constraint  *rung_kernel_constraint(const rung_kernel *kernel, int64_t index);
RUNG_API const rung_preset      *rung_kernel_preset(const rung_kernel *kernel, int64_t index);

/* Returns 1 if the kernel multiplies these types of A, B and C, else 0. `min_sm`, which may be
 * NULL, receives the oldest NVIDIA architecture that supports them (80 for sm_80), or 0. */
RUNG_API int rung_kernel_supports(const rung_kernel *kernel, rung_type a, rung_type b, rung_type c, int *min_sm);

/* Returns 1 if the kernel multiplies F32 in this compute mode or in a more precise one, else 0. `used`,
 * which may be NULL, receives the mode that a plan uses, or RUNG_COMPUTE_STRICT. */
RUNG_API int rung_kernel_computes(const rung_kernel *kernel, rung_compute requested, rung_compute *used);

/* Checks parameters, "TILE=16,UNROLL=4", against the constraints of a kernel. A preset's name
 * expands to its parameters: "small,BK=8". Parameters that are not named keep their defaults;
 * NULL names none. Nothing is compiled. The check assumes elements of 4 bytes; with larger
 * elements, creating a plan may still fail because the tiles do not fit. */
RUNG_API rung_status rung_kernel_check(const rung_kernel *kernel, const char *parameters);

/* Evaluates an expression over the kernel's parameters and macros, for example "BM * BN", for
 * inputs of type `in`. */
RUNG_API rung_status rung_kernel_evaluate(const rung_kernel *kernel, const char *parameters, rung_type in,
                                          const char *expression, int64_t *value);

/* Result of rung_kernel_compile(). */
typedef struct rung_code {
    int64_t      threads_per_block;
    int64_t      registers_per_thread;
    int64_t      shared_bytes_per_block; /* static and dynamic */
    int64_t      spill_bytes;            /* stores plus loads, as ptxas counts them */
    const char  *parameters;             /* all parameters, with the values that were used */
    const char  *path;                   /* variant of the kernel for this problem: "general" supports any problem,
                                         * "wide" and "wide_guarded" load whole vectors; "-": only one variant */
    const void  *image;                  /* cubin with line information */
    int64_t      image_bytes;
    const char  *ptx; /* PTX of the same compilation, with line information; ends with 0 */
    int64_t      ptx_bytes;
    const char  *entry;                /* name of the kernel in the image and in the PTX */
    int64_t      grid[3];              /* of the first launch for this problem; 0 if a launch needs a workspace
                                        * or tensor maps */
    int64_t      dynamic_shared_bytes; /* of a launch */
    int64_t      argument_count;
    void *const *arguments; /* of the first launch, as cuLaunchKernel takes them. The arguments 4, 6, 9, 13 and 14 are
                             * addresses. Their values name the operand to replace them with: 1 is A, 2 is B, 3 is C,
                             * 4 is the bias, 5 is the residual, and 0 is none */
} rung_code;

/* Compiles a kernel of the backend "cuda" for an NVIDIA architecture ("sm_86") without a GPU. The
 * code is that of a plan for this problem with this kernel in rung_plan_options.kernel. If
 * `parameters` is NULL, the call uses the parameters that this plan would select. k is not split,
 * and the device's shared memory limit is not checked. The call needs NVRTC (see
 * rung_dependency_list) and fails with RUNG_STATUS_NO_DEVICE if no NVRTC that knows the
 * architecture is found. */
RUNG_API rung_status rung_kernel_compile(const rung_kernel *kernel, const rung_problem *problem, const char *parameters,
                                         const char *architecture, rung_code **code);
RUNG_API void        rung_code_destroy(rung_code *code);

/* Returns the threads and the bytes of shared memory that one block of a kernel needs, also if
 * rung_kernel_compile() fails with the same arguments because this is too much. The call compiles
 * the kernel again. Bytes that are not known, because the compiler found other errors, are 0. Fails
 * as rung_kernel_compile() does if not even the number of threads is known. */
RUNG_API rung_status rung_kernel_block_size(const rung_kernel *kernel, const rung_problem *problem,
                                            const char *parameters, const char *architecture, int64_t *threads,
                                            int64_t *shared_bytes);

/* Changes the grid and the arguments to those of another problem, without compiling. `kernel` is the kernel
 * that was compiled. Fails with RUNG_STATUS_UNSUPPORTED if the other problem needs other code. */
RUNG_API rung_status rung_code_set_problem(rung_code *code, const rung_kernel *kernel, const rung_problem *problem);

/* ---- Plans ------------------------------------------------------------------------ */

/* A plan selects and compiles the kernel for a problem once, and then runs every problem of the
 * same form: the same types, sizes, strides, blocks, batch, compute mode and epilogue. Data, offsets, alpha
 * and beta may differ, with one exception: plans created with beta != 0 and a D other than C. Only
 * these plans run problems with beta != 0 and a D other than C, and these plans do not run problems
 * with beta != 0 that store the result in C. When you create the plan, the views need no memory:
 * `data` and `buffer` may be NULL.
 *
 *     rung_device_open(NULL, "opencl", &device);
 *     rung_queue_create(device, &queue);
 *     rung_buffer_create(device, m * k * 4, &a_buffer);                  (b and c likewise)
 *     rung_buffer_write(queue, a_buffer, 0, m * k * 4, a_data, NULL);
 *     rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, m, k, a_buffer, 0), ...);
 *     rung_plan_create(device, &problem, NULL, &plan);
 *     rung_plan_run(plan, queue, &problem, NULL);
 *     rung_buffer_read(queue, c_buffer, 0, m * n * 4, c_data, NULL);
 *     rung_queue_finish(queue);
 *
 * Memory: on the CPU, a view may have `data` or a buffer of the device; on other devices it must
 * have a buffer of the plan's device.
 * Alignment: a plan that was created for aligned views may reject other views with
 * RUNG_STATUS_INVALID. A view is aligned if it and its batch items begin at multiples of 16 bytes
 * and of four elements. Views without memory count as aligned.
 * Bits: one plan with the same inputs gives the same bits in every run.
 * If alpha is 0, a plan for a vendor library runs one of rung's own kernels, because some vendor
 * libraries read A and B even then.
 *
 * Split-K: if C has few tiles and k is long, slices of k are accumulated in parallel in a
 * workspace and added in a fixed order, so that every run gives the same bits. */
typedef struct rung_plan_options {
    size_t             size;                    /* set by rung_plan_options_default() */
    const rung_kernel *kernel;                  /* kernel of the device's context; NULL: selected by the library */
    const char        *parameters;              /* "TILE=16", only with `kernel`; NULL: selected by the library */
    int64_t            split_k;                 /* maximum number of slices; 0: selected by the library */
    int64_t            max_workspace_bytes;     /* maximum workspace for split-K if split_k is 0; if both
                                                 * are 0, k is not split. Other uses of a workspace
                                                 * are not limited */
    int64_t            threads;                 /* CPU: maximum number of threads, including the calling thread, 1
                                                 * to 8192; 0: the context's */
    int                packed_b;                /* not 0: runs use a packed B, see rung_plan_pack_b() */
    int                shared_carveout_percent; /* CUDA: percent of the L1 cache used as shared memory, 1 to
                                                 * 100; 0: selected by the driver */
} rung_plan_options;

static inline rung_plan_options rung_plan_options_default(void)
{
    rung_plan_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Where the parameters of a plan came from. */
typedef enum rung_origin {
    RUNG_ORIGIN_DEFAULTS = 0,
    RUNG_ORIGIN_GIVEN    = 1, /* rung_plan_options.parameters */
    RUNG_ORIGIN_PRESET   = 2,
    RUNG_ORIGIN_TUNING   = 3, /* a record of a tuning file */
    RUNG_ORIGIN_FALLBACK = 4  /* the defaults with one parameter changed so that they fit the device */
} rung_origin;

typedef struct rung_plan_info {
    const char  *kernel;     /* "04_shared" */
    const char  *parameters; /* all parameters: "TILE=32"; "" if the kernel has none */
    rung_origin  origin;
    const char  *origin_text;     /* "given", "defaults", "preset wide, predicted", "/home/x/.config/rung/tuning:12" */
    const char  *rejected;        /* "12_matrix: takes f16 only; ...", or ""; see also "Candidates" */
    rung_compute compute;         /* mode that is used: the requested one, or a more precise one */
    int64_t      workspace_bytes; /* required size of rung_run_options.workspace; 0: none, as on the CPU. A
                                   * workspace is needed for split-K, for batch_offsets, for a separate D with
                                   * beta != 0, for emulated engines, and for epilogues on CUDA without NVRTC */
    int64_t      split_k;         /* number of slices of k; 1: k is not split */
    int64_t      blocks;          /* thread blocks per launch, for all items and slices; 0 on the CPU */
    int64_t      threads;         /* threads per block; on the CPU, all threads of the plan */
    const char  *library;         /* vendor library: "MKL 2026.2, /usr/lib/libmkl_rt.so.3"; else "" */
    const char  *warning;         /* why the speed of a vendor library is not representative here; else "" */
    int64_t      packed_b_bytes;  /* size of a packed B; 0 without packed_b */
} rung_plan_info;

/* Create and destroy a plan; NULL options are the defaults. rung_plan_create() fails with
 * RUNG_STATUS_UNSUPPORTED if options.kernel does not support the problem on this device or, if
 * options.kernel is NULL, if no kernel does. */
RUNG_API rung_status rung_plan_create(rung_device *device, const rung_problem *problem,
                                      const rung_plan_options *options, rung_plan **plan);
RUNG_API void        rung_plan_destroy(rung_plan *plan);

/* Returns the properties of a plan, valid as long as the plan. */
RUNG_API const rung_plan_info *rung_plan_describe(const rung_plan *plan);

/* Puts a multiplication on the queue. On the CPU, the multiplication is complete when the call
 * returns. With rung_run_options.checked, the time of `signal` is that of the multiplication without the
 * check; a problem with beta, with an epilogue or with a C narrower than the accumulator needs a plan of its
 * own for the product, which each run creates. */
RUNG_API rung_status rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                   const rung_run_options *options);

/* ---- Packed operands ----------------------------------------------------------------- */

/* Packs B once, for example the weights of a network, for many runs:
 *
 *     rung_plan_options options = rung_plan_options_default();
 *     options.packed_b = 1;
 *     rung_plan_create(device, &problem, &options, &plan);
 *     rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &weights);
 *     rung_plan_pack_b(plan, queue, &b, weights, NULL);
 *
 *     rung_run_options run = rung_run_options_default();
 *     run.packed_b = weights;
 *     rung_plan_run(plan, queue, &problem, &run);       (as often as you like)
 *
 * The buffer must be 64-byte aligned; buffers of rung_buffer_create() are. Every plan with the
 * same device, kernel, parameters, types, compute mode, k and n can use it; m, batch, A, C, the
 * epilogue and the number of threads may differ. The B that is packed may have any strides. In a
 * batch, B must have batch_stride 0.
 *
 * The memory of B may be freed when the packing is done (on the CPU: when rung_plan_pack_b()
 * returns). A run uses only the type, the sizes and the strides of problem.b; problem.b.data may be
 * NULL or point to memory that no longer exists.
 *
 * The packed data begin with a header. If the header does not match the plan, the run fails with
 * RUNG_STATUS_INVALID. The packed elements are not checked.
 *
 * Only the CPU supports packed operands in this version, and only without a rung_quantization. Otherwise,
 * creating a plan with packed_b fails with RUNG_STATUS_UNSUPPORTED. */
RUNG_API rung_status rung_plan_pack_b(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                                      const rung_run_options *options);

/* Save a packed B to a file, and load it into a new buffer with identical bits. Both calls return
 * when the file or the buffer is complete. Destroy the buffer with rung_buffer_destroy().
 *
 *     rung_packed_save(plan, queue, weights, "weights.packed");
 *
 *     rung_packed_load(plan, queue, "weights.packed", &weights);   (in another process)
 *     run.packed_b = weights;
 *
 * A file can be loaded on the machine that saved it and on machines with the same instruction sets,
 * caches and byte order. Other machines may select a different kernel or layout, so keep B itself,
 * and be prepared to pack it again.
 *
 * rung_packed_save() writes under a temporary name in the same folder, syncs and renames: the
 * path always holds the old file or the whole new one. A symbolic link is followed. The call fails
 * with RUNG_STATUS_IO if the file cannot be written, or if the path is a directory or a special
 * file; the error text gives the reason. It fails with RUNG_STATUS_INVALID if the buffer does not
 * contain a packed B of this plan.
 *
 * rung_packed_load() compares the file with the plan before it allocates memory.
 *
 *     RUNG_STATUS_NOT_FOUND   there is no such file
 *     RUNG_STATUS_INVALID     the file was packed for a different kernel, layout, type, k, n or
 *                             byte order, was saved by a version with a different format, or is
 *                             not a packed B; the text names each difference
 *     RUNG_STATUS_IO          the file cannot be read, or a checksum shows that it is damaged
 *
 * After RUNG_STATUS_INVALID or a damaged file, pack B again. The checksum finds accidental
 * damage, not changes made on purpose. */
RUNG_API rung_status rung_packed_save(rung_plan *plan, rung_queue *queue, rung_buffer *packed, const char *path);
RUNG_API rung_status rung_packed_load(rung_plan *plan, rung_queue *queue, const char *path, rung_buffer **packed);

/* ---- Candidates ----------------------------------------------------------------------- */

/* A kernel with parameters that could run a problem on a device. */
typedef struct rung_candidate {
    const char *kernel;     /* "10_pipeline" */
    const char *parameters; /* all parameters; "" if they could not be determined */
    rung_origin origin;
    const char *origin_text;            /* the same text as in rung_plan_info */
    rung_status status;                 /* RUNG_OK: a plan can be created; otherwise why not: RUNG_STATUS_UNSUPPORTED */
    const char *reason;                 /* "" or a sentence; a compiler's log follows if there is one */
    int64_t     threads_per_block;      /* 0 on the CPU, or if they could not be determined */
    int64_t     shared_bytes_per_block; /* 0 on the CPU, or if they could not be determined */
} rung_candidate;

/* Lists every kernel of the device's ladder for a problem, in the order in which
 * rung_plan_create() prefers them: it selects the first entry whose status is RUNG_OK. Rejected
 * kernels follow with their reasons. Vendor libraries and emulated engines count as rejected,
 * because they are used only if the caller selects them by name. A tuning record has its own entry,
 * so its kernel may be listed twice.
 *
 *     rung_candidate_list_create(device, &problem, NULL, &list);
 *     for (int64_t i = 0; i < rung_candidate_list_count(list); i++) {
 *         const rung_candidate *candidate = rung_candidate_list_at(list, i);
 *         printf("%s %s %s\n", candidate->kernel, candidate->parameters, candidate->reason);
 *     }
 *     rung_candidate_list_destroy(list);
 *
 * Creating the list compiles every kernel. On a GPU this takes seconds if the compiled kernels are
 * not cached yet. `options` has the same meaning as for rung_plan_create(); a given kernel restricts
 * the list to this kernel. A kernel that does not compile is an entry of the list. The call fails
 * only if the problem or the options are invalid, if memory is short or if the device is lost. An
 * index outside the list gives NULL. */
typedef struct rung_candidate_list rung_candidate_list;

RUNG_API rung_status           rung_candidate_list_create(rung_device *device, const rung_problem *problem,
                                                          const rung_plan_options *options, rung_candidate_list **list);
RUNG_API int64_t               rung_candidate_list_count(const rung_candidate_list *list);
RUNG_API const rung_candidate *rung_candidate_list_at(const rung_candidate_list *list, int64_t index);
RUNG_API void                  rung_candidate_list_destroy(rung_candidate_list *list);

/* ---- Tuning --------------------------------------------------------------------------- */

/* Tuning files record the fastest kernel and parameters measured on a device. They are text with
 * one record per line. A context reads up to three files when it creates the first plan whose
 * options name no kernel. Records of a later file take precedence:
 *
 *     the system's   /etc/rung/tuning (a build option)
 *     the user's     $XDG_CONFIG_HOME/rung/tuning, else ~/.config/rung/tuning
 *     RUNG_TUNING    the path of a file; if "off" or empty, none of the three files is read
 *
 * A record applies to problems of the same device, compute units, driver, types, compute mode
 * and layout, with m, n and k in the same size classes (up to 16, 64, 256, 1024, 4096, larger). A
 * record for a batch applies only to batches, and a record for a single multiplication only to
 * single multiplications. A record whose kernel or parameters cannot run the problem on this device
 * is rejected and reported like a rejected kernel. A line that is not a record is ignored. A damaged
 * or unrelated file can make plans slower, never wrong. Plans with packed_b do not use tuning
 * records. */
typedef struct rung_tuning {
    size_t      size;       /* set by rung_tuning_default() */
    const char *kernel;     /* "07_tile2d" */
    const char *parameters; /* all parameters: "BM=64,BN=64,..." */
    double      gflops;     /* measured speed; 0: unknown */
} rung_tuning;

static inline rung_tuning rung_tuning_default(void)
{
    rung_tuning tuning;
    memset(&tuning, 0, sizeof tuning);
    tuning.size = sizeof tuning;
    return tuning;
}

/* Progress of rung_tune(). */
typedef struct rung_tune_progress {
    int64_t     tried, total; /* candidates tried so far, and planned so far; the search plans more as it goes */
    const char *kernel;       /* the kernel measured last */
    const char *parameters;
    double      gflops; /* speed of this kernel; 0 if it was rejected */
    double      best_gflops;
} rung_tune_progress;

typedef struct rung_tune_options {
    size_t             size;    /* set by rung_tune_options_default() */
    double             seconds; /* time limit; 0: 10 */
    const rung_kernel *kernel;  /* NULL: all kernels of the ladder */
    const char        *path;    /* file for the record; NULL: the user's tuning file; "": no record is saved */
    int (*progress)(void *user, const rung_tune_progress *progress); /* may be NULL; a return value other than 0
                                                                      * stops the search */
    void *user;
} rung_tune_options;

static inline rung_tune_options rung_tune_options_default(void)
{
    rung_tune_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Result of rung_tune(). */
typedef struct rung_tune_report {
    const char *kernel; /* the fastest kernel */
    const char *parameters;
    double      gflops;
    double      untuned_gflops; /* speed of the plan without tuning, measured in the same run */
    int64_t     measured;       /* number of candidates that were measured */
    int64_t     rejected;       /* number of candidates that did not run or gave a wrong result */
    int         saved;          /* 1: a record was written */
} rung_tune_report;

/* Finds the fastest kernel and parameters for a problem on a device and saves them, so that
 * later plans for similar problems use them. The views of the problem need no memory: rung_tune()
 * allocates its own operands. It runs with alpha = 1 and with beta = 0, or beta = 1 if the
 * problem's beta is not 0.
 *
 *     rung_tune_options options = rung_tune_options_default();
 *     options.seconds = 30;
 *     rung_tune(device, &problem, &options, &report);
 *     printf("%s %s: %.0f GFLOPS, before %.0f\n", report->kernel, report->parameters, report->gflops,
 *            report->untuned_gflops);
 *     rung_tune_report_destroy(report);
 *
 * Every candidate is compared with the result of 01_naive (or of the next kernel of the ladder
 * that supports the problem) before it is timed, and is timed interleaved with the plan that the
 * library selects without tuning. The operands are small integers, for which every compute mode
 * is exact: results must be equal (after GELU and the like, equal up to rounding). For a
 * large C, a regular sample of rows and columns is compared.
 *
 * A record is saved only if it is at least 3 percent faster than the plan without tuning. If the
 * record cannot be saved, the call fails and there is no report. A kernel of the caller's own is
 * measured but not saved, because other programs do not have this kernel. The call fails with
 * RUNG_STATUS_UNSUPPORTED if options.kernel is a vendor library or an emulated engine, and with
 * RUNG_STATUS_INVALID if m, n or k is 0. The call takes `seconds`, plus at most the time of one
 * candidate and of a short final comparison. If `progress` stops the search, the call compares and
 * saves the best result so far in the same way and returns RUNG_OK. `report` may be NULL. */
RUNG_API rung_status rung_tune(rung_device *device, const rung_problem *problem, const rung_tune_options *options,
                               rung_tune_report **report);
RUNG_API void        rung_tune_report_destroy(rung_tune_report *report);

/* Writes the key of a problem's tuning record as text. 1536 bytes always suffice; if the text does
 * not fit, the call fails with RUNG_STATUS_TOO_LARGE. */
RUNG_API rung_status rung_tuning_key(const rung_device *device, const rung_problem *problem, char *text,
                                     size_t capacity);

/* Saves a record for problems like this one in the file `path` (NULL: the user's). A record with
 * the same key is replaced; other lines stay. The file is replaced atomically under a lock file,
 * PATH.lock; other processes wait at most 10 seconds for the lock. The device's context uses the
 * record from now on. Unknown kernels, kernels less precise than the problem requests, and
 * parameters below half the smallest or above twice the largest listed value are rejected.
 * The call fails with RUNG_STATUS_IO if the file cannot be locked, read or written, with
 * RUNG_STATUS_INVALID if it is not a tuning file, and with RUNG_STATUS_TOO_LARGE if the file would
 * have more than 4096 records or 1 MiB. */
RUNG_API rung_status rung_tuning_save(rung_device *device, const rung_problem *problem, const rung_tuning *tuning,
                                      const char *path);

/* Removes the records for problems like this one from the file `path` (NULL: the user's).
 * `removed` receives their number and may be NULL. A missing file has no records. */
RUNG_API rung_status rung_tuning_remove(rung_device *device, const rung_problem *problem, const char *path,
                                        int64_t *removed);

/* Copies the records of one file into another, which is created if necessary. Of two records with
 * the same key, the faster stays. `changed` receives the number of lines added or replaced and
 * may be NULL. */
RUNG_API rung_status rung_tuning_merge(rung_context *context, const char *from, const char *into, int64_t *changed);

/* Writes the path of the user's tuning file, whether or not it exists. 4096 bytes always suffice; if
 * the text does not fit, the call fails with RUNG_STATUS_TOO_LARGE. It fails with
 * RUNG_STATUS_NOT_FOUND if neither XDG_CONFIG_HOME nor HOME is an absolute path. */
RUNG_API rung_status rung_tuning_path(rung_context *context, char *text, size_t capacity);

/* ---- Environment variables -------------------------------------------------------------- */

/* RUNG_DEVICE, RUNG_THREADS, RUNG_VERBOSE and RUNG_OVERLAP are read when a context is created,
 * RUNG_CPU_ISA and RUNG_CPU_CACHES when the CPU is opened, RUNG_TUNING with the tuning files,
 * RUNG_CPU_VENDOR when a plan of 00_vendor is created. An invalid value is reported (see
 * rung_context_create) and ignored; calls that need an invalid RUNG_DEVICE or RUNG_CPU_VENDOR fail.
 *
 *     RUNG_DEVICE       device of rung_gemm and rung_multiply: "cpu", "opencl:1", "cuda"
 *     RUNG_THREADS      maximum number of CPU threads
 *     RUNG_VERBOSE      1 or 2: log, to standard error unless the context has a log function
 *     RUNG_OVERLAP      minimum total size of the operands in bytes (digits only) at which copies overlap
 *                       computation; default 33554432; 0: never
 *     RUNG_TUNING       the path of a tuning file, or "off"; see "Tuning"
 *     RUNG_CPU_VENDOR   mkl, openblas, blis, onednn, ggml, or the path of a CBLAS library
 *     RUNG_CPU_ISA      the best instruction set to use: portable, avx2, avx512, dot (AVX-512 with VNNI,
 *                       and BF16 if present), amx; on AArch64: portable (NEON), sve (SVE, if its vectors
 *                       have 256 or 512 bits), mmla (and SMMLA and BFMMLA, if present)
 *     RUNG_CPU_CACHES   "32K,256K,8M/4": L1, L2, L3 and the cores that share the L3 */

#ifdef __cplusplus
}
#endif
#endif /* RUNG_H */
