/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_group.c - runs the plans of many problems in one pass of the thread pool.
 *
 * A large problem is partitioned into blocks as a single multiplication is: along m and n, at multiples of its kernel's
 * grains. The bits of its result therefore do not depend on the group. Adjacent small problems form one part, because
 * finding the next part takes as long as a very small problem. */
#include "cpu/cpu_group.h"

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "cpu/cpu_device.h"
#include "cpu/cpu_plan.h"

/* Parts per thread: if the system delays a thread, the others take its parts. */
enum { PARTS_PER_THREAD = 8 };

/* Multiply-adds of a part that several small problems form. */
static const double small_part_work = 1 << 20;

/* One part of the pass: blocks of one problem, or all blocks of several problems. */
typedef struct part {
    int64_t first, end; /* problems */
    int64_t block;      /* of the problem `first` if it is partitioned; -1: all blocks */
} part_t;

typedef struct group_run {
    rung_plan *const *plans;
    const rung_problem *problems;
    int64_t count;
    const char **packed;   /* the elements of the packed B of each problem, or NULL */
    rungi_cpu_grid *grids; /* one per problem */
    part_t *parts;
    int64_t part_count;
    double work; /* multiply-adds of all problems */
} group_run_t;

/* Returns the multiply-adds of a problem; at least one per element of C, which is written in any case. */
static double work_of(const rung_problem *problem)
{
    return (double)problem->c.rows * (double)problem->c.cols * (double)rungi_max(problem->a.cols, 1);
}

static const rungi_cpu_kernel *kernel_of(const group_run_t *run, int64_t problem)
{
    return run->plans[problem]->kernel->step->function;
}

static int64_t block_count(const rungi_cpu_grid *grid)
{
    return grid->rows * grid->cols;
}

/* Returns into how many blocks a problem is partitioned at most. */
static int64_t blocks_max(const group_run_t *run, int64_t problem, int64_t threads)
{
    int64_t all_blocks = PARTS_PER_THREAD * threads;
    double work = work_of(&run->problems[problem]);
    if (threads == 1 || !kernel_of(run, problem)->is_threaded)
        return 1;
    int64_t share = rungi_max((int64_t)(work / run->work * (double)all_blocks), 1);
    return rungi_cpu_worthwhile_count(work, 192, 1, share);
}

static int64_t choose_grids(group_run_t *run, int64_t threads)
{
    int64_t blocks = 0;
    for (int64_t i = 0; i < run->count; i++) {
        run->grids[i] = rungi_cpu_plan_grid(run->plans[i], blocks_max(run, i, threads));
        blocks += block_count(&run->grids[i]);
    }
    return blocks;
}

/* Returns the end of the problems that form one part with problem `first`, which is not partitioned. */
static int64_t end_of_part(const group_run_t *run, int64_t first)
{
    double work = work_of(&run->problems[first]);
    int64_t end = first + 1;
    for (; end < run->count && block_count(&run->grids[end]) == 1; end++) {
        work += work_of(&run->problems[end]);
        if (work > small_part_work)
            break;
    }
    return end;
}

static void form_parts(group_run_t *run)
{
    for (int64_t first = 0, end; first < run->count; first = end) {
        int64_t blocks = block_count(&run->grids[first]);
        end = blocks > 1 ? first + 1 : end_of_part(run, first);
        for (int64_t block = 0; block < blocks; block++)
            run->parts[run->part_count++] = (part_t){first, end, blocks > 1 ? block : -1};
    }
}

static void run_part(void *user, int64_t index, char *scratch)
{
    const group_run_t *run = user;
    const part_t *part = &run->parts[index];
    RUNGI_ASSERT(index < run->part_count);
    for (int64_t i = part->first; i < part->end; i++)
        rungi_cpu_plan_run_block(run->plans[i], &run->problems[i], run->packed[i], &run->grids[i],
                                 rungi_max(part->block, 0), scratch);
}

/* Returns the scratch memory that every problem fits. */
static int64_t largest_scratch(const group_run_t *run)
{
    int64_t scratch = 0;
    for (int64_t i = 0; i < run->count; i++)
        scratch = rungi_max(scratch, rungi_cpu_plan_config(run->plans[i])->scratch);
    return scratch;
}

static rung_status run_parts(rungi_cpu_device *device, group_run_t *run, int64_t threads)
{
    int64_t scratch = largest_scratch(run);
    form_parts(run);
    threads = rungi_min(threads, run->part_count);
    TRY(rungi_pool_reserve(device->pool, threads, scratch));
    rungi_pool_run(device->pool, threads, scratch, run->part_count, run_part, run);
    return RUNG_OK;
}

static rung_status read_packed(group_run_t *run, rung_buffer *const *packed_b)
{
    for (int64_t i = 0; i < run->count; i++) {
        run->packed[i] = NULL;
        if (packed_b && packed_b[i])
            TRY(rungi_cpu_plan_read_packed(run->plans[i], packed_b[i], &run->packed[i]));
    }
    return RUNG_OK;
}

static rung_status run_group(rungi_cpu_device *device, group_run_t *run, rung_buffer *const *packed_b, int64_t threads)
{
    rung_context *context = device->base.context;
    run->packed = rungi_allocate(context, run->count * (int64_t)sizeof *run->packed, sizeof(void *));
    run->grids = rungi_allocate(context, run->count * (int64_t)sizeof *run->grids, sizeof(int64_t));
    if (!run->packed || !run->grids)
        return RUNG_STATUS_NO_MEMORY;
    TRY(read_packed(run, packed_b));
    int64_t blocks = choose_grids(run, threads);
    run->parts = rungi_allocate(context, blocks * (int64_t)sizeof *run->parts, sizeof(int64_t));
    TRY(rungi_allocated(run->parts));
    return run_parts(device, run, threads);
}

rung_status rungi_cpu_plans_run(rung_queue *queue, rung_plan *const *plans, const rungi_group *group, int64_t threads)
{
    rungi_cpu_device *device = (rungi_cpu_device *)queue->device;
    rung_context *context = queue->device->context;
    group_run_t run = {.plans = plans, .problems = group->problems, .count = group->count};
    for (int64_t i = 0; i < run.count; i++)
        run.work += work_of(&run.problems[i]);
    threads = threads > 0 ? threads : rungi_pool_threads(device->pool);
    threads = rungi_cpu_worthwhile_count(run.work, 60, 1, threads); /* waking a thread takes microseconds */
    rung_status status = run_group(device, &run, group->packed_b, threads);
    rungi_release(context, run.parts);
    rungi_release(context, run.grids);
    rungi_release(context, run.packed);
    return status;
}
