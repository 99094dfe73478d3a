/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - devices with memory of their own, of which little is given, and several at once: some slow, some that
 * fail. What they are told is seen by wrapping the public functions, so that faults are the same for every kind.
 *
 *     test_outofcore_devices opencl:0 opencl:1 */
#include "outofcore_unit.h"

#include <pthread.h>
#include <time.h>

enum { DEVICES_MAX = 8 };

static const char *names[DEVICES_MAX];
static int count; /* of the devices that were named, and behind them the CPU */
static rung_device *opened[DEVICES_MAX];

/* ---- What is wrapped ------------------------------------------------------------------------------------- */

rung_status __real_rung_queue_create(rung_device *device, rung_queue **queue);
rung_status __wrap_rung_queue_create(rung_device *device, rung_queue **queue);
rung_status __real_rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                 const rung_run_options *options);
rung_status __wrap_rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                 const rung_run_options *options);
rung_status __real_rung_buffer_create(rung_device *device, int64_t bytes, rung_buffer **buffer);
rung_status __wrap_rung_buffer_create(rung_device *device, int64_t bytes, rung_buffer **buffer);
rung_status __real_rung_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                     const void *from, const rung_run_options *options);
rung_status __wrap_rung_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                     const void *from, const rung_run_options *options);
rung_status __real_rung_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                    const rung_run_options *options);
rung_status __wrap_rung_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                    const rung_run_options *options);

typedef enum wrapped_call { RUNS, CREATES, WRITES, READS, CALLS } wrapped_call_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    rung_queue *queue;
    int device;
} queues[64];
static int queue_count;
static int fail_at[DEVICES_MAX][CALLS]; /* the call that fails, from 1 on; 0: none */
static int call_counts[DEVICES_MAX][CALLS];
static int64_t delay_ns[DEVICES_MAX]; /* before each multiply */
static int64_t allocated_bytes[DEVICES_MAX];

static int device_index(const rung_device *device)
{
    int i = 0;
    while (opened[i] != device)
        i++;
    return i;
}

static int device_of_queue(const rung_queue *queue)
{
    int device = -1;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < queue_count; i++) /* the last of that address */
        device = queues[i].queue == queue ? queues[i].device : device;
    pthread_mutex_unlock(&mutex);
    return device;
}

static bool fails(int device, wrapped_call_t call)
{
    pthread_mutex_lock(&mutex);
    bool now = ++call_counts[device][call] == fail_at[device][call];
    pthread_mutex_unlock(&mutex);
    return now;
}

rung_status __wrap_rung_queue_create(rung_device *device, rung_queue **queue)
{
    rung_status status = __real_rung_queue_create(device, queue);
    pthread_mutex_lock(&mutex);
    queues[queue_count].queue = *queue;
    queues[queue_count++].device = device_index(device);
    pthread_mutex_unlock(&mutex);
    return status;
}

rung_status __wrap_rung_plan_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                 const rung_run_options *options)
{
    int device = device_of_queue(queue);
    struct timespec rest = {.tv_nsec = delay_ns[device]};
    nanosleep(&rest, NULL);
    return fails(device, RUNS) ? rung_error_set(RUNG_STATUS_DEVICE_LOST, "planted in a run of %s", names[device])
                               : __real_rung_plan_run(plan, queue, problem, options);
}

rung_status __wrap_rung_buffer_create(rung_device *device, int64_t bytes, rung_buffer **buffer)
{
    *buffer = NULL;
    allocated_bytes[device_index(device)] += bytes;
    return fails(device_index(device), CREATES) ? rung_error_set(RUNG_STATUS_NO_MEMORY, "planted in a buffer")
                                                : __real_rung_buffer_create(device, bytes, buffer);
}

rung_status __wrap_rung_buffer_write(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                     const void *from, const rung_run_options *options)
{
    if (fails(device_of_queue(queue), WRITES))
        return rung_error_set(RUNG_STATUS_DEVICE_LOST, "planted in a write");
    return __real_rung_buffer_write(queue, buffer, offset, bytes, from, options);
}

rung_status __wrap_rung_buffer_read(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes, void *to,
                                    const rung_run_options *options)
{
    return fails(device_of_queue(queue), READS) ? rung_error_set(RUNG_STATUS_DEVICE_LOST, "planted in a read")
                                                : __real_rung_buffer_read(queue, buffer, offset, bytes, to, options);
}

static void reset_faults(void)
{
    queue_count = 0;
    memset(fail_at, 0, sizeof fail_at);
    memset(call_counts, 0, sizeof call_counts);
    memset(delay_ns, 0, sizeof delay_ns);
    memset(allocated_bytes, 0, sizeof allocated_bytes);
}

/* ---- Tests ------------------------------------------------------------------------------------------------- */

static const multiply_case_t shape = {.in = RUNG_F32, .out = RUNG_F32, .m = 160, .n = 160, .k = 96, .alpha = 1};

static void all_devices(test_devices_t *fleet, int64_t memory)
{
    fleet->count = count;
    for (int i = 0; i < count; i++) {
        fleet->devices[i] = opened[i];
        fleet->memory[i] = memory;
    }
}

static rung_outofcore_options options_for_devices(const test_devices_t *fleet)
{
    rung_outofcore_options options = rung_outofcore_options_default();
    options.devices = fleet->devices;
    options.device_memory_bytes = fleet->memory;
    options.device_count = fleet->count;
    return options;
}

/* A tenth of what the matrices have: the bytes that cross are those that the cut says, and within the bound. */
static void little_memory_of_a_device(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        multiply_case_t setting = {
            .in = RUNG_F32, .out = RUNG_F32, .m = 320, .n = 320, .k = 320, .alpha = 1, .in_files = i, .out_file = i};
        test_devices_t device = {{opened[0]}, {3 * 320 * 320 * 4 / 10}, 1};
        reset_faults();
        const rung_outofcore_report *report = multiply_and_check(&setting, &device);
        assert_int_equal(report->upload_bytes, report->blocking->read_bytes);
        assert_int_equal(report->download_bytes, report->blocking->written_bytes);
        assert_true((double)(report->upload_bytes + report->download_bytes) <= 1.25 * report->blocking->bound_bytes);
        assert_true(allocated_bytes[0] <= device.memory[0]);
        assert_string_equal(rung_outofcore_report_device(report, 0)->name, names[0]);
    }
}

static void types_and_orders_on_a_device(void **state)
{
    test_devices_t device = {{opened[0]}, {24000}, 1};
    (void)state;
    multiply_case_t setting = shape;
    reset_faults();
    setting.beta = 2;
    setting.a_by_columns = setting.b_by_columns = true;
    const rung_outofcore_report *report = multiply_and_check(&setting, &device);
    assert_int_equal(report->upload_bytes, report->blocking->read_bytes);
    reset_faults();
    setting.in = setting.out = RUNG_F16; /* sums are F32 there, and rounded here */
    setting.in_files = setting.out_file = true;
    multiply_and_check(&setting, &device);
}

/* A row of B, or of C, has three times the bytes of a staging buffer. */
static void lines_longer_than_a_staging_buffer(void **state)
{
    const multiply_case_t setting = {.in = RUNG_F32, .out = RUNG_F32, .m = 2, .n = 3 << 20, .k = 2, .alpha = 1};
    test_devices_t device = {{opened[0]}, {200 << 20}, 1};
    (void)state;
    if (strncmp(names[0], "cuda", 4) == 0)
        return; /* the emulator needs minutes for this problem */
    reset_faults();
    const rung_outofcore_report *report = multiply_and_check(&setting, &device);
    assert_int_equal(report->blocking->block_cols, setting.n);
}

/* All as slow as each other, so that each has its part. */
static void several_devices_at_once(void **state)
{
    test_devices_t devices;
    int64_t blocks = 0;
    (void)state;
    multiply_case_t setting = shape;
    setting.in_files = setting.out_file = true;
    all_devices(&devices, 12000);
    reset_faults();
    multiply_and_check(&setting, &devices); /* what must be compiled is compiled */
    reset_faults();
    for (int i = 0; i < count; i++)
        delay_ns[i] = 5000000;
    const rung_outofcore_report *report = multiply_and_check(&setting, &devices);
    for (int i = 0; i < count; i++) {
        assert_true(rung_outofcore_report_device(report, i)->blocks > 0);
        assert_string_equal(rung_outofcore_report_device(report, i)->failure, "");
        blocks += rung_outofcore_report_device(report, i)->blocks;
    }
    assert_int_equal(blocks, report->blocking->row_blocks * report->blocking->col_blocks);
    assert_true(blocks >= 4 * count);
}

/* One that is a hundred times slower has its block taken from it. */
static void slow_device_does_not_delay_others(void **state)
{
    test_devices_t devices;
    (void)state;
    all_devices(&devices, 12000);
    reset_faults();
    delay_ns[0] = 200000000;
    const rung_outofcore_report *report = multiply_and_check(&shape, &devices);
    assert_int_equal(rung_outofcore_report_device(report, 0)->blocks, 0);
    assert_true(report->seconds < 0.2 * (double)report->blocking->panels);
}

static void failed_device_returns_its_blocks(void **state)
{
    static const int at[] = {1, 5};
    test_devices_t devices;
    (void)state;
    all_devices(&devices, 12000);
    for (int call = 0; call < CALLS; call++)
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            multiply_case_t setting = shape;
            setting.out_file = setting.in_files = i % 2;
            reset_faults();
            for (int j = 1; j < count; j++)
                delay_ns[j] = 1000000; /* so that it comes to it */
            fail_at[0][call] = at[i];
            const rung_outofcore_report *report = multiply_and_check(&setting, &devices);
            bool has_failed = call_counts[0][call] >= at[i];
            assert_int_equal(has_failed, strstr(rung_outofcore_report_device(report, 0)->failure, "planted") != NULL);
            if (at[i] == 1)
                assert_true(has_failed);
        }
}

static void call_fails_if_all_devices_fail(void **state)
{
    test_devices_t devices;
    rung_matrix a = new_matrix(RUNG_F32, 60, 60, false), c = new_matrix(RUNG_F32, 60, 60, false);
    rung_outofcore_problem problem = rung_outofcore_problem_of(wrap_memory(a), wrap_memory(a));
    (void)state;
    all_devices(&devices, 4000);
    rung_outofcore_options options = options_for_devices(&devices);
    reset_faults();
    for (int i = 0; i < count; i++)
        fail_at[i][RUNS] = 1 + 3 * i;
    problem.path = result;
    unlink(result);
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_DEVICE_LOST);
    assert_non_null(strstr(rung_error_text(), "planted in a run of"));
    reset_faults();
    for (int i = 0; i < count; i++) { /* the last in the list is the first to fail */
        fail_at[i][RUNS] = 1;
        delay_ns[i] = i == count - 1 ? 0 : 300000000;
    }
    assert_int_equal(rung_outofcore_multiply(NULL, &problem, &options, NULL), RUNG_STATUS_DEVICE_LOST);
    assert_string_equal(rung_error_text(), "planted in a run of cpu");
    assert_false(file_exists("c.npy"));
    reset_faults();
    assert_ok(rung_outofcore_multiply(NULL, &problem, &options, NULL));
    free(a.data);
    free(c.data);
}

/* C in place, in memory: a block of which a part is out cannot be done again, and the call says so instead of adding to it twice. One
 * that fails before goes to the others. */
static void a_block_is_never_added_to_twice(void **state)
{
    test_devices_t devices;
    rung_matrix a = new_matrix(RUNG_F32, 160, 96, false), b = new_matrix(RUNG_F32, 96, 160, false);
    rung_matrix c = new_matrix(RUNG_F32, 160, 160, false), c0 = new_matrix(RUNG_F32, 160, 160, false);
    rung_outofcore_problem problem = rung_outofcore_problem_of(wrap_memory(a), wrap_memory(b));
    int completed = 0;
    (void)state;
    fill(&a, 1, 4);
    fill(&b, 2, 4);
    problem.c = wrap_memory(c); /* and no D: the result goes there */
    problem.beta = 2;
    all_devices(&devices, 12000);
    rung_outofcore_options options = options_for_devices(&devices);
    for (int call = 0; call < CALLS; call++)
        for (int at = 1; at < 12; at += 3) {
            reset_faults();
            fill(&c, 3, 4);
            fill(&c0, 3, 4);
            fail_at[0][call] = at;
            rung_status status = rung_outofcore_multiply(NULL, &problem, &options, NULL);
            assert_true(status == RUNG_OK || (status == RUNG_STATUS_DEVICE_LOST && call == READS));
            completed += status == RUNG_OK;
            if (status == RUNG_OK)
                check_product(&a, &b, &c, &c0, 1, 2);
        }
    assert_true(completed > 0);
    free(a.data);
    free(b.data);
    free(c.data);
    free(c0.data);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_memory_of_a_device),        cmocka_unit_test(types_and_orders_on_a_device),
        cmocka_unit_test(several_devices_at_once),          cmocka_unit_test(slow_device_does_not_delay_others),
        cmocka_unit_test(failed_device_returns_its_blocks), cmocka_unit_test(call_fails_if_all_devices_fail),
        cmocka_unit_test(a_block_is_never_added_to_twice),  cmocka_unit_test(lines_longer_than_a_staging_buffer),
    };
    for (int i = 0; i < count; i++)
        if (rung_device_open(NULL, names[i], &opened[i]) != RUNG_OK) {
            fprintf(stderr, "skipped: %s\n", rung_error_text());
            return UNIT_SKIPPED;
        }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < count; i++)
        rung_device_close(opened[i]);
    return failed;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc && count < DEVICES_MAX - 1; i++)
        names[count++] = argv[i];
    names[count++] = "cpu";
    return run_in_folder(run_all);
}
