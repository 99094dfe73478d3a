/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_plan.c - plans of the CPU device: transposes a problem if C is column-major, partitions C between threads and
 * calls a kernel for each block.
 *
 * A kernel chooses its path and scratch once, for the whole problem, and C is partitioned along m and n, never along k:
 * one thread sums each element, always in the same order. The bits of a result therefore do not depend on the number of
 * threads. A batch with enough items is partitioned by items. Otherwise each item is partitioned. */
#include "cpu/cpu_plan.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/matrix.h"
#include "core/plan_types.h"
#include "core/problem.h"
#include "cpu/cpu_device.h"
#include "cpu/microkernels/cpu_dequantize.h"
#include "cpu/peers/peer_library.h"

typedef struct cpu_plan {
    rungi_cpu_kernel_config config;
    rungi_cpu_grid grid;
    int64_t items_per_part;     /* of a batch whose items are not partitioned; 1 otherwise */
    rungi_packed_header header; /* expected at the start of a packed B */
} cpu_plan_t;

/* One call of rungi_cpu_plan_run. */
typedef struct cpu_run {
    const rung_plan *plan;
    const rung_problem *problem;
    rungi_gemm_sizes sizes;
    const char *packed;                                       /* the packed B after its header, or NULL */
    const rung_quantization *a_quantization, *b_quantization; /* as rungi_cpu_narrow has them */
} cpu_run_t;

/* ---- Jobs -------------------------------------------------------------------------------------- */

/* Returns the address of element (i, j), or NULL if the view is absent. */
static const char *element_address(const rungi_cpu_input *view, rung_type type, int64_t i, int64_t j)
{
    return view->first ? (const char *)view->first + rungi_type_bytes(type, i * view->row_stride + j * view->col_stride)
                       : NULL;
}

/* Returns the view of one batch item. An empty matrix gives an absent view. */
static rungi_cpu_input operand_of(const rung_matrix *matrix, int64_t item)
{
    if (rungi_matrix_is_empty(matrix))
        return (rungi_cpu_input){NULL, 0, 0};
    return (rungi_cpu_input){rungi_cpu_item_data(matrix, item), matrix->row_stride, matrix->col_stride};
}

/* Returns a matrix of narrow elements, which is described by the start of its memory. */
static rungi_cpu_narrow narrow_of(const rung_matrix *matrix, int64_t item)
{
    rungi_cpu_narrow narrow = {
        .type = matrix->type, .row_stride = matrix->row_stride, .col_stride = matrix->col_stride};
    if (rungi_matrix_is_empty(matrix))
        return narrow;
    narrow.memory = matrix->buffer ? rungi_cpu_buffer_data(matrix->buffer) : matrix->data;
    narrow.offset = matrix->offset + rungi_matrix_item_offset(matrix, item);
    return narrow;
}

static void set_b(rungi_cpu_job *job, const rung_matrix *b, int64_t item)
{
    job->b = operand_of(b, item);
    if (job->b_type != job->in && rungi_type_is_narrow(job->b_type))
        job->narrow_b = narrow_of(b, item);
}

/* Sets A and the type of the multiplication: F32 if both A and B are narrow. */
static void set_a(rungi_cpu_job *job, const rung_matrix *a, int64_t item)
{
    job->a = operand_of(a, item);
    job->in = a->type;
    if (!rungi_type_is_narrow(a->type) || rungi_type_is_integer(job->out))
        return;
    rung_matrix transposed = rung_matrix_transpose(*a);
    job->in = RUNG_F32;
    job->narrow_a = narrow_of(&transposed, item);
    job->narrow_a.is_transposed = true;
}

/* Reads the scales of A or B into `memory`. Returns NULL if there are none. */
static const rung_quantization *read_quantization(const rung_problem *problem, rungi_operand operand,
                                                  rung_quantization *memory)
{
    const rung_quantization *given = rungi_problem_quantization(problem, operand);
    rung_matrix *const views[] = {&memory->scales, &memory->zero_points};
    if (!given || rungi_quantization_read(given, memory) != RUNG_OK)
        return NULL; /* the core has checked the struct */
    rungi_quantization_set_block_size(rungi_problem_view(problem, operand), memory);
    for (int i = 0; i < 2; i++)
        if (views[i]->buffer)
            views[i]->data = rungi_cpu_buffer_data(views[i]->buffer);
    return memory;
}

static void set_quantization(rungi_cpu_narrow *matrix, const rung_quantization *quantization, int64_t item)
{
    if (!quantization)
        return;
    const rung_matrix *scales = &quantization->scales, *zero_points = &quantization->zero_points;
    matrix->quantization = quantization;
    matrix->scales_offset = scales->offset + rungi_matrix_item_offset(scales, item);
    matrix->zero_points_offset = zero_points->offset + rungi_matrix_item_offset(zero_points, item);
}

static rungi_cpu_job item_job(const rung_problem *problem, rungi_gemm_sizes sizes, int64_t item)
{
    const rung_matrix *addend = rungi_problem_addend(problem);
    rungi_cpu_job job = {
        .out = problem->c.type,
        .b_type = problem->b.type,
        .m = sizes.m,
        .n = sizes.n,
        .k = sizes.k,
        .alpha = problem->alpha,
        .beta = rungi_matrix_is_empty(addend) ? problem->beta : 0,
        .c = {rungi_cpu_item_data(&problem->c, item), problem->c.row_stride, problem->c.col_stride},
        .bias = operand_of(&problem->bias, item),
        .multiplier = operand_of(&problem->multiplier, item),
        .residual = operand_of(&problem->residual, item),
        .addend = operand_of(addend, item),
        .addend_factor = problem->beta,
        .activation = problem->activation,
    };
    set_a(&job, &problem->a, item);
    set_b(&job, &problem->b, item);
    return job;
}

static rungi_cpu_input transposed(rungi_cpu_input view)
{
    return (rungi_cpu_input){view.first, view.col_stride, view.row_stride};
}

/* Replaces the job by C^T = B^T A^T. */
static void transpose_job(rungi_cpu_job *job)
{
    rungi_cpu_input a = job->a;
    int64_t m = job->m, row_stride = job->c.row_stride;
    job->m = job->n;
    job->n = m;
    job->a = transposed(job->b);
    job->b = transposed(a);
    job->c.row_stride = job->c.col_stride;
    job->c.col_stride = row_stride;
    job->bias = transposed(job->bias);
    job->multiplier = transposed(job->multiplier);
    job->residual = transposed(job->residual);
    job->addend = transposed(job->addend);
}

/* Restricts the job to the m x n block of C that begins at (i, j). */
static void restrict_to_block(rungi_cpu_job *job, int64_t i, int64_t j, int64_t m, int64_t n)
{
    if (rungi_cpu_dequantizes_a(job)) {
        job->narrow_a.offset += i * job->narrow_a.col_stride;
        job->narrow_a.first_col = i;
    } else {
        job->a.first = element_address(&job->a, job->in, i, 0);
    }
    if (rungi_cpu_dequantizes(job)) {
        job->narrow_b.offset += j * job->narrow_b.col_stride;
        job->narrow_b.first_col = j;
    } else {
        job->b.first = element_address(&job->b, job->b_type, 0, j);
    }
    job->c.first = (char *)job->c.first + (i * job->c.row_stride + j * job->c.col_stride) * rung_type_size(job->out);
    job->bias.first = element_address(&job->bias, job->out, i, j);
    job->multiplier.first = element_address(&job->multiplier, job->out, i, j);
    job->residual.first = element_address(&job->residual, job->out, i, j);
    job->addend.first = element_address(&job->addend, job->out, i, j);
    job->m = m;
    job->n = n;
}

/* ---- Creating a plan ------------------------------------------------------------------------------------- */

/* Returns the finest grid with `rows` rows of blocks and at most `parts` blocks. */
static rungi_cpu_grid finest_grid(int64_t m, int64_t n, const rungi_cpu_kernel_config *config, int64_t parts,
                                  int64_t rows)
{
    int64_t cols = parts / rows;
    RUNGI_ASSERT(cols > 0 && config->grain_m > 0 && config->grain_n > 0);
    int64_t m_step = rungi_round_up(rungi_ceil_divide(m, rows), config->grain_m);
    int64_t n_step = rungi_round_up(rungi_ceil_divide(n, cols), config->grain_n);
    return (rungi_cpu_grid){rungi_ceil_divide(m, m_step), rungi_ceil_divide(n, n_step), m_step, n_step};
}

/* Estimates the time of the largest block: its multiply-adds, a little for the operands that it reads, and the lines of C
 * that it shares with the block beside it. Square blocks read least. */
static double grid_cost(const rungi_cpu_grid *grid, double shared_line_cost)
{
    double m = (double)grid->m_step, n = (double)grid->n_step;
    return m * n * (1 + 1.0 / 64) + 16 * (m + n) + (grid->cols > 1 ? m * shared_line_cost : 0);
}

rungi_cpu_grid rungi_cpu_grid_choose(int64_t m, int64_t n, const rungi_cpu_kernel_config *config, int64_t parts)
{
    RUNGI_ASSERT(m > 0 && n > 0 && parts > 0);
    rungi_cpu_grid best = finest_grid(m, n, config, parts, 1);
    for (int64_t rows = 2; rows <= parts && rows <= m; rows++) {
        rungi_cpu_grid grid = finest_grid(m, n, config, parts, rows);
        if (grid_cost(&grid, config->shared_line_cost) < grid_cost(&best, config->shared_line_cost))
            best = grid;
    }
    return best;
}

/* Returns what config->shared_line_cost describes. If the rows of C do not begin at the same place of a cache line, blocks
 * beside each other share a line per row, and each K block moves it from one core to the other. */
static double shared_line_cost(const rungi_cpu_job *job, const rungi_cpu_kernel_config *config)
{
    enum { LINE = 64, MULTIPLY_ADDS = 4000 }; /* about 50 ns of F32 */
    int64_t k_blocks = config->kc > 0 ? rungi_ceil_divide(job->k, config->kc) : 1;
    bool is_shared = (uint64_t)job->c.row_stride * (uint64_t)rung_type_size(job->out) % LINE != 0;
    return is_shared && job->k > 0 ? (double)MULTIPLY_ADDS * (double)k_blocks / (double)job->k : 0;
}

static double work_of(const rungi_cpu_job *job)
{
    return (double)job->m * (double)job->n * (double)job->k;
}

/* Sets the size of a packed B, header included, and the header that a packed B must have. */
static rung_status fill_packed_header(cpu_plan_t *state, rung_plan *plan)
{
    if (!plan->packed_b)
        return RUNG_OK;
    if (!rungi_checked_add(state->config.packed.bytes, (int64_t)sizeof state->header, &plan->info.packed_b_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "the packed B needs more than 2^63 bytes; split B by columns and multiply by each part");
    rungi_packed_header_fill(plan, &state->config.packed, &state->header);
    return RUNG_OK;
}

/* Returns how many items of a batch are one part. Small items are computed together, because finding the next part takes as long
 * as an item. Each thread gets several parts, if there are enough. */
static int64_t items_per_part(const rung_plan *plan, const rungi_cpu_job *job, const cpu_plan_t *state, int64_t threads)
{
    const rungi_cpu_kernel *kernel = plan->kernel->step->function;
    const rung_problem *problem = &plan->problem;
    int64_t batch = problem->batch;
    if (!kernel->run_items || job->in != job->b_type || rungi_problem_has_epilogue(problem) ||
        state->config.is_transposed || state->grid.rows * state->grid.cols > 1)
        return 1;
    if (threads == 1)
        return rungi_max(batch, 1);
    int64_t worthwhile = (int64_t)1 << 20; /* multiply-adds */
    double work = (double)job->m * (double)job->n * (double)rungi_max(job->k, 1);
    int64_t largest = work < (double)worthwhile ? (int64_t)((double)worthwhile / work) : 1;
    return rungi_max(rungi_min(rungi_ceil_divide(batch, 4 * threads), largest), 1);
}

static int64_t part_count(const cpu_plan_t *state, int64_t batch)
{
    return rungi_ceil_divide(batch, state->items_per_part) * state->grid.rows * state->grid.cols;
}

static rung_status configure_plan(cpu_plan_t *state, rung_plan *plan)
{
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const rungi_cpu_kernel *kernel = plan->kernel->step->function;
    const rung_problem *problem = &plan->problem;
    rungi_gemm_sizes sizes = {problem->c.rows, problem->c.cols, problem->a.cols, problem->batch};
    rungi_cpu_job job = item_job(problem, sizes, 0);
    state->config = (rungi_cpu_kernel_config){.grain_m = 1, .grain_n = 1, .has_packed_b = plan->packed_b};
    bool is_column = job.c.row_stride == 1 && (job.c.col_stride != 1 || (job.n == 1 && job.m > 1));
    state->config.is_transposed = is_column && job.in == job.b_type && !plan->packed_b; /* B is packed untransposed */
    if (state->config.is_transposed)
        transpose_job(&job);
    state->config.problem_n = job.n;
    job.features = &device->features;
    job.parameters = plan->values.value;
    if (kernel->configure)
        TRY(kernel->configure(&job, problem->compute, &state->config));
    TRY(fill_packed_header(state, plan));
    if (state->config.is_slow && plan->is_kernel_automatic)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s is slower than another kernel for these small sizes; select it by name to use it anyway",
                          plan->kernel->info.name);
    int64_t threads = plan->threads_requested > 0 ? plan->threads_requested : rungi_pool_threads(device->pool);
    /* Waking a thread takes microseconds, so small problems use fewer threads. */
    threads = kernel->is_threaded ? rungi_cpu_worthwhile_count(work_of(&job) * (double)problem->batch, 60, 1, threads)
                                  : 1;
    if (job.m == 0 || job.n == 0) /* nothing is computed, but a grid has at least one block */
        job.m = job.n = 1;
    /* Up to four parts per thread while a part takes milliseconds: if the system delays a thread, the others take its parts. Each
     * part packs its own B. No item of a large batch is partitioned. Each thread gets equally many parts. */
    bool has_one_part = threads == 1 || problem->batch >= 2 * threads;
    int64_t parts = has_one_part ? 1 : rungi_cpu_worthwhile_count(work_of(&job), 768, threads, 4 * threads);
    parts -= parts > threads ? parts % threads : 0;
    state->config.shared_line_cost = shared_line_cost(&job, &state->config);
    state->grid = rungi_cpu_grid_choose(job.m, job.n, &state->config, parts);
    state->items_per_part = items_per_part(plan, &job, state, threads);
    plan->info.threads = rungi_min(part_count(state, problem->batch), threads);
    return rungi_pool_reserve(device->pool, plan->info.threads, state->config.scratch);
}

rung_status rungi_cpu_plan_create(rung_plan *plan)
{
    bool is_vendor = plan->kernel->step->is_vendor;
    size_t bytes = is_vendor ? rungi_cpu_peer_plan_bytes() : sizeof(cpu_plan_t);
    plan->state = rungi_allocate_zeroed(plan->device->context, bytes);
    if (!plan->state)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = is_vendor ? rungi_cpu_peer_plan_configure(plan) : configure_plan(plan->state, plan);
    if (status != RUNG_OK) {
        rungi_cpu_plan_destroy(plan);
        plan->state = NULL;
    }
    return status;
}

void rungi_cpu_plan_destroy(rung_plan *plan)
{
    if (plan->kernel->step->is_vendor)
        rungi_cpu_peer_plan_destroy(plan);
    rungi_release(plan->device->context, plan->state);
}

/* ---- Running ------------------------------------------------------------------------------------- */

static rungi_cpu_item_addresses item_addresses(const rung_matrix *matrix)
{
    if (rungi_matrix_is_empty(matrix))
        return (rungi_cpu_item_addresses){NULL, 0, NULL, 0};
    rung_matrix first = *matrix;
    first.batch_offsets = NULL;
    int64_t size = rung_type_size(matrix->type); /* batches with a quantized B have one item per part */
    return (rungi_cpu_item_addresses){rungi_cpu_item_data(&first, 0), matrix->batch_stride * size,
                                      matrix->batch_offsets, size};
}

/* Returns the job of a whole item, on a thread with this scratch memory. */
static rungi_cpu_job job_of_run(const cpu_run_t *run, int64_t item, char *scratch)
{
    const cpu_plan_t *plan = run->plan->state;
    rungi_cpu_job job = item_job(run->problem, run->sizes, item);
    job.config = &plan->config;
    job.features = &((const rungi_cpu_device *)run->plan->device)->features;
    job.parameters = run->plan->values.value;
    job.scratch = scratch;
    job.packed = run->packed;
    set_quantization(&job.narrow_a, run->a_quantization, item);
    set_quantization(&job.narrow_b, run->b_quantization, item);
    return job;
}

/* Computes part `part` of a batch whose parts are several items. */
static void run_items(const cpu_run_t *run, int64_t part, char *scratch)
{
    const cpu_plan_t *plan = run->plan->state;
    const rungi_cpu_kernel *kernel = run->plan->kernel->step->function;
    const rung_problem *problem = run->problem;
    rungi_cpu_items items = {.first = part * plan->items_per_part,
                             .end = rungi_min((part + 1) * plan->items_per_part, run->sizes.batch),
                             .a = item_addresses(&problem->a),
                             .b = item_addresses(&problem->b),
                             .c = item_addresses(&problem->c)};
    rungi_cpu_job job = job_of_run(run, items.first, scratch);
    kernel->run_items(&job, &items);
}

/* Computes one block of an item. */
static void run_block(const cpu_run_t *run, const rungi_cpu_grid *grid, int64_t item, int64_t block, char *scratch)
{
    const cpu_plan_t *plan = run->plan->state;
    const rungi_cpu_kernel *kernel = run->plan->kernel->step->function;
    int64_t blocks = grid->rows * grid->cols, row = blocks > 1 ? block / grid->cols : 0;
    int64_t i = row * grid->m_step, j = (block - row * grid->cols) * grid->n_step;
    RUNGI_ASSERT(item < run->sizes.batch && row < grid->rows && block - row * grid->cols < grid->cols);
    RUNGI_ASSERT(plan->config.scratch == 0 || scratch);
    rungi_cpu_job job = job_of_run(run, item, scratch);
    if (plan->config.is_transposed)
        transpose_job(&job);
    if (blocks > 1)
        restrict_to_block(&job, i, j, rungi_min(job.m - i, grid->m_step), rungi_min(job.n - j, grid->n_step));
    job.first_col = blocks > 1 ? j : 0;
    kernel->run(&job);
}

/* Computes part `part`: one block of one batch item, or several items. */
static void run_part(void *user, int64_t part, char *scratch)
{
    const cpu_run_t *run = user;
    const cpu_plan_t *plan = run->plan->state;
    if (plan->items_per_part > 1) {
        run_items(run, part, scratch);
        return;
    }
    int64_t blocks = plan->grid.rows * plan->grid.cols, item = blocks > 1 ? part / blocks : part;
    run_block(run, &plan->grid, item, part - item * blocks, scratch);
}

rung_status rungi_cpu_plan_read_packed(const rung_plan *plan, rung_buffer *packed, const char **elements)
{
    const cpu_plan_t *state = plan->state;
    const char *header = rungi_cpu_buffer_data(packed);
    TRY(rungi_packed_header_check(&state->header, header));
    *elements = header + sizeof state->header;
    return RUNG_OK;
}

rung_status rungi_cpu_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_gemm_sizes sizes,
                               const rung_run_options *options)
{
    if (plan->kernel->step->is_vendor)
        return rungi_cpu_peer_plan_run(plan, problem, sizes, options);
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const cpu_plan_t *state = plan->state;
    rung_quantization a_quantization, b_quantization;
    cpu_run_t run = {plan,
                     problem,
                     sizes,
                     NULL,
                     read_quantization(problem, RUNGI_A, &a_quantization),
                     read_quantization(problem, RUNGI_B, &b_quantization)};
    if (plan->packed_b)
        TRY(rungi_cpu_plan_read_packed(plan, options->packed_b, &run.packed));
    int64_t started = options->signal ? rungi_clock_ns() : 0;
    (void)queue;
    if (sizes.m > 0 && sizes.n > 0)
        rungi_pool_run(device->pool, rungi_plan_threads(plan, options), state->config.scratch,
                       part_count(state, sizes.batch), run_part, &run);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

rung_status rungi_cpu_plan_pack(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                                const rung_run_options *options)
{
    if (plan->kernel->step->is_vendor)
        return rungi_cpu_peer_plan_pack(plan, b, packed, options);
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const rungi_cpu_kernel *kernel = plan->kernel->step->function;
    const cpu_plan_t *state = plan->state;
    int64_t started = rungi_clock_ns();
    rungi_cpu_job job = {.in = plan->problem.a.type,
                         .b_type = b->type,
                         .out = plan->problem.c.type,
                         .n = b->cols,
                         .k = b->rows,
                         .config = &state->config,
                         .features = &device->features,
                         .parameters = plan->values.value};
    set_b(&job, b, 0);
    char *header = rungi_cpu_buffer_data(packed);
    (void)queue;
    rungi_cpu_buffer_prepare_packed(packed, plan->info.packed_b_bytes);
    if (!rungi_matrix_is_empty(b))
        kernel->pack(&job, header + sizeof state->header);
    memcpy(header, &state->header, sizeof state->header);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

rung_status rungi_cpu_packed_check(const rung_plan *plan, const void *header)
{
    const cpu_plan_t *state = plan->state;
    return plan->kernel->step->is_vendor ? rungi_cpu_peer_packed_check(plan, header)
                                         : rungi_packed_header_check(&state->header, header);
}

/* ---- Groups ---------------------------------------------------------------------------------------- */

const rungi_cpu_kernel_config *rungi_cpu_plan_config(const rung_plan *plan)
{
    const cpu_plan_t *state = plan->state;
    return &state->config;
}

rungi_cpu_grid rungi_cpu_plan_grid(const rung_plan *plan, int64_t parts)
{
    const cpu_plan_t *state = plan->state;
    const rung_matrix *c = &plan->problem.c;
    bool is_transposed = state->config.is_transposed;
    return rungi_cpu_grid_choose(is_transposed ? c->cols : c->rows, is_transposed ? c->rows : c->cols, &state->config,
                                 parts);
}

void rungi_cpu_plan_run_block(const rung_plan *plan, const rung_problem *problem, const char *packed,
                              const rungi_cpu_grid *grid, int64_t block, char *scratch)
{
    rung_quantization a_quantization, b_quantization;
    cpu_run_t run = {plan,
                     problem,
                     {problem->c.rows, problem->c.cols, problem->a.cols, 1},
                     packed,
                     read_quantization(problem, RUNGI_A, &a_quantization),
                     read_quantization(problem, RUNGI_B, &b_quantization)};
    run_block(&run, grid, 0, block, scratch);
}
