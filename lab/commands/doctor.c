/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - the command rung doctor: what is installed, whether it works, and what to install.
 *
 * Runs one multiply per device and checks the result exactly. Most of the time is the first compilation by a driver. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/python_package.h"
#include "cli/terminal.h"
#include "cuda_source/cuda_headers.h"
#include "cuda_source/nvcc_child.h"
#include "explain/explain.h"
#include "io/json_writer.h"
#include "process/oclgrind_process.h"
#include "target/target.h"
#include "verify/verify.h"

enum { TOOL_COUNT = 4, SIZE = 200, SEED = 7 };

typedef struct device_check {
    const rung_device_info *info;
    bool is_correct;
    char why_not[512];
    double seconds; /* of the first call, with compilation */
} device_check_t;

typedef struct doctor_report {
    rung_device_list *devices;
    device_check_t *checks; /* one per device */
    int64_t count;
    rung_dependency_list *library_dependencies;
    rung_dependency tool_dependencies[TOOL_COUNT]; /* of the lab itself */
    int64_t dependency_count;
    char oclgrind[LAB_EXECUTABLE_PATH_BYTES];
    char disassembler[512];
    char headers[4096], headers_install[256]; /* of CUDA */
    char nvcc[512];
} doctor_report_t;

/* ---- Checking -------------------------------------------------------------------------------------- */

/* Runs one multiply and checks it. SIZE is not a multiple of a tile, so that partial tiles are computed too. */
static void multiply_on(const char *device, device_check_t *check)
{
    static float data[3][SIZE * SIZE];
    rung_context_options options = {.size = sizeof(rung_context_options), .device = device};
    rung_context *context = NULL;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, SIZE, SIZE, data[0]),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, data[1]),
                                           rung_matrix_of(RUNG_F32, SIZE, SIZE, data[2]));
    lab_fill_small_integers(&problem.a, 1, SEED, 1);
    lab_fill_small_integers(&problem.b, 1, SEED, 2);
    memset(data[2], 0xff, sizeof data[2]);
    int64_t start_ns = rungi_clock_ns();
    rung_status status = rung_context_create(&options, &context);
    if (status == RUNG_OK)
        status = rung_multiply(context, &problem, NULL);
    check->seconds = 1e-9 * (double)(rungi_clock_ns() - start_ns);
    if (status != RUNG_OK)
        snprintf(check->why_not, sizeof check->why_not, "%s", rung_error_text());
    else
        check->is_correct = lab_freivalds_check(&problem, SEED, check->why_not, sizeof check->why_not);
    rung_context_destroy(context);
}

/* Finds the tools that the lab uses itself. */
static void find_lab_tools(doctor_report_t *report)
{
    lab_oclgrind_find(report->oclgrind, sizeof report->oclgrind);
    if (!lab_nvdisasm_find(report->disassembler, sizeof report->disassembler))
        *report->disassembler = '\0';
    lab_cuda_headers_describe(report->headers, sizeof report->headers, report->headers_install,
                              sizeof report->headers_install);
    lab_nvcc_find(report->nvcc, sizeof report->nvcc);
    const rung_dependency tools[TOOL_COUNT] = {
        {"lab", "Oclgrind", report->oclgrind, "checks of rung verify FILE where NVRTC is missing",
         "Oclgrind 21.10 (Debian: oclgrind), or set RUNG_OCLGRIND"},
        {"lab", "nvdisasm", report->disassembler, "the machine code of a kernel for rung explain",
         rungi_lab_install_hint(lab_nvdisasm_install_hint)},
        {"lab", "CUDA headers", report->headers, "mma.h, cuda_fp16.h and others for plain CUDA files",
         report->headers_install},
        {"lab", "nvcc", report->nvcc, "plain CUDA files that NVRTC rejects; most files do not need it",
         "the CUDA toolkit (Debian: nvidia-cuda-toolkit), or set RUNG_NVCC"}};
    memcpy(report->tool_dependencies, tools, sizeof tools);
    report->dependency_count = rung_dependency_list_count(report->library_dependencies) + TOOL_COUNT;
}

/* Returns a dependency; those of the library come first. */
static const rung_dependency *dependency_at(const doctor_report_t *report, int64_t index)
{
    int64_t count = rung_dependency_list_count(report->library_dependencies);
    return index < count ? rung_dependency_list_at(report->library_dependencies, index)
                         : &report->tool_dependencies[index - count];
}

static bool run_checks(doctor_report_t *report)
{
    if (rung_device_list_create(NULL, &report->devices) != RUNG_OK ||
        rung_dependency_list_create(NULL, &report->library_dependencies) != RUNG_OK)
        return false;
    report->count = rung_device_list_count(report->devices);
    report->checks = calloc((size_t)report->count, sizeof *report->checks);
    if (!report->checks) {
        rung_error_set(RUNG_STATUS_NO_MEMORY, "out of memory for %lld devices", (long long)report->count);
        return false;
    }
    find_lab_tools(report);
    for (int64_t i = 0; i < report->count; i++) {
        device_check_t *check = &report->checks[i];
        check->info = rung_device_list_at(report->devices, i);
        if (!*check->info->missing)
            multiply_on(check->info->name, check);
    }
    return true;
}

/* ---- Printing -------------------------------------------------------------------------------------- */

static void print_device(const device_check_t *check)
{
    const rung_device_info *info = check->info;
    lab_terminal_colour colour = *info->missing ? LAB_YELLOW : check->is_correct ? LAB_PLAIN : LAB_RED;
    lab_colour_begin(colour, stdout);
    if (*info->missing)
        printf("%-10s not available: %s\n", info->name, info->missing);
    else if (check->is_correct)
        printf("%-10s works: %s (%s, %s); a multiply of size %d is correct, %.2f s including compilation\n", info->name,
               info->title, info->platform, info->driver, SIZE, check->seconds);
    else
        printf("%-10s FAILED: %s (%s, %s): %s\n", info->name, info->title, info->platform, info->driver,
               check->why_not);
    lab_colour_end(colour, stdout);
}

static void print_dependency(const rung_dependency *dependency)
{
    printf("%-10s %s: ", dependency->backend, dependency->name);
    if (*dependency->found)
        printf("%s\n", dependency->found);
    else
        printf("not found (provides %s). To install: %s\n", dependency->purpose, dependency->install);
}

static void print_json(const doctor_report_t *report)
{
    lab_json json = lab_json_open(stdout, "rung-doctor/1");
    lab_json_string(&json, "rung", rung_version_text());
    lab_json_begin(&json, "devices", '[');
    for (int64_t i = 0; i < report->count; i++) {
        const device_check_t *check = &report->checks[i];
        lab_json_begin(&json, NULL, '{');
        LAB_JSON_STRINGS(&json, {"name", check->info->name}, {"title", check->info->title},
                         {"driver", check->info->driver});
        lab_json_boolean(&json, "present", !*check->info->missing);
        lab_json_string(&json, "missing", check->info->missing);
        lab_json_boolean(&json, "right", check->is_correct);
        lab_json_string(&json, "why_not", check->why_not);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_begin(&json, "parts", '[');
    for (int64_t i = 0; i < report->dependency_count; i++) {
        const rung_dependency *dependency = dependency_at(report, i);
        lab_json_begin(&json, NULL, '{');
        LAB_JSON_STRINGS(&json, {"backend", dependency->backend}, {"name", dependency->name},
                         {"found", dependency->found}, {"install", dependency->install});
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

/* Returns whether all devices that are present work. Missing devices do not count. */
static bool all_devices_work(const doctor_report_t *report)
{
    for (int64_t i = 0; i < report->count; i++)
        if (!*report->checks[i].info->missing && !report->checks[i].is_correct)
            return false;
    return true;
}

static void print_all(const doctor_report_t *report)
{
    printf("rung %s\n\n", rung_version_text());
    for (int64_t i = 0; i < report->count; i++)
        print_device(&report->checks[i]);
    printf("\n");
    for (int64_t i = 0; i < report->dependency_count; i++)
        print_dependency(dependency_at(report, i));
    printf("\n%s\n", all_devices_work(report) ? "Everything that is installed works. Next: rung verify, rung bench"
                                              : "At least one device does not work; see FAILED above.");
}

int lab_command_doctor(const lab_options *options)
{
    doctor_report_t report = {.count = 0};
    int result = LAB_EXIT_UNAVAILABLE;
    if (run_checks(&report)) {
        (options->json ? print_json : print_all)(&report);
        result = all_devices_work(&report) ? LAB_EXIT_SUCCESS : LAB_EXIT_WRONG;
    } else {
        lab_fail(result, "%s", rung_error_text());
    }
    free(report.checks);
    rung_dependency_list_destroy(report.library_dependencies);
    rung_device_list_destroy(report.devices);
    return result;
}
