/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - see target.h. */
#include "target.h"

#include "file.h"
#include "nearest.h"
#include "oracle.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL_NAME = 512 }; /* or path, in a list, with its 0 */

int lab_usage(const char *command, const char *message)
{
    fprintf(stderr, "rung: %s\nrung: see: rung help %s\n", message, command);
    return LAB_USAGE;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

/* Sets what a word stands for. */
static bool mark_word(const char *text, size_t length, bool products[LAB_PRODUCTS_MAX], bool modes[LAB_COMPUTE_COUNT])
{
    lab_product product;
    if (lab_product_find(text, length, &product))
        return products[lab_product_index(product)] = true;
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT; i++)
        if (is_word(text, length, rung_compute_name((rung_compute)i)))
            return modes[i] = true;
    return false;
}

/* "tf32"; strict if NULL. False if it is no compute mode. */
static bool read_compute(const char *text, rung_compute *compute)
{
    *compute = RUNG_COMPUTE_STRICT;
    for (int i = 0; text && i < LAB_COMPUTE_COUNT; i++)
        if (strcmp(text, rung_compute_name((rung_compute)i)) == 0) {
            *compute = (rung_compute)i;
            return true;
        }
    return !text;
}

/* Returns a sentence on a word of --dtype that is no product and no compute mode. */
static const char *explain_dtype(const char *text, size_t length)
{
    static char why[512];
    size_t used = (size_t)snprintf(why, sizeof why,
                                   "no kernel multiplies \"%.*s\"; --dtype takes products (input:output):",
                                   (int)(length < 40 ? length : 40), text);
    for (int i = 0; i < lab_product_count() && used < sizeof why; i++)
        used += (size_t)snprintf(why + used, sizeof why - used, "%s %s", i ? "," : "",
                                 lab_product_name(lab_product_at(i)));
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT && used < sizeof why; i++)
        used += (size_t)snprintf(why + used, sizeof why - used, "%s %s",
                                 i == RUNG_COMPUTE_STRICT + 1 ? "; or compute modes of f32:" : ",",
                                 rung_compute_name((rung_compute)i));
    return why;
}

const char *lab_read_dtypes(const lab_options *options, rung_compute *compute, lab_dtype dtypes[LAB_DTYPES_MAX],
                            int *count)
{
    const char *text = options->dtype;
    const lab_product f32 = {RUNG_F32, RUNG_F32};
    bool products[LAB_PRODUCTS_MAX] = {false}, modes[LAB_COMPUTE_COUNT] = {false};
    *count = 0;
    if (!read_compute(options->compute, compute))
        return "--compute is strict, bf16x3, tf32 or bf16x1";
    products[lab_product_index(f32)] = !text;
    if (text && !*text)
        return explain_dtype("", 0);
    while (text && *text) {
        size_t length = strcspn(text, ",");
        if (!mark_word(text, length, products, modes))
            return explain_dtype(text, length);
        text += length + (text[length] == ',');
    }
    for (int i = 0; i < lab_product_count(); i++)
        if (products[i])
            dtypes[(*count)++] = (lab_dtype){lab_product_at(i), *compute, lab_product_name(lab_product_at(i))};
    for (int i = 0; i < LAB_COMPUTE_COUNT; i++)
        if (modes[i] && !(products[lab_product_index(f32)] && i == (int)*compute))
            dtypes[(*count)++] = (lab_dtype){f32, (rung_compute)i, rung_compute_name((rung_compute)i)};
    return NULL;
}

bool lab_compute_is_as_precise(rung_compute mode, rung_compute requested)
{
    static const int ranks[LAB_COMPUTE_COUNT] = {
        /* 1: the most precise */
        [RUNG_COMPUTE_STRICT] = 1,
        [RUNG_COMPUTE_BF16X3] = 2,
        [RUNG_COMPUTE_TF32] = 3,
        [RUNG_COMPUTE_BF16X1] = 4,
    };
    int first = (int)mode, second = (int)requested;
    return first >= 0 && first < LAB_COMPUTE_COUNT && second >= 0 && second < LAB_COMPUTE_COUNT &&
           ranks[first] <= ranks[second];
}

bool lab_takes(const rung_kernel *kernel, const lab_dtype *dtype)
{
    const rung_kernel_info *info = kernel ? rung_kernel_describe(kernel) : NULL;
    bool is_f32 = dtype->product.in == RUNG_F32;
    rung_type in = dtype->product.in, out = dtype->product.out;
    return !info || (rung_kernel_supports(kernel, in, in, out, NULL) &&
                     (!is_f32 || lab_compute_is_as_precise(info->compute, dtype->compute)));
}

const char *lab_peer_of(const rung_kernel *kernel)
{
    const char *colon = strchr(rung_kernel_describe(kernel)->name, ':');
    return rung_kernel_describe(kernel)->number == 0 && colon ? colon + 1 : NULL;
}

bool lab_is_emulated(const rung_kernel *kernel)
{
    return rung_kernel_describe(kernel)->engine == RUNG_ENGINE_EMULATED;
}

/* ---- The device ---------------------------------------------------------------------------------- */

static bool names_a_backend(const char *device)
{
    rung_device_list *list = NULL;
    size_t length = strcspn(device, ":");
    bool is_one = false;
    rung_device_list_create(NULL, &list);
    for (int64_t i = 0; i < rung_device_list_count(list); i++) {
        const char *backend = rung_device_list_at(list, i)->backend;
        is_one = is_one || (strlen(backend) == length && strncmp(backend, device, length) == 0);
    }
    rung_device_list_destroy(list);
    return is_one;
}

static void add_suggestion(const char *nearest, char *text, size_t capacity)
{
    size_t used = strlen(text);
    if (nearest && used < capacity)
        snprintf(text + used, capacity - used, "; did you mean %s?", nearest);
}

void lab_suggest_device(const char *name, char *text, size_t capacity)
{
    enum { BACKENDS_MAX = 16 };
    rung_device_list *list = NULL;
    const char *words[BACKENDS_MAX], *colon = strchr(name, ':');
    char backend[64];
    int count = 0;
    rung_device_list_create(NULL, &list);
    for (int64_t i = 0; i < rung_device_list_count(list) && count < BACKENDS_MAX; i++) {
        const char *word = rung_device_list_at(list, i)->backend;
        if (count == 0 || strcmp(words[count - 1], word) != 0) /* the devices of a backend are adjacent */
            words[count++] = word;
    }
    snprintf(backend, sizeof backend, "%.*s", colon ? (int)(colon - name) : (int)strlen(name), name);
    add_suggestion(lab_nearest(backend, words, count), text, capacity);
    rung_device_list_destroy(list);
}

void lab_suggest_kernel(rung_context *context, const char *backend, const char *name, char *text, size_t capacity)
{
    const char *words[LAB_KERNELS_MAX + 1] = {"rung_gemm"};
    rung_kernel *kernel;
    int count = 1;
    for (int64_t i = 0; count <= LAB_KERNELS_MAX && rung_kernel_at(context, backend, i, &kernel) == RUNG_OK; i++)
        words[count++] = rung_kernel_describe(kernel)->name;
    add_suggestion(lab_nearest(name, words, count), text, capacity);
}

static bool is_file(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".cu") == 0);
}

bool lab_names_file(const char *list)
{
    while (list && *list) {
        char name[512];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        if (is_file(name))
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

/* Whether the ladder of a backend has every kernel of a list; files are compiled by
 * OpenCL devices alone. */
static bool has_all(const char *backend, const char *list)
{
    while (*list) {
        char name[KERNEL_NAME];
        rung_kernel *kernel;
        size_t length = strcspn(list, ",");
        if (length >= sizeof name)
            return false; /* lab_target_kernels() reports it */
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        bool found = is_file(name)
                         ? strcmp(backend, "opencl") == 0
                         : strcmp(name, "rung_gemm") == 0 || rung_kernel_find(NULL, backend, name, &kernel) == RUNG_OK;
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

/* A log function of its own: the library then reports invalid values of environment variables without
 * RUNG_VERBOSE too. */
static void log_line(void *user, const char *line)
{
    (void)user;
    lab_progress_break();
    fprintf(stderr, "%s\n", line);
}

int lab_target_open(const lab_options *options, const char *kernels, lab_target *target)
{
    const char *name = device_of(options, kernels);
    rung_context_options context_options = {.size = sizeof(rung_context_options), .device = name, .log = log_line};
    memset(target, 0, sizeof *target);
    rung_status status = rung_context_create(&context_options, &target->context);
    if (status == RUNG_OK)
        status = rung_device_open(target->context, name, &target->device);
    if (status == RUNG_OK)
        status = rung_queue_create(target->device, &target->queue);
    if (status == RUNG_OK)
        return LAB_GOOD;
    char why[1024];
    bool is_known = names_a_backend(name);
    snprintf(why, sizeof why, "%s", rung_error_text());
    if (!is_known)
        lab_suggest_device(name, why, sizeof why);
    fprintf(stderr, "rung: %s\n%s", why, is_known ? "" : "rung: see: rung devices\n");
    return is_known ? LAB_NOTHING : LAB_USAGE;
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

bool lab_kernel_open(rung_context *context, const char *backend, const char *name, rung_kernel **kernel, char *why,
                     size_t capacity)
{
    char reason[256];
    size_t length;
    char *text = is_file(name) ? lab_file_read(name, LAB_KERNEL_BYTES_MAX, &length, reason, sizeof reason) : NULL;
    *kernel = NULL;
    if (is_file(name) && !text) {
        snprintf(why, capacity, "%s: %s", name, reason);
        return false;
    }
    rung_status status = text ? rung_kernel_from_source(context, backend, name, text, kernel)
                              : rung_kernel_find(context, backend, name, kernel);
    free(text);
    if (status == RUNG_OK)
        return true;
    snprintf(why, capacity, "%s", rung_error_text());
    if (!is_file(name))
        lab_suggest_kernel(context, backend, name, why, capacity);
    return false;
}

int64_t lab_kernel_number(const rung_kernel *kernel, const char *parameters, rung_type in, const char *name,
                          int64_t otherwise)
{
    int64_t value;
    return rung_kernel_evaluate(kernel, parameters, in, name, &value) == RUNG_OK && value > 0 ? value : otherwise;
}

bool lab_has_preset(const rung_kernel *kernel, const char *name)
{
    for (int64_t i = 0; i < rung_kernel_describe(kernel)->preset_count; i++)
        if (strcmp(rung_kernel_preset(kernel, i)->name, name) == 0)
            return true;
    return false;
}

static int find_kernel(lab_target *target, const char *name, const rung_kernel **kernel)
{
    const char *backend = rung_device_describe(target->device)->backend;
    rung_kernel *found = NULL;
    char why[8192];
    if (strcmp(name, "rung_gemm") != 0 && !lab_kernel_open(target->context, backend, name, &found, why, sizeof why)) {
        fprintf(stderr, "rung: %s\n", why);
        return LAB_USAGE;
    }
    if (is_file(name))
        target->owned[target->owned_count++] = found;
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
        for (int64_t i = 0; *count < LAB_KERNELS_MAX && rung_kernel_at(target->context, backend, i, &kernel) == RUNG_OK;
             i++)
            if (!lab_peer_of(kernel))
                kernels[(*count)++] = kernel;
        return LAB_GOOD;
    }
    while (*list && code == LAB_GOOD) {
        char name[KERNEL_NAME];
        size_t length = strcspn(list, ",");
        if (*count == LAB_KERNELS_MAX) {
            fprintf(stderr, "rung: the list has more than %d kernels; give fewer\n", LAB_KERNELS_MAX);
            return LAB_USAGE;
        }
        if (length >= sizeof name) {
            fprintf(stderr, "rung: a kernel's name or path has %zu bytes; the maximum is %d\n", length,
                    KERNEL_NAME - 1);
            return LAB_USAGE;
        }
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        code = find_kernel(target, name, &kernels[*count]);
        (*count)++;
        list += length + (list[length] == ',');
    }
    return code;
}

/* The vendor's library, and the library itself, use it where our kernels do. A processor's
 * rounds each sum, as vectors do, and needs no more room than those. */
bool lab_may_use_engine(const lab_target *target, const rung_kernel *kernel)
{
    const char *backend = rung_device_describe(target->device)->backend;
    rung_kernel *step;
    if (strcmp(backend, "cpu") == 0)
        return false;
    if (kernel && rung_kernel_describe(kernel)->number != 0)
        return rung_kernel_describe(kernel)->engine == RUNG_ENGINE_HARDWARE;
    for (int64_t i = 0; rung_kernel_at(target->context, backend, i, &step) == RUNG_OK; i++)
        if (rung_kernel_describe(step)->engine == RUNG_ENGINE_HARDWARE)
            return true;
    return false;
}
