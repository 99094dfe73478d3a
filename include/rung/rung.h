/* SPDX-License-Identifier: Apache-2.0 */
/* rung.h - matrix multiplication on the CPU, on OpenCL devices and on NVIDIA GPUs.
 *
 * This header is the manual. The short way is one call on matrices in memory:
 *
 *     rung_matrix a = rung_matrix_of(RUNG_F32, m, k, a_data);
 *     rung_matrix b = rung_matrix_of(RUNG_F32, k, n, b_data);
 *     rung_matrix c = rung_matrix_of(RUNG_F32, m, n, c_data);
 *     rung_status status = rung_gemm(NULL, 1.0, a, b, 0.0, c);
 *     if (status != RUNG_OK)
 *         fprintf(stderr, "%s\n", rung_error_text());
 *
 * The long way, for device memory and repeated work, is: open a device, make a
 * plan for a problem, run the plan on a queue. See "Plans" below.
 *
 * Threads   A context, a device, a kernel and a plan may be shared between
 *           threads; a queue and an event are one thread's at a time; a buffer
 *           may be read by many or written by one.
 * Fork      A process may fork at any moment, and multiply on the CPU in the child
 *           with all that was made before. Other devices have their drivers' rules.
 * Signals   On processors with AMX the first plan that uses it asks the system for it, and
 *           from then on a signal handler's own stack (sigaltstack) needs room for its
 *           registers, 16 KiB or so; where smaller ones are in use the system refuses,
 *           and other kernels are taken. RUNG_CPU_ISA=dot leaves AMX alone.
 * Cancel    pthread_cancel never ends a thread inside a call: the call completes, and the
 *           thread ends at its next cancellation point afterwards. That holds for deferred
 *           cancellation, the default; no function may be called with asynchronous
 *           cancellation enabled.
 * Memory    Running a plan never allocates, with three exceptions: a run that is to be
 *           logged; the first on the CPU after a fork, which starts threads again; and
 *           on the CPU, more runs at the same time than plans were created for, each of
 *           which gets memory to work in. Every
 *           destroy accepts NULL. A queue and an event are destroyed after their
 *           work; anything else may go before, and the work goes on. Objects may
 *           be destroyed in any order, since each keeps alive what it stands on;
 *           the kernels of a context's ladder go with it.
 * Errors    A call that can fail returns a rung_status; outputs come last, and a
 *           failed call leaves a created object NULL. Where work on a queue fails,
 *           finish the queue before freeing memory that was given to it. The
 *           library never exits, aborts or prints, unless RUNG_VERBOSE asks it to.
 *           (A debug or sanitizer build checks internal invariants, and prints
 *           and aborts if one does not hold.)
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

/* ---- Status --------------------------------------------------------------- */

/* Result of every function that can fail. Values are stable across versions. */
typedef enum rung_status {
    RUNG_OK                    = 0,
    RUNG_STATUS_INVALID        = -1,  /* an argument is out of range */
    RUNG_STATUS_ALIASED        = -2,  /* the output overlaps itself or an input */
    RUNG_STATUS_TOO_LARGE      = -3,  /* a size or a stride overflows the address space */
    RUNG_STATUS_NO_MEMORY      = -4,  /* out of memory */
    RUNG_STATUS_NO_DEVICE      = -5,  /* no such device, or its driver is not installed */
    RUNG_STATUS_UNSUPPORTED    = -6,  /* no kernel on this device supports the problem */
    RUNG_STATUS_COMPILE_FAILED = -7,  /* a kernel did not compile */
    RUNG_STATUS_DEVICE_LOST    = -8,  /* the device failed and must be opened again */
    RUNG_STATUS_NOT_FOUND      = -9,  /* no kernel, parameter or file has that name */
    RUNG_STATUS_IO             = -10, /* a file could not be read or written */
    RUNG_STATUS_CANCELLED      = -11  /* a callback of the caller stopped the call */
} rung_status;

/* "RUNG_OVERLAP", and one line for people. Both take any number. */
RUNG_API const char *rung_status_name(rung_status status);
RUNG_API const char *rung_status_text(rung_status status);

/* What went wrong in this thread's last failed call and what to do about it: a
 * sentence, and a compiler's log where there is one. Valid until this thread's
 * next failure; never NULL. */
RUNG_API const char *rung_error_text(void);

/* For libraries that stand on this one: keeps a sentence, formatted as printf does, for this
 * thread's rung_error_text(), and returns `status`. The old sentence may be among the arguments. */
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

    /* Types that the interface describes and no kernel multiplies yet: a problem with one of
     * them is RUNG_STATUS_UNSUPPORTED. */
    RUNG_U8        = 7,
    RUNG_I4        = 8,  /* 2 elements per byte, the first in the low half */
    RUNG_U4        = 9,
    RUNG_F8E4M3    = 10, /* no infinities, as in OCP's E4M3 */
    RUNG_F8E5M2    = 11,
    RUNG_F4E2M1    = 12, /* MXFP4 and NVFP4 elements, packed like I4 */
    RUNG_E8M0      = 13, /* powers of two: the scales of MXFP4 */
    RUNG_Q8_0      = 14, /* GGML blocks: an F16 scale, then 32 x 8 bits */
    RUNG_Q4_0      = 15  /* GGML blocks: an F16 scale, then 32 x 4 bits */
} rung_type;

/* Elements are stored in blocks: of 1 element for most types, of 2 for 4-bit types, of 32 for
 * GGML's. These functions return the elements and the bytes of a block; 0 for other values. */
RUNG_API int64_t rung_type_block_elements(rung_type type);
RUNG_API int64_t rung_type_block_bytes(rung_type type);

/* Returns the bytes per element; 0 for types with several elements per block. */
RUNG_API int64_t rung_type_size(rung_type type);

/* Returns "f32" and the like; "none" for RUNG_TYPE_NONE; "?" for other values, so that a loop
 * from 1 to the first "?" visits every type. */
RUNG_API const char *rung_type_name(rung_type type);

/* Returns the type in which this version accumulates A * B into C, and which alpha and beta
 * have; RUNG_TYPE_NONE if no kernel of this version multiplies these types. The result is
 * rounded to C's type once, at the end (to F16 and BF16 through F32). Integers are exact
 * modulo 2^32.
 *
 *     A and B   C                accumulator
 *     F32       F32, F16, BF16   F32
 *     F64       F64, F32         F64
 *     F16       F16, F32         F32
 *     BF16      BF16, F32        F32
 *     I8        I32              I32
 *     I32       I32              I32 */
RUNG_API rung_type rung_accumulator_type(rung_type a, rung_type b, rung_type c);

/* Convert 16-bit types, for compilers that lack them. Conversion from F32 rounds to nearest,
 * ties to even; values beyond the largest become infinite. A NaN stays a NaN and becomes
 * quiet; its sign and the upper bits of its payload are preserved. */
RUNG_API float    rung_f16_to_f32(uint16_t bits);
RUNG_API uint16_t rung_f16_from_f32(float value);
RUNG_API float    rung_bf16_to_f32(uint16_t bits);
RUNG_API uint16_t rung_bf16_from_f32(float value);

/* How precisely products are formed, from most to least. A problem asks for one of
 * these and gets it or one before it, never one behind: a kernel that computes in less
 * is refused. u is the roundoff of sums, |A||B| the product of the absolute values, and
 * gamma(n) = n u / (1 - n u); alpha, beta and C's rounding come on top in all of them. A GPU's
 * matrix engine adds several products at a time and cuts off what does not fit, instead of
 * rounding: where it sums 16-bit inputs or tf32, read gamma(3 k) for gamma(k).
 *
 *   strict  inputs as they are:                                       gamma(k) |A||B|
 *   bf16x3  F32 inputs as sums of three BF16 each, the six
 *           largest of nine products:             (1.02 gamma(6 k) + 2^-24) |A||B|
 *   tf32    F32 inputs rounded to 11 bits:   (1.02 gamma(k) + 2^-10 + 2^-22) |A||B|
 *   bf16x1  F32 inputs rounded to 8 bits:     (1.02 gamma(k) + 2^-7 + 2^-16) |A||B|
 *
 * In the last three an input below 2^-126 may count as 0 and one that rounds past the
 * largest number as infinite; in bf16x3 an infinity among the inputs may come out as
 * NaN. The CPU's kernel does none of this: it multiplies by FMA where it would. BF16 is
 * multiplied by a processor's own instructions (AMX, AVX512_BF16), strict too, and those
 * may take an input or a sum below 2^-126 for 0. */
typedef enum rung_compute {
    RUNG_COMPUTE_STRICT = 0,
    RUNG_COMPUTE_BF16X3 = 1,
    RUNG_COMPUTE_TF32   = 2,
    RUNG_COMPUTE_BF16X1 = 3
} rung_compute;

RUNG_API const char *rung_compute_name(rung_compute compute);

/* ---- Matrices ---------------------------------------------------------------- */

typedef struct rung_context rung_context;
typedef struct rung_device  rung_device;
typedef struct rung_queue   rung_queue;
typedef struct rung_event   rung_event;
typedef struct rung_buffer  rung_buffer;
typedef struct rung_kernel  rung_kernel;
typedef struct rung_plan    rung_plan;

/* A view of a matrix: element (i, j) stands at
 *
 *     offset + i * row_stride + j * col_stride
 *
 * elements from `data` (memory of this process) or from the start of `buffer`
 * (memory of a device); one of the two is NULL. Strides are not negative. Zero
 * repeats a row or a column, which A and B may do and C may not. A view owns
 * nothing and is passed by value: a transpose, a storage order and a block are
 * all views, and nothing is copied to make one. */
typedef struct rung_matrix {
    rung_type    type;
    int64_t      rows, cols;
    int64_t      row_stride, col_stride;
    void        *data;
    rung_buffer *buffer;
    int64_t      offset;
    int64_t        batch_stride;  /* elements from one item of a batch to the next */
    const int64_t *batch_offsets; /* or where each begins, counted from `offset` */
} rung_matrix;

typedef enum rung_order {
    RUNG_ORDER_ROW_MAJOR = 0, /* C: the elements of a row are adjacent */
    RUNG_ORDER_COL_MAJOR = 1  /* Fortran and BLAS: the elements of a column are adjacent */
} rung_order;

/* A dense row-major view. `data` is written only if the view is used as C. */
RUNG_API rung_matrix rung_matrix_of(rung_type type, int64_t rows, int64_t cols, const void *data)
    RUNG_READS_NOTHING(4);

/* Returns a view with a leading dimension, as BLAS describes a matrix: `ld` elements from one
 * row to the next (row-major, ld >= cols) or from one column to the next (column-major,
 * ld >= rows). A smaller `ld` gives a view that every call rejects with RUNG_STATUS_INVALID.
 *
 *     rung_matrix a = rung_matrix_ld(RUNG_F64, m, k, lda, RUNG_ORDER_COL_MAJOR, a_data);
 *     rung_matrix b = rung_matrix_transpose(            (a transposed argument: B is n x k in memory)
 *                     rung_matrix_ld(RUNG_F64, n, k, ldb, RUNG_ORDER_COL_MAJOR, b_data)); */
RUNG_API rung_matrix rung_matrix_ld(rung_type type, int64_t rows, int64_t cols, int64_t ld, rung_order order,
                                    const void *data) RUNG_READS_NOTHING(6);

/* The same over device memory, beginning `offset` elements into the buffer. */
RUNG_API rung_matrix rung_matrix_in_buffer(rung_type type, int64_t rows, int64_t cols,
                                    rung_buffer *buffer, int64_t offset);

/* The same elements with rows and columns exchanged. A column-major matrix of
 * leading dimension ld is a transposed row-major one. */
RUNG_API rung_matrix rung_matrix_transpose(rung_matrix matrix);

/* The rows x cols block whose first element is (row, col). A block that does not
 * lie inside the matrix is a view that every call refuses with RUNG_STATUS_INVALID. */
RUNG_API rung_matrix rung_matrix_block(rung_matrix matrix, int64_t row, int64_t col,
                                       int64_t rows, int64_t cols);

/* The same elements again and again, rows x cols of them: a matrix of one row, of one
 * column or of one element repeats those; any other shape is refused like a block
 * outside its matrix. A bias of one number a row is an m x 1 matrix repeated to m x n. */
RUNG_API rung_matrix rung_matrix_broadcast(rung_matrix matrix, int64_t rows, int64_t cols);

/* ---- Problems ----------------------------------------------------------------- */

/* Function applied to each element of the result. GELU and SiLU need a floating-point result.
 * GELU_TANH and SILU of minus infinity are 0, their limit; GELU of minus infinity is NaN. */
typedef enum rung_activation {
    RUNG_ACTIVATION_NONE      = 0,
    RUNG_ACTIVATION_RELU      = 1, /* max(v, 0); NaN stays NaN */
    RUNG_ACTIVATION_GELU      = 2, /* v/2 (1 + erf(v / sqrt 2)) */
    RUNG_ACTIVATION_GELU_TANH = 3, /* v/2 (1 + tanh(sqrt(2/pi) (v + 0.044715 v^3))) */
    RUNG_ACTIVATION_SILU      = 4  /* v / (1 + exp(-v)) */
} rung_activation;

/* Returns "gelu_tanh" and the like; "?" for unknown values. */
RUNG_API const char *rung_activation_name(rung_activation activation);

/* How the elements of an operand become numbers:
 *
 *     value = scale * (element - zero point)
 *
 * One scale and one zero point serve a block of block_rows x block_cols elements; 0 means all
 * rows or all columns. Element (i, j) uses element (i / block_rows, j / block_cols) of
 * `scales` and `zero_points`. An absent `scales` means 1, absent `zero_points` mean 0.
 *
 *     per tensor       block 0 x 0               scales 1 x 1
 *     per column of B  block 0 x 1               scales 1 x n
 *     MXFP4 B          block 32 x 1, F4E2M1      scales k/32 x n of E8M0
 *     NVFP4 B          block 16 x 1, F4E2M1      scales k/16 x n of F8E4M3, global scale in alpha
 *     Q8_0, Q4_0       the type holds its scales; no rung_quantization is needed
 *
 * No kernel of this version supports quantization: a problem that has one is
 * RUNG_STATUS_UNSUPPORTED. */
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

/* D = activation(alpha * A * B + beta * C + bias) + residual
 *
 * A is m x k, B is k x n; C, D, bias and residual are m x n. Every size may be 0 or 1. With
 * alpha = 0, A and B are not read; with beta = 0, C is not read: a NaN there has no effect.
 * With beta = 0 and a D, C is ignored and may be absent; a plan that is created so runs with
 * beta = 0 only.
 *
 * A batch is `batch` multiplications of the same form that run as one unit of work; see
 * rung_matrix for the addresses of the items. An A or a B with batch_stride 0 serves all items.
 * The batch_offsets of the output, D or C, ascend.
 *
 * Create a problem with rung_problem_of() and set the fields that you need:
 *
 *     rung_problem problem = rung_problem_of(a, b, c);
 *     problem.activation = RUNG_ACTIVATION_SILU;
 *     rung_status status = rung_multiply(NULL, &problem, NULL); */
typedef struct rung_problem {
    size_t          size;       /* set by rung_problem_of() */
    double          alpha;      /* 1 */
    double          beta;       /* 0 */
    rung_matrix     a, b;       /* this version supports equal types only */
    rung_matrix     c;          /* read if beta is not 0; written if D is absent */
    rung_matrix     d;          /* absent: the result is stored in C. D and C have the same type in
                                 * this version; they may not overlap unless they are the same view */
    int64_t         batch;      /* number of items, 1; 0 is one item as well */
    rung_compute    compute;    /* RUNG_COMPUTE_STRICT */
    rung_activation activation; /* RUNG_ACTIVATION_NONE */
    rung_matrix     bias;       /* absent, or D's type; usually broadcast; no batch_offsets */
    rung_matrix     residual;   /* absent, or D's type; no batch_offsets */
    const rung_quantization *a_quantization, *b_quantization, *d_quantization; /* NULL: none */
} rung_problem;

/* Returns the problem C = A * B, with the defaults that are listed in rung_problem. */
static inline rung_problem rung_problem_of(rung_matrix a, rung_matrix b, rung_matrix c)
{
    rung_problem problem;
    memset(&problem, 0, sizeof problem);
    problem.size = sizeof problem;
    problem.alpha = 1.0;
    problem.a = a;
    problem.b = b;
    problem.c = c;
    problem.batch = 1;
    return problem;
}

/* Checks a problem without running it: shapes match, no size overflows, every view lies inside
 * its buffer, and the output overlaps neither itself nor an input. Every call that computes
 * makes the same checks. Views of one row- or column-major parent matrix are compared exactly;
 * other views overlap if their address ranges do. Items of a batched output also count as
 * overlapping if the address range of one meets those of more than 64 others, unless one of the
 * three strides exceeds the span of the other two.
 *
 * Whether a device has a kernel for the problem is decided by rung_plan_create(). */
RUNG_API rung_status rung_problem_check(const rung_problem *problem);

/* ---- One call ------------------------------------------------------------------ */

/* Multiplies matrices in memory and returns when C is there. It runs on the
 * context's own device (see rung_context_options), copying to it and back where
 * it has memory of its own. The context may be NULL: the default one. On the CPU it
 * keeps the plans of the last calls, for those of the same form that follow.
 *
 * Where there is much to copy, C is cut into panels, of rows, of columns or of a batch's
 * items, so that one is copied while another is computed. The environment's RUNG_STATUS_ALIASED,
 * read when the context is made, says from how many bytes of operands on: 32 MiB unless
 * it is set, never if it is 0. Small panels may be summed by another kernel than the whole
 * would have been, within the same bounds. */
RUNG_API rung_status rung_gemm(rung_context *context, double alpha, rung_matrix a, rung_matrix b,
                               double beta, rung_matrix c);

typedef struct rung_multiply_options {
    size_t  size;    /* set by rung_multiply_options_default() */
    int64_t threads; /* CPU: maximum number of threads, including the calling thread, 1 to 8192; 0: the
                      * context's. Other devices ignore it */
} rung_multiply_options;

static inline rung_multiply_options rung_multiply_options_default(void)
{
    rung_multiply_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Does the same for any problem. `options` may be NULL. The number of threads does not change the
 * bits of the result; see rung_context_create(). */
RUNG_API rung_status rung_multiply(rung_context *context, const rung_problem *problem,
                                   const rung_multiply_options *options);

/* ---- Context ------------------------------------------------------------------- */

/* Allocates `bytes` (> 0) aligned to `alignment`, a power of two; NULL if it
 * cannot. The release function gets what the allocate function gave. Neither may
 * call the library. Several threads may call both at once, among them threads of the library. */
typedef void *(*rung_allocate_function)(void *user, size_t bytes, size_t alignment);
typedef void (*rung_release_function)(void *user, void *memory);

/* Gets one line of the log, without a newline. */
typedef void (*rung_log_function)(void *user, const char *line);

/* A piece of work of rung_gemm or rung_multiply: "A up" to the device and "C down" from
 * it, "pack" and "unpack" in this process's memory, or a kernel by its name. */
typedef struct rung_span {
    const char *name;       /* until the function returns */
    int64_t     queue;      /* 0, 1 or 2; -1: this process */
    int64_t     start, end; /* nanoseconds from the call's start */
    int64_t     bytes;      /* that were copied, 0 for a kernel */
} rung_span;

/* Gets one span. It is called for each of a call's, in no order of time, by the thread
 * that made the call, after the work and before the call returns; a call that failed
 * tells none. */
typedef void (*rung_span_function)(void *user, const rung_span *span);

/* All zero is the default. */
typedef struct rung_context_options {
    size_t                 size;     /* set by rung_context_options_default() */
    const char            *device;   /* of rung_gemm and rung_multiply; NULL: $RUNG_DEVICE, else "cpu" */
    int64_t                threads;  /* CPU: maximum number of threads per multiplication, including the
                                      * calling thread; 0: $RUNG_THREADS, else the available CPUs */
    int                    verbose;  /* 0: $RUNG_VERBOSE; 1 or 2: that level; -1: silent */
    rung_log_function      log;      /* NULL: standard error */
    void                  *log_user;
    rung_allocate_function allocate; /* NULL: the C library's; set both or neither */
    rung_release_function  release;
    void                  *memory_user;
    rung_span_function     span;     /* NULL: no timeline */
    void                  *span_user;
} rung_context_options;

static inline rung_context_options rung_context_options_default(void)
{
    rung_context_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* A context owns devices, compiled code and the log. NULL stands for the default
 * context wherever one is taken; it is made at its first use with default options
 * and lives as long as the process.
 *
 * On the CPU a large multiply is cut between threads, of the context's and the caller's
 * own: C alone, never k, so that the result has the same bits for any number of them. One
 * exception: an element that is NaN is NaN for any number of threads, but its sign and its
 * payload may differ, since IEEE 754 leaves open which of several NaN an operation returns.
 * Callers do not wait for threads that are helping another. (00_vendor is cut by its own rules.)
 * Block sizes are derived from the processor's caches when the device is opened; the
 * environment's RUNG_CPU_CACHES ("32K,256K,8M/4": L1, L2, L3 and the cores that share the
 * L3) overrides the detected sizes. Other block sizes may give other bits.
 *
 * Verbose 1 writes a line for each multiply: the time it took, the device, the
 * kernel, where its parameters came from, the `rung verify` command that runs the
 * same problem again, and which kernels and tuning records were refused and why. Work
 * on a queue is told when it is done and the queue is next used or finished. Verbose 2
 * adds a line for each kernel compiled and each library that was not found.
 *
 * Each environment variable of the library whose value is invalid is reported when a context is
 * made, at verbose 1 and above; a context that has a log function gets the report at verbose 0
 * too. Such a variable counts as unset, except that an invalid RUNG_DEVICE or RUNG_CPU_VENDOR
 * makes the calls fail that need it. */
RUNG_API rung_status rung_context_create(const rung_context_options *options,
                                         rung_context **context);
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
    int64_t compute_units;
    int64_t warp_size;               /* threads per warp */
    int64_t max_threads_per_unit;
    int64_t max_threads_per_block;
    int64_t registers_per_block;
    int64_t registers_per_unit;
    int64_t shared_bytes_per_block;
    int64_t shared_bytes_per_unit;
    int64_t last_level_cache_bytes;
    int64_t clock_khz;
    int64_t memory_clock_khz;
    int64_t memory_bus_bits;
    int64_t memory_bytes;
    int64_t max_buffer_bytes;
    int64_t memory_bandwidth;        /* bytes per second, computed */
    int64_t peak_f32;                /* FLOP per second, computed */
} rung_device_info;

/* Lists the devices of every backend, found anew by each call. A backend without a device has
 * one entry whose `missing` says why.
 *
 *     rung_device_list *list;
 *     if (rung_device_list_create(NULL, &list) == RUNG_OK)
 *         for (int64_t i = 0; i < rung_device_list_count(list); i++)
 *             puts(rung_device_list_at(list, i)->name);
 *     rung_device_list_destroy(list);
 *
 * Entries live as long as the list. An index outside the list gives NULL. */
typedef struct rung_device_list rung_device_list;

RUNG_API rung_status             rung_device_list_create(rung_context *context, rung_device_list **list);
RUNG_API int64_t                 rung_device_list_count(const rung_device_list *list);
RUNG_API const rung_device_info *rung_device_list_at(const rung_device_list *list, int64_t index);
RUNG_API void                    rung_device_list_destroy(rung_device_list *list);

/* A library or tool that a backend uses if it is installed: compilers, vendor libraries,
 * kernels compiled into this library. */
typedef struct rung_dependency {
    const char *backend; /* "cuda" */
    const char *name;    /* "NVRTC" */
    const char *found;   /* its version and path; "" if it was not found */
    const char *purpose; /* what it enables */
    const char *install; /* what to install */
} rung_dependency;

/* Lists the dependencies of every backend, like rung_device_list; no driver is needed. */
typedef struct rung_dependency_list rung_dependency_list;

RUNG_API rung_status            rung_dependency_list_create(rung_context *context, rung_dependency_list **list);
RUNG_API int64_t                rung_dependency_list_count(const rung_dependency_list *list);
RUNG_API const rung_dependency *rung_dependency_list_at(const rung_dependency_list *list, int64_t index);
RUNG_API void                   rung_dependency_list_destroy(rung_dependency_list *list);

/* Opens "cpu", "opencl" (the first GPU, else the first device), "opencl:1", "cuda" or
 * "cuda:1"; NULL is the context's device. A CUDA device does not survive a fork: in the child
 * its calls return RUNG_STATUS_DEVICE_LOST. */
RUNG_API rung_status rung_device_open(rung_context *context, const char *name, rung_device **device);
RUNG_API void        rung_device_close(rung_device *device);

/* Returns the properties of the device, valid until it is closed. */
RUNG_API const rung_device_info *rung_device_describe(const rung_device *device);

/* Returns the context in which the device was opened. */
RUNG_API rung_context *rung_device_context(const rung_device *device);

/* ---- Queues, events, buffers ------------------------------------------------------ */

/* Work on a queue is done in the order it was given. */
RUNG_API rung_status rung_queue_create(rung_device *device, rung_queue **queue);
RUNG_API rung_status rung_queue_finish(rung_queue *queue);
RUNG_API void        rung_queue_destroy(rung_queue *queue);

/* An event is made once and may be signalled many times; it stands for the last
 * piece of work that was given it in rung_run_options. Waiting on one that was
 * never signalled returns at once. */
RUNG_API rung_status rung_event_create(rung_device *device, rung_event **event);
RUNG_API rung_status rung_event_wait(rung_event *event);
RUNG_API void        rung_event_destroy(rung_event *event);

/* How long the device worked on it, in nanoseconds, after waiting for it; copying
 * and computing are timed alike, waiting in the queue is not counted. On CUDA it counts
 * from where the queue came to it: if the queue was idle, handing the work over counts too. */
RUNG_API rung_status rung_event_time(rung_event *event, int64_t *nanoseconds);

/* What any piece of work may be given; NULL stands for all zero. */
typedef struct rung_run_options {
    size_t             size;       /* set by rung_run_options_default() */
    rung_event *const *wait;       /* start after these events, at most 64 */
    int64_t            wait_count;
    rung_event        *signal;     /* signal this event when done */
    rung_buffer       *workspace;  /* plans: at least rung_plan_info.workspace_bytes, 16-byte aligned, not
                                    * used by an operand or another run in flight */
    rung_buffer       *packed_b;   /* plans with packed_b: B as packed by rung_plan_pack_b() */
    int64_t            threads;    /* CPU: at most this many threads of those the plan has; 0: all. Other
                                    * devices ignore it */
} rung_run_options;

static inline rung_run_options rung_run_options_default(void)
{
    rung_run_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Memory of a device; on the CPU it is memory of this process. A buffer of 0
 * bytes is fine. */
RUNG_API rung_status rung_buffer_create(rung_device *device, int64_t bytes, rung_buffer **buffer);
RUNG_API void        rung_buffer_destroy(rung_buffer *buffer);

/* Copies between memory and a buffer, beginning `offset` bytes into it. They may
 * return at once: the memory must stay as it is until the queue has come past. */
RUNG_API rung_status rung_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset,
                                       int64_t bytes, const void *from,
                                       const rung_run_options *options);
RUNG_API rung_status rung_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset,
                                      int64_t bytes, void *to, const rung_run_options *options);

/* ---- The caller's own objects ------------------------------------------------------ */

/* rung runs on what the caller already has. A wrapped object is used, retained
 * while in use where its interface counts references, and never destroyed.
 *
 *   backend   device                       queue             event     buffer
 *   cpu       -                            -                 -         a pointer
 *   opencl    cl_context, cl_device_id     cl_command_queue  cl_event  cl_mem
 *   cuda      CUcontext, NULL              CUstream          CUevent   CUdeviceptr
 *
 * A wrapped cl_command_queue must be an in-order one, and tells times only if it was made
 * with profiling. A wrapped buffer begins `offset` bytes into the caller's.
 *
 * CUDA: every call leaves the CUcontext current that was. A cudaStream_t is a CUstream; for
 * stream 0 give CU_STREAM_LEGACY, (CUstream)0x1, and do not give CU_STREAM_PER_THREAD, which
 * is another stream in every thread. Queues of rung_queue_create do not wait for stream 0. A
 * wrapped CUevent is recorded when it is signalled, and tells times unless it was made with
 * CU_EVENT_DISABLE_TIMING. Running a plan on a CUstream that is being captured adds it to the
 * graph and is not logged; make the plan before, destroy no queue or event during the capture,
 * and keep the plan, its device, the workspace and batch_offsets as long as the graph. */
RUNG_API rung_status rung_device_wrap(rung_context *context, const char *backend,
                                      void *native_context, void *native_device,
                                      rung_device **device);
RUNG_API rung_status rung_queue_wrap(rung_device *device, void *native, rung_queue **queue);
RUNG_API rung_status rung_event_wrap(rung_device *device, void *native, rung_event **event);
RUNG_API rung_status rung_buffer_wrap(rung_device *device, void *native, int64_t offset,
                                      int64_t bytes, rung_buffer **buffer);

/* And the other way: the object underneath, NULL where there is none. An event's
 * is the one of its last signal, and is released at its next. */
RUNG_API void *rung_queue_native(const rung_queue *queue);
RUNG_API void *rung_event_native(const rung_event *event);
RUNG_API void *rung_buffer_native(const rung_buffer *buffer);

/* ---- Kernels ---------------------------------------------------------------------- */

/* A kernel is one rung of the ladder on one backend, or a file of the caller. Its source text
 * declares its parameters and constraints:
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
 * Comment lines restrict what it is used for:
 *
 *     // takes: f32,f16:f32                   types of A and B, and of C; default: all
 *     // takes: bf16 from sm_80               types that need a newer NVIDIA GPU
 *     // computes: tf32                       precision for F32 inputs; default: strict
 *     // preset small: BM=64,BN=64            named parameters
 *
 * Presets with these names replace the defaults: "cpu" on OpenCL devices that are processors,
 * "f64" and "i32" for that accumulator type, "cpu_f64" for both, "sm_75" on that NVIDIA
 * architecture. "small" ("cpu_small", "sm_75_small") is used where it leaves less than half
 * as much of its tiles unused. */

/* A parameter of a kernel. */
typedef struct rung_parameter {
    const char    *name;
    int64_t        value;        /* the default */
    const int64_t *choices;      /* values worth trying; other values are allowed */
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

/* Bytes that hold any list of parameters ("TILE=16,UNROLL=4") with its terminating 0. A longer
 * list is RUNG_STATUS_INVALID. */
enum { RUNG_PARAMETERS_TEXT = 688 };

/* Bits of rung_kernel_info.abilities. */
enum {
    RUNG_ABILITY_BATCH_OFFSETS = 1, /* batches with batch_offsets */
    RUNG_ABILITY_EPILOGUE      = 2, /* bias, activation, residual */
    RUNG_ABILITY_SPLIT_K       = 4,
    RUNG_ABILITY_PACKED_B      = 8
};

/* Whether a kernel uses the instructions of a matrix engine (tensor cores, AMX). An emulated
 * engine exists for verification on other devices. It is very slow, and the library selects it
 * only by name. */
typedef enum rung_engine {
    RUNG_ENGINE_NONE     = 0,
    RUNG_ENGINE_HARDWARE = 1,
    RUNG_ENGINE_EMULATED = 2
} rung_engine;

RUNG_API const char *rung_engine_name(rung_engine engine);

typedef struct rung_kernel_info {
    const char  *name;      /* "04_shared", or the name of the caller's file */
    int          number;    /* 4; 0 for a vendor library, which is selected only by name; -1 for a
                             * kernel of the caller */
    const char  *backend;   /* "cpu", "opencl", "cuda" */
    const char  *summary;   /* from its first comment line */
    const char  *file;      /* "04_shared.cu" */
    const char  *source;    /* the whole text */
    rung_compute compute;   /* precision for F32 inputs */
    rung_engine  engine;
    unsigned     abilities; /* RUNG_ABILITY_... bits */
    const char  *defaults;  /* all parameters with their default values, "TILE=32" */
    int64_t      parameter_count, constraint_count, preset_count;
} rung_kernel_info;

/* Return a kernel of a backend's ladder, by index or by name ("04_shared", or shorter: "4",
 * "04", "shared"); no device is needed. The kernel belongs to the context. An index past the
 * end is RUNG_STATUS_NOT_FOUND.
 *
 * The CPU has several vendor libraries: "00_vendor:mkl", "00_vendor:openblas",
 * "00_vendor:blis" and "00_vendor:onednn". "00_vendor" is the one that RUNG_CPU_VENDOR names,
 * else the first one found in the active Python environment or by the dynamic loader. Vendor
 * libraries multiply one problem at a time per process, with the plan's number of threads. */
RUNG_API rung_status rung_kernel_at(rung_context *context, const char *backend, int64_t index, rung_kernel **kernel);
RUNG_API rung_status rung_kernel_find(rung_context *context, const char *backend, const char *name,
                                      rung_kernel **kernel);

/* Creates a kernel from source text in the dialect of src/simt/kernels/dialect.h. `file` is
 * its name in messages. rung_kernel_destroy() ignores kernels that belong to the context. */
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

/* Checks parameters, "TILE=16,UNROLL=4", against the constraints of a kernel. A preset's name
 * stands for its parameters: "small,BK=8". Parameters that are not named keep their defaults;
 * NULL names none. Nothing is compiled. Elements count as 4 bytes; with larger elements a plan
 * may still find that the tiles do not fit. */
RUNG_API rung_status rung_kernel_check(const rung_kernel *kernel, const char *parameters);

/* Evaluates an expression over the kernel's parameters and macros, "BM * BN", for inputs of a
 * type. */
RUNG_API rung_status rung_kernel_evaluate(const rung_kernel *kernel, const char *parameters, rung_type in,
                                          const char *expression, int64_t *value);

/* Result of rung_kernel_compile(). */
typedef struct rung_code {
    int64_t     threads_per_block;
    int64_t     registers_per_thread;
    int64_t     shared_bytes_per_block; /* static and dynamic */
    int64_t     spill_bytes;            /* stores plus loads, as ptxas counts them */
    const char *parameters;             /* all of them, as used */
    const char *path;                   /* variant of the kernel for this problem: "general" serves any problem,
                                         * "wide" and "wide_guarded" load whole vectors; "-": it has one */
    const void *image;                  /* cubin with line information */
    int64_t     image_bytes;
} rung_code;

/* Compiles a kernel of the backend "cuda" for an NVIDIA architecture ("sm_86") exactly as a
 * plan for this problem would, without a GPU. NULL parameters select what the plan would. k is
 * not split, and the device's shared memory limit is not checked. Needs NVRTC (see
 * rung_dependency_list): RUNG_STATUS_NO_DEVICE if no NVRTC that knows the architecture is found. */
RUNG_API rung_status rung_kernel_compile(const rung_kernel *kernel, const rung_problem *problem,
                                         const char *parameters, const char *architecture, rung_code **code);
RUNG_API void        rung_code_destroy(rung_code *code);

/* ---- Plans --------------------------------------------------------------------------- */

/* A plan is made once for a problem, chooses and compiles its kernel, and runs
 * every problem of the same form: the same types, sizes, strides, batch, compute mode
 * and epilogue; data, offsets, alpha and beta may differ. When it is made, the views
 * need neither data nor buffer. One that was made for views that begin at multiples of
 * four elements or of 16 bytes, where each item of a batch does so too, may refuse others;
 * views without memory count as such.
 * With alpha = 0, a plan of a vendor's library runs a kernel of this library instead: not every
 * vendor leaves A and B unread then.
 *
 *     rung_device_open(NULL, "opencl", &device);
 *     rung_queue_create(device, &queue);
 *     rung_buffer_create(device, m * k * 4, &a_memory);           (b, c alike)
 *     rung_buffer_write(queue, a_memory, 0, m * k * 4, a_data, NULL);
 *     rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, m, k, a_memory, 0), ...);
 *     rung_plan_create(device, &problem, NULL, &plan);
 *     rung_plan_run(plan, queue, &problem, NULL);
 *     rung_buffer_read(queue, c_memory, 0, m * n * 4, c_data, NULL);
 *     rung_queue_finish(queue);
 *
 * On the CPU the views may have data as well as buffers. */
typedef struct rung_plan_options {
    size_t             size;                /* set by rung_plan_options_default() */
    const rung_kernel *kernel;              /* NULL: selected by the library */
    const char        *parameters;          /* "TILE=16"; NULL: selected by the library */
    int64_t            split_k;             /* number of slices, at most; 0: selected by the library ... */
    int64_t            max_workspace_bytes; /* ... as long as they need no more workspace than this */
    int64_t            threads;             /* CPU: maximum number of threads, including the calling thread;
                                             * 0: the context's */
    int                packed_b;            /* not 0: B is packed, see rung_plan_pack_b() */
    int                shared_carveout;     /* CUDA: percent of the L1 cache used as shared memory, 1 to
                                             * 100; 0: selected by the driver */
} rung_plan_options;

static inline rung_plan_options rung_plan_options_default(void)
{
    rung_plan_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/* Where C has few tiles and k is long, k is cut into shares that are summed side by
 * side, into a workspace, and added up in a fixed order: the same bits every run. There may
 * be fewer shares than were asked for, since each is of whole steps along k. On devices
 * with memory of their own a batch by offsets needs a workspace too, offered or not; so
 * does an epilogue on a CUDA device where NVRTC is not found (rung_dependency_list), and a kernel
 * whose matrix engine is emulated. */

/* Where the parameters of a plan came from. */
typedef enum rung_origin {
    RUNG_ORIGIN_DEFAULTS = 0,
    RUNG_ORIGIN_GIVEN    = 1, /* rung_plan_options.parameters */
    RUNG_ORIGIN_PRESET   = 2,
    RUNG_ORIGIN_TUNING   = 3, /* a record of a tuning file */
    RUNG_ORIGIN_FALLBACK = 4  /* the defaults with one parameter changed so that they fit the device */
} rung_origin;

typedef struct rung_plan_info {
    const char  *kernel;          /* "04_shared" */
    const char  *parameters;      /* all of them: "TILE=32"; "" if it has none */
    rung_origin  origin;
    const char  *origin_text;     /* "given", "defaults", "preset small", "/home/x/.config/rung/tuning:12" */
    const char  *rejected;        /* "12_matrix: takes f16 only; ...", or ""; see also "Candidates" */
    rung_compute compute;         /* as requested, or more precise */
    int64_t      workspace_bytes; /* required in rung_run_options.workspace; 0: none. Besides split-K,
                                   * batch_offsets on devices with their own memory, emulated engines, and
                                   * epilogues on CUDA without NVRTC need a workspace */
    int64_t      split_k;         /* slices of k; 1: not split */
    int64_t      blocks;          /* of the launch, all items and slices; 0 on the CPU */
    int64_t      threads;         /* per block; on the CPU, all threads of the plan */
    const char  *library;         /* vendor library: "MKL 2026.2, /usr/lib/libmkl_rt.so.3"; else "" */
    const char  *warning;         /* why the speed of a vendor library is not representative here; else "" */
    int64_t      packed_b_bytes;  /* size of a packed B; 0 without packed_b */
} rung_plan_info;

RUNG_API rung_status rung_plan_create(rung_device *device, const rung_problem *problem,
                                      const rung_plan_options *options, rung_plan **plan);
RUNG_API void        rung_plan_destroy(rung_plan *plan);

RUNG_API const rung_plan_info *rung_plan_describe(const rung_plan *plan);

/* Puts the multiply on the queue and returns; on the CPU device it is done by
 * then. */
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
 * epilogue and the number of threads may differ. All items of a batch share B. A run reads only
 * the form of the problem's B; its memory may be gone.
 *
 * The packed data begin with a header, which every run compares with its plan; a buffer with
 * other contents is RUNG_STATUS_INVALID. The elements themselves are not checked.
 *
 * Only the CPU supports packed operands in this version; on other devices a plan with packed_b
 * is RUNG_STATUS_UNSUPPORTED. */
RUNG_API rung_status rung_plan_pack_b(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                                      const rung_run_options *options);

/* Save a packed B in a file, and create a buffer with the packed B of a file. Both return when
 * the file is complete or the buffer is filled.
 *
 *     rung_packed_save(plan, queue, weights, "weights.packed");
 *
 *     rung_packed_load(plan, queue, "weights.packed", &weights);   (in another process)
 *     run.packed_b = weights;
 *
 * A file is for the machine that saved it and for machines with the same instruction sets,
 * caches and byte order: others may select another kernel or layout. So keep B itself, and be
 * prepared to pack it again.
 *
 * rung_packed_save() writes under a temporary name in the same folder, syncs and renames: the
 * path holds the old file or the whole new one. A symbolic link is followed. A file that cannot
 * be written, a directory and a special file are RUNG_STATUS_IO; the text names the reason. A
 * buffer that does not hold a packed B of this plan is RUNG_STATUS_INVALID.
 *
 * rung_packed_load() compares the file with the plan before it allocates memory.
 *
 *     RUNG_STATUS_NOT_FOUND   there is no such file
 *     RUNG_STATUS_INVALID     the file was packed for another kernel, layout, type, k or n, was
 *                             saved by a version with another format, or is not a packed B; the
 *                             text names each difference
 *     RUNG_STATUS_IO          the file cannot be read, or a checksum shows that it is damaged
 *
 * After RUNG_STATUS_INVALID or a damaged file, pack B again. The checksum finds accidental
 * damage, not changes made on purpose. */
RUNG_API rung_status rung_packed_save(rung_plan *plan, rung_queue *queue, rung_buffer *packed, const char *path);
RUNG_API rung_status rung_packed_load(rung_plan *plan, rung_queue *queue, const char *path, rung_buffer **packed);

/* ---- Candidates ----------------------------------------------------------------------- */

/* One way to run a problem on a device. */
typedef struct rung_candidate {
    const char *kernel;       /* "10_pipeline" */
    const char *parameters;   /* all of them; "" if they could not be determined */
    rung_origin origin;
    const char *origin_text;  /* as in rung_plan_info */
    rung_status status;       /* RUNG_OK: a plan can be created; else why not: RUNG_STATUS_UNSUPPORTED, ... */
    const char *reason;       /* "" or a sentence; a compiler's log follows if there is one */
    int64_t     threads;      /* per block; 0 on the CPU, or if they could not be determined */
    int64_t     shared_bytes; /* shared memory per block; likewise */
} rung_candidate;

/* Lists every kernel of the device's ladder for a problem, in the order in which
 * rung_plan_create() prefers them: the first entry with RUNG_OK is what it selects. Rejected
 * kernels follow with their reasons; kernels of vendor libraries and emulated engines are among
 * them, because they are selected only by name. A tuning record is an entry of its own, so that
 * its kernel may be listed twice.
 *
 *     rung_candidate_list_create(device, &problem, NULL, &list);
 *     for (int64_t i = 0; i < rung_candidate_list_count(list); i++) {
 *         const rung_candidate *candidate = rung_candidate_list_at(list, i);
 *         printf("%s %s %s\n", candidate->kernel, candidate->parameters, candidate->reason);
 *     }
 *     rung_candidate_list_destroy(list);
 *
 * Creating the list compiles every kernel, which takes seconds on a GPU whose code is not
 * cached. `options` as for rung_plan_create(); a given kernel restricts the list to it. A kernel
 * that does not compile is an entry; the call fails if the problem or the options are invalid,
 * if memory is short or if the device is lost. An index outside the list gives NULL. */
typedef struct rung_candidate_list rung_candidate_list;

RUNG_API rung_status           rung_candidate_list_create(rung_device *device, const rung_problem *problem,
                                                          const rung_plan_options *options,
                                                          rung_candidate_list **list);
RUNG_API int64_t               rung_candidate_list_count(const rung_candidate_list *list);
RUNG_API const rung_candidate *rung_candidate_list_at(const rung_candidate_list *list, int64_t index);
RUNG_API void                  rung_candidate_list_destroy(rung_candidate_list *list);

/* ---- Tuning --------------------------------------------------------------------------- */

/* Tuning files record the fastest kernel and parameters measured on a device. They are text
 * with one record per line. A context reads up to three files at its first plan without a given
 * kernel; a later file takes precedence:
 *
 *     the system's   /etc/rung/tuning (a build option)
 *     the user's     $XDG_CONFIG_HOME/rung/tuning, else ~/.config/rung/tuning
 *     RUNG_TUNING    a path; "off" or empty: read no file
 *
 * A record applies to problems of the same device, compute units, driver, types, compute mode
 * and layout, with m, n and k in the same size classes (up to 16, 64, 256, 1024, 4096, larger),
 * and with or without a batch. A record that does not fit is rejected like a kernel; a line
 * that is not a record is ignored. A damaged or foreign file costs speed at most. */
typedef struct rung_tuning {
    size_t      size;       /* set by rung_tuning_default() */
    const char *kernel;     /* "07_tile2d" */
    const char *parameters; /* all of them: "BM=64,BN=64,..." */
    double      gflops;     /* as measured; 0: unknown */
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
    int64_t     tried, total;  /* candidates tried so far, and planned so far; the search plans more as it goes */
    const char *kernel;        /* measured last */
    const char *parameters;
    double      gflops;        /* its speed; 0 if it was rejected */
    double      best_gflops;
} rung_tune_progress;

typedef struct rung_tune_options {
    size_t             size;    /* set by rung_tune_options_default() */
    double             seconds; /* time limit; 0: 10 */
    const rung_kernel *kernel;  /* NULL: all kernels of the ladder */
    const char        *path;    /* file for the record; NULL: the user's tuning file; "": none */
    int (*progress)(void *user, const rung_tune_progress *progress); /* not 0: stop; may be NULL */
    void              *user;
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
    const char *kernel;          /* the fastest */
    const char *parameters;
    double      gflops;
    double      untuned_gflops;  /* of the plan without tuning, measured in the same run */
    int64_t     tried;           /* candidates measured */
    int64_t     rejected;        /* candidates that did not run, or gave a wrong result */
    int         saved;           /* 1: a record was written */
} rung_tune_report;

/* Finds the fastest kernel and parameters for a problem on a device and saves them, so that
 * later plans for similar problems use them. The problem needs sizes and strides only: rung_tune
 * allocates its own operands, and runs with alpha 1 and beta 0, or 1 if the problem's is not 0.
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
 * is exact: results must be equal (after GELU and the like, equal up to rounding). Of a large C,
 * rows and columns at equal steps are compared.
 *
 * A record is saved only if it is at least 3 percent faster. A kernel of the caller's own is
 * measured but not saved, because other programs lack it; a kernel that is selected only by name
 * is RUNG_STATUS_UNSUPPORTED. The call takes `seconds`, plus at most the time of one candidate
 * and of a short final comparison. A call that `progress` stops saves the best result so far and
 * returns RUNG_OK. `report` may be NULL. RUNG_STATUS_INVALID if m, n or k is 0. */
RUNG_API rung_status rung_tune(rung_device *device, const rung_problem *problem, const rung_tune_options *options,
                               rung_tune_report **report);
RUNG_API void        rung_tune_report_destroy(rung_tune_report *report);

/* Writes the key of a problem's tuning record as text. RUNG_STATUS_TOO_LARGE if it does not fit. */
RUNG_API rung_status rung_tuning_key(const rung_device *device, const rung_problem *problem, char *text,
                                     size_t capacity);

/* Saves a record for problems like this one in the file `path` (NULL: the user's). A record with
 * the same key is replaced; other lines stay. The file is replaced atomically under a lock file,
 * PATH.lock; other processes wait at most 10 seconds for the lock. The device's context uses the
 * record from now on. Unknown kernels, kernels less precise than the problem requests, and
 * parameters below half the smallest or above twice the largest listed value are rejected. */
RUNG_API rung_status rung_tuning_save(rung_device *device, const rung_problem *problem, const rung_tuning *tuning,
                                      const char *path);

/* Removes the records for problems like this one from the file `path` (NULL: the user's).
 * `removed` receives their number and may be NULL. A missing file has none. */
RUNG_API rung_status rung_tuning_remove(rung_device *device, const rung_problem *problem, const char *path,
                                        int64_t *removed);

/* Copies the records of one file into another, which is created if necessary. Of two records with
 * the same key, the faster stays. `changed` receives the number of lines added or replaced and
 * may be NULL. */
RUNG_API rung_status rung_tuning_merge(rung_context *context, const char *from, const char *into, int64_t *changed);

/* Writes the path of the user's tuning file, whether or not it exists. */
RUNG_API rung_status rung_tuning_path(rung_context *context, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* RUNG_H */
