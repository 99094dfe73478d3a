/* SPDX-License-Identifier: Apache-2.0 */
/* bench_show.c - rung bench: telling what was found, as tables, CSV or JSON. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain_show.h"
#include "json.h"
#include "results.h"
#include "setting.h"
#include "table.h"

static bool is_cpu(const lab_bench *bench)
{
    return strcmp(bench->device->backend, "cpu") == 0;
}

static void write_ratio(double value, const char *unit, char *text, size_t capacity)
{
    if (value > 0)
        snprintf(text, capacity, value < 10 ? "%.2f%s" : "%.0f%s", value, unit);
    else
        snprintf(text, capacity, "-");
}

static bool same_problem(const lab_row *x, const lab_row *y)
{
    return lab_product_equal(x->product, y->product) && x->asked == y->asked &&
           memcmp(&x->size, &y->size, sizeof x->size) == 0;
}

/* ---- Tables ----------------------------------------------------------------------------------------- */

/* On the CPU there are three columns more: threads, the part of the peak, and the best of --peers. */
enum { COLUMNS = 10, CPU_COLUMNS = 13 };

/* What a row is called: a library by its own name. */
static void write_name(const lab_row *row, char *text, size_t capacity)
{
    lab_write_kernel(row->kernel, row->library, text, capacity);
}

/* "of OpenBLAS": the heading of percent_of_vendor. */
static void write_vendor_head(const lab_row *rows, int count, char *text, size_t capacity)
{
    snprintf(text, capacity, "of vendor");
    for (int i = 0; i < count; i++)
        if (rows[i].is_vendor && !rows[i].is_peer && *rows[i].library)
            snprintf(text, capacity, "of %.*s", (int)strcspn(rows[i].library, " (,"), rows[i].library);
}

static void add_head(lab_table *table, const lab_row *rows, int count, bool cpu)
{
    char vendor[64];
    write_vendor_head(rows, count, vendor, sizeof vendor);
    if (cpu)
        lab_table_add(table, CPU_COLUMNS,
                      (const char *[]){"kernel", "parameters", "threads", "median ms", "+-95%", "min", "GFLOPS",
                                       "of peak", "over before", "over first", vendor, "of best peer", "samples"});
    else
        lab_table_add(table, COLUMNS,
                      (const char *[]){"kernel", "parameters", "median ms", "+-95%", "min", "GFLOPS", "over before",
                                       "over first", vendor, "samples"});
}

static void add_refused(lab_table *table, const char *name, const lab_row *row, bool cpu)
{
    if (cpu)
        lab_table_add(table, CPU_COLUMNS,
                      (const char *[]){name, row->params, "", "-", "", "", "", "", "", "", "", "", row->why_not});
    else
        lab_table_add(table, COLUMNS, (const char *[]){name, row->params, "-", "", "", "", "", "", "", row->why_not});
}

static void add_row(lab_table *table, const lab_row *row, bool cpu)
{
    char name[96], threads[32], median[32], spread[32] = "-", least[32], gflops[32], peak[32], before[32], first[32];
    char vendor[32], peer[32], samples[32];
    write_name(row, name, sizeof name);
    if (!row->verified || row->is_beyond) {
        add_refused(table, name, row, cpu);
        return;
    }
    snprintf(threads, sizeof threads, "%lld", (long long)row->threads);
    lab_write_ms(row->median_ns, median, sizeof median);
    if (row->samples > 1) /* one sample has no spread */
        lab_write_ms(row->ci95_ns, spread, sizeof spread);
    lab_write_ms(row->min_ns, least, sizeof least);
    snprintf(gflops, sizeof gflops, row->gflops < 100 ? "%.2f" : "%.0f", row->gflops);
    write_ratio(row->percent_of_probe, "%", peak, sizeof peak);
    write_ratio(row->over_before, "x", before, sizeof before);
    write_ratio(row->over_first, "x", first, sizeof first);
    write_ratio(row->percent_of_vendor, "%", vendor, sizeof vendor);
    write_ratio(row->percent_of_peer, "%", peer, sizeof peer);
    snprintf(samples, sizeof samples, "%lld%s%s", (long long)row->samples, row->mode == LAB_MODE_ANY ? "" : " ",
             row->mode == LAB_MODE_ANY ? "" : lab_mode_name(row->mode));
    if (cpu)
        lab_table_add(table, CPU_COLUMNS,
                      (const char *[]){name, row->params, threads, median, spread, least, gflops, peak, before, first,
                                       vendor, peer, samples});
    else
        lab_table_add(
            table, COLUMNS,
            (const char *[]){name, row->params, median, spread, least, gflops, before, first, vendor, samples});
}

/* What was asked for beyond sizes and types, for the table's head. */
static void write_extras(const lab_bench *bench, rung_compute asked, char *text, size_t capacity)
{
    char epilogue[64], batch[48] = "";
    lab_write_epilogue(bench->epilogue, epilogue, sizeof epilogue);
    if (bench->batch > 1)
        snprintf(batch, sizeof batch, ", batch of %lld", (long long)bench->batch);
    snprintf(text, capacity, "%s%s%s%s%s%s%s", batch, *epilogue ? ", " : "", epilogue,
             asked == RUNG_COMPUTE_STRICT ? "" : ", ", asked == RUNG_COMPUTE_STRICT ? "" : rung_compute_name(asked),
             bench->is_cold ? ", cold" : "", bench->inputs == LAB_INPUTS_NORMAL ? ", normal inputs" : "");
}

static void print_calls(const lab_bench *bench, const lab_row *row)
{
    char batch[32], calls[32];
    if (!row->verified || row->calls_wall_ns == 0)
        return;
    lab_write_ms(row->batch_wall_ns, batch, sizeof batch);
    lab_write_ms(row->calls_wall_ns, calls, sizeof calls);
    fprintf(bench->out, "%s: the batch %s ms, %lld calls %s ms, %.1f times as long\n", row->kernel, batch,
            (long long)bench->batch, calls, lab_ratio(row->calls_wall_ns, row->batch_wall_ns));
}

static void print_doubt(const lab_bench *bench, const lab_row *row)
{
    char name[96];
    if (!row->verified || !*row->doubt)
        return;
    write_name(row, name, sizeof name);
    lab_colour_begin(LAB_YELLOW, bench->out);
    fprintf(bench->out, "%s is not compared with: %s", name, row->doubt);
    lab_colour_end(LAB_YELLOW, bench->out);
    fputc('\n', bench->out);
}

/* A median does not show them; a machine that has many is not quiet. */
static void print_outliers(const lab_bench *bench, const lab_row *row)
{
    char name[96];
    write_name(row, name, sizeof name);
    if (row->verified && !row->is_beyond && row->outliers * 20 > row->samples)
        fprintf(bench->out, "%s: %lld of %lld samples are outliers, the worst %.1f times the median\n", name,
                (long long)row->outliers, (long long)row->samples, lab_ratio(row->worst_ns, row->median_ns));
}

static void print_explained(const lab_bench *bench, const lab_row *row)
{
    const lab_explanation *answer = row->explanation;
    if (!answer)
        return;
    if (!answer->prediction.runs) {
        const char *reason = lab_why_not_predicted(answer);
        fprintf(bench->out, "%s on %s: not predicted: %.*s (rung explain %s says more)\n", row->kernel,
                answer->machine.title, (int)strcspn(reason, "\n"), reason, row->asked_as);
        return;
    }
    fprintf(bench->out,
            "%s on %s: %.2f sectors a request (ideal %.2f), %.2f wavefronts (%.2f), occupancy %.0f %%, "
            "%s %.0f GFLOPS, bound by %s\n",
            row->kernel, answer->machine.title, lab_sectors_per_request(answer), lab_sectors_ideal(answer),
            lab_wavefronts_per_request(answer), lab_wavefronts_ideal(answer), 100 * answer->occupancy.fraction,
            answer->counts_loop ? "predicted" : "estimated", answer->prediction.gflops,
            lab_station_words(answer->prediction.bound));
}

/* The calls of rung_gemm among these rows, in parts. */
static void print_parts(const lab_bench *bench, const lab_row *rows, int count, lab_table *table)
{
    memset(table, 0, sizeof *table);
    lab_table_add(table, 7, (const char *[]){"a call", "wall ms", "up", "kernel", "down", "packing", "hidden"});
    bool any = false;
    for (int i = 0; i < count; i++) {
        const lab_call *call = &rows[i].call;
        char wall[32], up[32], kernel[32], down[32], host[32], hidden[32];
        if (!rows[i].verified || call->wall_ns == 0)
            continue;
        lab_write_ms(call->wall_ns, wall, sizeof wall);
        lab_write_ms(call->up_ns, up, sizeof up);
        lab_write_ms(call->kernel_ns, kernel, sizeof kernel);
        lab_write_ms(call->down_ns, down, sizeof down);
        lab_write_ms(call->host_ns, host, sizeof host);
        snprintf(hidden, sizeof hidden, "%.0f%%", call->hidden_percent);
        lab_table_add(table, 7, (const char *[]){rows[i].kernel, wall, up, kernel, down, host, hidden});
        any = true;
    }
    if (any)
        lab_table_print(table, "lrrrrrr", bench->out);
}

/* The line above a table: what was multiplied, and on the CPU how it was timed. */
static void print_title(const lab_bench *bench, const lab_row *row)
{
    char extras[128], to_device[32], back[32];
    write_extras(bench, row->asked, extras, sizeof extras);
    fprintf(bench->out, "\n%s %lld x %lld x %lld%s; ", lab_product_name(row->product), (long long)row->size.m,
            (long long)row->size.n, (long long)row->size.k, extras);
    if (is_cpu(bench)) {
        fprintf(bench->out, "%s time", lab_clock_name(row->clock));
        if (row->probe_gflops > 0)
            fprintf(bench->out, ", peak %.0f GFLOPS of %s", row->probe_gflops, lab_probe_name(row->probe));
        fprintf(bench->out, "\n");
        return;
    }
    lab_write_ms(row->h2d_ns, to_device, sizeof to_device);
    lab_write_ms(row->d2h_ns, back, sizeof back);
    fprintf(bench->out, "A and B to the device %s ms, C back %s ms\n", to_device, back);
}

static const lab_row *first_verified(const lab_row *rows, int count)
{
    for (int i = 0; i < count; i++)
        if (rows[i].verified)
            return &rows[i];
    return rows;
}

/* The fastest of our kernels, by the numbers in its row; what is wrong or refused, and what was passed over.
 * Row 0 is the head. */
static void colour_rows(lab_table *table, const lab_row *rows, int count)
{
    int best = -1;
    for (int i = 0; i < count && i + 1 < LAB_TABLE_ROWS; i++) {
        if (rows[i].state == LAB_ROW_SKIPPED || rows[i].state == LAB_ROW_INTERRUPTED)
            table->colours[i + 1] = LAB_YELLOW;
        else if (!rows[i].verified)
            table->colours[i + 1] = LAB_RED;
        else if (!rows[i].is_vendor && !rows[i].is_peer && !rows[i].is_call &&
                 (best < 0 || rows[i].median_ns < rows[best].median_ns))
            best = i;
    }
    if (best >= 0)
        table->colours[best + 1] = LAB_BOLD;
}

static void print_problem(const lab_bench *bench, const lab_row *rows, int count, lab_table *table)
{
    bool cpu = is_cpu(bench);
    memset(table, 0, sizeof *table);
    add_head(table, rows, count, cpu);
    for (int i = 0; i < count; i++)
        add_row(table, &rows[i], cpu);
    colour_rows(table, rows, count);
    print_title(bench, first_verified(rows, count));
    if (rows->vendor_tuned)
        fprintf(bench->out, "00_vendor uses parameters of its own tuner\n");
    lab_table_print(table, cpu ? "llrrrrrrrrrrl" : "llrrrrrrrl", bench->out);
    for (int i = 0; i < count; i++)
        print_doubt(bench, &rows[i]);
    for (int i = 0; i < count; i++)
        print_outliers(bench, &rows[i]);
    for (int i = 0; i < count; i++)
        print_calls(bench, &rows[i]);
    for (int i = 0; i < count; i++)
        print_explained(bench, &rows[i]);
    print_parts(bench, rows, count, table);
}

/* Prints one line per reason. */
static void tell_settings(const lab_bench *bench)
{
    const lab_setting *list = bench->settings.list;
    for (int i = 0; i < bench->settings.count; i++) {
        bool goes_on = i + 1 < bench->settings.count && strcmp(list[i].why, list[i + 1].why) == 0;
        fprintf(bench->out, "%s=%s", list[i].name, list[i].value);
        if (goes_on)
            fprintf(bench->out, ", ");
        else
            fprintf(bench->out, " set: %s\n", list[i].why);
    }
}

static void print_head(const lab_bench *bench)
{
    const rung_device_info *device = bench->device;
    fprintf(bench->out, "%s: %s (%s)\n", device->name, device->title, device->platform);
    tell_settings(bench);
}

static void print_tables(const lab_bench *bench, int first)
{
    const lab_row *rows = bench->rows;
    lab_table *table = malloc(sizeof *table);
    for (int start = first, end; table && start < bench->row_count; start = end) {
        for (end = start; end < bench->row_count && same_problem(&rows[start], &rows[end]); end++)
            ;
        print_problem(bench, &rows[start], end - start, table);
    }
    free(table);
    fflush(bench->out);
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

/* In quotes where it must be: a kernel may be a file of any name. */
static void write_csv(const char *text, FILE *out)
{
    bool quoted = strpbrk(text, ",\"\n\r") != NULL;
    if (quoted)
        fputc('"', out);
    for (; *text; text++)
        fprintf(out, "%s%c", *text == '"' ? "\"" : "", *text);
    if (quoted)
        fputc('"', out);
}

static void print_csv(const lab_bench *bench)
{
    char epilogue[64];
    lab_write_epilogue(bench->epilogue, epilogue, sizeof epilogue);
    fprintf(bench->out,
            "device,kernel,params,dtype,m,n,k,batch,splits,compute,epilogue,verified,median_ns,min_ns,"
            "ci95_ns,samples,gflops,percent_of_vendor,h2d_ns,kernel_ns,d2h_ns,time,threads,probe_gflops,mode,"
            "best_peer,percent_of_best_peer\n");
    for (int i = 0; i < bench->row_count; i++) {
        const lab_row *row = &bench->rows[i];
        fprintf(bench->out, "%s,", bench->device->name);
        write_csv(row->kernel, bench->out);
        fprintf(bench->out,
                ",\"%s\",%s,%lld,%lld,%lld,%lld,%lld,%s,\"%s\",%d,%lld,%lld,%lld,%lld,%.4f,%.2f,%lld,%lld,%lld,",
                row->params, lab_product_name(row->product), (long long)row->size.m, (long long)row->size.n,
                (long long)row->size.k, (long long)bench->batch, (long long)row->splits, rung_compute_name(row->asked),
                epilogue, row->verified, (long long)row->median_ns, (long long)row->min_ns, (long long)row->ci95_ns,
                (long long)row->samples, row->gflops, row->percent_of_vendor, (long long)row->h2d_ns,
                (long long)row->median_ns, (long long)row->d2h_ns);
        fprintf(bench->out, "%s,%lld,%.1f,%s,%s,%.2f\n", lab_clock_name(row->clock), (long long)row->threads,
                row->probe_gflops, lab_mode_name(row->mode), row->best_peer, row->percent_of_peer);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void add_ratio(lab_json *json, const char *name, double value)
{
    lab_json_number(json, name, value > 0 ? value : (double)NAN);
}

static void add_explained(lab_json *json, const lab_explanation *answer)
{
    if (!answer)
        return;
    lab_json_string(json, "machine", answer->machine.name);
    lab_explanation_fields(json, answer);
}

/* What the CPU's rows have besides. */
static void add_cpu_fields(lab_json *json, const lab_row *row)
{
    lab_json_integer(json, "threads", row->threads);
    lab_json_integer(json, "repeats", row->repeats);
    lab_json_string(json, "probe", lab_probe_name(row->probe));
    add_ratio(json, "probe_gflops", row->probe_gflops);
    add_ratio(json, "percent_of_probe", row->percent_of_probe);
    lab_json_string(json, "mode", lab_mode_name(row->mode));
    lab_json_integer(json, "fast_median_ns", row->fast.median_ns);
    lab_json_integer(json, "fast_samples", row->fast.samples);
    lab_json_integer(json, "slow_median_ns", row->slow.median_ns);
    lab_json_integer(json, "slow_samples", row->slow.samples);
    lab_json_string(json, "doubt", row->doubt);
    lab_json_string(json, "best_peer", row->best_peer);
    add_ratio(json, "percent_of_best_peer", row->percent_of_peer);
}

static void add_call_fields(lab_json *json, const lab_call *call)
{
    const char *overlap = getenv("RUNG_OVERLAP");
    lab_json_string(json, "overlap", overlap && *overlap ? overlap : "default");
    lab_json_integer(json, "call_wall_ns", call->wall_ns);
    lab_json_integer(json, "up_ns", call->up_ns);
    lab_json_integer(json, "down_ns", call->down_ns);
    lab_json_integer(json, "host_ns", call->host_ns);
    lab_json_number(json, "hidden_percent", call->hidden_percent);
}

static void print_row(lab_json *json, const lab_bench *bench, const lab_row *row)
{
    char epilogue[64];
    lab_write_epilogue(bench->epilogue, epilogue, sizeof epilogue);
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "device", bench->device->name);
    lab_json_string(json, "kernel", row->kernel);
    lab_json_true(json, "packed", row->is_packed);
    lab_json_string(json, "params", row->params);
    lab_json_string(json, "dtype", lab_product_name(row->product));
    lab_json_integer(json, "m", row->size.m);
    lab_json_integer(json, "n", row->size.n);
    lab_json_integer(json, "k", row->size.k);
    lab_json_integer(json, "batch", bench->batch);
    lab_json_integer(json, "splits", row->splits);
    lab_json_string(json, "compute", rung_compute_name(row->asked));
    lab_json_string(json, "computed", rung_compute_name(row->compute));
    lab_json_string(json, "epilogue", epilogue);
    lab_json_string(json, "cache", bench->is_cold ? "cold" : "hot");
    if (bench->is_cold) {
        lab_json_integer(json, "sets", row->sets);
        lab_json_integer(json, "cold_bytes", row->cold_bytes);
    }
    lab_json_string(json, "inputs", lab_inputs_name(bench->inputs));
    lab_json_true(json, "verified", row->verified);
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
        lab_json_integer(json, "series_of", row->series.of);
        lab_json_times(json, "series_ns", row->series.times, row->series.count);
    }
    lab_json_number(json, "gflops", row->gflops);
    add_ratio(json, "over_before", row->over_before);
    add_ratio(json, "over_first", row->over_first);
    add_ratio(json, "percent_of_vendor", row->percent_of_vendor);
    lab_json_true(json, "vendor_tuned", row->vendor_tuned);
    lab_json_string(json, "origin", row->origin_text);
    lab_json_integer(json, "h2d_ns", row->h2d_ns);
    lab_json_integer(json, "kernel_ns", row->call.wall_ns > 0 ? row->call.kernel_ns : row->median_ns);
    lab_json_integer(json, "d2h_ns", row->d2h_ns);
    lab_json_string(json, "library", row->library);
    if (is_cpu(bench))
        add_cpu_fields(json, row);
    add_explained(json, row->explanation);
    if (row->call.wall_ns > 0)
        add_call_fields(json, &row->call);
    if (row->calls_wall_ns > 0) {
        lab_json_integer(json, "batch_wall_ns", row->batch_wall_ns);
        lab_json_integer(json, "calls_wall_ns", row->calls_wall_ns);
        lab_json_number(json, "over_calls", lab_ratio(row->calls_wall_ns, row->batch_wall_ns));
    }
    lab_json_end(json, '}');
}

static void print_settings(lab_json *json, const lab_settings *settings)
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

void lab_bench_write_json(const lab_bench *bench, FILE *out)
{
    lab_json json = {.out = out};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-bench/1");
    lab_json_true(&json, "complete", bench->complete);
    if (*bench->pairing)
        lab_json_string(&json, "pairing", bench->pairing);
    lab_setting_print(&json, bench->device);
    print_settings(&json, &bench->settings);
    lab_conditions_print(&json, &bench->before, &bench->after, &bench->warnings);
    lab_json_string(&json, "inputs", lab_inputs_meaning(bench->inputs));
    if (bench->inputs != LAB_INPUTS_WHOLE)
        lab_json_integer(&json, "seed", bench->seed);
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < bench->row_count; i++)
        print_row(&json, bench, &bench->rows[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

bool lab_bench_has_tables(const lab_bench *bench)
{
    return bench->options->output || (!bench->options->json && !bench->options->csv);
}

void lab_bench_print_head(lab_bench *bench)
{
    bench->out = stdout;
    print_head(bench);
}

void lab_bench_print_from(lab_bench *bench, int first)
{
    bench->out = stdout;
    print_tables(bench, first);
}

void lab_bench_print(lab_bench *bench, FILE *out)
{
    bench->out = out;
    if (bench->options->csv)
        print_csv(bench);
    else
        lab_bench_write_json(bench, out);
}
