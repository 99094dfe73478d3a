/* SPDX-License-Identifier: Apache-2.0 */
/* text_files.c - any bytes as a file that the user names. The first byte selects the reader: the description of a cluster, a CSV
 * file of Nsight Compute, or an array of `rung check`. */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>

#include "check/npy_array.h"
#include "cluster/cluster.h"
#include "explain/nsight_metrics.h"
#include "input_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_description(const char *path)
{
    lab_cluster_description description;
    char why[512] = "";
    if (!lab_cluster_description_read(path, &description, why, sizeof why)) {
        MUST(strlen(why) > 10);
        return;
    }
    MUST(isfinite(description.network) && description.network >= 0 && description.memory >= 0); /* 0: not given */
    MUST(memchr(description.title, '\0', sizeof description.title));
}

static void read_csv(const char *path)
{
    lab_nsight_values values = {.names = {"gpu__time_duration.sum", "sm__cycles_active.avg"}, .count = 2};
    char why[512] = "";
    if (!lab_nsight_read(path, "gemm", &values, why, sizeof why))
        MUST(strlen(why) > 5);
    else
        MUST(memchr(values.kernel, '\0', sizeof values.kernel));
}

static void read_array(const char *path)
{
    lab_npy_array array;
    char why[512] = "";
    if (!lab_npy_array_open(path, &array, why, sizeof why)) {
        MUST(strlen(why) > 10);
        return;
    }
    MUST(array.count >= 0 && array.count <= 1 << 20); /* the file has every element */
    lab_npy_array_close(&array);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *path = input_path(data + 1, size - 1);
    if (data[0] == 'c')
        read_description(path);
    else if (data[0] == 'n')
        read_csv(path);
    else
        read_array(path);
    return 0;
}
