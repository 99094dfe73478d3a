/* SPDX-License-Identifier: Apache-2.0 */
/* ggml.c - see ggml.h.
 *
 * GGML computes C^T: its weights are B^T, whose rows are contiguous, its input is A and its result C, both row-major. Weights are
 * multiplied where they are, or from one of GGML's own buffers, whose types arrange them for its fastest kernels. llama.cpp puts
 * the weights of a network there when it loads them. */
#include "cpu/peers/ggml.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/clock.h"
#include "base/dynamic_library.h"
#include "base/try.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Numbers of ggml.h: types and the status of success. ALIGNMENT is that of tensors. */
enum { TYPE_F32 = 0, TYPE_Q4_0 = 2, TYPE_Q8_0 = 8, SUCCESS = 0, ALIGNMENT = 32 };

/* A context holds the descriptions of a few tensors. BUFFER_EXTRA is for the alignment of the first one. */
enum { TENSORS = 8, BUFFER_EXTRA = 4096, TIMED_RUNS = 5 };

/* Returns the functions of ggml_backend_dev_get_extra_bufts_t. */
typedef void **get_buffer_types_t(void *device);

static bool find_ggml_functions(void *library, rungi_ggml *state)
{
    bool all = true;
#define X(result, name, arguments) \
    all = all && rungi_library_symbol(library, "ggml_" #name, &state->name, sizeof state->name);
    RUNGI_GGML_FUNCTION_LIST(X)
#undef X
    return all;
}

bool rungi_ggml_is_usable(void *library)
{
    rungi_ggml state;
    return find_ggml_functions(library, &state);
}

/* Returns whether GGML was compiled for an instruction set. */
static bool was_compiled_for(void *library, const char *function)
{
    int (*has)(void);
    return rungi_library_symbol(library, function, &has, sizeof has) && has();
}

void rungi_ggml_describe(rungi_peer *peer, const rungi_cpu_features *features)
{
    const char *(*get_version)(void);
    const char *missing = NULL;
    rungi_peer_function *backend = rungi_peer_symbol(peer->library, "ggml_", "backend_cpu_init", "");
    rungi_library_path(&backend, peer->path, sizeof peer->path);
    if (rungi_library_symbol(peer->library, "ggml_version", &get_version, sizeof get_version))
        snprintf(peer->version, sizeof peer->version, "%s", get_version());
    if (features->isa >= RUNGI_ISA_AVX2 && !was_compiled_for(peer->library, "ggml_cpu_has_avx2"))
        missing = "AVX2";
    else if (features->isa >= RUNGI_ISA_AVX512 && !was_compiled_for(peer->library, "ggml_cpu_has_avx512"))
        missing = "AVX-512";
    else if (features->has_vnni && !was_compiled_for(peer->library, "ggml_cpu_has_avx512_vnni"))
        missing = "AVX-512 VNNI";
    if (missing)
        snprintf(peer->warning, sizeof peer->warning,
                 "GGML was compiled without %s, which this processor has; compile it on this machine", missing);
}

/* ---- Messages -------------------------------------------------------------------------------------------
 *
 * GGML writes messages of its own to standard error. They are dropped during calls that prepare weights, and what the program has
 * set is restored. Versions without ggml_log_get() write them. */

typedef void log_function_t(int level, const char *text, void *user);

typedef struct log_functions {
    void (*get)(log_function_t **function, void **user);
    void (*set)(log_function_t *function, void *user);
    log_function_t *before;
    void *user;
} log_functions_t;

static void drop_message(int level, const char *text, void *user)
{
    (void)level;
    (void)text;
    (void)user;
}

static log_functions_t mute(const rungi_ggml *state)
{
    log_functions_t log = {.before = NULL};
    if (rungi_library_symbol(state->library, "ggml_log_get", &log.get, sizeof log.get) &&
        rungi_library_symbol(state->library, "ggml_log_set", &log.set, sizeof log.set)) {
        log.get(&log.before, &log.user);
        log.set(drop_message, NULL);
    }
    return log;
}

static void unmute(const log_functions_t *log)
{
    if (log->get && log->set)
        log->set(log->before, log->user);
}

/* ---- AMX tiles ------------------------------------------------------------------------------------------
 *
 * GGML configures the tiles once per thread, and the AMX kernels of this library release them after each call. The configuration
 * is therefore recorded on a thread of its own, and loaded before each call. */

#if defined(__x86_64__)
__attribute__((target("amx-tile"))) static void store_tiles(char tiles[64])
{
    _tile_storeconfig(tiles);
    __asm__ volatile("" : : "r"(tiles) : "memory"); /* GCC 12 does not know that the instruction writes memory */
}

__attribute__((target("amx-tile"))) static void load_tiles(const char tiles[64])
{
    __asm__ volatile("" : : "r"(tiles) : "memory");
    _tile_loadconfig(tiles);
}

__attribute__((target("amx-tile"))) static void release_tiles(void)
{
    _tile_release();
}
#else
static void store_tiles(char tiles[64])
{
    memset(tiles, 0, 64);
}

static void load_tiles(const char tiles[64])
{
    (void)tiles;
}

static void release_tiles(void)
{
}
#endif

static rung_status compute(const rungi_ggml *state)
{
    bool has_tiles = state->tiles[0] != 0;
    if (has_tiles)
        load_tiles(state->tiles);
    int status = state->backend_graph_compute(state->backend, state->graph.graph);
    if (has_tiles)
        release_tiles();
    return status == SUCCESS ? RUNG_OK
                             : rungi_fail(RUNG_STATUS_NO_MEMORY, "00_vendor:ggml: GGML returned error %d", status);
}

/* Computes on a new thread, on which GGML configures the tiles. */
static void *record_tiles(void *user)
{
    rungi_ggml *state = user;
    state->backend_cpu_set_n_threads(state->backend, 1);
    if (state->backend_graph_compute(state->backend, state->graph.graph) == SUCCESS)
        store_tiles(state->tiles);
    return NULL;
}

static rung_status find_tiles(rungi_ggml *state)
{
    pthread_t thread;
    memset(state->tiles, 0, sizeof state->tiles);
    if (strcmp(state->packed.kind, "AMX") != 0)
        return RUNG_OK;
    if (pthread_create(&thread, NULL, record_tiles, state) != 0)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "00_vendor:ggml: no thread could be started to prepare GGML");
    pthread_join(thread, NULL);
    return RUNG_OK;
}

/* ---- Graphs --------------------------------------------------------------------------------------------- */

static void *new_context(const rungi_ggml *state)
{
    size_t bytes = TENSORS * state->tensor_overhead() + state->graph_overhead();
    return state->init((rungi_ggml_memory){bytes, NULL, true});
}

static void *new_weights(const rungi_ggml *state, void *context)
{
    return state->new_tensor_2d(context, state->b_type == RUNG_Q8_0 ? TYPE_Q8_0 : TYPE_Q4_0, state->shape.k,
                                state->shape.n);
}

/* Places a tensor in memory of the caller. */
static void *place(const rungi_ggml *state, void *tensor, const void *memory, int64_t bytes)
{
    void *data = (void *)(uintptr_t)memory; /* GGML takes inputs as non-const pointers, too */
    void *buffer = state->backend_cpu_buffer_from_ptr(data, (size_t)bytes);
    state->backend_tensor_alloc(buffer, tensor, data);
    return buffer;
}

static void free_graph(const rungi_ggml *state, rungi_ggml_graph *graph)
{
    for (int i = 0; i < 3; i++)
        if (graph->buffers[i])
            state->backend_buffer_free(graph->buffers[i]);
    if (graph->context)
        state->free(graph->context);
    memset(graph, 0, sizeof *graph);
}

static int64_t weight_bytes(const rungi_ggml *state)
{
    return state->shape.n * state->shape.k / rung_type_block_elements(state->b_type) *
           rung_type_block_bytes(state->b_type);
}

/* Makes the graph of these addresses, unless it exists. `b` is NULL if B is packed. */
static rung_status make_graph(rungi_ggml *state, const void *a, const void *b, void *c)
{
    const rungi_peer_gemm_args *shape = &state->shape;
    const void *addresses[3] = {a, b, c};
    rungi_ggml_graph *graph = &state->graph;
    if (graph->graph && memcmp(addresses, graph->addresses, sizeof addresses) == 0)
        return RUNG_OK;
    free_graph(state, graph);
    graph->context = new_context(state);
    if (!graph->context)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "00_vendor:ggml: GGML is out of memory");
    void *input = state->new_tensor_2d(graph->context, TYPE_F32, shape->k, shape->m);
    void *weights = b ? new_weights(state, graph->context) : state->packed.tensor;
    void *result = state->mul_mat(graph->context, weights, input);
    graph->buffers[0] = place(state, input, a, shape->m * shape->k * (int64_t)sizeof(float));
    if (b)
        graph->buffers[1] = place(state, weights, b, weight_bytes(state));
    graph->buffers[2] = place(state, result, c, shape->m * shape->n * (int64_t)sizeof(float));
    graph->graph = state->new_graph(graph->context);
    state->build_forward_expand(graph->graph, result);
    memcpy(graph->addresses, addresses, sizeof addresses);
    return RUNG_OK;
}

/* ---- Packed weights ------------------------------------------------------------------------------------- */

static void free_weights(const rungi_ggml *state, rungi_ggml_weights *weights)
{
    if (weights->buffer)
        state->backend_buffer_free(weights->buffer);
    if (weights->context)
        state->free(weights->context);
    memset(weights, 0, sizeof *weights);
}

/* Returns whether GGML multiplies weights in this type of buffer, and allocates them. */
static bool make_weights(const rungi_ggml *state, void *buffer_type, rungi_ggml_weights *weights)
{
    weights->kind = state->backend_buft_name(buffer_type);
    weights->context = new_context(state);
    if (!weights->context)
        return false;
    weights->tensor = new_weights(state, weights->context);
    size_t bytes = state->backend_buft_get_alloc_size(buffer_type, weights->tensor) + BUFFER_EXTRA;
    weights->buffer = state->backend_buft_alloc_buffer(buffer_type, bytes);
    if (!weights->buffer)
        return false;
    state->backend_tensor_alloc(weights->buffer, weights->tensor, state->backend_buffer_get_base(weights->buffer));
    void *input = state->new_tensor_2d(weights->context, TYPE_F32, state->shape.k, state->shape.m);
    return state->backend_supports_op(state->backend, state->mul_mat(weights->context, weights->tensor, input));
}

/* Computes the shortest time of a multiplication by the weights of `state`. */
static rung_status time_weights(rungi_ggml *state, const void *zeros, int64_t threads, int64_t *shortest)
{
    *shortest = INT64_MAX;
    state->backend_tensor_set(state->packed.tensor, zeros, 0, (size_t)weight_bytes(state));
    TRY(make_graph(state, state->a, NULL, state->c));
    TRY(find_tiles(state));
    state->backend_cpu_set_n_threads(state->backend, (int)threads);
    TRY(compute(state)); /* the first run allocates memory */
    for (int i = 0; i < TIMED_RUNS; i++) {
        int64_t started = rungi_clock_ns();
        TRY(compute(state));
        *shortest = rungi_min(*shortest, rungi_clock_ns() - started);
    }
    return RUNG_OK;
}

/* The best weights so far, with the tiles that they need. */
typedef struct fastest {
    rungi_ggml_weights weights;
    char tiles[64];
    int64_t ns;
} fastest_t;

/* Times weights in this type of buffer, and retains the faster ones. */
static rung_status try_buffer_type(rungi_ggml *state, void *buffer_type, const void *zeros, int64_t threads,
                                   fastest_t *fastest)
{
    int64_t ns = INT64_MAX;
    rung_status status = RUNG_OK;
    if (make_weights(state, buffer_type, &state->packed))
        status = time_weights(state, zeros, threads, &ns);
    free_graph(state, &state->graph);
    if (status == RUNG_OK && ns < fastest->ns) {
        free_weights(state, &fastest->weights);
        *fastest = (fastest_t){.weights = state->packed, .ns = ns};
        memcpy(fastest->tiles, state->tiles, sizeof fastest->tiles);
        memset(&state->packed, 0, sizeof state->packed);
    }
    free_weights(state, &state->packed);
    return status;
}

static rung_status choose_buffer_type(rungi_ggml *state, const void *zeros, int64_t threads)
{
    void *device = state->backend_get_device(state->backend), *plain = state->backend_cpu_buffer_type();
    void *found = state->backend_reg_get_proc_address(state->backend_dev_backend_reg(device),
                                                      "ggml_backend_dev_get_extra_bufts");
    get_buffer_types_t *get_others;
    fastest_t fastest = {.ns = INT64_MAX};
    memcpy(&get_others, &found, sizeof get_others);
    void **others = get_others ? get_others(device) : NULL;
    rung_status status = try_buffer_type(state, plain, zeros, threads, &fastest);
    for (; status == RUNG_OK && others && *others; others++)
        status = try_buffer_type(state, *others, zeros, threads, &fastest);
    state->packed = fastest.weights;
    memcpy(state->tiles, fastest.tiles, sizeof state->tiles);
    if (status == RUNG_OK && !state->packed.tensor)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor:ggml: GGML does not multiply f32 by %s of this size",
                          rung_type_name(state->b_type));
    return status;
}

/* ---- Plans ---------------------------------------------------------------------------------------------- */

static rung_status allocate_copies(rung_context *context, rungi_ggml *state)
{
    int64_t a_bytes, b_bytes, c_bytes;
    const rungi_peer_gemm_args *shape = &state->shape;
    if (!rungi_checked_multiply(shape->m, shape->k, &a_bytes) ||
        !rungi_checked_multiply(a_bytes, sizeof(float), &a_bytes) ||
        !rungi_checked_multiply(shape->n, shape->k, &b_bytes) ||
        !rungi_checked_multiply(shape->m, shape->n, &c_bytes) ||
        !rungi_checked_multiply(c_bytes, sizeof(float), &c_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "00_vendor:ggml: %lld x %lld x %lld is too large", (long long)shape->m,
                          (long long)shape->n, (long long)shape->k);
    state->a = rungi_allocate(context, a_bytes, ALIGNMENT);
    state->c = rungi_allocate(context, c_bytes, ALIGNMENT);
    if (!state->a || !state->c)
        return RUNG_STATUS_NO_MEMORY;
    memset(state->a, 0, (size_t)a_bytes); /* for the timing of buffer types */
    return RUNG_OK;
}

rung_status rungi_ggml_create(rung_context *context, const rungi_peer *peer, const rungi_peer_gemm_args *args,
                              rung_type b_type, bool packs_b, int64_t threads, rungi_ggml *state)
{
    memset(state, 0, sizeof *state);
    if (!find_ggml_functions(peer->library, state))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor:ggml: %s lacks functions of GGML's CPU backend",
                          peer->path);
    state->library = peer->library;
    state->shape = *args;
    state->b_type = b_type;
    TRY(allocate_copies(context, state));
    state->backend = state->backend_cpu_init();
    if (!state->backend)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor:ggml: GGML's CPU backend does not start");
    if (!packs_b)
        return RUNG_OK;
    void *zeros = rungi_allocate_zeroed(context, (size_t)weight_bytes(state));
    if (!zeros)
        return RUNG_STATUS_NO_MEMORY;
    log_functions_t log = mute(state);
    rung_status status = choose_buffer_type(state, zeros, threads);
    unmute(&log);
    rungi_release(context, zeros);
    return status;
}

void rungi_ggml_destroy(rung_context *context, rungi_ggml *state)
{
    if (state->backend) {
        free_graph(state, &state->graph);
        free_weights(state, &state->packed);
        state->backend_free(state->backend);
    }
    rungi_release(context, state->a);
    rungi_release(context, state->c);
}

const char *rungi_ggml_kind(const rungi_ggml *state)
{
    return state->packed.kind ? state->packed.kind : "CPU";
}

uint64_t rungi_ggml_pack(rungi_ggml *state, const void *b)
{
    log_functions_t log = mute(state);
    state->backend_tensor_set(state->packed.tensor, b, 0, (size_t)weight_bytes(state));
    unmute(&log);
    state->is_packed = true;
    state->serial = (uint64_t)rungi_clock_ns();
    return state->serial;
}

/* ---- Running -------------------------------------------------------------------------------------------- */

static bool is_aligned(const void *address)
{
    return (uintptr_t)address % ALIGNMENT == 0;
}

/* Computes C = alpha * product + beta * C. */
static void scale(const rungi_peer_gemm_args *args, const float *product)
{
    float alpha = (float)args->alpha, beta = (float)args->beta, *c = args->c;
    for (int64_t i = 0; i < args->m * args->n; i++)
        c[i] = alpha * product[i] + (beta == 0 ? 0 : beta * c[i]);
}

rung_status rungi_ggml_run(rungi_ggml *state, const rungi_peer_gemm_args *args, int64_t threads)
{
    const bool is_direct = args->alpha == 1 && args->beta == 0 && is_aligned(args->c);
    const void *a = is_aligned(args->a) ? args->a : state->a, *b = state->packed.tensor ? NULL : args->b;
    if (!is_aligned(b))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "00_vendor:ggml: GGML requires a B that is aligned to %d bytes",
                          ALIGNMENT);
    if (a == state->a)
        memcpy(state->a, args->a, (size_t)(args->m * args->k) * sizeof(float));
    TRY(make_graph(state, a, b, is_direct ? args->c : state->c));
    state->backend_cpu_set_n_threads(state->backend, (int)threads);
    TRY(compute(state));
    if (!is_direct)
        scale(args, state->c);
    return RUNG_OK;
}
