/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - see variant.h. */
#define _GNU_SOURCE /* open_memstream */
#include "grade/variant.h"

#include <stdlib.h>
#include <string.h>

#include "base/fnv1a.h"
#include "common/failure.h"
#include "common/random.h"
#include "common/text.h"
#include "cuda_source/cuda_constants.h"

bool lab_variant_choose(lab_task *task, const char *id, char *why, size_t capacity)
{
    uint64_t combinations = 1;
    if (task->variable_count == 0)
        return lab_set_reason(why, capacity, "the task %s has no variants (no table [[variant]] in %s/task.toml)",
                              task->name, task->folder);
    if (!*id || strlen(id) >= LAB_VARIANT_ID_BYTES)
        return lab_set_reason(why, capacity, "the name of a variant has %lld bytes; use 1 to %d", (long long)strlen(id),
                              LAB_VARIANT_ID_BYTES - 1);
    for (const char *at = id; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            return lab_set_reason(why, capacity, "the name of a variant contains a control character");
    for (int i = 0; i < task->variable_count; i++)
        combinations *= (uint64_t)task->variables[i].count;
    uint64_t stream = rungi_fnv1a(RUNGI_FNV1A_START, task->name, strlen(task->name) + 1);
    stream = rungi_fnv1a(stream, id, strlen(id));
    uint64_t choice = 1 + lab_random((uint64_t)task->variant_seed, stream, 0) % (combinations - 1);
    for (int i = 0; i < task->variable_count; i++) {
        lab_task_variable *variable = &task->variables[i];
        variable->chosen = (int)(choice % (uint64_t)variable->count);
        choice /= (uint64_t)variable->count;
    }
    return true;
}

void lab_variant_describe(const lab_task *task, char *text, size_t capacity)
{
    *text = '\0';
    for (int i = 0; i < task->variable_count; i++)
        lab_append(text, capacity, "%s%s = %lld", i > 0 ? ", " : "", task->variables[i].name,
                   (long long)lab_task_value(&task->variables[i]));
}

void lab_variant_sentence(const lab_task_variable *variable, char *text, size_t capacity)
{
    const char *rest = variable->texts[variable->chosen], *place;
    *text = '\0';
    while ((place = strstr(rest, "{}")) != NULL) {
        lab_append(text, capacity, "%.*s%lld", (int)(place - rest), rest, (long long)lab_task_value(variable));
        rest = place + 2;
    }
    lab_append(text, capacity, "%s", rest);
}

/* Writes the text with the values of the variables. */
static void write_changed(const lab_task *task, const lab_tokens *tokens, const char *text, size_t bytes, FILE *out)
{
    const char *from = text;
    lab_cuda_constant constant;
    for (int at = 0; lab_cuda_constant_next(tokens, &at, &constant);)
        for (int i = 0; i < task->variable_count; i++) {
            if (!rungi_string_view_equals(constant.name, task->variables[i].name))
                continue;
            fwrite(from, 1, (size_t)(constant.value.text - from), out);
            fprintf(out, "%lld", (long long)lab_task_value(&task->variables[i]));
            from = constant.value.text + constant.value.length;
        }
    fwrite(from, 1, (size_t)(text + bytes - from), out);
}

bool lab_variant_apply(const lab_task *task, char **text, size_t *bytes)
{
    lab_tokens tokens;
    char *changed = NULL;
    size_t length;
    FILE *out = open_memstream(&changed, &length);
    bool good = out && lab_tokens_read(*text, *bytes, &tokens);
    if (good) {
        write_changed(task, &tokens, *text, *bytes, out);
        lab_tokens_free(&tokens);
    }
    if (!out || fclose(out) != 0 || !good) {
        free(changed);
        return false;
    }
    free(*text);
    *text = changed;
    *bytes = length;
    return true;
}
