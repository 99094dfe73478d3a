/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - contexts and what hangs on them: options, the log, and objects that
 * keep alive what they stand on, whatever the order in which they are destroyed. */
#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/aligned_memory.h"

/* ---- Options --------------------------------------------------------------------- */

static void *allocate(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    return rungi_aligned_allocate(alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes);
}

static void release(void *user, void *memory)
{
    (void)user;
    rungi_aligned_free(memory);
}

static void allocators_come_in_pairs(void **state)
{
    rung_context *context;
    (void)state;
    rung_context_options options = {.size = sizeof(rung_context_options), .allocate = allocate};
    assert_int_equal(rung_context_create(&options, &context), RUNG_STATUS_INVALID);
    assert_null(context);
    options = (rung_context_options){.size = sizeof(rung_context_options), .release = release};
    assert_int_equal(rung_context_create(&options, &context), RUNG_STATUS_INVALID);
    options.allocate = allocate;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    rung_context_destroy(context);
    assert_int_equal(rung_context_create(NULL, &context), RUNG_OK);
    rung_context_destroy(context);
    assert_int_equal(rung_context_create(NULL, NULL), RUNG_STATUS_INVALID);
}

/* One 2 x 2 multiply: 1 2 3 4 by itself is 7 10 15 22. */
static rung_status multiply(rung_context *context, float *c)
{
    static const float a[] = {1, 2, 3, 4};
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 2, a);
    return rung_gemm(context, 1.0, view, view, 0.0, rung_matrix_of(RUNG_F32, 2, 2, c));
}

static void assert_multiplies(rung_context *context)
{
    float c[4] = {0};
    assert_int_equal(multiply(context, c), RUNG_OK);
    assert_true(c[0] == 7 && c[1] == 10 && c[2] == 15 && c[3] == 22);
}

static rung_context *context_on(const char *device)
{
    rung_context *context;
    rung_context_options options = {.size = sizeof(rung_context_options), .device = device};
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    return context;
}

static void unknown_devices(void **state)
{
    const char *const names[] = {"abacus",
                                 "",
                                 ":",
                                 ":0",
                                 "cpu:",
                                 "cpu:x",
                                 "cpu:-1",
                                 "cpu:1",
                                 "cpu:0x",
                                 "CPU",
                                 "cpu ",
                                 "opencl:99999999999999999999",
                                 "a-name-longer-than-any-backend-has:0"};
    float c[4] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rung_context *context = context_on(names[i]);
        rung_device *device;
        assert_int_equal(multiply(context, c), RUNG_STATUS_NO_DEVICE);
        assert_true(strlen(rung_error_text()) > 10);
        assert_int_equal(rung_device_open(context, names[i], &device), RUNG_STATUS_NO_DEVICE);
        assert_null(device);
        rung_context_destroy(context);
    }
    rung_context *context = context_on("cpu:0");
    assert_multiplies(context);
    rung_context_destroy(context);

    char longer[200];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    rung_context_options options = {.size = sizeof(rung_context_options), .device = longer};
    assert_int_equal(rung_context_create(&options, &context), RUNG_STATUS_INVALID);
    assert_null(context);
}

static void the_environment_names_the_device(void **state)
{
    float c[4] = {0};
    (void)state;
    setenv("RUNG_DEVICE", "abacus", 1);
    rung_context *context = context_on(NULL);
    assert_int_equal(multiply(context, c), RUNG_STATUS_NO_DEVICE);
    assert_non_null(strstr(rung_error_text(), "abacus"));
    rung_context_destroy(context);
    context = context_on("cpu"); /* the option comes first */
    assert_multiplies(context);
    rung_context_destroy(context);
    setenv("RUNG_DEVICE", "", 1); /* empty is as good as unset */
    context = context_on(NULL);
    assert_multiplies(context);
    rung_context_destroy(context);
    unsetenv("RUNG_DEVICE");
}

/* ---- The log --------------------------------------------------------------------- */

typedef struct context_log {
    int count;
    char last[4096];
} context_log_t;

static void keep_line(void *user, const char *line)
{
    context_log_t *lines = user;
    lines->count++;
    snprintf(lines->last, sizeof lines->last, "%s", line);
}

static void log_one(int verbose, const char *environment, context_log_t *lines)
{
    rung_context *context;
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = "cpu", .verbose = verbose, .log = keep_line, .log_user = lines};
    memset(lines, 0, sizeof *lines);
    if (environment)
        setenv("RUNG_VERBOSE", environment, 1);
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    unsetenv("RUNG_VERBOSE");
    assert_multiplies(context);
    rung_context_destroy(context);
}

static void verbose_levels(void **state)
{
    context_log_t lines;
    (void)state;
    log_one(0, NULL, &lines);
    assert_int_equal(lines.count, 0);
    log_one(1, NULL, &lines);
    assert_int_equal(lines.count, 1);
    log_one(2, NULL, &lines);
    assert_true(lines.count >= 1);
    int most = lines.count;
    log_one(0, "9", &lines); /* as the highest level */
    assert_int_equal(lines.count, most);
    log_one(0, "1", &lines);
    assert_int_equal(lines.count, 1);
    log_one(0, "0", &lines);
    assert_int_equal(lines.count, 0);
    log_one(0, "", &lines);
    assert_int_equal(lines.count, 0);
    log_one(0, "yes", &lines);
    assert_int_equal(lines.count, 1);
    log_one(-1, "2", &lines); /* silent, whatever the environment says */
    assert_int_equal(lines.count, 0);
}

/* "--kernels NN_name", of the kernel that the library takes for that problem. */
static void kernel_option(char *text, size_t capacity)
{
    rung_device *device;
    rung_plan *plan;
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 2, NULL);
    rung_problem problem = rung_problem_of(view, view, view);
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    snprintf(text, capacity, "--kernels %s ", rung_plan_describe(plan)->kernel);
    rung_plan_destroy(plan);
    rung_device_close(device);
}

/* The line must bring the same problem back: every part of it is looked for. */
static void the_log_line_has_every_field(void **state)
{
    char kernel[80];
    const char *const parts[] = {"cpu",          kernel,
                                 "2x2x2",        "f32",
                                 " ms",          "again: rung verify",
                                 "--device cpu", "--m 2 --n 2 --k 2",
                                 "--dtype f32",  "--alpha 1 ",
                                 "--beta 0",     "rejected: "};
    context_log_t lines;
    (void)state;
    kernel_option(kernel, sizeof kernel);
    log_one(1, NULL, &lines);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(lines.last, parts[i]))
            fail_msg("\"%s\" does not say \"%s\"", lines.last, parts[i]);
    assert_null(strchr(lines.last, '\n'));
    assert_null(strstr(lines.last, "strides")); /* plain ones are not mentioned */
}

static void the_log_line_has_strides_and_scalars(void **state)
{
    context_log_t lines = {0};
    rung_context *context;
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = "cpu", .verbose = 1, .log = keep_line, .log_user = &lines};
    float a[6] = {0}, b[12] = {0}, c[32] = {0};
    (void)state;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    rung_matrix c_view = rung_matrix_block(rung_matrix_of(RUNG_F32, 4, 8, c), 1, 2, 2, 4);
    assert_int_equal(rung_gemm(context, 0.1, rung_matrix_of(RUNG_F32, 2, 3, a),
                               rung_matrix_transpose(rung_matrix_of(RUNG_F32, 4, 3, b)), -2.0, c_view),
                     RUNG_OK);
    assert_non_null(strstr(lines.last, "--m 2 --n 4 --k 3"));
    assert_null(strstr(lines.last, "--a-strides"));
    assert_non_null(strstr(lines.last, "--b-strides 1,3"));
    assert_non_null(strstr(lines.last, "--c-strides 8,1"));
    const char *alpha = strstr(lines.last, "--alpha "); /* to the last bit */
    assert_non_null(alpha);
    assert_true((float)strtod(alpha + 8, NULL) == 0.1f);
    assert_non_null(strstr(lines.last, "--beta -2;"));
    rung_context_destroy(context);
}

static void assert_logged(rung_context *context, const context_log_t *lines, const rung_problem *problem,
                          int64_t threads, const char *text)
{
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = threads;
    assert_int_equal(rung_multiply(context, problem, &options), RUNG_OK);
    if (!strstr(lines->last, text))
        fail_msg("\"%s\" does not say \"%s\"", lines->last, text);
}

/* Each option of `rung verify` that a problem needs, and no other. */
static void the_log_line_has_every_option(void **state)
{
    enum { SIDE = 256 };
    static float a[SIDE * SIDE], b[SIDE * SIDE], c[2 * SIDE * SIDE], extra[SIDE * SIDE];
    const int64_t offsets[] = {0, 16};
    context_log_t lines = {0};
    rung_context *context;
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = "cpu", .verbose = 1, .log = keep_line, .log_user = &lines};
    (void)state;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    const rung_problem plain = rung_problem_of(rung_matrix_of(RUNG_F32, 4, 4, a), rung_matrix_of(RUNG_F32, 4, 4, b),
                                               rung_matrix_of(RUNG_F32, 4, 4, c));
    assert_logged(context, &lines, &plain, 0, "--m 4 --n 4 --k 4 --alpha 1 --beta 0;");

    rung_problem problem = plain;
    problem.batch = 2;
    problem.a.batch_stride = problem.b.batch_stride = problem.c.batch_stride = 16;
    assert_logged(context, &lines, &problem, 0, "4x4x4 f32 batch 2 ");
    assert_non_null(
        strstr(lines.last, "--a-strides 4,1,0,16 --b-strides 4,1,0,16 --c-strides 4,1,0,16 --batch 2 --alpha"));
    problem.a.batch_offsets = problem.b.batch_offsets = problem.c.batch_offsets = offsets;
    assert_logged(context, &lines, &problem, 0, "--k 4 --batch 2 --scattered --alpha");

    problem = plain;
    problem.bias = rung_matrix_of(RUNG_F32, 4, 4, extra);
    assert_logged(context, &lines, &problem, 0, "--epilogue bias --alpha");
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 4, extra), 4, 4);
    problem.activation = RUNG_ACTIVATION_RELU;
    assert_logged(context, &lines, &problem, 0, "--epilogue bias_col,relu --alpha");
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 4, 1, extra), 4, 4);
    problem.residual = rung_matrix_of(RUNG_F32, 4, 4, extra);
    assert_logged(context, &lines, &problem, 0, "--epilogue bias_row,relu,residual --alpha");
    problem = plain;
    problem.residual = rung_matrix_of(RUNG_F32, 4, 4, extra);
    assert_logged(context, &lines, &problem, 0, "--epilogue residual --alpha");
    assert_null(strstr(lines.last, "multiplier"));
    problem = plain;
    problem.multiplier = rung_matrix_of(RUNG_F32, 4, 4, extra);
    assert_logged(context, &lines, &problem, 0, "4x4x4 f32 with multiplier ");

    problem = plain;
    problem.compute = RUNG_COMPUTE_BF16X3;
    assert_logged(context, &lines, &problem, 0, "4x4x4 f32 bf16x3 requested, ");
    assert_non_null(strstr(lines.last, " --compute bf16x3 --alpha"));

    problem = plain;
    problem.beta = 2;
    problem.d = rung_matrix_of(RUNG_F32, 4, 4, c + 64);
    problem.d.row_stride = 5;
    problem.d.offset = 3;
    assert_logged(context, &lines, &problem, 0, "--k 4 --d-strides 5,1,3,0 --alpha 1 --beta 2;");
    problem.c.row_stride = 6;
    problem.c.offset = 2;
    assert_logged(context, &lines, &problem, 0, "--c-strides 6,1,2 --d-strides 5,1,3,0 --alpha");

    problem = rung_problem_of(rung_matrix_of(RUNG_F32, SIDE, SIDE, a), rung_matrix_of(RUNG_F32, SIDE, SIDE, b),
                              rung_matrix_of(RUNG_F32, SIDE, SIDE, c));
    assert_logged(context, &lines, &problem, 2, " --threads 2 --alpha");
    assert_non_null(strstr(lines.last, "256x256x256 f32 2 threads "));
    assert_logged(context, &lines, &problem, 1, " --k 256 --alpha");
    rung_context_destroy(context);
}

/* A line is told when the queue is finished if not before, and none is lost when the
 * queue goes. */
static void lines_of_a_queue(void **state)
{
    context_log_t lines = {0};
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_plan *plan;
    rung_event *event;
    rung_context_options options = {
        .size = sizeof(rung_context_options), .verbose = 1, .log = keep_line, .log_user = &lines};
    float a[4] = {1, 2, 3, 4}, c[4] = {0};
    (void)state;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_event_create(device, &event), RUNG_OK);
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 2, a);
    rung_problem problem = rung_problem_of(view, view, rung_matrix_of(RUNG_F32, 2, 2, c));
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = event};
    for (int i = 0; i < 3; i++)
        assert_int_equal(rung_plan_run(plan, queue, &problem, &run), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    assert_int_equal(lines.count, 3);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    rung_queue_destroy(queue);
    assert_int_equal(lines.count, 4);
    int64_t time;
    assert_int_equal(rung_event_time(event, &time), RUNG_OK); /* signalled through the trace */
    assert_true(time > 0);
    rung_event_destroy(event);
    rung_plan_destroy(plan);
    rung_device_close(device);
    rung_context_destroy(context);
}

/* Without a log function the line goes to standard error, and nothing without one
 * asking for it. */
static int64_t bytes_on_standard_error(int verbose)
{
    FILE *file = tmpfile();
    rung_context *context;
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = verbose};
    assert_non_null(file);
    fflush(stderr);
    int saved = dup(2);
    dup2(fileno(file), 2);
    rung_status status = rung_context_create(&options, &context);
    float c[4];
    if (status == RUNG_OK)
        status = multiply(context, c);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    assert_int_equal(status, RUNG_OK);
    rung_context_destroy(context);
    int64_t bytes = lseek(fileno(file), 0, SEEK_END);
    fclose(file);
    return bytes;
}

static void nothing_is_logged_by_default(void **state)
{
    (void)state;
    assert_int_equal(bytes_on_standard_error(0), 0);
    assert_int_equal(bytes_on_standard_error(-1), 0);
    assert_true(bytes_on_standard_error(1) > 20);
}

/* ---- Lifetimes ------------------------------------------------------------------- */

typedef struct context_objects {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_buffer *buffer;
    rung_plan *plan;
    rung_event *event;
} context_objects_t;

enum { OBJECTS = 6 };

static void make_objects(context_objects_t *objects, const char *device)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
    assert_int_equal(rung_context_create(&options, &objects->context), RUNG_OK);
    assert_int_equal(rung_device_open(objects->context, device, &objects->device), RUNG_OK);
    assert_int_equal(rung_queue_create(objects->device, &objects->queue), RUNG_OK);
    assert_int_equal(rung_buffer_create(objects->device, 4096, &objects->buffer), RUNG_OK);
    assert_int_equal(rung_event_create(objects->device, &objects->event), RUNG_OK);
    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 4, 4, objects->buffer, 0),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, objects->buffer, 16),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, objects->buffer, 32));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = objects->event};
    assert_int_equal(rung_plan_create(objects->device, &problem, NULL, &objects->plan), RUNG_OK);
    assert_int_equal(rung_plan_run(objects->plan, objects->queue, &problem, &run), RUNG_OK);
}

static void destroy_object(context_objects_t *objects, int which)
{
    switch (which) {
    case 0: rung_context_destroy(objects->context); break;
    case 1: rung_device_close(objects->device); break;
    case 2: rung_queue_destroy(objects->queue); break;
    case 3: rung_buffer_destroy(objects->buffer); break;
    case 4: rung_plan_destroy(objects->plan); break;
    case 5: rung_event_destroy(objects->event); break;
    }
}

/* All 720 orders: `order` is a number in the factorial system. */
static void destroy_in_order(context_objects_t *objects, int order)
{
    int left[OBJECTS] = {0, 1, 2, 3, 4, 5};
    for (int count = OBJECTS; count > 0; count--) {
        int taken = order % count;
        order /= count;
        destroy_object(objects, left[taken]);
        memmove(left + taken, left + taken + 1, (size_t)(count - 1 - taken) * sizeof *left);
    }
}

static void any_destroy_order_works(void **state)
{
    (void)state;
    for (int order = 0; order < 720; order++) {
        context_objects_t objects;
        make_objects(&objects, "cpu");
        destroy_in_order(&objects, order);
    }
}

#ifdef RUNG_WITH_OPENCL
static void any_destroy_order_works_on_opencl(void **state)
{
    rung_device *device;
    (void)state;
    if (rung_device_open(NULL, "opencl", &device) != RUNG_OK)
        skip();
    rung_device_close(device);
    for (int order = 0; order < 720; order += 37) {
        context_objects_t objects;
        make_objects(&objects, "opencl");
        destroy_in_order(&objects, order);
    }
}
#endif

/* A plan uses its kernel long after it was made: the kernel must outlive the one
 * who found it, or not be taken. */
static void kernels_of_another_context(void **state)
{
    rung_context *mine = context_on("cpu"), *other = context_on("cpu");
    rung_device *device;
    rung_queue *queue;
    rung_kernel *kernel;
    rung_plan *plan;
    float a[4] = {1, 2, 3, 4}, c[4] = {0};
    (void)state;
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 2, a);
    rung_problem problem = rung_problem_of(view, view, rung_matrix_of(RUNG_F32, 2, 2, c));
    assert_int_equal(rung_device_open(mine, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_kernel_find(other, "cpu", "1", &kernel), RUNG_OK);
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
    rung_status status = rung_plan_create(device, &problem, &options, &plan);
    assert_int_equal(status, RUNG_STATUS_INVALID);
    assert_null(plan);
    rung_context_destroy(other);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(mine);
}

static void destroying_null_does_nothing(void **state)
{
    (void)state;
    rung_context_destroy(NULL);
    rung_device_close(NULL);
    rung_queue_destroy(NULL);
    rung_event_destroy(NULL);
    rung_buffer_destroy(NULL);
    rung_kernel_destroy(NULL);
    rung_plan_destroy(NULL);
    assert_null(rung_device_describe(NULL));
    assert_null(rung_device_context(NULL));
    assert_null(rung_kernel_describe(NULL));
    assert_null(rung_plan_describe(NULL));
    assert_null(rung_queue_native(NULL));
    assert_null(rung_event_native(NULL));
    assert_null(rung_buffer_native(NULL));
}

/* "A failed call leaves a created object NULL", also where an argument is missing:
 * callers destroy what they hold on any failure. */
static void failed_calls_leave_null(void **state)
{
    float memory;
    rung_device *device = (rung_device *)&memory;
    rung_queue *queue = (rung_queue *)&memory;
    rung_event *event = (rung_event *)&memory;
    rung_buffer *buffer = (rung_buffer *)&memory;
    rung_kernel *kernel = (rung_kernel *)&memory, *found = kernel, *read = kernel;
    rung_plan *plan = (rung_plan *)&memory;
    rung_device *wrapped = device;
    rung_queue *wrapped_queue = queue;
    rung_event *wrapped_event = event;
    rung_buffer *wrapped_buffer = buffer;
    (void)state;
    assert_int_equal(rung_device_open(NULL, "abacus", &device), RUNG_STATUS_NO_DEVICE);
    assert_int_equal(rung_device_wrap(NULL, NULL, NULL, NULL, &wrapped), RUNG_STATUS_INVALID);
    assert_int_equal(rung_queue_create(NULL, &queue), RUNG_STATUS_INVALID);
    assert_int_equal(rung_queue_wrap(NULL, NULL, &wrapped_queue), RUNG_STATUS_INVALID);
    assert_int_equal(rung_event_create(NULL, &event), RUNG_STATUS_INVALID);
    assert_int_equal(rung_event_wrap(NULL, NULL, &wrapped_event), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_create(NULL, 4, &buffer), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_wrap(NULL, NULL, 0, 4, &wrapped_buffer), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_at(NULL, NULL, 0, &kernel), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_find(NULL, NULL, NULL, &found), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_from_source(NULL, NULL, NULL, NULL, &read), RUNG_STATUS_INVALID);
    assert_int_equal(rung_plan_create(NULL, NULL, NULL, &plan), RUNG_STATUS_INVALID);
    const void *const left[] = {device, wrapped,        queue,  wrapped_queue, event, wrapped_event,
                                buffer, wrapped_buffer, kernel, found,         read,  plan};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        if (left[i])
            fail_msg("object %zu of the list was left as it was", i);
}

/* Waiting, reading a time and running have no result to leave NULL, and say what is missing. */
static void missing_arguments_are_refused(void **state)
{
    rung_context *context = context_on("cpu");
    rung_device *device;
    rung_queue *queue;
    rung_event *event;
    rung_plan *plan;
    rung_buffer *buffer;
    int64_t time;
    char memory[4];
    (void)state;
    assert_int_equal(rung_device_open(context, NULL, &device), RUNG_OK);
    assert_ptr_equal(rung_device_context(device), context);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_event_create(device, &event), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, 4, &buffer), RUNG_OK);
    rung_matrix view = rung_matrix_of(RUNG_F32, 1, 1, memory);
    rung_problem problem = rung_problem_of(view, view, view);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    const rung_status statuses[] = {
        rung_queue_finish(NULL),
        rung_event_wait(NULL),
        rung_event_time(NULL, &time),
        rung_event_time(event, NULL),
        rung_plan_run(NULL, queue, &problem, NULL),
        rung_plan_run(plan, NULL, &problem, NULL),
        rung_plan_run(plan, queue, NULL, NULL),
        rung_buffer_write(NULL, buffer, 0, 4, memory, NULL),
        rung_buffer_read(queue, NULL, 0, 4, memory, NULL),
        rung_plan_pack_b(NULL, queue, &view, buffer, NULL),
        rung_plan_pack_b(plan, NULL, &view, buffer, NULL),
        rung_plan_pack_b(plan, queue, NULL, buffer, NULL),
        rung_plan_pack_b(plan, queue, &view, NULL, NULL),
    };
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i] != RUNG_STATUS_INVALID)
            fail_msg("call %zu gave %s", i, rung_status_name(statuses[i]));
    rung_queue *wrapped_queue;
    rung_event *wrapped_event;
    assert_int_equal(rung_queue_wrap(device, NULL, &wrapped_queue), RUNG_STATUS_INVALID);
    assert_int_equal(rung_event_wrap(device, NULL, &wrapped_event), RUNG_STATUS_INVALID);
    rung_plan_destroy(plan);
    rung_buffer_destroy(buffer);
    rung_event_destroy(event);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
}

static void options_of_a_run_are_checked(void **state)
{
    rung_context *contexts[] = {context_on("cpu"), context_on("cpu")};
    rung_device *devices[2];
    rung_queue *queues[2];
    rung_event *events[2], *nothing = NULL;
    rung_buffer *buffer;
    char memory[16];
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rung_device_open(contexts[i], NULL, &devices[i]), RUNG_OK);
        assert_int_equal(rung_queue_create(devices[i], &queues[i]), RUNG_OK);
        assert_int_equal(rung_event_create(devices[i], &events[i]), RUNG_OK);
    }
    assert_int_equal(rung_buffer_create(devices[0], 16, &buffer), RUNG_OK);
    const rung_run_options usual = rung_run_options_default();
    rung_run_options wrong[8];
    for (int i = 0; i < 8; i++)
        wrong[i] = usual;
    wrong[0].wait_count = -1;
    wrong[1].wait_count = INT64_MAX;
    wrong[1].wait = &events[0];
    wrong[2].wait_count = 1;
    wrong[3].wait_count = 1;
    wrong[3].wait = &nothing;
    wrong[4].wait_count = 2; /* the second one is of another device */
    wrong[4].wait = events;
    wrong[5].signal = events[1];
    wrong[6].threads = -1;
    wrong[7].threads = 8193;
    for (int i = 0; i < 8; i++)
        assert_int_equal(rung_buffer_write(queues[0], buffer, 0, 16, memory, &wrong[i]), RUNG_STATUS_INVALID);
    rung_run_options right = usual;
    right.wait_count = 1;
    right.wait = events;
    right.signal = events[0];
    right.threads = 8192;
    assert_int_equal(rung_buffer_write(queues[0], buffer, 0, 16, memory, &right), RUNG_OK);
    assert_int_equal(rung_buffer_write(queues[1], buffer, 0, 16, memory, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "another device than the queue"));
    rung_buffer_destroy(buffer);
    for (int i = 0; i < 2; i++) {
        rung_event_destroy(events[i]);
        rung_queue_destroy(queues[i]);
        rung_device_close(devices[i]);
        rung_context_destroy(contexts[i]);
    }
}

/* ---- Calls during calls ---------------------------------------------------------- */

typedef struct nested_calls {
    rung_context *context;
    int left, made; /* calls that are still to be made, and those that were */
    int64_t live;
} nested_calls_t;

/* The caller's allocator multiplies, as another thread could at this moment. */
static void *allocate_and_multiply(void *user, size_t bytes, size_t alignment)
{
    nested_calls_t *calls = user;
    if (calls->context && calls->left > 0 && --calls->left == 0) {
        calls->made++;
        assert_multiplies(calls->context);
    }
    calls->live++;
    return allocate(NULL, bytes, alignment);
}

static void release_and_count(void *user, void *memory)
{
    ((nested_calls_t *)user)->live--;
    release(NULL, memory);
}

/* The first call finds that another one has loaded the backend, or opened the device, meanwhile: it must use that one,
 * and release its own. */
static void a_device_is_opened_twice_at_once(void **state)
{
    (void)state;
    for (int allocation = 1;; allocation++) {
        nested_calls_t calls = {.left = allocation};
        rung_context *context;
        rung_context_options options = {.size = sizeof options,
                                        .device = "cpu",
                                        .verbose = -1,
                                        .allocate = allocate_and_multiply,
                                        .release = release_and_count,
                                        .memory_user = &calls};
        assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
        calls.context = context;
        assert_multiplies(context);
        int made = calls.made;
        calls.context = NULL;
        rung_context_destroy(context);
        assert_int_equal(calls.live, 0);
        if (made == 0) { /* every allocation of the call had its turn */
            assert_true(allocation > 3);
            break;
        }
    }
}

/* ---- CPU queues, events, buffers ------------------------------------------------- */

static void copies_stay_inside(void **state)
{
    rung_context *context = context_on("cpu");
    rung_device *device;
    rung_queue *queue;
    rung_buffer *buffer, *nothing;
    char from[16] = "0123456789abcde", to[16] = "";
    (void)state;
    assert_int_equal(rung_device_open(context, NULL, &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, 16, &buffer), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, buffer, 0, 16, from, NULL), RUNG_OK);
    assert_int_equal(rung_buffer_read(queue, buffer, 5, 3, to + 1, NULL), RUNG_OK);
    assert_memory_equal(to,
                        "\0"
                        "567",
                        5);
    assert_int_equal(rung_buffer_write(queue, buffer, 16, 0, NULL, NULL), RUNG_OK);

    const int64_t outside[][2] = {{0, 17}, {16, 1},        {17, 0},        {-1, 1},
                                  {0, -1}, {1, INT64_MAX}, {INT64_MAX, 1}, {INT64_MIN, 1}};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        assert_int_equal(rung_buffer_write(queue, buffer, outside[i][0], outside[i][1], from, NULL),
                         RUNG_STATUS_INVALID);
        assert_int_equal(rung_buffer_read(queue, buffer, outside[i][0], outside[i][1], to, NULL), RUNG_STATUS_INVALID);
    }
    assert_int_equal(rung_buffer_write(queue, buffer, 0, 1, NULL, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_create(device, 0, &nothing), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, nothing, 0, 0, from, NULL), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, nothing, 0, 1, from, NULL), RUNG_STATUS_INVALID);
    rung_buffer_destroy(nothing);
    assert_int_equal(rung_buffer_create(device, -1, &nothing), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_wrap(device, from, INT64_MAX, 2, &nothing), RUNG_STATUS_INVALID);
    assert_int_equal(rung_buffer_wrap(device, from, -1, 2, &nothing), RUNG_STATUS_INVALID);
    rung_buffer_destroy(buffer);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
}

static void the_cpu_wraps_only_host_memory(void **state)
{
    rung_context *context = context_on("cpu");
    rung_device *device, *wrapped;
    rung_queue *queue;
    rung_event *event;
    rung_buffer *buffer;
    float memory[4];
    (void)state;
    assert_int_equal(rung_device_wrap(context, "cpu", memory, memory, &wrapped), RUNG_STATUS_UNSUPPORTED);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_wrap(device, memory, &queue), RUNG_STATUS_UNSUPPORTED);
    assert_int_equal(rung_event_wrap(device, memory, &event), RUNG_STATUS_UNSUPPORTED);
    assert_null(queue);
    assert_null(event);
    assert_int_equal(rung_buffer_wrap(device, memory, 4, 12, &buffer), RUNG_OK);
    assert_ptr_equal(rung_buffer_native(buffer), memory);
    rung_buffer_destroy(buffer);
    rung_device_close(device);
    rung_context_destroy(context);
}

/* Objects of two devices must not be mixed. */
static void devices_of_other_contexts_are_rejected(void **state)
{
    context_objects_t mine, other;
    float memory[16] = {0};
    (void)state;
    make_objects(&mine, "cpu");
    make_objects(&other, "cpu");
    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 4, 4, mine.buffer, 0),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, mine.buffer, 16),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, mine.buffer, 32));
    assert_int_equal(rung_plan_run(mine.plan, other.queue, &problem, NULL), RUNG_STATUS_INVALID);
    rung_problem foreign = problem;
    foreign.b.buffer = other.buffer;
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &foreign, NULL), RUNG_STATUS_INVALID);
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = other.event};
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, &run), RUNG_STATUS_INVALID);
    run = (rung_run_options){.size = sizeof(rung_run_options), .wait = &other.event, .wait_count = 1};
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, &run), RUNG_STATUS_INVALID);
    run = (rung_run_options){.size = sizeof(rung_run_options), .wait = NULL, .wait_count = 1};
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, &run), RUNG_STATUS_INVALID);
    rung_event *many[65];
    for (int i = 0; i < 65; i++)
        many[i] = mine.event;
    run = (rung_run_options){.size = sizeof(rung_run_options), .wait = many, .wait_count = 64};
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, &run), RUNG_OK);
    run.wait_count = 65;
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, &run), RUNG_STATUS_INVALID);
    run = (rung_run_options){.size = sizeof(rung_run_options), .wait = &mine.event, .wait_count = -1};
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, &run), RUNG_STATUS_INVALID);
    run = (rung_run_options){
        .size = sizeof(rung_run_options), .wait = &mine.event, .wait_count = 1, .signal = mine.event};
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, &run), RUNG_OK);
    assert_int_equal(rung_buffer_write(other.queue, mine.buffer, 0, 4, memory, NULL), RUNG_STATUS_INVALID);
    problem.a.row_stride = 5; /* another form than the plan's */
    assert_int_equal(rung_plan_run(mine.plan, mine.queue, &problem, NULL), RUNG_STATUS_INVALID);
    destroy_in_order(&mine, 0);
    destroy_in_order(&other, 719);
}

static void rung_gemm_rejects_buffers(void **state)
{
    context_objects_t objects;
    float memory[16] = {0};
    (void)state;
    make_objects(&objects, "cpu");
    rung_matrix view = rung_matrix_of(RUNG_F32, 4, 4, memory);
    assert_int_equal(
        rung_gemm(objects.context, 1.0, view, view, 0.0, rung_matrix_in_buffer(RUNG_F32, 4, 4, objects.buffer, 0)),
        RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "plan"));
    destroy_in_order(&objects, 0);
}

/* NaN where nothing is read must not come through, and k = 0 must clear C. */
static void unread_operands_are_not_accessed(void **state)
{
    const float nan = 0.0f / 0.0f;
    float a[4] = {nan, nan, nan, nan}, c[4] = {0, 1, 2, 3};
    (void)state;
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 2, a), out = rung_matrix_of(RUNG_F32, 2, 2, c);
    assert_int_equal(rung_gemm(NULL, 0.0, view, view, 2.0, out), RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == (float)(2 * i));
    for (int i = 0; i < 4; i++)
        a[i] = 1, c[i] = nan;
    assert_int_equal(rung_gemm(NULL, 3.0, view, view, 0.0, out), RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 6);
    assert_int_equal(
        rung_gemm(NULL, 1.0, rung_matrix_of(RUNG_F32, 2, 0, NULL), rung_matrix_of(RUNG_F32, 0, 2, NULL), 0.0, out),
        RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 0);
}

/* An alpha that the element type rounds to zero is zero, here as in the kernel. */
static void scalars_too_small_are_zero(void **state)
{
    const float nan = 0.0f / 0.0f;
    float a[4] = {nan, nan, nan, nan}, c[4] = {1, 2, 3, 4};
    (void)state;
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 2, a), out = rung_matrix_of(RUNG_F32, 2, 2, c);
    assert_int_equal(rung_gemm(NULL, 1e-60, view, view, 1.0, out), RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == (float)(i + 1));
    for (int i = 0; i < 4; i++)
        a[i] = 1, c[i] = nan;
    assert_int_equal(rung_gemm(NULL, 1.0, view, view, 1e-60, out), RUNG_OK);
    for (int i = 0; i < 4; i++)
        assert_true(c[i] == 2);
}

static void unsupported_types(void **state)
{
    double data[4] = {0}, c[4] = {0};
    (void)state;
    rung_matrix a = rung_matrix_of(RUNG_I8, 2, 2, data), b = rung_matrix_of(RUNG_F64, 2, 2, data);
    assert_int_equal(rung_gemm(NULL, 1.0, a, b, 0.0, rung_matrix_of(RUNG_F16, 2, 2, c)), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "i8 x f64 into f16"));
}

/* ---- The default context --------------------------------------------------------- */

/* One sentence that names the types and the products there are, not the refusal of each kernel. */
static void a_type_mismatch_is_one_sentence(void **state)
{
    static const struct {
        rung_type a, b, c;
        const char *sentence;
    } mismatches[] = {
        {RUNG_F32, RUNG_F64, RUNG_F32, "no kernel multiplies f32 x f64 into f32; supported types"},
        {RUNG_F32, RUNG_F32, RUNG_I32, "no kernel multiplies f32 x f32 into i32; supported types"},
        {RUNG_I8, RUNG_I8, RUNG_F64, "no kernel multiplies i8 x i8 into f64; supported types"},
    };
    double memory[12] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof mismatches / sizeof *mismatches; i++) {
        rung_matrix a = rung_matrix_of(mismatches[i].a, 2, 2, memory),
                    b = rung_matrix_of(mismatches[i].b, 2, 2, memory + 4);
        assert_int_equal(rung_gemm(NULL, 1.0, a, b, 0.0, rung_matrix_of(mismatches[i].c, 2, 2, memory + 8)),
                         RUNG_STATUS_UNSUPPORTED);
        const char *text = rung_error_text();
        assert_int_equal(strncmp(text, mismatches[i].sentence, strlen(mismatches[i].sentence)), 0);
        assert_non_null(strstr(text, ": f32, f32:f16, f32:bf16, f64, f64:f32, "));
        assert_null(strstr(text, "01_naive"));
        assert_true(strlen(text) < 400);
    }
}

static void null_is_the_default_context(void **state)
{
    rung_device *device;
    rung_device_list *list;
    (void)state;
    assert_multiplies(NULL);
    assert_multiplies(NULL);
    assert_int_equal(rung_device_open(NULL, NULL, &device), RUNG_OK);
    assert_string_equal(rung_device_describe(device)->name, "cpu");
    rung_device_close(device);
    assert_int_equal(rung_device_list_create(NULL, &list), RUNG_OK);
    assert_true(rung_device_list_count(list) >= 1);
    const rung_device_info *cpu = rung_device_list_at(list, 0);
    assert_string_equal(cpu->name, "cpu");
    assert_string_equal(cpu->missing, "");
    assert_true(cpu->compute_units > 0 && cpu->memory_bytes > 0);
    rung_device_list_destroy(list);
}

static void assert_texts(const rung_device_info *info)
{
    assert_true(info->name && *info->name && info->backend && *info->backend);
    assert_true(info->title && info->platform && info->driver && info->missing);
    assert_int_equal(strncmp(info->name, info->backend, strlen(info->backend)), 0);
}

/* Every backend is in the list, every text is set, and an index outside the list gives NULL. The list outlives the
 * caller's reference to its context. */
static void device_lists(void **state)
{
    rung_context *context;
    rung_device_list *list;
    (void)state;
    assert_int_equal(rung_context_create(NULL, &context), RUNG_OK);
    assert_int_equal(rung_device_list_create(context, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_device_list_create(context, &list), RUNG_OK);
    rung_context_destroy(context);
    int64_t count = rung_device_list_count(list), cpus = 0;
    for (int64_t i = 0; i < count; i++) {
        assert_texts(rung_device_list_at(list, i));
        cpus += strcmp(rung_device_list_at(list, i)->backend, "cpu") == 0;
    }
    assert_int_equal(cpus, 1);
    assert_null(rung_device_list_at(list, -1));
    assert_null(rung_device_list_at(list, count));
    assert_null(rung_device_list_at(list, INT64_MAX));
    rung_device_list_destroy(list);
    rung_device_list_destroy(NULL);
    assert_int_equal(rung_device_list_count(NULL), 0);
    assert_null(rung_device_list_at(NULL, 0));
#ifdef RUNG_WITH_OPENCL
    assert_true(count >= 2);
#endif
}

/* The dependencies of every backend, likewise; a failed call sets the list to NULL. */
static void dependency_lists(void **state)
{
    rung_context *context;
    rung_dependency_list *list;
    (void)state;
    assert_int_equal(rung_context_create(NULL, &context), RUNG_OK);
    assert_int_equal(rung_dependency_list_create(context, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_dependency_list_create(context, &list), RUNG_OK);
    rung_context_destroy(context);
    int64_t count = rung_dependency_list_count(list);
    assert_true(count >= 4); /* the vendor libraries of the CPU */
    for (int64_t i = 0; i < count; i++) {
        const rung_dependency *dependency = rung_dependency_list_at(list, i);
        assert_true(*dependency->backend && *dependency->name && *dependency->purpose && *dependency->install);
        assert_non_null(dependency->found);
    }
    assert_null(rung_dependency_list_at(list, -1));
    assert_null(rung_dependency_list_at(list, count));
    rung_dependency_list_destroy(list);
    rung_dependency_list_destroy(NULL);
    assert_int_equal(rung_dependency_list_count(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocators_come_in_pairs),
        cmocka_unit_test(unknown_devices),
        cmocka_unit_test(the_environment_names_the_device),
        cmocka_unit_test(verbose_levels),
        cmocka_unit_test(the_log_line_has_every_field),
        cmocka_unit_test(the_log_line_has_strides_and_scalars),
        cmocka_unit_test(the_log_line_has_every_option),
        cmocka_unit_test(lines_of_a_queue),
        cmocka_unit_test(nothing_is_logged_by_default),
        cmocka_unit_test(any_destroy_order_works),
#ifdef RUNG_WITH_OPENCL
        cmocka_unit_test(any_destroy_order_works_on_opencl),
#endif
        cmocka_unit_test(kernels_of_another_context),
        cmocka_unit_test(destroying_null_does_nothing),
        cmocka_unit_test(failed_calls_leave_null),
        cmocka_unit_test(missing_arguments_are_refused),
        cmocka_unit_test(options_of_a_run_are_checked),
        cmocka_unit_test(a_device_is_opened_twice_at_once),
        cmocka_unit_test(copies_stay_inside),
        cmocka_unit_test(the_cpu_wraps_only_host_memory),
        cmocka_unit_test(devices_of_other_contexts_are_rejected),
        cmocka_unit_test(rung_gemm_rejects_buffers),
        cmocka_unit_test(unread_operands_are_not_accessed),
        cmocka_unit_test(scalars_too_small_are_zero),
        cmocka_unit_test(unsupported_types),
        cmocka_unit_test(a_type_mismatch_is_one_sentence),
        cmocka_unit_test(null_is_the_default_context),
        cmocka_unit_test(device_lists),
        cmocka_unit_test(dependency_lists),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
