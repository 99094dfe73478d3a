/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - see peers.h. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"
#include "target.h"

/* ---- --peers ---------------------------------------------------------------------------------------- */

static bool is_asked(const char *text, const char *word)
{
    for (size_t length; *text; text += length + (text[length] == ',')) {
        length = strcspn(text, ",");
        if (strlen(word) == length && strncmp(text, word, length) == 0)
            return true;
    }
    return false;
}

static int words_in(const char *text)
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
    for (int64_t i = 0; rung_kernel_at(context, "cpu", i, &kernel) == RUNG_OK; i++) {
        const char *word = lab_peer_of(kernel);
        if (!word || !(all || is_asked(text, word)))
            continue;
        found++;
        if (is_among(kernel, kernels, *count) || *count == capacity)
            continue;
        memmove(kernels + at + 1, kernels + at, (size_t)(*count - at) * sizeof *kernels);
        kernels[at++] = kernel;
        (*count)++;
    }
    return found > 0 && (all || found == words_in(text))
               ? NULL : "--peers is a list of mkl, openblas, blis and onednn, or all";
}

/* ---- The environment -------------------------------------------------------------------------------- */

/* Sets it unless the user has. */
static bool set(lab_settings *settings, const char *name, const char *value, const char *why)
{
    if (getenv(name) || settings->count == LAB_SETTINGS_MAX || setenv(name, value, 1) != 0)
        return false;
    lab_setting *setting = &settings->list[settings->count++];
    snprintf(setting->name, sizeof setting->name, "%s", name);
    snprintf(setting->value, sizeof setting->value, "%s", value);
    snprintf(setting->why, sizeof setting->why, "%s", why);
    return true;
}

static void unset_last(lab_settings *settings)
{
    unsetenv(settings->list[--settings->count].name);
}

/* In the child: what a plan of that kernel says of itself. */
static void tell_doubt(const char *name, int pipe)
{
    rung_context *context = NULL;
    rung_device *device = NULL;
    rung_kernel *kernel = NULL;
    rung_plan *plan = NULL;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 8, 8, NULL);
    rung_problem problem = rung_problem_of(matrix, matrix, matrix);
    rung_context_options options = {.device = "cpu", .verbose = -1};
    if (rung_context_create(&options, &context) == RUNG_OK &&
        rung_device_open(context, "cpu", &device) == RUNG_OK &&
        rung_kernel_find(context, "cpu", name, &kernel) == RUNG_OK &&
        rung_plan_create(device, &problem, &(rung_plan_options){.kernel = kernel, .threads = 1}, &plan) == RUNG_OK) {
        const char *doubt = rung_plan_describe(plan)->doubt;
        if (write(pipe, doubt, strlen(doubt)) < 0)
            _exit(1);
    }
    _exit(0);
}

/* "" if there is none, or it is not here. False if the library did not survive it. */
static bool look(const char *name, char *doubt, size_t capacity)
{
    int ends[2], outcome = -1;
    size_t used = 0;
    ssize_t got;
    *doubt = '\0';
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        tell_doubt(name, ends[1]);
    }
    close(ends[1]);
    while (child > 0 && used + 1 < capacity && (got = read(ends[0], doubt + used, capacity - 1 - used)) > 0)
        used += (size_t)got;
    doubt[used] = '\0';
    close(ends[0]);
    return child > 0 && waitpid(child, &outcome, 0) == child && outcome == 0;
}

/* What helps a library that does not know the processor: by the width of its FMA. */
static const struct {
    const char *kernel, *variable, *at_512, *at_256;
} remedies[] = {
    {"00_vendor:openblas", "OPENBLAS_CORETYPE", "SkylakeX", "Haswell"},
    {"00_vendor:blis", "BLIS_ARCH_TYPE", "0", "3"}, /* skx and haswell in BLIS's list */
};

static void cure(size_t which, lab_settings *settings)
{
    const char *kernel = remedies[which].kernel;
    const char *value = lab_probe_width() == 512 ? remedies[which].at_512 : remedies[which].at_256;
    char doubt[256], why[256], after[256];
    look(kernel, doubt, sizeof doubt);
    snprintf(why, sizeof why, "without it %.*s", (int)strcspn(doubt, ";"), doubt);
    if (!*doubt || !set(settings, remedies[which].variable, value, why))
        return;
    if (!look(kernel, after, sizeof after) || *after)
        unset_last(settings);
}

/* A millisecond is long between two calls and short between two contenders. */
static void calm_threads(lab_settings *settings)
{
    static const char why[] = "its threads then sleep a millisecond after a call, and take nothing from the others";
    set(settings, "KMP_BLOCKTIME", "1", why);             /* MKL: milliseconds; 200 by itself */
    set(settings, "OPENBLAS_THREAD_TIMEOUT", "21", why);  /* 2^21 cycles; 2^26 by itself */
    set(settings, "GOMP_SPINCOUNT", "20000", why);        /* oneDNN: turns of a loop; 300,000 by itself */
}

int64_t lab_peers_rest(void)
{
    return 3000000;
}

void lab_peers_prepare(const rung_kernel *const *kernels, int count, int64_t threads, lab_settings *settings)
{
    bool any = false;
    for (size_t which = 0; which < sizeof remedies / sizeof *remedies; which++) {
        bool is_used = false;
        for (int i = 0; i < count; i++) {
            const rung_kernel_info *info = kernels[i] ? rung_kernel_describe(kernels[i]) : NULL;
            bool is_vendor = info && info->number == 0;
            any = any || is_vendor;
            is_used = is_used || (is_vendor && (!lab_peer_of(kernels[i]) || strcmp(info->name, remedies[which].kernel) == 0));
        }
        if (is_used)
            cure(which, settings);
    }
    if (any && threads != 1)
        calm_threads(settings);
}
