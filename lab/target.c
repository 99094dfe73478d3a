/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - see target.h. */
#include "target.h"

#include <stdlib.h>
#include <string.h>

int lab_usage(const char *command, const char *message)
{
    fprintf(stderr, "rung: %s\nrung: see: rung help %s\n", message, command);
    return LAB_USAGE;
}

bool lab_read_products(const char *text, unsigned *products)
{
    *products = text ? 0 : 1u << RUNG_F32_TO_F32;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        int product = 0;
        for (; product < RUNG_PRODUCT_COUNT; product++) {
            const char *name = rung_product_name((rung_product)product);
            if (strlen(name) == length && strncmp(name, text, length) == 0)
                break;
        }
        if (product == RUNG_PRODUCT_COUNT)
            return false;
        *products |= 1u << product;
        text += length + (text[length] == ',');
    }
    return *products != 0;
}

bool lab_read_compute(const char *text, rung_compute *compute)
{
    *compute = RUNG_STRICT;
    for (int i = 0; text && i < RUNG_COMPUTE_COUNT; i++)
        if (strcmp(text, rung_compute_name((rung_compute)i)) == 0) {
            *compute = (rung_compute)i;
            return true;
        }
    return !text;
}

/* ---- The device ---------------------------------------------------------------------------------- */

static bool names_a_backend(const char *device)
{
    rung_device_info infos[64];
    int64_t count = 0;
    size_t length = strcspn(device, ":");
    rung_device_list(NULL, infos, 64, &count);
    for (int64_t i = 0; i < count && i < 64; i++)
        if (strlen(infos[i].backend) == length && strncmp(infos[i].backend, device, length) == 0)
            return true;
    return false;
}

static bool is_file(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".cu") == 0);
}

/* Whether the ladder of a backend has every kernel of a list; files are compiled by
 * OpenCL devices alone. */
static bool has_all(const char *backend, const char *list)
{
    while (*list) {
        char name[512];
        rung_kernel *kernel;
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        bool found = is_file(name) ? strcmp(backend, "opencl") == 0
                                   : strcmp(name, "rung_gemm") == 0 ||
                                         rung_kernel_find(NULL, backend, name, &kernel) == RUNG_OK;
        if (!found)
            return false;
        list += length + (list[length] == ',');
    }
    return true;
}

/* The one that is named, or else the first that has what is asked for. */
static const char *device_of(const lab_options *options, const char *kernels)
{
    const char *environment = getenv("RUNG_DEVICE");
    if (options->device)
        return options->device;
    if (environment && *environment)
        return environment;
    return kernels && !has_all("cpu", kernels) && has_all("opencl", kernels) ? "opencl" : "cpu";
}

int lab_target_open(const lab_options *options, const char *kernels, lab_target *target)
{
    const char *name = device_of(options, kernels);
    rung_context_options context_options = {.device = name};
    memset(target, 0, sizeof *target);
    rung_status status = rung_context_create(&context_options, &target->context);
    if (status == RUNG_OK)
        status = rung_device_open(target->context, name, &target->device);
    if (status == RUNG_OK)
        status = rung_queue_create(target->device, &target->queue);
    if (status == RUNG_OK)
        return LAB_GOOD;
    fprintf(stderr, "rung: %s\n", rung_error_text());
    return names_a_backend(name) ? LAB_NOTHING : LAB_USAGE;
}

void lab_target_close(lab_target *target)
{
    for (int i = 0; i < target->owned_count; i++)
        rung_kernel_destroy(target->owned[i]);
    rung_queue_destroy(target->queue);
    rung_device_close(target->device);
    rung_context_destroy(target->context);
}

/* ---- Kernels ---------------------------------------------------------------------------------------- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        long length = ftell(file);
        rewind(file);
        text = length >= 0 ? malloc((size_t)length + 1) : NULL;
        if (text && fread(text, 1, (size_t)length, file) == (size_t)length) {
            text[length] = '\0';
        } else {
            free(text);
            text = NULL;
        }
    }
    if (file)
        fclose(file);
    return text;
}

static int load_file(lab_target *target, const char *path, const rung_kernel **kernel)
{
    char *text = read_file(path);
    rung_kernel *loaded;
    if (!text) {
        fprintf(stderr, "rung: %s cannot be read\n", path);
        return LAB_USAGE;
    }
    rung_status status = rung_kernel_from_source(target->context,
                                                 rung_device_describe(target->device)->backend, path,
                                                 text, &loaded);
    free(text);
    if (status != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_USAGE;
    }
    target->owned[target->owned_count++] = loaded;
    *kernel = loaded;
    return LAB_GOOD;
}

static int find_kernel(lab_target *target, const char *name, const rung_kernel **kernel)
{
    rung_kernel *found = NULL;
    if (is_file(name))
        return load_file(target, name, kernel);
    if (strcmp(name, "rung_gemm") != 0 &&
        rung_kernel_find(target->context, rung_device_describe(target->device)->backend, name,
                         &found) != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_USAGE;
    }
    *kernel = found;
    return LAB_GOOD;
}

int lab_target_kernels(lab_target *target, const char *list, const rung_kernel **kernels, int *count)
{
    const char *backend = rung_device_describe(target->device)->backend;
    int code = LAB_GOOD;
    *count = 0;
    if (!list) {
        rung_kernel *kernel;
        for (int64_t i = 0; *count < LAB_KERNELS_MAX &&
                            rung_kernel_at(target->context, backend, i, &kernel) == RUNG_OK; i++)
            kernels[(*count)++] = kernel;
        return LAB_GOOD;
    }
    while (*list && code == LAB_GOOD && *count < LAB_KERNELS_MAX) {
        char name[512];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        code = find_kernel(target, name, &kernels[*count]);
        (*count)++;
        list += length + (list[length] == ',');
    }
    return code;
}
