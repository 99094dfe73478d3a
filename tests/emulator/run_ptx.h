/* SPDX-License-Identifier: Apache-2.0 */
/* run_ptx.h - runs a kernel of a PTX text that writes 32-bit words to its only argument. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rung/emulator.h"

#define PTX_HEADER ".version 8.3\n.target sm_86\n.address_size 64\n"

/* Begins a kernel with %rd1 = output + 4 * tid.x, %t = tid.x and some registers. */
#define PTX_KERNEL                                                          \
    ".visible .entry k(.param .u64 out)\n{\n"                               \
    ".reg .pred %p<8>; .reg .b32 %r<32>; .reg .b32 %t; .reg .b64 %rd<8>;\n" \
    "mov.u32 %t, %tid.x;\nld.param.u64 %rd0, [out];\nmul.wide.u32 %rd1, %t, 4;\nadd.s64 %rd1, %rd0, %rd1;\n"

/* What a launch did. */
typedef struct run {
    rung_status status;
    int64_t findings;
    char error[256], output[512];    /* of a failed launch; of printf */
    rung_emulator_finding_kind kind; /* of the first finding */
} run_t;

/* Runs kernel k on one block, with all words of `out` 0 before. */
static inline run_t run_ptx(const char *text, uint32_t threads, uint32_t *out, int64_t words, uint32_t checks,
                            int64_t max_instructions)
{
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t address;
    run_t run = {0};
    rung_emulator_options options = rung_emulator_options_default();
    options.threads = 1;
    options.checks = checks;
    options.max_instructions = max_instructions;
    options.output = tmpfile();
    assert_non_null(options.output);
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "test.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    assert_int_equal(rung_emulator_kernel_find(module, "k", &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 4 * words, "out", &address), RUNG_OK);
    assert_int_equal(rung_emulator_fill(emulator, address, 0, 4, words), RUNG_OK);
    void *arguments[] = {&address};
    rung_emulator_launch launch = rung_emulator_launch_of(1, threads, arguments);
    run.status = rung_emulator_launch_kernel(kernel, &launch);
    if (run.status != RUNG_OK)
        snprintf(run.error, sizeof run.error, "%s", rung_error_text());
    run.findings = rung_emulator_finding_count(emulator);
    if (run.findings > 0)
        run.kind = rung_emulator_finding_at(emulator, 0)->kind;
    assert_int_equal(rung_emulator_read(emulator, address, out, 4 * words), RUNG_OK);
    rung_emulator_destroy(emulator);
    rewind(options.output);
    size_t length = fread(run.output, 1, sizeof run.output - 1, options.output);
    run.output[length] = 0;
    fclose(options.output);
    return run;
}
