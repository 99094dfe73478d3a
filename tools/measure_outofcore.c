/* SPDX-License-Identifier: Apache-2.0 */
/* measure_outofcore.c - how fast a multiply is whose matrices are ten times the memory it may use, beside the same
 * multiply with all of them in memory: in turns, in one process, so that both feel the same machine.
 *
 *     measure_outofcore FOLDER [MEMORY-IN-MIB [ROUNDS]]
 *
 * writes the result as JSON to standard output. tools/measure-outofcore calls it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/lab_clock.h"
#include "bench/bench.h"
#include "io/json_writer.h"
#include "common/random.h"
#include "rung/outofcore.h"

enum { ROUNDS_MOST = 32, TIMES = 10 };

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "measure_outofcore: %s: %s\n", what, rung_error_text());
    exit(1);
}

static float *new_matrix(int64_t n, uint64_t stream)
{
    float *data = malloc((size_t)(n * n) * sizeof *data);
    if (!data) {
        fprintf(stderr, "measure_outofcore: no memory for the matrices\n");
        exit(1);
    }
    uint32_t bits = lab_random(1, stream, 0) | 1;
    for (int64_t i = 0; i < n * n; i++) { /* whole numbers, of which every sum is exact: both results are the same */
        bits = bits * 1664525u + 1013904223u;
        data[i] = (float)((int)(bits >> 24) % 9 - 4);
    }
    return data;
}

static void save(const char *path, const float *data, int64_t n)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, sizeof *data, (size_t)(n * n), file) != (size_t)(n * n) || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

/* Whether the file has the elements that the other way came to. */
static int is_same(const char *path, const float *data, int64_t n)
{
    float *row = malloc((size_t)n * sizeof *row);
    FILE *file = fopen(path, "rb");
    int same = row && file;
    for (int64_t i = 0; same && i < n; i++)
        same = fread(row, sizeof *row, (size_t)n, file) == (size_t)n &&
               memcmp(row, data + i * n, (size_t)n * sizeof *row) == 0;
    if (file)
        fclose(file);
    free(row);
    return same;
}

typedef struct measured {
    int64_t n;
    double in_core[ROUNDS_MOST], out_of_core[ROUNDS_MOST]; /* seconds */
    int rounds;
    rung_outofcore_report *report; /* of the last multiply of files */
} measured_t;

static double multiply_files(const rung_outofcore_problem *problem, int64_t memory, rung_outofcore_report **report)
{
    rung_outofcore_options options = rung_outofcore_options_default();
    options.memory_bytes = memory;
    options.restart = 1;
    rung_outofcore_report_destroy(*report);
    int64_t began = lab_now_ns();
    if (rung_outofcore_multiply(NULL, problem, &options, report) != RUNG_OK)
        give_up(problem->path);
    return (double)(lab_now_ns() - began) * 1e-9;
}

static double multiply_memory(const float *a, const float *b, float *c, int64_t n)
{
    int64_t began = lab_now_ns();
    if (rung_gemm(NULL, 1, rung_matrix_of(RUNG_F32, n, n, a), rung_matrix_of(RUNG_F32, n, n, b), 0,
                  rung_matrix_of(RUNG_F32, n, n, c)) != RUNG_OK)
        give_up("in memory");
    return (double)(lab_now_ns() - began) * 1e-9;
}

/* Who goes first alternates. */
static void measure(measured_t *all, const rung_outofcore_problem *problem, int64_t memory, const float *a,
                    const float *b, float *c)
{
    for (int i = 0; i < all->rounds; i++)
        for (int j = 0; j < 2; j++)
            if (i % 2 == j)
                all->in_core[i] = multiply_memory(a, b, c, all->n);
            else
                all->out_of_core[i] = multiply_files(problem, memory, &all->report);
    if (!is_same(problem->path, c, all->n)) {
        fprintf(stderr, "measure_outofcore: the two results differ\n");
        exit(1);
    }
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median_ratio(const measured_t *all)
{
    double ratios[ROUNDS_MOST];
    for (int i = 0; i < all->rounds; i++)
        ratios[i] = all->in_core[i] / all->out_of_core[i];
    qsort(ratios, (size_t)all->rounds, sizeof *ratios, by_size);
    return (ratios[(all->rounds - 1) / 2] + ratios[all->rounds / 2]) / 2;
}

static void print(const measured_t *all, int64_t memory, const lab_conditions *before, const lab_conditions *after)
{
    const rung_outofcore_blocking *blocking = all->report->blocking;
    int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
    lab_warnings warnings = lab_conditions_warnings(before, after, processors, processors);
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-out-of-core/1");
    lab_json_string(&json, "what", "speed from files with little memory over speed in memory, in turns in one process");
    lab_json_integer(&json, "n", all->n);
    lab_json_integer(&json, "memory", memory);
    lab_json_number(&json, "times_memory", 3.0 * 4.0 * (double)all->n * (double)all->n / (double)memory);
    lab_json_begin(&json, "rounds", '[');
    for (int i = 0; i < all->rounds; i++) {
        lab_json_begin(&json, NULL, '{');
        lab_json_number(&json, "in_core_seconds", all->in_core[i]);
        lab_json_number(&json, "out_of_core_seconds", all->out_of_core[i]);
        lab_json_number(&json, "ratio", all->in_core[i] / all->out_of_core[i]);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_number(&json, "median_ratio", median_ratio(all));
    lab_json_integer(&json, "block_rows", blocking->block_rows);
    lab_json_integer(&json, "block_cols", blocking->block_cols);
    lab_json_integer(&json, "panel_depth", blocking->panel_depth);
    lab_json_integer(&json, "used", blocking->used_bytes);
    lab_json_integer(&json, "moved", all->report->read_bytes + all->report->written_bytes);
    lab_json_number(&json, "moved_over_bound",
                    (double)(all->report->read_bytes + all->report->written_bytes) / blocking->bound_bytes);
    lab_json_number(&json, "waited_seconds", rung_outofcore_report_device(all->report, 0)->wait_seconds);
    lab_conditions_print(&json, before, after, &warnings);
    lab_json_end(&json, '}');
}

int main(int argc, char **argv)
{
    measured_t all = {.rounds = argc > 3 ? atoi(argv[3]) : 3};
    int64_t memory = (argc > 2 ? atoll(argv[2]) : 256) << 20;
    char paths[3][512];
    if (argc < 2 || all.rounds < 1 || all.rounds > ROUNDS_MOST || memory <= 0) {
        fprintf(stderr, "usage: measure_outofcore FOLDER [MIB [ROUNDS]]\n");
        return 2;
    }
    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/measure_outofcore_%c.bin", argv[1], "abc"[i]);
    all.n = (int64_t)sqrt((double)memory * TIMES / 12.0);
    float *a = new_matrix(all.n, 1), *b = new_matrix(all.n, 2), *c = new_matrix(all.n, 3);
    save(paths[0], a, all.n);
    save(paths[1], b, all.n);
    rung_outofcore_matrix *a_file, *b_file;
    if (rung_outofcore_matrix_open_raw(paths[0], RUNG_F32, all.n, all.n, &a_file) != RUNG_OK ||
        rung_outofcore_matrix_open_raw(paths[1], RUNG_F32, all.n, all.n, &b_file) != RUNG_OK)
        give_up("files");
    rung_outofcore_problem problem = rung_outofcore_problem_of(a_file, b_file);
    problem.path = paths[2];
    problem.format = RUNG_OUTOFCORE_FORMAT_RAW;
    rung_device_info none = {.name = "cpu", .backend = "cpu", .title = "", .platform = ""};
    lab_conditions before = lab_conditions_read(&none);
    measure(&all, &problem, memory, a, b, c);
    lab_conditions after = lab_conditions_read(&none);
    print(&all, memory, &before, &after);
    rung_outofcore_report_destroy(all.report);
    rung_outofcore_matrix_destroy(a_file);
    rung_outofcore_matrix_destroy(b_file);
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
    free(a);
    free(b);
    free(c);
    return 0;
}
