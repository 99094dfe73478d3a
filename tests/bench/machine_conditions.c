/* SPDX-License-Identifier: Apache-2.0 */
/* machine_conditions.c - what makes times doubtful and what does not, and that NVIDIA's command is read, from a
 * fake of it, and missed in silence. */
#include "bench/machine_conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static const lab_conditions no_load = {.load = 0.1,
                                       .ticks = 1000,
                                       .steal = 10,
                                       .clock_mhz = 2000,
                                       .throttles = 5,
                                       .gpu_clock_mhz = -1,
                                       .gpu_celsius = -1,
                                       .gpu_throttle = -1};

static lab_conditions later(int64_t ticks, int64_t steal)
{
    lab_conditions after = no_load;
    after.ticks += ticks;
    after.steal += steal;
    after.load = 2; /* our own */
    return after;
}

static void a_quiet_machine_does_not_warn(void **state)
{
    lab_conditions after = later(1000, 20), unknown = no_load;
    (void)state;
    assert_int_equal(lab_conditions_warnings(&no_load, &after, 2, 2).count, 0);
    assert_true(lab_conditions_steal_percent(&no_load, &after) == 2);
    assert_true(lab_conditions_steal_percent(&no_load, &no_load) < 0);
    unknown.ticks = unknown.steal = unknown.throttles = -1;
    unknown.load = -1;
    assert_int_equal(lab_conditions_warnings(&unknown, &unknown, 2, 2).count, 0);
    after.gpu_throttle = 0x1; /* idle */
    assert_int_equal(lab_conditions_warnings(&no_load, &after, 2, 2).count, 0);
}

static void warns(const lab_conditions *before, const lab_conditions *after, int64_t threads, const char *word)
{
    lab_warnings found = lab_conditions_warnings(before, after, threads, 2);
    assert_int_equal(found.count, 1);
    assert_non_null(strstr(found.list[0], word));
}

static void conditions_that_warn(void **state)
{
    lab_conditions before = no_load, after = later(1000, 21);
    (void)state;
    warns(&no_load, &after, 2, "steal");
    after = later(1000, 0);
    after.throttles++;
    warns(&no_load, &after, 2, "1 times");
    after = later(1000, 0);
    after.gpu_throttle = 0x41; /* hot */
    warns(&no_load, &after, 2, "0x41");
    after = later(1000, 0);
    before.load = 0.7;
    warns(&before, &after, 2, "load");
    assert_int_equal(lab_conditions_warnings(&before, &after, 1, 2).count, 0); /* there is room beside us */
    before.load = 1.6;
    warns(&before, &after, 1, "load");
    /* All at once, and no more than fit. */
    after = later(1000, 100);
    after.throttles++;
    after.gpu_throttle = 0x8;
    assert_int_equal(lab_conditions_warnings(&before, &after, 2, 2).count, LAB_WARNINGS_MAX);
}

static void this_machine(void **state)
{
    rung_device_info cpu = {.name = "cpu", .backend = "cpu", .title = "", .platform = ""};
    (void)state;
    lab_conditions found = lab_conditions_read(&cpu);
    assert_true(found.gpu_clock_mhz < 0);
    if (access("/proc/stat", R_OK) == 0)
        assert_true(found.ticks > 0 && found.steal >= 0);
    if (access("/proc/loadavg", R_OK) == 0)
        assert_true(found.load >= 0);
}

static void write_fake_nvidia_smi(const char *path, const char *answer)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", answer);
    fclose(file);
    assert_int_equal(chmod(path, 0755), 0);
}

static void the_gpu(void **state)
{
    rung_device_info gpu = {.name = "cuda:1", .backend = "cuda", .title = "", .platform = ""};
    char folder[] = "conditions.XXXXXX", path[64], before[4096], with[4200];
    (void)state;
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/nvidia-smi", folder);
    snprintf(with, sizeof with, "%s:%s", folder, before);
    setenv("PATH", with, 1);
    write_fake_nvidia_smi(path, "case \"$*\" in *'-i 1'*) echo '1410, 54, 0x0000000000000044';; esac");
    lab_conditions found = lab_conditions_read(&gpu);
    assert_true(found.gpu_clock_mhz == 1410 && found.gpu_celsius == 54);
    assert_int_equal(found.gpu_throttle, 0x44);
    write_fake_nvidia_smi(path, "echo '[N/A], 54, [N/A]'; exit 0");
    assert_true(lab_conditions_read(&gpu).gpu_clock_mhz < 0);
    write_fake_nvidia_smi(path, "echo no devices were found; exit 6");
    assert_true(lab_conditions_read(&gpu).gpu_clock_mhz < 0);
    write_fake_nvidia_smi(path, "exec sleep 60"); /* as with a driver that does not answer */
    time_t began = time(NULL);
    assert_true(lab_conditions_read(&gpu).gpu_clock_mhz < 0);
    assert_true(time(NULL) - began < 40);
    setenv("PATH", before, 1);
    remove(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quiet_machine_does_not_warn),
        cmocka_unit_test(conditions_that_warn),
        cmocka_unit_test(this_machine),
        cmocka_unit_test(the_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
