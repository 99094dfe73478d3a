/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.c - see onednn.h.
 *
 * Its matmul primitive is the fast way, and is made for one form with alpha 1 and beta 0; its
 * plain functions take any scalars, and are faster where C is one row or column. */
#include "cpu/onednn.h"

#include <stdio.h>
#include <string.h>

#include "core/library.h"

/* The numbers of dnnl_types.h and dnnl_common_types.h that are used. */
enum {
    ENGINE_CPU = 1,
    STREAM_DEFAULT = 1,
    TYPE_BF16 = 2,
    TYPE_F32 = 3,
    TYPE_S32 = 4,
    TYPE_S8 = 5,
    ARGUMENT_A = 1,
    ARGUMENT_B = 33,
    ARGUMENT_C = 17,
    DIMENSIONS_MAX = 12,
    ISA_AVX2 = 0x4,
    ISA_AVX512 = 0x20 /* bits of its instruction sets */
};

static bool find_all(void *library, rungi_onednn *made)
{
    bool all = true;
#define X(name, arguments) all = all && rungi_library_find(library, "dnnl_" #name, &made->name, sizeof made->name);
    RUNGI_ONEDNN_FUNCTION_LIST(X)
#undef X
    return all;
}

bool rungi_onednn_suits(void *library)
{
    rungi_onednn made;
    rungi_peer_function *function;
    return find_all(library, &made) && rungi_library_find(library, "omp_set_num_threads", &function, sizeof function) &&
           rungi_library_find(library, "omp_get_max_threads", &function, sizeof function);
}

void rungi_onednn_describe(rungi_peer *peer, const rungi_cpu_features *features)
{
    typedef struct version {
        int major, minor, patch;
    } version_t;
    const version_t *(*get_version)(void);
    int (*get_isa)(void);
    void *library = peer->library;
    if (rungi_library_find(library, "dnnl_version", &get_version, sizeof get_version)) {
        const version_t *found = get_version();
        snprintf(peer->version, sizeof peer->version, "%d.%d.%d", found->major, found->minor, found->patch);
        rungi_library_where(&get_version, peer->path, sizeof peer->path);
    }
    if (rungi_library_find(library, "dnnl_get_effective_cpu_isa", &get_isa, sizeof get_isa)) {
        int isa = get_isa();
        bool is_less = (features->isa >= RUNGI_ISA_AVX2 && !(isa & ISA_AVX2)) ||
                       (features->isa >= RUNGI_ISA_AVX512 && !(isa & ISA_AVX512));
        if (is_less)
            snprintf(peer->doubt, sizeof peer->doubt,
                     "oneDNN leaves instructions of this processor unused; unset "
                     "ONEDNN_MAX_CPU_ISA");
    }
    rungi_library_find(library, "omp_get_max_threads", &peer->threads.get, sizeof peer->threads.get);
    rungi_library_find(library, "omp_set_num_threads", &peer->threads.set, sizeof peer->threads.set);
}

/* ---- A plan's part -------------------------------------------------------------------------------- */

/* Where its status is not 0. */
static rung_status check(int status, const char *function)
{
    if (status == 0)
        return RUNG_OK;
    if (status == 1)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "00_vendor: %s of oneDNN is out of memory", function);
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: %s of oneDNN returned error %d", function, status);
}

static rung_status make_memory(rungi_onednn *made, int index, int64_t rows, int64_t cols, bool by_rows, int64_t ld,
                               int type, void **form)
{
    int64_t sizes[DIMENSIONS_MAX] = {rows, cols}, strides[DIMENSIONS_MAX] = {by_rows ? ld : 1, by_rows ? 1 : ld};
    rung_status status = check(made->memory_desc_create_with_strides(form, 2, sizes, type, strides),
                               "dnnl_memory_desc_create_with_strides");
    return status == RUNG_OK
               ? check(made->memory_create(&made->memory[index], *form, made->engine, NULL), "dnnl_memory_create")
               : status;
}

static rung_status make_primitive(rungi_onednn *made, void *const forms[3])
{
    void *description = NULL;
    rung_status status = check(
        made->matmul_primitive_desc_create(&description, made->engine, forms[0], forms[1], NULL, forms[2], NULL),
        "dnnl_matmul_primitive_desc_create");
    if (status == RUNG_OK)
        status = check(made->primitive_create(&made->primitive, description), "dnnl_primitive_create");
    if (description)
        made->primitive_desc_destroy(description);
    return status;
}

static rung_status make_all(rungi_onednn *made, const rungi_peer_work *work, void *forms[3])
{
    int in = work->in == RUNG_F32 ? TYPE_F32 : work->in == RUNG_BF16 ? TYPE_BF16 : TYPE_S8;
    rung_status status = check(made->engine_create(&made->engine, ENGINE_CPU, 0), "dnnl_engine_create");
    if (status == RUNG_OK)
        status = check(made->stream_create(&made->stream, made->engine, STREAM_DEFAULT), "dnnl_stream_create");
    if (status == RUNG_OK)
        status = make_memory(made, 0, work->m, work->k, work->a_by_rows, work->lda, in, &forms[0]);
    if (status == RUNG_OK)
        status = make_memory(made, 1, work->k, work->n, work->b_by_rows, work->ldb, in, &forms[1]);
    if (status == RUNG_OK)
        status = make_memory(made, 2, work->m, work->n, true, work->ldc, in == TYPE_S8 ? TYPE_S32 : TYPE_F32,
                             &forms[2]);
    return status == RUNG_OK ? make_primitive(made, forms) : status;
}

rung_status rungi_onednn_create(const rungi_peer *peer, const rungi_peer_work *work, rungi_onednn *made)
{
    void *forms[3] = {NULL};
    memset(made, 0, sizeof *made);
    if (!find_all(peer->library, made))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor: %s lacks functions of oneDNN 3", peer->path);
    rung_status status = make_all(made, work, forms);
    for (int i = 0; i < 3; i++)
        if (forms[i])
            made->memory_desc_destroy(forms[i]);
    return status;
}

void rungi_onednn_destroy(rungi_onednn *made)
{
    if (made->primitive)
        made->primitive_destroy(made->primitive);
    for (int i = 0; i < 3; i++)
        if (made->memory[i])
            made->memory_destroy(made->memory[i]);
    if (made->stream)
        made->stream_destroy(made->stream);
    if (made->engine)
        made->engine_destroy(made->engine);
}

/* ---- Running -------------------------------------------------------------------------------------- */

static rung_status run_primitive(const rungi_onednn *made, const rungi_peer_work *work)
{
    /* It takes what it only reads by the same pointer as what it writes. */
    void *data[3] = {(void *)(uintptr_t)work->a, (void *)(uintptr_t)work->b, work->c};
    const rungi_onednn_argument arguments[] = {
        {ARGUMENT_A, made->memory[0]}, {ARGUMENT_B, made->memory[1]}, {ARGUMENT_C, made->memory[2]}};
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < 3; i++)
        status = check(made->memory_set_data_handle(made->memory[i], data[i]), "dnnl_memory_set_data_handle");
    if (status == RUNG_OK)
        status = check(made->primitive_execute(made->primitive, made->stream, 3, arguments), "dnnl_primitive_execute");
    return status == RUNG_OK ? check(made->stream_wait(made->stream), "dnnl_stream_wait") : status;
}

rung_status rungi_onednn_run(const rungi_onednn *made, const rungi_peer_work *work)
{
    bool is_vector = work->m == 1 || work->n == 1, is_plain = work->alpha == 1 && work->beta == 0;
    char a_turned = work->a_by_rows ? 'N' : 'T', b_turned = work->b_by_rows ? 'N' : 'T';
    if (work->in == RUNG_I8 || (is_plain && !is_vector))
        return run_primitive(made, work);
    if (work->in == RUNG_BF16)
        return check(made->gemm_bf16bf16f32(a_turned, b_turned, work->m, work->n, work->k, (float)work->alpha, work->a,
                                            work->lda, work->b, work->ldb, (float)work->beta, work->c, work->ldc),
                     "dnnl_gemm_bf16bf16f32");
    return check(made->sgemm(a_turned, b_turned, work->m, work->n, work->k, (float)work->alpha, work->a, work->lda,
                             work->b, work->ldb, (float)work->beta, work->c, work->ldc),
                 "dnnl_sgemm");
}
