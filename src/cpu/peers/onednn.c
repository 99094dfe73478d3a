/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.c - see onednn.h.
 *
 * The matmul primitive is the fastest interface; it is created for one shape with alpha 1 and beta 0. The plain GEMM functions
 * take any scalars and are faster if C is one row or column. */
#include "cpu/peers/onednn.h"

#include <stdio.h>
#include <string.h>

#include "base/dynamic_library.h"
#include "base/try.h"

/* The numbers of dnnl_types.h and dnnl_common_types.h that are used. */
enum { ENGINE_CPU = 1, STREAM_DEFAULT = 1, DIMENSIONS_MAX = 12 };
enum { TYPE_BF16 = 2, TYPE_F32 = 3, TYPE_S32 = 4, TYPE_S8 = 5 };
enum { ARGUMENT_A = 1, ARGUMENT_B = 33, ARGUMENT_C = 17 };
enum { ISA_AVX2 = 0x4, ISA_AVX512 = 0x20 }; /* bits of dnnl_cpu_isa_t */

static bool find_onednn_functions(void *library, rungi_onednn *state)
{
    bool all = true;
#define X(name, arguments) all = all && rungi_library_symbol(library, "dnnl_" #name, &state->name, sizeof state->name);
    RUNGI_ONEDNN_FUNCTION_LIST(X)
#undef X
    return all;
}

bool rungi_onednn_is_usable(void *library)
{
    rungi_onednn state;
    rungi_peer_function *function;
    return find_onednn_functions(library, &state) &&
           rungi_library_symbol(library, "omp_set_num_threads", &function, sizeof function) &&
           rungi_library_symbol(library, "omp_get_max_threads", &function, sizeof function);
}

void rungi_onednn_describe(rungi_peer *peer, const rungi_cpu_features *features)
{
    typedef struct onednn_version {
        int major, minor, patch;
    } onednn_version_t;
    const onednn_version_t *(*get_version)(void);
    int (*get_isa)(void);
    void *library = peer->library;
    if (rungi_library_symbol(library, "dnnl_version", &get_version, sizeof get_version)) {
        const onednn_version_t *found = get_version();
        snprintf(peer->version, sizeof peer->version, "%d.%d.%d", found->major, found->minor, found->patch);
        rungi_library_path(&get_version, peer->path, sizeof peer->path);
    }
    if (rungi_library_symbol(library, "dnnl_get_effective_cpu_isa", &get_isa, sizeof get_isa)) {
        int isa = get_isa();
        bool is_less = (features->isa >= RUNGI_ISA_AVX2 && !(isa & ISA_AVX2)) ||
                       (features->isa >= RUNGI_ISA_AVX512 && !(isa & ISA_AVX512));
        if (is_less)
            snprintf(peer->warning, sizeof peer->warning,
                     "oneDNN does not use all instruction sets of this processor; unset ONEDNN_MAX_CPU_ISA");
    }
    rungi_library_symbol(library, "omp_get_max_threads", &peer->threads.get, sizeof peer->threads.get);
    rungi_library_symbol(library, "omp_set_num_threads", &peer->threads.set, sizeof peer->threads.set);
}

/* ---- Creating -------------------------------------------------------------------------------- */

/* Calls a function of oneDNN and turns its result into a status. */
#define CALL(name, ...) check(state->name(__VA_ARGS__), "dnnl_" #name)

/* Turns a result of oneDNN into a status with an error message. */
static rung_status check(int status, const char *function)
{
    if (status == 0)
        return RUNG_OK;
    if (status == 1)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "00_vendor: %s of oneDNN is out of memory", function);
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: %s of oneDNN returned error %d", function, status);
}

static rung_status create_memory(rungi_onednn *state, int index, int64_t rows, int64_t cols, bool by_rows, int64_t ld,
                                 int type, void **descriptor)
{
    int64_t sizes[DIMENSIONS_MAX] = {rows, cols}, strides[DIMENSIONS_MAX] = {by_rows ? ld : 1, by_rows ? 1 : ld};
    TRY(CALL(memory_desc_create_with_strides, descriptor, 2, sizes, type, strides));
    return CALL(memory_create, &state->memory[index], *descriptor, state->engine, NULL);
}

static rung_status create_primitive(rungi_onednn *state, void *const descriptors[3])
{
    void *description = NULL;
    rung_status status = CALL(matmul_primitive_desc_create, &description, state->engine, descriptors[0], descriptors[1],
                              NULL, descriptors[2], NULL);
    if (status == RUNG_OK)
        status = CALL(primitive_create, &state->primitive, description);
    if (description)
        state->primitive_desc_destroy(description);
    return status;
}

static rung_status create_onednn_objects(rungi_onednn *state, const rungi_peer_gemm_args *args, void *descriptors[3])
{
    int in = args->in == RUNG_F32 ? TYPE_F32 : args->in == RUNG_BF16 ? TYPE_BF16 : TYPE_S8;
    int out = in == TYPE_S8 ? TYPE_S32 : TYPE_F32;
    TRY(CALL(engine_create, &state->engine, ENGINE_CPU, 0));
    TRY(CALL(stream_create, &state->stream, state->engine, STREAM_DEFAULT));
    TRY(create_memory(state, 0, args->m, args->k, args->a_is_row_major, args->lda, in, &descriptors[0]));
    TRY(create_memory(state, 1, args->k, args->n, args->b_is_row_major, args->ldb, in, &descriptors[1]));
    TRY(create_memory(state, 2, args->m, args->n, true, args->ldc, out, &descriptors[2]));
    return create_primitive(state, descriptors);
}

rung_status rungi_onednn_create(const rungi_peer *peer, const rungi_peer_gemm_args *args, rungi_onednn *state)
{
    void *descriptors[3] = {NULL};
    memset(state, 0, sizeof *state);
    if (!find_onednn_functions(peer->library, state))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: %s lacks functions of oneDNN 3", peer->path);
    rung_status status = create_onednn_objects(state, args, descriptors);
    for (int i = 0; i < 3; i++)
        if (descriptors[i])
            state->memory_desc_destroy(descriptors[i]);
    return status;
}

void rungi_onednn_destroy(rungi_onednn *state)
{
    if (state->primitive)
        state->primitive_destroy(state->primitive);
    for (int i = 0; i < 3; i++)
        if (state->memory[i])
            state->memory_destroy(state->memory[i]);
    if (state->stream)
        state->stream_destroy(state->stream);
    if (state->engine)
        state->engine_destroy(state->engine);
}

/* ---- Running -------------------------------------------------------------------------------------- */

static rung_status run_primitive(const rungi_onednn *state, const rungi_peer_gemm_args *args)
{
    /* oneDNN takes inputs as non-const pointers, too. */
    void *data[3] = {(void *)(uintptr_t)args->a, (void *)(uintptr_t)args->b, args->c};
    const rungi_onednn_argument arguments[] = {
        {ARGUMENT_A, state->memory[0]}, {ARGUMENT_B, state->memory[1]}, {ARGUMENT_C, state->memory[2]}};
    for (int i = 0; i < 3; i++)
        TRY(CALL(memory_set_data_handle, state->memory[i], data[i]));
    TRY(CALL(primitive_execute, state->primitive, state->stream, 3, arguments));
    return CALL(stream_wait, state->stream);
}

rung_status rungi_onednn_run(const rungi_onednn *state, const rungi_peer_gemm_args *args)
{
    bool is_vector = args->m == 1 || args->n == 1, is_plain = args->alpha == 1 && args->beta == 0;
    char a_transpose = args->a_is_row_major ? 'N' : 'T', b_transpose = args->b_is_row_major ? 'N' : 'T';
    if (args->in == RUNG_I8 || (is_plain && !is_vector))
        return run_primitive(state, args);
    if (args->in == RUNG_BF16)
        return CALL(gemm_bf16bf16f32, a_transpose, b_transpose, args->m, args->n, args->k, (float)args->alpha, args->a,
                    args->lda, args->b, args->ldb, (float)args->beta, args->c, args->ldc);
    return CALL(sgemm, a_transpose, b_transpose, args->m, args->n, args->k, (float)args->alpha, args->a, args->lda,
                args->b, args->ldb, (float)args->beta, args->c, args->ldc);
}
