/* SPDX-License-Identifier: Apache-2.0 */
/* available_memory.c - how much memory is free, on systems that are made of files here: with no limit, and with one by either version of
 * control groups, of the process's own group or of one above it. */
#include "support/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/available_memory.h"

static char root[] = "/tmp/rung-free-XXXXXX";

static void run(const char *command)
{
    char line[512];
    snprintf(line, sizeof line, "cd %s && %s", root, command);
    assert_int_equal(system(line), 0);
}

static int64_t mib(void)
{
    return rungi_available_memory(root) >> 20;
}

static int begin(void **state)
{
    (void)state;
    run("rm -rf proc sys && mkdir -p proc/self sys/fs/cgroup/memory && "
        "printf 'MemTotal: 9000000 kB\\nMemAvailable:    4096000 kB\\nMemFree: 1 kB\\n' > proc/meminfo");
    return 0;
}

static void without_cgroups(void **state)
{
    (void)state;
    assert_int_equal(mib(), 4000);
    run("rm proc/meminfo");
    assert_int_equal(mib(), 512);
}

static void cgroup_v2_limits(void **state)
{
    (void)state;
    run("echo 0::/a/b > proc/self/cgroup && mkdir -p sys/fs/cgroup/a/b && echo max > sys/fs/cgroup/a/b/memory.max");
    assert_int_equal(mib(), 4000);
    run("echo $((1000 << 20)) > sys/fs/cgroup/a/memory.max && echo $((300 << 20)) > sys/fs/cgroup/a/memory.current");
    assert_int_equal(mib(), 700);
    run("printf 'anon 5\\nfile_mapped 7\\nfile %d\\n' $((100 << 20)) > sys/fs/cgroup/a/memory.stat");
    assert_int_equal(mib(), 800);
    run("echo shmem $((40 << 20)) >> sys/fs/cgroup/a/memory.stat"); /* files that are nowhere else stay */
    assert_int_equal(mib(), 760);
    run("echo $((200 << 20)) > sys/fs/cgroup/memory.max");
    assert_int_equal(mib(), 200);
    run("echo $((900 << 20)) > sys/fs/cgroup/memory.current");
    assert_int_equal(mib(), 0);
}

/* Beside one of the second, which then says nothing of memory. */
static void cgroup_v1_limits(void **state)
{
    (void)state;
    run("printf '4:memory:/only/its/host/has\\n1:cpu:/x\\n0::/\\n' > proc/self/cgroup && cd sys/fs/cgroup/memory && "
        "echo $((600 << 20)) > memory.limit_in_bytes && echo $((200 << 20)) > memory.usage_in_bytes && "
        "printf 'cache 1\\ntotal_cache %d\\n' $((50 << 20)) > memory.stat");
    assert_int_equal(mib(), 450);
    run("echo 9223372036854771712 > sys/fs/cgroup/memory/memory.limit_in_bytes"); /* none */
    assert_int_equal(mib(), 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_cgroups, begin),
        cmocka_unit_test_setup(cgroup_v2_limits, begin),
        cmocka_unit_test_setup(cgroup_v1_limits, begin),
    };
    if (!mkdtemp(root))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run("rm -rf proc sys");
    rmdir(root);
    return failed;
}
