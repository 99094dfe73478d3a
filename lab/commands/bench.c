/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - rung bench: times kernels interleaved with each other. lab/bench does the work. */
#include "bench/bench.h"

#include "cluster/cluster.h"
#include "process/supervise.h"
#include "target/target.h"

/* Returns the first given option that does not apply to --cluster, or NULL. */
static const char *option_invalid_for_cluster(const lab_options *options)
{
    static const char *const names[] = {
        "kernels", "params", "batch",    "epilogue",      "splits", "carveout", "seed", "cache",  "inputs",    "calls",
        "peers",   "trace",  "baseline", "baseline-json", "arch",   "machine",  "runs", "packed", "time-limit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (lab_option_value(options, names[i]))
            return names[i];
    return NULL;
}

static int run_on_cluster(const lab_options *options)
{
    const char *invalid = option_invalid_for_cluster(options);
    char message[64];
    if (!invalid)
        return lab_cluster_launch(options);
    snprintf(message, sizeof message, "--%s cannot be combined with --cluster", invalid);
    return lab_usage_error("bench", message);
}

int lab_command_bench(const lab_options *options)
{
    double seconds;
    int64_t runs;
    if (options->cluster)
        return run_on_cluster(options);
    if (options->block || options->layout)
        return lab_usage_error("bench", "--block and --layout require --cluster");
    if (!lab_parse_time_limit(options->time_limit, LAB_BENCH_TIME_LIMIT_SECONDS, &seconds))
        return lab_usage_error("bench", LAB_TIME_LIMIT_USAGE);
    const char *error = lab_bench_count_runs(options, &runs);
    if (error)
        return lab_usage_error("bench", error);
    if (runs > 1)
        return lab_bench_run_many(options, runs);
    bool has_file = lab_list_has_file(options->argument ? options->argument : options->kernels);
    return has_file ? lab_bench_run_supervised(options, seconds) : lab_bench_run(options);
}
