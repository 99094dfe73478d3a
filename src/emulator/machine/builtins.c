/* SPDX-License-Identifier: Apache-2.0 */
/* builtins.c - functions that the CUDA runtime provides to kernels: vprintf, __assertfail, malloc and free. */
#include <stdio.h>
#include <string.h>

#include "emulator/machine/emulator.h"

/* Reads argument `index` of a call in one lane. A call through a register may have too few; the others are 0. */
static uint64_t argument(const ptx_warp_t *warp, const ptx_instruction_t *call, int index, int lane)
{
    uint64_t value = 0;
    if (index >= call->operation)
        return value;
    const ptx_operand_t *entry = call->list + 2 * ((size_t)call->vector_length + (size_t)index);
    memcpy(&value, warp->frame->registers + entry[0] + (size_t)lane * entry[1], entry[1] < 8 ? entry[1] : 8);
    return value;
}

static void set_result(ptx_warp_t *warp, const ptx_instruction_t *call, int lane, uint64_t value)
{
    if (call->vector_length > 0)
        memcpy(warp->frame->registers + call->list[0] + (size_t)lane * call->list[1], &value,
               call->list[1] < 8 ? call->list[1] : 8);
}

/* Returns the host address of one byte at a generic address, or NULL. */
static const char *byte_at(ptx_warp_t *warp, int lane, uint64_t address)
{
    ptx_space_t space = rungi_ptx_resolve_space(PTX_SPACE_GENERIC, &address);
    return (const char *)rungi_ptx_host_address(warp, lane, space, address, 1);
}

/* Copies a string of the kernel. */
static void read_string(ptx_warp_t *warp, int lane, uint64_t address, char *to, size_t capacity)
{
    size_t length = 0;
    for (const char *c; length + 1 < capacity && (c = byte_at(warp, lane, address + length)) && *c; length++)
        to[length] = *c;
    to[length] = 0;
}

static uint64_t read_value(ptx_warp_t *warp, int lane, uint64_t address, size_t bytes)
{
    uint64_t value = 0;
    ptx_space_t space = rungi_ptx_resolve_space(PTX_SPACE_GENERIC, &address);
    const unsigned char *from = rungi_ptx_host_address(warp, lane, space, address, (int)bytes);
    if (from)
        memcpy(&value, from, bytes);
    return value;
}

/* Prints one conversion with its argument at *next. Returns the end of the conversion in the format. */
static const char *print_conversion(ptx_warp_t *warp, int lane, const char *format, uint64_t *next, FILE *output)
{
    char conversion[32] = "%", text[256];
    size_t used = 1, bytes = 4;
    while (*format && strchr("-+ #0123456789.", *format) && used < 20)
        conversion[used++] = *format++;
    while (*format && strchr("lhjzt", *format)) {
        bytes = *format == 'h' ? 4 : 8;
        format++;
    }
    char kind = *format;
    if (kind)
        format++;
    if (kind == '%') {
        fputc('%', output);
        return format;
    }
    bool is_float = kind && strchr("eEfFgGaA", kind);
    if (is_float || kind == 's' || kind == 'p')
        bytes = 8;
    *next = (*next + bytes - 1) & ~(uint64_t)(bytes - 1);
    uint64_t value = read_value(warp, lane, *next, bytes);
    *next += bytes;
    if (is_float) {
        double number;
        memcpy(&number, &value, sizeof number);
        conversion[used++] = kind;
        fprintf(output, conversion, number);
    } else if (kind == 's') {
        read_string(warp, lane, value, text, sizeof text);
        conversion[used++] = 's';
        fprintf(output, conversion, text);
    } else if (kind == 'p') {
        fprintf(output, "0x%llx", (unsigned long long)value);
    } else if (kind == 'c') {
        fputc((int)value, output);
    } else if (kind && strchr("diuoxX", kind)) {
        bool is_signed = kind == 'd' || kind == 'i';
        conversion[used++] = 'l';
        conversion[used++] = 'l';
        conversion[used++] = kind;
        fprintf(output, conversion,
                bytes == 4 && is_signed ? (unsigned long long)(int32_t)value : (unsigned long long)value);
    }
    return format;
}

/* int vprintf(const char *format, void *arguments) */
static void call_vprintf(ptx_warp_t *warp, const ptx_instruction_t *call, uint32_t mask)
{
    rung_emulator *emulator = warp->block->launch->emulator;
    FILE *output = emulator->options.output ? emulator->options.output : stdout;
    pthread_mutex_lock(&emulator->lock);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        char format[1024];
        if (!(mask >> lane & 1))
            continue;
        uint64_t next = argument(warp, call, 1, lane);
        read_string(warp, lane, argument(warp, call, 0, lane), format, sizeof format);
        for (const char *c = format; *c;) {
            if (*c == '%')
                c = print_conversion(warp, lane, c + 1, &next, output);
            else
                fputc(*c++, output);
        }
        set_result(warp, call, lane, 0);
    }
    pthread_mutex_unlock(&emulator->lock);
}

/* void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t size) */
static void call_assertfail(ptx_warp_t *warp, const ptx_instruction_t *call, uint32_t mask)
{
    int lane = __builtin_ctz(mask);
    char message[128], file[128], function[128];
    read_string(warp, lane, argument(warp, call, 0, lane), message, sizeof message);
    read_string(warp, lane, argument(warp, call, 1, lane), file, sizeof file);
    read_string(warp, lane, argument(warp, call, 3, lane), function, sizeof function);
    rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, lane, "%s:%u: %s: the assertion \"%s\" failed", file,
                    (unsigned)argument(warp, call, 2, lane), function, message);
}

bool rungi_ptx_is_heap_function(const char *name)
{
    return strcmp(name, "malloc") == 0 || strcmp(name, "free") == 0;
}

bool rungi_ptx_call_builtin(ptx_warp_t *warp, const ptx_function_t *callee, const ptx_instruction_t *call,
                            uint32_t mask)
{
    if (strcmp(callee->name, "vprintf") == 0)
        call_vprintf(warp, call, mask);
    else if (strcmp(callee->name, "__assertfail") == 0)
        call_assertfail(warp, call, mask);
    else
        return false;
    return true;
}
