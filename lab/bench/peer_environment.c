/* SPDX-License-Identifier: Apache-2.0 */
/* peer_environment.c - see peer_environment.h. */
#include "bench/peer_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/cpu_probe.h"
#include "process/supervise.h"
#include "target/target.h"

/* ---- --peers ---------------------------------------------------------------------------------------- */

static bool is_in_list(const char *text, const char *word)
{
    for (size_t length; *text; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (strlen(word) == length && strncmp(text, word, length) == 0)
            return true;
    }
    return false;
}

static int word_count(const char *text)
{
    int words = *text ? 1 : 0;
    for (; *text; text++)
        words += *text == ',';
    return words;
}

static bool is_among(const rung_kernel *kernel, const rung_kernel *const *kernels, int count)
{
    for (int i = 0; i < count; i++)
        if (kernels[i] == kernel)
            return true;
    return false;
}

const char *lab_peers_add(rung_context *context, const char *text, const rung_kernel **kernels, int capacity,
                          int *count)
{
    rung_kernel *kernel;
    int found = 0, at = 0;
    bool all = strcmp(text, "all") == 0;
    rung_status status;
    for (int64_t i = 0; (status = rung_kernel_at(context, "cpu", i, &kernel)) == RUNG_OK; i++) {
        const char *word = lab_kernel_peer_name(kernel);
        if (!word || !(all || is_in_list(text, word)))
            continue;
        found++;
        if (is_among(kernel, kernels, *count))
            continue;
        if (*count == capacity)
            return "--kernels and --peers give more than 64 kernels; give fewer";
        memmove(kernels + at + 1, kernels + at, (size_t)(*count - at) * sizeof *kernels);
        kernels[at++] = kernel;
        (*count)++;
    }
    if (status != RUNG_STATUS_NOT_FOUND)
        return rung_error_text();
    return found > 0 && (all || found == word_count(text))
               ? NULL
               : "--peers must be all, or a list of mkl, openblas, blis, onednn and ggml";
}

/* ---- The environment -------------------------------------------------------------------------------- */

/* Sets a variable unless the user has set it. */
static bool set_variable(lab_env_settings *settings, const char *name, const char *value, const char *why)
{
    if (getenv(name) || settings->count == LAB_ENV_SETTINGS_MAX || setenv(name, value, 1) != 0)
        return false;
    lab_env_setting *setting = &settings->list[settings->count++];
    setting->name = name;
    setting->value = value;
    snprintf(setting->why, sizeof setting->why, "%s", why);
    return true;
}

/* What a library reports about itself in another process. */
typedef struct library_probe {
    bool is_installed;    /* a plan could be created */
    bool exited_normally; /* the process ended by itself */
    char warning[256];    /* see rung_plan_info */
} library_probe_t;

enum { PROBE_SECONDS_MAX = 60 }; /* a library that needs longer counts as not installed */

/* Runs in the child: creates a plan with this kernel and copies its warning. */
static void examine_library(const char *name, library_probe_t *found)
{
    rung_context *context = NULL;
    rung_device *device = NULL;
    rung_kernel *kernel = NULL;
    rung_plan *plan = NULL;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 32, 32, NULL);
    rung_matrix blocks = rung_matrix_transpose(rung_matrix_of(RUNG_Q8_0, 32, 32, NULL));
    rung_problem problem = rung_problem_of(matrix, matrix, matrix);
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    alarm(PROBE_SECONDS_MAX);
    if (rung_context_create(&options, &context) == RUNG_OK && rung_device_open(context, "cpu", &device) == RUNG_OK &&
        rung_kernel_find(context, "cpu", name, &kernel) == RUNG_OK) {
        rung_plan_options plan_options = {.size = sizeof(rung_plan_options), .kernel = kernel, .threads = 1};
        if (!rung_kernel_supports(kernel, RUNG_F32, RUNG_F32, RUNG_F32, NULL)) {
            problem.b = blocks;
            problem.compute = RUNG_COMPUTE_Q8;
        }
        found->is_installed = rung_plan_create(device, &problem, &plan_options, &plan) == RUNG_OK;
        if (found->is_installed)
            snprintf(found->warning, sizeof found->warning, "%s", rung_plan_describe(plan)->warning);
    }
    _exit(0);
}

/* Loads the library of a kernel in a child process, since a library reads the environment once. */
static library_probe_t probe_library(const char *name)
{
    library_probe_t found = {0}, *shared = lab_shared_memory_allocate(sizeof *shared);
    int outcome = -1;
    pid_t child = shared ? fork() : -1;
    if (child == 0)
        examine_library(name, shared);
    if (child > 0 && waitpid(child, &outcome, 0) == child && outcome == 0) {
        found = *shared;
        found.exited_normally = true;
    }
    if (shared)
        lab_shared_memory_free(shared, sizeof *shared);
    return found;
}

/* ---- Which libraries are measured --------------------------------------------------------------------- */

/* Returns whether kernel 00_vendor, which takes the first library that is found, or RUNG_CPU_VENDOR, takes this one. A
 * path may be any library. */
static bool is_default_vendor(const char *name)
{
    const char *wanted = getenv("RUNG_CPU_VENDOR");
    rung_kernel *kernel;
    if (wanted && strchr(wanted, '/'))
        return probe_library("00_vendor").is_installed;
    if (wanted && *wanted)
        return strcmp(strchr(name, ':') + 1, wanted) == 0 && probe_library(name).is_installed;
    for (int64_t i = 0; rung_kernel_at(NULL, "cpu", i, &kernel) == RUNG_OK; i++)
        if (lab_kernel_peer_name(kernel) && rung_kernel_supports(kernel, RUNG_F32, RUNG_F32, RUNG_F32, NULL) &&
            probe_library(rung_kernel_describe(kernel)->name).is_installed)
            return strcmp(rung_kernel_describe(kernel)->name, name) == 0;
    return false;
}

/* Returns whether one of the kernels runs this library, which is installed. */
static bool is_measured(const rung_kernel *const *kernels, int count, const char *name)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        const rung_kernel_info *info = kernels[i] ? rung_kernel_describe(kernels[i]) : NULL;
        if (info && strcmp(info->name, name) == 0)
            return probe_library(name).is_installed;
        any = any || (info && info->number == 0 && !lab_kernel_peer_name(kernels[i]));
    }
    return any && is_default_vendor(name);
}

/* The variables that select a processor type, with the values for FMA of 512 and of 256 bits. */
static const struct {
    const char *kernel, *variable, *at_512, *at_256;
} core_types[] = {
    {"00_vendor:openblas", "OPENBLAS_CORETYPE", "SkylakeX", "Haswell"},
    {"00_vendor:blis", "BLIS_ARCH_TYPE", "0", "3"}, /* skx and haswell in BLIS's list */
};

static void set_core_type(size_t which, lab_env_settings *settings)
{
    const char *kernel = core_types[which].kernel;
    const char *value = lab_cpu_fma_bits() == 512 ? core_types[which].at_512 : core_types[which].at_256;
    char why[256];
    library_probe_t before = probe_library(kernel);
    snprintf(why, sizeof why, "without it %.*s", (int)strcspn(before.warning, ";"), before.warning);
    if (!*before.warning || !set_variable(settings, core_types[which].variable, value, why))
        return;
    library_probe_t after = probe_library(kernel);
    if (!after.exited_normally || *after.warning)
        unsetenv(settings->list[--settings->count].name);
}

/* How long the threads of a library wait in a loop for more work after a call. A millisecond is long between two calls
 * and short between two contenders. */
static const struct {
    const char *kernel, *variable, *value;
} spin_limits[] = {
    {"00_vendor:mkl", "KMP_BLOCKTIME", "1"},                 /* milliseconds; 200 by itself */
    {"00_vendor:openblas", "OPENBLAS_THREAD_TIMEOUT", "21"}, /* 2^21 cycles; 2^26 by itself */
    {"00_vendor:onednn", "GOMP_SPINCOUNT", "20000"},         /* iterations of a loop; 300,000 by itself */
    {"00_vendor:ggml", "GOMP_SPINCOUNT", "20000"},           /* if it is compiled with OpenMP */
};

void lab_peers_prepare(const rung_kernel *const *kernels, int count, int64_t threads, lab_env_settings *settings)
{
    for (size_t i = 0; i < sizeof core_types / sizeof *core_types; i++)
        if (is_measured(kernels, count, core_types[i].kernel))
            set_core_type(i, settings);
    for (size_t i = 0; threads != 1 && i < sizeof spin_limits / sizeof *spin_limits; i++)
        if (!getenv(spin_limits[i].variable) && is_measured(kernels, count, spin_limits[i].kernel))
            set_variable(
                settings, spin_limits[i].variable, spin_limits[i].value,
                "the library's threads then sleep a millisecond after a call and do not disturb other kernels");
}
