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

enum { OWN_PARTS = 3, SIZE = 200 };

static const uint64_t seed = 7;

typedef struct finding {
    const rung_device_info *info;
    bool right;
    char why_not[512];
    double seconds; /* of the whole first call */
} finding_t;

typedef struct checkup {
    rung_device_list *devices;
    finding_t *findings; /* one per device */
    int64_t count;
    rung_dependency_list *library_parts;  /* what the library uses, */
    rung_dependency own_parts[OWN_PARTS]; /* and what the command uses itself */
    int64_t part_count;
    lab_microscope_parts tools;
    char disassembler[512];
} checkup_t;

/* ---- Looking --------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* SIZE is no multiple of a tile, so that edges are computed too. */
static void multiply_on(const char *device, finding_t *finding)
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
        status = rung_multiply(context, &problem, NULL);
    finding->seconds = now() - start;
    if (status != RUNG_OK)
        snprintf(finding->why_not, sizeof finding->why_not, "%s", rung_error_text());
    else
        finding->right = lab_exact_judge(&problem, seed, finding->why_not, sizeof finding->why_not);
    rung_context_destroy(context);
}

/* What the command itself uses, and no device. */
static void find_own_parts(checkup_t *checkup)
{
    lab_microscope_find(&checkup->tools);
    if (!lab_code_find_disassembler(checkup->disassembler, sizeof checkup->disassembler))
        *checkup->disassembler = '\0';
    checkup->own_parts[0] = (rung_dependency){"lab", "Oclgrind", checkup->tools.oclgrind,
                                              "a simulator for the microscope",
                                              "Oclgrind 21.10 (Debian: oclgrind), or RUNG_OCLGRIND"};
    checkup->own_parts[1] = (rung_dependency){"lab", "microscope", checkup->tools.plugin,
                                              "what warps ask of memory, line by line",
                                              "build where liboclgrind-dev and llvm-14-dev are, or RUNG_MICROSCOPE"};
    checkup->own_parts[2] = (rung_dependency){"lab", "nvdisasm", checkup->disassembler,
                                              "what a kernel's loop is made of", lab_code_install};
    checkup->part_count = rung_dependency_list_count(checkup->library_parts) + OWN_PARTS;
}

/* The library's parts come first. */
static const rung_dependency *part_at(const checkup_t *checkup, int64_t index)
{
    int64_t count = rung_dependency_list_count(checkup->library_parts);
    return index < count ? rung_dependency_list_at(checkup->library_parts, index) : &checkup->own_parts[index - count];
}

static bool look(checkup_t *checkup)
{
    if (rung_device_list_create(NULL, &checkup->devices) != RUNG_OK ||
        rung_dependency_list_create(NULL, &checkup->library_parts) != RUNG_OK)
        return false;
    checkup->count = rung_device_list_count(checkup->devices);
    checkup->findings = calloc((size_t)checkup->count, sizeof *checkup->findings);
    if (!checkup->findings) {
        rung_error_set(RUNG_STATUS_NO_MEMORY, "out of memory for %lld devices", (long long)checkup->count);
        return false;
    }
    find_own_parts(checkup);
    for (int64_t i = 0; i < checkup->count; i++) {
        finding_t *finding = &checkup->findings[i];
        finding->info = rung_device_list_at(checkup->devices, i);
        if (!*finding->info->missing)
            multiply_on(finding->info->name, finding);
    }
    return true;
}

/* ---- Telling --------------------------------------------------------------------------------------- */

static void print_device(const finding_t *finding)
{
    const rung_device_info *info = finding->info;
    lab_colour colour = *info->missing ? LAB_YELLOW : finding->right ? LAB_PLAIN : LAB_RED;
    lab_colour_begin(colour, stdout);
    if (*info->missing)
        printf("%-10s not here: %s\n", info->name, info->missing);
    else if (finding->right)
        printf("%-10s well: %s (%s, %s); %d cubed is right, %.2f s with the first compilation\n", info->name,
               info->title, info->platform, info->driver, SIZE, finding->seconds);
    else
        printf("%-10s ILL: %s (%s, %s): %s\n", info->name, info->title, info->platform, info->driver, finding->why_not);
    lab_colour_end(colour, stdout);
}

static void print_parts(const checkup_t *checkup)
{
    for (int64_t i = 0; i < checkup->part_count; i++) {
        const rung_dependency *part = part_at(checkup, i);
        if (*part->found)
            printf("%-10s %s: %s\n", part->backend, part->name, part->found);
        else
            printf("%-10s %s: not here; it gives %s. To have it: %s\n", part->backend, part->name, part->purpose,
                   part->install);
    }
}

static void print_json(const checkup_t *checkup)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-doctor/1");
    lab_json_string(&json, "rung", rung_version_text());
    lab_json_begin(&json, "devices", '[');
    for (int64_t i = 0; i < checkup->count; i++) {
        const finding_t *finding = &checkup->findings[i];
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "name", finding->info->name);
        lab_json_string(&json, "title", finding->info->title);
        lab_json_string(&json, "driver", finding->info->driver);
        lab_json_true(&json, "present", !*finding->info->missing);
        lab_json_string(&json, "missing", finding->info->missing);
        lab_json_true(&json, "right", finding->right);
        lab_json_string(&json, "why_not", finding->why_not);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_begin(&json, "parts", '[');
    for (int64_t i = 0; i < checkup->part_count; i++) {
        const rung_dependency *part = part_at(checkup, i);
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "backend", part->backend);
        lab_json_string(&json, "name", part->name);
        lab_json_string(&json, "found", part->found);
        lab_json_string(&json, "install", part->install);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

/* What is there and does not work is ill; what is not there is only missing. */
static bool is_well(const checkup_t *checkup)
{
    for (int64_t i = 0; i < checkup->count; i++)
        if (!*checkup->findings[i].info->missing && !checkup->findings[i].right)
            return false;
    return true;
}

static void print_all(const checkup_t *checkup)
{
    printf("rung %s\n\n", rung_version_text());
    for (int64_t i = 0; i < checkup->count; i++)
        print_device(&checkup->findings[i]);
    printf("\n");
    print_parts(checkup);
    printf("\n%s\n", is_well(checkup) ? "All that is here works. Next: rung verify, rung bench"
                                      : "Something that is here does not work: see ILL above.");
}

int lab_command_doctor(const lab_options *options)
{
    checkup_t checkup = {.count = 0};
    int result = LAB_NOTHING;
    if (!look(&checkup)) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
    } else {
        if (options->json)
            print_json(&checkup);
        else
            print_all(&checkup);
        result = is_well(&checkup) ? LAB_GOOD : LAB_WRONG;
    }
    free(checkup.findings);
    rung_dependency_list_destroy(checkup.library_parts);
    rung_device_list_destroy(checkup.devices);
    return result;
}
