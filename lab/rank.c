/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c - a candidate's expected worth, from what it says of itself: how often an element is
 * used once it is in shared memory and once it is in a register, what of the tiles hangs over
 * the edges, whether the blocks fill the device evenly, and whether the sums of a thread fit
 * its registers.
 *
 * None of that holds for an OpenCL device that is a processor, where a compiler makes loops
 * of the threads. There the distance from the preset "cpu", which was found by measuring, is
 * what counts. */
#include "rank.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "oracle.h"

typedef struct shape {
    double bm, bn, bk, tm, tn;
} shape;

/* What a macro or parameter comes to; `otherwise` where the kernel has none. */
static double number(const rung_kernel *kernel, const char *parameters, rung_type in, const char *name,
                     double otherwise)
{
    int64_t value;
    return rung_kernel_evaluate(kernel, parameters, in, name, &value) == RUNG_OK && value > 0 ? (double)value
                                                                                              : otherwise;
}

/* How much of what is computed along one edge is wanted. */
static double used(double size, double tile)
{
    return size > 0 && tile > 0 ? size / (ceil(size / tile) * tile) : 1;
}

/* 0 for none, 1 for so much that more gives nothing. */
static double saturate(double value, double half)
{
    return value / (value + half);
}

/* How evenly the blocks go round: three blocks on two units keep one idle for a quarter. */
static double balance(double blocks, double units)
{
    return units > 0 ? blocks / (ceil(blocks / units) * units) : 1;
}

/* Sums, operands and addresses of a thread. Past what a thread may have they go to memory;
 * past half of that few warps fit a unit. */
static double register_fit(const shape *shape, double words)
{
    double registers = words * (shape->tm * shape->tn + shape->tm + shape->tn) + 32;
    return registers > 240 ? 0.1 : registers > 128 ? 0.8 : 1;
}

static double rank_gpu(const shape *shape, double words, double m, double n, double k, double units)
{
    double reuse_shared = shape->bm * shape->bn / (shape->bm + shape->bn);
    double reuse_register = shape->tm * shape->tn / (shape->tm + shape->tn);
    double blocks = ceil(m / shape->bm) * ceil(n / shape->bn);
    return saturate(reuse_shared, 16) * saturate(reuse_register, 2) * used(m, shape->bm) *
           used(n, shape->bn) * used(k, shape->bk) * balance(blocks, units) *
           register_fit(shape, words);
}

static bool has_preset(const rung_kernel_info *info, const char *name)
{
    for (int64_t i = 0; i < info->preset_count; i++)
        if (strcmp(info->presets[i].name, name) == 0)
            return true;
    return false;
}

/* In doublings, over all parameters. */
static double distance(const rung_kernel *kernel, const char *parameters, const char *preset, rung_type in)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    double sum = 0;
    for (int64_t i = 0; i < info->parameter_count; i++) {
        const char *name = info->parameters[i].name;
        double here = number(kernel, parameters, in, name, 1);
        sum += fabs(log2(here / number(kernel, preset, in, name, 1)));
    }
    return sum;
}

/* Nothing tells an OpenCL device's kind but its names. This is an ordering: a wrong guess costs
 * some of the budget and nothing else. */
static bool is_processor(const rung_device_info *device)
{
    return strcmp(device->backend, "cpu") == 0 ||
           (strcmp(device->backend, "opencl") == 0 && device->warp_size == 0 &&
            (strstr(device->platform, "Portable Computing") || strstr(device->title, "CPU") ||
             strstr(device->title, "Processor")));
}

double lab_rank(const rung_kernel *kernel, const char *parameters, rung_product product, int64_t m,
                int64_t n, int64_t k, const rung_device_info *device)
{
    rung_type in = lab_product_in(product);
    double words = (double)rung_type_size(rung_product_sum(product)) / 4;
    shape shape = {
        .bm = number(kernel, parameters, in, "BM", 0), .bn = number(kernel, parameters, in, "BN", 0),
        .bk = number(kernel, parameters, in, "BK", 1), .tm = number(kernel, parameters, in, "TM", 1),
        .tn = number(kernel, parameters, in, "TN", 1),
    };
    if (shape.bm == 0 || shape.bn == 0)
        return 0;
    if (!is_processor(device))
        return rank_gpu(&shape, words, (double)m, (double)n, (double)k, (double)device->compute_units);
    double waste = used((double)m, shape.bm) * used((double)n, shape.bn) * used((double)k, shape.bk);
    bool is_meant = has_preset(rung_kernel_describe(kernel), "cpu");
    return waste * (is_meant ? 1 / (1 + distance(kernel, parameters, "cpu", in)) : 0.1);
}
