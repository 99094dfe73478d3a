/* SPDX-License-Identifier: Apache-2.0 */
/* finding_list.c - see finding_list.h. */
#include "findings/finding_list.h"

#include <string.h>

#include "cli/terminal.h"
#include "common/text.h"
#include "findings/finding_fix.h"
#include "findings/kernel_name.h"

static lab_finding *find(lab_finding_list *list, const rung_emulator_finding *finding, const char *kernel)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->items[i].kind, rung_emulator_finding_name(finding->kind)) == 0 &&
            list->items[i].line == finding->place.line && list->items[i].other_line == finding->other.line &&
            strcmp(list->items[i].kernel, kernel) == 0)
            return &list->items[i];
    return NULL;
}

/* Appends what the two lines are. */
static void append_lines(lab_finding *item, rung_emulator_finding_kind kind)
{
    bool is_conflict = kind == RUNG_EMULATOR_RACE || kind == RUNG_EMULATOR_ASYNC_COPY;
    if (item->other_line <= 0 || (item->other_line == item->line && !is_conflict))
        return;
    if (item->other_line == item->line)
        lab_append(item->text, sizeof item->text, " Both accesses are in line %d.", item->line);
    else if (is_conflict)
        lab_append(item->text, sizeof item->text, " The accesses are in lines %d and %d.", item->line,
                   item->other_line);
    else if (kind == RUNG_EMULATOR_MISALIGNED)
        lab_append(item->text, sizeof item->text, " Lines %d and %d compute the address and use it.",
                   item->line < item->other_line ? item->line : item->other_line,
                   item->line < item->other_line ? item->other_line : item->line);
    else
        lab_append(item->text, sizeof item->text, " The other threads are at line %d.", item->other_line);
}

/* Writes what happened as a sentence: with a capital letter, both lines, a full stop, and the first run. */
static void write_sentence(lab_finding *item, const rung_emulator_finding *finding, const char *when)
{
    size_t length = strlen(finding->text);
    bool has_end = length > 0 && finding->text[length - 1] == '.';
    snprintf(item->text, sizeof item->text, "%s%s", finding->text, has_end ? "" : ".");
    if (item->text[0] >= 'a' && item->text[0] <= 'z')
        item->text[0] = (char)(item->text[0] - 'a' + 'A');
    append_lines(item, finding->kind);
    if (*when)
        lab_append(item->text, sizeof item->text, " First seen with %s", when);
}

/* Returns a new item; NULL if there is no room. */
static lab_finding *append(lab_finding_list *list)
{
    if (list->count == LAB_FINDINGS_MAX) {
        list->dropped++;
        return NULL;
    }
    return &list->items[list->count++];
}

static lab_finding_thread thread_at(const rung_emulator_place *place)
{
    lab_finding_thread thread = {.access = place->access};
    memcpy(thread.block, place->block, sizeof thread.block);
    memcpy(thread.thread, place->thread, sizeof thread.thread);
    return thread;
}

void lab_finding_list_add_one(lab_finding_list *list, const rung_emulator_finding *finding, const char *when)
{
    char kernel[sizeof list->items->kernel];
    lab_kernel_source_name(finding->kernel ? finding->kernel : "", kernel, sizeof kernel);
    lab_finding *item = find(list, finding, kernel);
    if (item) {
        item->count += finding->count;
        return;
    }
    item = append(list);
    if (!item)
        return;
    *item = (lab_finding){
        .kind = rung_emulator_finding_name(finding->kind),
        .line = finding->place.line,
        .other_line = finding->other.line,
        .fix = lab_finding_fix(rung_emulator_finding_name(finding->kind), finding->memory, finding->cause),
        .count = finding->count,
        .thread = thread_at(&finding->place),
        .other_thread = thread_at(&finding->other),
        .memory = finding->memory,
        .bytes = finding->bytes};
    snprintf(item->file, sizeof item->file, "%s", finding->place.file ? finding->place.file : "");
    memcpy(item->kernel, kernel, sizeof kernel);
    write_sentence(item, finding, when);
}

bool lab_finding_is_secondary(rung_emulator *emulator, const rung_emulator_finding *finding)
{
    if (finding->kind != RUNG_EMULATOR_UNINITIALIZED || finding->memory != RUNG_EMULATOR_MEMORY_SHARED)
        return false;
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++) {
        const rung_emulator_finding *cause = rung_emulator_finding_at(emulator, i);
        bool is_race = (cause->kind == RUNG_EMULATOR_RACE || cause->kind == RUNG_EMULATOR_ASYNC_COPY) &&
                       cause->memory == RUNG_EMULATOR_MEMORY_SHARED &&
                       (cause->place.line == finding->place.line || cause->other.line == finding->place.line);
        if (is_race || cause->kind == RUNG_EMULATOR_BARRIER)
            return true;
    }
    return false;
}

void lab_finding_list_add(lab_finding_list *list, rung_emulator *emulator, const char *when)
{
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++)
        if (!lab_finding_is_secondary(emulator, rung_emulator_finding_at(emulator, i)))
            lab_finding_list_add_one(list, rung_emulator_finding_at(emulator, i), when);
}

void lab_finding_list_add_own(lab_finding_list *list, const char *kind, const char *file, int line, const char *text,
                              const char *fix)
{
    lab_finding *item = append(list);
    if (!item)
        return;
    *item = (lab_finding){.kind = kind, .line = line, .fix = fix, .count = 1};
    snprintf(item->file, sizeof item->file, "%s", file);
    snprintf(item->text, sizeof item->text, "%s", text);
}

/* ---- Output ---- */

/* Prints one line of the source. */
static void print_source_line(const char *source, int line, FILE *out)
{
    for (int i = 1; source && i < line; i++) {
        source = strchr(source, '\n');
        source = source ? source + 1 : NULL;
    }
    if (!source || line <= 0)
        return;
    size_t length = strcspn(source, "\n"), start = strspn(source, " \t");
    if (start < length)
        fprintf(out, "    %5d | %.*s\n", line, (int)(length - start), source + start);
}

/* Returns the text of a file; a source without a name stands for every file. */
static const char *source_of(const lab_finding_source *sources, int count, const char *file)
{
    for (int i = 0; i < count; i++)
        if (!sources[i].file || strcmp(sources[i].file, file) == 0)
            return sources[i].text;
    return NULL;
}

void lab_finding_list_print_with(const lab_finding_list *list, const lab_finding_source *sources, int count, FILE *out)
{
    for (int i = 0; i < list->count; i++) {
        const lab_finding *item = &list->items[i];
        const char *source = source_of(sources, count, item->file);
        lab_colour_begin(LAB_RED, out);
        fprintf(out, "  %s:%d: %s", lab_base_name(item->file), item->line, item->kind);
        lab_colour_end(LAB_RED, out);
        fputc('\n', out);
        print_source_line(source, item->line, out);
        if (item->other_line != item->line)
            print_source_line(source, item->other_line, out);
        fprintf(out, "    ");
        lab_text_wrap(item->text, 4, 4, lab_terminal_width(out), out);
        fprintf(out, "    ");
        lab_text_wrap(item->fix, 4, 4, lab_terminal_width(out), out);
    }
    if (list->dropped > 0)
        fprintf(out, "  %lld more findings are not shown\n", (long long)list->dropped);
}

void lab_finding_list_print(const lab_finding_list *list, const char *source, FILE *out)
{
    lab_finding_list_print_with(list, &(lab_finding_source){NULL, source}, 1, out);
}

void lab_finding_list_write(const lab_finding_list *list, lab_json *json)
{
    lab_json_begin(json, "findings", '[');
    for (int i = 0; i < list->count; i++) {
        const lab_finding *item = &list->items[i];
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"kind", item->kind}, {"file", item->file}, {"kernel", item->kernel});
        LAB_JSON_INTEGERS(json, {"line", item->line}, {"other_line", item->other_line}, {"count", item->count});
        LAB_JSON_STRINGS(json, {"text", item->text}, {"fix", item->fix});
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}
