/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - rung plan: predicts the cost of a multiply on the ranks of a cluster, and how many ranks are useful. lab/cluster
 * does the work. */
#include "cluster/cluster.h"
#include "cli/table.h"
#include "io/json_writer.h"

static const int64_t max_size = (int64_t)1 << 40;

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
    static const char *const required[] = {"m", "ranks", "machine"};
    int missing = 0;
    snprintf(message, sizeof message, "missing: ");
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!lab_option_value(options, required[i]))
            lab_append(message, sizeof message, "%s--%s", missing++ ? ", " : "", required[i]);
    lab_append(message, sizeof message,
               "; for example: rung plan --ranks 1024 --m 131072 --dtype f64 --machine dgx-a100");
    return missing ? message : NULL;
}

/* Returns NULL or an error. */
static const char *read_options(const lab_options *options, lab_cluster_plan_request *request)
{
    static char message[512];
    request->machine = options->machine;
    const char *error = find_missing(options);
    if (!error)
        error = lab_parse_single_dtype(options, LAB_SEVERAL_DTYPES_USAGE, &request->dtype);
    if (!error)
        error = read_size("m", options->m, 0, max_size, &request->m);
    if (!error)
        error = read_size("n", options->n, request->m, max_size, &request->n);
    if (!error)
        error = read_size("k", options->k, request->m, max_size, &request->k);
    if (!error)
        error = read_size("ranks", options->ranks, 0, LAB_CLUSTER_RANKS_MAX, &request->ranks);
    if (!error && !lab_cluster_description_read(options->machine, &request->description, message, sizeof message))
        error = message;
    return error;
}

/* ---- Output -------------------------------------------------------------------------- */

/* Return `text`, the bytes with a decimal prefix or the seconds with a unit. */
static const char *format_bytes(double bytes, char text[32])
{
    static const char prefixes[] = " kMGTPE";
    int prefix = 0;
    for (; bytes >= 999.5 && prefix < 6; prefix++)
        bytes /= 1000;
    snprintf(text, 32, "%.3g %.*sB", bytes, prefix > 0, &prefixes[prefix]);
    return text;
}

static const char *format_seconds(double seconds, char text[32])
{
    if (seconds >= 1)
        snprintf(text, 32, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(text, 32, "%.3g ms", seconds * 1e3);
    else
        snprintf(text, 32, "%.3g us", seconds * 1e6);
    return text;
}

static void print_plan(const lab_cluster_plan_request *request, const lab_cluster_plan *plan)
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
    printf("received  %s in %lld messages by the busiest rank, %.3f times the lower bound\n",
           format_bytes((double)plan->cost.received_bytes, text), (long long)plan->cost.messages, plan->bound_ratio);
    printf("memory    %s per rank", format_bytes((double)plan->cost.memory_bytes, text));
    if (request->description.memory > 0)
        printf(" of %s", format_bytes(request->description.memory, text));
    printf("\ntime      %s: %s multiplying, %s waiting for the network\n",
           format_seconds(plan->predicted.seconds, text), format_seconds(plan->predicted.multiply_seconds, more),
           format_seconds(plan->predicted.wait_seconds, rest));
    printf("of peak   %.1f %%\n\n", 100 * plan->peak_fraction);
}

static void print_sweep(const lab_cluster_sweep *sweep)
{
    static lab_table table;
    const char *const heads[] = {"ranks", "grid", "time", "of peak", "received", "of bound", "memory"};
    table = (lab_table){0};
    lab_table_add(&table, 7, heads);
    for (int i = 0; i < sweep->count; i++) {
        const lab_cluster_plan *plan = &sweep->plans[i];
        char text[32];
        lab_table_begin_row(&table);
        lab_table_cell(&table, "%lld", (long long)plan->cluster.ranks);
        lab_table_cell(&table, "%lld x %lld x %lld", (long long)plan->grid.pm, (long long)plan->grid.pn,
                       (long long)plan->grid.pk);
        lab_table_cell(&table, "%s", format_seconds(plan->predicted.seconds, text));
        lab_table_cell(&table, "%.1f %%", 100 * plan->peak_fraction);
        lab_table_cell(&table, "%s", format_bytes((double)plan->cost.received_bytes, text));
        lab_table_cell(&table, "%.3f", plan->bound_ratio);
        lab_table_cell(&table, "%s", format_bytes((double)plan->cost.memory_bytes, text));
    }
    lab_table_print(&table, "rlrrrrr", stdout);
}

static void print_limits(const lab_cluster_sweep *sweep)
{
    int64_t last = sweep->plans[sweep->count - 1].cluster.ranks;
    if (sweep->half_of_peak == 0)
        printf("\nNever at half of the peak");
    else
        printf("\nAt half of the peak or better up to %lld ranks", (long long)sweep->half_of_peak);
    if (sweep->useful == last)
        printf("; up to %lld each doubling saves a tenth of the time or more.\n", (long long)last);
    else
        printf("; beyond %lld a doubling saves less than a tenth of the time.\n", (long long)sweep->useful);
}

static void print_json_plan(lab_json *json, const char *name, const lab_cluster_plan *plan)
{
    lab_json_begin(json, name, '{');
    LAB_JSON_INTEGERS(json, {"ranks", plan->cluster.ranks}, {"pm", plan->grid.pm}, {"pn", plan->grid.pn},
                      {"pk", plan->grid.pk}, {"sm", plan->grid.a_chunks}, {"sn", plan->grid.b_chunks},
                      {"received", plan->cost.received_bytes});
    lab_json_number(json, "bound", plan->cost.bound_bytes);
    LAB_JSON_INTEGERS(json, {"messages", plan->cost.messages}, {"memory", plan->cost.memory_bytes});
    lab_json_number(json, "seconds", plan->predicted.seconds);
    lab_json_number(json, "multiplying", plan->predicted.multiply_seconds);
    lab_json_number(json, "waiting", plan->predicted.wait_seconds);
    lab_json_number(json, "of_peak", plan->peak_fraction);
    lab_json_end(json, '}');
}

static void print_json(const lab_cluster_plan_request *request, const lab_cluster_plan *plan,
                       const lab_cluster_sweep *sweep)
{
    lab_json json = lab_json_open(stdout, "rung-plan/1");
    LAB_JSON_STRINGS(&json, {"machine", request->description.title}, {"dtype", request->dtype.name});
    LAB_JSON_INTEGERS(&json, {"m", request->m}, {"n", request->n}, {"k", request->k});
    print_json_plan(&json, "plan", plan);
    lab_json_begin(&json, "sweep", '[');
    for (int i = 0; i < sweep->count; i++)
        print_json_plan(&json, NULL, &sweep->plans[i]);
    lab_json_end(&json, ']');
    LAB_JSON_INTEGERS(&json, {"half_of_peak_up_to", sweep->half_of_peak}, {"faster_up_to", sweep->useful});
    lab_json_end(&json, '}');
}

int lab_command_plan(const lab_options *options)
{
    lab_cluster_plan_request request = {.ranks = 0};
    lab_cluster_plan plan;
    lab_cluster_sweep sweep;
    const char *error = read_options(options, &request);
    if (error)
        return lab_usage_error("plan", error);
    if (lab_cluster_plan_ranks(&request, request.ranks, &plan) != RUNG_OK)
        return lab_fail(LAB_EXIT_USAGE, "%s", rung_error_text());
    lab_cluster_sweep_plan(&request, &sweep);
    if (options->json) {
        print_json(&request, &plan, &sweep);
        return LAB_EXIT_SUCCESS;
    }
    print_plan(&request, &plan);
    print_sweep(&sweep);
    print_limits(&sweep);
    return LAB_EXIT_SUCCESS;
}
