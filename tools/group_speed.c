/* SPDX-License-Identifier: Apache-2.0 */
/* group_speed.c - group_speed DEVICE THREADS N K TYPE [ROUNDS]: compares rung_group_multiply() with other ways to
 * multiply 64 experts whose m is drawn from 0 to 300. Prints one line: the median time of the group, and how much faster
 * the group is than a loop of rung_multiply() ("loop") and than one rung_multiply() with as many rows as all experts and
 * one B ("one"); "packed" is how much faster than that a group is whose B are packed, on the CPU. These are medians of the
 * ratios within a round. All run interleaved. The time is the CPU time of the process if THREADS is 1, and the elapsed time
 * otherwise. */
#define _GNU_SOURCE
#include <rung/rung.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXPERTS = 64, ROWS_MAX = 300, ROUNDS_MAX = 1000, GROUP = 0, LOOP, ONE, PACKED, WAYS };

typedef struct {
    rung_context *context;
    rung_multiply_options options;
    rung_problem problems[EXPERTS], one;
    char *a, *b, *c;
    rung_device *device; /* of the packed B */
    rung_queue *queue;
    rung_buffer *packed[EXPERTS];
} experts_t;

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int compare_numbers(const void *x, const void *y)
{
    const double first = *(const double *)x, second = *(const double *)y;
    return (first > second) - (first < second);
}

static double median_of(double *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, compare_numbers);
    return numbers[count / 2];
}

/* Small whole numbers of the type. */
static char *new_elements(rung_type type, int64_t count, unsigned seed)
{
    size_t size = (size_t)rung_type_size(type);
    char *elements = aligned_alloc(64, ((size_t)count * size + 64) / 64 * 64);
    for (int64_t i = 0; elements && i < count; i++) {
        float value = (float)((int)(((unsigned)i * 2654435761u + seed) >> 7 & 7) - 4);
        uint16_t half = type == RUNG_F16 ? rung_f16_from_f32(value) : rung_bf16_from_f32(value);
        memcpy(elements + (size_t)i * size, size == 2 ? (const void *)&half : (const void *)&value, size);
    }
    return elements;
}

static bool create(experts_t *experts, rung_type type, int64_t n, int64_t k)
{
    int64_t rows[EXPERTS], all_rows = 0, first = 0, size = rung_type_size(type);
    unsigned seed = 1;
    for (int i = 0; i < EXPERTS; i++) {
        seed = seed * 1664525u + 1013904223u;
        rows[i] = (int64_t)(seed >> 8) % (ROWS_MAX + 1);
        all_rows += rows[i];
    }
    experts->a = new_elements(type, all_rows * k, 1);
    experts->b = new_elements(type, EXPERTS * k * n, 99);
    experts->c = new_elements(type, all_rows * n, 5);
    if (!experts->a || !experts->b || !experts->c)
        return false;
    for (int i = 0; i < EXPERTS; first += rows[i++])
        experts->problems[i] = rung_problem_of(rung_matrix_of(type, rows[i], k, experts->a + first * k * size),
                                               rung_matrix_of(type, k, n, experts->b + i * k * n * size),
                                               rung_matrix_of(type, rows[i], n, experts->c + first * n * size));
    experts->one = rung_problem_of(rung_matrix_of(type, all_rows, k, experts->a),
                                   rung_matrix_of(type, k, n, experts->b),
                                   rung_matrix_of(type, all_rows, n, experts->c));
    return true;
}

/* Packs the B of one expert. */
static rung_status pack(experts_t *experts, int expert)
{
    const rung_problem *problem = &experts->problems[expert];
    rung_plan *plan = NULL;
    rung_plan_options options = rung_plan_options_default();
    options.packed_b = 1;
    rung_status status = rung_plan_create(experts->device, problem, &options, &plan);
    if (status == RUNG_OK)
        status = rung_buffer_create(experts->device, rung_plan_describe(plan)->packed_b_bytes,
                                    &experts->packed[expert]);
    if (status == RUNG_OK)
        status = rung_plan_pack_b(plan, experts->queue, &problem->b, experts->packed[expert], NULL);
    rung_plan_destroy(plan);
    return status;
}

static bool pack_all(experts_t *experts)
{
    bool is_packed = rung_device_open(experts->context, "cpu", &experts->device) == RUNG_OK &&
                     rung_queue_create(experts->device, &experts->queue) == RUNG_OK;
    for (int i = 0; i < EXPERTS && is_packed; i++)
        is_packed = pack(experts, i) == RUNG_OK;
    return is_packed;
}

static void destroy(experts_t *experts)
{
    for (int i = 0; i < EXPERTS; i++)
        rung_buffer_destroy(experts->packed[i]);
    rung_queue_destroy(experts->queue);
    rung_device_close(experts->device);
    rung_context_destroy(experts->context);
    free(experts->a);
    free(experts->b);
    free(experts->c);
}

static rung_status run(experts_t *experts, int way)
{
    rung_status status = RUNG_OK;
    rung_group group = rung_group_of(experts->problems, EXPERTS);
    if (way == PACKED)
        group.packed_b = experts->packed;
    if (way == GROUP || way == PACKED)
        return rung_group_multiply(experts->context, &group, &experts->options);
    if (way == ONE)
        return rung_multiply(experts->context, &experts->one, &experts->options);
    for (int i = 0; i < EXPERTS && status == RUNG_OK; i++)
        status = rung_multiply(experts->context, &experts->problems[i], &experts->options);
    return status;
}

/* Times each way once per round. */
static bool measure(experts_t *experts, int rounds, double times[WAYS][ROUNDS_MAX])
{
    clockid_t clock = experts->options.threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    for (int round = -1; round < rounds; round++) /* the first round warms up */
        for (int way = 0; way < (experts->device ? WAYS : PACKED); way++) {
            double start = now_ns(clock);
            if (run(experts, way) != RUNG_OK)
                return false;
            if (round >= 0)
                times[way][round] = now_ns(clock) - start;
        }
    return true;
}

static void print_line(char **words, double times[WAYS][ROUNDS_MAX], int rounds, bool has_packed)
{
    double loop[ROUNDS_MAX], one[ROUNDS_MAX], packed[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++) {
        loop[i] = times[LOOP][i] / times[GROUP][i];
        one[i] = times[ONE][i] / times[GROUP][i];
        packed[i] = has_packed ? times[ONE][i] / times[PACKED][i] : 0;
    }
    printf("%-8s %7s %5s %5s %5s %10.2f %6.2f %6.2f", words[1], words[2], words[3], words[4], words[5],
           median_of(times[GROUP], rounds) / 1e6, median_of(loop, rounds), median_of(one, rounds));
    printf(has_packed ? " %6.2f\n" : "      -\n", median_of(packed, rounds));
}

int main(int count, char **words)
{
    static double times[WAYS][ROUNDS_MAX];
    static experts_t experts;
    rung_context_options options = rung_context_options_default();
    int rounds = count > 6 ? atoi(words[6]) : 15;
    if (count == 2 && strcmp(words[1], "--heading") == 0)
        return printf("%-8s %7s %5s %5s %5s %10s %6s %6s %6s\n", "device", "threads", "n", "k", "type", "group, ms",
                      "loop", "one", "packed") < 0;
    if (count < 6 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: group_speed DEVICE THREADS N K f32|f16|bf16 [ROUNDS], or group_speed --heading\n");
        return 2;
    }
    options.device = words[1];
    experts.options = rung_multiply_options_default();
    experts.options.threads = atoi(words[2]);
    rung_type type = strcmp(words[5], "bf16") == 0 ? RUNG_BF16 : strcmp(words[5], "f16") == 0 ? RUNG_F16 : RUNG_F32;
    if (rung_context_create(&options, &experts.context) != RUNG_OK ||
        !create(&experts, type, atoi(words[3]), atoi(words[4])) ||
        (strcmp(words[1], "cpu") == 0 && !pack_all(&experts)) || !measure(&experts, rounds, times)) {
        fprintf(stderr, "group_speed: %s\n", rung_error_text());
        return 1;
    }
    print_line(words, times, rounds, experts.device != NULL);
    destroy(&experts);
    return 0;
}
