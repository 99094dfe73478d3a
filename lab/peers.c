/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - see peers.h. */
#define _GNU_SOURCE /* pipe2 */
#include "peers.h"

#include <fcntl.h>
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
        if (is_among(kernel, kernels, *count))
            continue;
        if (*count == capacity)
            return "there are too many kernels to add --peers; give fewer in --kernels";
        memmove(kernels + at + 1, kernels + at, (size_t)(*count - at) * sizeof *kernels);
        kernels[at++] = kernel;
        (*count)++;
    }
    return found > 0 && (all || found == words_in(text))
               ? NULL
               : "--peers is a list of mkl, openblas, blis and onednn, or all";
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

/* What a library says of itself in another process. */
typedef struct peer_look {
    bool is_here;    /* a plan could be made */
    bool is_alive;   /* the process ended by itself */
    char doubt[256]; /* see rung_plan_info */
} peer_look_t;

enum { LOOK_SECONDS = 60 }; /* after which a library that does not answer counts as dead */

/* In the child: writes "+" and the doubt of a plan with that kernel, nothing where there is no plan. */
static void tell_doubt(const char *name, int pipe)
{
    rung_context *context = NULL;
    rung_device *device = NULL;
    rung_kernel *kernel = NULL;
    rung_plan *plan = NULL;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 8, 8, NULL);
    rung_problem problem = rung_problem_of(matrix, matrix, matrix);
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    alarm(LOOK_SECONDS);
    if (rung_context_create(&options, &context) == RUNG_OK && rung_device_open(context, "cpu", &device) == RUNG_OK &&
        rung_kernel_find(context, "cpu", name, &kernel) == RUNG_OK &&
        rung_plan_create(device, &problem,
                         &(rung_plan_options){.size = sizeof(rung_plan_options), .kernel = kernel, .threads = 1},
                         &plan) == RUNG_OK) {
        const char *doubt = rung_plan_describe(plan)->warning;
        if (write(pipe, "+", 1) != 1 || write(pipe, doubt, strlen(doubt)) < 0)
            _exit(1);
    }
    _exit(0);
}

/* Loads the library of a kernel in a process of its own, since it reads the environment once. */
static peer_look_t look(const char *name)
{
    peer_look_t found = {0};
    char text[sizeof found.doubt + 1];
    int ends[2], outcome = -1;
    size_t used = 0;
    ssize_t got;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return found;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        tell_doubt(name, ends[1]);
    }
    close(ends[1]);
    while (child > 0 && used + 1 < sizeof text && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    found.is_alive = child > 0 && waitpid(child, &outcome, 0) == child && outcome == 0;
    found.is_here = found.is_alive && used > 0;
    if (found.is_here)
        snprintf(found.doubt, sizeof found.doubt, "%s", text + 1);
    return found;
}

/* ---- Which libraries are measured --------------------------------------------------------------------- */

/* Returns whether kernel 00_vendor, which takes the first library that is found, or RUNG_CPU_VENDOR, takes this one. A
 * path may be any library. */
static bool is_first(const char *name)
{
    const char *wanted = getenv("RUNG_CPU_VENDOR");
    rung_kernel *kernel;
    if (wanted && strchr(wanted, '/'))
        return look("00_vendor").is_here;
    if (wanted && *wanted)
        return strcmp(strchr(name, ':') + 1, wanted) == 0 && look(name).is_here;
    for (int64_t i = 0; rung_kernel_at(NULL, "cpu", i, &kernel) == RUNG_OK; i++)
        if (lab_peer_of(kernel) && look(rung_kernel_describe(kernel)->name).is_here)
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
            return look(name).is_here;
        any = any || (info && info->number == 0 && !lab_peer_of(kernels[i]));
    }
    return any && is_first(name);
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
    char why[256];
    peer_look_t before = look(kernel);
    snprintf(why, sizeof why, "without it %.*s", (int)strcspn(before.doubt, ";"), before.doubt);
    if (!*before.doubt || !set(settings, remedies[which].variable, value, why))
        return;
    peer_look_t after = look(kernel);
    if (!after.is_alive || *after.doubt)
        unset_last(settings);
}

/* How long the threads of a library wait in a loop for more work after a call. A millisecond is long between two calls
 * and short between two contenders. */
static const struct {
    const char *kernel, *variable, *value;
} waits[] = {
    {"00_vendor:mkl", "KMP_BLOCKTIME", "1"},                 /* milliseconds; 200 by itself */
    {"00_vendor:openblas", "OPENBLAS_THREAD_TIMEOUT", "21"}, /* 2^21 cycles; 2^26 by itself */
    {"00_vendor:onednn", "GOMP_SPINCOUNT", "20000"},         /* iterations of a loop; 300,000 by itself */
};

int64_t lab_peers_rest(void)
{
    return 3000000;
}

void lab_peers_prepare(const rung_kernel *const *kernels, int count, int64_t threads, lab_settings *settings)
{
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        if (is_measured(kernels, count, remedies[i].kernel))
            cure(i, settings);
    for (size_t i = 0; threads != 1 && i < sizeof waits / sizeof *waits; i++)
        if (is_measured(kernels, count, waits[i].kernel))
            set(settings, waits[i].variable, waits[i].value,
                "the library's threads then sleep a millisecond after a call, and do not disturb the other kernels");
}
