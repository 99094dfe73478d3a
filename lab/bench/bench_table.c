/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.c - rung bench: prints the result as tables on standard output (see bench_result.h). */
#include <stdlib.h>
#include <string.h>

#include "bench/bench_result.h"
#include "cli/table.h"
#include "explain/explain.h"
#include "io/bench_results.h"

static bool is_same_problem(const lab_bench_row *x, const lab_bench_row *y)
{
    return lab_type_pair_equal(x->product, y->product) && x->requested_compute == y->requested_compute &&
           lab_shape_equal(x->size, y->size);
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

/* Adds the headings. The CPU has three more columns: threads, peak and best peer. */
static void add_headings(lab_table *table, const lab_bench_row *rows, int count, bool is_cpu)
{
    char vendor[64];
    format_vendor_heading(rows, count, vendor, sizeof vendor);
    if (is_cpu)
        lab_table_add(table, 13,
                      (const char *[]){"kernel", "parameters", "threads", "median ms", "+-95%", "min", "GFLOPS",
                                       "of peak", "over before", "over first", vendor, "of best peer", "samples"});
    else
        lab_table_add(table, 10,
                      (const char *[]){"kernel", "parameters", "median ms", "+-95%", "min", "GFLOPS", "over before",
                                       "over first", vendor, "samples"});
}

static void add_ratio(lab_table *table, double value, const char *unit)
{
    if (value > 0)
        lab_table_cell(table, value < 10 ? "%.2f%s" : "%.0f%s", value, unit);
    else
        lab_table_cell(table, "-");
}

/* Adds the cells of a row without a time: the reason, in the last column. */
static void add_reason(lab_table *table, const lab_bench_row *row, bool is_cpu)
{
    if (is_cpu)
        lab_table_cell(table, "%s", "");
    lab_table_cell(table, "-");
    for (int i = 0; i < (is_cpu ? 8 : 6); i++)
        lab_table_cell(table, "%s", "");
    lab_table_cell(table, "%s", row->why_not);
}

static void add_row(lab_table *table, const lab_bench_row *row, bool is_cpu)
{
    char name[96];
    format_name(row, name, sizeof name);
    lab_table_add(table, 2, (const char *[]){name, row->params});
    if (!row->verified || row->exceeds_peak) {
        add_reason(table, row, is_cpu);
        return;
    }
    if (is_cpu)
        lab_table_cell(table, "%lld", (long long)row->threads);
    lab_table_cell_ms(table, row->median_ns);
    if (row->samples > 1)
        lab_table_cell_ms(table, row->ci95_ns);
    else
        lab_table_cell(table, "-"); /* one sample has no confidence interval */
    lab_table_cell_ms(table, row->min_ns);
    lab_table_cell(table, row->gflops < 100 ? "%.2f" : "%.0f", row->gflops);
    if (is_cpu)
        add_ratio(table, row->percent_of_probe, "%");
    add_ratio(table, row->over_before, "x");
    add_ratio(table, row->over_first, "x");
    add_ratio(table, row->percent_of_vendor, "%");
    if (is_cpu)
        add_ratio(table, row->percent_of_peer, "%");
    lab_table_cell(table, "%lld%s%s", (long long)row->samples, row->mode == LAB_SPEED_MODE_ANY ? "" : " ",
                   row->mode == LAB_SPEED_MODE_ANY ? "" : lab_speed_mode_name(row->mode));
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

static void print_library_warning(const lab_bench_result *bench, const lab_bench_row *row)
{
    (void)bench;
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
static void print_outliers(const lab_bench_result *bench, const lab_bench_row *row)
{
    (void)bench;
    char name[96];
    format_name(row, name, sizeof name);
    if (row->verified && !row->exceeds_peak && row->outliers * 20 > row->samples)
        printf("%s: %lld of %lld samples are outliers; the slowest took %.1f times the median\n", name,
               (long long)row->outliers, (long long)row->samples, lab_ratio(row->worst_ns, row->median_ns));
}

static void print_explanation(const lab_bench_result *bench, const lab_bench_row *row)
{
    (void)bench;
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
    for (int i = 0; i < count; i++) {
        const lab_call_profile *call = &rows[i].call;
        if (!rows[i].verified || call->wall_ns == 0)
            continue;
        lab_table_add(table, 1, (const char *[]){rows[i].kernel});
        lab_table_cell_ms(table, call->wall_ns);
        lab_table_cell_ms(table, call->to_device_ns);
        lab_table_cell_ms(table, call->kernel_ns);
        lab_table_cell_ms(table, call->from_device_ns);
        lab_table_cell_ms(table, call->host_ns);
        lab_table_cell(table, "%.0f%%", call->hidden_percent);
    }
    if (table->rows > 1)
        lab_table_print(table, "lrrrrrr", stdout);
}

/* Prints the line above a table: the problem, and for the CPU the clock and the peak. */
static void print_title(const lab_bench_result *bench, const lab_bench_row *row)
{
    char extras[128], to_device[32], back[32];
    format_extras(bench, row->requested_compute, extras, sizeof extras);
    printf("\n%s %lld x %lld x %lld%s; ", lab_type_pair_name(row->product), LAB_SHAPE_ARGUMENTS(row->size), extras);
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
    static void (*const notes[])(const lab_bench_result *bench, const lab_bench_row *row) = {
        print_library_warning, print_outliers, print_calls, print_explanation};
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
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        for (int j = 0; j < count; j++)
            notes[i](bench, &rows[j]);
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
