/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies on the threads of OpenMP instead of threads of the library, once on all of them and once inside a parallel
 * region, where each thread multiplies alone. Compile with -fopenmp. */
#include <rung/rung.h>

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 400 };

/* Inside a parallel region OpenMP gives the inner region one thread, which then computes all parts. */
static void parallel_for(void *user, int64_t parts, rung_work_function work, void *work_user)
{
    (void)user;
#pragma omp parallel for schedule(static, 1)
    for (int64_t part = 0; part < parts; part++)
        work(work_user, part);
}

static rung_status multiply(rung_context *context, const float *a, const float *b, float *c)
{
    return rung_gemm(context, 1.0, rung_matrix_of(RUNG_F32, SIZE, SIZE, a), rung_matrix_of(RUNG_F32, SIZE, SIZE, b),
                     0.0, rung_matrix_of(RUNG_F32, SIZE, SIZE, c));
}

/* Returns the number of elements that differ from the exact sums: A(i, p) is i mod 3, B(p, j) is j mod 5. */
static int count_wrong(const float *c)
{
    int wrong = 0;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++)
            wrong += c[i * SIZE + j] != (float)(SIZE * (i % 3) * (j % 5));
    return wrong;
}

/* Fills A and B, multiplies outside and inside a parallel region, and returns the number of wrong elements; -1 if a call
 * failed. `c` has one result per thread. */
static int run(rung_context *context, float *a, float *b, float *c, int threads)
{
    int wrong, failed = 0;
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = (float)(i / SIZE % 3);
        b[i] = (float)(i % SIZE % 5);
    }
    if (multiply(context, a, b, c) != RUNG_OK)
        return -1;
    wrong = count_wrong(c);
#pragma omp parallel num_threads(threads) reduction(+ : wrong, failed)
    {
        float *own = c + (size_t)omp_get_thread_num() * SIZE * SIZE;
        if (multiply(context, a, b, own) == RUNG_OK)
            wrong += count_wrong(own);
        else
            failed++;
    }
    return failed ? -1 : wrong;
}

int main(void)
{
    int threads = omp_get_max_threads(), wrong = -1;
    rung_context *context = NULL;
    rung_context_options options = rung_context_options_default();
    float *a = malloc(sizeof *a * SIZE * SIZE);
    float *b = malloc(sizeof *b * SIZE * SIZE);
    float *c = malloc(sizeof *c * SIZE * SIZE * (size_t)threads);
    options.threads = threads;
    options.parallel_for = parallel_for;
    if (a && b && c && rung_context_create(&options, &context) == RUNG_OK)
        wrong = run(context, a, b, c, threads);
    if (wrong < 0)
        fprintf(stderr, "the multiplication failed: %s\n", rung_error_text());
    else
        printf("%d OpenMP threads, %d of %d elements differ\n", threads, wrong, SIZE * SIZE);
    rung_context_destroy(context);
    free(a);
    free(b);
    free(c);
    return wrong == 0 ? 0 : 1;
}
