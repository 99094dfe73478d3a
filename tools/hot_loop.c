/* SPDX-License-Identifier: Apache-2.0 */
/* hot_loop - what the loop that multiplies is made of, counted in machine code.
 *
 *   nvdisasm -c KERNEL.cubin | hot_loop ARCHITECTURE THREADS REGISTERS SHARED_BYTES
 *   hot_loop --titles
 *
 * Prints, separated by tabs: instructions of the loop; those that multiply (FFMA, FFMA2,
 * DFMA, HMMA, IMMA, DMMA) and their share; loads from shared memory (LDS, LDSM); copies
 * from global memory (LDGSTS, LDG); multiplying instructions a load and a copy ("-" where
 * there is none); threads, registers and shared bytes as given; and how many warps of how
 * many a multiprocessor then holds. A load that is never taken, "@!PT LDS", which the
 * compiler puts before copies, is an instruction but no load.
 *
 * Which loop that is, and how it is counted, lab/explain/sass.h says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/sass.h"
#include "explain/occupancy.h"

static _Noreturn void fail(const char *why, const char *what)
{
    fprintf(stderr, "hot_loop: %s%s\n", why, what);
    exit(1);
}

static void print_ratio(int64_t over, int64_t under)
{
    if (under > 0)
        printf("\t%.1f", (double)over / (double)under);
    else
        printf("\t-");
}

static void print_loop(const lab_instruction_mix *loop)
{
    int64_t loads = lab_instruction_mix_memory_ops(loop, LAB_MEMORY_OP_SHARED_LOAD) +
                    lab_instruction_mix_memory_ops(loop, LAB_MEMORY_OP_MATRIX_LOAD);
    int64_t copies = lab_instruction_mix_memory_ops(loop, LAB_MEMORY_OP_GLOBAL_COPY) +
                     lab_instruction_mix_memory_ops(loop, LAB_MEMORY_OP_GLOBAL_LOAD);
    printf("%lld\t%lld\t%.3f\t%lld\t%lld", (long long)loop->instructions, (long long)loop->math,
           (double)loop->math / (double)loop->instructions, (long long)loads, (long long)copies);
    print_ratio(loop->math, loads);
    print_ratio(loop->math, copies);
}

int main(int argc, char **argv)
{
    char why[256];
    lab_sass code;
    if (argc == 2 && strcmp(argv[1], "--titles") == 0) {
        puts("loop\tmath\tshare\tshared_loads\tcopies\tmath_a_load\tmath_a_copy\tthreads\tregisters\tshared\t"
             "warps\twarps_max");
        return 0;
    }
    if (argc != 5) {
        fprintf(stderr, "usage: hot_loop ARCHITECTURE THREADS REGISTERS SHARED_BYTES < DISASSEMBLY\n");
        return 2;
    }
    const lab_sm_limits *limits = lab_sm_limits_of(argv[1]);
    int threads = atoi(argv[2]), registers = atoi(argv[3]), shared = atoi(argv[4]);
    if (!limits)
        fail("limits are not known of ", argv[1]);
    if (threads < 1 || threads > limits->threads_block || registers < 1 || registers > limits->registers_thread ||
        shared < 0)
        fail("no such kernel: ", "threads, registers or shared bytes are out of range");
    if (!lab_sass_parse(stdin, NULL, &code, why, sizeof why))
        fail("the disassembly cannot be read: ", why);
    if (!code.has_loop || code.loop.is_integer)
        fail("no loop that multiplies", "");
    print_loop(&code.loop);
    lab_occupancy occupancy = lab_occupancy_of(limits, threads, registers, shared);
    printf("\t%d\t%d\t%d\t%lld\t%lld\n", threads, registers, shared, (long long)occupancy.warps,
           (long long)occupancy.warps_max);
    lab_sass_free(&code);
    return 0;
}
