/* SPDX-License-Identifier: Apache-2.0 */
/* block_queue.c - who takes which block, with times that the test makes up. */
#include "support/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "outofcore/block_queue.h"

enum { DEVICES_MAX = 16 };

/* Devices at work: how long a block takes each, and when the one that it has is done. */
typedef struct simulated_devices {
    rungi_block_queue queue;
    int count;
    double block_ns[DEVICES_MAX], end[DEVICES_MAX], now;
    int64_t held[DEVICES_MAX];
} simulated_devices_t;

static void take_worthwhile_blocks(simulated_devices_t *simulated)
{
    for (int i = 0; i < simulated->count; i++)
        simulated->queue.devices[i].remaining = simulated->held[i] >= 0
                                                    ? (simulated->end[i] - simulated->now) / simulated->block_ns[i]
                                                    : 0;
    for (int i = 0; i < simulated->count; i++)
        if (simulated->held[i] < 0 && simulated->queue.free_count > 0 &&
            rungi_block_queue_is_worth_taking(&simulated->queue, i)) {
            simulated->held[i] = rungi_block_queue_take(&simulated->queue, i);
            simulated->end[i] = simulated->now + simulated->block_ns[i];
        }
}

static void complete_next_block(simulated_devices_t *simulated)
{
    int soonest = -1;
    for (int i = 0; i < simulated->count; i++)
        if (simulated->held[i] >= 0 && (soonest < 0 || simulated->end[i] < simulated->end[soonest]))
            soonest = i;
    assert_true(soonest >= 0); /* somebody always takes what is free */
    simulated->now = simulated->end[soonest];
    rungi_block_queue_complete(&simulated->queue, soonest, simulated->held[soonest]);
    simulated->held[soonest] = -1;
}

/* When all blocks are done. */
static double simulate(const double *block_ns, int devices, int64_t blocks, int64_t *done)
{
    simulated_devices_t simulated = {.count = devices};
    assert_int_equal(rungi_block_queue_init(&simulated.queue, blocks, devices), RUNG_OK);
    for (int i = 0; i < devices; i++) {
        simulated.held[i] = -1;
        simulated.block_ns[i] = block_ns[i];
        simulated.queue.devices[i].done_work = 1; /* a speed that was seen */
        simulated.queue.devices[i].done_ns = block_ns[i];
    }
    while (!rungi_block_queue_is_complete(&simulated.queue)) {
        take_worthwhile_blocks(&simulated);
        complete_next_block(&simulated);
    }
    for (int i = 0; i < devices; i++)
        done[i] = simulated.queue.devices[i].blocks;
    rungi_block_queue_free(&simulated.queue);
    return simulated.now;
}

static void blocks_are_distributed_by_speed(void **state)
{
    int64_t done[3];
    (void)state;
    double end = simulate((double[]){100, 200, 400}, 3, 70, done);
    assert_in_range(done[0], 39, 41);
    assert_in_range(done[1], 19, 21);
    assert_in_range(done[2], 9, 11);
    assert_true(end <= 4000 + 400);
}

/* Left to itself, one that is 50 times slower would take a block, and be waited for. */
static void slow_device_leaves_the_last_block(void **state)
{
    int64_t done[2];
    (void)state;
    assert_true(simulate((double[]){10, 500}, 2, 20, done) <= 200);
    assert_int_equal(done[1], 0);
    simulate((double[]){10, 500}, 2, 500, done);
    assert_in_range(done[1], 9, 10);
}

static void never_slower_than_the_fastest_device_alone(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        int64_t done[4], blocks = 1 + unit_random(&seed, 60), sum = 0;
        double block_ns[4], fastest = 1e9;
        int devices = 1 + (int)unit_random(&seed, 4);
        for (int j = 0; j < devices; j++) {
            block_ns[j] = 1 + (double)unit_random(&seed, 1 << unit_random(&seed, 10));
            fastest = block_ns[j] < fastest ? block_ns[j] : fastest;
        }
        assert_true(simulate(block_ns, devices, blocks, done) <= fastest * (double)blocks + 1e-6);
        for (int j = 0; j < devices; j++)
            sum += done[j];
        assert_int_equal(sum, blocks);
    }
}

static void returned_blocks_are_taken_again(void **state)
{
    rungi_block_queue queue;
    (void)state;
    assert_int_equal(rungi_block_queue_init(&queue, 4, 2), RUNG_OK);
    rungi_block_queue_skip(&queue, 1);
    assert_int_equal(rungi_block_queue_take(&queue, 0), 0);
    assert_int_equal(rungi_block_queue_take(&queue, 1), 2);
    assert_int_equal(rungi_block_queue_take(&queue, 1), 3);
    rungi_block_queue_return(&queue, 0, 0, 1);
    rungi_block_queue_remove_device(&queue, 0);
    assert_int_equal(rungi_block_queue_take(&queue, 0), -1); /* it is out */
    assert_int_equal(rungi_block_queue_take(&queue, 1), 0);
    for (int64_t i = 0; i < 4; i++)
        if (i != 1)
            rungi_block_queue_complete(&queue, 1, i);
    assert_true(rungi_block_queue_is_complete(&queue));
    assert_int_equal(rungi_block_queue_take(&queue, 1), -1);
    assert_int_equal(queue.devices[1].blocks, 3);
    rungi_block_queue_free(&queue);
}

/* A block that was begun and would hold up the others is given up; one that would not is not. */
static void slow_block_is_returned_in_time(void **state)
{
    rungi_block_queue queue;
    (void)state;
    assert_int_equal(rungi_block_queue_init(&queue, 10, 2), RUNG_OK);
    assert_int_equal(rungi_block_queue_take(&queue, 0), 0);
    assert_int_equal(rungi_block_queue_take(&queue, 1), 1);
    assert_true(rungi_block_queue_add_progress(&queue, 1, 0.01, 1000, 0.99)); /* nothing is known of the other */
    assert_true(rungi_block_queue_add_progress(&queue, 0, 0.5, 10, 0.5));
    assert_false(rungi_block_queue_add_progress(&queue, 1, 0.01, 1000,
                                                0.98)); /* 98000 more, and the other needs some 200 for all */
    rungi_block_queue_return(&queue, 1, 1, 0.98);
    assert_true(rungi_block_queue_add_progress(&queue, 0, 0.25, 5, 0.25));
    rungi_block_queue_remove_device(&queue, 0);
    assert_int_equal(rungi_block_queue_take(&queue, 1), 1); /* there is nobody else any more */
    assert_true(rungi_block_queue_add_progress(&queue, 1, 0.01, 1000, 0.99));
    rungi_block_queue_stop(&queue);
    assert_int_equal(rungi_block_queue_take(&queue, 1), -1);
    rungi_block_queue_free(&queue);
}

static void *take_as_second_device(void *user)
{
    static int64_t taken;
    taken = rungi_block_queue_take(user, 1);
    return &taken;
}

/* It waits, and is let go when there is nothing left. */
static void too_slow_device_waits(void **state)
{
    struct timespec moment = {.tv_nsec = 50000000};
    rungi_block_queue queue;
    pthread_t thread;
    void *taken;
    (void)state;
    assert_int_equal(rungi_block_queue_init(&queue, 1, 2), RUNG_OK);
    queue.devices[0] = (rungi_block_queue_device){.done_work = 1, .done_ns = 10};
    queue.devices[1] = (rungi_block_queue_device){.done_work = 1, .done_ns = 1000};
    assert_int_equal(pthread_create(&thread, NULL, take_as_second_device, &queue), 0);
    nanosleep(&moment, NULL);
    pthread_mutex_lock(&queue.mutex);
    int64_t left = queue.free_count;
    pthread_mutex_unlock(&queue.mutex);
    assert_int_equal(left, 1);
    assert_int_equal(rungi_block_queue_take(&queue, 0), 0);
    rungi_block_queue_complete(&queue, 0, 0);
    pthread_join(thread, &taken);
    assert_int_equal(*(int64_t *)taken, -1);
    rungi_block_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_distributed_by_speed),
        cmocka_unit_test(slow_device_leaves_the_last_block),
        cmocka_unit_test(never_slower_than_the_fastest_device_alone),
        cmocka_unit_test(returned_blocks_are_taken_again),
        cmocka_unit_test(slow_block_is_returned_in_time),
        cmocka_unit_test(too_slow_device_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
