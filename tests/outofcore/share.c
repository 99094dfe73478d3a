/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - who takes which block, with times that the test makes up. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "outofcore/share.h"

enum { DEVICES_MAX = 16 };

/* Devices at work: how long a block takes each, and when the one that it has is done. */
typedef struct fleet {
    rungi_share share;
    int count;
    double need[DEVICES_MAX], end[DEVICES_MAX], now;
    int64_t held[DEVICES_MAX];
} fleet_t;

static void take_what_is_worth_it(fleet_t *fleet)
{
    for (int i = 0; i < fleet->count; i++)
        fleet->share.sharers[i].left = fleet->held[i] >= 0 ? (fleet->end[i] - fleet->now) / fleet->need[i] : 0;
    for (int i = 0; i < fleet->count; i++)
        if (fleet->held[i] < 0 && fleet->share.free > 0 && rungi_share_is_worth(&fleet->share, i)) {
            fleet->held[i] = rungi_share_take(&fleet->share, i);
            fleet->end[i] = fleet->now + fleet->need[i];
        }
}

static void finish_the_next(fleet_t *fleet)
{
    int soonest = -1;
    for (int i = 0; i < fleet->count; i++)
        if (fleet->held[i] >= 0 && (soonest < 0 || fleet->end[i] < fleet->end[soonest]))
            soonest = i;
    assert_true(soonest >= 0); /* somebody always takes what is free */
    fleet->now = fleet->end[soonest];
    rungi_share_done(&fleet->share, soonest, fleet->held[soonest]);
    fleet->held[soonest] = -1;
}

/* When all blocks are done. */
static double simulate(const double *need, int devices, int64_t blocks, int64_t *done)
{
    fleet_t fleet = {.count = devices};
    assert_int_equal(rungi_share_init(&fleet.share, blocks, devices), RUNG_OK);
    for (int i = 0; i < devices; i++) {
        fleet.held[i] = -1;
        fleet.need[i] = need[i];
        fleet.share.sharers[i].work = 1; /* a speed that was seen */
        fleet.share.sharers[i].ns = need[i];
    }
    while (!rungi_share_is_complete(&fleet.share)) {
        take_what_is_worth_it(&fleet);
        finish_the_next(&fleet);
    }
    for (int i = 0; i < devices; i++)
        done[i] = fleet.share.sharers[i].blocks;
    rungi_share_free(&fleet.share);
    return fleet.now;
}

static void blocks_go_by_speed(void **state)
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
static void a_slow_one_leaves_the_last(void **state)
{
    int64_t done[2];
    (void)state;
    assert_true(simulate((double[]){10, 500}, 2, 20, done) <= 200);
    assert_int_equal(done[1], 0);
    simulate((double[]){10, 500}, 2, 500, done);
    assert_in_range(done[1], 9, 10);
}

static void never_later_than_the_fastest_alone(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int i = 0; i < 2000; i++) {
        int64_t done[4], blocks = 1 + unit_random(&seed, 60), sum = 0;
        double need[4], fastest = 1e9;
        int devices = 1 + (int)unit_random(&seed, 4);
        for (int j = 0; j < devices; j++) {
            need[j] = 1 + (double)unit_random(&seed, 1 << unit_random(&seed, 10));
            fastest = need[j] < fastest ? need[j] : fastest;
        }
        assert_true(simulate(need, devices, blocks, done) <= fastest * (double)blocks + 1e-6);
        for (int j = 0; j < devices; j++)
            sum += done[j];
        assert_int_equal(sum, blocks);
    }
}

static void what_is_given_back_is_taken_again(void **state)
{
    rungi_share share;
    (void)state;
    assert_int_equal(rungi_share_init(&share, 4, 2), RUNG_OK);
    rungi_share_skip(&share, 1);
    assert_int_equal(rungi_share_take(&share, 0), 0);
    assert_int_equal(rungi_share_take(&share, 1), 2);
    assert_int_equal(rungi_share_take(&share, 1), 3);
    rungi_share_give_back(&share, 0, 0, 1);
    rungi_share_leave(&share, 0);
    assert_int_equal(rungi_share_take(&share, 0), -1); /* it is out */
    assert_int_equal(rungi_share_take(&share, 1), 0);
    for (int64_t i = 0; i < 4; i++)
        if (i != 1)
            rungi_share_done(&share, 1, i);
    assert_true(rungi_share_is_complete(&share));
    assert_int_equal(rungi_share_take(&share, 1), -1);
    assert_int_equal(share.sharers[1].blocks, 3);
    rungi_share_free(&share);
}

/* A block that was begun and would hold up the others is given up; one that would not is not. */
static void a_block_is_given_up_in_time(void **state)
{
    rungi_share share;
    (void)state;
    assert_int_equal(rungi_share_init(&share, 10, 2), RUNG_OK);
    assert_int_equal(rungi_share_take(&share, 0), 0);
    assert_int_equal(rungi_share_take(&share, 1), 1);
    assert_true(rungi_share_step(&share, 1, 0.01, 1000, 0.99)); /* nothing is known of the other */
    assert_true(rungi_share_step(&share, 0, 0.5, 10, 0.5));
    assert_false(rungi_share_step(&share, 1, 0.01, 1000, 0.98)); /* 98000 more, and the other needs some 200 for all */
    rungi_share_give_back(&share, 1, 1, 0.98);
    assert_true(rungi_share_step(&share, 0, 0.25, 5, 0.25));
    rungi_share_leave(&share, 0);
    assert_int_equal(rungi_share_take(&share, 1), 1); /* there is nobody else any more */
    assert_true(rungi_share_step(&share, 1, 0.01, 1000, 0.99));
    rungi_share_stop(&share);
    assert_int_equal(rungi_share_take(&share, 1), -1);
    rungi_share_free(&share);
}

static void *take_as_second(void *user)
{
    static int64_t taken;
    taken = rungi_share_take(user, 1);
    return &taken;
}

/* It waits, and is let go when there is nothing left. */
static void one_that_is_too_slow_waits(void **state)
{
    struct timespec moment = {.tv_nsec = 50000000};
    rungi_share share;
    pthread_t thread;
    void *taken;
    (void)state;
    assert_int_equal(rungi_share_init(&share, 1, 2), RUNG_OK);
    share.sharers[0] = (rungi_sharer){.work = 1, .ns = 10};
    share.sharers[1] = (rungi_sharer){.work = 1, .ns = 1000};
    assert_int_equal(pthread_create(&thread, NULL, take_as_second, &share), 0);
    nanosleep(&moment, NULL);
    pthread_mutex_lock(&share.mutex);
    int64_t left = share.free;
    pthread_mutex_unlock(&share.mutex);
    assert_int_equal(left, 1);
    assert_int_equal(rungi_share_take(&share, 0), 0);
    rungi_share_done(&share, 0, 0);
    pthread_join(thread, &taken);
    assert_int_equal(*(int64_t *)taken, -1);
    rungi_share_free(&share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_go_by_speed),
        cmocka_unit_test(a_slow_one_leaves_the_last),
        cmocka_unit_test(never_later_than_the_fastest_alone),
        cmocka_unit_test(what_is_given_back_is_taken_again),
        cmocka_unit_test(a_block_is_given_up_in_time),
        cmocka_unit_test(one_that_is_too_slow_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
