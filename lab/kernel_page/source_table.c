/* SPDX-License-Identifier: Apache-2.0 */
/* source_table.c - the source on the page: one row per line with its requests, sectors and wavefronts, and the findings below
 * their lines. The rows are written here, so that they are there without JavaScript. */
#include <string.h>

#include "kernel_page/page_parts.h"

enum { SHOWN_LINES_MAX = 3000, LINES_BEFORE = 40, LINE_BYTES_MAX = 1000 };

/* ---- Lines ---- */

static int64_t count_lines(const char *source)
{
    int64_t count = 0;
    for (const char *at = source; *at; count++) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return count;
}

static int64_t first_interesting_line(const lab_kernel_page *page)
{
    const lab_access_counters *counters = &page->explanation->counters;
    int64_t first = page->kernel_line > 0 ? page->kernel_line : 1;
    for (int64_t i = 0; i < counters->line_count; i++)
        if (counters->lines[i].line > 0 && counters->lines[i].line < first)
            first = counters->lines[i].line;
    return first;
}

lab_source_part lab_source_part_of(const lab_kernel_page *page)
{
    lab_source_part part = {.first = 1, .line_count = count_lines(page->source)};
    part.last = part.line_count;
    if (part.line_count <= SHOWN_LINES_MAX)
        return part;
    part.first = first_interesting_line(page) - LINES_BEFORE;
    part.first = part.first < 1 ? 1 : part.first > part.line_count ? part.line_count : part.first;
    if (part.last - part.first >= SHOWN_LINES_MAX)
        part.last = part.first + SHOWN_LINES_MAX - 1;
    return part;
}

/* Returns the start of a line; the end of the text beyond the last one. */
static const char *find_line(const char *source, int64_t number)
{
    for (int64_t i = 1; i < number && *source; i++) {
        source += strcspn(source, "\n");
        source += *source == '\n';
    }
    return source;
}

static void copy_line(const char *start, char *text, size_t capacity)
{
    size_t length = strcspn(start, "\n");
    bool is_cut = length >= capacity;
    if (is_cut)
        for (length = capacity - 4; length > 0 && ((unsigned char)start[length] & 0xc0) == 0x80;)
            length--; /* not within a character */
    while (!is_cut && length > 0 && start[length - 1] == '\r')
        length--;
    memcpy(text, start, length);
    memcpy(text + length, is_cut ? "..." : "", is_cut ? 4 : 1);
}

void lab_source_line(const char *source, int64_t number, char *text, size_t capacity)
{
    copy_line(find_line(source, number), text, capacity);
}

/* ---- Counts of a line ---- */

/* The sums of a line over its accesses. */
typedef struct line_sums {
    int64_t rows, requests, global_requests, shared_requests;
    int64_t sectors, sectors_ideal, wavefronts, wavefronts_ideal;
} line_sums_t;

static line_sums_t sum_line(const lab_access_counters *counters, int64_t line)
{
    line_sums_t sums = {0};
    for (int64_t i = 0; i < counters->line_count; i++) {
        const lab_access_line *row = &counters->lines[i];
        if (row->line != line)
            continue;
        bool is_global = row->kind == LAB_ACCESS_GLOBAL_LOAD || row->kind == LAB_ACCESS_GLOBAL_STORE;
        sums.rows++;
        sums.requests += row->requests;
        sums.global_requests += is_global ? row->requests : 0;
        sums.shared_requests += is_global ? 0 : row->requests;
        sums.sectors += row->sectors;
        sums.sectors_ideal += row->sectors_ideal;
        sums.wavefronts += row->wavefronts;
        sums.wavefronts_ideal += row->wavefronts_ideal;
    }
    return sums;
}

/* Writes "32.0 (4.0)" per request, and both totals as the title; the colour says how far from the ideal the line is. */
static void write_cost(FILE *out, const char *unit, int64_t requests, int64_t count, int64_t ideal)
{
    if (requests == 0) {
        fputs("<td class=\"r\"></td>", out);
        return;
    }
    double ratio = ideal > 0 ? (double)count / (double)ideal : 1;
    fprintf(out, "<td class=\"r cost%s\" title=\"%lld %s, %lld are enough\"><b>%.3g</b><small> (%.3g)</small></td>",
            ratio >= 1.95   ? " bad"
            : ratio >= 1.05 ? " poor"
                            : "",
            (long long)count, unit, (long long)ideal, (double)count / (double)requests,
            (double)ideal / (double)requests);
}

/* ---- Rows ---- */

/* Returns whether a finding of the checks names the line. */
static bool has_error(const lab_kernel_page *page, int64_t line)
{
    const lab_finding_list *list = &page->explanation->trace->findings;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].line == line || list->items[i].other_line == line)
            return true;
    return false;
}

static void write_note(FILE *out, const char *kind, const char *text)
{
    lab_html_write(out, "<tr class=\"note %s\"><td colspan=\"5\"><span>%s</span></td></tr>\n", kind, text);
}

/* Writes what was found at a line below it. */
static void write_notes(FILE *out, const lab_kernel_page *page, int64_t line)
{
    const lab_explanation *explanation = page->explanation;
    const lab_finding_list *list = &explanation->trace->findings;
    for (int i = 0; i < list->count; i++)
        if (list->items[i].line == line)
            write_note(out, "error", list->items[i].text);
    for (int i = 0; i < explanation->finding_count; i++)
        if (explanation->findings[i].line == line)
            write_note(out, "hint", explanation->findings[i].text);
}

static void write_row(FILE *out, const lab_kernel_page *page, int64_t number, const char *start)
{
    char text[LINE_BYTES_MAX];
    line_sums_t sums = sum_line(&page->explanation->counters, number);
    copy_line(start, text, sizeof text);
    fprintf(out, "<tr id=\"L%lld\" data-line=\"%lld\" class=\"%s%s\">", (long long)number, (long long)number,
            sums.rows > 0 ? "has" : "", has_error(page, number) ? " wrong" : "");
    fprintf(out, "<th scope=\"row\">%lld</th><td class=\"r requests\">", (long long)number);
    if (sums.rows > 0)
        fprintf(out, "%lld", (long long)sums.requests);
    fputs("</td>", out);
    write_cost(out, "sectors", sums.global_requests, sums.sectors, sums.sectors_ideal);
    write_cost(out, "wavefronts", sums.shared_requests, sums.wavefronts, sums.wavefronts_ideal);
    lab_html_write(out, "<td class=\"code\"><code>%s</code></td></tr>\n", text);
    write_notes(out, page, number);
}

void lab_page_source_table(lab_page *out, const lab_kernel_page *page)
{
    lab_source_part part = lab_source_part_of(page);
    const char *at = find_line(page->source, part.first);
    fputs(
        "<div class=\"listing\" tabindex=\"-1\"><table id=\"source\" role=\"grid\" "
        "aria-label=\"Source with the requests of each line. Arrow keys move between lines with requests.\">\n"
        "<thead><tr><th scope=\"col\">line</th><th scope=\"col\" class=\"r requests\">requests</th>"
        "<th scope=\"col\" class=\"r\"><abbr title=\"sectors of 32 bytes per request, and the ideal\">sectors</abbr></th>"
        "<th scope=\"col\" class=\"r\"><abbr title=\"wavefronts of shared memory per request, and the ideal\">"
        "wave\xc2\xad"
        "fronts</abbr></th><th scope=\"col\">source</th></tr></thead>\n<tbody>\n",
        out->out);
    for (int64_t line = part.first; line <= part.last && *at; line++) {
        write_row(out->out, page, line, at);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    fputs("</tbody></table></div>\n", out->out);
}
