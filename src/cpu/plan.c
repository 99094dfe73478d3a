/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - plans of the CPU device: a problem is turned so that C stands by rows, cut between
 * threads and handed to a kernel block by block.
 *
 * What a kernel settles (its path, its scratch) it settles here for the whole problem, and C is cut
 * along m and n alone, never along k: each element is summed by one thread and in one way. So the
 * bits of a result do not depend on how many threads were asked for, nor on how many came. A batch
 * is cut between its items where there are enough of them, else each item is cut in turn. */
#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/matrix.h"
#include "core/plan.h"
#include "core/problem.h"
#include "cpu/kernels/kernels.h"
#include "cpu/vendor.h"

typedef struct cpu_plan {
    rungi_cpu_form form;
    rungi_cpu_grid grid;
    rungi_packed_header header; /* of a packed B */
} cpu_plan_t;

/* One run. */
typedef struct cpu_run {
    const cpu_plan_t *plan;
    const rungi_cpu_kernel *kernel;
    const rung_problem *problem;
    const int64_t *parameters;
    const rungi_cpu_features *features;
    rungi_sizes sizes;
    const char *packed; /* B behind its header, or NULL */
} cpu_run_t;

/* ---- Jobs -------------------------------------------------------------------------------------- */

static const char *at(const rungi_cpu_input *view, rung_type type, int64_t i, int64_t j)
{
    return view->first
               ? (const char *)view->first + (i * view->row_stride + j * view->col_stride) * rung_type_size(type)
               : NULL;
}

static rungi_cpu_input input_of(const rung_matrix *matrix, int64_t item)
{
    if (rungi_matrix_is_empty(matrix))
        return (rungi_cpu_input){NULL, 0, 0};
    return (rungi_cpu_input){rungi_cpu_item(matrix, item), matrix->row_stride, matrix->col_stride};
}

static rungi_cpu_job job_of(const rung_problem *problem, rungi_sizes sizes, int64_t item)
{
    const rung_matrix *addend = rungi_problem_addend(problem);
    return (rungi_cpu_job){
        .in = problem->a.type,
        .out = problem->c.type,
        .m = sizes.m,
        .n = sizes.n,
        .k = sizes.k,
        .alpha = problem->alpha,
        .beta = rungi_matrix_is_empty(addend) ? problem->beta : 0,
        .a = input_of(&problem->a, item),
        .b = input_of(&problem->b, item),
        .c = {rungi_cpu_item(&problem->c, item), problem->c.row_stride, problem->c.col_stride},
        .bias = input_of(&problem->bias, item),
        .residual = input_of(&problem->residual, item),
        .addend = input_of(addend, item),
        .addend_factor = problem->beta,
        .activation = problem->activation,
    };
}

static rungi_cpu_input transposed(rungi_cpu_input view)
{
    return (rungi_cpu_input){view.first, view.col_stride, view.row_stride};
}

/* C^T = B^T A^T. */
static void turn(rungi_cpu_job *job)
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
    job->residual = transposed(job->residual);
    job->addend = transposed(job->addend);
}

/* The m x n block of C that begins at (i, j). */
static void cut(rungi_cpu_job *job, int64_t i, int64_t j, int64_t m, int64_t n)
{
    job->a.first = at(&job->a, job->in, i, 0);
    job->b.first = at(&job->b, job->in, 0, j);
    job->c.first = (char *)job->c.first + (i * job->c.row_stride + j * job->c.col_stride) * rung_type_size(job->out);
    job->bias.first = at(&job->bias, job->out, i, j);
    job->residual.first = at(&job->residual, job->out, i, j);
    job->addend.first = at(&job->addend, job->out, i, j);
    job->m = m;
    job->n = n;
}

/* ---- Making ------------------------------------------------------------------------------------- */

/* Of grids with so many rows of blocks and no more than `parts` blocks, the finest. */
static rungi_cpu_grid grid_of(int64_t m, int64_t n, const rungi_cpu_form *form, int64_t parts, int64_t rows)
{
    int64_t cols = parts / rows;
    RUNGI_ASSERT(cols > 0 && form->grain_m > 0 && form->grain_n > 0);
    int64_t m_step = rungi_round_up((m + rows - 1) / rows, form->grain_m);
    int64_t n_step = rungi_round_up((n + cols - 1) / cols, form->grain_n);
    return (rungi_cpu_grid){
        .rows = (m + m_step - 1) / m_step, .cols = (n + n_step - 1) / n_step, .m_step = m_step, .n_step = n_step};
}

/* The largest block's work, and a little for what is read to do it: that is least where blocks are
 * square. */
static double cost_of(const rungi_cpu_grid *grid)
{
    double m = (double)grid->m_step, n = (double)grid->n_step;
    return m * n * (1 + 1.0 / 64) + 16 * (m + n);
}

rungi_cpu_grid rungi_cpu_cut(int64_t m, int64_t n, const rungi_cpu_form *form, int64_t parts)
{
    RUNGI_ASSERT(m > 0 && n > 0 && parts > 0);
    rungi_cpu_grid best = grid_of(m, n, form, parts, 1);
    for (int64_t rows = 2; rows <= parts && rows <= m; rows++) {
        rungi_cpu_grid grid = grid_of(m, n, form, parts, rows);
        if (cost_of(&grid) < cost_of(&best))
            best = grid;
    }
    return best;
}

/* How many pieces of at least edge^3 steps there are to be had, from `least` to `most`. */
static int64_t pieces_worth(const rungi_cpu_job *job, int64_t items, double edge, int64_t least, int64_t most)
{
    double pieces = (double)job->m * (double)job->n * (double)job->k * (double)items / (edge * edge * edge);
    return pieces < (double)least ? least : pieces < (double)most ? (int64_t)pieces : most;
}

/* Waking a thread costs some microseconds: a small problem is one thread's. */
static int64_t threads_worth(const rungi_cpu_job *job, int64_t items, int64_t threads)
{
    return pieces_worth(job, items, 48, 1, threads);
}

/* Several parts a thread, as long as they are large: threads that the system holds up leave more to the others. */
static int64_t parts_worth(const rungi_cpu_job *job, int64_t threads)
{
    return threads == 1 ? 1 : pieces_worth(job, 1, 192, threads, 4 * threads);
}

/* A packed B is its header and what follows. */
static rung_status fill_packed(cpu_plan_t *made, rung_plan *plan)
{
    if (!plan->packed_b)
        return RUNG_OK;
    if (!rungi_add(made->form.packed.bytes, (int64_t)sizeof made->header, &plan->info.packed_b_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "the packed B needs more bytes than can be addressed; multiply by it in parts");
    rungi_packed_header_fill(plan, &made->form.packed, &made->header);
    return RUNG_OK;
}

static rung_status fill(cpu_plan_t *made, rung_plan *plan)
{
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const rungi_cpu_kernel *kernel = plan->kernel->step->function;
    const rung_problem *problem = &plan->problem;
    rungi_sizes sizes = {problem->c.rows, problem->c.cols, problem->a.cols, problem->batch};
    rungi_cpu_job job = job_of(problem, sizes, 0);
    made->form = (rungi_cpu_form){.grain_m = 1, .grain_n = 1, .takes_packed = plan->packed_b};
    /* A packed B stays B. */
    made->form.is_turned = job.c.row_stride == 1 && job.c.col_stride != 1 && !plan->packed_b;
    if (made->form.is_turned)
        turn(&job);
    made->form.whole_n = job.n;
    job.features = &device->features;
    job.parameters = plan->values.value;
    rung_status status = kernel->settle ? kernel->settle(&job, problem->compute, &made->form) : RUNG_OK;
    if (status == RUNG_OK)
        status = fill_packed(made, plan);
    if (status != RUNG_OK)
        return status;
    if (made->form.is_slow && plan->is_open)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s is slower than another kernel for so few rows, columns or steps of k; it "
                          "is selected only by name",
                          plan->kernel->info.name);
    int64_t threads = plan->threads_asked > 0 ? plan->threads_asked : rungi_pool_threads(device->pool);
    threads = kernel->is_threaded ? threads_worth(&job, problem->batch, threads) : 1;
    if (job.m == 0 || job.n == 0) /* nothing is computed */
        job.m = job.n = 1;
    bool is_enough = problem->batch >= 2 * threads; /* items, to give each thread whole ones */
    made->grid = rungi_cpu_cut(job.m, job.n, &made->form, is_enough ? 1 : parts_worth(&job, threads));
    int64_t parts = problem->batch * made->grid.rows * made->grid.cols;
    plan->info.threads = rungi_smaller(parts, threads);
    return rungi_pool_reserve(device->pool, plan->info.threads, made->form.scratch);
}

rung_status rungi_cpu_plan_create(rung_plan *plan)
{
    if (plan->kernel->step->is_vendor)
        return rungi_cpu_vendor_create(plan);
    cpu_plan_t *made = rungi_new(plan->device->context, sizeof *made);
    if (!made)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = fill(made, plan);
    if (status == RUNG_OK)
        plan->state = made;
    else
        rungi_release(plan->device->context, made);
    return status;
}

void rungi_cpu_plan_destroy(rung_plan *plan)
{
    if (plan->kernel->step->is_vendor)
        rungi_cpu_vendor_destroy(plan);
    else
        rungi_release(plan->device->context, plan->state);
}

/* ---- Running ------------------------------------------------------------------------------------- */

static void run_part(void *user, int64_t part, char *scratch)
{
    const cpu_run_t *run = user;
    const cpu_plan_t *plan = run->plan;
    const rungi_cpu_grid *grid = &plan->grid;
    int64_t blocks = grid->rows * grid->cols, item = blocks > 1 ? part / blocks : part;
    int64_t block = part - item * blocks, row = blocks > 1 ? block / grid->cols : 0;
    int64_t i = row * grid->m_step, j = (block - row * grid->cols) * grid->n_step;
    RUNGI_ASSERT(item < run->sizes.batch && row < grid->rows && block - row * grid->cols < grid->cols);
    RUNGI_ASSERT(plan->form.scratch == 0 || scratch);
    rungi_cpu_job job = job_of(run->problem, run->sizes, item);
    if (plan->form.is_turned)
        turn(&job);
    if (blocks > 1)
        cut(&job, i, j, job.m - i < grid->m_step ? job.m - i : grid->m_step,
            job.n - j < grid->n_step ? job.n - j : grid->n_step);
    job.form = &plan->form;
    job.features = run->features;
    job.parameters = run->parameters;
    job.scratch = scratch;
    job.packed = run->packed;
    job.first_col = blocks > 1 ? j : 0;
    run->kernel->run(&job);
}

rung_status rungi_cpu_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem, rungi_sizes sizes,
                               const rung_run_options *options)
{
    if (plan->kernel->step->is_vendor)
        return rungi_cpu_vendor_run(plan, problem, sizes, options);
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const cpu_plan_t *made = plan->state;
    cpu_run_t run = {made, plan->kernel->step->function, problem, plan->values.value, &device->features, sizes, NULL};
    if (plan->packed_b) {
        const char *packed = rungi_cpu_buffer(options->packed_b);
        rung_status status = rungi_packed_header_check(&made->header, packed);
        if (status != RUNG_OK)
            return status;
        run.packed = packed + sizeof made->header;
    }
    int64_t started = options->signal ? rungi_cpu_now() : 0;
    (void)queue;
    if (sizes.m > 0 && sizes.n > 0)
        rungi_pool_run(device->pool, rungi_plan_threads(plan, options), made->form.scratch,
                       sizes.batch * made->grid.rows * made->grid.cols, run_part, &run);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

rung_status rungi_cpu_plan_pack(rung_plan *plan, rung_queue *queue, const rung_matrix *b, rung_buffer *packed,
                                const rung_run_options *options)
{
    rungi_cpu_device *device = (rungi_cpu_device *)plan->device;
    const rungi_cpu_kernel *kernel = plan->kernel->step->function;
    const cpu_plan_t *made = plan->state;
    int64_t started = rungi_cpu_now();
    rungi_cpu_job job = {.in = b->type,
                         .out = plan->problem.c.type,
                         .n = b->cols,
                         .k = b->rows,
                         .b = input_of(b, 0),
                         .form = &made->form,
                         .features = &device->features,
                         .parameters = plan->values.value};
    char *header = rungi_cpu_buffer(packed);
    (void)queue;
    rungi_cpu_buffer_use_large_pages(packed);
    if (!rungi_matrix_is_empty(b))
        kernel->pack(&job, header + sizeof made->header);
    memcpy(header, &made->header, sizeof made->header);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

rung_status rungi_cpu_packed_check(const rung_plan *plan, const void *header)
{
    const cpu_plan_t *made = plan->state;
    return rungi_packed_header_check(&made->header, header);
}
