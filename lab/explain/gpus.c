/* SPDX-License-Identifier: Apache-2.0 */
/* gpus.c - the GPUs of gpus.def, and files that describe other GPUs. */
#include "explain/gpus.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "io/input_file.h"
#include "cli/options.h"

typedef struct arch_rates {
    const char *arch;
#define X(member, name) double member;
    LAB_GPU_RATE_LIST(X)
#undef X
} arch_rates_t;

static const arch_rates_t all_rates[] = {
#define RATES(arch, ...) {#arch, __VA_ARGS__},
#include "explain/gpus.def"
#undef RATES
};

static const lab_gpu all_machines[] = {
#define MACHINE(name_, title_, arch_, units, clock, loaded_clock, dram, l2_, engine_, source_) \
    {.name = name_,                                                                            \
     .title = title_,                                                                          \
     .arch = #arch_,                                                                           \
     .source = source_,                                                                        \
     .sm_count = units,                                                                        \
     .clock_mhz = clock,                                                                       \
     .loaded_clock_mhz = loaded_clock,                                                         \
     .dram_gbs = dram,                                                                         \
     .l2_kib = l2_,                                                                            \
     .engine = engine_},
#include "explain/gpus.def"
#undef MACHINE
};

enum { RATES_COUNT = sizeof all_rates / sizeof *all_rates, MACHINE_COUNT = sizeof all_machines / sizeof *all_machines };

static void set_rates(lab_gpu *machine)
{
    for (const arch_rates_t *of = all_rates; of < all_rates + RATES_COUNT; of++) {
        if (strcmp(of->arch, machine->arch) != 0)
            continue;
#define X(member, name) machine->member = of->member;
        LAB_GPU_RATE_LIST(X)
#undef X
        machine->engine16 *= machine->engine;
        machine->engine_tf32 *= machine->engine;
        machine->engine_i8 *= machine->engine > 0;
        machine->engine_f64 *= machine->engine > 0;
    }
}

bool lab_gpu_at(int index, lab_gpu *machine)
{
    if (index < 0 || index >= MACHINE_COUNT)
        return false;
    *machine = all_machines[index];
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

bool lab_gpu_find_listed(const char *name, lab_gpu *machine)
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
    } fields[] = {{"units", &machine->sm_count},
                  {"clock_mhz", &machine->clock_mhz},
                  {"loaded_clock_mhz", &machine->loaded_clock_mhz},
                  {"dram_gbs", &machine->dram_gbs},
                  {"l2_kib", &machine->l2_kib},
#define X(member, name) {name, &machine->member},
                  LAB_GPU_RATE_LIST(X)
#undef X
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
        return lab_gpu_find_listed(value, machine) ? NULL : "unknown machine; see --machine in \"rung help explain\"";
    if (!machine->arch[0])
        return "the first line must be \"like = NAME\"";
    if (strcmp(name, "title") == 0)
        return snprintf(machine->title, sizeof machine->title, "%s", value) < (int)sizeof machine->title
                   ? NULL
                   : "the title is too long; the maximum is 63 characters";
    double *field = field_of(machine, name);
    if (!field)
        return "unknown field";
    bool may_be_zero = strncmp(name, "engine", 6) == 0 || strcmp(name, "caches") == 0;
    if (!lab_parse_number(value, &number) || !(number > 0 || (may_be_zero && number == 0)) || number > 1e9)
        return "the value must be a number above 0";
    *field = number;
    if (field == &machine->clock_mhz) /* another clock of the list's GPU: nothing is known about full load */
        machine->loaded_clock_mhz = number;
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
    if (lab_gpu_find_listed(name, machine))
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
    char own[16];
    int number;
    if (arch && lab_parse_architecture(arch, &number)) {
        snprintf(own, sizeof own, "sm_%d", number); /* --arch 86 */
        arch = own;
    }
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

double lab_gpu_clock_mhz(const lab_gpu *machine, double math_utilisation)
{
    const double full_load = 0.78;
    if (!(math_utilisation > 0) || machine->loaded_clock_mhz >= machine->clock_mhz)
        return machine->clock_mhz;
    return fmin(machine->clock_mhz, machine->loaded_clock_mhz * cbrt(full_load / math_utilisation));
}

double lab_gpu_peak_gflops(const lab_gpu *machine, double lanes)
{
    return 2e-3 * lanes * machine->sm_count * machine->clock_mhz;
}
