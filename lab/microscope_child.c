/* SPDX-License-Identifier: Apache-2.0 */
/* microscope_child.c - the process that multiplies under the microscope: see microscope.h.
 *
 * Its environment, made by microscope.c, puts it on Oclgrind's simulator with our plugin. It
 * multiplies once, checks the result, and adds to the plugin's output what the plugin cannot
 * know. Whatever goes wrong it says on standard error, which the parent hands on. */
#include "microscope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "oracle.h"
#include "target.h"

static const uint64_t seed = 3;

enum { ARGUMENTS = 13, PUTS_TEXT = 4096 };

typedef struct scene {
    lab_target target;
    rung_kernel *kernel;
    char parameters[RUNG_PARAMETERS_BYTES];
    rung_problem here, there; /* in this process's memory, and on the device */
    rung_buffer *workspace;
    rung_plan *plan;
} scene_t;

bool lab_microscope_is_child(int argc, char **argv)
{
    return argc == 2 + ARGUMENTS - 1 && strcmp(argv[1], "--under-microscope") == 0;
}

/* Reads the arguments that the parent wrote; they are valid. */
static void read_look(char **argv, lab_look *look)
{
    *look = (lab_look){
        .kernel = argv[2],
        .parameters = *argv[3] ? argv[3] : NULL,
        .compute = (rung_compute)atoi(argv[5]),
        .m = atoll(argv[6]),
        .n = atoll(argv[7]),
        .k = atoll(argv[8]),
        .b_col_major = atoi(argv[9]) != 0,
        .a_stride = atoll(argv[10]),
        .b_stride = atoll(argv[11]),
        .c_stride = atoll(argv[12]),
    };
    lab_product_find(argv[4], strlen(argv[4]), &look->product);
}

/* ---- The kernel and its parameters ---- */

/* Tells the plugin, which looks before each launch, on which lines matrix.h's put_two and put_four
 * stand: they are macros, so that their two or four stores, one on a GPU, would be counted
 * apart. */
static bool tell_puts(const char *source)
{
    char text[PUTS_TEXT] = "";
    size_t used = 0;
    int line = 1;
    bool has_words = strstr(source, "\"matrix.h\"") != NULL;
    for (const char *at = source; has_words && *at; at++) {
        int parts = strncmp(at, "put_two(", 8) == 0 ? 2 : strncmp(at, "put_four(", 9) == 0 ? 4 : 0;
        if (parts > 0 && used + 32 >= sizeof text) {
            fprintf(stderr, "rung: the kernel has too many calls of put_two and put_four to be counted\n");
            return false;
        }
        if (parts > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%d:%d,", line, parts);
        line += *at == '\n';
    }
    return setenv("RUNG_MICROSCOPE_PUTS", text, 1) == 0;
}

/* The simulator counts as a processor, for which the library would choose others. Copies that a
 * check for wrong waits does twice are not to be seen. */
bool lab_look_parameters(const rung_kernel *kernel, lab_product product, const char *given,
                         char text[RUNG_PARAMETERS_BYTES])
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    const char *chosen = given ? given : info->defaults;
    const char *sum = rung_type_name(lab_product_sum(product));
    for (int64_t i = 0; !given && i < info->preset_count; i++)
        if (strcmp(rung_kernel_preset(kernel, i)->name, sum) == 0)
            chosen = rung_kernel_preset(kernel, i)->name;
    const char *unchecked = "";
    for (int64_t i = 0; i < info->parameter_count; i++)
        if (strcmp(rung_kernel_parameter(kernel, i)->name, "CHECKED") == 0)
            unchecked = *chosen ? ",CHECKED=0" : "CHECKED=0";
    int length = snprintf(text, RUNG_PARAMETERS_BYTES, "%s%s", chosen, unchecked);
    return length >= 0 && length < RUNG_PARAMETERS_BYTES;
}

/* Any other device would be quicker, and show nothing. */
static bool open_simulator(const lab_look *look, scene_t *scene)
{
    lab_options options = {.device = "opencl"};
    char why[8192];
    if (lab_target_open(&options, NULL, &scene->target) != LAB_GOOD)
        return false;
    if (!lab_kernel_open(scene->target.context, "opencl", look->kernel, &scene->kernel, why, sizeof why)) {
        fprintf(stderr, "rung: %s\n", why);
        return false;
    }
    const char *platform = rung_device_describe(scene->target.device)->platform;
    if (strcmp(platform, "Oclgrind") == 0)
        return true;
    fprintf(stderr,
            "rung: the microscope needs Oclgrind's driver, and OpenCL gave %s's: is another "
            "libOpenCL than ocl-icd's (Debian: ocl-icd-libopencl1) in its way?\n",
            platform);
    return false;
}

/* ---- The multiply ---- */

/* Rows, or turned columns, `stride` elements apart, 0: one behind the other. */
static bool make_operand(const scene_t *scene, rung_type type, int64_t rows, int64_t cols, bool turned, int64_t stride,
                         rung_matrix *here, rung_matrix *there)
{
    int64_t along = turned ? rows : cols, across = turned ? cols : rows;
    int64_t bytes;
    if (stride < along)
        stride = along;
    bytes = across * stride * rung_type_size(type);
    *here = rung_matrix_block(rung_matrix_of(type, across, stride, calloc(1, (size_t)bytes)), 0, 0, across, along);
    *there = *here;
    there->data = NULL;
    if (!here->data || rung_buffer_create(scene->target.device, bytes, &there->buffer) != RUNG_OK)
        return false;
    if (turned) {
        *here = rung_matrix_transpose(*here);
        *there = rung_matrix_transpose(*there);
    }
    return true;
}

/* Of the memory that the view is of, gaps and all. */
static int64_t bytes_of(const rung_matrix *matrix)
{
    bool turned = matrix->col_stride > 1;
    int64_t across = turned ? matrix->cols : matrix->rows;
    return across * (turned ? matrix->col_stride : matrix->row_stride) * rung_type_size(matrix->type);
}

static bool send(const scene_t *scene, const rung_matrix *here, const rung_matrix *there)
{
    return rung_buffer_write(scene->target.queue, there->buffer, 0, bytes_of(here), here->data, NULL) == RUNG_OK;
}

static bool make_problem(const lab_look *look, scene_t *scene)
{
    rung_type in = look->product.in, out = look->product.out;
    rung_matrix here[3], there[3];
    if (!make_operand(scene, in, look->m, look->k, false, look->a_stride, &here[0], &there[0]) ||
        !make_operand(scene, in, look->k, look->n, look->b_col_major, look->b_stride, &here[1], &there[1]) ||
        !make_operand(scene, out, look->m, look->n, false, look->c_stride, &here[2], &there[2]))
        return false;
    scene->here = rung_problem_of(here[0], here[1], here[2]);
    scene->there = rung_problem_of(there[0], there[1], there[2]);
    scene->here.compute = scene->there.compute = look->compute;
    lab_exact_fill(&here[0], 1, seed, 1);
    lab_exact_fill(&here[1], 1, seed, 2);
    return send(scene, &here[0], &there[0]) && send(scene, &here[1], &there[1]);
}

static bool run(scene_t *scene)
{
    rung_plan_options options = {
        .size = sizeof(rung_plan_options), .kernel = scene->kernel, .parameters = scene->parameters, .split_k = 1};
    rung_run_options work = {.size = sizeof(rung_run_options)};
    rung_queue *queue = scene->target.queue;
    const rung_matrix *c = &scene->here.c;
    if (rung_plan_create(scene->target.device, &scene->there, &options, &scene->plan) != RUNG_OK)
        return false;
    int64_t bytes = rung_plan_describe(scene->plan)->workspace_bytes;
    if (rung_buffer_create(scene->target.device, bytes, &scene->workspace) != RUNG_OK)
        return false;
    work.workspace = scene->workspace;
    return rung_plan_run(scene->plan, queue, &scene->there, &work) == RUNG_OK &&
           rung_buffer_read(queue, scene->there.c.buffer, 0, bytes_of(c), c->data, NULL) == RUNG_OK &&
           rung_queue_finish(queue) == RUNG_OK;
}

static bool is_right(const scene_t *scene)
{
    char why[256];
    if (lab_exact_judge(&scene->here, seed, why, sizeof why))
        return true;
    const rung_kernel_info *info = rung_kernel_describe(scene->kernel);
    bool is_file = info->number == -1;
    fprintf(stderr, "rung: %s does not multiply right: %s%s%s%s\n", info->name, why, is_file ? "; rung verify " : "",
            is_file ? info->file : "", is_file ? " says more" : "");
    return false;
}

/* The last line: without it the parent knows that something went wrong. */
static bool write_end(const scene_t *scene, const char *path)
{
    FILE *out = fopen(path, "ae");
    bool good = out && fprintf(out, "run\t%s\n", rung_plan_describe(scene->plan)->parameters) > 0;
    good = out && fclose(out) == 0 && good;
    if (!good)
        fprintf(stderr, "rung: %s cannot be written: %s\n", path, strerror(errno));
    return good;
}

static bool look_at(const lab_look *look, const char *output, scene_t *scene)
{
    if (!open_simulator(look, scene))
        return false;
    const rung_kernel_info *info = rung_kernel_describe(scene->kernel);
    if (!tell_puts(info->source))
        return false;
    if (!lab_look_parameters(scene->kernel, look->product, look->parameters, scene->parameters)) {
        fprintf(stderr, "rung: the list of parameters is too long; the maximum is %d bytes, with CHECKED=0\n",
                RUNG_PARAMETERS_BYTES - 1);
        return false;
    }
    if (!make_problem(look, scene) || !run(scene)) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return false;
    }
    return is_right(scene) && write_end(scene, output);
}

static void close_scene(scene_t *scene)
{
    rung_matrix *here[] = {&scene->here.a, &scene->here.b, &scene->here.c};
    rung_matrix *there[] = {&scene->there.a, &scene->there.b, &scene->there.c};
    for (int i = 0; i < 3; i++) {
        free(here[i]->data);
        rung_buffer_destroy(there[i]->buffer);
    }
    rung_buffer_destroy(scene->workspace);
    rung_plan_destroy(scene->plan);
    rung_kernel_destroy(scene->kernel);
    lab_target_close(&scene->target);
}

int lab_microscope_child(int argc, char **argv)
{
    lab_look look;
    scene_t scene = {0};
    (void)argc;
    read_look(argv, &look);
    bool good = look_at(&look, argv[13], &scene);
    close_scene(&scene);
    return good ? LAB_GOOD : LAB_WRONG;
}
