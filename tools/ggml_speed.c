/* SPDX-License-Identifier: Apache-2.0 */
/* ggml_speed.c - ggml_speed THREADS SECONDS SHAPE...: times products with quantized weights: one rung_plan_run in mode q8, with the
 * weights as they are and packed, and one ggml_mul_mat in each kind of buffer that GGML's CPU backend has (plain, repacked, AMX).
 * A SHAPE is MxNxK. Calls are
 * interleaved: each round runs every candidate once. With one thread CPU time is measured, otherwise elapsed time. A result is
 * compared with sums in F64 before it is timed. The last columns are the rate at which rung reads the packed weights, and the rate
 * of a loop that only reads as many bytes. tools/compare-ggml builds and starts it. */
#define _GNU_SOURCE
#include <ggml-backend.h>
#include <ggml-cpu.h>
#include <ggml.h>
#include <rung/rung.h>

#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLAIN, PACKED, RUNG_FORMS }; /* how rung gets the weights */
enum { MAX_KINDS = 6, MAX_ROUNDS = 400, MIN_ROUNDS = 5, MAX_THREADS = 64, CHECKED = 200, BLOCK = 32 };

/* GGML with the weights in one kind of buffer. */
typedef struct {
    const char *name;
    struct ggml_context *context;
    ggml_backend_buffer_t weights, others;
    struct ggml_tensor *result;
    struct ggml_cgraph *graph;
    double times[MAX_ROUNDS];
} kind_t;

typedef struct {
    int threads;
    int64_t m, n, k, weight_bytes;
    rung_type type;
    float *a, *c;
    char *weights;
    rung_plan *plans[RUNG_FORMS];
    rung_buffer *packed;
    rung_queue *queue;
    rung_problem problem;
    ggml_backend_t backend;
    kind_t kinds[MAX_KINDS];
    int kind_count, rounds;
    double rung_times[RUNG_FORMS][MAX_ROUNDS], read_times[MAX_ROUNDS];
} comparison_t;

static void fail(const char *text)
{
    fprintf(stderr, "ggml_speed: %s\n", text);
    exit(1);
}

static void *allocate(int64_t bytes)
{
    void *memory = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (!memory)
        fail("out of memory");
    return memory;
}

static double seconds(int threads)
{
    struct timespec now;
    clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

static float random_value(void)
{
    return (float)(random() % 2000001 - 1000000) * 1e-6f;
}

static void make_operands(comparison_t *run)
{
    int64_t count = run->n * run->k;
    float *values = allocate(count * (int64_t)sizeof *values);
    run->weight_bytes = count / BLOCK * rung_type_block_bytes(run->type);
    run->a = allocate(run->m * run->k * (int64_t)sizeof *run->a);
    run->c = allocate(run->m * run->n * (int64_t)sizeof *run->c);
    run->weights = allocate(run->weight_bytes);
    for (int64_t i = 0; i < run->m * run->k; i++)
        run->a[i] = random_value();
    for (int64_t i = 0; i < count; i++)
        values[i] = random_value();
    if (rung_quantize(rung_matrix_of(RUNG_F32, run->n, run->k, values),
                      rung_matrix_of(run->type, run->n, run->k, run->weights), NULL) != RUNG_OK)
        fail(rung_error_text());
    free(values);
}

static void make_plans(comparison_t *run, rung_device *device)
{
    rung_plan_options options = rung_plan_options_default();
    run->problem = rung_problem_of(rung_matrix_of(RUNG_F32, run->m, run->k, run->a),
                                   rung_matrix_transpose(rung_matrix_of(run->type, run->n, run->k, run->weights)),
                                   rung_matrix_of(RUNG_F32, run->m, run->n, run->c));
    run->problem.compute = RUNG_COMPUTE_Q8;
    options.threads = run->threads;
    if (rung_queue_create(device, &run->queue) != RUNG_OK)
        fail(rung_error_text());
    for (int form = PLAIN; form < RUNG_FORMS; form++) {
        options.packed_b = form == PACKED;
        if (rung_plan_create(device, &run->problem, &options, &run->plans[form]) != RUNG_OK)
            fail(rung_error_text());
    }
    if (rung_buffer_create(device, rung_plan_describe(run->plans[PACKED])->packed_b_bytes, &run->packed) != RUNG_OK ||
        rung_plan_pack_b(run->plans[PACKED], run->queue, &run->problem.b, run->packed, NULL) != RUNG_OK)
        fail(rung_error_text());
}

/* Makes GGML's graph with the weights in a buffer of this type. Returns false if the operation is not supported there. */
static bool make_kind(comparison_t *run, ggml_backend_buffer_type_t type, kind_t *kind)
{
    struct ggml_init_params sizes = {16 * ggml_tensor_overhead() + ggml_graph_overhead(), NULL, true};
    kind->name = ggml_backend_buft_name(type);
    kind->context = ggml_init(sizes);
    struct ggml_tensor *w = ggml_new_tensor_2d(kind->context, run->type == RUNG_Q8_0 ? GGML_TYPE_Q8_0 : GGML_TYPE_Q4_0,
                                               run->k, run->n);
    kind->weights = ggml_backend_buft_alloc_buffer(type, ggml_backend_buft_get_alloc_size(type, w) + 4096);
    if (!kind->weights)
        fail("GGML allocates no buffer");
    ggml_backend_tensor_alloc(kind->weights, w, ggml_backend_buffer_get_base(kind->weights));
    struct ggml_tensor *x = ggml_new_tensor_2d(kind->context, GGML_TYPE_F32, run->k, run->m);
    kind->result = ggml_mul_mat(kind->context, w, x);
    if (!ggml_backend_supports_op(run->backend, kind->result)) {
        ggml_backend_buffer_free(kind->weights);
        ggml_free(kind->context);
        return false;
    }
    kind->graph = ggml_new_graph(kind->context);
    ggml_build_forward_expand(kind->graph, kind->result);
    kind->others = ggml_backend_alloc_ctx_tensors(kind->context, run->backend);
    ggml_backend_tensor_set(w, run->weights, 0, (size_t)run->weight_bytes);
    ggml_backend_tensor_set(x, run->a, 0, (size_t)(run->m * run->k) * sizeof *run->a);
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

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static void run_plan(comparison_t *run, int form)
{
    rung_run_options options = rung_run_options_default();
    options.packed_b = form == PACKED ? run->packed : NULL;
    if (rung_plan_run(run->plans[form], run->queue, &run->problem, &options) != RUNG_OK)
        fail(rung_error_text());
}

/* Runs a plan. GGML configures the AMX tiles once per thread, and librung releases them after each call, so the configuration is
 * kept. It exists once GGML has made a buffer for AMX. */
__attribute__((target("amx-tile"))) static void run_plan_with_tiles(comparison_t *run, int form)
{
    char config[64];
    _tile_storeconfig(config);
    run_plan(run, form);
    __asm__ volatile("" : : "r"(config) : "memory"); /* GCC 12 does not know that the instruction reads memory */
    _tile_loadconfig(config);
}

static void run_rung(comparison_t *run, int form)
{
    bool has_tiles = false;
    for (int i = 0; i < run->kind_count; i++)
        has_tiles = has_tiles || strcmp(run->kinds[i].name, "AMX") == 0;
    (has_tiles ? run_plan_with_tiles : run_plan)(run, form);
}

static void run_ggml(comparison_t *run, const kind_t *kind)
{
    if (ggml_backend_graph_compute(run->backend, kind->graph) != GGML_STATUS_SUCCESS)
        fail("GGML fails");
}

/* ---- Verification ------------------------------------------------------------------------------------------------ */

/* Compares some elements with sums in F64. The bound is that of mode q8 in rung.h. */
static void verify(const comparison_t *run, const char *name, const float *c)
{
    float *column = allocate(run->k * (int64_t)sizeof *column);
    for (int checked = 0; checked < CHECKED; checked++) {
        int64_t i = random() % run->m, j = random() % run->n;
        const float *row = run->a + i * run->k;
        rung_matrix block = rung_matrix_of(run->type, 1, run->k, run->weights + j * run->weight_bytes / run->n);
        double sum = 0, sizes = 0;
        if (rung_dequantize(block, NULL, rung_matrix_of(RUNG_F32, 1, run->k, column)) != RUNG_OK)
            fail(rung_error_text());
        for (int64_t p = 0; p < run->k; p++) {
            double largest = 0;
            for (int64_t e = p / BLOCK * BLOCK; e < p / BLOCK * BLOCK + BLOCK; e++)
                largest = fmax(largest, fabs((double)row[e]));
            sum += (double)row[p] * (double)column[p];
            sizes += largest * fabs((double)column[p]);
        }
        if (!(fabs((double)c[i * run->n + j] - sum) <= sizes * (0x1p-7 + 0x1p-16 + 1.02 * (double)run->k * 0x1p-24))) {
            fprintf(stderr, "ggml_speed: %s computes %g instead of %g\n", name, (double)c[i * run->n + j], sum);
            exit(1);
        }
    }
    free(column);
}

static void verify_all(comparison_t *run)
{
    float *c = allocate(run->m * run->n * (int64_t)sizeof *c);
    for (int form = PLAIN; form < RUNG_FORMS; form++) {
        run_rung(run, form);
        verify(run, form == PACKED ? "rung with packed weights" : "rung", run->c);
    }
    for (int i = 0; i < run->kind_count; i++) {
        run_ggml(run, &run->kinds[i]);
        ggml_backend_tensor_get(run->kinds[i].result, c, 0, (size_t)(run->m * run->n) * sizeof *c);
        verify(run, run->kinds[i].name, c);
    }
    free(c);
}

/* ---- Timing ------------------------------------------------------------------------------------------------------ */

typedef struct {
    const char *first;
    int64_t bytes;
    __m512i sum;
} part_t;

__attribute__((target("avx512f"))) static void *read_part(void *user)
{
    part_t *part = user;
    __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512()};
    for (int64_t at = 0; at + 256 <= part->bytes; at += 256)
        for (int i = 0; i < 4; i++)
            sums[i] = _mm512_xor_si512(sums[i], _mm512_load_si512(part->first + at + 64 * i));
    part->sum = _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3]));
    return NULL;
}

/* Reads all weights, with all threads. */
static void read_weights(const comparison_t *run)
{
    static part_t parts[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    int64_t bytes = run->weight_bytes / run->threads / 64 * 64;
    for (int i = 0; i < run->threads; i++)
        parts[i] = (part_t){.first = run->weights + i * bytes, .bytes = bytes};
    for (int i = 1; i < run->threads; i++)
        if (pthread_create(&threads[i], NULL, read_part, &parts[i]) != 0)
            fail("no thread can be started");
    read_part(&parts[0]);
    for (int i = 1; i < run->threads; i++)
        pthread_join(threads[i], NULL);
}

static int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Times candidate `number`: rung's forms, GGML's kinds of buffer, and the loop that reads. */
static void time_candidate(comparison_t *run, int number, int round)
{
    int kind = number - RUNG_FORMS;
    double start = seconds(run->threads), *time = number < RUNG_FORMS      ? &run->rung_times[number][round]
                                                  : kind < run->kind_count ? &run->kinds[kind].times[round]
                                                                           : &run->read_times[round];
    if (number < RUNG_FORMS)
        run_rung(run, number);
    else if (kind < run->kind_count)
        run_ggml(run, &run->kinds[kind]);
    else
        read_weights(run);
    *time = seconds(run->threads) - start;
}

static void time_round(comparison_t *run)
{
    int round = run->rounds++, candidates = RUNG_FORMS + run->kind_count + 1;
    for (int turn = 0; turn < candidates; turn++)
        time_candidate(run, (turn + round) % candidates, round);
}

/* Returns the median of the ratios of each round, and its quartiles. */
static void compute_ratios(const comparison_t *run, int form, const kind_t *kind, double quartiles[3])
{
    double ratios[MAX_ROUNDS];
    for (int i = 0; i < run->rounds; i++)
        ratios[i] = kind->times[i] / run->rung_times[form][i];
    quartiles[1] = median(ratios, run->rounds);
    quartiles[0] = ratios[run->rounds / 4];
    quartiles[2] = ratios[run->rounds * 3 / 4];
}

static double median_of(const double *times, int count)
{
    double sorted[MAX_ROUNDS];
    memcpy(sorted, times, (size_t)count * sizeof *times);
    return median(sorted, count);
}

/* Returns the kind of buffer in which GGML is fastest. */
static int best_kind(const comparison_t *run)
{
    int best = 0;
    for (int i = 1; i < run->kind_count; i++)
        if (median_of(run->kinds[i].times, run->rounds) < median_of(run->kinds[best].times, run->rounds))
            best = i;
    return best;
}

static void print_row(const comparison_t *run)
{
    const kind_t *best = &run->kinds[best_kind(run)];
    double flops = 2.0 * (double)run->m * (double)run->n * (double)run->k, bytes = (double)run->weight_bytes;
    double times[RUNG_FORMS], ratios[RUNG_FORMS][3];
    for (int form = PLAIN; form < RUNG_FORMS; form++) {
        times[form] = median_of(run->rung_times[form], run->rounds);
        compute_ratios(run, form, best, ratios[form]);
    }
    printf("%d\t%s\t%lldx%lldx%lld\t%s\t%d\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.2f\n", run->threads,
           rung_type_name(run->type), (long long)run->m, (long long)run->n, (long long)run->k, best->name, run->rounds,
           1e-9 * flops / times[PLAIN], 1e-9 * flops / times[PACKED],
           1e-9 * flops / median_of(best->times, run->rounds), ratios[PLAIN][1], ratios[PACKED][1], ratios[PACKED][0],
           ratios[PACKED][2], 1e-9 * bytes / times[PACKED], 1e-9 * bytes / median_of(run->read_times, run->rounds));
    fflush(stdout);
}

static void free_comparison(comparison_t *run)
{
    for (int i = 0; i < run->kind_count; i++) {
        ggml_backend_buffer_free(run->kinds[i].weights);
        ggml_backend_buffer_free(run->kinds[i].others);
        ggml_free(run->kinds[i].context);
    }
    rung_queue_destroy(run->queue);
    for (int form = PLAIN; form < RUNG_FORMS; form++)
        rung_plan_destroy(run->plans[form]);
    rung_buffer_destroy(run->packed);
    free(run->a);
    free(run->c);
    free(run->weights);
}

static void compare(rung_device *device, ggml_backend_t backend, comparison_t *run, double budget)
{
    run->backend = backend;
    make_operands(run);
    make_plans(run, device);
    make_kinds(run);
    verify_all(run);
    double start = seconds(0);
    while (run->rounds < MIN_ROUNDS || (run->rounds < MAX_ROUNDS && seconds(0) - start < budget))
        time_round(run);
    print_row(run);
    free_comparison(run);
}

int main(int count, char **words)
{
    int threads = count > 1 ? atoi(words[1]) : 1;
    double budget = count > 2 ? atof(words[2]) : 1;
    rung_device *device;
    if (threads < 1 || threads > MAX_THREADS || !(budget > 0) || count < 4) {
        fprintf(stderr, "usage: ggml_speed THREADS SECONDS SHAPE...; 1 to %d threads\n", MAX_THREADS);
        return 2;
    }
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK)
        fail(rung_error_text());
    ggml_backend_t backend = ggml_backend_cpu_init();
    ggml_backend_cpu_set_n_threads(backend, threads);
    printf(
        "threads\tweights\tshape\tggml\trounds\trung_gflops\tpacked_gflops\tggml_gflops\trung/ggml\tpacked/ggml\tquarter\t"
        "three_quarters\tweights_GB/s\tread_GB/s\n");
    for (int i = 3; i < count; i++)
        for (int type = RUNG_Q8_0; type <= RUNG_Q4_0; type++) {
            static comparison_t run;
            long long m, n, k;
            if (sscanf(words[i], "%lldx%lldx%lld", &m, &n, &k) != 3 || m < 1 || n < 1 || k < BLOCK || k % BLOCK != 0)
                fail("a shape is MxNxK, and K is a multiple of 32");
            run = (comparison_t){.threads = threads, .m = m, .n = n, .k = k, .type = (rung_type)type};
            compare(device, backend, &run, budget);
        }
    ggml_backend_free(backend);
    rung_device_close(device);
    return 0;
}
