/* SPDX-License-Identifier: Apache-2.0 */
/* C = A * B on an OpenCL device with two queues that are ordered by events only. */
#include <rung/rung.h>

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 200, K = 120, N = 150 };

#define A_BYTES ((int64_t)M * K * (int64_t)sizeof(float))
#define B_BYTES ((int64_t)K * N * (int64_t)sizeof(float))
#define C_BYTES ((int64_t)M * N * (int64_t)sizeof(float))

enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_SKIPPED = 77 };

typedef struct state {
    rung_context *context;
    rung_device_list *list;
    rung_device *device;
    rung_queue *queue1, *queue2;
    rung_event *a_uploaded, *b_uploaded, *multiplied, *c_downloaded;
    rung_buffer *a_buffer, *b_buffer, *c_buffer, *workspace;
    rung_plan *plan;
    float *a, *b, *c;
} state_t;

static int check(rung_status status, const char *call)
{
    if (status == RUNG_OK)
        return 1;
    fprintf(stderr, "%s failed: %s: %s\n", call, rung_status_name(status), rung_error_text());
    return 0;
}

#define TRY(call)                  \
    do {                           \
        if (!check((call), #call)) \
            return EXIT_WRONG;     \
    } while (0)

static const char *text_of(const char *text)
{
    return text != NULL ? text : "";
}

static void fill(float *values, int64_t count, uint32_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
        values[i] = (float)(seed >> 8) / 8388608.0f - 1.0f; /* -1 to 1 */
    }
}

/* Prints all devices. Returns the number of OpenCL devices that can be opened. */
static int64_t print_devices(const rung_device_list *list)
{
    int64_t usable = 0;
    int64_t count = rung_device_list_count(list);
    for (int64_t i = 0; i < count; i++) {
        const rung_device_info *info = rung_device_list_at(list, i);
        if (info == NULL)
            continue;
        const char *missing = text_of(info->missing);
        printf("%s: %s%s%s%s\n", text_of(info->name), text_of(info->title), missing[0] != 0 ? " (missing: " : "",
               missing, missing[0] != 0 ? ")" : "");
        if (strcmp(text_of(info->backend), "opencl") == 0 && missing[0] == 0)
            usable++;
    }
    return usable;
}

static void print_why_no_opencl(const rung_device_list *list)
{
    int found = 0;
    int64_t count = rung_device_list_count(list);
    for (int64_t i = 0; i < count; i++) {
        const rung_device_info *info = rung_device_list_at(list, i);
        if (info == NULL || strcmp(text_of(info->backend), "opencl") != 0)
            continue;
        printf("no OpenCL device: %s\n", text_of(info->missing));
        found = 1;
    }
    if (!found)
        printf("no OpenCL device: the device list has no entry for OpenCL\n");
}

static int compare(const float *a, const float *b, const float *c)
{
    const double tolerance = 1e-4 * K;
    int64_t wrong = 0;
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j++) {
            double sum = 0.0;
            for (int64_t l = 0; l < K; l++)
                sum += (double)a[i * K + l] * (double)b[l * N + j];
            double got = (double)c[i * N + j];
            if (!(fabs(got - sum) <= tolerance)) { /* also catches NaN */
                if (wrong < 10)
                    printf("C(%" PRId64 ", %" PRId64 ") is %.9g, expected %.9g\n", i, j, got, sum);
                wrong++;
            }
        }
    if (wrong != 0)
        printf("%" PRId64 " of %d elements differ by more than %g\n", wrong, M * N, tolerance);
    return wrong == 0;
}

static int run(state_t *s)
{
    TRY(rung_context_create(NULL, &s->context));

    TRY(rung_device_list_create(s->context, &s->list));
    if (print_devices(s->list) == 0) {
        print_why_no_opencl(s->list);
        return EXIT_SKIPPED;
    }

    TRY(rung_device_open(s->context, "opencl", &s->device));
    const rung_device_info *device_info = rung_device_describe(s->device);
    printf("opened %s: %s\n", text_of(device_info->name), text_of(device_info->title));

    s->a = malloc((size_t)A_BYTES);
    s->b = malloc((size_t)B_BYTES);
    s->c = malloc((size_t)C_BYTES);
    if (s->a == NULL || s->b == NULL || s->c == NULL) {
        fprintf(stderr, "out of memory\n");
        return EXIT_WRONG;
    }
    fill(s->a, (int64_t)M * K, 1);
    fill(s->b, (int64_t)K * N, 2);
    for (int64_t i = 0; i < (int64_t)M * N; i++)
        s->c[i] = NAN; /* a download that does not happen is noticed */

    TRY(rung_queue_create(s->device, &s->queue1));
    TRY(rung_queue_create(s->device, &s->queue2));
    TRY(rung_event_create(s->device, &s->a_uploaded));
    TRY(rung_event_create(s->device, &s->b_uploaded));
    TRY(rung_event_create(s->device, &s->multiplied));
    TRY(rung_event_create(s->device, &s->c_downloaded));
    TRY(rung_buffer_create(s->device, A_BYTES, &s->a_buffer));
    TRY(rung_buffer_create(s->device, B_BYTES, &s->b_buffer));
    TRY(rung_buffer_create(s->device, C_BYTES, &s->c_buffer));

    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, M, K, s->a_buffer, 0),
                                           rung_matrix_in_buffer(RUNG_F32, K, N, s->b_buffer, 0),
                                           rung_matrix_in_buffer(RUNG_F32, M, N, s->c_buffer, 0));
    TRY(rung_plan_create(s->device, &problem, NULL, &s->plan));
    const rung_plan_info *plan_info = rung_plan_describe(s->plan);
    printf("kernel %s, parameters \"%s\", workspace %" PRId64 " bytes\n", text_of(plan_info->kernel),
           text_of(plan_info->parameters), plan_info->workspace_bytes);
    if (plan_info->workspace_bytes > 0)
        TRY(rung_buffer_create(s->device, plan_info->workspace_bytes, &s->workspace));

    /* A on queue 1, B on queue 2. */
    rung_run_options upload_a = rung_run_options_default();
    upload_a.signal = s->a_uploaded;
    TRY(rung_buffer_write(s->queue1, s->a_buffer, 0, A_BYTES, s->a, &upload_a));

    rung_run_options upload_b = rung_run_options_default();
    upload_b.signal = s->b_uploaded;
    TRY(rung_buffer_write(s->queue2, s->b_buffer, 0, B_BYTES, s->b, &upload_b));

    /* The multiplication on queue 1, after both uploads. */
    rung_event *uploads[2] = {s->a_uploaded, s->b_uploaded};
    rung_run_options multiply = rung_run_options_default();
    multiply.wait = uploads;
    multiply.wait_count = 2;
    multiply.signal = s->multiplied;
    multiply.workspace = s->workspace;
    TRY(rung_plan_run(s->plan, s->queue1, &problem, &multiply));

    /* C on queue 2, after the multiplication. */
    rung_event *products[1] = {s->multiplied};
    rung_run_options download = rung_run_options_default();
    download.wait = products;
    download.wait_count = 1;
    download.signal = s->c_downloaded;
    TRY(rung_buffer_read(s->queue2, s->c_buffer, 0, C_BYTES, s->c, &download));

    TRY(rung_event_wait(s->c_downloaded));

    int64_t nanoseconds = 0;
    TRY(rung_event_time(s->multiplied, &nanoseconds));
    printf("multiplication: %.3f microseconds\n", (double)nanoseconds / 1000.0);

    /* Everything is done; this reports failures of the work, if there were any. */
    TRY(rung_queue_finish(s->queue1));
    TRY(rung_queue_finish(s->queue2));

    return compare(s->a, s->b, s->c) ? EXIT_RIGHT : EXIT_WRONG;
}

int main(void)
{
    state_t s;
    memset(&s, 0, sizeof s);

    int result = run(&s);

    /* After a failure, work may still use the memory. */
    if (s.queue1 != NULL && !check(rung_queue_finish(s.queue1), "rung_queue_finish(queue1)"))
        result = EXIT_WRONG;
    if (s.queue2 != NULL && !check(rung_queue_finish(s.queue2), "rung_queue_finish(queue2)"))
        result = EXIT_WRONG;

    rung_plan_destroy(s.plan);
    rung_event_destroy(s.c_downloaded);
    rung_event_destroy(s.multiplied);
    rung_event_destroy(s.b_uploaded);
    rung_event_destroy(s.a_uploaded);
    rung_queue_destroy(s.queue2);
    rung_queue_destroy(s.queue1);
    rung_buffer_destroy(s.workspace);
    rung_buffer_destroy(s.c_buffer);
    rung_buffer_destroy(s.b_buffer);
    rung_buffer_destroy(s.a_buffer);
    if (s.device != NULL)
        rung_device_close(s.device);
    rung_device_list_destroy(s.list);
    rung_context_destroy(s.context);
    free(s.c);
    free(s.b);
    free(s.a);

    if (result == EXIT_RIGHT)
        puts("ok");
    return result;
}
