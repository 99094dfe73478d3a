/* SPDX-License-Identifier: Apache-2.0 */
/* plain_options.c - see plain_options.h. */
#define _POSIX_C_SOURCE 200809L
#include "plain_gemm/plain_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/failure.h"
#include "io/input_file.h"

static bool has_cuda_name(const char *path)
{
    size_t length = path ? strlen(path) : 0;
    return length >= 4 && strcmp(path + length - 3, ".cu") == 0;
}

bool lab_plain_file_read(const char *path, lab_plain_file *file)
{
    char why[512];
    *file = (lab_plain_file){.path = path};
    if (!has_cuda_name(path))
        return false;
    file->text = lab_file_read(path, LAB_KERNEL_BYTES_MAX, &file->bytes, why, sizeof why);
    if (file->text && strstr(file->text, "__global__"))
        return true;
    free(file->text);
    file->text = NULL;
    return false;
}

const char *lab_plain_options_misused(const lab_options *options, const char *path, bool takes_arch)
{
    static _Thread_local char why[256];
    const struct {
        const char *name, *value;
    } all[] = {{"--kernel", options->kernel}, {"--template", options->template},
               {"--grid", options->grid},     {"--block", options->block},
               {"--shared", options->shared}, {"--args", options->args},
               {"--sarif", options->sarif},   {"-D", options->define_macro},
               {"-I", options->include_path}, {"--arch", takes_arch ? NULL : options->arch}};
    if (has_cuda_name(path) && access(path, R_OK) != 0)
        return NULL; /* the command says that it cannot read the file */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value) {
            snprintf(why, sizeof why, "%s applies only to a CUDA file with a __global__ function%s%.100s", all[i].name,
                     path ? ", not to " : "", path ? path : "");
            return why;
        }
    return NULL;
}

const char *lab_plain_options_refused(const lab_options *options, bool is_explain)
{
    static _Thread_local char why[256];
    const struct {
        const char *name, *value;
        bool is_for_explain;
    } all[] = {{"--device", options->device, false},
               {"--kernels", options->kernels, false},
               {"--params", options->params, false},
               {"--dtype", options->dtype, false},
               {"--compute", options->compute, false},
               {"--batch", options->batch, false},
               {"--scattered", options->scattered, false},
               {"--epilogue", options->epilogue, false},
               {"--splits", options->splits, false},
               {"--carveout", options->carveout, false},
               {"--suite", options->suite, false},
               {"--all-cases", options->all_cases, false},
               {"--every", options->every, false},
               {"--seed", options->seed, false},
               {"--m", options->m, true},
               {"--n", options->n, true},
               {"--k", options->k, true},
               {"--a-strides", options->a_strides, false},
               {"--b-strides", options->b_strides, false},
               {"--c-strides", options->c_strides, false},
               {"--d-strides", options->d_strides, false},
               {"--alpha", options->alpha, false},
               {"--beta", options->beta, false},
               {"--repeat", options->repeat, false},
               {"--threads", options->threads, false},
               {"--packed", options->packed, false}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value && !(is_explain && all[i].is_for_explain)) {
            snprintf(why, sizeof why,
                     "%s does not apply to a CUDA file with a __global__ function: the file decides the types and the "
                     "launch%s",
                     all[i].name, is_explain ? "" : ", and rung verify chooses the sizes");
            return why;
        }
    return NULL;
}

bool lab_plain_options_read(const lab_options *options, lab_launch_options *launch, char *why, size_t capacity)
{
    *launch = (lab_launch_options){.line = 0};
    bool good = lab_launch_options_set(launch->kernel, options->kernel) &&
                lab_launch_options_set(launch->templates, options->template) &&
                lab_launch_options_set(launch->grid, options->grid) &&
                lab_launch_options_set(launch->block, options->block) &&
                lab_launch_options_set(launch->shared, options->shared) &&
                lab_launch_options_set(launch->arguments, options->args);
    return good ||
           lab_set_reason(why, capacity,
                          "--kernel, --template, --grid, --block, --shared and --args take at most 511 characters");
}
