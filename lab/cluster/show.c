/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - rung bench --cluster: telling what was found, as a table or JSON. */
#include <stdio.h>
#include <string.h>

#include "cluster/contest.h"
#include "oracle.h"
#include "table.h"

enum { COLUMNS = 11 };

static const char *name_of(const cluster_contender_t *contender, lab_product product)
{
    if (contender->multiply == CLUSTER_PDGEMM)
        return product.in == RUNG_F64 ? "pdgemm" : "psgemm";
    return "rung_cluster_gemm";
}

static const char *multiply_of(const cluster_contender_t *contender)
{
    return contender->multiply == CLUSTER_RUNG ? "rung" : "BLAS";
}

static double gflops_of(const cluster_contest_t *contest, int64_t nanoseconds)
{
    const rung_cluster_problem *cluster = &contest->problem.cluster;
    return nanoseconds > 0 ? 2.0 * (double)cluster->m * (double)cluster->n * (double)cluster->k / (double)nanoseconds
                           : 0;
}

/* Measured over the bound; 1 where both are nothing. */
static double of_bound(const cluster_contest_t *contest, const cluster_contender_t *contender)
{
    return contest->cost.bound_bytes > 0.5 ? (double)contender->report.received_bytes / contest->cost.bound_bytes : 1.0;
}

static void add_row(lab_table *table, const cluster_contest_t *contest, const cluster_contender_t *contender)
{
    lab_spread times = lab_samples_spread(&contender->taken, LAB_MODE_ANY, 0);
    lab_spread ratios = lab_samples_spread(&contender->ratios, LAB_MODE_ANY, 0);
    const rung_cluster_report *report = &contender->report;
    const char *name = name_of(contender, contest->problem.product);
    const char *layout = contender->is_cyclic ? "cyclic" : "grid";
    char median[32], spread[32], gflops[32], over[48] = "-", received[32] = "-", bound[32] = "-", moved[32] = "-",
                                             wait[32] = "-";
    if (!contender->verified) {
        lab_table_add(
            table, COLUMNS,
            (const char *[]){name, layout, multiply_of(contender), "-", "", "", "", "", "", "", contender->why_not});
        return;
    }
    snprintf(median, sizeof median, "%.1f", (double)times.median_ns * 1e-6);
    snprintf(spread, sizeof spread, "%.1f", (double)times.ci95_ns * 1e-6);
    snprintf(gflops, sizeof gflops, "%.1f", gflops_of(contest, times.median_ns));
    if (ratios.samples > 0 && contender->multiply != CLUSTER_PDGEMM)
        snprintf(over, sizeof over, "%.2f +- %.2f", (double)ratios.median_ns * 1e-6, (double)ratios.ci95_ns * 1e-6);
    if (contender->multiply != CLUSTER_PDGEMM) {
        snprintf(received, sizeof received, "%.2f", (double)report->received_bytes * 1e-6);
        snprintf(bound, sizeof bound, "%.2f", of_bound(contest, contender));
        snprintf(moved, sizeof moved, "%.2f", (double)report->redistributed_bytes * 1e-6);
        snprintf(wait, sizeof wait, "%.0f%%", report->seconds > 0 ? 100 * report->wait_seconds / report->seconds : 0);
    }
    lab_table_add(table, COLUMNS,
                  (const char *[]){name, layout, multiply_of(contender), median, spread, gflops, over, received, bound,
                                   moved, wait});
}

void cluster_contest_print(const cluster_contest_t *contest, FILE *out)
{
    static lab_table table;
    const rung_cluster_problem *cluster = &contest->problem.cluster;
    const rung_cluster_grid *grid = &contest->problem.grid;
    memset(&table, 0, sizeof table);
    lab_table_add(&table, COLUMNS,
                  (const char *[]){"call", "layout", "by", "median ms", "+-95%", "GFLOPS", "over pdgemm", "MB received",
                                   "of bound", "MB laid out", "waiting"});
    for (int i = 0; i < contest->count; i++)
        add_row(&table, contest, &contest->contenders[i]);
    fprintf(
        out,
        "\n%s %lld x %lld x %lld on %lld ranks: a grid of %lld x %lld x %lld; blocks of %lld on %lld x %lld processes\n",
        lab_product_name(contest->problem.product), (long long)cluster->m, (long long)cluster->n, (long long)cluster->k,
        (long long)cluster->ranks, (long long)grid->pm, (long long)grid->pn, (long long)grid->pk,
        (long long)contest->problem.block, (long long)contest->problem.process_rows,
        (long long)contest->problem.process_cols);
    lab_table_print(&table, "lllrrrrrrrr", out);
}

static void write_row(const cluster_contest_t *contest, const cluster_contender_t *contender, lab_json *json)
{
    const rung_cluster_problem *cluster = &contest->problem.cluster;
    const rung_cluster_grid *grid = &contest->problem.grid;
    const rung_cluster_report *report = &contender->report;
    lab_spread times = lab_samples_spread(&contender->taken, LAB_MODE_ANY, 0);
    lab_spread ratios = lab_samples_spread(&contender->ratios, LAB_MODE_ANY, 0);
    bool is_ours = contender->multiply != CLUSTER_PDGEMM;
    char shape[96];
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "call", name_of(contender, contest->problem.product));
    lab_json_string(json, "layout", contender->is_cyclic ? "cyclic" : "grid");
    lab_json_string(json, "multiply", multiply_of(contender));
    lab_json_string(json, "dtype", lab_product_name(contest->problem.product));
    lab_json_integer(json, "m", cluster->m);
    lab_json_integer(json, "n", cluster->n);
    lab_json_integer(json, "k", cluster->k);
    lab_json_integer(json, "ranks", cluster->ranks);
    lab_json_integer(json, "block", contest->problem.block);
    snprintf(shape, sizeof shape, "%lldx%lld", (long long)contest->problem.process_rows,
             (long long)contest->problem.process_cols);
    lab_json_string(json, "processes", shape);
    lab_json_true(json, "verified", contender->verified);
    lab_json_string(json, "why_not", contender->why_not);
    lab_json_string(json, "time", "wall");
    lab_json_integer(json, "median_ns", times.median_ns);
    lab_json_integer(json, "min_ns", times.min_ns);
    lab_json_integer(json, "ci95_ns", times.ci95_ns);
    lab_json_integer(json, "samples", times.samples);
    lab_json_times(json, "series_ns", contender->taken.times, contender->taken.count);
    lab_json_number(json, "gflops", gflops_of(contest, times.median_ns));
    if (is_ours) {
        snprintf(shape, sizeof shape, "%lldx%lldx%lld", (long long)grid->pm, (long long)grid->pn, (long long)grid->pk);
        lab_json_string(json, "grid", shape);
        if (ratios.samples > 0) {
            lab_json_number(json, "over_pdgemm", (double)ratios.median_ns * 1e-6);
            lab_json_number(json, "over_pdgemm_ci95", (double)ratios.ci95_ns * 1e-6);
        }
        lab_json_integer(json, "received_bytes", report->received_bytes);
        lab_json_number(json, "bound_bytes", contest->cost.bound_bytes);
        lab_json_number(json, "over_bound", of_bound(contest, contender));
        lab_json_integer(json, "redistributed_bytes", report->redistributed_bytes);
        lab_json_number(json, "redistributing_s", report->redistribute_seconds);
        lab_json_number(json, "multiplying_s", report->multiply_seconds);
        lab_json_number(json, "waiting_s", report->wait_seconds);
    }
    lab_json_end(json, '}');
}

void cluster_contest_write(const cluster_contest_t *contest, lab_json *json)
{
    for (int i = 0; i < contest->count; i++)
        write_row(contest, &contest->contenders[i], json);
}
