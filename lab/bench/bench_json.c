/* SPDX-License-Identifier: Apache-2.0 */
/* bench_json.c - rung bench: writes the result as JSON or CSV (see bench_result.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_result.h"
#include "explain/explain.h"
#include "io/json_writer.h"
#include "io/output_file.h"
#include "io/run_info.h"

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void print_csv(const lab_bench_result *bench, FILE *out)
{
    char epilogue[64];
    lab_epilogue_format(bench->epilogue, epilogue, sizeof epilogue);
    fprintf(out, "device,kernel,params,dtype,m,n,k,batch,splits,compute,epilogue,verified,median_ns,min_ns,"
                 "ci95_ns,samples,gflops,percent_of_vendor,h2d_ns,kernel_ns,d2h_ns,time,threads,probe_gflops,mode,"
                 "best_peer,percent_of_best_peer\n");
    for (int i = 0; i < bench->row_count; i++) {
        const lab_bench_row *row = &bench->rows[i];
        fprintf(out, "%s,", bench->device->name);
        lab_csv_write(out, row->kernel); /* the name of a kernel file may contain any character */
        fprintf(out, ",\"%s\",%s,%lld,%lld,%lld,%lld,%lld,%s,\"%s\",%d,%lld,%lld,%lld,%lld,%.4f,%.2f,%lld,%lld,%lld,",
                row->params, lab_type_pair_name(row->product), (long long)row->size.m, (long long)row->size.n,
                (long long)row->size.k, (long long)bench->batch, (long long)row->splits,
                rung_compute_name(row->requested_compute), epilogue, row->verified, (long long)row->median_ns,
                (long long)row->min_ns, (long long)row->ci95_ns, (long long)row->samples, row->gflops,
                row->percent_of_vendor, (long long)row->h2d_ns, (long long)row->median_ns, (long long)row->d2h_ns);
        fprintf(out, "%s,%lld,%.1f,%s,%s,%.2f\n", lab_clock_name(row->clock), (long long)row->threads,
                row->probe_gflops, lab_speed_mode_name(row->mode), row->best_peer, row->percent_of_peer);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void add_ratio(lab_json *json, const char *name, double value)
{
    lab_json_number(json, name, value > 0 ? value : (double)NAN);
}

static void add_explanation_fields(lab_json *json, const lab_explanation *explanation)
{
    if (!explanation)
        return;
    lab_json_string(json, "machine", explanation->machine.name);
    lab_explanation_write_summary(json, explanation);
}

/* Returns the rate at which the elements of a quantized B are used, as they are stored. */
static double b_gbytes_per_second(const lab_bench_result *bench, const lab_bench_row *row)
{
    rung_type b = lab_type_pair_b(row->product);
    double elements = (double)row->size.k * (double)row->size.n * (double)bench->batch;
    double bytes = elements * (double)rung_type_block_bytes(b) / (double)rung_type_block_elements(b);
    return row->median_ns > 0 ? bytes / (double)row->median_ns : 0;
}

/* Adds the fields that only rows of the CPU have. */
static void add_cpu_fields(lab_json *json, const lab_bench_row *row)
{
    lab_json_integer(json, "threads", row->threads);
    lab_json_integer(json, "repeats", row->repeats);
    lab_json_string(json, "probe", lab_cpu_probe_name(row->probe));
    add_ratio(json, "probe_gflops", row->probe_gflops);
    add_ratio(json, "percent_of_probe", row->percent_of_probe);
    lab_json_string(json, "mode", lab_speed_mode_name(row->mode));
    lab_json_integer(json, "fast_median_ns", row->fast.median_ns);
    lab_json_integer(json, "fast_samples", row->fast.samples);
    lab_json_integer(json, "slow_median_ns", row->slow.median_ns);
    lab_json_integer(json, "slow_samples", row->slow.samples);
    lab_json_string(json, "doubt", row->warning);
    lab_json_string(json, "best_peer", row->best_peer);
    add_ratio(json, "percent_of_best_peer", row->percent_of_peer);
}

static void add_call_fields(lab_json *json, const lab_call_profile *call)
{
    const char *overlap = getenv("RUNG_OVERLAP");
    lab_json_string(json, "overlap", overlap && *overlap ? overlap : "default");
    lab_json_integer(json, "call_wall_ns", call->wall_ns);
    lab_json_integer(json, "up_ns", call->to_device_ns);
    lab_json_integer(json, "down_ns", call->from_device_ns);
    lab_json_integer(json, "host_ns", call->host_ns);
    lab_json_number(json, "hidden_percent", call->hidden_percent);
}

static void add_row(lab_json *json, const lab_bench_result *bench, const lab_bench_row *row)
{
    char epilogue[64];
    lab_epilogue_format(bench->epilogue, epilogue, sizeof epilogue);
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "device", bench->device->name);
    lab_json_string(json, "kernel", row->kernel);
    lab_json_boolean(json, "packed", row->is_packed);
    lab_json_string(json, "params", row->params);
    lab_json_string(json, "dtype", lab_type_pair_name(row->product));
    lab_json_sizes(json, row->size.m, row->size.n, row->size.k);
    lab_json_integer(json, "batch", bench->batch);
    lab_json_integer(json, "splits", row->splits);
    lab_json_string(json, "compute", rung_compute_name(row->requested_compute));
    lab_json_string(json, "computed", rung_compute_name(row->compute));
    lab_json_string(json, "epilogue", epilogue);
    lab_json_string(json, "cache", bench->is_cold ? "cold" : "hot");
    if (bench->is_cold) {
        lab_json_integer(json, "sets", row->copy_count);
        lab_json_integer(json, "cold_bytes", row->cold_bytes);
    }
    lab_json_string(json, "inputs", lab_inputs_name(bench->inputs));
    lab_json_boolean(json, "verified", row->verified);
    lab_json_string(json, "state", lab_row_state_name(row->state));
    lab_json_string(json, "why_not", row->why_not);
    lab_json_string(json, "time", lab_clock_name(row->clock));
    lab_json_integer(json, "median_ns", row->median_ns);
    lab_json_integer(json, "min_ns", row->min_ns);
    lab_json_integer(json, "ci95_ns", row->ci95_ns);
    lab_json_integer(json, "samples", row->samples);
    lab_json_integer(json, "worst_ns", row->worst_ns);
    lab_json_integer(json, "outliers", row->outliers);
    if (row->verified) {
        lab_json_integer(json, "series_of", row->series.rounds_per_value);
        lab_json_times_array(json, "series_ns", row->series.times, row->series.count);
    }
    lab_json_number(json, "gflops", row->gflops);
    if (lab_type_pair_is_mixed(row->product))
        add_ratio(json, "b_gbytes_per_second", b_gbytes_per_second(bench, row));
    add_ratio(json, "over_before", row->over_before);
    add_ratio(json, "over_first", row->over_first);
    add_ratio(json, "percent_of_vendor", row->percent_of_vendor);
    lab_json_boolean(json, "vendor_tuned", row->vendor_tuned);
    lab_json_string(json, "origin", row->origin_text);
    lab_json_integer(json, "h2d_ns", row->h2d_ns);
    lab_json_integer(json, "kernel_ns", row->call.wall_ns > 0 ? row->call.kernel_ns : row->median_ns);
    lab_json_integer(json, "d2h_ns", row->d2h_ns);
    lab_json_string(json, "library", row->library);
    if (lab_bench_is_cpu(bench))
        add_cpu_fields(json, row);
    add_explanation_fields(json, row->explanation);
    if (row->call.wall_ns > 0)
        add_call_fields(json, &row->call);
    if (row->calls_wall_ns > 0) {
        lab_json_integer(json, "batch_wall_ns", row->batch_wall_ns);
        lab_json_integer(json, "calls_wall_ns", row->calls_wall_ns);
        lab_json_number(json, "over_calls", lab_ratio(row->calls_wall_ns, row->batch_wall_ns));
    }
    lab_json_end(json, '}');
}

static void add_settings(lab_json *json, const lab_env_settings *settings)
{
    lab_json_begin(json, "settings", '[');
    for (int i = 0; i < settings->count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "name", settings->list[i].name);
        lab_json_string(json, "value", settings->list[i].value);
        lab_json_string(json, "why", settings->list[i].why);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_bench_write_json(const lab_bench_result *bench, FILE *out)
{
    lab_json json = lab_json_open(out, "rung-bench/1");
    lab_json_boolean(&json, "complete", bench->complete);
    if (*bench->pairing)
        lab_json_string(&json, "pairing", bench->pairing);
    lab_run_info_print(&json, bench->device);
    add_settings(&json, &bench->settings);
    lab_conditions_print(&json, &bench->before, &bench->after, &bench->warnings);
    lab_json_string(&json, "inputs", lab_inputs_meaning(bench->inputs));
    if (bench->inputs != LAB_INPUTS_WHOLE)
        lab_json_integer(&json, "seed", bench->seed);
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < bench->row_count; i++)
        add_row(&json, bench, &bench->rows[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

void lab_bench_print(const lab_bench_result *bench, FILE *out)
{
    if (bench->options->csv)
        print_csv(bench, out);
    else
        lab_bench_write_json(bench, out);
}
