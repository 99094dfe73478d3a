/* SPDX-License-Identifier: Apache-2.0 */
/* processors.c - how many processors a process may use: its affinity, also on machines that a
 * cpu_set_t is too small for, and the quotas of control groups, which stand in folders made here. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "support/fake_root.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "cpu/threads/pool.h"

/* ---- Affinity --------------------------------------------------------------------- */

static size_t machine_bytes; /* that the kernel below wants, and */
static int machine_count;    /* how many processors are in its set */
static int calls;

static int fake_affinity(size_t bytes, void *set)
{
    calls++;
    if (bytes < machine_bytes) {
        errno = EINVAL;
        return -1;
    }
    memset(set, 0, bytes);
    for (int i = 0; i < machine_count; i++)
        CPU_SET_S((size_t)i, bytes, (cpu_set_t *)set);
    return 0;
}

static int no_affinity(size_t bytes, void *set)
{
    (void)bytes;
    (void)set;
    calls++;
    errno = ENOSYS;
    return -1;
}

static int64_t allowed(size_t bytes, int count)
{
    machine_bytes = bytes;
    machine_count = count;
    calls = 0;
    return rungi_processors_in_affinity(fake_affinity);
}

static void more_cpus_than_cpu_set_t(void **state)
{
    (void)state;
    assert_int_equal(allowed(8, 3), 3);
    assert_int_equal(allowed(128, 1024), 1024);
    assert_int_equal(calls, 1);
    assert_int_equal(allowed(136, 1088), 1088); /* of 1088 processors: one bit more than fits */
    assert_int_equal(calls, 2);
    assert_int_equal(allowed(1024, 8192), 8192);
    assert_int_equal(allowed(1 << 30, 1), 0); /* asked for more and more, but not for ever */
    assert_true(calls < 20);
    calls = 0;
    assert_int_equal(rungi_processors_in_affinity(no_affinity), 0);
    assert_int_equal(calls, 1);
}

static void *count_pinned(void *user)
{
    cpu_set_t one, all;
    int64_t *count = user;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET((size_t)i, &all))
            CPU_SET((size_t)i, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0)
        *count = rungi_processors_count();
    return NULL;
}

/* In a thread of its own, which takes its affinity with it. */
static void affinity_counts(void **state)
{
    pthread_t thread;
    int64_t count = -1;
    cpu_set_t all;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    assert_in_range(rungi_processors_count(), 1, CPU_COUNT(&all));
    assert_int_equal(pthread_create(&thread, NULL, count_pinned, &count), 0);
    pthread_join(thread, NULL);
    assert_int_equal(count, 1);
}

/* What a device tells, and what a context takes. */
static void *open_pinned(void *user)
{
    int64_t pinned = -1;
    int64_t *compute_units = user;
    rung_context *context;
    rung_device *device;
    count_pinned(&pinned);
    if (rung_context_create(NULL, &context) == RUNG_OK && rung_device_open(context, "cpu", &device) == RUNG_OK) {
        *compute_units = rung_device_describe(device)->compute_units;
        rung_device_close(device);
    }
    rung_context_destroy(context);
    return NULL;
}

static void the_device_reports_it(void **state)
{
    rung_device_list *list;
    int64_t compute_units = -1;
    pthread_t thread;
    (void)state;
    assert_int_equal(rung_device_list_create(NULL, &list), RUNG_OK);
    assert_string_equal(rung_device_list_at(list, 0)->name, "cpu");
    assert_int_equal(rung_device_list_at(list, 0)->compute_units, rungi_processors_count());
    rung_device_list_destroy(list);
    assert_int_equal(pthread_create(&thread, NULL, open_pinned, &compute_units), 0);
    pthread_join(thread, NULL);
    assert_int_equal(compute_units, 1);
}

/* What a context reports before and after its thread is restricted to one processor, as by a change of its cpuset, and what
 * a new context reports then. */
typedef struct changed_limit {
    int64_t before, after, in_new_context;
} changed_limit_t;

static int64_t units_of(rung_context *context)
{
    rung_device *device;
    if (rung_device_open(context, "cpu", &device) != RUNG_OK)
        return -1;
    int64_t units = rung_device_describe(device)->compute_units;
    rung_device_close(device);
    return units;
}

static void *change_limit(void *user)
{
    changed_limit_t *units = user;
    int64_t pinned = -1;
    rung_context *context;
    if (rung_context_create(NULL, &context) != RUNG_OK)
        return NULL;
    units->before = units_of(context);
    count_pinned(&pinned);
    units->after = units_of(context);
    open_pinned(&units->in_new_context);
    rung_context_destroy(context);
    return NULL;
}

/* docs/guides/cpu-threads.md says so. */
static void contexts_keep_their_number(void **state)
{
    changed_limit_t units = {-1, -1, -1};
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, change_limit, &units), 0);
    pthread_join(thread, NULL);
    assert_int_equal(units.before, rungi_processors_count());
    assert_int_equal(units.after, units.before);
    assert_int_equal(units.in_new_context, 1);
}

/* ---- Control groups ---------------------------------------------------------------- */

static int64_t quota(void)
{
    return rungi_processors_in_cgroup_quota(fake_root);
}

#define V2 "/sys/fs/cgroup"
#define SELF "/proc/self/cgroup"

static void version_2(void **state)
{
    (void)state;
    fake_root_clear();
    assert_int_equal(quota(), 0); /* no such system */
    fake_root_write(SELF, "0::/user/session\n");
    assert_int_equal(quota(), 0);
    fake_root_write(V2 "/user/session/cpu.max", "max 100000\n");
    assert_int_equal(quota(), 0);
    fake_root_write(V2 "/user/session/cpu.max", "400000 100000\n");
    assert_int_equal(quota(), 4);
    fake_root_write(V2 "/user/session/cpu.max", "400001 100000\n");
    assert_int_equal(quota(), 5); /* rounded up */
    fake_root_write(V2 "/user/session/cpu.max", "1000 100000\n");
    assert_int_equal(quota(), 1);
    fake_root_write(V2 "/user/session/cpu.max", "150000 50000\n");
    assert_int_equal(quota(), 3);
}

/* Every group on the way counts, the root too, which is a container's own. */
static void parent_cgroups(void **state)
{
    (void)state;
    fake_root_clear();
    fake_root_write(SELF, "0::/a/b/c\n");
    fake_root_write(V2 "/a/b/c/cpu.max", "900000 100000\n");
    assert_int_equal(quota(), 9);
    fake_root_write(V2 "/a/b/cpu.max", "max 100000\n");
    fake_root_write(V2 "/a/cpu.max", "300000 100000\n");
    assert_int_equal(quota(), 3);
    fake_root_write(V2 "/cpu.max", "200000 100000\n");
    assert_int_equal(quota(), 2);
    fake_root_write(V2 "/a/x/cpu.max", "100000 100000\n"); /* beside the way */
    assert_int_equal(quota(), 2);
    fake_root_write(SELF, "0::/nowhere/here/at-all\n"); /* a path of the machine outside */
    assert_int_equal(quota(), 2);
    fake_root_write(SELF, "0::/../../outside\n"); /* of this name space: not ours to follow */
    fake_root_write("/sys/outside/cpu.max", "100000 100000\n");
    assert_int_equal(quota(), 2);
    fake_root_write(SELF, "0::/\n");
    assert_int_equal(quota(), 2);
    fake_root_write(SELF, "0::/a:b c\n"); /* names may have colons and spaces */
    fake_root_write(V2 "/a:b c/cpu.max", "100000 100000\n");
    assert_int_equal(quota(), 1);
}

static void version_1(void **state)
{
    (void)state;
    fake_root_clear();
    fake_root_write(SELF, "12:cpuset:/z\n5:memory:/z\n4:cpuacct,cpu:/docker/x\n1:name=systemd:/y\n");
    fake_root_write(V2 "/cpuset/z/cpu.cfs_quota_us", "100000\n"); /* other controllers do not count */
    fake_root_write(V2 "/cpuset/z/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(), 0);
    fake_root_write(V2 "/cpuacct,cpu/docker/x/cpu.cfs_quota_us", "-1\n");
    fake_root_write(V2 "/cpuacct,cpu/docker/x/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(), 0);
    fake_root_write(V2 "/cpuacct,cpu/docker/x/cpu.cfs_quota_us", "650000\n");
    assert_int_equal(quota(), 7);
    fake_root_write(V2 "/cpuacct,cpu/docker/cpu.cfs_quota_us", "250000\n"); /* half told is not told */
    assert_int_equal(quota(), 7);
    fake_root_write(V2 "/cpuacct,cpu/docker/cpu.cfs_period_us", "50000\n");
    assert_int_equal(quota(), 5);
    fake_root_write(V2 "/cpu/cpu.cfs_quota_us", "300000\n");
    fake_root_write(V2 "/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(quota(), 3);
    fake_root_write(SELF, "4:cpu:/docker/x\n0::/u\n"); /* both versions at once */
    fake_root_write(V2 "/unified/u/cpu.max", "200000 100000\n");
    assert_int_equal(quota(), 2);
}

/* Whatever stands in these files, it is no crash and no limit. */
static void nonsense(void **state)
{
    static const char *const lines[] = {"",      "\n",     "max\n",      "100000\n", "x y\n", "-5 100000\n",
                                        "5 0\n", "5 -1\n", "0 100000\n", " \n"};
    char longest[20000];
    (void)state;
    fake_root_clear();
    fake_root_write(SELF, "0::/g\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        fake_root_write(V2 "/g/cpu.max", lines[i]);
        assert_int_equal(quota(), 0);
    }
    fake_root_write(V2 "/g/cpu.max", "100000 100000\n");
    fake_root_write(SELF, "");
    assert_int_equal(quota(), 0);
    fake_root_write(SELF, "0\n:\n::\n0:\n");
    assert_int_equal(quota(), 0);
    memset(longest, '/', sizeof longest);
    memcpy(longest, "0::", 3);
    longest[sizeof longest - 1] = '\0';
    fake_root_write(SELF, longest);
    assert_int_equal(quota(), 0);
    longest[5000] = '\0';
    fake_root_write(SELF, longest);
    assert_int_equal(quota(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_cpus_than_cpu_set_t),
        cmocka_unit_test(affinity_counts),
        cmocka_unit_test(the_device_reports_it),
        cmocka_unit_test(contexts_keep_their_number),
        cmocka_unit_test(version_2),
        cmocka_unit_test(parent_cgroups),
        cmocka_unit_test(version_1),
        cmocka_unit_test(nonsense),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, fake_root_create, fake_root_remove);
}
