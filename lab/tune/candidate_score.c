/* SPDX-License-Identifier: Apache-2.0 */
/* candidate_score.c - scores candidates (see search.h). On a GPU, the score is the prediction of the model (speed_model.h),
 * from the parameters of a block instead of memory access counts: it needs neither a simulation nor a compiler, so that
 * thousands of candidates can be ranked.
 *
 * The model does not apply to OpenCL devices that are CPUs, where a compiler turns threads into loops. There the score is
 * the distance from the preset "cpu", which was found by measuring. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "explain/explain.h"
#include "tune/search.h"

typedef struct block_shape {
    double bm, bn, bk, tm, tn, threads, stages;
} block_shape_t;

static double parameter_value(const rung_kernel *kernel, const char *parameters, rung_type in, const char *name,
                              int64_t otherwise)
{
    return (double)lab_kernel_value_or(kernel, parameters, in, name, otherwise);
}

/* Returns which fraction of the tiles along one edge is inside the matrix. */
static double used_fraction(double size, double tile)
{
    return size > 0 && tile > 0 ? size / (ceil(size / tile) * tile) : 1;
}

/* ---- GPUs ---- */

/* Returns a GPU of the list with the numbers that this device reports. */
static lab_gpu gpu_of_device(const rung_device_info *device)
{
    lab_gpu machine;
    if (!lab_gpu_of_arch("sm_86", &machine))
        machine = (lab_gpu){.sm_count = 1};
    if (device->compute_units > 0)
        machine.sm_count = (double)device->compute_units;
    if (device->clock_khz > 0)
        machine.clock_mhz = machine.loaded_clock_mhz = (double)device->clock_khz * 1e-3;
    if (device->memory_bytes_per_second > 0)
        machine.dram_gbs = (double)device->memory_bytes_per_second * 1e-9;
    if (device->last_level_cache_bytes > 0)
        machine.l2_kib = (double)device->last_level_cache_bytes / 1024;
    return machine;
}

/* Returns the resident blocks per multiprocessor if each thread keeps its sums, its operands and some addresses in
 * registers; 0 if registers spill. */
static double resident_blocks_of(const lab_gpu *machine, const block_shape_t *shape, double words, double in_bytes)
{
    double registers = words * (shape->tm * shape->tn + shape->tm + shape->tn) + 32;
    double shared = shape->bk > 1 ? (shape->bm + shape->bn) * shape->bk * in_bytes * shape->stages : 0;
    const lab_sm_limits *limits = lab_sm_limits_of(machine->arch);
    if (registers > 255 || !limits)
        return 0;
    return (double)lab_occupancy_of(limits, (int64_t)shape->threads, (int64_t)registers, (int64_t)shared).blocks;
}

/* Returns the work of a block in which each thread computes an outer product of TM x TN from tiles in shared memory.
 * Without tiles, each multiply-add loads its own operands. */
static lab_launch_work launch_work_of(const block_shape_t *shape, const lab_gpu *machine, double k, double in_bytes)
{
    double steps = ceil(k / shape->bk), macs = shape->bm * shape->bn * steps * shape->bk, warp_macs = macs / 32;
    double loads = warp_macs * (shape->tm + shape->tn) / (shape->tm * shape->tn);
    double tiles = (shape->bm + shape->bn) * steps * shape->bk, lines = tiles * in_bytes / 128;
    bool has_tiles = shape->bk > 1;
    return (lab_launch_work){.warps = ceil(shape->threads / 32),
                             .macs = macs,
                             .lanes = machine->fp32,
                             .instructions = warp_macs + loads + 2 * tiles / 32,
                             .requests = loads + 2 * tiles / 32,
                             .wavefronts = has_tiles ? loads + lines : 0,
                             .lines = has_tiles ? lines : loads,
                             .sectors = 4 * (has_tiles ? lines : loads),
                             .distinct_sectors = 4 * lines,
                             .barriers = has_tiles ? 2 * steps : 0,
                             .waits = shape->stages > 1 ? 1 : steps,
                             .dependent_macs = k};
}

static double score_on_gpu(const block_shape_t *shape, lab_type_pair product, lab_shape size,
                           const rung_device_info *device)
{
    double m = (double)size.m, n = (double)size.n, k = (double)size.k;
    double words = (double)rung_type_size(lab_type_pair_accumulator(product)) / 4;
    double in_bytes = (double)rung_type_size(product.in);
    lab_gpu machine = gpu_of_device(device);
    lab_launch_work load = launch_work_of(shape, &machine, k, in_bytes);
    load.resident_blocks = resident_blocks_of(&machine, shape, words, in_bytes);
    load.blocks = ceil(m / shape->bm) * ceil(n / shape->bn);
    load.flops = 2 * m * n * k;
    lab_launch_tiling panels = {
        m, n, k, shape->bm, shape->bn, in_bytes, words * 4, machine.sm_count * fmax(load.resident_blocks, 1), 1};
    load.dram_bytes = lab_dram_bytes(&machine, &panels);
    lab_prediction prediction = lab_predict(&machine, &load);
    return prediction.runs ? fmin(prediction.gflops / prediction.peak_gflops, 1) : 1e-3;
}

/* ---- Processors ---- */

/* Returns the number of doublings between two settings, summed over all parameters. */
static double parameter_distance(const rung_kernel *kernel, const char *parameters, const char *preset, rung_type in)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    double sum = 0;
    for (int64_t i = 0; i < info->parameter_count; i++) {
        const char *name = rung_kernel_parameter(kernel, i)->name;
        double here = parameter_value(kernel, parameters, in, name, 1);
        sum += fabs(log2(here / parameter_value(kernel, preset, in, name, 1)));
    }
    return sum;
}

/* Returns whether a device is probably a CPU. Only the names of an OpenCL device say so. A wrong guess costs some of the
 * budget and nothing else. */
static bool is_cpu_device(const rung_device_info *device)
{
    return strcmp(device->backend, "cpu") == 0 ||
           (strcmp(device->backend, "opencl") == 0 && device->warp_size == 0 &&
            (strstr(device->platform, "Portable Computing") || strstr(device->title, "CPU") ||
             strstr(device->title, "Processor")));
}

double lab_candidate_score(const rung_kernel *kernel, const char *parameters, lab_type_pair product, lab_shape size,
                           const rung_device_info *device)
{
    rung_type in = product.in;
    block_shape_t shape = {
        .bm = parameter_value(kernel, parameters, in, "BM", 0),
        .bn = parameter_value(kernel, parameters, in, "BN", 0),
        .bk = parameter_value(kernel, parameters, in, "BK", 1),
        .tm = parameter_value(kernel, parameters, in, "TM", 1),
        .tn = parameter_value(kernel, parameters, in, "TN", 1),
        .stages = parameter_value(kernel, parameters, in, "STAGES", 1),
    };
    if (shape.bm == 0 || shape.bn == 0)
        return 0;
    shape.threads = parameter_value(kernel, parameters, in, "THREADS", 0);
    if (shape.threads == 0)
        shape.threads = fmin(shape.bm * shape.bn / (shape.tm * shape.tn), 1024);
    if (!is_cpu_device(device))
        return score_on_gpu(&shape, product, size, device);
    double used = used_fraction((double)size.m, shape.bm) * used_fraction((double)size.n, shape.bn) *
                  used_fraction((double)size.k, shape.bk);
    bool has_preset = lab_kernel_has_preset(kernel, "cpu");
    return used * (has_preset ? 1 / (1 + parameter_distance(kernel, parameters, "cpu", in)) : 0.1);
}
