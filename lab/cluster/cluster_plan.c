/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_plan.c - predicts a multiply on a cluster with the arithmetic of rung_cluster_gemm. Nothing is run. */
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "cluster/cluster.h"

static const double max_idle_fraction = 0.06;

/* Returns the peak for the input type and, for F32, the compute mode; 0 if the description has none. */
static double peak_flops(const lab_cluster_description *description, const lab_dtype *dtype)
{
    switch (dtype->product.in) {
    case RUNG_F64: return description->f64;
    case RUNG_F32: return dtype->compute == RUNG_COMPUTE_TF32 ? description->tf32 : description->f32;
    case RUNG_F16: return description->f16;
    case RUNG_BF16: return description->bf16;
    case RUNG_I8: return description->i8;
    default: return 0;
    }
}

/* Returns the speed of one of `ranks` ranks; the network is that within a node if all ranks fit in one. */
static rung_cluster_speed rank_speed(const lab_cluster_plan_request *request, int64_t ranks)
{
    const lab_cluster_description *description = &request->description;
    bool is_within_node = description->node_network > 0 && (double)ranks <= description->ranks_a_node;
    rung_cluster_speed speed = rung_cluster_speed_default();
    speed.flops_per_second = peak_flops(description, &request->dtype);
    speed.latency_seconds = description->latency;
    speed.bytes_per_second = is_within_node ? description->node_network : description->network;
    speed.memory_bytes_per_second = description->memory_bandwidth;
    return speed;
}

rung_status lab_cluster_plan_ranks(const lab_cluster_plan_request *request, int64_t ranks, lab_cluster_plan *plan)
{
    rung_type in = request->dtype.product.in, out = request->dtype.product.out;
    *plan = (lab_cluster_plan){
        .cluster = rung_cluster_problem_of(ranks, request->m, request->n, request->k, in, in, out),
        .grid = rung_cluster_grid_of(1, 1, 1),
        .cost = rung_cluster_cost_default(),
        .speed = rank_speed(request, ranks),
        .predicted = rung_cluster_prediction_default()};
    if (!(plan->speed.flops_per_second > 0))
        return rung_error_set(RUNG_STATUS_INVALID, "%s has no speed for %s", request->machine, request->dtype.name);
    plan->cluster.max_idle = max_idle_fraction;
    plan->cluster.memory_bytes = (int64_t)request->description.memory;
    plan->cluster.flops_per_second = plan->speed.flops_per_second;
    plan->cluster.bytes_per_second = plan->speed.bytes_per_second;
    TRY(rung_cluster_grid_choose(&plan->cluster, &plan->grid));
    TRY(rung_cluster_grid_cost(&plan->cluster, &plan->grid, &plan->cost));
    TRY(rung_cluster_grid_predict(&plan->cluster, &plan->grid, &plan->speed, &plan->predicted));
    double work = 2.0 * (double)request->m * (double)request->n * (double)request->k;
    plan->peak_fraction = work / (double)ranks / plan->speed.flops_per_second / plan->predicted.seconds;
    plan->bound_ratio = plan->cost.bound_bytes > 0 ? (double)plan->cost.received_bytes / plan->cost.bound_bytes : 1.0;
    return RUNG_OK;
}

/* Adds a plan, unless the ranks do not have enough memory. */
static void add_plan(const lab_cluster_plan_request *request, int64_t ranks, lab_cluster_sweep *sweep)
{
    sweep->count += lab_cluster_plan_ranks(request, ranks, &sweep->plans[sweep->count]) == RUNG_OK;
}

static void find_limits(lab_cluster_sweep *sweep)
{
    const lab_cluster_plan *best = &sweep->plans[0];
    for (const lab_cluster_plan *plan = sweep->plans; plan < sweep->plans + sweep->count; plan++) {
        if (plan->peak_fraction >= 0.5)
            sweep->half_of_peak = plan->cluster.ranks;
        if (plan->predicted.seconds < 0.9 * best->predicted.seconds)
            best = plan;
    }
    sweep->useful = sweep->count > 0 ? best->cluster.ranks : 0;
}

void lab_cluster_sweep_plan(const lab_cluster_plan_request *request, lab_cluster_sweep *sweep)
{
    double size = request->description.ranks;
    int64_t last = size > 0 && size < LAB_CLUSTER_RANKS_MAX ? (int64_t)size : LAB_CLUSTER_RANKS_MAX;
    last = rungi_max(last, request->ranks);
    *sweep = (lab_cluster_sweep){.count = 0};
    for (int64_t ranks = 1; ranks <= last && sweep->count < LAB_CLUSTER_SWEEP_MAX - 1; ranks *= 2) {
        if (request->ranks > ranks / 2 && request->ranks < ranks)
            add_plan(request, request->ranks, sweep);
        add_plan(request, ranks, sweep);
    }
    if (sweep->count == 0 || sweep->plans[sweep->count - 1].cluster.ranks < request->ranks)
        add_plan(request, request->ranks, sweep);
    find_limits(sweep);
}
