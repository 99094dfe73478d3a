/* SPDX-License-Identifier: Apache-2.0 */
/* command_doctor.c - rung doctor: what is here, whether it works, and what to install.
 *
 * Each device multiplies once, and the result is judged exactly. It takes seconds; what a
 * driver compiles at its first use is most of that. */
#include "code.h"
#include "colour.h"
#include "exact.h"
#include "json.h"
#include "microscope.h"
#include "options.h"
#include "rung/rung.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES_MAX = 64, PARTS_MAX = 32, SIZE = 200 };

static const uint64_t seed = 7;

typedef struct finding {
    rung_device_info info;
    bool             right;
    char             why_not[512];
    double           seconds; /* of the whole first call */
} finding;

typedef struct checkup {
    finding   findings[DEVICES_MAX];
    int64_t   count;
    rung_dependency parts[PARTS_MAX];
    int64_t   part_count;
} checkup;

/* ---- Looking --------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* SIZE is no multiple of a tile, so that edges are computed too. */
static void multiply_on(const char *device, finding *finding)
{
    static float data[3][SIZE * SIZE];
    rung_context_options options = {.size = sizeof(rung_context_options), .device = device};
    rung_context *context = NULL;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, SIZE, SIZE, data[0]),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, data[1]),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, data[2]));
    lab_exact_fill(&problem.a, 1, seed, 1);
    lab_exact_fill(&problem.b, 1, seed, 2);
    memset(data[2], 0xff, sizeof data[2]);
    double start = now();
    rung_status status = rung_context_create(&options, &context);
    if (status == RUNG_OK)
        status = rung_multiply(context, &problem);
    finding->seconds = now() - start;
    if (status != RUNG_OK)
        snprintf(finding->why_not, sizeof finding->why_not, "%s", rung_error_text());
    else
        finding->right = lab_exact_judge(&problem, seed, finding->why_not, sizeof finding->why_not);
    rung_context_destroy(context);
}

static void add_part(checkup *checkup, const char *name, const char *found, const char *purpose, const char *install)
{
    if (checkup->part_count == PARTS_MAX)
        return;
    rung_dependency *part = &checkup->parts[checkup->part_count++];
    snprintf(part->backend, sizeof part->backend, "lab");
    snprintf(part->name, sizeof part->name, "%s", name);
    snprintf(part->found, sizeof part->found, "%s", found);
    snprintf(part->purpose, sizeof part->purpose, "%s", purpose);
    snprintf(part->install, sizeof part->install, "%s", install);
}

/* What the command itself uses, and no device. */
static void add_own_parts(checkup *checkup)
{
    lab_microscope_parts found;
    lab_microscope_find(&found);
    add_part(checkup, "Oclgrind", found.oclgrind, "a simulator for the microscope",
             "Oclgrind 21.10 (Debian: oclgrind), or RUNG_OCLGRIND");
    add_part(checkup, "microscope", found.plugin, "what warps ask of memory, line by line",
             "build where liboclgrind-dev and llvm-14-dev are, or RUNG_MICROSCOPE");
    char disassembler[512];
    if (!lab_code_find_disassembler(disassembler, sizeof disassembler))
        *disassembler = '\0';
    add_part(checkup, "nvdisasm", disassembler, "what a kernel's loop is made of", lab_code_install);
}

static bool look(checkup *checkup)
{
    rung_device_info infos[DEVICES_MAX];
    if (rung_device_list(NULL, infos, DEVICES_MAX, &checkup->count) != RUNG_OK ||
        rung_dependency_list(NULL, checkup->parts, PARTS_MAX, &checkup->part_count) != RUNG_OK)
        return false;
    if (checkup->count > DEVICES_MAX)
        checkup->count = DEVICES_MAX;
    if (checkup->part_count > PARTS_MAX)
        checkup->part_count = PARTS_MAX;
    add_own_parts(checkup);
    for (int64_t i = 0; i < checkup->count; i++) {
        checkup->findings[i].info = infos[i];
        if (!*infos[i].missing)
            multiply_on(infos[i].name, &checkup->findings[i]);
    }
    return true;
}

/* ---- Telling --------------------------------------------------------------------------------------- */

static void print_device(const finding *finding)
{
    const rung_device_info *info = &finding->info;
    lab_colour colour = *info->missing ? LAB_YELLOW : finding->right ? LAB_PLAIN : LAB_RED;
    lab_colour_begin(colour, stdout);
    if (*info->missing)
        printf("%-10s not here: %s\n", info->name, info->missing);
    else if (finding->right)
        printf("%-10s well: %s (%s, %s); %d cubed is right, %.2f s with the first compilation\n", info->name,
               info->title, info->platform, info->driver, SIZE, finding->seconds);
    else
        printf("%-10s ILL: %s (%s, %s): %s\n", info->name, info->title, info->platform, info->driver,
               finding->why_not);
    lab_colour_end(colour, stdout);
}

static void print_parts(const checkup *checkup)
{
    for (int64_t i = 0; i < checkup->part_count; i++) {
        const rung_dependency *part = &checkup->parts[i];
        if (*part->found)
            printf("%-10s %s: %s\n", part->backend, part->name, part->found);
        else
            printf("%-10s %s: not here; it gives %s. To have it: %s\n", part->backend, part->name, part->purpose,
                   part->install);
    }
}

static void print_json(const checkup *checkup)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-doctor/1");
    lab_json_string(&json, "rung", rung_version_text());
    lab_json_begin(&json, "devices", '[');
    for (int64_t i = 0; i < checkup->count; i++) {
        const finding *finding = &checkup->findings[i];
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "name", finding->info.name);
        lab_json_string(&json, "title", finding->info.title);
        lab_json_string(&json, "driver", finding->info.driver);
        lab_json_true(&json, "present", !*finding->info.missing);
        lab_json_string(&json, "missing", finding->info.missing);
        lab_json_true(&json, "right", finding->right);
        lab_json_string(&json, "why_not", finding->why_not);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_begin(&json, "parts", '[');
    for (int64_t i = 0; i < checkup->part_count; i++) {
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "backend", checkup->parts[i].backend);
        lab_json_string(&json, "name", checkup->parts[i].name);
        lab_json_string(&json, "found", checkup->parts[i].found);
        lab_json_string(&json, "install", checkup->parts[i].install);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

/* What is there and does not work is ill; what is not there is only missing. */
static bool is_well(const checkup *checkup)
{
    for (int64_t i = 0; i < checkup->count; i++)
        if (!*checkup->findings[i].info.missing && !checkup->findings[i].right)
            return false;
    return true;
}

int lab_command_doctor(const lab_options *options)
{
    static checkup checkup;
    if (!look(&checkup)) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_NOTHING;
    }
    if (options->json) {
        print_json(&checkup);
        return is_well(&checkup) ? LAB_GOOD : LAB_WRONG;
    }
    printf("rung %s\n\n", rung_version_text());
    for (int64_t i = 0; i < checkup.count; i++)
        print_device(&checkup.findings[i]);
    printf("\n");
    print_parts(&checkup);
    printf("\n%s\n", is_well(&checkup) ? "All that is here works. Next: rung verify, rung bench"
                                       : "Something that is here does not work: see ILL above.");
    return is_well(&checkup) ? LAB_GOOD : LAB_WRONG;
}
