/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - rung tasks: lists tasks, describes one, and prints its skeleton. */
#define _XOPEN_SOURCE 700 /* strdup */
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "common/failure.h"
#include "common/text.h"
#include "grade/grade.h"
#include "grade/grade_result.h"
#include "grade/task_folders.h"
#include "grade/variant.h"
#include "io/input_file.h"
#include "io/json_writer.h"
#include "target/target.h"

/* ---- The list ---- */

static void print_list(const lab_task_list *list)
{
    static const char *const header[] = {"task", "points", "title"};
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    lab_table_add(table, 3, header);
    for (int i = 0; i < list->count; i++) {
        if (list->items[i].problem)
            continue;
        lab_table_begin_row(table);
        lab_table_cell(table, "%s", list->items[i].task.name);
        lab_table_cell(table, "%lld", (long long)list->items[i].task.points);
        lab_table_cell(table, "%s", list->items[i].task.title);
    }
    lab_table_print(table, "lrl", stdout);
    free(table);
}

static void write_task(lab_json *json, const lab_task *task, const char *variant)
{
    lab_json_begin(json, NULL, '{');
    LAB_JSON_STRINGS(json, {"name", task->name}, {"title", task->title}, {"folder", task->folder},
                     {"kernel", task->kernel});
    lab_json_integer(json, "max_points", task->points);
    lab_json_begin(json, "parts", '[');
    for (int i = 0; i < task->part_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "name", task->parts[i].name);
        lab_json_integer(json, "max_points", task->parts[i].points);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    if (variant)
        lab_grade_write_variant(task, variant, json);
    lab_json_end(json, '}');
}

static int list_tasks(const lab_options *options)
{
    lab_task_list list;
    char why[4096];
    int code = LAB_EXIT_SUCCESS;
    if (!lab_task_list_read(options->argument, &list, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    if (options->json) {
        lab_json json = lab_json_open(stdout, "rung-tasks/1");
        lab_json_begin(&json, "tasks", '[');
        for (int i = 0; i < list.count; i++)
            if (!list.items[i].problem)
                write_task(&json, &list.items[i].task, NULL);
        lab_json_end(&json, ']');
        lab_json_end(&json, '}');
    } else {
        print_list(&list);
    }
    for (int i = 0; i < list.count; i++)
        if (list.items[i].problem)
            code = lab_fail(LAB_EXIT_USAGE, "%s", list.items[i].problem);
    lab_task_list_free(&list);
    return code;
}

/* ---- One task ---- */

static void print_parameters(const lab_task *task)
{
    static const char *const types[] = {
        "double", "float",    "__half", "__nv_bfloat16",  "long long",   "unsigned long long",
        "int",    "unsigned", "short",  "unsigned short", "signed char", "unsigned char"};
    printf("  kernel   %s(", task->kernel);
    for (int i = 0; i < task->argument_count; i++) {
        const lab_task_argument *argument = &task->arguments[i];
        printf("%s%s%s %s%s", i > 0 ? ", " : "", argument->role == LAB_ROLE_IN ? "const " : "", types[argument->type],
               lab_role_is_array(argument->role) ? "*" : "", argument->name);
    }
    printf(")\n");
}

/* Prints what is special about a variant, each sentence after `before`. */
static void print_variant(const lab_task *task, const char *id, const char *before)
{
    char text[LAB_VARIANT_TEXT_BYTES];
    printf("%sVariant of %s:\n", before, id);
    for (int i = 0; i < task->variable_count; i++) {
        lab_variant_sentence(&task->variables[i], text, sizeof text);
        printf("%s  %s = %lld: %s\n", before, task->variables[i].name, (long long)lab_task_value(&task->variables[i]),
               text);
    }
}

static void print_task(const lab_task *task, const char *variant)
{
    char option[LAB_VARIANT_ID_BYTES + 16] = "";
    if (variant)
        snprintf(option, sizeof option, " --variant %s", variant);

    printf("%s: %s\n", task->name, task->title);
    print_parameters(task);
    printf("  folder   %s (README.md has the idea and hints)\n", task->folder);
    printf("  start    rung tasks %s%s --source > mine.cu\n", task->name, option);
    printf("  grade    rung grade %s mine.cu%s\n", task->name, option);
    for (int i = 0; i < task->part_count; i++)
        printf("  %4lld points  %s\n", (long long)task->parts[i].points, task->parts[i].name);
    if (variant)
        print_variant(task, variant, "");
}

static int print_skeleton(const lab_task *task, const char *variant)
{
    char path[LAB_TASK_PATH_BYTES + 32], why[1024];
    size_t bytes;
    snprintf(path, sizeof path, "%s/skeleton.cu", task->folder);
    char *text = lab_file_read(path, LAB_KERNEL_BYTES_MAX, &bytes, why, sizeof why);
    if (!text)
        return lab_fail(LAB_EXIT_USAGE, "%s: %s", path, why);
    bool good = !variant || lab_variant_apply(task, &text, &bytes);
    if (variant) {
        print_variant(task, variant, "// ");
        printf("// This variant counts where the text below differs. Try it: rung grade %s FILE --variant %s\n",
               task->name, variant);
    }
    fwrite(text, 1, bytes, stdout);
    free(text);
    return good ? LAB_EXIT_SUCCESS : lab_fail(LAB_EXIT_USAGE, "out of memory");
}

static int describe_task(const lab_options *options, const char *folder)
{
    lab_task task;
    char why[4096];
    int code = LAB_EXIT_SUCCESS;
    if (!lab_task_read(folder, &task, why, sizeof why))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    if (options->variant && !lab_variant_choose(&task, options->variant, why, sizeof why)) {
        code = lab_fail(LAB_EXIT_USAGE, "%s", why);
    } else if (options->source) {
        code = print_skeleton(&task, options->variant);
    } else if (options->json) {
        lab_json json = lab_json_open(stdout, "rung-tasks/1");
        lab_json_begin(&json, "tasks", '[');
        write_task(&json, &task, options->variant);
        lab_json_end(&json, ']');
        lab_json_end(&json, '}');
    } else {
        print_task(&task, options->variant);
    }
    lab_task_free(&task);
    return code;
}

int lab_tasks_run(const lab_options *options)
{
    char folder[LAB_TASK_PATH_BYTES], why[4096];
    if (!options->argument && options->source)
        return lab_usage_error("tasks", "--source needs a task: rung tasks vector_add --source");
    if (!options->argument && options->variant)
        return lab_usage_error("tasks", "--variant needs a task: rung tasks vector_add --variant ann");
    if (!options->argument)
        return list_tasks(options);
    if (lab_task_find_folder(options->argument, folder, sizeof folder, why, sizeof why))
        return describe_task(options, folder);
    if (options->source || options->variant || !lab_task_is_folder(options->argument))
        return lab_fail(LAB_EXIT_USAGE, "%s", why);
    return list_tasks(options);
}

void lab_tasks_write_names(FILE *out)
{
    lab_task_list list;
    char why[1024];
    if (!lab_task_list_read(NULL, &list, why, sizeof why))
        return;
    for (int i = 0; i < list.count; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", list.items[i].task.name);
    lab_task_list_free(&list);
}
