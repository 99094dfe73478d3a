/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - reading result files, and putting rows together that may stand in one picture. See report.h. */
#include "report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"
#include "rung/rung.h"

/* ---- Reading ---------------------------------------------------------------------------------------- */

static const char *name_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash && slash[1] ? slash + 1 : file;
}

/* What kind of file it is, by its schema; of rung explain, which has none, by its one field. */
static bool find_kind(const lab_value *root, lab_input_kind *kind)
{
    const char *schema = lab_text(root, "schema", "");
    if (strcmp(schema, "rung-bench/1") == 0)
        *kind = LAB_INPUT_BENCH;
    else if (strcmp(schema, "rung-tune/1") == 0)
        *kind = LAB_INPUT_TUNE;
    else if (strcmp(schema, "rung-peak/1") == 0)
        *kind = LAB_INPUT_PEAK;
    else if (strncmp(schema, "rung-explain/", 13) == 0 ||
             (!*schema && lab_field(root, "kernels")->kind == LAB_ARRAY &&
              (!lab_field(root, "kernels")->first || *lab_text(lab_field(root, "kernels")->first, "arch", ""))))
        *kind = LAB_INPUT_EXPLAIN;
    else
        return false;
    return true;
}

static bool load(lab_input *input, const char *file, char *why, size_t capacity)
{
    char inner[256];
    if (!lab_document_load(file, &input->document, inner, sizeof inner)) {
        snprintf(why, capacity, "%s: %s", file, inner);
        return false;
    }
    input->root = input->document.root;
    if (!find_kind(input->root, &input->kind)) {
        snprintf(why, capacity, "%s: it is not a result of rung bench, tune, explain or peak with --json", file);
        return false;
    }
    if (input->kind == LAB_INPUT_BENCH) {
        lab_document_free(&input->document);
        if (!lab_results_load(file, &input->results, why, capacity))
            return false;
        input->root = input->results.document.root;
    }
    input->rows = lab_field(input->root, input->kind == LAB_INPUT_EXPLAIN ? "kernels" : "results");
    if (input->rows->kind == LAB_ARRAY)
        return true;
    snprintf(why, capacity, "%s: it has no results", file);
    return false;
}

bool lab_report_add(lab_report *report, const char *file, const char *shown_as, char *why, size_t capacity)
{
    lab_input *larger = realloc(report->inputs, (size_t)(report->input_count + 1) * sizeof *larger);
    if (!larger) {
        snprintf(why, capacity, "out of memory");
        return false;
    }
    report->inputs = larger;
    lab_input *input = &larger[report->input_count];
    *input = (lab_input){.name = shown_as ? shown_as : name_of(file)};
    if (load(input, file, why, capacity)) {
        report->input_count++;
        report->row_count += input->rows->count;
        return true;
    }
    lab_results_free(&input->results);
    lab_document_free(&input->document);
    return false;
}

void lab_report_free(lab_report *report)
{
    for (int i = 0; i < report->input_count; i++) {
        lab_results_free(&report->inputs[i].results);
        lab_document_free(&report->inputs[i].document);
    }
    for (int i = 0; i < report->group_count; i++)
        free(report->groups[i].rows);
    free(report->groups);
    free(report->inputs);
    *report = (lab_report){0};
}

bool lab_has_kind(const lab_report *report, lab_input_kind kind)
{
    for (int i = 0; i < report->input_count; i++)
        if (report->inputs[i].kind == kind && report->inputs[i].rows->count > 0)
            return true;
    return false;
}

/* ---- Names, marks, numbers -------------------------------------------------------------------------- */

bool lab_is_library(const char *kernel)
{
    return strncmp(kernel, "00_", 3) == 0;
}

const char *lab_kernel_words(const char *kernel)
{
    if (strncmp(kernel, "00_vendor:", 10) == 0 && kernel[10])
        return kernel + 10;
    return strcmp(kernel, "00_vendor") == 0 ? "vendor" : kernel;
}

/* The library behind 00_vendor on this row's device, where that is always the same. */
static const char *vendor_of(const lab_result *row)
{
    return strncmp(row->device, "opencl", 6) == 0 ? "CLBlast"
           : strncmp(row->device, "cuda", 4) == 0 ? "cuBLAS"
                                                  : "vendor";
}

/* What a row is called: a library by its name and version, where the row has them. */
static void write_label(const lab_result *row, char *text, size_t capacity)
{
    const char *words = lab_kernel_words(row->kernel), *library = lab_text(row->fields, "library", "");
    bool is_vendor = strcmp(row->kernel, "00_vendor") == 0;
    lab_write_kernel(is_vendor ? vendor_of(row) : words, lab_is_library(row->kernel) ? library : "", text, capacity);
}

static unsigned sum_of(const char *text)
{
    unsigned sum = 0;
    for (; *text; text++)
        sum = 31 * sum + (unsigned char)*text;
    return sum;
}

/* A kernel of the ladder by its number, a library by its name: the same in every picture. */
lab_mark lab_mark_of(const char *kernel)
{
    static const char *const libraries[] = {"vendor", "mkl", "openblas", "blis", "onednn"};
    if (lab_is_library(kernel)) {
        for (int i = 0; i < LAB_WARM_COUNT; i++)
            if (strcmp(lab_kernel_words(kernel), libraries[i]) == 0)
                return (lab_mark){(lab_colour)(LAB_warm0 + i), i + 1, true};
        return (lab_mark){(lab_colour)(LAB_warm0 + sum_of(kernel) % LAB_WARM_COUNT), 0, true};
    }
    bool has_number = isdigit((unsigned char)kernel[0]) && isdigit((unsigned char)kernel[1]) && kernel[2] == '_';
    unsigned number = has_number ? (unsigned)(10 * (kernel[0] - '0') + kernel[1] - '0' + LAB_COOL_COUNT - 1)
                                 : sum_of(kernel);
    return (lab_mark){(lab_colour)(LAB_cool0 + number % LAB_COOL_COUNT), (int)(number % LAB_SHAPES), false};
}

void lab_write_problem(int64_t m, int64_t n, int64_t k, char *text, size_t capacity)
{
    snprintf(text, capacity, "%lld x %lld x %lld", (long long)m, (long long)n, (long long)k);
}

double lab_flops(int64_t m, int64_t n, int64_t k)
{
    return 2.0 * (double)m * (double)n * (double)k;
}

static bool bytes_of(const char *dtype, double *in, double *out)
{
    lab_product product;
    if (!lab_product_find(dtype, strlen(dtype), &product))
        return false;
    *in = (double)rung_type_size(product.in);
    *out = (double)rung_type_size(product.out);
    return true;
}

double lab_intensity(const lab_result *row)
{
    double in, out, m = (double)row->m, n = (double)row->n, k = (double)row->k;
    if (!bytes_of(row->dtype, &in, &out) || !(m * n * k > 0))
        return 0;
    return lab_flops(row->m, row->n, row->k) / (in * (m * k + k * n) + out * m * n);
}

/* ---- Ceilings that were measured -------------------------------------------------------------------- */

/* A processor's ceilings hold for what runs on it: itself, and a driver that says its name. */
static bool is_of(const lab_input *peaks, const lab_group *group)
{
    const lab_value *there = lab_field(peaks->root, "machine"), *here = group->input->results.machine;
    const char *processor = lab_text(there, "processor", lab_text(there, "title", ""));
    if (!*processor || strcmp(processor, lab_text(here, "processor", "?")) != 0)
        return false;
    return strncmp(group->first->device, "cpu", 3) == 0 || strstr(lab_text(here, "title", ""), processor) != NULL;
}

/* As many threads as the row has; where it does not say, as many as there are. */
static bool has_threads(const lab_input *peaks, const lab_value *peak, const lab_group *group)
{
    int64_t threads = group->first->threads, most = 0;
    for (const lab_value *at = peaks->rows->first; at; at = at->next)
        most = lab_integer(at, "threads", 1) > most ? lab_integer(at, "threads", 1) : most;
    return lab_integer(peak, "threads", 1) == (threads > 0 ? threads : most);
}

static double measured_peak(const lab_report *report, const lab_group *group)
{
    double highest = 0;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "fma %.40s", group->first->dtype);
    for (int i = 0; i < report->input_count; i++) {
        const lab_input *peaks = &report->inputs[i];
        if (peaks->kind != LAB_INPUT_PEAK || !is_of(peaks, group))
            continue;
        for (const lab_value *at = peaks->rows->first; at; at = at->next)
            if (strcmp(lab_text(at, "ceiling", ""), wanted) == 0 && has_threads(peaks, at, group))
                highest = fmax(highest, lab_number(at, "gflops", 0));
    }
    return highest;
}

/* The per cents count what a mode makes of the probe's products: six for one in bf16x3. */
double lab_peak_of(const lab_report *report, const lab_group *group, const lab_result *row)
{
    double probe = lab_number(row->fields, "probe_gflops", 0), percent = lab_number(row->fields, "percent_of_probe", 0);
    return probe > 0 && percent > 0 ? 100 * (row->gflops / percent) : probe > 0 ? probe : measured_peak(report, group);
}

bool lab_beside(const lab_result *row, const char **library, double *percent)
{
    *library = lab_kernel_words(lab_text(row->fields, "best_peer", ""));
    *percent = lab_number(row->fields, "percent_of_best_peer", 0);
    if (**library && *percent > 0)
        return true;
    *library = vendor_of(row);
    *percent = lab_number(row->fields, "percent_of_vendor", 0);
    return *percent > 0;
}

int lab_memory_of(const lab_report *report, const lab_group *group, lab_ceiling *ceilings, int most)
{
    int count = 0;
    for (int i = 0; i < report->input_count; i++) {
        const lab_input *peaks = &report->inputs[i];
        if (peaks->kind != LAB_INPUT_PEAK || !is_of(peaks, group))
            continue;
        for (const lab_value *at = peaks->rows->first; at && count < most; at = at->next) {
            double gb_s = lab_number(at, "gb_s", 0);
            if (strcmp(lab_text(at, "ceiling", ""), "read") != 0 || !(gb_s > 0) || !has_threads(peaks, at, group))
                continue;
            char value[32];
            lab_write_short(gb_s, value, sizeof value);
            snprintf(ceilings[count].label, sizeof ceilings[count].label, "%.40s %s GB/s", lab_text(at, "level", "?"),
                     value);
            ceilings[count].gflops = 0;
            ceilings[count].is_memory = strcmp(lab_text(at, "level", ""), "memory") == 0;
            ceilings[count++].gb_s = gb_s;
        }
    }
    return count;
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

static bool same_text(const lab_value *a, const lab_value *b, const char *name)
{
    return strcmp(lab_text(a, name, ""), lab_text(b, name, "")) == 0;
}

/* A whole call, with copying: no kernel's time. */
static bool is_call(const lab_result *row)
{
    return strcmp(row->kernel, "rung_gemm") == 0;
}

/* Where the matrices were before each run, and what was in them. */
static const char *cache_of(const lab_result *row)
{
    return lab_text(row->fields, "cache", "hot");
}

static const char *inputs_of(const lab_result *row)
{
    return lab_text(row->fields, "inputs", "whole");
}

static bool belongs(const lab_group *group, const lab_input *input, const lab_result *row)
{
    const lab_value *a = group->input->results.machine, *b = input->results.machine;
    const lab_result *first = group->first;
    return strcmp(first->device, row->device) == 0 && same_text(a, b, "title") && same_text(a, b, "processor") &&
           strcmp(first->dtype, row->dtype) == 0 && strcmp(first->compute, row->compute) == 0 &&
           strcmp(first->epilogue, row->epilogue) == 0 && is_call(first) == is_call(row) &&
           first->threads == row->threads && first->batch == row->batch &&
           strcmp(cache_of(first), cache_of(row)) == 0 && strcmp(inputs_of(first), inputs_of(row)) == 0;
}

static bool same_problem(const lab_result *a, const lab_result *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k;
}

/* Whether a row of this file is in the group already, by another file. */
static bool collides(const lab_group *group, int count_before, const lab_input *input)
{
    for (int64_t i = 0; i < input->results.count; i++) {
        const lab_result *row = &input->results.rows[i];
        for (int j = 0; j < count_before && belongs(group, input, row); j++)
            if (same_problem(group->rows[j].row, row) && strcmp(group->rows[j].row->kernel, row->kernel) == 0 &&
                strcmp(group->rows[j].row->params, row->params) == 0)
                return true;
    }
    return false;
}

static bool add_row(lab_group *group, const lab_result *row)
{
    lab_shown *larger = (group->count & (group->count - 1)) == 0 /* a power of two: it is full */
                            ? realloc(group->rows, (size_t)(group->count > 0 ? 2 * group->count : 1) * sizeof *larger)
                            : group->rows;
    if (!larger)
        return false;
    group->rows = larger;
    group->rows[group->count++] = (lab_shown){
        .row = row, .mark = lab_mark_of(row->kernel), .is_library = lab_is_library(row->kernel)};
    return true;
}

static lab_group *add_group(lab_report *report, const lab_input *input, const lab_result *row)
{
    lab_group *larger = realloc(report->groups, (size_t)(report->group_count + 1) * sizeof *larger);
    if (!larger)
        return NULL;
    report->groups = larger;
    larger[report->group_count] = (lab_group){.input = input, .first = row};
    return &larger[report->group_count++];
}

/* The groups that were there before this file took part in them: a file is one of them or begins its own. */
static bool group_file(lab_report *report, const lab_input *input)
{
    int groups_before = report->group_count;
    int *counts = calloc((size_t)groups_before + 1, sizeof *counts);
    bool *closed = calloc((size_t)groups_before + 1, sizeof *closed);
    bool good = counts && closed;
    for (int i = 0; i < groups_before && good; i++) {
        counts[i] = report->groups[i].count;
        closed[i] = collides(&report->groups[i], counts[i], input);
    }
    for (int64_t i = 0; i < input->results.count && good; i++) {
        const lab_result *row = &input->results.rows[i];
        lab_group *group = NULL;
        if (!row->verified || row->median_ns <= 0)
            continue;
        report->verified_count++;
        for (int j = 0; j < report->group_count && !group; j++)
            if ((j >= groups_before || !closed[j]) && belongs(&report->groups[j], input, row))
                group = &report->groups[j];
        if (!group)
            group = add_group(report, input, row);
        good = group && add_row(group, row);
    }
    free(counts);
    free(closed);
    return good;
}

/* ---- Order within a group ---- */

/* Parameters for a label. Long ones are cut and get a number of their own, so that no two rows share a label that
 * differ only at the end: rows with one label are taken for repetitions. */
static void shorten(const char *params, char *text, size_t capacity)
{
    enum { LONGEST = 50, BEGINNING = 36 };
    if (strlen(params) <= LONGEST)
        snprintf(text, capacity, "%s", params);
    else
        snprintf(text, capacity, "%.*s... #%08x", BEGINNING, params, sum_of(params));
}

/* A kernel that was run with several parameters, or in several ways, says so. */
static void name_rows(lab_group *group)
{
    for (int i = 0; i < group->count; i++) {
        lab_shown *shown = &group->rows[i];
        const char *overlap = lab_text(shown->row->fields, "overlap", "");
        bool varies = false;
        for (int j = 0; j < group->count && !varies; j++)
            varies = same_problem(shown->row, group->rows[j].row) &&
                     strcmp(shown->row->kernel, group->rows[j].row->kernel) == 0 &&
                     strcmp(shown->row->params, group->rows[j].row->params) != 0;
        char name[64], params[64];
        write_label(shown->row, name, sizeof name);
        shorten(shown->row->params, params, sizeof params);
        snprintf(shown->label, sizeof shown->label, "%.60s%s%.50s%s%.12s", name, varies ? " " : "",
                 varies ? params : "", *overlap ? ", overlap " : "", overlap);
    }
}

static int by_place(const void *a, const void *b)
{
    const lab_result *x = ((const lab_shown *)a)->row, *y = ((const lab_shown *)b)->row;
    double work = lab_flops(x->m, x->n, x->k) - lab_flops(y->m, y->n, y->k);
    if (work != 0)
        return work < 0 ? -1 : 1;
    int64_t order = x->m != y->m ? x->m - y->m : x->n != y->n ? x->n - y->n : x->k - y->k;
    if (order != 0)
        return order < 0 ? -1 : 1;
    int names = strcmp(x->kernel, y->kernel);
    if (names == 0)
        names = strcmp(((const lab_shown *)a)->label, ((const lab_shown *)b)->label);
    return names != 0 ? names : (x->gflops > y->gflops) - (x->gflops < y->gflops);
}

/* Of rows that say the same of the same, the one in the middle stays. */
static void keep_medians(lab_group *group)
{
    int kept = 0;
    for (int start = 0, end; start < group->count; start = end) {
        for (end = start + 1; end < group->count && same_problem(group->rows[start].row, group->rows[end].row) &&
                              strcmp(group->rows[start].row->kernel, group->rows[end].row->kernel) == 0 &&
                              strcmp(group->rows[start].label, group->rows[end].label) == 0;
             end++)
            ;
        group->rows[kept++] = group->rows[start + (end - start) / 2];
    }
    group->count = kept;
}

/* The problem with the most rows; of several the largest. */
static void find_main(lab_group *group)
{
    for (int start = 0, end; start < group->count; start = end) {
        for (end = start + 1; end < group->count && same_problem(group->rows[start].row, group->rows[end].row); end++)
            ;
        bool square = group->rows[start].row->m == group->rows[start].row->n &&
                      group->rows[start].row->n == group->rows[start].row->k;
        bool was_square = group->main_count > 0 &&
                          group->rows[group->main_from].row->m == group->rows[group->main_from].row->n;
        int better = end - start - group->main_count;
        if (better > 0 || (better == 0 && (square || !was_square))) {
            group->main_from = start;
            group->main_count = end - start;
        }
    }
}

static void name_group(lab_report *report, lab_group *group)
{
    const lab_result *row = group->first;
    char threads[40] = "", batch[40] = "";
    if (row->threads > 0)
        snprintf(threads, sizeof threads, ", %lld thread%s", (long long)row->threads, row->threads > 1 ? "s" : "");
    if (row->batch > 1)
        snprintf(batch, sizeof batch, ", batch of %lld", (long long)row->batch);
    bool plain = strcmp(row->compute, "strict") == 0;
    bool is_hot = strcmp(cache_of(row), "hot") == 0, is_whole = strcmp(inputs_of(row), "whole") == 0;
    snprintf(group->title, sizeof group->title, "%s%.32s%s%.20s on %.40s%s%s%s%.60s%s%s",
             is_call(row) ? "Whole calls of " : "", row->dtype, plain ? "" : " by ", plain ? "" : row->compute,
             row->device, threads, batch, *row->epilogue ? ", " : "", row->epilogue, is_hot ? "" : ", cold caches",
             is_whole ? "" : ", normally distributed numbers");
    snprintf(group->where, sizeof group->where, "%.120s",
             lab_text(group->input->results.machine, "title", row->device));
    for (lab_group *other = report->groups; other < group; other++)
        if (strcmp(other->title, group->title) == 0) { /* told apart by its file */
            size_t length = strlen(group->title);
            snprintf(group->title + length, sizeof group->title - length, " (%.60s)", group->input->name);
            return;
        }
}

/* Devices as they came; f32 before other types, strict before other modes, few threads before many. */
static int type_place(const lab_result *row)
{
    lab_product product;
    bool is_known = lab_product_find(row->dtype, strlen(row->dtype), &product);
    int place = is_known ? lab_product_index(product) : lab_product_count();
    return 2 * place + (strcmp(row->compute, "strict") != 0);
}

static bool comes_before(const lab_report *report, const lab_group *a, const lab_group *b)
{
    if (strcmp(a->first->device, b->first->device) != 0) {
        for (int i = 0; i < report->group_count; i++)
            for (int j = 0; j < 2; j++)
                if (strcmp(report->groups[i].first->device, (j ? b : a)->first->device) == 0)
                    return j == 0;
    }
    int difference = type_place(a->first) - type_place(b->first);
    return difference != 0 ? difference < 0 : a->first->threads < b->first->threads;
}

/* By insertion, which leaves equals as they were. */
static void order_groups(lab_report *report)
{
    for (int i = 1; i < report->group_count; i++)
        for (int j = i; j > 0 && comes_before(report, &report->groups[j], &report->groups[j - 1]); j--) {
            lab_group other = report->groups[j];
            report->groups[j] = report->groups[j - 1];
            report->groups[j - 1] = other;
        }
}

bool lab_report_group(lab_report *report)
{
    for (int i = 0; i < report->input_count; i++)
        if (report->inputs[i].kind == LAB_INPUT_BENCH && !group_file(report, &report->inputs[i]))
            return false;
    order_groups(report);
    for (int i = 0; i < report->group_count; i++) {
        lab_group *group = &report->groups[i];
        name_rows(group);
        qsort(group->rows, (size_t)group->count, sizeof *group->rows, by_place);
        keep_medians(group);
        find_main(group);
        name_group(report, group);
    }
    return true;
}
