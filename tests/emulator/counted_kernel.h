/* SPDX-License-Identifier: Apache-2.0 */
/* counted_kernel.h - runs small PTX kernels with counts, for the tests of the counts. */
#pragma once

#include <stdio.h>

#include "rung/emulator.h"
#include "support/unit.h"

enum { LANES = 32, TEXT_BYTES = 16384 };

/* Each kernel gets the address of `x` in %rd1, 4 * tid in %r2 and %rd2, and table[tid] in %r3 and %rd3. */
static const char module_start[] = ".version 8.0\n.target sm_86\n.address_size 64\n";
static const char kernel_start[] =
    ".visible .entry %s(.param .u64 x, .param .u64 table)\n{\n"
    ".reg .pred %%p<8>; .reg .b16 %%h<16>; .reg .b32 %%r<32>; .reg .f32 %%f<32>; .reg .b64 %%rd<16>; .reg .f64 %%d<8>;\n"
    ".shared .align 16 .b8 first[49152];\n"
    "ld.param.u64 %%rd1, [x];\nld.param.u64 %%rd4, [table];\nmov.u32 %%r1, %%tid.x;\nshl.b32 %%r2, %%r1, 2;\n"
    "cvt.u64.u32 %%rd2, %%r2;\nadd.u64 %%rd5, %%rd4, %%rd2;\nld.const.u32 %%r3, [%%rd5];\ncvt.u64.u32 %%rd3, %%r3;\n"
    "mov.u32 %%r4, first;\nadd.u64 %%rd6, %%rd1, %%rd2;\nadd.u64 %%rd7, %%rd1, %%rd3;\nadd.u32 %%r5, %%r4, %%r3;\n";

typedef struct machine {
    rung_emulator *emulator;
    rung_emulator_module *module;
    uint64_t x, y, table;
} machine_t;

static inline machine_t create_machine(int64_t threads)
{
    machine_t machine = {0};
    rung_emulator_options options = rung_emulator_options_default();
    options.memory_bytes = 1 << 24;
    options.threads = threads;
    options.count_accesses = true;
    assert_int_equal(rung_emulator_create(&options, &machine.emulator), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(machine.emulator, 65536, "x", &machine.x), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(machine.emulator, 65536, "y", &machine.y), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(machine.emulator, 4096, "table", &machine.table), RUNG_OK);
    assert_int_equal(rung_emulator_fill(machine.emulator, machine.x, 0, 4, 16384), RUNG_OK);
    assert_int_equal(rung_emulator_fill(machine.emulator, machine.y, 0, 4, 16384), RUNG_OK);
    assert_int_equal(rung_emulator_fill(machine.emulator, machine.table, 0, 4, 1024), RUNG_OK);
    return machine;
}

static inline void load(machine_t *machine, const char *text)
{
    rung_status status = rung_emulator_module_load(machine->emulator, "test.ptx", text, strlen(text), &machine->module);
    if (status != RUNG_OK)
        print_error("%s\n", rung_error_text());
    assert_int_equal(status, RUNG_OK);
}

/* Loads a module with one kernel of this body. */
static inline void load_body(machine_t *machine, const char *name, const char *body)
{
    static char text[TEXT_BYTES];
    int used = snprintf(text, sizeof text, "%s", module_start);
    used += snprintf(text + used, sizeof text - (size_t)used, kernel_start, name);
    used += snprintf(text + used, sizeof text - (size_t)used, "%s\nret;\n}\n", body);
    assert_true(used < (int)sizeof text);
    load(machine, text);
}

static inline void launch(machine_t *machine, const char *name, uint32_t blocks, uint32_t threads)
{
    rung_emulator_kernel *kernel;
    void *arguments[] = {&machine->x, &machine->table};
    rung_emulator_launch launched = rung_emulator_launch_of(blocks, threads, arguments);
    assert_int_equal(rung_emulator_kernel_find(machine->module, name, &kernel), RUNG_OK);
    rung_status status = rung_emulator_launch_kernel(kernel, &launched);
    if (status != RUNG_OK)
        print_error("%s\n", rung_error_text());
    assert_int_equal(status, RUNG_OK);
}

/* Runs a body in one warp. */
static inline machine_t run(const char *body, const uint32_t table[LANES])
{
    machine_t machine = create_machine(1);
    if (table)
        assert_int_equal(rung_emulator_write(machine.emulator, machine.table, table, 4 * LANES), RUNG_OK);
    load_body(&machine, "test", body);
    launch(&machine, "test", 1, LANES);
    return machine;
}

/* Returns the only row of a kind. */
static inline rung_emulator_line only_row(const machine_t *machine, rung_emulator_line_kind kind)
{
    rung_emulator_line found = {0};
    int rows = 0;
    for (int64_t i = 0; i < rung_emulator_line_count(machine->emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(machine->emulator, i);
        if (row->kind != kind)
            continue;
        found = *row;
        rows++;
    }
    assert_int_equal(rows, 1);
    return found;
}

/* Returns the sum of requests of a kind with this width. */
static inline int64_t requests_of(const machine_t *machine, rung_emulator_line_kind kind, int32_t width)
{
    int64_t requests = 0;
    for (int64_t i = 0; i < rung_emulator_line_count(machine->emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(machine->emulator, i);
        requests += row->kind == kind && row->width == width ? row->requests : 0;
    }
    return requests;
}
