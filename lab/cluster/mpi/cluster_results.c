/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_results.c - rung bench --cluster: prints the results as a table or JSON. */
#include <stdio.h>
#include <string.h>

#include "cluster/mpi/cluster_benchmark.h"
#include "cli/table.h"

enum { TABLE_COLUMNS = 11 };

static const char *call_name(const lab_cluster_implementation *implementation, lab_type_pair product)
{
    if (implementation->method == LAB_CLUSTER_METHOD_PDGEMM)
        return product.in == RUNG_F64 ? "pdgemm" : "psgemm";
    return "rung_cluster_gemm";
}

static const char *local_library(const lab_cluster_implementation *implementation)
{
    return implementation->method == LAB_CLUSTER_METHOD_RUNG ? "rung" : "BLAS";
}

static double gflops_of(const lab_cluster_benchmark *benchmark, int64_t nanoseconds)
{
    const rung_cluster_problem *cluster = &benchmark->problem.cluster;
    return nanoseconds > 0 ? 2.0 * (double)cluster->m * (double)cluster->n * (double)cluster->k / (double)nanoseconds
                           : 0;
}

/* Returns received bytes over the lower bound; 1 if both are 0. */
static double bound_ratio(const lab_cluster_benchmark *benchmark, const lab_cluster_implementation *implementation)
{
    return benchmark->cost.bound_bytes > 0.5
               ? (double)implementation->report.received_bytes / benchmark->cost.bound_bytes
               : 1.0;
}

static void add_row(lab_table *table, const lab_cluster_benchmark *benchmark,
                    const lab_cluster_implementation *implementation)
{
    lab_sample_summary times = lab_samples_summary(&implementation->times, LAB_SPEED_MODE_ANY, 0);
    lab_sample_summary ratios = lab_samples_summary(&implementation->ratios, LAB_SPEED_MODE_ANY, 0);
    const rung_cluster_report *report = &implementation->report;
    const bool is_pdgemm = implementation->method == LAB_CLUSTER_METHOD_PDGEMM;
    lab_table_begin_row(table);
    lab_table_cell(table, "%s", call_name(implementation, benchmark->problem.product));
    lab_table_cell(table, "%s", implementation->is_cyclic ? "cyclic" : "grid");
    lab_table_cell(table, "%s", local_library(implementation));
    if (!implementation->verified) {
        for (int i = 3; i < TABLE_COLUMNS - 1; i++)
            lab_table_cell(table, "%s", i == 3 ? "-" : "");
        lab_table_cell(table, "%s", implementation->reason);
        return;
    }
    lab_table_cell(table, "%.1f", (double)times.median_ns * 1e-6);
    lab_table_cell(table, "%.1f", (double)times.ci95_ns * 1e-6);
    lab_table_cell(table, "%.1f", gflops_of(benchmark, times.median_ns));
    if (ratios.samples > 0 && !is_pdgemm)
        lab_table_cell(table, "%.2f +- %.2f", (double)ratios.median_ns * 1e-6, (double)ratios.ci95_ns * 1e-6);
    while (table->columns < (is_pdgemm ? TABLE_COLUMNS : 7))
        lab_table_cell(table, "-");
    if (is_pdgemm)
        return;
    lab_table_cell(table, "%.2f", (double)report->received_bytes * 1e-6);
    lab_table_cell(table, "%.2f", bound_ratio(benchmark, implementation));
    lab_table_cell(table, "%.2f", (double)report->redistributed_bytes * 1e-6);
    lab_table_cell(table, "%.0f%%", report->seconds > 0 ? 100 * report->wait_seconds / report->seconds : 0);
}

void lab_cluster_benchmark_print(const lab_cluster_benchmark *benchmark, FILE *out)
{
    static lab_table table;
    const rung_cluster_problem *cluster = &benchmark->problem.cluster;
    const rung_cluster_grid *grid = &benchmark->problem.grid;
    memset(&table, 0, sizeof table);
    lab_table_add(&table, TABLE_COLUMNS,
                  (const char *[]){"call", "layout", "by", "median ms", "+-95%", "GFLOPS", "over pdgemm", "MB received",
                                   "of bound", "MB laid out", "waiting"});
    for (int i = 0; i < benchmark->count; i++)
        add_row(&table, benchmark, &benchmark->implementations[i]);
    fprintf(
        out,
        "\n%s %lld x %lld x %lld on %lld ranks: a grid of %lld x %lld x %lld; blocks of %lld on %lld x %lld processes\n",
        lab_type_pair_name(benchmark->problem.product), (long long)cluster->m, (long long)cluster->n,
        (long long)cluster->k, (long long)cluster->ranks, (long long)grid->pm, (long long)grid->pn, (long long)grid->pk,
        (long long)benchmark->problem.block, (long long)benchmark->problem.process_rows,
        (long long)benchmark->problem.process_cols);
    lab_table_print(&table, "lllrrrrrrrr", out);
}

static void write_row(const lab_cluster_benchmark *benchmark, const lab_cluster_implementation *implementation,
                      lab_json *json)
{
    const rung_cluster_problem *cluster = &benchmark->problem.cluster;
    const rung_cluster_grid *grid = &benchmark->problem.grid;
    const rung_cluster_report *report = &implementation->report;
    lab_sample_summary times = lab_samples_summary(&implementation->times, LAB_SPEED_MODE_ANY, 0);
    lab_sample_summary ratios = lab_samples_summary(&implementation->ratios, LAB_SPEED_MODE_ANY, 0);
    bool is_rung = implementation->method != LAB_CLUSTER_METHOD_PDGEMM;
    char shape[96];
    lab_json_begin(json, NULL, '{');
    LAB_JSON_STRINGS(json, {"call", call_name(implementation, benchmark->problem.product)},
                     {"layout", implementation->is_cyclic ? "cyclic" : "grid"},
                     {"multiply", local_library(implementation)},
                     {"dtype", lab_type_pair_name(benchmark->problem.product)});
    LAB_JSON_INTEGERS(json, {"m", cluster->m}, {"n", cluster->n}, {"k", cluster->k}, {"ranks", cluster->ranks},
                      {"block", benchmark->problem.block});
    snprintf(shape, sizeof shape, "%lldx%lld", (long long)benchmark->problem.process_rows,
             (long long)benchmark->problem.process_cols);
    lab_json_string(json, "processes", shape);
    lab_json_boolean(json, "verified", implementation->verified);
    LAB_JSON_STRINGS(json, {"why_not", implementation->reason}, {"time", "wall"});
    LAB_JSON_INTEGERS(json, {"median_ns", times.median_ns}, {"min_ns", times.min_ns}, {"ci95_ns", times.ci95_ns},
                      {"samples", times.samples});
    lab_json_times_array(json, "series_ns", implementation->times.times, implementation->times.count);
    lab_json_number(json, "gflops", gflops_of(benchmark, times.median_ns));
    if (is_rung) {
        snprintf(shape, sizeof shape, "%lldx%lldx%lld", (long long)grid->pm, (long long)grid->pn, (long long)grid->pk);
        lab_json_string(json, "grid", shape);
        if (ratios.samples > 0) {
            lab_json_number(json, "over_pdgemm", (double)ratios.median_ns * 1e-6);
            lab_json_number(json, "over_pdgemm_ci95", (double)ratios.ci95_ns * 1e-6);
        }
        lab_json_integer(json, "received_bytes", report->received_bytes);
        lab_json_number(json, "bound_bytes", benchmark->cost.bound_bytes);
        lab_json_number(json, "over_bound", bound_ratio(benchmark, implementation));
        lab_json_integer(json, "redistributed_bytes", report->redistributed_bytes);
        lab_json_number(json, "redistributing_s", report->redistribute_seconds);
        lab_json_number(json, "multiplying_s", report->multiply_seconds);
        lab_json_number(json, "waiting_s", report->wait_seconds);
    }
    lab_json_end(json, '}');
}

void lab_cluster_benchmark_write(const lab_cluster_benchmark *benchmark, lab_json *json)
{
    for (int i = 0; i < benchmark->count; i++)
        write_row(benchmark, &benchmark->implementations[i], json);
}
