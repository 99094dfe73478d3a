/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - see target.h. */
#include "target/target.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest_word.h"
#include "cli/progress_line.h"
#include "common/text.h"
#include "io/input_file.h"
#include "target/parameters.h"

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

int lab_fail(int code, const char *format, ...)
{
    va_list arguments;
    lab_progress_hide();
    va_start(arguments, format);
    fputs("rung: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return code;
}

int lab_exit_code(rung_status status)
{
    switch (status) {
    case RUNG_OK: return LAB_EXIT_SUCCESS;
    case RUNG_STATUS_CANCELLED: return LAB_EXIT_INTERRUPTED;
    case RUNG_STATUS_DEVICE_LOST:
    case RUNG_STATUS_COMPILE_FAILED:
    case RUNG_STATUS_NO_MEMORY: return LAB_EXIT_WRONG;
    default: return LAB_EXIT_USAGE;
    }
}

/* Marks the type or compute mode that a word names. Returns false if the word is unknown. */
static bool mark_dtype(rungi_string_view word, bool products[LAB_TYPE_PAIRS_MAX], bool modes[LAB_COMPUTE_COUNT])
{
    lab_type_pair product;
    if (lab_type_pair_find(word.text, word.length, &product))
        return products[lab_type_pair_index(product)] = true;
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT; i++)
        if (rungi_string_view_equals(word, rung_compute_name((rung_compute)i)))
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
static const char *unknown_dtype_text(rungi_string_view word, bool takes_mixed)
{
    static char error[768];
    snprintf(error, sizeof error, "unknown type \"%.*s\" in --dtype; use", (int)(word.length < 40 ? word.length : 40),
             word.text);
    for (int i = 0; i < lab_type_pair_count(); i++)
        lab_append(error, sizeof error, "%s %s", i ? "," : "", lab_type_pair_name(lab_type_pair_at(i)));
    for (int i = RUNG_COMPUTE_STRICT + 1; i < LAB_COMPUTE_COUNT; i++)
        lab_append(error, sizeof error, "%s %s",
                   i == RUNG_COMPUTE_STRICT + 1 ? " (input:output), or a compute mode of f32:" : ",",
                   rung_compute_name((rung_compute)i));
    if (takes_mixed)
        lab_append(error, sizeof error, "; for a quantized B use A*B or A*B:C, such as %s",
                   lab_type_pair_name((lab_type_pair){.in = RUNG_F32, .out = RUNG_F32, .b = RUNG_Q8_0}));
    return error;
}

/* Returns the error text for a type with a quantized B, in static memory. */
static const char *mixed_dtype_text(lab_type_pair product)
{
    static char error[160];
    snprintf(error, sizeof error, "%s in --dtype has a quantized B, which only rung verify and rung bench support",
             lab_type_pair_name(product));
    return error;
}

/* Marks the types and modes of --dtype. Returns NULL or an error text. */
static const char *mark_dtypes(const char *text, bool takes_mixed, bool products[LAB_TYPE_PAIRS_MAX],
                               bool modes[LAB_COMPUTE_COUNT])
{
    rungi_string_view word = {"", 0};
    if (text && !*text)
        return unknown_dtype_text(word, takes_mixed);
    while (lab_list_next(&text, &word))
        if (!mark_dtype(word, products, modes))
            return unknown_dtype_text(word, takes_mixed);
    for (int i = lab_type_pair_count(); !takes_mixed && i < lab_type_pair_total(); i++)
        if (products[i])
            return mixed_dtype_text(lab_type_pair_at(i));
    return NULL;
}

static const char *parse_dtypes(const lab_options *options, bool takes_mixed, rung_compute *compute,
                                lab_dtype dtypes[LAB_DTYPES_MAX], int *count)
{
    const lab_type_pair f32 = lab_type_pair_of(RUNG_F32, RUNG_F32);
    bool products[LAB_TYPE_PAIRS_MAX] = {false}, modes[LAB_COMPUTE_COUNT] = {false};
    *count = 0;
    if (!read_compute(options->compute, compute)) {
        static char error[128];
        snprintf(error, sizeof error, "--compute is \"%.40s\"; use strict, bf16x3, tf32x3, tf32, bf16x1 or q8",
                 options->compute);
        return error;
    }
    products[lab_type_pair_index(f32)] = !options->dtype;
    const char *error = mark_dtypes(options->dtype, takes_mixed, products, modes);
    if (error)
        return error;
    for (int i = 0; i < lab_type_pair_total(); i++)
        if (products[i])
            dtypes[(*count)++] = (lab_dtype){lab_type_pair_at(i), *compute, lab_type_pair_name(lab_type_pair_at(i))};
    for (int i = 0; i < LAB_COMPUTE_COUNT; i++)
        if (modes[i] && !(products[lab_type_pair_index(f32)] && i == (int)*compute))
            dtypes[(*count)++] = (lab_dtype){f32, (rung_compute)i, rung_compute_name((rung_compute)i)};
    return NULL;
}

const char *lab_parse_dtypes(const lab_options *options, rung_compute *compute, lab_dtype dtypes[LAB_DTYPES_MAX],
                             int *count)
{
    return parse_dtypes(options, false, compute, dtypes, count);
}

const char *lab_parse_mixed_dtypes(const lab_options *options, rung_compute *compute, lab_dtype dtypes[LAB_DTYPES_MAX],
                                   int *count)
{
    return parse_dtypes(options, true, compute, dtypes, count);
}

const char *lab_parse_single_dtype(const lab_options *options, const char *several_error, lab_dtype *dtype)
{
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    int count;
    const char *error = lab_parse_dtypes(options, &compute, dtypes, &count);
    if (error)
        return error;
    *dtype = dtypes[0];
    return count == 1 ? NULL : several_error;
}

bool lab_compute_is_as_precise(rung_compute mode, rung_compute requested)
{
    static const int ranks[LAB_COMPUTE_COUNT] = {
        /* 1 is the most precise */
        [RUNG_COMPUTE_STRICT] = 1, [RUNG_COMPUTE_BF16X3] = 2, [RUNG_COMPUTE_TF32X3] = 3,
        [RUNG_COMPUTE_TF32] = 4,   [RUNG_COMPUTE_BF16X1] = 5, [RUNG_COMPUTE_Q8] = 6,
    };
    int first = (int)mode, second = (int)requested;
    return first >= 0 && first < LAB_COMPUTE_COUNT && second >= 0 && second < LAB_COMPUTE_COUNT &&
           ranks[first] <= ranks[second];
}

bool lab_dtype_has_modes(const lab_dtype *dtype)
{
    return dtype->product.in == RUNG_F32 || lab_type_pair_is_mixed(dtype->product);
}

bool lab_kernel_accepts_dtype(const rung_kernel *kernel, const lab_dtype *dtype)
{
    const lab_type_pair product = dtype->product;
    return !kernel || (rung_kernel_supports(kernel, product.in, lab_type_pair_b(product), product.out, NULL) &&
                       (!lab_dtype_has_modes(dtype) || rung_kernel_computes(kernel, dtype->compute, NULL)));
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

lab_backends lab_backends_find(const char *device)
{
    rung_device_list *list = NULL;
    lab_backends found = {.status = rung_device_list_create(NULL, &list)};
    for (int64_t i = 0; i < rung_device_list_count(list) && found.count < LAB_BACKENDS_MAX; i++) {
        const char *backend = rung_device_list_at(list, i)->backend;
        bool is_new = found.count == 0 || strcmp(found.names[found.count - 1], backend) != 0; /* devices are sorted */
        if (is_new &&
            (!device || rungi_string_view_equals(rungi_string_view_of(device, strcspn(device, ":")), backend)))
            snprintf(found.names[found.count++], sizeof found.names[0], "%s", backend);
    }
    rung_device_list_destroy(list);
    return found;
}

static void append_suggestion(const char *word, const char *const *words, int count, char *text, size_t capacity)
{
    const char *nearest = lab_nearest_word(word, words, count);
    if (nearest)
        lab_append(text, capacity, " (did you mean %s?)", nearest);
}

void lab_append_device_suggestion(const char *name, char *text, size_t capacity)
{
    const lab_backends backends = lab_backends_find(NULL);
    const char *words[LAB_BACKENDS_MAX];
    char backend[64];
    for (int i = 0; i < backends.count; i++)
        words[i] = backends.names[i];
    snprintf(backend, sizeof backend, "%.*s", (int)strcspn(name, ":"), name);
    append_suggestion(backend, words, backends.count, text, capacity);
}

void lab_append_kernel_suggestion(rung_context *context, const char *backend, const char *name, char *text,
                                  size_t capacity)
{
    const char *words[LAB_KERNELS_MAX + 1] = {"rung_gemm"};
    rung_kernel *kernel;
    int count = 1;
    for (int64_t i = 0; count <= LAB_KERNELS_MAX && rung_kernel_at(context, backend, i, &kernel) == RUNG_OK; i++)
        words[count++] = rung_kernel_describe(kernel)->name;
    append_suggestion(name, words, count, text, capacity);
}

static bool is_file_name(rungi_string_view name)
{
    return memchr(name.text, '/', name.length) ||
           (name.length > 3 && memcmp(name.text + name.length - 3, ".cu", 3) == 0);
}

static bool is_kernel_file(const char *name)
{
    return is_file_name(rungi_string_view_of(name, strlen(name)));
}

bool lab_list_has_file(const char *list)
{
    rungi_string_view name;
    while (lab_list_next(&list, &name))
        if (is_file_name(name))
            return true;
    return false;
}

/* Returns whether a backend has every kernel of a list. Only OpenCL devices compile files by default. */
static bool backend_has_all(const char *backend, const char *list)
{
    rungi_string_view word;
    while (lab_list_next(&list, &word)) {
        char name[KERNEL_NAME_BYTES];
        rung_kernel *kernel;
        if (word.length >= sizeof name)
            return false; /* lab_target_kernels() reports the error */
        snprintf(name, sizeof name, "%.*s", (int)word.length, word.text);
        bool found = is_kernel_file(name)
                         ? strcmp(backend, "opencl") == 0
                         : strcmp(name, "rung_gemm") == 0 || rung_kernel_find(NULL, backend, name, &kernel) == RUNG_OK;
        if (!found)
            return false;
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
    const lab_backends backends = lab_backends_find(name);
    bool is_known = backends.status != RUNG_OK || backends.count > 0;
    snprintf(error, sizeof error, "%s", rung_error_text());
    if (!is_known)
        lab_append_device_suggestion(name, error, sizeof error);
    return lab_fail(is_known ? LAB_EXIT_UNAVAILABLE : LAB_EXIT_USAGE, "%s%s", error,
                    is_known ? "" : ". Run \"rung devices\" for all devices.");
}

int lab_targets_open(const lab_options *options, const char *command, lab_target *targets, int capacity, int *count)
{
    const char *list = choose_device_name(options, NULL);
    lab_options single = *options;
    char message[128], name[64];
    rungi_string_view word;
    *count = 0;
    if (!*list)
        return lab_usage_error(command, "--device is empty; name a device, or leave the option out for the CPU");
    while (lab_list_next(&list, &word)) {
        if (word.length >= sizeof name)
            return lab_usage_error(
                command, "--device lists a name of more than 63 letters; names are like opencl:1, see rung devices");
        if (*count == capacity) {
            snprintf(message, sizeof message, "--device lists more than %d devices; the maximum is %d", capacity,
                     capacity);
            return lab_usage_error(command, message);
        }
        snprintf(name, sizeof name, "%.*s", (int)word.length, word.text);
        single.device = name;
        int code = lab_target_open(&single, NULL, &targets[*count]);
        if (code != LAB_EXIT_SUCCESS) {
            lab_target_close(&targets[*count]);
            return code;
        }
        (*count)++;
    }
    return LAB_EXIT_SUCCESS;
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
    return lab_kernel_has_parameter(kernel, &(lab_parameter_word){.name = rungi_string_view_of(name, strlen(name))});
}

static int find_kernel(lab_target *target, const char *name, const rung_kernel **kernel)
{
    const char *backend = rung_device_describe(target->device)->backend;
    rung_kernel *found = NULL;
    char error[8192];
    if (strcmp(name, "rung_gemm") != 0 && !lab_kernel_open(target->context, backend, name, &found, error, sizeof error))
        return lab_fail(LAB_EXIT_USAGE, "%s", error);
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
        rung_status status = RUNG_OK;
        for (int64_t i = 0; *count < LAB_KERNELS_MAX && status == RUNG_OK; i++) {
            status = rung_kernel_at(target->context, backend, i, &kernel);
            if (status == RUNG_OK && !lab_kernel_peer_name(kernel))
                kernels[(*count)++] = kernel;
        }
        return status == RUNG_OK || status == RUNG_STATUS_NOT_FOUND ? LAB_EXIT_SUCCESS
                                                                    : lab_fail(LAB_EXIT_USAGE, "%s", rung_error_text());
    }
    rungi_string_view word;
    while (code == LAB_EXIT_SUCCESS && lab_list_next(&list, &word)) {
        char name[KERNEL_NAME_BYTES];
        if (*count == LAB_KERNELS_MAX)
            return lab_fail(LAB_EXIT_USAGE, "--kernels names more than %d kernels; name fewer", LAB_KERNELS_MAX);
        if (word.length >= sizeof name)
            return lab_fail(LAB_EXIT_USAGE, "a kernel name or path has %zu bytes; the maximum is %d", word.length,
                            KERNEL_NAME_BYTES - 1);
        snprintf(name, sizeof name, "%.*s", (int)word.length, word.text);
        code = find_kernel(target, name, &kernels[(*count)++]);
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
