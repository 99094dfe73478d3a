/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - the GPUs of gpus.def, and files that describe other GPUs. */
#include "explain/gpus.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "io/key_value_file.h"
#include "cli/options.h"

typedef struct arch_rates {
    const char *arch;
    double fp32, fp64, int32, engine16, engine_tf32, engine_i8;
    double issue, lsu, shared, l1, l2, is_l1_caching;
    double lat_fma, lat_shared, lat_l1, lat_l2, lat_dram, lat_bar;
} arch_rates_t;

static const arch_rates_t all_rates[] = {
#define RATES(arch, ...) {#arch, __VA_ARGS__},
#include "explain/gpus.def"
#undef RATES
};

typedef struct gpu_entry {
    const char *name, *title, *arch;
    double sm_count, clock_mhz, dram_gbs, l2_kib, has_engine;
    const char *source;
} gpu_entry_t;

static const gpu_entry_t all_machines[] = {
#define MACHINE(name, title, arch, units, clock, dram, l2, engine, source) \
    {name, title, #arch, units, clock, dram, l2, engine, source},
#include "explain/gpus.def"
#undef MACHINE
};

enum { RATES_COUNT = sizeof all_rates / sizeof *all_rates, MACHINE_COUNT = sizeof all_machines / sizeof *all_machines };

static void set_rates(lab_gpu *machine)
{
    for (int i = 0; i < RATES_COUNT; i++) {
        const arch_rates_t *of = &all_rates[i];
        if (strcmp(of->arch, machine->arch) != 0)
            continue;
        double engine = machine->has_engine;
        machine->fp32 = of->fp32, machine->fp64 = of->fp64, machine->int32 = of->int32;
        machine->engine16 = engine * of->engine16, machine->engine_tf32 = engine * of->engine_tf32;
        machine->engine_i8 = engine * of->engine_i8;
        machine->issue = of->issue, machine->lsu = of->lsu, machine->shared = of->shared;
        machine->l1 = of->l1, machine->l2 = of->l2, machine->is_l1_caching = of->is_l1_caching;
        machine->lat_fma = of->lat_fma, machine->lat_shared = of->lat_shared, machine->lat_l1 = of->lat_l1;
        machine->lat_l2 = of->lat_l2, machine->lat_dram = of->lat_dram, machine->lat_bar = of->lat_bar;
    }
}

bool lab_gpu_at(int index, lab_gpu *machine)
{
    if (index < 0 || index >= MACHINE_COUNT)
        return false;
    const gpu_entry_t *of = &all_machines[index];
    *machine = (lab_gpu){.sm_count = of->sm_count,
                         .clock_mhz = of->clock_mhz,
                         .dram_gbs = of->dram_gbs,
                         .l2_kib = of->l2_kib,
                         .has_engine = of->has_engine};
    snprintf(machine->name, sizeof machine->name, "%s", of->name);
    snprintf(machine->title, sizeof machine->title, "%s", of->title);
    snprintf(machine->arch, sizeof machine->arch, "%s", of->arch);
    snprintf(machine->source, sizeof machine->source, "%s", of->source);
    set_rates(machine);
    return true;
}

bool lab_gpu_of_arch(const char *arch, lab_gpu *machine)
{
    for (int i = 0; lab_gpu_at(i, machine); i++)
        if (strcmp(machine->arch, arch) == 0)
            return true;
    return false;
}

static bool find_in_list(const char *name, lab_gpu *machine)
{
    for (int i = 0; lab_gpu_at(i, machine); i++)
        if (strcasecmp(machine->name, name) == 0)
            return true;
    return false;
}

/* ---- Description files ---- */

static double *field_of(lab_gpu *machine, const char *name)
{
    const struct {
        const char *name;
        double *field;
    } fields[] = {
        {"units", &machine->sm_count},
        {"clock_mhz", &machine->clock_mhz},
        {"dram_gbs", &machine->dram_gbs},
        {"l2_kib", &machine->l2_kib},
        {"fp32", &machine->fp32},
        {"fp64", &machine->fp64},
        {"int32", &machine->int32},
        {"engine16", &machine->engine16},
        {"engine_tf32", &machine->engine_tf32},
        {"engine_i8", &machine->engine_i8},
        {"issue", &machine->issue},
        {"lsu", &machine->lsu},
        {"shared", &machine->shared},
        {"l1", &machine->l1},
        {"l2", &machine->l2},
        {"caches", &machine->is_l1_caching},
        {"lat_fma", &machine->lat_fma},
        {"lat_shared", &machine->lat_shared},
        {"lat_l1", &machine->lat_l1},
        {"lat_l2", &machine->lat_l2},
        {"lat_dram", &machine->lat_dram},
        {"lat_bar", &machine->lat_bar},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(fields[i].name, name) == 0)
            return fields[i].field;
    return NULL;
}

/* Sets one field of a file. Returns NULL or what is wrong. */
static const char *set_field(void *user, const char *name, const char *value)
{
    lab_gpu *machine = user;
    double number;
    bool is_like = strcmp(name, "like") == 0;
    if (is_like && machine->arch[0])
        return "\"like\" may be given only once";
    if (is_like)
        return find_in_list(value, machine) ? NULL : "unknown machine; see --machine in \"rung help explain\"";
    if (!machine->arch[0])
        return "the first line must be \"like = NAME\"";
    if (strcmp(name, "title") == 0) {
        return snprintf(machine->title, sizeof machine->title, "%s", value) < (int)sizeof machine->title
                   ? NULL
                   : "the title is too long; the maximum is 63 characters";
    }
    double *field = field_of(machine, name);
    if (!field)
        return "unknown field";
    bool may_be_zero = strncmp(name, "engine", 6) == 0 || strcmp(name, "caches") == 0;
    if (!lab_parse_number(value, &number) || !(number > 0 || (may_be_zero && number == 0)) || number > 1e9)
        return "the value must be a number above 0";
    *field = number;
    return NULL;
}

static bool read_machine(const char *name, lab_gpu *machine, char *why, size_t capacity)
{
    *machine = (lab_gpu){.sm_count = 0};
    if (!lab_key_values_read(name, set_field, machine, why, capacity))
        return false;
    snprintf(machine->name, sizeof machine->name, "%s", name);
    snprintf(machine->source, sizeof machine->source, "%s", name);
    if (!machine->arch[0])
        snprintf(why, capacity, "%s is empty; its first line must be \"like = NAME\", for example like = p100", name);
    return machine->arch[0] != '\0';
}

bool lab_gpu_find(const char *name, lab_gpu *machine, char *why, size_t capacity)
{
    if (find_in_list(name, machine))
        return true;
    if (access(name, F_OK) == 0)
        return read_machine(name, machine, why, capacity);
    int length = snprintf(why, capacity, "unknown machine %s; give a file or one of:", name);
    for (int i = 0; lab_gpu_at(i, machine) && length < (int)capacity; i++)
        length += snprintf(why + length, capacity - (size_t)length, " %s", machine->name);
    return false;
}

const char *lab_gpu_from_options(const char *name, const char *arch, lab_gpu *machine)
{
    static _Thread_local char why[512];
    if (name) {
        if (!lab_gpu_find(name, machine, why, sizeof why))
            return why;
        return arch && strcmp(arch, machine->arch) != 0
                   ? "--arch differs from the architecture of --machine; give only one of them"
                   : NULL;
    }
    if (lab_gpu_of_arch(arch ? arch : "sm_86", machine))
        return NULL;
    int length = snprintf(why, sizeof why, "unknown architecture %s; --arch takes one of:", arch);
    for (int i = 0; i < RATES_COUNT && length < (int)sizeof why; i++)
        length += snprintf(why + length, sizeof why - (size_t)length, " %s", all_rates[i].arch);
    return why;
}

double lab_gpu_peak_gflops(const lab_gpu *machine, double lanes)
{
    return 2e-3 * lanes * machine->sm_count * machine->clock_mhz;
}
