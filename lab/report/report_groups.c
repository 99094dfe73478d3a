/* SPDX-License-Identifier: Apache-2.0 */
/* report_groups.c - groups the rows that share a chart and chooses their labels and order; see report.h. */
#include "report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"
#include "common/type_pair.h"
#include "rung/rung.h"

/* ---- Names, markers, numbers ---- */

static bool is_library(const char *kernel)
{
    return strncmp(kernel, "00_", 3) == 0;
}

const char *lab_kernel_chart_name(const char *kernel)
{
    static const char *const names[][2] = {
        {"00_vendor", "library"},   {"00_vendor:mkl", "MKL"},       {"00_vendor:openblas", "OpenBLAS"},
        {"00_vendor:blis", "BLIS"}, {"00_vendor:onednn", "oneDNN"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(kernel, names[i][0]) == 0)
            return names[i][1];
    return strncmp(kernel, "00_vendor:", 10) == 0 && kernel[10] ? kernel + 10 : kernel;
}

const char *lab_result_device_library(const lab_result *row)
{
    return strncmp(row->device, "opencl", 6) == 0 ? "CLBlast"
           : strncmp(row->device, "cuda", 4) == 0 ? "cuBLAS"
                                                  : "library";
}

/* Writes the label of a row; for a library its name and, if known, its version. */
static void format_label(const lab_result *row, char *text, size_t capacity)
{
    const char *name = lab_kernel_chart_name(row->kernel), *library = lab_json_get_text(row->fields, "library", "");
    bool is_vendor = strcmp(row->kernel, "00_vendor") == 0;
    lab_result_format_kernel(is_vendor ? lab_result_device_library(row) : name, is_library(row->kernel) ? library : "",
                             text, capacity);
}

static unsigned text_hash(const char *text)
{
    unsigned sum = 0;
    for (; *text; text++)
        sum = 31 * sum + (unsigned char)*text;
    return sum;
}

lab_marker lab_kernel_marker(const char *kernel)
{
    static const char *const libraries[] = {"library", "MKL", "OpenBLAS", "BLIS", "oneDNN"};
    if (is_library(kernel)) {
        for (int i = 0; i < LAB_COLOUR_WARM_COUNT; i++)
            if (strcmp(lab_kernel_chart_name(kernel), libraries[i]) == 0)
                return (lab_marker){(lab_chart_colour)(LAB_COLOUR_warm0 + i), i + 1, true};
        return (lab_marker){(lab_chart_colour)(LAB_COLOUR_warm0 + text_hash(kernel) % LAB_COLOUR_WARM_COUNT), 0, true};
    }
    bool has_number = isdigit((unsigned char)kernel[0]) && isdigit((unsigned char)kernel[1]) && kernel[2] == '_';
    unsigned number = has_number ? (unsigned)(10 * (kernel[0] - '0') + kernel[1] - '0' + LAB_COLOUR_COOL_COUNT - 1)
                                 : text_hash(kernel);
    return (lab_marker){(lab_chart_colour)(LAB_COLOUR_cool0 + number % LAB_COLOUR_COOL_COUNT),
                        (int)(number % LAB_MARKER_SHAPES), false};
}

static lab_formatted format_problem(int64_t m, int64_t n, int64_t k)
{
    lab_formatted problem;
    snprintf(problem.text, sizeof problem.text, "%lld x %lld x %lld", (long long)m, (long long)n, (long long)k);
    return problem;
}

lab_formatted lab_result_problem(const lab_result *row)
{
    return format_problem(row->m, row->n, row->k);
}

lab_formatted lab_json_problem(const lab_json_value *row)
{
    return format_problem(lab_json_get_integer(row, "m", 0), lab_json_get_integer(row, "n", 0),
                          lab_json_get_integer(row, "k", 0));
}

lab_formatted lab_omission_note(int shown, int all)
{
    lab_formatted note = {""};
    if (shown < all)
        snprintf(note.text, sizeof note.text, " The chart shows %d of %d; the table has all.", shown, all);
    return note;
}

static double flops(int64_t m, int64_t n, int64_t k)
{
    return 2.0 * (double)m * (double)n * (double)k;
}

double lab_json_flops(const lab_json_value *row)
{
    return flops(lab_json_get_integer(row, "m", 0), lab_json_get_integer(row, "n", 0),
                 lab_json_get_integer(row, "k", 0));
}

double lab_intensity(const lab_result *row)
{
    double m = (double)row->m, n = (double)row->n, k = (double)row->k;
    lab_type_pair product;
    if (!lab_type_pair_find(row->dtype, strlen(row->dtype), &product) || !(m * n * k > 0))
        return 0;
    double a = (double)rung_type_size(product.in), out = (double)rung_type_size(product.out);
    rung_type b_type = lab_type_pair_b(product);
    double b = (double)rung_type_block_bytes(b_type) / (double)rung_type_block_elements(b_type);
    return flops(row->m, row->n, row->k) / (a * m * k + b * k * n + out * m * n);
}

bool lab_result_is_square(const lab_result *row)
{
    return row->m == row->n && row->n == row->k;
}

static bool same_problem(const lab_result *a, const lab_result *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k;
}

int lab_report_problem_end(const lab_report_row_group *group, int start)
{
    int end = start + 1;
    while (end < group->count && same_problem(group->rows[start].row, group->rows[end].row))
        end++;
    return end;
}

/* ---- Groups ---- */

static bool same_text(const lab_json_value *a, const lab_json_value *b, const char *name)
{
    return strcmp(lab_json_get_text(a, name, ""), lab_json_get_text(b, name, "")) == 0;
}

/* Returns whether the row is a whole call, including copies, and not a kernel. */
static bool is_whole_call(const lab_result *row)
{
    return strcmp(row->kernel, "rung_gemm") == 0;
}

/* Return where the matrices were before each run, and their values. */
static const char *cache_state_of(const lab_result *row)
{
    return lab_json_get_text(row->fields, "cache", "hot");
}

static const char *input_values_of(const lab_result *row)
{
    return lab_json_get_text(row->fields, "inputs", "whole");
}

static bool belongs_to_group(const lab_report_row_group *group, const lab_report_input *input, const lab_result *row)
{
    const lab_json_value *a = group->input->results.machine, *b = input->results.machine;
    const lab_result *first = group->first;
    return strcmp(first->device, row->device) == 0 && same_text(a, b, "title") && same_text(a, b, "processor") &&
           strcmp(first->dtype, row->dtype) == 0 && strcmp(first->compute, row->compute) == 0 &&
           strcmp(first->epilogue, row->epilogue) == 0 && is_whole_call(first) == is_whole_call(row) &&
           first->threads == row->threads && first->batch == row->batch &&
           strcmp(cache_state_of(first), cache_state_of(row)) == 0 &&
           strcmp(input_values_of(first), input_values_of(row)) == 0;
}

static bool same_kernel_and_problem(const lab_result *a, const lab_result *b)
{
    return same_problem(a, b) && strcmp(a->kernel, b->kernel) == 0;
}

/* Returns whether another file already contributed a row of this file to the group. */
static bool has_duplicate_row(const lab_report_row_group *group, const lab_report_input *input)
{
    for (int64_t i = 0; i < input->results.count; i++) {
        const lab_result *row = &input->results.rows[i];
        for (int j = 0; j < group->count && belongs_to_group(group, input, row); j++)
            if (same_kernel_and_problem(group->rows[j].row, row) &&
                strcmp(group->rows[j].row->params, row->params) == 0)
                return true;
    }
    return false;
}

static bool add_row(lab_report_row_group *group, const lab_result *row)
{
    lab_report_row *larger = lab_array_grow(group->rows, group->count, sizeof *larger);
    if (!larger)
        return false;
    group->rows = larger;
    group->rows[group->count++] = (lab_report_row){
        .row = row, .mark = lab_kernel_marker(row->kernel), .is_library = is_library(row->kernel)};
    return true;
}

static lab_report_row_group *add_group(lab_report *report, const lab_report_input *input, const lab_result *row)
{
    lab_report_row_group *larger = lab_array_grow(report->groups, report->group_count, sizeof *larger);
    if (!larger)
        return NULL;
    report->groups = larger;
    larger[report->group_count] = (lab_report_row_group){.input = input, .first = row};
    return &larger[report->group_count++];
}

/* Adds the rows of a file to the groups of earlier files, or to new groups if an earlier file has one of the rows. */
static bool group_file(lab_report *report, const lab_report_input *input)
{
    int groups_before = report->group_count;
    bool *closed = calloc((size_t)groups_before + 1, sizeof *closed);
    bool good = closed != NULL;
    for (int i = 0; i < groups_before && good; i++)
        closed[i] = has_duplicate_row(&report->groups[i], input);
    for (int64_t i = 0; i < input->results.count && good; i++) {
        const lab_result *row = &input->results.rows[i];
        lab_report_row_group *group = NULL;
        if (!row->verified || row->median_ns <= 0)
            continue;
        report->verified_count++;
        for (int j = 0; j < report->group_count && !group; j++)
            if ((j >= groups_before || !closed[j]) && belongs_to_group(&report->groups[j], input, row))
                group = &report->groups[j];
        if (!group)
            group = add_group(report, input, row);
        good = group && add_row(group, row);
    }
    free(closed);
    return good;
}

/* ---- Order within a group ---- */

/* Writes parameters for a label. Long parameters are cut and get a hash, because rows with the same label count as
 * repetitions. */
static void shorten_parameters(const char *params, char *text, size_t capacity)
{
    enum { LONGEST = 50, BEGINNING = 36 };
    if (strlen(params) <= LONGEST)
        snprintf(text, capacity, "%s", params);
    else
        snprintf(text, capacity, "%.*s... #%08x", BEGINNING, params, text_hash(params));
}

/* Writes the labels of the rows. The label of a kernel with several parameters or overlap modes contains them. */
static void name_rows(lab_report_row_group *group)
{
    for (int i = 0; i < group->count; i++) {
        lab_report_row *shown = &group->rows[i];
        const char *overlap = lab_json_get_text(shown->row->fields, "overlap", "");
        bool varies = false;
        for (int j = 0; j < group->count && !varies; j++)
            varies = same_kernel_and_problem(shown->row, group->rows[j].row) &&
                     strcmp(shown->row->params, group->rows[j].row->params) != 0;
        char name[64], params[64];
        format_label(shown->row, name, sizeof name);
        shorten_parameters(shown->row->params, params, sizeof params);
        snprintf(shown->label, sizeof shown->label, "%.60s%s%.50s%s%.12s", name, varies ? " " : "",
                 varies ? params : "", *overlap ? ", overlap " : "", overlap);
    }
}

static int compare_rows(const void *a, const void *b)
{
    const lab_result *x = ((const lab_report_row *)a)->row, *y = ((const lab_report_row *)b)->row;
    double work = flops(x->m, x->n, x->k) - flops(y->m, y->n, y->k);
    if (work != 0)
        return work < 0 ? -1 : 1;
    int64_t order = x->m != y->m ? x->m - y->m : x->n != y->n ? x->n - y->n : x->k - y->k;
    if (order != 0)
        return order < 0 ? -1 : 1;
    int names = strcmp(x->kernel, y->kernel);
    if (names == 0)
        names = strcmp(((const lab_report_row *)a)->label, ((const lab_report_row *)b)->label);
    return names != 0 ? names : (x->gflops > y->gflops) - (x->gflops < y->gflops);
}

/* Keeps the median row of repetitions. */
static void keep_median_rows(lab_report_row_group *group)
{
    int remaining = 0;
    for (int start = 0, end; start < group->count; start = end) {
        const lab_report_row *first = &group->rows[start];
        for (end = start + 1; end < group->count && same_kernel_and_problem(first->row, group->rows[end].row) &&
                              strcmp(first->label, group->rows[end].label) == 0;
             end++)
            ;
        group->rows[remaining++] = group->rows[start + (end - start) / 2];
    }
    group->count = remaining;
}

/* Finds the problem with the most rows; of several, the last square one. */
static void find_main_problem(lab_report_row_group *group)
{
    for (int start = 0, end; start < group->count; start = end) {
        const lab_result *row = group->rows[start].row, *main_row = group->rows[group->main_start].row;
        end = lab_report_problem_end(group, start);
        bool was_square = group->main_count > 0 && main_row->m == main_row->n;
        int more = end - start - group->main_count;
        if (more > 0 || (more == 0 && (lab_result_is_square(row) || !was_square))) {
            group->main_start = start;
            group->main_count = end - start;
        }
    }
}

static void name_group(lab_report *report, lab_report_row_group *group)
{
    const lab_result *row = group->first;
    char threads[40] = "", batch[40] = "";
    if (row->threads > 0)
        snprintf(threads, sizeof threads, ", %lld thread%s", (long long)row->threads, row->threads > 1 ? "s" : "");
    if (row->batch > 1)
        snprintf(batch, sizeof batch, ", batch of %lld", (long long)row->batch);
    bool plain = strcmp(row->compute, "strict") == 0;
    bool is_hot = strcmp(cache_state_of(row), "hot") == 0, is_whole = strcmp(input_values_of(row), "whole") == 0;
    snprintf(group->title, sizeof group->title, "%s%.32s%s%.20s on %.40s%s%s%s%.60s%s%s",
             is_whole_call(row) ? "Whole calls of " : "", row->dtype, plain ? "" : " by ", plain ? "" : row->compute,
             row->device, threads, batch, *row->epilogue ? ", " : "", row->epilogue, is_hot ? "" : ", cold caches",
             is_whole ? "" : ", normally distributed numbers");
    for (lab_report_row_group *other = report->groups; other < group; other++)
        if (strcmp(other->title, group->title) == 0) { /* add the file name */
            size_t length = strlen(group->title);
            snprintf(group->title + length, sizeof group->title - length, " (%.60s)", group->input->name);
            return;
        }
}

/* Sorts f32 before other types and strict before other modes. */
static int type_order(const lab_result *row)
{
    lab_type_pair product;
    bool is_known = lab_type_pair_find(row->dtype, strlen(row->dtype), &product);
    int index = is_known ? lab_type_pair_index(product) : lab_type_pair_total();
    return 2 * index + (strcmp(row->compute, "strict") != 0);
}

/* Compares by device, in the order of the files, then by type, then by the number of threads. */
static bool is_group_before(const lab_report *report, const lab_report_row_group *a, const lab_report_row_group *b)
{
    if (strcmp(a->first->device, b->first->device) != 0) {
        for (int i = 0; i < report->group_count; i++)
            for (int j = 0; j < 2; j++)
                if (strcmp(report->groups[i].first->device, (j ? b : a)->first->device) == 0)
                    return j == 0;
    }
    int difference = type_order(a->first) - type_order(b->first);
    return difference != 0 ? difference < 0 : a->first->threads < b->first->threads;
}

/* Insertion sort, which is stable. */
static void order_groups(lab_report *report)
{
    for (int i = 1; i < report->group_count; i++)
        for (int j = i; j > 0 && is_group_before(report, &report->groups[j], &report->groups[j - 1]); j--) {
            lab_report_row_group other = report->groups[j];
            report->groups[j] = report->groups[j - 1];
            report->groups[j - 1] = other;
        }
}

bool lab_report_group_rows(lab_report *report)
{
    for (int i = 0; i < report->input_count; i++)
        if (report->inputs[i].kind == LAB_REPORT_INPUT_BENCH && !group_file(report, &report->inputs[i]))
            return false;
    order_groups(report);
    for (int i = 0; i < report->group_count; i++) {
        lab_report_row_group *group = &report->groups[i];
        name_rows(group);
        qsort(group->rows, (size_t)group->count, sizeof *group->rows, compare_rows);
        keep_median_rows(group);
        find_main_problem(group);
        name_group(report, group);
    }
    return true;
}
