/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - a GPU as the model sees it: how much of everything it does in a clock. The
 * descriptions are data, machines.def; a file may describe another. */
#ifndef LAB_MACHINE_H
#define LAB_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "options.h"

/* See machines.def for what each means; rates are of one multiprocessor and clock. */
typedef struct lab_machine {
    char name[32], title[64], arch[16], source[192];
    double units, clock_mhz, dram_gbs, l2_kib;
    double has_engine;
    double fp32, fp64, int32, engine16, engine_tf32, engine_i8;
    double issue, lsu, shared, l1, l2, caches;
    double lat_fma, lat_shared, lat_l1, lat_l2, lat_dram, lat_bar;
} lab_machine;

/* A machine of the list by its name, or the file of that name: lines "field = number", of the
 * fields above, after "like = NAME", which fills in the rest. `why` gets a sentence where
 * there is none. */
bool lab_machine_find(const char *name, lab_machine *machine, char *why, size_t capacity);

/* The one that stands for an architecture. */
bool lab_machine_of(const char *arch, lab_machine *machine);

/* What --machine and --arch ask for; sm_86's where neither does. NULL, or what is wrong. */
const char *lab_read_machine(const lab_options *options, lab_machine *machine);

/* The list, from 0 on; false past its end. */
bool lab_machine_at(int index, lab_machine *machine);

/* GFLOPS of all multiply-adds a clock, `lanes` of each multiprocessor. */
double lab_machine_peak(const lab_machine *machine, double lanes);

#endif /* LAB_MACHINE_H */
