/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - any bytes as the file task.toml of a task: refused with a line, or a task whose shapes and expressions have values. */
#define _GNU_SOURCE
#include "byte_reader.h"

#include <unistd.h>

#include "grade/task.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], path[96];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void prepare(void)
{
    if (folder[0])
        return;
    snprintf(folder, sizeof folder, "/tmp/rung-fuzz-task-XXXXXX");
    MUST(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/task.toml", folder);
    atexit(remove_folder);
}

static void check_document(const char *text)
{
    lab_toml_document document = {0};
    char why[512] = "";
    if (lab_toml_parse(text, &document, why, sizeof why)) {
        MUST(document.count > 0);
        MUST(!lab_toml_describe_unread(&document, why, sizeof why) || strlen(why) > 5);
        for (int i = 0; i < document.count; i++)
            for (int k = 0; k < document.tables[i].count; k++)
                MUST(lab_toml_find(&document.tables[i], document.tables[i].keys[k].name));
    } else {
        MUST(strncmp(why, "line ", 5) == 0 && document.count == 0);
    }
    lab_toml_free(&document);
}

static void check_task(const lab_task *task)
{
    char why[512], text[256];
    int64_t value;
    MUST(task->argument_count <= LAB_TASK_ARGUMENTS_MAX && task->shape_count <= LAB_TASK_SHAPES_MAX);
    MUST(task->part_count <= LAB_TASK_PARTS_MAX && task->size_count <= LAB_TASK_SIZES_MAX);
    for (int i = 0; i < task->shape_count; i++) {
        const lab_task_shape *shape = &task->shapes[i];
        lab_task_describe_shape(task, shape->low, text, sizeof text);
        for (int k = 0; k < task->argument_count; k++) {
            const lab_task_argument *argument = &task->arguments[k];
            const char *expression = lab_role_is_array(argument->role) ? argument->count : argument->value;
            if (expression && !lab_task_evaluate(task, shape->high, expression, &value, why, sizeof why))
                MUST(strlen(why) > 5);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_task task;
    char why[2048] = "", *text = malloc(size + 1);
    MUST(text);
    memcpy(text, data, size);
    text[size] = '\0';
    check_document(text);
    prepare();
    FILE *file = fopen(path, "wb");
    MUST(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    if (lab_task_read(folder, &task, why, sizeof why)) {
        check_task(&task);
        lab_task_free(&task);
    } else {
        MUST(strlen(why) > 10 && !task.document);
    }
    free(text);
    return 0;
}
