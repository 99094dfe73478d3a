/* SPDX-License-Identifier: Apache-2.0 */
/* overhead.c - how much longer a checked product takes. tools/flips runs it.
 *
 *     overhead TYPE SIZE THREADS ROUNDS      multiplies SIZE x SIZE matrices on the CPU, with and without checks in turns
 *
 * Prints a line of results/trust/checked_overhead.tsv without the commit: the shortest times, in milliseconds, and the
 * difference in percent. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "flip_case.h"

/* Returns a matrix of random numbers between -1 and 1. */
static rung_matrix create_matrix(rung_type type, int64_t size)
{
    uint64_t state = 1;
    rung_matrix matrix = rung_matrix_of(type, size, size, malloc((size_t)(size * size * rung_type_size(type))));
    if (!matrix.data)
        abort();
    for (int64_t i = 0; i < size * size; i++) {
        double value = (double)flip_random(&state, 1 << 24) * 0x1p-23 - 1;
        if (type == RUNG_F64)
            ((double *)matrix.data)[i] = value;
        else
            ((float *)matrix.data)[i] = (float)value;
    }
    return matrix;
}

/* Returns the time of one call in milliseconds. */
static double time_call(const rung_problem *problem, int64_t threads, int64_t checked)
{
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = threads;
    options.checked = checked;
    int64_t start = rungi_clock_ns();
    if (rung_multiply(NULL, problem, &options) != RUNG_OK) {
        fprintf(stderr, "overhead: %s\n", rung_error_text());
        exit(1);
    }
    return (double)(rungi_clock_ns() - start) * 1e-6;
}

int main(int argc, char **argv)
{
    double shortest[2] = {INFINITY, INFINITY};
    if (argc != 5 || (strcmp(argv[1], "f32") != 0 && strcmp(argv[1], "f64") != 0)) {
        fprintf(stderr, "usage: overhead f32|f64 SIZE THREADS ROUNDS\n");
        return 2;
    }
    rung_type type = strcmp(argv[1], "f32") == 0 ? RUNG_F32 : RUNG_F64;
    int64_t size = strtoll(argv[2], NULL, 10), threads = strtoll(argv[3], NULL, 10);
    rung_problem problem = rung_problem_of(create_matrix(type, size), create_matrix(type, size),
                                           create_matrix(type, size));
    for (int64_t round = 0; round < strtoll(argv[4], NULL, 10); round++)
        for (int i = 0; i < 2; i++) {
            int checked = (i + (int)(round % 2)) % 2; /* each is first in every second round */
            shortest[checked] = fmin(shortest[checked], time_call(&problem, threads, checked));
        }
    printf("%s\t%lld\t%lld\t%.2f\t%.2f\t%.1f\n", argv[1], (long long)size, (long long)threads, shortest[0], shortest[1],
           100 * (shortest[1] / shortest[0] - 1));
    free((void *)(uintptr_t)problem.a.data);
    free((void *)(uintptr_t)problem.b.data);
    free(problem.c.data);
    return 0;
}
