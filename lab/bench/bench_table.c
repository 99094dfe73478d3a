/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.c - rung bench: prints the result as tables on standard output (see bench_result.h). */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_result.h"
#include "cli/table.h"
#include "explain/explain.h"
#include "explain/explain.h"
#include "io/bench_results.h"

enum { COLUMNS = 13 };

static void format_ratio(double value, const char *unit, char *text, size_t capacity)
{
    if (value > 0)
        snprintf(text, capacity, value < 10 ? "%.2f%s" : "%.0f%s", value, unit);
    else
        snprintf(text, capacity, "-");
}

static bool is_same_problem(const lab_bench_row *x, const lab_bench_row *y)
{
    return lab_type_pair_equal(x->product, y->product) && x->requested_compute == y->requested_compute &&
           memcmp(&x->size, &y->size, sizeof x->size) == 0;
}

/* ---- Rows ---------------------------------------------------------------------------------------------- */

/* Formats the name of a row: a library by its own name. */
static void format_name(const lab_bench_row *row, char *text, size_t capacity)
{
    lab_result_format_kernel(row->kernel, row->library, text, capacity);
}

/* Formats the heading of percent_of_vendor: "of OpenBLAS". */
static void format_vendor_heading(const lab_bench_row *rows, int count, char *text, size_t capacity)
{
    snprintf(text, capacity, "of vendor");
    for (int i = 0; i < count; i++)
        if (rows[i].is_vendor && !rows[i].is_peer && *rows[i].library)
            snprintf(text, capacity, "of %.*s", (int)strcspn(rows[i].library, " (,"), rows[i].library);
}

/* Adds a row without the columns that only the CPU has. */
static void add_cells(lab_table *table, bool is_cpu, const char *const cells[COLUMNS])
{
    static const bool is_cpu_only[COLUMNS] = {
        [2] = true /* threads */, [7] = true /* of peak */, [11] = true /* of best peer */};
    const char *shown[COLUMNS];
    int count = 0;
    for (int i = 0; i < COLUMNS; i++)
        if (is_cpu || !is_cpu_only[i])
            shown[count++] = cells[i];
    lab_table_add(table, count, shown);
}

static void add_headings(lab_table *table, const lab_bench_row *rows, int count, bool is_cpu)
{
    char vendor[64];
    format_vendor_heading(rows, count, vendor, sizeof vendor);
    add_cells(table, is_cpu,
              (const char *[]){"kernel", "parameters", "threads", "median ms", "+-95%", "min", "GFLOPS", "of peak",
                               "over before", "over first", vendor, "of best peer", "samples"});
}

static void add_row(lab_table *table, const lab_bench_row *row, bool is_cpu)
{
    char name[96], threads[32], median[32], spread[32] = "-", least[32], gflops[32], peak[32], before[32], first[32];
    char vendor[32], peer[32], samples[32];
    format_name(row, name, sizeof name);
    if (!row->verified || row->exceeds_peak) {
        add_cells(table, is_cpu,
                  (const char *[]){name, row->params, "", "-", "", "", "", "", "", "", "", "", row->why_not});
        return;
    }
    snprintf(threads, sizeof threads, "%lld", (long long)row->threads);
    lab_format_ms(row->median_ns, median, sizeof median);
    if (row->samples > 1) /* one sample has no confidence interval */
        lab_format_ms(row->ci95_ns, spread, sizeof spread);
    lab_format_ms(row->min_ns, least, sizeof least);
    snprintf(gflops, sizeof gflops, row->gflops < 100 ? "%.2f" : "%.0f", row->gflops);
    format_ratio(row->percent_of_probe, "%", peak, sizeof peak);
    format_ratio(row->over_before, "x", before, sizeof before);
    format_ratio(row->over_first, "x", first, sizeof first);
    format_ratio(row->percent_of_vendor, "%", vendor, sizeof vendor);
    format_ratio(row->percent_of_peer, "%", peer, sizeof peer);
    snprintf(samples, sizeof samples, "%lld%s%s", (long long)row->samples, row->mode == LAB_SPEED_MODE_ANY ? "" : " ",
             row->mode == LAB_SPEED_MODE_ANY ? "" : lab_speed_mode_name(row->mode));
    add_cells(table, is_cpu,
              (const char *[]){name, row->params, threads, median, spread, least, gflops, peak, before, first, vendor,
                               peer, samples});
}

/* Colours the fastest of our kernels, rejected rows and skipped rows. Row 0 of the table has the headings. */
static void colour_rows(lab_table *table, const lab_bench_row *rows, int count)
{
    int best = -1;
    for (int i = 0; i < count && i + 1 < LAB_TABLE_ROWS_MAX; i++) {
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

/* ---- Problems ------------------------------------------------------------------------------------------ */

/* Formats everything that was requested beyond sizes and types. */
static void format_extras(const lab_bench_result *bench, rung_compute compute, char *text, size_t capacity)
{
    char epilogue[64], batch[48] = "";
    lab_epilogue_format(bench->epilogue, epilogue, sizeof epilogue);
    if (bench->batch > 1)
        snprintf(batch, sizeof batch, ", batch of %lld", (long long)bench->batch);
    snprintf(text, capacity, "%s%s%s%s%s%s%s", batch, *epilogue ? ", " : "", epilogue,
             compute == RUNG_COMPUTE_STRICT ? "" : ", ",
             compute == RUNG_COMPUTE_STRICT ? "" : rung_compute_name(compute), bench->is_cold ? ", cold" : "",
             bench->inputs == LAB_INPUTS_NORMAL ? ", normal inputs" : "");
}

static void print_calls(const lab_bench_result *bench, const lab_bench_row *row)
{
    char batch[32], calls[32];
    if (!row->verified || row->calls_wall_ns == 0)
        return;
    lab_format_ms(row->batch_wall_ns, batch, sizeof batch);
    lab_format_ms(row->calls_wall_ns, calls, sizeof calls);
    printf("%s: %s ms as one batch, %s ms as %lld calls (%.1f times as long)\n", row->kernel, batch, calls,
           (long long)bench->batch, lab_ratio(row->calls_wall_ns, row->batch_wall_ns));
}

static void print_library_warning(const lab_bench_row *row)
{
    char name[96];
    if (!row->verified || !*row->warning)
        return;
    format_name(row, name, sizeof name);
    lab_colour_begin(LAB_YELLOW, stdout);
    printf("%s is excluded from comparisons: %s", name, row->warning);
    lab_colour_end(LAB_YELLOW, stdout);
    putchar('\n');
}

/* Reports outliers, which a median hides: many of them mean that the machine was disturbed. */
static void print_outliers(const lab_bench_row *row)
{
    char name[96];
    format_name(row, name, sizeof name);
    if (row->verified && !row->exceeds_peak && row->outliers * 20 > row->samples)
        printf("%s: %lld of %lld samples are outliers; the slowest took %.1f times the median\n", name,
               (long long)row->outliers, (long long)row->samples, lab_ratio(row->worst_ns, row->median_ns));
}

static void print_explanation(const lab_bench_row *row)
{
    const lab_explanation *explanation = row->explanation;
    if (!explanation)
        return;
    if (!explanation->prediction.runs) {
        const char *reason = lab_explanation_why_not_predicted(explanation);
        printf("%s on %s: no prediction: %.*s (details: rung explain %s)\n", row->kernel, explanation->machine.title,
               (int)strcspn(reason, "\n"), reason, row->explain_name);
        return;
    }
    printf("%s on %s: %.2f sectors per request (ideal %.2f), %.2f wavefronts (ideal %.2f), occupancy %.0f %%, "
           "%s %.0f GFLOPS, bound by %s\n",
           row->kernel, explanation->machine.title, lab_sectors_per_request(explanation),
           lab_sectors_ideal(explanation), lab_wavefronts_per_request(explanation), lab_wavefronts_ideal(explanation),
           100 * explanation->occupancy.fraction, explanation->is_from_compiled_loop ? "predicted" : "estimated",
           explanation->prediction.gflops, lab_bottleneck_title(explanation->prediction.bound));
}

/* Prints what the calls of rung_gemm consist of. */
static void print_call_profiles(const lab_bench_row *rows, int count, lab_table *table)
{
    memset(table, 0, sizeof *table);
    lab_table_add(table, 7,
                  (const char *[]){"call", "wall ms", "to device", "kernel", "from device", "packing", "overlapped"});
    bool any = false;
    for (int i = 0; i < count; i++) {
        const lab_call_profile *call = &rows[i].call;
        char wall[32], up[32], kernel[32], down[32], host[32], hidden[32];
        if (!rows[i].verified || call->wall_ns == 0)
            continue;
        lab_format_ms(call->wall_ns, wall, sizeof wall);
        lab_format_ms(call->to_device_ns, up, sizeof up);
        lab_format_ms(call->kernel_ns, kernel, sizeof kernel);
        lab_format_ms(call->from_device_ns, down, sizeof down);
        lab_format_ms(call->host_ns, host, sizeof host);
        snprintf(hidden, sizeof hidden, "%.0f%%", call->hidden_percent);
        lab_table_add(table, 7, (const char *[]){rows[i].kernel, wall, up, kernel, down, host, hidden});
        any = true;
    }
    if (any)
        lab_table_print(table, "lrrrrrr", stdout);
}

/* Prints the line above a table: the problem, and for the CPU the clock and the peak. */
static void print_title(const lab_bench_result *bench, const lab_bench_row *row)
{
    char extras[128], to_device[32], back[32];
    format_extras(bench, row->requested_compute, extras, sizeof extras);
    printf("\n%s %lld x %lld x %lld%s; ", lab_type_pair_name(row->product), (long long)row->size.m,
           (long long)row->size.n, (long long)row->size.k, extras);
    if (lab_bench_is_cpu(bench)) {
        printf("%s time", lab_clock_name(row->clock));
        if (row->probe_gflops > 0)
            printf(", peak %.0f GFLOPS (%s)", row->probe_gflops, lab_cpu_probe_name(row->probe));
        printf("\n");
        return;
    }
    lab_format_ms(row->h2d_ns, to_device, sizeof to_device);
    lab_format_ms(row->d2h_ns, back, sizeof back);
    printf("copying A and B to the device: %s ms, C back: %s ms\n", to_device, back);
}

static const lab_bench_row *first_verified(const lab_bench_row *rows, int count)
{
    for (int i = 0; i < count; i++)
        if (rows[i].verified)
            return &rows[i];
    return rows;
}

static void print_problem(const lab_bench_result *bench, const lab_bench_row *rows, int count, lab_table *table)
{
    bool is_cpu = lab_bench_is_cpu(bench);
    memset(table, 0, sizeof *table);
    add_headings(table, rows, count, is_cpu);
    for (int i = 0; i < count; i++)
        add_row(table, &rows[i], is_cpu);
    colour_rows(table, rows, count);
    print_title(bench, first_verified(rows, count));
    if (rows->vendor_tuned)
        printf("00_vendor uses the parameters of its own tuner\n");
    lab_table_print(table, is_cpu ? "llrrrrrrrrrrl" : "llrrrrrrrl", stdout);
    for (int i = 0; i < count; i++)
        print_library_warning(&rows[i]);
    for (int i = 0; i < count; i++)
        print_outliers(&rows[i]);
    for (int i = 0; i < count; i++)
        print_calls(bench, &rows[i]);
    for (int i = 0; i < count; i++)
        print_explanation(&rows[i]);
    print_call_profiles(rows, count, table);
}

/* Prints the environment variables that were set, one line per reason. */
static void print_env_settings(const lab_bench_result *bench)
{
    const lab_env_setting *list = bench->settings.list;
    for (int i = 0; i < bench->settings.count; i++) {
        bool has_same_reason = i + 1 < bench->settings.count && strcmp(list[i].why, list[i + 1].why) == 0;
        printf("%s=%s", list[i].name, list[i].value);
        if (has_same_reason)
            printf(", ");
        else
            printf(" was set: %s\n", list[i].why);
    }
}

bool lab_bench_is_cpu(const lab_bench_result *bench)
{
    return strcmp(bench->device->backend, "cpu") == 0;
}

bool lab_bench_prints_tables(const lab_bench_result *bench)
{
    return bench->options->output || (!bench->options->json && !bench->options->csv);
}

void lab_bench_print_device(const lab_bench_result *bench)
{
    const rung_device_info *device = bench->device;
    printf("%s: %s (%s)\n", device->name, device->title, device->platform);
    print_env_settings(bench);
}

void lab_bench_print_tables(const lab_bench_result *bench, int first)
{
    const lab_bench_row *rows = bench->rows;
    lab_table *table = malloc(sizeof *table);
    for (int start = first, end; table && start < bench->row_count; start = end) {
        for (end = start; end < bench->row_count && is_same_problem(&rows[start], &rows[end]); end++)
            ;
        print_problem(bench, &rows[start], end - start, table);
    }
    free(table);
    fflush(stdout);
}
