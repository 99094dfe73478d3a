/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublas.c - a fake libcublas: its calls, its checks, and products on the host.
 *
 * This is a mock, like the driver beside it (src/emulator/driver): it is column-major, refuses
 * what the manual says is refused, and works in its stream's order, as a function of the
 * host's there, so that it can be captured too. It says nothing of cuBLAS's speed nor of
 * the order in which it adds. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "fake_cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault_injection.h"

enum { VERSION = 120900, MAJOR = 75, MINOR = 76, INT8_SINCE = 61, TF32_SINCE = 80 };

/* A product to come, or, in a graph, to come again and again. */
typedef struct cublas_job {
    blas_gemm_t gemm;
    double alpha, beta; /* the bytes of whatever type they are */
    long long stridea, strideb, stridec;
    int batch;
    bool once;
    struct cublas_job *next;
} cublas_job_t;

struct cublasContext {
    void *context;          /* the one it was made in */
    cublas_job_t *captured; /* of graphs, which end with the handle */
    void *stream;
    int architecture;
    struct cublasContext *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cublasHandle_t handles; /* those that live */
static int last_compute;
static faults_t injected = {.variable = "RUNG_EMULATED_FAULT"};

/* ---- Calls ---------------------------------------------------------------------------------------- */

/* clang-format off */
#define SYMBOL_LIST(X)                                                                            \
    X(cublasCreate_v2) X(cublasDestroy_v2) X(cublasSetStream_v2) X(cublasSetMathMode)             \
    X(cublasSetWorkspace_v2) X(cublasGetVersion_v2) X(cublasGemmEx) X(cublasGemmStridedBatchedEx)
/* clang-format on */

static struct {
    const char *symbol;
    long calls;
} counts[] = {
#define X(name) {#name, 0},
    SYMBOL_LIST(X)
#undef X
};

enum { SYMBOLS = sizeof counts / sizeof *counts };

/* Under the lock. */
static int begin(const char *symbol)
{
    for (int i = 0; i < SYMBOLS; i++)
        if (strcmp(counts[i].symbol, symbol) == 0)
            counts[i].calls++;
    return faults_next(&injected, symbol);
}

long rung_fake_cublas_call_count(const char *symbol)
{
    long calls = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SYMBOLS; i++)
        if (strcmp(counts[i].symbol, symbol) == 0)
            calls = counts[i].calls;
    pthread_mutex_unlock(&lock);
    return calls;
}

long rung_fake_cublas_last_compute(void)
{
    pthread_mutex_lock(&lock);
    long compute = last_compute;
    pthread_mutex_unlock(&lock);
    return compute;
}

long rung_fake_cublas_live_handles(void)
{
    long count = 0;
    pthread_mutex_lock(&lock);
    for (cublasHandle_t at = handles; at; at = at->next)
        count++;
    pthread_mutex_unlock(&lock);
    return count;
}

/* ---- The driver ------------------------------------------------------------------------------------- */

typedef struct driver {
    int (*current)(void **context);
    int (*device)(int *device);
    int (*attribute)(int *value, int what, int device);
    int (*launch)(void *stream, void (*function)(void *), void *user);
    int (*is_capturing)(void *stream, int *status);
    void *(*host_address)(unsigned long long address, size_t bytes); /* of device memory; the emulated driver's own */
} driver_t;

static bool find(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

/* The one that the process has loaded. cuBLAS loads one if there is none; so do we. */
static bool find_driver(driver_t *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    return library && find(library, "cuCtxGetCurrent", &driver->current) &&
           find(library, "cuCtxGetDevice", &driver->device) &&
           find(library, "cuDeviceGetAttribute", &driver->attribute) &&
           find(library, "cuLaunchHostFunc", &driver->launch) &&
           find(library, "cuStreamIsCapturing", &driver->is_capturing) &&
           find(library, "rung_emulated_host_address", &driver->host_address);
}

/* ---- Handles ---------------------------------------------------------------------------------------- */

static bool lives(cublasHandle_t handle)
{
    for (cublasHandle_t at = handles; at; at = at->next)
        if (at == handle)
            return true;
    return false;
}

static int create(cublasHandle_t *out)
{
    driver_t driver;
    void *context = NULL;
    int device, major, minor;
    if (!out)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!find_driver(&driver) || driver.current(&context) != 0 || !context || driver.device(&device) != 0 ||
        driver.attribute(&major, MAJOR, device) != 0 || driver.attribute(&minor, MINOR, device) != 0)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    cublasHandle_t handle = calloc(1, sizeof *handle);
    if (!handle)
        return CUBLAS_STATUS_ALLOC_FAILED;
    handle->context = context;
    handle->architecture = major * 10 + minor;
    handle->next = handles;
    handles = handle;
    *out = handle;
    return CUBLAS_STATUS_SUCCESS;
}

int cublasCreate_v2(cublasHandle_t *handle)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* cuBLAS takes longer */
    pthread_mutex_lock(&lock);
    int status = begin("cublasCreate_v2");
    if (status == CUBLAS_STATUS_SUCCESS)
        status = create(handle);
    pthread_mutex_unlock(&lock);
    return status;
}

static void free_jobs(cublas_job_t *job)
{
    for (struct cublas_job *next; job; job = next) {
        next = job->next;
        free(job);
    }
}

int cublasDestroy_v2(cublasHandle_t handle)
{
    pthread_mutex_lock(&lock);
    int status = begin("cublasDestroy_v2");
    if (status == CUBLAS_STATUS_SUCCESS && !lives(handle))
        status = CUBLAS_STATUS_NOT_INITIALIZED;
    if (status == CUBLAS_STATUS_SUCCESS) {
        cublasHandle_t *at = &handles;
        while (*at != handle)
            at = &(*at)->next;
        *at = handle->next;
        free_jobs(handle->captured);
        free(handle);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* A call that needs a handle and nothing of the driver. */
static int begin_with(const char *symbol, cublasHandle_t handle)
{
    int status = begin(symbol);
    return status != CUBLAS_STATUS_SUCCESS || lives(handle) ? status : CUBLAS_STATUS_NOT_INITIALIZED;
}

int cublasSetStream_v2(cublasHandle_t handle, void *stream)
{
    pthread_mutex_lock(&lock);
    int status = begin_with("cublasSetStream_v2", handle);
    if (status == CUBLAS_STATUS_SUCCESS)
        handle->stream = stream;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Modes are of no account here: GemmEx says what it computes in. */
int cublasSetMathMode(cublasHandle_t handle, int mode)
{
    pthread_mutex_lock(&lock);
    int status = begin_with("cublasSetMathMode", handle);
    if (status == CUBLAS_STATUS_SUCCESS && mode < 0)
        status = CUBLAS_STATUS_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return status;
}

int cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    pthread_mutex_lock(&lock);
    int status = begin_with("cublasSetWorkspace_v2", handle);
    if (status == CUBLAS_STATUS_SUCCESS && ((uintptr_t)workspace % 256 != 0 || (!workspace && bytes > 0)))
        status = CUBLAS_STATUS_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return status;
}

int cublasGetVersion_v2(cublasHandle_t handle, int *version)
{
    (void)handle; /* may be NULL */
    pthread_mutex_lock(&lock);
    int status = begin("cublasGetVersion_v2");
    if (status == CUBLAS_STATUS_SUCCESS && !version)
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS)
        *version = VERSION;
    pthread_mutex_unlock(&lock);
    return status;
}

const char *cublasGetStatusString(int status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED: return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE: return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return "the function requires an architectural feature absent from the architecture of the device";
    case CUBLAS_STATUS_MAPPING_ERROR: return "an access to GPU memory space failed";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "the GPU program failed to execute";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "an internal operation failed";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "the functionality requested is not supported";
    default: return "<unknown>";
    }
}

/* ---- What is supported ------------------------------------------------------------------------------ */

/* The manual's table of compute type, A and B, and C, less the complex rows. */
static const struct {
    int compute, in, out;
} supported[] = {
    {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_16F_PEDANTIC, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32I, CUDA_R_8I, CUDA_R_32I},
    {CUBLAS_COMPUTE_32I_PEDANTIC, CUDA_R_8I, CUDA_R_32I},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16BF, CUDA_R_16BF},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, CUDA_R_8I, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_8I, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16BF, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_16F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_EMULATED_16BFX9, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F},
    {CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_R_64F, CUDA_R_64F},
};

static bool is_supported(const blas_gemm_t *gemm)
{
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++)
        if (supported[i].compute == gemm->compute && supported[i].in == gemm->atype && gemm->btype == gemm->atype &&
            supported[i].out == gemm->ctype)
            return true;
    return false;
}

static int at_least_one(int n)
{
    return n > 1 ? n : 1;
}

static int check_sizes(const blas_gemm_t *gemm)
{
    int a_rows = gemm->transa == CUBLAS_OP_N ? gemm->m : gemm->k;
    int b_rows = gemm->transb == CUBLAS_OP_N ? gemm->k : gemm->n;
    bool good = gemm->m >= 0 && gemm->n >= 0 && gemm->k >= 0 && gemm->transa >= CUBLAS_OP_N &&
                gemm->transa <= CUBLAS_OP_C && gemm->transb >= CUBLAS_OP_N && gemm->transb <= CUBLAS_OP_C &&
                gemm->lda >= at_least_one(a_rows) && gemm->ldb >= at_least_one(b_rows) &&
                gemm->ldc >= at_least_one(gemm->m) && gemm->alpha && gemm->beta;
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

/* Whole numbers are taken by fours. */
static bool is_multiple_of_four(const blas_gemm_t *gemm)
{
    return gemm->lda % 4 == 0 && gemm->ldb % 4 == 0 && (uintptr_t)gemm->a % 4 == 0 && (uintptr_t)gemm->b % 4 == 0;
}

static int check(cublasHandle_t handle, blas_gemm_t *gemm)
{
    int status = check_sizes(gemm);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!is_supported(gemm))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (gemm->atype == CUDA_R_8I && handle->architecture < INT8_SINCE)
        return CUBLAS_STATUS_ARCH_MISMATCH;
    if (gemm->ctype == CUDA_R_32I && !is_multiple_of_four(gemm))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    /* Where there are no such units the fast modes are the usual one. */
    if (gemm->atype == CUDA_R_32F && handle->architecture < TF32_SINCE && gemm->compute != CUBLAS_COMPUTE_32F_FAST_16F)
        gemm->compute = CUBLAS_COMPUTE_32F;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Products --------------------------------------------------------------------------------------- */

static const void *item_of(const void *first, int type, long long stride, int item)
{
    return (const char *)first + (long long)blas_type_bytes(type) * stride * item;
}

/* Returns the host address of device memory. Matrices without elements may have none. */
static void *on_host(const driver_t *driver, const void *address)
{
    return driver->host_address((unsigned long long)(uintptr_t)address, 1);
}

/* Runs in the stream, where no caller waits for a status. */
static void run_job(void *opaque)
{
    cublas_job_t *job = opaque;
    driver_t driver;
    if (!find_driver(&driver))
        abort();
    for (int i = 0; i < job->batch; i++) {
        blas_gemm_t gemm = job->gemm;
        gemm.a = on_host(&driver, item_of(gemm.a, gemm.atype, job->stridea, i));
        gemm.b = on_host(&driver, item_of(gemm.b, gemm.btype, job->strideb, i));
        gemm.c = on_host(&driver, item_of(gemm.c, gemm.ctype, job->stridec, i));
        if (!blas_run(&gemm)) {
            fprintf(stderr, "emulated driver: out of memory for a product of cuBLAS\n");
            abort();
        }
    }
    if (job->once)
        free(job);
}

/* Scalars are read now, like the real one's with pointers to the host. */
static cublas_job_t *job_new(const blas_gemm_t *gemm, long long stridea, long long strideb, long long stridec,
                             int batch)
{
    cublas_job_t *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    *made = (cublas_job_t){.gemm = *gemm, .stridea = stridea, .strideb = strideb, .stridec = stridec, .batch = batch};
    memcpy(&made->alpha, gemm->alpha, blas_scalar_bytes(gemm->compute));
    memcpy(&made->beta, gemm->beta, blas_scalar_bytes(gemm->compute));
    made->gemm.alpha = &made->alpha;
    made->gemm.beta = &made->beta;
    return made;
}

/* In the context that the handle is of. Under the lock; takes the job over. */
static int submit(cublasHandle_t handle, cublas_job_t *job)
{
    driver_t driver;
    void *context = NULL;
    int capturing = 0, status = CUBLAS_STATUS_NOT_INITIALIZED;
    if (find_driver(&driver) && driver.current(&context) == 0 && context == handle->context) {
        bool good = driver.is_capturing(handle->stream, &capturing) == 0;
        job->once = !capturing;
        good = good && driver.launch(handle->stream, run_job, job) == 0;
        status = good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
    }
    if (status != CUBLAS_STATUS_SUCCESS) {
        free(job);
    } else if (capturing) {
        job->next = handle->captured;
        handle->captured = job;
    }
    return status;
}

static int multiply(const char *symbol, cublasHandle_t handle, blas_gemm_t gemm, long long stridea, long long strideb,
                    long long stridec, int batch)
{
    pthread_mutex_lock(&lock);
    int status = begin_with(symbol, handle);
    last_compute = gemm.compute;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = batch < 0 ? CUBLAS_STATUS_INVALID_VALUE : check(handle, &gemm);
    if (status == CUBLAS_STATUS_SUCCESS && gemm.ctype == CUDA_R_32I && batch > 1 &&
        (stridea % 4 != 0 || strideb % 4 != 0))
        status = CUBLAS_STATUS_NOT_SUPPORTED; /* items after the first are not aligned either */
    if (status == CUBLAS_STATUS_SUCCESS) {
        bool empty = gemm.m == 0 || gemm.n == 0;
        cublas_job_t *job = job_new(&gemm, stridea, strideb, stridec, empty ? 0 : batch);
        status = job ? submit(handle, job) : CUBLAS_STATUS_ALLOC_FAILED;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int cublasGemmStridedBatchedEx(cublasHandle_t handle, int transa, int transb, int m, int n, int k, const void *alpha,
                               const void *a, int atype, int lda, long long stridea, const void *b, int btype, int ldb,
                               long long strideb, const void *beta, void *c, int ctype, int ldc, long long stridec,
                               int batch, int compute, int algorithm)
{
    const blas_gemm_t gemm = {transa, transb, m,   n,     k,   alpha, a,   b,      beta,
                              c,      atype,  lda, btype, ldb, ctype, ldc, compute};
    (void)algorithm;
    return multiply("cublasGemmStridedBatchedEx", handle, gemm, stridea, strideb, stridec, batch);
}

int cublasGemmEx(cublasHandle_t handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a,
                 int atype, int lda, const void *b, int btype, int ldb, const void *beta, void *c, int ctype, int ldc,
                 int compute, int algorithm)
{
    const blas_gemm_t gemm = {transa, transb, m,   n,     k,   alpha, a,   b,      beta,
                              c,      atype,  lda, btype, ldb, ctype, ldc, compute};
    (void)algorithm;
    return multiply("cublasGemmEx", handle, gemm, 0, 0, 0, 1);
}
