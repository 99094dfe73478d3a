/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - rung plan: predicts the cost of a multiply on the ranks of a cluster, and how many ranks are useful. Nothing is
 * run; the arithmetic is that of rung_cluster_gemm. */
#include <math.h>
#include <stdlib.h>

#include "cluster/cluster_description.h"
#include "io/json_writer.h"
#include "cli/options.h"
#include "verify/oracle.h"
#include "cli/table.h"
#include "target/target.h"

enum { MAX_SWEEP_ROWS = 32, MAX_RANKS = 1 << 17 };

static const int64_t MAX_SIZE = (int64_t)1 << 40;
static const double max_idle_fraction = 0.06;

/* The command's options. */
typedef struct plan_request {
    const lab_options *options;
    lab_cluster_description description;
    lab_dtype dtype;
    int64_t ranks, m, n, k;
} plan_request_t;

/* Grid, cost and prediction for one number of ranks. */
typedef struct rank_plan {
    rung_cluster_problem cluster;
    rung_cluster_grid grid;
    rung_cluster_cost cost;
    rung_cluster_speed speed;
    rung_cluster_prediction predicted;
} rank_plan_t;

/* ---- Options ----------------------------------------------------------------------------- */

/* Reads a number from 1 to `max`; default_size if the option is not given. */
static const char *read_size(const char *name, const char *text, int64_t default_size, int64_t max, int64_t *size)
{
    static char message[160];
    *size = default_size;
    if (!text || (lab_parse_integer(text, size) && *size > 0 && *size <= max))
        return NULL;
    snprintf(message, sizeof message, "--%s is %.40s; it must be a whole number from 1 to %lld", name, text,
             (long long)max);
    return message;
}

/* Lists all options that are required and not given. */
static const char *find_missing(const lab_options *options)
{
    static char message[256];
    const struct {
        const char *name, *value;
    } required[] = {{"--m", options->m}, {"--ranks", options->ranks}, {"--machine", options->machine}};
    int used = snprintf(message, sizeof message, "missing: "), missing = 0;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!required[i].value)
            used += snprintf(message + used, sizeof message - (size_t)used, "%s%s", missing++ ? ", " : "",
                             required[i].name);
    snprintf(message + used, sizeof message - (size_t)used,
             "; for example: rung plan --ranks 1024 --m 131072 --dtype f64 --machine dgx-a100");
    return missing ? message : NULL;
}

static int read_plan_request(plan_request_t *request)
{
    static char message[512];
    const lab_options *options = request->options;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    int count;
    const char *error = find_missing(options);
    if (!error)
        error = lab_parse_dtypes(options, &compute, dtypes, &count);
    if (!error && count != 1)
        error = "--dtype takes one type here; run the command once per type";
    if (!error)
        error = read_size("m", options->m, 0, MAX_SIZE, &request->m);
    if (!error)
        error = read_size("n", options->n, request->m, MAX_SIZE, &request->n);
    if (!error)
        error = read_size("k", options->k, request->m, MAX_SIZE, &request->k);
    if (!error)
        error = read_size("ranks", options->ranks, 0, MAX_RANKS, &request->ranks);
    if (!error && !lab_cluster_description_read(options->machine, &request->description, message, sizeof message))
        error = message;
    if (error)
        return lab_usage_error("plan", error);
    request->dtype = dtypes[0];
    return LAB_EXIT_SUCCESS;
}

/* ---- Plans --------------------------------------------------------------------------------------- */

static rung_status plan_ranks(const plan_request_t *request, int64_t ranks, rank_plan_t *plan)
{
    rung_type in = request->dtype.product.in, out = request->dtype.product.out;
    *plan = (struct rank_plan){
        .cluster = rung_cluster_problem_of(ranks, request->m, request->n, request->k, in, in, out),
        .grid = rung_cluster_grid_of(1, 1, 1),
        .cost = rung_cluster_cost_default(),
        .predicted = rung_cluster_prediction_default()};
    plan->cluster.max_idle = max_idle_fraction;
    plan->cluster.memory_bytes = (int64_t)request->description.memory;
    if (!lab_cluster_description_speed(&request->description, &request->dtype, ranks, &plan->speed))
        return rung_error_set(RUNG_STATUS_INVALID, "%s has no speed for %s", request->options->machine,
                              request->dtype.name);
    plan->cluster.flops_per_second = plan->speed.flops_per_second;
    plan->cluster.bytes_per_second = plan->speed.bytes_per_second;
    rung_status status = rung_cluster_grid_choose(&plan->cluster, &plan->grid);
    if (status == RUNG_OK)
        status = rung_cluster_grid_cost(&plan->cluster, &plan->grid, &plan->cost);
    return status == RUNG_OK ? rung_cluster_grid_predict(&plan->cluster, &plan->grid, &plan->speed, &plan->predicted)
                             : status;
}

static double peak_fraction(const rank_plan_t *plan)
{
    const rung_cluster_problem *cluster = &plan->cluster;
    double work = 2.0 * (double)cluster->m * (double)cluster->n * (double)cluster->k;
    return work / (double)cluster->ranks / plan->speed.flops_per_second / plan->predicted.seconds;
}

static double bound_ratio_of_plan(const rank_plan_t *plan)
{
    return plan->cost.bound_bytes > 0 ? (double)plan->cost.received_bytes / plan->cost.bound_bytes : 1.0;
}

/* Plans the requested number of ranks and powers of two, up to the size of the cluster, that fit the memory. Returns the
 * number of plans. */
static int find_sweep(const plan_request_t *request, rank_plan_t *plans)
{
    int64_t last = request->description.ranks > 0 && request->description.ranks < MAX_RANKS
                       ? (int64_t)request->description.ranks
                       : MAX_RANKS;
    int count = 0;
    if (last < request->ranks)
        last = request->ranks;
    for (int64_t ranks = 1; ranks <= last && count < MAX_SWEEP_ROWS - 1; ranks *= 2) {
        if (request->ranks > ranks / 2 && request->ranks < ranks)
            count += plan_ranks(request, request->ranks, &plans[count]) == RUNG_OK;
        count += plan_ranks(request, ranks, &plans[count]) == RUNG_OK;
    }
    if (count == 0 || plans[count - 1].cluster.ranks < request->ranks)
        count += plan_ranks(request, request->ranks, &plans[count]) == RUNG_OK;
    return count;
}

/* Largest number of ranks with at least half of the peak, and largest number for which each doubling saves a tenth of the
 * time; 0: unknown. */
typedef struct scaling_limits {
    int64_t half_of_peak, useful;
} scaling_limits_t;

static scaling_limits_t find_limits(const rank_plan_t *plans, int count)
{
    scaling_limits_t limits = {0};
    int best = 0;
    for (int i = 0; i < count; i++) {
        if (peak_fraction(&plans[i]) >= 0.5)
            limits.half_of_peak = plans[i].cluster.ranks;
        if (plans[i].predicted.seconds < 0.9 * plans[best].predicted.seconds)
            best = i;
    }
    limits.useful = count > 0 ? plans[best].cluster.ranks : 0;
    return limits;
}

/* ---- Output -------------------------------------------------------------------------- */

static void format_si(double value, const char *unit, char text[32])
{
    static const char prefixes[] = " kMGTPE";
    int prefix = 0;
    for (; value >= 999.5 && prefix < 6; prefix++)
        value /= 1000;
    snprintf(text, 32, "%.3g %.*s%s", value, prefix > 0, &prefixes[prefix], unit);
}

static void format_seconds(double seconds, char text[32])
{
    if (seconds >= 1)
        snprintf(text, 32, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(text, 32, "%.3g ms", seconds * 1e3);
    else
        snprintf(text, 32, "%.3g us", seconds * 1e6);
}

static void print_plan(const plan_request_t *request, const rank_plan_t *plan)
{
    char text[32], more[32], rest[32];
    printf("%lld x %lld x %lld %s on %lld ranks: %s\n\n", (long long)request->m, (long long)request->n,
           (long long)request->k, request->dtype.name, (long long)request->ranks, request->description.title);
    printf("grid      %lld x %lld x %lld ranks along m, n and k", (long long)plan->grid.pm, (long long)plan->grid.pn,
           (long long)plan->grid.pk);
    int64_t idle = request->ranks - plan->grid.pm * plan->grid.pn * plan->grid.pk;
    if (idle > 0)
        printf(", %lld idle", (long long)idle);
    printf("; A arrives in %lld chunks, B in %lld\n", (long long)plan->grid.a_chunks, (long long)plan->grid.b_chunks);
    format_si((double)plan->cost.received_bytes, "B", text);
    printf("received  %s in %lld messages by the busiest rank, %.3f times the lower bound\n", text,
           (long long)plan->cost.messages, bound_ratio_of_plan(plan));
    format_si((double)plan->cost.memory_bytes, "B", text);
    format_si(request->description.memory, "B", more);
    printf("memory    %s per rank%s%s\n", text, request->description.memory > 0 ? " of " : "",
           request->description.memory > 0 ? more : "");
    format_seconds(plan->predicted.seconds, text);
    format_seconds(plan->predicted.multiply_seconds, more);
    format_seconds(plan->predicted.wait_seconds, rest);
    printf("time      %s: %s multiplying, %s waiting for the network\n", text, more, rest);
    printf("of peak   %.1f %%\n\n", 100 * peak_fraction(plan));
}

static void print_sweep(const rank_plan_t *plans, int count)
{
    static lab_table table;
    const char *const heads[] = {"ranks", "grid", "time", "of peak", "received", "of bound", "memory"};
    table = (lab_table){0};
    lab_table_add(&table, 7, heads);
    for (int i = 0; i < count; i++) {
        const rank_plan_t *plan = &plans[i];
        char ranks[32], grid[64], seconds[32], peak[32], received[32], bound[32], memory[32];
        const char *const cells[] = {ranks, grid, seconds, peak, received, bound, memory};
        snprintf(ranks, sizeof ranks, "%lld", (long long)plan->cluster.ranks);
        snprintf(grid, sizeof grid, "%lld x %lld x %lld", (long long)plan->grid.pm, (long long)plan->grid.pn,
                 (long long)plan->grid.pk);
        format_seconds(plan->predicted.seconds, seconds);
        snprintf(peak, sizeof peak, "%.1f %%", 100 * peak_fraction(plan));
        format_si((double)plan->cost.received_bytes, "B", received);
        snprintf(bound, sizeof bound, "%.3f", bound_ratio_of_plan(plan));
        format_si((double)plan->cost.memory_bytes, "B", memory);
        lab_table_add(&table, 7, cells);
    }
    lab_table_print(&table, "rlrrrrr", stdout);
}

static void print_limits(const rank_plan_t *plans, int count)
{
    scaling_limits_t limits = find_limits(plans, count);
    int64_t last = plans[count - 1].cluster.ranks;
    if (limits.half_of_peak == 0)
        printf("\nNever at half of the peak");
    else
        printf("\nAt half of the peak or better up to %lld ranks", (long long)limits.half_of_peak);
    if (limits.useful == last)
        printf("; up to %lld each doubling saves a tenth of the time or more.\n", (long long)last);
    else
        printf("; beyond %lld a doubling saves less than a tenth of the time.\n", (long long)limits.useful);
}

static void print_json_plan(lab_json *json, const char *name, const rank_plan_t *plan)
{
    lab_json_begin(json, name, '{');
    lab_json_integer(json, "ranks", plan->cluster.ranks);
    lab_json_integer(json, "pm", plan->grid.pm);
    lab_json_integer(json, "pn", plan->grid.pn);
    lab_json_integer(json, "pk", plan->grid.pk);
    lab_json_integer(json, "sm", plan->grid.a_chunks);
    lab_json_integer(json, "sn", plan->grid.b_chunks);
    lab_json_integer(json, "received", plan->cost.received_bytes);
    lab_json_number(json, "bound", plan->cost.bound_bytes);
    lab_json_integer(json, "messages", plan->cost.messages);
    lab_json_integer(json, "memory", plan->cost.memory_bytes);
    lab_json_number(json, "seconds", plan->predicted.seconds);
    lab_json_number(json, "multiplying", plan->predicted.multiply_seconds);
    lab_json_number(json, "waiting", plan->predicted.wait_seconds);
    lab_json_number(json, "of_peak", peak_fraction(plan));
    lab_json_end(json, '}');
}

static void print_json(const plan_request_t *request, const rank_plan_t *plan, const rank_plan_t *sweep, int count)
{
    scaling_limits_t limits = find_limits(sweep, count);
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-plan/1");
    lab_json_string(&json, "machine", request->description.title);
    lab_json_string(&json, "dtype", request->dtype.name);
    lab_json_integer(&json, "m", request->m);
    lab_json_integer(&json, "n", request->n);
    lab_json_integer(&json, "k", request->k);
    print_json_plan(&json, "plan", plan);
    lab_json_begin(&json, "sweep", '[');
    for (int i = 0; i < count; i++)
        print_json_plan(&json, NULL, &sweep[i]);
    lab_json_end(&json, ']');
    lab_json_integer(&json, "half_of_peak_up_to", limits.half_of_peak);
    lab_json_integer(&json, "faster_up_to", limits.useful);
    lab_json_end(&json, '}');
}

int lab_command_plan(const lab_options *options)
{
    plan_request_t request = {.options = options};
    rank_plan_t plan, sweep[MAX_SWEEP_ROWS];
    int code = read_plan_request(&request);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    if (plan_ranks(&request, request.ranks, &plan) != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_EXIT_USAGE;
    }
    int count = find_sweep(&request, sweep);
    if (options->json) {
        print_json(&request, &plan, sweep, count);
        return LAB_EXIT_SUCCESS;
    }
    print_plan(&request, &plan);
    print_sweep(sweep, count);
    print_limits(sweep, count);
    return LAB_EXIT_SUCCESS;
}
