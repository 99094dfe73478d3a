/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_run.h - runs the kernels of hopper_*.cu, which are templates with the number of a planted bug, and judges the
 * findings. */
#pragma once

#include "support/unit.h"

#include <stdio.h>

#include "rung/emulator.h"

#ifndef EMULATOR_TEST_DIR
#define EMULATOR_TEST_DIR "tests/emulator"
#endif

/* One run of a kernel. */
typedef struct hopper_case {
    const char *kernel;
    int bug; /* 0: none */
    rung_emulator_finding_kind kind;
    uint32_t threads, grid[2], cluster[2];
    bool fails; /* the launch fails */
} hopper_case_t;

typedef struct hopper {
    rung_emulator *emulator;
    rung_emulator_module *module;
    char *source; /* text of the .cu file */
} hopper_t;

/* Reads a file beside this one into memory that the caller frees. */
static inline char *hopper_read(const char *name, size_t *bytes)
{
    enum { BYTES_MAX = 4 << 20 };
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", EMULATOR_TEST_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(BYTES_MAX);
    assert_non_null(text);
    *bytes = fread(text, 1, BYTES_MAX - 1, file);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

/* Creates an emulator with the module name.ptx. */
static inline hopper_t hopper_create(const char *name, uint32_t checks, int64_t threads)
{
    hopper_t hopper = {0};
    size_t bytes;
    char file[64];
    rung_emulator_options options = rung_emulator_options_default();
    options.checks = checks;
    options.threads = threads;
    options.memory_bytes = 1 << 26;
    options.max_instructions = 10 * 1000 * 1000;
    assert_int_equal(rung_emulator_create(&options, &hopper.emulator), RUNG_OK);
    snprintf(file, sizeof file, "%s.cu", name);
    hopper.source = hopper_read(file, &bytes);
    snprintf(file, sizeof file, "%s.ptx", name);
    char *text = hopper_read(file, &bytes);
    if (rung_emulator_module_load(hopper.emulator, file, text, bytes, &hopper.module) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    free(text);
    return hopper;
}

static inline void hopper_destroy(hopper_t *hopper)
{
    rung_emulator_destroy(hopper->emulator);
    free(hopper->source);
}

/* Finds variant `bug` of a template. */
static inline rung_emulator_kernel *hopper_find(const hopper_t *hopper, const char *name, int bug)
{
    char prefix[128];
    snprintf(prefix, sizeof prefix, "_Z%zu%sILi%dEE", strlen(name), name, bug);
    for (int64_t i = 0; i < rung_emulator_kernel_count(hopper->module); i++) {
        rung_emulator_kernel *kernel = rung_emulator_kernel_at(hopper->module, i);
        if (strncmp(rung_emulator_kernel_get_info(kernel)->name, prefix, strlen(prefix)) == 0)
            return kernel;
    }
    fail_msg("no kernel %s<%d>", name, bug);
    return NULL;
}

static inline uint64_t hopper_allocate(const hopper_t *hopper, const char *name, const void *data, int64_t bytes)
{
    uint64_t address;
    assert_int_equal(rung_emulator_allocate(hopper->emulator, bytes, name, &address), RUNG_OK);
    if (data)
        assert_int_equal(rung_emulator_write(hopper->emulator, address, data, bytes), RUNG_OK);
    else
        assert_int_equal(rung_emulator_fill(hopper->emulator, address, 0, 1, bytes), RUNG_OK);
    return address;
}

static inline void hopper_launch(const hopper_t *hopper, const hopper_case_t *test, void *const *arguments,
                                 int64_t shared_bytes)
{
    rung_emulator_launch launch = rung_emulator_launch_of(test->grid[0], test->threads, arguments);
    launch.grid[1] = test->grid[1] ? test->grid[1] : 1;
    launch.dynamic_shared_bytes = shared_bytes;
    for (int i = 0; i < 2; i++)
        launch.cluster[i] = test->cluster[i];
    rung_status status = rung_emulator_launch_kernel(hopper_find(hopper, test->kernel, test->bug), &launch);
    if (status != RUNG_OK && test->bug && !test->fails)
        print_message("%s<%d> also fails: %s\n", test->kernel, test->bug, rung_error_text());
    else if (status != (test->fails ? RUNG_STATUS_DEVICE_LOST : RUNG_OK))
        fail_msg("%s<%d>: status %d: %s", test->kernel, test->bug, (int)status, rung_error_text());
}

/* Returns the line of "// MARK kernel bug", or 0. */
static inline int hopper_line(const char *text, const char *mark, const hopper_case_t *test)
{
    char wanted[128];
    int line = 1;
    snprintf(wanted, sizeof wanted, "// %s %s %d", mark, test->kernel, test->bug);
    const char *found = strstr(text, wanted);
    for (const char *c = text; found && c < found; c++)
        line += *c == '\n';
    return found ? line : 0;
}

static inline void hopper_print(const hopper_t *hopper)
{
    for (int64_t i = 0; i < rung_emulator_finding_count(hopper->emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(hopper->emulator, i);
        print_message("  %s %s:%d (other %d) x%lld: %s\n", rung_emulator_finding_name(finding->kind), finding->kernel,
                      finding->place.line, finding->other.line, (long long)finding->count, finding->text);
    }
}

/* Fails unless the findings are those of the case: none, or one of the kind at the lines of the bug, and no other. */
static inline void hopper_judge(const hopper_t *hopper, const hopper_case_t *test)
{
    int line = hopper_line(hopper->source, "BUG", test), other = hopper_line(hopper->source, "OTHER", test);
    int64_t count = rung_emulator_finding_count(hopper->emulator);
    bool is_right = test->bug ? false : count == 0;
    for (int64_t i = 0; test->bug && i < count; i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(hopper->emulator, i);
        is_right = is_right || (finding->kind == test->kind && finding->place.line == line &&
                                (!other || finding->other.line == other));
    }
    if (!is_right || getenv("VERBOSE")) {
        print_message("%s<%d>: line %d, other line %d expected\n", test->kernel, test->bug, line, other);
        hopper_print(hopper);
    }
    assert_true(is_right);
}
