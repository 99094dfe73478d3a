/* SPDX-License-Identifier: Apache-2.0 */
/* contest.c - see contest.h. */
#include "cluster/contest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "oracle.h"
#include "options.h"

enum { ROUNDS_MIN = 7, ROUNDS_MAX = 200 };

static const double millionth = 1e6;

/* ---- A rank's own multiplies -------------------------------------------------------------------------- */

/* The vendor's plan of that shape, kept. */
static rung_status find_plan(cluster_house_t *house, const rung_problem *problem, rung_plan **plan)
{
    int free_place = -1;
    for (int i = 0; i < CLUSTER_PLANS; i++) {
        if (!house->plans[i].plan)
            free_place = i;
        else if (house->plans[i].rows == problem->c.rows && house->plans[i].cols == problem->c.cols &&
                 house->plans[i].depth == problem->a.cols && house->plans[i].in == problem->a.type) {
            *plan = house->plans[i].plan;
            return RUNG_OK;
        }
    }
    if (free_place < 0) {
        free_place = 0;
        rung_plan_destroy(house->plans[0].plan);
        house->plans[0].plan = NULL;
    }
    rung_plan_options options = rung_plan_options_default();
    options.kernel = house->vendor;
    options.threads = house->threads;
    rung_status status = rung_plan_create(house->device, problem, &options, plan);
    house->plans[free_place].rows = problem->c.rows;
    house->plans[free_place].cols = problem->c.cols;
    house->plans[free_place].depth = problem->a.cols;
    house->plans[free_place].in = problem->a.type;
    house->plans[free_place].plan = *plan;
    return status;
}

static rung_status multiply_by_vendor(void *user, rung_matrix a, rung_matrix b, rung_matrix c)
{
    cluster_house_t *house = user;
    rung_problem problem = rung_problem_of(a, b, c);
    rung_plan *plan = NULL;
    rung_status status = find_plan(house, &problem, &plan);
    return status == RUNG_OK ? rung_plan_run(plan, house->queue, &problem, NULL) : status;
}

/* ---- One run ------------------------------------------------------------------------------------------- */

static rung_status multiply(cluster_contest_t *contest, cluster_contender_t *contender)
{
    cluster_house_t *house = contest->house;
    const cluster_matrix_t *of = contender->is_cyclic ? contest->cyclic : contest->shares;
    if (contender->multiply == CLUSTER_PDGEMM) {
        scalapack_multiply(&house->scalapack, &of[0], &of[1], &of[2]);
        return RUNG_OK;
    }
    rung_cluster_options options = rung_cluster_options_default();
    rung_cluster_report *report;
    options.context = house->context;
    options.grid = &contest->problem.grid;
    if (contender->multiply == CLUSTER_VENDOR) {
        options.multiply = multiply_by_vendor;
        options.multiply_user = house;
    }
    rung_status status = rung_cluster_gemm(MPI_COMM_WORLD, 1.0, &of[0].matrix, &of[1].matrix, 0.0, &of[2].matrix,
                                           &options, &report);
    if (report)
        contender->report = *report;
    contender->report.grid = NULL; /* it ends with the library's report */
    rung_cluster_report_destroy(report);
    return status;
}

/* From when all are ready until all are done, as the first rank sees it. */
static rung_status time_run(cluster_contest_t *contest, cluster_contender_t *contender, int64_t *nanoseconds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t start = lab_now();
    rung_status status = multiply(contest, contender);
    if (status != RUNG_OK)
        return status;
    MPI_Barrier(MPI_COMM_WORLD);
    *nanoseconds = lab_now() - start;
    MPI_Bcast(nanoseconds, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return RUNG_OK;
}

/* The most of any rank. */
static void gather_report(cluster_contender_t *contender)
{
    rung_cluster_report *report = &contender->report;
    int64_t bytes[3] = {report->received_bytes, report->messages, report->redistributed_bytes};
    double seconds[4] = {report->seconds, report->redistribute_seconds, report->multiply_seconds, report->wait_seconds};
    MPI_Allreduce(MPI_IN_PLACE, bytes, 3, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, seconds, 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    report->received_bytes = bytes[0];
    report->messages = bytes[1];
    report->redistributed_bytes = bytes[2];
    report->seconds = seconds[0];
    report->redistribute_seconds = seconds[1];
    report->multiply_seconds = seconds[2];
    report->wait_seconds = seconds[3];
}

/* ---- Getting ready -------------------------------------------------------------------------------------- */

static void free_matrices(cluster_matrix_t *matrices)
{
    for (int i = 0; i < 3; i++) {
        free(matrices[i].matrix.data);
        matrices[i].matrix.data = NULL;
    }
}

/* All ranks, or none. */
static bool make_matrices(const cluster_problem_t *problem, bool is_cyclic, cluster_matrix_t *matrices)
{
    int good = 1;
    for (int i = 0; i < 3 && good; i++)
        good = cluster_matrix_make(problem, (rung_cluster_operand)i, is_cyclic, &matrices[i]) == RUNG_OK;
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!good) {
        free_matrices(matrices);
        rung_error_set(RUNG_STATUS_NO_MEMORY,
                       "the matrices do not fit the memory of a rank; use more ranks, or smaller --sizes");
        return false;
    }
    for (int i = 0; i < 3; i++)
        cluster_matrix_fill(problem, &matrices[i]);
    return true;
}

/* The block that pdgemm is fastest with: it is to be beaten at its best. */
static bool find_block(cluster_contest_t *contest)
{
    static const int64_t blocks[] = {64, 128, 256, 512};
    int64_t best = 0, best_ns = 0;
    cluster_contender_t pdgemm = {.multiply = CLUSTER_PDGEMM, .is_cyclic = true};
    for (int i = 0; i < 4; i++) {
        contest->problem.block = blocks[i];
        if (!make_matrices(&contest->problem, true, contest->cyclic))
            return false;
        for (int again = 0; again < 2; again++) {
            int64_t taken = 0;
            time_run(contest, &pdgemm, &taken);
            if (best == 0 || taken < best_ns) {
                best = blocks[i];
                best_ns = taken;
            }
        }
        free_matrices(contest->cyclic);
    }
    contest->problem.block = best;
    return true;
}

static void add(cluster_contest_t *contest, cluster_multiply_t multiply, bool is_cyclic)
{
    cluster_contender_t *added = &contest->contenders[contest->count++];
    memset(added, 0, sizeof *added);
    added->multiply = multiply;
    added->is_cyclic = is_cyclic;
}

static bool is_f32_or_f64(lab_product product)
{
    return lab_product_is(product, RUNG_F32, RUNG_F32) || lab_product_is(product, RUNG_F64, RUNG_F64);
}

static bool can_pdgemm(const cluster_contest_t *contest)
{
    return contest->house->has_scalapack && is_f32_or_f64(contest->problem.product);
}

static void add_all(cluster_contest_t *contest, bool wants_cyclic, bool wants_grid)
{
    bool has_vendor = contest->house->vendor && is_f32_or_f64(contest->problem.product);
    contest->count = 0;
    if (can_pdgemm(contest))
        add(contest, CLUSTER_PDGEMM, true);
    for (int is_cyclic = 1; is_cyclic >= 0; is_cyclic--) {
        if (!(is_cyclic ? wants_cyclic : wants_grid))
            continue;
        if (has_vendor)
            add(contest, CLUSTER_VENDOR, is_cyclic != 0);
        add(contest, CLUSTER_RUNG, is_cyclic != 0);
    }
}

void cluster_give_up(const cluster_house_t *house)
{
    fprintf(stderr, "rung: rank %d: %s\n", house->rank, rung_error_text());
    sleep(1); /* if a rank has died, the process that watches it tells so, unless all are ended before */
    MPI_Abort(MPI_COMM_WORLD, LAB_WRONG);
    abort(); /* MPI_Abort does not come back, and is not said to */
}

static void verify(cluster_contest_t *contest, cluster_contender_t *contender)
{
    const cluster_matrix_t *c = &(contender->is_cyclic ? contest->cyclic : contest->shares)[2];
    cluster_matrix_fill(&contest->problem, c);
    rung_status status = multiply(contest, contender);
    int good = status == RUNG_OK;
    if (status == RUNG_STATUS_DEVICE_LOST) /* nobody can agree with a rank that is lost */
        cluster_give_up(contest->house);
    if (!good)
        snprintf(contender->why_not, sizeof contender->why_not, "%s", rung_error_text());
    MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    contender->verified = good && cluster_matrix_judge(&contest->problem, c);
    if (good && !contender->verified)
        snprintf(contender->why_not, sizeof contender->why_not, "the result is wrong");
    if (contender->verified && contender->multiply != CLUSTER_PDGEMM)
        gather_report(contender);
}

/* ---- Taking turns ---------------------------------------------------------------------------------------- */

static bool run_round(cluster_contest_t *contest, int64_t round)
{
    int64_t pdgemm_ns = 0;
    for (int i = 0; i < contest->count; i++) {
        cluster_contender_t *contender = &contest->contenders[i];
        int64_t taken = 0;
        if (!contender->verified)
            continue;
        if (time_run(contest, contender, &taken) != RUNG_OK)
            return false;
        if (contender->multiply == CLUSTER_PDGEMM)
            pdgemm_ns = taken;
        else
            gather_report(contender);
        contender->spent_ns += taken;
        contender->taken.round = contender->ratios.round = round;
        lab_samples_add(&contender->taken, taken, 0, 0);
        if (pdgemm_ns > 0 && taken > 0)
            lab_samples_add(&contender->ratios, (int64_t)((double)pdgemm_ns / (double)taken * millionth), 0, 0);
    }
    return true;
}

static bool wants_more(const cluster_contest_t *contest, int64_t rounds)
{
    if (rounds < ROUNDS_MIN)
        return true;
    for (int i = 0; rounds < ROUNDS_MAX && i < contest->count; i++)
        if (contest->contenders[i].verified && contest->contenders[i].spent_ns < contest->budget_ns)
            return true;
    return false;
}

bool cluster_contest_run(cluster_contest_t *contest, bool wants_cyclic, bool wants_grid, int64_t block)
{
    cluster_problem_t *problem = &contest->problem;
    problem->block = block > 0 ? block : 64;
    problem->grid = rung_cluster_grid_of(1, 1, 1);
    contest->cost = rung_cluster_cost_default();
    if (rung_cluster_grid_choose(&problem->cluster, &problem->grid) != RUNG_OK ||
        rung_cluster_grid_cost(&problem->cluster, &problem->grid, &contest->cost) != RUNG_OK)
        return false;
    add_all(contest, wants_cyclic, wants_grid);
    if (can_pdgemm(contest) && block == 0 && !find_block(contest))
        return false;
    if (!make_matrices(problem, true, contest->cyclic) || !make_matrices(problem, false, contest->shares))
        return false;
    for (int i = 0; i < contest->count; i++)
        verify(contest, &contest->contenders[i]);
    bool good = true;
    for (int64_t round = 0; good && wants_more(contest, round); round++)
        good = run_round(contest, round);
    return good;
}

void cluster_contest_free(cluster_contest_t *contest)
{
    free_matrices(contest->cyclic);
    free_matrices(contest->shares);
}
