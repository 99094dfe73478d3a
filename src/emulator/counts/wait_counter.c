/* SPDX-License-Identifier: Apache-2.0 */
/* wait_counter.c - see wait_counter.h. */
#include "emulator/counts/wait_counter.h"

#include <stdlib.h>
#include <string.h>

#include "emulator/counts/instruction_classes.h"
#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/matrix_shape.h"

typedef enum wait_event {
    EVENT_NONE,
    EVENT_MULTIPLY,
    EVENT_LOAD,         /* from global memory */
    EVENT_SHARED_STORE, /* of a value, not by an asynchronous copy */
    EVENT_COPY,
    EVENT_COMMIT,
    EVENT_WAIT_GROUP,
    EVENT_WAIT_ALL,
    EVENT_BARRIER
} wait_event_t;

int64_t rungi_ptx_multiply_adds(const ptx_instruction_t *instruction)
{
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    ptx_type_t type = (ptx_type_t)instruction->type;
    if (strcmp(opcode, "fma") == 0)
        return (int64_t)PTX_WARP_LANES * (rungi_ptx_type_kind(type) == PTX_KIND_PACKED ? 2 : 1);
    if (strcmp(opcode, "mad") == 0)
        return rungi_ptx_type_kind(type) == PTX_KIND_FLOAT ? PTX_WARP_LANES : 0;
    if (strcmp(opcode, "dp4a") == 0)
        return (int64_t)PTX_WARP_LANES * 4;
    if (strcmp(opcode, "dp2a") == 0)
        return (int64_t)PTX_WARP_LANES * 2;
    bool is_matrix = strcmp(opcode, "mma") == 0 || strcmp(opcode, "wmma") == 0;
    if (!is_matrix || rungi_ptx_class_of(instruction) != RUNG_EMULATOR_MATRIX)
        return 0;
    ptx_matrix_shape_t shape = rungi_ptx_unpack_shape(instruction->offset);
    return (int64_t)shape.m * shape.n * shape.k;
}

int64_t rungi_ptx_integer_multiply_adds(const ptx_instruction_t *instruction)
{
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    ptx_type_t type = (ptx_type_t)instruction->type;
    bool is_float = rungi_ptx_type_kind(type) == PTX_KIND_FLOAT;
    return strcmp(opcode, "mad") == 0 && !is_float && rungi_ptx_type_bits(type) <= 32 ? PTX_WARP_LANES : 0;
}

static wait_event_t event_of_copy(const ptx_instruction_t *instruction)
{
    const char *executor = rungi_ptx_table_row(instruction->row)->executor;
    if (strcmp(executor, "cp_async_commit") == 0)
        return EVENT_COMMIT;
    if (strcmp(executor, "cp_async_wait") == 0)
        return EVENT_WAIT_GROUP;
    if (strcmp(executor, "cp_async_wait_all") == 0)
        return EVENT_WAIT_ALL;
    return instruction->element_bytes > 0 ? EVENT_COPY : EVENT_NONE;
}

static wait_event_t event_of(const ptx_instruction_t *instruction)
{
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    bool is_global = instruction->space == PTX_SPACE_GLOBAL || instruction->space == PTX_SPACE_GENERIC;
    if (instruction->control == PTX_CONTROL_BARRIER)
        return EVENT_BARRIER;
    if (strcmp(opcode, "cp") == 0)
        return event_of_copy(instruction);
    if (strcmp(opcode, "ld") == 0 || strcmp(opcode, "ldu") == 0)
        return is_global ? EVENT_LOAD : EVENT_NONE;
    if (strcmp(opcode, "st") == 0)
        return instruction->space == PTX_SPACE_SHARED ? EVENT_SHARED_STORE : EVENT_NONE;
    bool multiplies = rungi_ptx_multiply_adds(instruction) + rungi_ptx_integer_multiply_adds(instruction) > 0;
    return multiplies ? EVENT_MULTIPLY : EVENT_NONE;
}

bool rungi_ptx_wait_counter_create(const ptx_module_t *module, ptx_wait_counter_t *counter)
{
    *counter = (ptx_wait_counter_t){.block = -1, .events = calloc((size_t)module->instruction_count + 1, 1)};
    for (int32_t pc = 0; counter->events && pc < module->instruction_count; pc++)
        counter->events[pc] = (uint8_t)event_of(&module->instructions[pc]);
    return counter->events != NULL;
}

void rungi_ptx_wait_counter_free(ptx_wait_counter_t *counter)
{
    free(counter->events);
    counter->events = NULL;
}

static void end_interval(ptx_wait_counter_t *counter)
{
    counter->waits += counter->has_waited;
    counter->has_waited = false;
}

/* Waits for a copy that was issued when `*since` multiply-adds were done. A second wait for it costs nothing. */
static void wait_for(ptx_wait_counter_t *counter, int64_t *since)
{
    counter->has_waited = counter->has_waited || *since == counter->multiplied;
    *since = -1;
}

static void wait_for_group(ptx_wait_counter_t *counter, int64_t pending)
{
    int64_t group = counter->group_count - 1 - pending;
    if (group >= 0 && pending < PTX_COPY_GROUPS_MAX)
        wait_for(counter, &counter->groups[group % PTX_COPY_GROUPS_MAX]);
}

static void apply(ptx_wait_counter_t *counter, wait_event_t event, const ptx_instruction_t *instruction)
{
    switch (event) {
    case EVENT_NONE: break;
    case EVENT_MULTIPLY: counter->multiplied++; break;
    case EVENT_LOAD: counter->loaded = counter->multiplied; break;
    case EVENT_SHARED_STORE: wait_for(counter, &counter->loaded); break;
    case EVENT_COPY: counter->copied = counter->multiplied; break;
    case EVENT_COMMIT:
        counter->groups[counter->group_count++ % PTX_COPY_GROUPS_MAX] = counter->copied;
        counter->copied = -1;
        break;
    case EVENT_WAIT_GROUP: wait_for_group(counter, instruction->offset); break;
    case EVENT_WAIT_ALL:
        wait_for(counter, &counter->copied);
        wait_for_group(counter, 0);
        break;
    case EVENT_BARRIER: end_interval(counter); break;
    }
}

void rungi_ptx_wait_counter_pass(ptx_wait_counter_t *counter, const ptx_module_t *module, int64_t block, int32_t first,
                                 int32_t end)
{
    if (counter->block != block) {
        end_interval(counter);
        counter->block = block;
        counter->multiplied = counter->group_count = 0;
        counter->loaded = counter->copied = -1;
    }
    for (int32_t pc = first; pc < end; pc++)
        if (counter->events[pc] != EVENT_NONE)
            apply(counter, (wait_event_t)counter->events[pc], &module->instructions[pc]);
}

int64_t rungi_ptx_wait_counter_sum(ptx_wait_counter_t *counter)
{
    end_interval(counter);
    return counter->waits;
}
