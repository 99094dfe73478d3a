/* SPDX-License-Identifier: Apache-2.0 */
/* ggml_block.c - ggml_block THREADS SECONDS MODEL TOKENS TYPE...: times one block of a language model in rung
 * (examples/transformer) and as a graph of GGML, on the same random weights of each type: a prompt of TOKENS tokens at once
 * (prefill), and the token after it (decode). GGML runs with the weights in each kind of buffer that its CPU backend has (plain,
 * repacked, AMX), with flash attention and without. Keys and values are F16 in GGML, as is usual there, and F32 in rung. The
 * stages of rung are compared with F64, and the output of GGML with that of rung, before anything is timed. Calls are
 * interleaved: each round runs every candidate once. With one thread CPU time is measured, otherwise elapsed time.
 * tools/compare-transformer builds and starts it. */
#define _GNU_SOURCE
#include "../examples/transformer/transformer.h"

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>

#include <immintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PREFILL, DECODE, PASSES };
enum { MAX_KINDS = 6, ATTENTIONS = 2, MAX_ROUNDS = 400, MIN_ROUNDS = 5, MAX_THREADS = 64, SAMPLE = 16 };

/* The weights in one kind of buffer. */
typedef struct {
    const char *name;
    struct ggml_context *context;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *weights[WEIGHTS];
} kind_t;

/* The graph of a pass. */
typedef struct {
    struct ggml_context *context;
    struct ggml_cgraph *graph;
    ggml_gallocr_t memory;
    struct ggml_tensor *input, *positions, *mask, *output;
    double times[MAX_ROUNDS];
} pass_t;

/* A kind of buffer and a form of attention. */
typedef struct {
    const kind_t *kind;
    bool is_flash;
    struct ggml_context *context;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *keys, *values;
    pass_t passes[PASSES];
} variant_t;

typedef struct {
    int threads, rounds, kind_count, variant_count;
    int64_t tokens;
    model_t model;
    values_t values;
    ggml_backend_t backend;
    struct ggml_context *context; /* of norms and biases */
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *attention_norm, *mlp_norm, *bias[W_VALUES + 1];
    kind_t kinds[MAX_KINDS];
    variant_t variants[MAX_KINDS * ATTENTIONS];
    double rung_times[MAX_ROUNDS];
} comparison_t;

static void fail(const char *text)
{
    fprintf(stderr, "ggml_block: %s\n", text);
    exit(1);
}

static double seconds(int threads)
{
    struct timespec now;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct ggml_context *make_context(int tensors)
{
    struct ggml_init_params sizes = {(size_t)tensors * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true};
    struct ggml_context *context = ggml_init(sizes);
    if (!context)
        fail("GGML has no memory");
    return context;
}

/* ---- Weights ----------------------------------------------------------------------------------------------------- */

static enum ggml_type ggml_type_of(rung_type type)
{
    switch (type) {
    case RUNG_F32: return GGML_TYPE_F32;
    case RUNG_BF16: return GGML_TYPE_BF16;
    case RUNG_Q8_0: return GGML_TYPE_Q8_0;
    default: return GGML_TYPE_Q4_0;
    }
}

/* Puts the weights into a buffer of this type. Returns false if GGML does not multiply by them there. */
static bool make_kind(comparison_t *run, ggml_backend_buffer_type_t type, kind_t *kind)
{
    size_t bytes = 0;
    kind->name = ggml_backend_buft_name(type);
    kind->context = make_context(3 * WEIGHTS);
    for (int i = 0; i < WEIGHTS; i++) {
        rung_matrix w = run->model.weights[i];
        kind->weights[i] = ggml_new_tensor_2d(kind->context, ggml_type_of(w.type), w.cols, w.rows);
        bytes += ggml_backend_buft_get_alloc_size(type, kind->weights[i]) + 4096;
    }
    kind->buffer = ggml_backend_buft_alloc_buffer(type, bytes);
    if (!kind->buffer)
        fail("GGML allocates no buffer");
    struct ggml_tallocr memory = ggml_tallocr_new(kind->buffer);
    for (int i = 0; i < WEIGHTS; i++)
        ggml_tallocr_alloc(&memory, kind->weights[i]);
    for (int i = 0; i < WEIGHTS; i++) {
        struct ggml_tensor *x = ggml_new_tensor_2d(kind->context, GGML_TYPE_F32, kind->weights[i]->ne[0], 1);
        if (ggml_backend_supports_op(run->backend, ggml_mul_mat(kind->context, kind->weights[i], x)))
            continue;
        ggml_backend_buffer_free(kind->buffer);
        ggml_free(kind->context);
        return false;
    }
    for (int i = 0; i < WEIGHTS; i++)
        ggml_backend_tensor_set(kind->weights[i], run->model.weights[i].data, 0, ggml_nbytes(kind->weights[i]));
    return true;
}

static void make_kinds(comparison_t *run)
{
    ggml_backend_dev_t device = ggml_backend_get_device(run->backend);
    ggml_backend_reg_t registry = ggml_backend_dev_backend_reg(device);
    ggml_backend_dev_get_extra_bufts_t get_others = (ggml_backend_dev_get_extra_bufts_t)
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_dev_get_extra_bufts");
    ggml_backend_buffer_type_t *others = get_others ? get_others(device) : NULL;
    run->kind_count = make_kind(run, ggml_backend_cpu_buffer_type(), &run->kinds[0]);
    for (; others && *others && run->kind_count < MAX_KINDS; others++)
        run->kind_count += make_kind(run, *others, &run->kinds[run->kind_count]);
}

static void make_vectors(comparison_t *run)
{
    const shape_t *shape = run->model.shape;
    run->context = make_context(8);
    run->attention_norm = ggml_new_tensor_1d(run->context, GGML_TYPE_F32, shape->hidden);
    run->mlp_norm = ggml_new_tensor_1d(run->context, GGML_TYPE_F32, shape->hidden);
    for (int i = 0; i <= W_VALUES; i++)
        run->bias[i] = ggml_new_tensor_1d(run->context, GGML_TYPE_F32, run->model.weights[i].rows);
    run->buffer = ggml_backend_alloc_ctx_tensors(run->context, run->backend);
    ggml_backend_tensor_set(run->attention_norm, run->model.attention_norm, 0, ggml_nbytes(run->attention_norm));
    ggml_backend_tensor_set(run->mlp_norm, run->model.mlp_norm, 0, ggml_nbytes(run->mlp_norm));
    for (int i = 0; i <= W_VALUES; i++)
        ggml_backend_tensor_set(run->bias[i], run->model.bias[i], 0, ggml_nbytes(run->bias[i]));
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* The cache: flash attention reads a row of values per token, the other form a row per element. */
static void make_cache(const comparison_t *run, variant_t *variant)
{
    int64_t width = stage_width(run->model.shape, KEYS), length = run->tokens + 1;
    variant->context = make_context(2);
    variant->keys = ggml_new_tensor_2d(variant->context, GGML_TYPE_F16, width, length);
    variant->values = variant->is_flash ? ggml_new_tensor_2d(variant->context, GGML_TYPE_F16, width, length)
                                        : ggml_new_tensor_2d(variant->context, GGML_TYPE_F16, length, width);
    variant->buffer = ggml_backend_alloc_ctx_tensors(variant->context, run->backend);
    if (!variant->buffer)
        fail("GGML has no memory for the cache");
}

static struct ggml_tensor *normed(struct ggml_context *context, const comparison_t *run, struct ggml_tensor *x,
                                  struct ggml_tensor *scale)
{
    return ggml_mul(context, ggml_rms_norm(context, x, (float)run->model.shape->epsilon), scale);
}

static struct ggml_tensor *project(struct ggml_context *context, const comparison_t *run, const variant_t *variant,
                                   int weights, struct ggml_tensor *x)
{
    struct ggml_tensor *result = ggml_mul_mat(context, variant->kind->weights[weights], x);
    if (weights <= W_VALUES && run->model.shape->has_bias)
        result = ggml_add(context, result, run->bias[weights]);
    return result;
}

/* Returns queries or keys as heads with the rotary embedding. */
static struct ggml_tensor *rotated(struct ggml_context *context, const comparison_t *run, const pass_t *pass,
                                   struct ggml_tensor *x)
{
    const shape_t *shape = run->model.shape;
    x = ggml_reshape_3d(context, x, shape->head, x->ne[0] / shape->head, x->ne[1]);
    return ggml_rope_ext(context, x, pass->positions, NULL, (int)shape->head, GGML_ROPE_TYPE_NEOX, 0,
                         (float)shape->rope_base, 1, 0, 1, 32, 1);
}

/* Stores keys and values of the pass in the cache. */
static void store(const variant_t *variant, pass_t *pass, struct ggml_tensor *keys, struct ggml_tensor *values,
                  int64_t first)
{
    struct ggml_context *context = pass->context;
    int64_t count = values->ne[1], width = values->ne[0];
    size_t row = (size_t)first * variant->keys->nb[1], element = (size_t)first * variant->values->nb[0];
    struct ggml_tensor *k = ggml_view_2d(context, variant->keys, width, count, variant->keys->nb[1], row), *v;
    if (variant->is_flash) {
        v = ggml_view_2d(context, variant->values, width, count, variant->values->nb[1], row);
    } else {
        v = ggml_view_2d(context, variant->values, count, width, variant->values->nb[1], element);
        values = ggml_transpose(context, values);
    }
    ggml_build_forward_expand(pass->graph, ggml_cpy(context, ggml_reshape_2d(context, keys, width, count), k));
    ggml_build_forward_expand(pass->graph, ggml_cpy(context, values, v));
}

static struct ggml_tensor *attended(const comparison_t *run, const variant_t *variant, pass_t *pass,
                                    struct ggml_tensor *queries, int64_t length)
{
    const shape_t *shape = run->model.shape;
    struct ggml_context *context = pass->context;
    struct ggml_tensor *keys = variant->keys, *values = variant->values;
    int64_t width = shape->heads * shape->head, count = queries->ne[2];
    float scale = 1 / sqrtf((float)shape->head);
    queries = ggml_permute(context, queries, 0, 2, 1, 3);
    keys = ggml_view_3d(context, keys, shape->head, length, shape->kv_heads, keys->nb[1],
                        (size_t)shape->head * keys->nb[0], 0);
    if (variant->is_flash) {
        values = ggml_view_3d(context, values, shape->head, length, shape->kv_heads, values->nb[1],
                              (size_t)shape->head * values->nb[0], 0);
        struct ggml_tensor *result = ggml_flash_attn_ext(context, queries, keys, values, pass->mask, scale, 0, 0);
        return ggml_reshape_2d(context, result, width, count);
    }
    values = ggml_view_3d(context, values, length, shape->head, shape->kv_heads, values->nb[1],
                          (size_t)shape->head * values->nb[1], 0);
    struct ggml_tensor *scores = ggml_soft_max_ext(context, ggml_mul_mat(context, keys, queries), pass->mask, scale, 0);
    struct ggml_tensor *result = ggml_permute(context, ggml_mul_mat(context, values, scores), 0, 2, 1, 3);
    return ggml_cont_2d(context, result, width, count);
}

/* Makes the inputs of a pass: the memory of what is set once must not be used again. */
static struct ggml_tensor *make_input(pass_t *pass, enum ggml_type type, int64_t cols, int64_t rows)
{
    struct ggml_tensor *input = ggml_new_tensor_2d(pass->context, type, cols, rows);
    ggml_set_input(input);
    ggml_set_output(input);
    return input;
}

static void build_graph(const comparison_t *run, const variant_t *variant, pass_t *pass, int64_t first, int64_t count)
{
    struct ggml_context *context = pass->context;
    struct ggml_tensor *x = normed(context, run, pass->input, run->attention_norm);
    struct ggml_tensor *queries = rotated(context, run, pass, project(context, run, variant, W_QUERIES, x));
    struct ggml_tensor *keys = rotated(context, run, pass, project(context, run, variant, W_KEYS, x));
    ggml_build_forward_expand(pass->graph, queries);
    store(variant, pass, keys, project(context, run, variant, W_VALUES, x), first);
    x = attended(run, variant, pass, queries, first + count);
    struct ggml_tensor *middle = ggml_add(context, project(context, run, variant, W_CONTEXT, x), pass->input);
    x = normed(context, run, middle, run->mlp_norm);
    x = ggml_swiglu_split(context, project(context, run, variant, W_GATE, x), project(context, run, variant, W_UP, x));
    pass->output = ggml_add(context, project(context, run, variant, W_DOWN, x), middle);
    ggml_set_output(pass->output);
    ggml_build_forward_expand(pass->graph, pass->output);
}

/* Sets the positions, and the mask that hides later tokens. */
static void set_inputs(const pass_t *pass, int64_t first, int64_t count)
{
    int64_t length = first + count;
    int32_t *positions = malloc((size_t)count * sizeof *positions);
    ggml_fp16_t *mask = malloc((size_t)(count * length) * sizeof *mask);
    if (!positions || !mask)
        fail("out of memory");
    for (int64_t i = 0; i < count; i++) {
        positions[i] = (int32_t)(first + i);
        for (int64_t j = 0; j < length; j++)
            mask[i * length + j] = ggml_fp32_to_fp16(j <= first + i ? 0 : -INFINITY);
    }
    ggml_backend_tensor_set(pass->positions, positions, 0, ggml_nbytes(pass->positions));
    ggml_backend_tensor_set(pass->mask, mask, 0, ggml_nbytes(pass->mask));
    free(positions);
    free(mask);
}

static void make_pass(const comparison_t *run, const variant_t *variant, pass_t *pass, int64_t first, int64_t count)
{
    pass->context = make_context(128);
    pass->graph = ggml_new_graph(pass->context);
    pass->input = make_input(pass, GGML_TYPE_F32, run->model.shape->hidden, count);
    pass->mask = make_input(pass, GGML_TYPE_F16, first + count, count);
    pass->positions = ggml_new_tensor_1d(pass->context, GGML_TYPE_I32, count);
    ggml_set_input(pass->positions);
    ggml_set_output(pass->positions);
    build_graph(run, variant, pass, first, count);
    pass->memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(run->backend));
    if (!ggml_gallocr_alloc_graph(pass->memory, pass->graph))
        fail("GGML has no memory for a graph");
    set_inputs(pass, first, count);
}

static void make_variants(comparison_t *run)
{
    for (int i = 0; i < run->kind_count * ATTENTIONS; i++) {
        variant_t *variant = &run->variants[run->variant_count++];
        variant->kind = &run->kinds[i / ATTENTIONS];
        variant->is_flash = i % ATTENTIONS;
        make_cache(run, variant);
        make_pass(run, variant, &variant->passes[PREFILL], 0, run->tokens);
        make_pass(run, variant, &variant->passes[DECODE], run->tokens, 1);
    }
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static void run_block(comparison_t *run, int pass)
{
    if (!block_forward(&run->model, &run->values, pass == PREFILL ? 0 : run->tokens, pass == PREFILL ? run->tokens : 1))
        fail(rung_error_text());
}

/* Runs the block. GGML configures the AMX tiles once per thread, and librung releases them after each call, so the
 * configuration is kept. It exists once GGML has made a buffer for AMX. */
__attribute__((target("amx-tile"))) static void run_block_with_tiles(comparison_t *run, int pass)
{
    char config[64];
    _tile_storeconfig(config);
    run_block(run, pass);
    __asm__ volatile("" : : "r"(config) : "memory"); /* GCC 12 does not know that the instruction reads memory */
    _tile_loadconfig(config);
}

static void run_rung(comparison_t *run, int pass)
{
    bool has_tiles = false;
    for (int i = 0; i < run->kind_count; i++)
        has_tiles = has_tiles || strcmp(run->kinds[i].name, "AMX") == 0;
    (has_tiles ? run_block_with_tiles : run_block)(run, pass);
}

static void run_ggml(const comparison_t *run, const variant_t *variant, int pass)
{
    if (ggml_backend_graph_compute(run->backend, variant->passes[pass].graph) != GGML_STATUS_SUCCESS)
        fail("GGML fails");
}

/* ---- Verification ------------------------------------------------------------------------------------------------ */

/* Compares an output of GGML with that of rung, relative to what the block adds to its input. Both have the error that their
 * common limit allows, and GGML has 11 significant bits of keys and values. */
static void verify(const comparison_t *run, const variant_t *variant, int pass)
{
    const struct ggml_tensor *output = variant->passes[pass].output;
    size_t count = (size_t)ggml_nelements(output);
    float *found = malloc(count * sizeof *found);
    double errors = 0, sizes = 0, limit = 2 * oracle_output_limit(&run->model) + 0x1p-9;
    if (!found)
        fail("out of memory");
    ggml_backend_tensor_get(output, found, 0, count * sizeof *found);
    for (size_t i = 0; i < count; i++) {
        double right = (double)run->values.rows[OUTPUT][i];
        errors += pow((double)found[i] - right, 2);
        sizes += pow(right - (double)run->values.rows[INPUT][i], 2);
    }
    free(found);
    double error = sqrt(errors / sizes);
    fprintf(stderr, "%s, %s, %s: relative difference %.2e, limit %.2e\n", pass == PREFILL ? "prefill" : "decode",
            variant->kind->name, variant->is_flash ? "flash" : "softmax", error, limit);
    if (!(error <= limit))
        fail("GGML and rung differ");
}

/* Makes a new input, runs every candidate, and checks the results. */
static void verify_all(comparison_t *run, int pass)
{
    uint64_t seed = (uint64_t)pass + 2;
    int64_t count = pass == PREFILL ? run->tokens : 1;
    for (int64_t i = 0; i < count * run->model.shape->hidden; i++)
        run->values.rows[INPUT][i] = 1.7320508f * next_random(&seed);
    run_rung(run, pass);
    if (!oracle_check_stages(&run->model, &run->values, SAMPLE, stderr))
        fail("an error of rung is above its bound");
    for (int i = 0; i < run->variant_count; i++) {
        struct ggml_tensor *input = run->variants[i].passes[pass].input;
        ggml_backend_tensor_set(input, run->values.rows[INPUT], 0, ggml_nbytes(input));
        run_ggml(run, &run->variants[i], pass);
        verify(run, &run->variants[i], pass);
    }
}

/* ---- Timing ------------------------------------------------------------------------------------------------------ */

static int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Returns the quartile of numbers, which are not changed. */
static double quartile(const double *numbers, int count, int which)
{
    double sorted[MAX_ROUNDS];
    memcpy(sorted, numbers, (size_t)count * sizeof *numbers);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    return which == 2 && count % 2 == 0 ? (sorted[count / 2 - 1] + sorted[count / 2]) / 2 : sorted[count * which / 4];
}

static void time_round(comparison_t *run, int pass)
{
    int round = run->rounds++, candidates = run->variant_count + 1;
    for (int turn = 0; turn < candidates; turn++) {
        int number = (turn + round) % candidates;
        double start = seconds(run->threads);
        if (number == run->variant_count)
            run_rung(run, pass);
        else
            run_ggml(run, &run->variants[number], pass);
        double time = seconds(run->threads) - start;
        *(number == run->variant_count ? &run->rung_times[round]
                                       : &run->variants[number].passes[pass].times[round]) = time;
    }
}

/* Prints the comparison with the fastest variant of GGML. */
static void print_row(const comparison_t *run, int pass)
{
    int rounds = run->rounds;
    double ratios[MAX_ROUNDS], count = pass == PREFILL ? (double)run->tokens : 1;
    const variant_t *best = &run->variants[0];
    for (int i = 1; i < run->variant_count; i++)
        if (quartile(run->variants[i].passes[pass].times, rounds, 2) < quartile(best->passes[pass].times, rounds, 2))
            best = &run->variants[i];
    for (int i = 0; i < rounds; i++)
        ratios[i] = best->passes[pass].times[i] / run->rung_times[i];
    printf("%d\t%s\t%s\t%s\t%lld\t%s %s\t%d\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\n", run->threads, run->model.shape->name,
           rung_type_name(run->model.weights[0].type), pass == PREFILL ? "prefill" : "decode", (long long)run->tokens,
           best->kind->name, best->is_flash ? "flash" : "softmax", rounds, count / quartile(run->rung_times, rounds, 2),
           count / quartile(best->passes[pass].times, rounds, 2), quartile(ratios, rounds, 2),
           quartile(ratios, rounds, 1), quartile(ratios, rounds, 3));
    fflush(stdout);
}

static void free_comparison(comparison_t *run)
{
    for (int i = 0; i < run->variant_count; i++) {
        for (int pass = 0; pass < PASSES; pass++) {
            ggml_gallocr_free(run->variants[i].passes[pass].memory);
            ggml_free(run->variants[i].passes[pass].context);
        }
        ggml_backend_buffer_free(run->variants[i].buffer);
        ggml_free(run->variants[i].context);
    }
    for (int i = 0; i < run->kind_count; i++) {
        ggml_backend_buffer_free(run->kinds[i].buffer);
        ggml_free(run->kinds[i].context);
    }
    ggml_backend_buffer_free(run->buffer);
    ggml_free(run->context);
    values_destroy(&run->values);
    model_destroy(&run->model);
}

static void compare(comparison_t *run, const shape_t *shape, rung_type type, double budget)
{
    run->model.compute = rung_type_block_elements(type) > 1 ? RUNG_COMPUTE_Q8 : RUNG_COMPUTE_STRICT;
    if (!model_create(&run->model, shape, type) || !values_create(&run->values, shape, run->tokens + 1))
        fail("out of memory");
    make_kinds(run);
    make_vectors(run);
    make_variants(run);
    for (int pass = PREFILL; pass < PASSES; pass++) {
        verify_all(run, pass);
        double start = seconds(0);
        run->rounds = 0;
        while (run->rounds < MIN_ROUNDS || (run->rounds < MAX_ROUNDS && seconds(0) - start < budget))
            time_round(run, pass);
        print_row(run, pass);
    }
    free_comparison(run);
}

static rung_type type_of(const char *word)
{
    static const rung_type types[] = {RUNG_F32, RUNG_BF16, RUNG_Q8_0, RUNG_Q4_0};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(word, rung_type_name(types[i])) == 0)
            return types[i];
    fail("a TYPE is f32, bf16, q8_0 or q4_0");
    return RUNG_F32;
}

int main(int count, char **words)
{
    int threads = count > 1 ? atoi(words[1]) : 1;
    double budget = count > 2 ? atof(words[2]) : 1;
    const shape_t *shape = count > 3 ? shape_find(words[3]) : NULL;
    int64_t tokens = count > 4 ? atoll(words[4]) : 0;
    rung_context_options options = rung_context_options_default();
    rung_context *context;
    if (threads < 1 || threads > MAX_THREADS || !(budget > 0) || !shape || tokens < 1 || tokens > 65536 || count < 6) {
        fprintf(stderr, "usage: ggml_block THREADS SECONDS MODEL TOKENS TYPE...; 1 to %d threads\n", MAX_THREADS);
        return 2;
    }
    options.device = "cpu";
    options.threads = threads;
    if (rung_context_create(&options, &context) != RUNG_OK)
        fail(rung_error_text());
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, threads);
    printf("threads\tmodel\tweights\tpass\ttokens\tggml\trounds\trung_tokens/s\tggml_tokens/s\trung/ggml\tquarter\t"
           "three_quarters\n");
    for (int i = 5; i < count; i++) {
        static comparison_t run;
        memset(&run, 0, sizeof run);
        run.threads = threads;
        run.tokens = tokens;
        run.backend = backend;
        run.model.context = context;
        compare(&run, shape, type_of(words[i]), budget);
    }
    ggml_backend_free(backend);
    rung_context_destroy(context);
    return 0;
}
