/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - see target.h. */
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

#include "cli/nearest_word.h"
#include "cli/progress_line.h"
#include "io/input_file.h"

enum { KERNEL_NAME_BYTES = 512 }; /* of a name or path in a list, with its terminating 0 */

int lab_usage_error(const char *command, const char *message)
{
    size_t length = strlen(message);
    bool is_sentence = length > 0 && strchr(".?", message[length - 1]);
    fprintf(stderr, "rung %s: %s%s Run \"rung help %s\" for all options.\n", command, message, is_sentence ? "" : ".",
            command);
    return LAB_EXIT_USAGE;
}

int lab_option_error(const char *command, const char *option, const char *value, const char *valid)
{
    char message[512];
    snprintf(message, sizeof message, "%s is \"%.100s\"; %s", option, value, valid);
    return lab_usage_error(command, message);
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(word, text, length) == 0;
}

/* Marks the type or compute mode that a word names. Returns false if the word is unknown. */
static bool mark_dtype(const char *text, size_t length, bool products[LAB_TYPE_PAIRS_MAX],
                       bool modes[LAB_COMPUTE_COUNT])
{
    lab_type_pair product;
    if (lab_type_pair_find(text, length, &product))
        return products[lab_type_pair_index(product)] = true;
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT; i++)
        if (is_word(text, length, rung_compute_name((rung_compute)i)))
            return modes[i] = true;
    return false;
}

/* Parses a compute mode; NULL means strict. */
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

/* Returns the error text for an unknown word of --dtype, in static memory. */
static const char *unknown_dtype_text(const char *text, size_t length)
{
    static char error[512];
    size_t used = (size_t)snprintf(error, sizeof error, "unknown type \"%.*s\" in --dtype; use",
                                   (int)(length < 40 ? length : 40), text);
    for (int i = 0; i < lab_type_pair_count() && used < sizeof error; i++)
        used += (size_t)snprintf(error + used, sizeof error - used, "%s %s", i ? "," : "",
                                 lab_type_pair_name(lab_type_pair_at(i)));
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT && used < sizeof error; i++)
        used += (size_t)snprintf(error + used, sizeof error - used, "%s %s",
                                 i == RUNG_COMPUTE_STRICT + 1 ? " (input:output), or a compute mode of f32:" : ",",
                                 rung_compute_name((rung_compute)i));
    return error;
}

const char *lab_parse_dtypes(const lab_options *options, rung_compute *compute, lab_dtype dtypes[LAB_DTYPES_MAX],
                             int *count)
{
    const char *text = options->dtype;
    const lab_type_pair f32 = {RUNG_F32, RUNG_F32};
    bool products[LAB_TYPE_PAIRS_MAX] = {false}, modes[LAB_COMPUTE_COUNT] = {false};
    *count = 0;
    if (!read_compute(options->compute, compute)) {
        static char error[128];
        snprintf(error, sizeof error, "--compute is \"%.40s\"; use strict, bf16x3, tf32 or bf16x1", options->compute);
        return error;
    }
    products[lab_type_pair_index(f32)] = !text;
    if (text && !*text)
        return unknown_dtype_text("", 0);
    while (text && *text) {
        size_t length = strcspn(text, ",");
        if (!mark_dtype(text, length, products, modes))
            return unknown_dtype_text(text, length);
        text += length + (text[length] == ',');
    }
    for (int i = 0; i < lab_type_pair_count(); i++)
        if (products[i])
            dtypes[(*count)++] = (lab_dtype){lab_type_pair_at(i), *compute, lab_type_pair_name(lab_type_pair_at(i))};
    for (int i = 0; i < LAB_COMPUTE_COUNT; i++)
        if (modes[i] && !(products[lab_type_pair_index(f32)] && i == (int)*compute))
            dtypes[(*count)++] = (lab_dtype){f32, (rung_compute)i, rung_compute_name((rung_compute)i)};
    return NULL;
}

bool lab_compute_is_as_precise(rung_compute mode, rung_compute requested)
{
    static const int ranks[LAB_COMPUTE_COUNT] = {
        /* 1 is the most precise */
        [RUNG_COMPUTE_STRICT] = 1,
        [RUNG_COMPUTE_BF16X3] = 2,
        [RUNG_COMPUTE_TF32] = 3,
        [RUNG_COMPUTE_BF16X1] = 4,
    };
    int first = (int)mode, second = (int)requested;
    return first >= 0 && first < LAB_COMPUTE_COUNT && second >= 0 && second < LAB_COMPUTE_COUNT &&
           ranks[first] <= ranks[second];
}

bool lab_kernel_accepts_dtype(const rung_kernel *kernel, const lab_dtype *dtype)
{
    const rung_kernel_info *info = kernel ? rung_kernel_describe(kernel) : NULL;
    bool is_f32 = dtype->product.in == RUNG_F32;
    rung_type in = dtype->product.in, out = dtype->product.out;
    return !info || (rung_kernel_supports(kernel, in, in, out, NULL) &&
                     (!is_f32 || lab_compute_is_as_precise(info->compute, dtype->compute)));
}

const char *lab_kernel_peer_name(const rung_kernel *kernel)
{
    const char *colon = strchr(rung_kernel_describe(kernel)->name, ':');
    return rung_kernel_describe(kernel)->number == 0 && colon ? colon + 1 : NULL;
}

bool lab_kernel_is_emulated(const rung_kernel *kernel)
{
    return rung_kernel_describe(kernel)->engine == RUNG_ENGINE_EMULATED;
}

/* ---- Devices ------------------------------------------------------------------------------------- */

static bool is_backend_name(const char *device)
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
        snprintf(text + used, capacity - used, " (did you mean %s?)", nearest);
}

void lab_append_device_suggestion(const char *name, char *text, size_t capacity)
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
    add_suggestion(lab_nearest_word(backend, words, count), text, capacity);
    rung_device_list_destroy(list);
}

void lab_append_kernel_suggestion(rung_context *context, const char *backend, const char *name, char *text,
                                  size_t capacity)
{
    const char *words[LAB_KERNELS_MAX + 1] = {"rung_gemm"};
    rung_kernel *kernel;
    int count = 1;
    for (int64_t i = 0; count <= LAB_KERNELS_MAX && rung_kernel_at(context, backend, i, &kernel) == RUNG_OK; i++)
        words[count++] = rung_kernel_describe(kernel)->name;
    add_suggestion(lab_nearest_word(name, words, count), text, capacity);
}

static bool is_kernel_file(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".cu") == 0);
}

bool lab_list_has_file(const char *list)
{
    while (list && *list) {
        char name[512];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        if (is_kernel_file(name))
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

/* Returns whether a backend has every kernel of a list. Only OpenCL devices compile files by default. */
static bool backend_has_all(const char *backend, const char *list)
{
    while (*list) {
        char name[KERNEL_NAME_BYTES];
        rung_kernel *kernel;
        size_t length = strcspn(list, ",");
        if (length >= sizeof name)
            return false; /* lab_target_kernels() reports the error */
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        bool found = is_kernel_file(name)
                         ? strcmp(backend, "opencl") == 0
                         : strcmp(name, "rung_gemm") == 0 || rung_kernel_find(NULL, backend, name, &kernel) == RUNG_OK;
        if (!found)
            return false;
        list += length + (list[length] == ',');
    }
    return true;
}

/* Returns the device of the options, of RUNG_DEVICE, or the first one that has the kernels. */
static const char *choose_device_name(const lab_options *options, const char *kernels)
{
    const char *environment = getenv("RUNG_DEVICE");
    if (options->device)
        return options->device;
    if (environment && *environment)
        return environment;
    return kernels && !backend_has_all("cpu", kernels) && backend_has_all("opencl", kernels) ? "opencl" : "cpu";
}

/* Prints a line of the library's log. With a log function, the library reports invalid environment variables even
 * without RUNG_VERBOSE. */
static void log_line(void *user, const char *line)
{
    (void)user;
    lab_progress_hide();
    fprintf(stderr, "%s\n", line);
}

int lab_target_open(const lab_options *options, const char *kernels, lab_target *target)
{
    const char *name = choose_device_name(options, kernels);
    rung_context_options context_options = {.size = sizeof(rung_context_options), .device = name, .log = log_line};
    memset(target, 0, sizeof *target);
    if (rung_context_create(&context_options, &target->context) == RUNG_OK &&
        rung_device_open(target->context, name, &target->device) == RUNG_OK &&
        rung_queue_create(target->device, &target->queue) == RUNG_OK)
        return LAB_EXIT_SUCCESS;
    char error[1024];
    bool is_known = is_backend_name(name);
    snprintf(error, sizeof error, "%s", rung_error_text());
    if (!is_known)
        lab_append_device_suggestion(name, error, sizeof error);
    fprintf(stderr, "rung: %s%s\n", error, is_known ? "" : ". Run \"rung devices\" for all devices.");
    return is_known ? LAB_EXIT_UNAVAILABLE : LAB_EXIT_USAGE;
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

bool lab_kernel_open(rung_context *context, const char *backend, const char *name, rung_kernel **kernel, char *error,
                     size_t capacity)
{
    char reason[256];
    size_t length;
    char *text = is_kernel_file(name) ? lab_file_read(name, LAB_KERNEL_BYTES_MAX, &length, reason, sizeof reason)
                                      : NULL;
    *kernel = NULL;
    if (is_kernel_file(name) && !text) {
        snprintf(error, capacity, "%s: %s", name, reason);
        return false;
    }
    rung_status status = text ? rung_kernel_from_source(context, backend, name, text, kernel)
                              : rung_kernel_find(context, backend, name, kernel);
    free(text);
    if (status == RUNG_OK)
        return true;
    snprintf(error, capacity, "%s", rung_error_text());
    if (!is_kernel_file(name))
        lab_append_kernel_suggestion(context, backend, name, error, capacity);
    return false;
}

int64_t lab_kernel_value_or(const rung_kernel *kernel, const char *parameters, rung_type in, const char *name,
                            int64_t otherwise)
{
    int64_t value;
    return rung_kernel_evaluate(kernel, parameters, in, name, &value) == RUNG_OK && value > 0 ? value : otherwise;
}

bool lab_kernel_has_preset(const rung_kernel *kernel, const char *name)
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
    char error[8192];
    if (strcmp(name, "rung_gemm") != 0 &&
        !lab_kernel_open(target->context, backend, name, &found, error, sizeof error)) {
        fprintf(stderr, "rung: %s\n", error);
        return LAB_EXIT_USAGE;
    }
    if (is_kernel_file(name))
        target->owned[target->owned_count++] = found;
    *kernel = found;
    return LAB_EXIT_SUCCESS;
}

int lab_target_kernels(lab_target *target, const char *list, const rung_kernel **kernels, int *count)
{
    const char *backend = rung_device_describe(target->device)->backend;
    int code = LAB_EXIT_SUCCESS;
    *count = 0;
    if (!list) {
        rung_kernel *kernel;
        for (int64_t i = 0; *count < LAB_KERNELS_MAX && rung_kernel_at(target->context, backend, i, &kernel) == RUNG_OK;
             i++)
            if (!lab_kernel_peer_name(kernel))
                kernels[(*count)++] = kernel;
        return LAB_EXIT_SUCCESS;
    }
    while (*list && code == LAB_EXIT_SUCCESS) {
        char name[KERNEL_NAME_BYTES];
        size_t length = strcspn(list, ",");
        if (*count == LAB_KERNELS_MAX) {
            fprintf(stderr, "rung: --kernels names more than %d kernels; name fewer\n", LAB_KERNELS_MAX);
            return LAB_EXIT_USAGE;
        }
        if (length >= sizeof name) {
            fprintf(stderr, "rung: a kernel name or path has %zu bytes; the maximum is %d\n", length,
                    KERNEL_NAME_BYTES - 1);
            return LAB_EXIT_USAGE;
        }
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        code = find_kernel(target, name, &kernels[*count]);
        (*count)++;
        list += length + (list[length] == ',');
    }
    return code;
}

/* Vendor libraries and rung_gemm may use a matrix engine wherever a kernel of the ladder does. The engines of CPUs
 * round each sum, as vector instructions do, and need no larger bound. */
bool lab_kernel_may_use_engine(const lab_target *target, const rung_kernel *kernel)
{
    const char *backend = rung_device_describe(target->device)->backend;
    rung_kernel *ladder_kernel;
    if (strcmp(backend, "cpu") == 0)
        return false;
    if (kernel && rung_kernel_describe(kernel)->number != 0)
        return rung_kernel_describe(kernel)->engine == RUNG_ENGINE_HARDWARE;
    for (int64_t i = 0; rung_kernel_at(target->context, backend, i, &ladder_kernel) == RUNG_OK; i++)
        if (rung_kernel_describe(ladder_kernel)->engine == RUNG_ENGINE_HARDWARE)
            return true;
    return false;
}
