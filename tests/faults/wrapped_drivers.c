/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped_drivers.c - libraries that cannot be opened, functions that they lack, and functions of OpenCL, CUDA, NVRTC and cuBLAS that
 * fail. rung finds these functions by dlsym, which returns a function of this file instead. Its arguments are passed on as machine
 * words: all are integers or pointers. */
#define _GNU_SOURCE
#include "fault_calls.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CALLER __builtin_return_address(0)

enum {
    WORDS = 20,
    FUNCTIONS_MAX = 128,
    CL_LOST = -36,
    CL_NO_MEMORY = -6,
    CU_LOST = 719,
    CU_NO_MEMORY = 2,
    BLAS_NO_MEMORY = 3,
    BLAS_FAILED = 13
};

typedef long words_t[WORDS];
typedef long (*driver_function)(long, long, long, long, long, long, long, long, long, long, long, long, long, long,
                                long, long, long, long, long, long);

/* ---- Functions ------------------------------------------------------------------------------------------------------- */

typedef struct function {
    char name[48];
    void *address;
    driver_function real;
    int error_argument; /* the index of errcode_ret, or -1 */
    int change;         /* of the number of objects that the driver holds */
    bool may_fail;
} function_t;

static function_t functions[FUNCTIONS_MAX];
static int function_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* OpenCL functions that return an object have a pointer to an error. */
static const struct {
    const char *name;
    int argument;
} error_arguments[] = {
    {"clCreateContext", 5}, {"clCreateCommandQueue", 3},      {"clCreateCommandQueueWithProperties", 3},
    {"clCreateBuffer", 4},  {"clCreateProgramWithSource", 4}, {"clCreateProgramWithBinary", 6},
    {"clCreateKernel", 2},  {"clCreateUserEvent", 1},         {"clEnqueueMapBuffer", 9},
};

static bool contains_any(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

static bool is_driver_function(const char *name)
{
    if (strncmp(name, "nvrtc", 5) == 0 || strncmp(name, "cublas", 6) == 0)
        return true;
    return (strncmp(name, "cl", 2) == 0 || strncmp(name, "cu", 2) == 0) && isupper((unsigned char)name[2]);
}

static bool is_cl(const function_t *function)
{
    return strncmp(function->name, "cl", 2) == 0;
}

/* OpenCL's events are made by arguments, and not counted. */
static int change_of(const char *name)
{
    static const char *const releases[] = {"Release", "Free", "Destroy", "Unload", NULL};
    static const char *const creates[] = {"Create", "Retain", "Alloc", "ModuleLoad", NULL};
    if (strncmp(name, "cl", 2) == 0 && strstr(name, "Event"))
        return 0;
    return contains_any(name, releases) ? -1 : contains_any(name, creates) ? 1 : 0;
}

/* A driver that does not take back cannot be made to. */
static void describe(function_t *function, const char *name, void *real)
{
    static const char *const safe[] = {"Release", "Free", "Destroy", "Unload", "Pop", "GetError", NULL};
    strncpy(function->name, name, sizeof function->name - 1);
    function->address = real;
    memcpy(&function->real, &real, sizeof real);
    function->error_argument = -1;
    for (size_t i = 0; i < sizeof error_arguments / sizeof *error_arguments; i++)
        if (strcmp(name, error_arguments[i].name) == 0)
            function->error_argument = error_arguments[i].argument;
    function->change = change_of(name);
    function->may_fail = !contains_any(name, safe);
}

/* Objects of CUDA end with their context. That is no excuse for a leak, unless the library could not enter the context to release
 * them: the device is lost, or it was the call to enter that failed. */
static void note_cuda_object(const function_t *function)
{
    static atomic_int contexts, objects;
    if (strncmp(function->name, "cu", 2) != 0)
        return;
    if (!strstr(function->name, "PrimaryCtx")) {
        atomic_fetch_add(&objects, function->change);
        return;
    }
    bool is_last = atomic_fetch_add(&contexts, function->change) + function->change == 0;
    if (is_last && fault_has_failed() && (fault_is_lasting() || strncmp(fault_record(), "cuCtxPush", 9) == 0))
        fault_note_driver_object(-atomic_exchange(&objects, 0));
}

static long error_of(const function_t *function)
{
    if (is_cl(function))
        return fault_is_lasting() ? CL_LOST : CL_NO_MEMORY;
    if (strncmp(function->name, "nvrtc", 5) == 0)
        return 1;
    if (strncmp(function->name, "cublas", 6) == 0)
        return fault_is_lasting() ? BLAS_FAILED : BLAS_NO_MEMORY;
    return fault_is_lasting() ? CU_LOST : CU_NO_MEMORY;
}

static long call(int index, words_t words, const void *caller)
{
    const function_t *function = &functions[index];
    if (function->may_fail && fault_hits(FAULT_DRIVERS, function->name, caller)) {
        if (function->error_argument < 0)
            return error_of(function);
        int *error = (int *)words[function->error_argument];
        if (error)
            *error = (int)error_of(function);
        return 0;
    }
    long result = function->real(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7],
                                 words[8], words[9], words[10], words[11], words[12], words[13], words[14], words[15],
                                 words[16], words[17], words[18], words[19]);
    bool has_worked = function->error_argument < 0 ? (int)result == 0 : result != 0;
    if (has_worked && function->change != 0 && fault_is_rung(caller)) {
        fault_note_driver_object(function->change);
        note_cuda_object(function);
    }
    return result;
}

/* ---- One function of this file for each function of a driver --------------------------------------------------------- */

#define STUB(i)                                                                                                  \
    static long stub_##i(long a, long b, long c, long d, long e, long f, long g, long h, long j, long k, long l, \
                         long m, long n, long o, long p, long q, long r, long s, long t, long u)                 \
    {                                                                                                            \
        words_t words = {a, b, c, d, e, f, g, h, j, k, l, m, n, o, p, q, r, s, t, u};                            \
        return call(0x##i, words, CALLER);                                                                       \
    }
#define NAME(i) stub_##i,
#define SIXTEEN(X, i) \
    X(i##0)           \
    X(i##1)           \
    X(i##2) X(i##3) X(i##4) X(i##5) X(i##6) X(i##7) X(i##8) X(i##9) X(i##A) X(i##B) X(i##C) X(i##D) X(i##E) X(i##F)
#define ALL(X) \
    SIXTEEN(X, 0) SIXTEEN(X, 1) SIXTEEN(X, 2) SIXTEEN(X, 3) SIXTEEN(X, 4) SIXTEEN(X, 5) SIXTEEN(X, 6) SIXTEEN(X, 7)

ALL(STUB)

static const driver_function stubs[FUNCTIONS_MAX] = {ALL(NAME)};

static void *wrap(const char *name, void *real)
{
    pthread_mutex_lock(&mutex);
    int index = 0;
    while (index < function_count && (strcmp(functions[index].name, name) != 0 || functions[index].address != real))
        index++;
    if (index == function_count && index < FUNCTIONS_MAX)
        describe(&functions[function_count++], name, real);
    pthread_mutex_unlock(&mutex);
    void *stub = real;
    if (index < FUNCTIONS_MAX)
        memcpy(&stub, &stubs[index], sizeof stub);
    return stub;
}

/* ---- Loading --------------------------------------------------------------------------------------------------------- */

static void *(*real_dlopen)(const char *, int);
static void *(*real_dlsym)(void *, const char *);

static void find_real(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (size_t i = 0; !real_dlsym && i < sizeof versions / sizeof *versions; i++)
        *(void **)&real_dlsym = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!real_dlopen)
        *(void **)&real_dlopen = fault_real("dlopen");
}

/* Sets what dlerror() returns, as a real failure does. */
void *dlopen(const char *path, int flags)
{
    find_real();
    if (fault_hits(FAULT_LIBRARIES, "dlopen", CALLER))
        return real_dlopen("/nonexistent/planted-fault.so", RTLD_NOW);
    void *library = real_dlopen(path, flags);
    fault_find_modules();
    return library;
}

static void *find_for_rung(void *library, const char *name, const void *caller)
{
    if (fault_hits(FAULT_LIBRARIES, "dlsym", caller))
        return real_dlsym(library, "planted_fault");
    void *address = real_dlsym(library, name);
    return address && is_driver_function(name) ? wrap(name, address) : address;
}

/* The last call must be a jump: RTLD_NEXT begins after the library that the return address is in. An OpenMP library that searches
 * for a function of its own name would find itself, and never end. */
void *dlsym(void *library, const char *name)
{
    find_real();
    if (fault_is_rung(CALLER))
        return find_for_rung(library, name, CALLER);
    return real_dlsym(library, name);
}
