/* SPDX-License-Identifier: Apache-2.0 */
/* batch_speed.c - batch_speed [ITEMS [MKL]]: times batches of small F32 squares: one rung_plan_run, one cblas_sgemm_batch of
 * MKL, and a loop over a kernel of LIBXSMM, which generates code for each size. Prints the least CPU time per item, in ns, of
 * interleaved rounds with one thread. MKL is the path of libmkl_rt.so. The results of all three are compared first. */
#define _GNU_SOURCE
#include <libxsmm.h>
#include <rung/rung.h>

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEFAULT_ITEMS = 1000, MAX_ITEMS = 100000, ROUNDS = 40, RUNG = 0, MKL, LIBXSMM, LIBRARIES };
static const double round_ns = 2e6;

typedef void mkl_batch_function(int, const int *, const int *, const int *, const int *, const int *, const float *,
                                const float **, const int *, const float **, const int *, const float *, float **,
                                const int *, int, const int *);

typedef struct {
    int size, items;
    float *a, *b, *c;
    const float **a_items, **b_items;
    float **c_items;
    rung_queue *queue;
    rung_plan *plan;
    rung_problem problem;
    mkl_batch_function *mkl;
    libxsmm_smmfunction xsmm;
} batch_t;

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void run(batch_t *batch, int library)
{
    enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };
    int transpose = NO_TRANSPOSE, size = batch->size;
    float one = 1, zero = 0;
    if (library == RUNG) {
        rung_run_options options = {.size = sizeof options};
        if (rung_plan_run(batch->plan, batch->queue, &batch->problem, &options) != RUNG_OK)
            fprintf(stderr, "batch_speed: %s\n", rung_error_text());
    } else if (library == MKL) {
        batch->mkl(ROW_MAJOR, &transpose, &transpose, &size, &size, &size, &one, batch->a_items, &size, batch->b_items,
                   &size, &zero, batch->c_items, &size, 1, &batch->items);
    } else { /* by columns: C^T = B^T A^T */
        for (int i = 0; i < batch->items; i++)
            batch->xsmm(batch->b_items[i], batch->a_items[i], batch->c_items[i]);
    }
}

static bool is_present(const batch_t *batch, int library)
{
    return library == RUNG || (library == MKL ? batch->mkl != NULL : batch->xsmm != NULL);
}

static float *new_numbers(size_t count, unsigned seed)
{
    float *numbers = aligned_alloc(64, (count * sizeof *numbers + 63) / 64 * 64);
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = (float)((int)((i * 2654435761u + seed) >> 7 & 7) - 4); /* whole: sums are exact */
    return numbers;
}

static bool create(batch_t *batch, rung_device *device, int size, int items)
{
    size_t per_item = (size_t)size * (size_t)size, count = per_item * (size_t)items;
    batch->size = size;
    batch->items = items;
    batch->a = new_numbers(count, 1);
    batch->b = new_numbers(count, 99);
    batch->c = new_numbers(count, 5);
    for (int i = 0; i < items; i++) {
        batch->a_items[i] = batch->a + (size_t)i * per_item;
        batch->b_items[i] = batch->b + (size_t)i * per_item;
        batch->c_items[i] = batch->c + (size_t)i * per_item;
    }
    batch->problem = rung_problem_of(rung_matrix_of(RUNG_F32, size, size, batch->a),
                                     rung_matrix_of(RUNG_F32, size, size, batch->b),
                                     rung_matrix_of(RUNG_F32, size, size, batch->c));
    batch->problem.batch = items;
    batch->problem.a.batch_stride = batch->problem.b.batch_stride = batch->problem.c.batch_stride = (int64_t)per_item;
    int flags = LIBXSMM_GEMM_FLAG_NONE;
    float one = 1, zero = 0;
    batch->xsmm = libxsmm_smmdispatch(size, size, size, NULL, NULL, NULL, &one, &zero, &flags, NULL);
    rung_plan_options options = {.size = sizeof options, .threads = 1};
    return rung_plan_create(device, &batch->problem, &options, &batch->plan) == RUNG_OK;
}

static void destroy(batch_t *batch)
{
    rung_plan_destroy(batch->plan);
    free(batch->a);
    free(batch->b);
    free(batch->c);
}

/* Returns whether all libraries give the same numbers. */
static bool results_agree(batch_t *batch)
{
    size_t bytes = (size_t)batch->size * (size_t)batch->size * (size_t)batch->items * sizeof(float);
    float *expected = malloc(bytes);
    bool agree = true;
    run(batch, RUNG);
    memcpy(expected, batch->c, bytes);
    for (int library = MKL; library < LIBRARIES; library++) {
        memset(batch->c, 0, bytes);
        if (is_present(batch, library)) {
            run(batch, library);
            agree = agree && memcmp(batch->c, expected, bytes) == 0;
        }
    }
    free(expected);
    return agree;
}

static void measure(batch_t *batch)
{
    double least[LIBRARIES];
    for (int library = 0; library < LIBRARIES; library++)
        least[library] = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int library = 0; library < LIBRARIES; library++) {
            if (!is_present(batch, library))
                continue;
            double start = cpu_ns(), ns = 0;
            int runs = 0;
            while (ns < round_ns) {
                run(batch, library);
                ns = cpu_ns() - start;
                runs++;
            }
            least[library] = fmin(least[library], ns / runs / batch->items);
        }
    printf("%d\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f\n", batch->size, least[RUNG], least[MKL], least[LIBXSMM],
           least[MKL] / least[RUNG], least[LIBXSMM] / least[RUNG]);
    (void)fflush(stdout);
}

int main(int count, char **arguments)
{
    int items = count > 1 ? atoi(arguments[1]) : DEFAULT_ITEMS;
    rung_device *device;
    batch_t batch = {0};
    if (items < 1 || items > MAX_ITEMS || count > 3) {
        fprintf(stderr, "usage: batch_speed [ITEMS [libmkl_rt.so]]; 1 to %d items\n", MAX_ITEMS);
        return 2;
    }
    setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 1);
    setenv("RUNG_TUNING", "off", 1);
    void *mkl = count > 2 ? dlopen(arguments[2], RTLD_NOW) : NULL;
    if (mkl)
        *(void **)&batch.mkl = dlsym(mkl, "cblas_sgemm_batch");
    batch.a_items = malloc((size_t)items * sizeof(float *));
    batch.b_items = malloc((size_t)items * sizeof(float *));
    batch.c_items = malloc((size_t)items * sizeof(float *));
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &batch.queue) != RUNG_OK) {
        fprintf(stderr, "batch_speed: %s\n", rung_error_text());
        return 2;
    }
    printf("# %d items per batch, F32, one thread; ns of CPU time per item, and speed of rung / speed of the other\n",
           items);
    printf("size\trung\tmkl\tlibxsmm\trung / mkl\trung / libxsmm\n");
    for (int size = 4; size <= 64; size += 4) {
        if (!create(&batch, device, size, items) || !results_agree(&batch)) {
            fprintf(stderr, "batch_speed: results for size %d differ, or a plan failed\n", size);
            return 1;
        }
        measure(&batch);
        destroy(&batch);
    }
    return 0;
}
