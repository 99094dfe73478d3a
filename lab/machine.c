/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c - the list of machines.def, and files that describe others. */
#include "machine.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "fields.h"
#include "options.h"

typedef struct rates {
    const char *arch;
    double fp32, fp64, int32, engine16, engine_tf32, engine_i8;
    double issue, lsu, shared, l1, l2, caches;
    double lat_fma, lat_shared, lat_l1, lat_l2, lat_dram, lat_bar;
} rates_t;

static const rates_t all_rates[] = {
#define RATES(arch, ...) {#arch, __VA_ARGS__},
#include "machines.def"
#undef RATES
};

typedef struct entry {
    const char *name, *title, *arch;
    double units, clock_mhz, dram_gbs, l2_kib, has_engine;
    const char *source;
} entry_t;

static const entry_t all_machines[] = {
#define MACHINE(name, title, arch, units, clock, dram, l2, engine, source) \
    {name, title, #arch, units, clock, dram, l2, engine, source},
#include "machines.def"
#undef MACHINE
};

enum { RATES_COUNT = sizeof all_rates / sizeof *all_rates, MACHINE_COUNT = sizeof all_machines / sizeof *all_machines };

static void set_rates(lab_machine *machine)
{
    for (int i = 0; i < RATES_COUNT; i++) {
        const rates_t *of = &all_rates[i];
        if (strcmp(of->arch, machine->arch) != 0)
            continue;
        double engine = machine->has_engine;
        machine->fp32 = of->fp32, machine->fp64 = of->fp64, machine->int32 = of->int32;
        machine->engine16 = engine * of->engine16, machine->engine_tf32 = engine * of->engine_tf32;
        machine->engine_i8 = engine * of->engine_i8;
        machine->issue = of->issue, machine->lsu = of->lsu, machine->shared = of->shared;
        machine->l1 = of->l1, machine->l2 = of->l2, machine->caches = of->caches;
        machine->lat_fma = of->lat_fma, machine->lat_shared = of->lat_shared, machine->lat_l1 = of->lat_l1;
        machine->lat_l2 = of->lat_l2, machine->lat_dram = of->lat_dram, machine->lat_bar = of->lat_bar;
    }
}

bool lab_machine_at(int index, lab_machine *machine)
{
    if (index < 0 || index >= MACHINE_COUNT)
        return false;
    const entry_t *of = &all_machines[index];
    *machine = (lab_machine){.units = of->units,
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

bool lab_machine_of(const char *arch, lab_machine *machine)
{
    for (int i = 0; lab_machine_at(i, machine); i++)
        if (strcmp(machine->arch, arch) == 0)
            return true;
    return false;
}

static bool find_listed(const char *name, lab_machine *machine)
{
    for (int i = 0; lab_machine_at(i, machine); i++)
        if (strcasecmp(machine->name, name) == 0)
            return true;
    return false;
}

/* ---- Files ------------------------------------------------------------------------------- */

static double *field_of(lab_machine *machine, const char *name)
{
    const struct {
        const char *name;
        double *field;
    } fields[] = {
        {"units", &machine->units},
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
        {"caches", &machine->caches},
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

/* One "field = value" of a file; NULL, or what is wrong with it. */
static const char *set_field(void *user, const char *name, const char *value)
{
    lab_machine *machine = user;
    double number;
    bool is_like = strcmp(name, "like") == 0;
    if (is_like && machine->arch[0])
        return "a machine is like one other";
    if (is_like)
        return find_listed(value, machine) ? NULL : "there is no such machine to be like";
    if (!machine->arch[0])
        return "the first line must be \"like = NAME\"";
    if (strcmp(name, "title") == 0) {
        return snprintf(machine->title, sizeof machine->title, "%s", value) < (int)sizeof machine->title
                   ? NULL
                   : "the title is longer than 63 letters";
    }
    double *field = field_of(machine, name);
    if (!field)
        return "no such field";
    bool may_be_zero = strncmp(name, "engine", 6) == 0 || strcmp(name, "caches") == 0;
    if (!lab_read_number(value, &number) || !(number > 0 || (may_be_zero && number == 0)) || number > 1e9)
        return "not a number above 0";
    *field = number;
    return NULL;
}

static bool read_machine(const char *name, lab_machine *machine, char *why, size_t capacity)
{
    *machine = (lab_machine){.units = 0};
    if (!lab_fields_read(name, set_field, machine, why, capacity))
        return false;
    snprintf(machine->name, sizeof machine->name, "%s", name);
    snprintf(machine->source, sizeof machine->source, "%s", name);
    if (!machine->arch[0])
        snprintf(why, capacity, "%s describes no machine; begin it with a line such as like = p100", name);
    return machine->arch[0] != '\0';
}

bool lab_machine_find(const char *name, lab_machine *machine, char *why, size_t capacity)
{
    if (find_listed(name, machine))
        return true;
    if (access(name, F_OK) == 0)
        return read_machine(name, machine, why, capacity);
    int length = snprintf(why, capacity, "%s is neither a file nor a machine; machines are", name);
    for (int i = 0; lab_machine_at(i, machine) && length < (int)capacity; i++)
        length += snprintf(why + length, capacity - (size_t)length, " %s", machine->name);
    return false;
}

const char *lab_read_machine(const lab_options *options, lab_machine *machine)
{
    static _Thread_local char why[512];
    if (options->machine) {
        if (!lab_machine_find(options->machine, machine, why, sizeof why))
            return why;
        if (options->arch && strcmp(options->arch, machine->arch) != 0)
            return "--arch is not that of --machine; give one of them";
        return NULL;
    }
    if (lab_machine_of(options->arch ? options->arch : "sm_86", machine))
        return NULL;
    int length = snprintf(why, sizeof why, "--arch names no architecture that is known, which are");
    for (int i = 0; i < RATES_COUNT && length < (int)sizeof why; i++)
        length += snprintf(why + length, sizeof why - (size_t)length, " %s", all_rates[i].arch);
    return why;
}

double lab_machine_peak(const lab_machine *machine, double lanes)
{
    return 2e-3 * lanes * machine->units * machine->clock_mhz;
}
