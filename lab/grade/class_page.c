/* SPDX-License-Identifier: Apache-2.0 */
/* class_page.c - the grades of a class as one HTML file that needs no network; see class.h. Its script only sorts a table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "common/text.h"
#include "grade/class.h"
#include "grade/class_page/sources.h"
#include "grade/variant.h"
#include "report/report.h"

/* ---- Numbers as texts for lab_html_write() ---- */

typedef struct number_text {
    char text[32];
} number_text_t;

static number_text_t format_integer(int64_t value)
{
    number_text_t number;
    snprintf(number.text, sizeof number.text, "%lld", (long long)value);
    return number;
}

static number_text_t format_mean(double value)
{
    number_text_t number;
    snprintf(number.text, sizeof number.text, "%.1f", value);
    return number;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- Header ---- */

static void write_card(FILE *out, const char *number, const char *unit, const char *what)
{
    lab_html_write(out, "<li><b>%s <small>%s</small></b><span class=\"what\">%s</span></li>\n", number, unit, what);
}

static void write_header(lab_page *page, const lab_class *class, const lab_class_summary *summary)
{
    char most[64];
    int obstructed = 0;
    for (int i = 0; i < class->count; i++)
        obstructed += class->students[i].result->obstacle != NULL;
    lab_page_text(page, "lead", "%s. Graded on an emulated GPU (%s) with seed %llu%s.", class->task->title,
                  class->task->architecture_text, (unsigned long long)class->seed,
                  class->has_variants ? "; every student had a variant of the task" : "");
    snprintf(most, sizeof most, "of %lld points", (long long)class->task->points);
    fputs("<ul class=\"cards\">\n", page->out);
    write_card(page->out, format_integer(class->count).text, class->count == 1 ? "submission" : "submissions",
               "in the folder");
    write_card(page->out, format_integer(summary->full).text, summary->full == 1 ? "student" : "students",
               "with all points");
    write_card(page->out, format_mean(summary->mean).text, most, "mean");
    write_card(page->out, format_mean(summary->median).text, most, "median");
    write_card(page->out, format_integer(obstructed).text, obstructed == 1 ? "submission" : "submissions",
               "did not run");
    fputs("</ul>\n", page->out);
}

/* ---- Bars ---- */

/* Begins a table of bars. The titles of its columns are those of the bars and of up to two numbers. */
static void begin_bars(FILE *out, const char *caption, const char *name, const char *number, const char *second)
{
    lab_html_write(out,
                   "<table class=\"bars\"><caption>%s</caption>\n<thead><tr><th scope=\"col\" class=\"name\">%s</th>"
                   "<th scope=\"col\" class=\"r number\">%s</th>",
                   caption, name, number);
    if (second)
        lab_html_write(out, "<th scope=\"col\" class=\"r number\">%s</th>", second);
    fputs("<td></td></tr></thead>\n<tbody>\n", out);
}

static void write_bar(FILE *out, const char *name, const char *number, const char *second, double width)
{
    lab_html_write(out, "<tr><th scope=\"row\">%s</th><td class=\"r\">%s</td>", name, number);
    if (second)
        lab_html_write(out, "<td class=\"r\">%s</td>", second);
    fprintf(out, "<td><i%s style=\"width:%.1f%%\"></i></td></tr>\n", width > 0 ? "" : " class=\"none\"", width);
}

static void write_distribution(lab_page *page, const lab_class_summary *summary)
{
    int largest = 1;
    lab_page_section(page, "distribution", "Distribution of the points");
    for (int i = 0; i < LAB_CLASS_BINS; i++)
        largest = summary->bins[i] > largest ? summary->bins[i] : largest;
    begin_bars(page->out, "Students per range of points", "points", "students", NULL);
    for (int i = 0; i < LAB_CLASS_BINS; i++)
        write_bar(page->out, lab_class_bin_text(i), format_integer(summary->bins[i]).text, NULL,
                  percent(summary->bins[i], largest));
    fputs("</tbody></table>\n", page->out);
}

static void write_parts(lab_page *page, const lab_class *class, const lab_class_summary *summary)
{
    char mean[96];
    lab_page_section(page, "parts", "Points per part");
    lab_page_text(page, "soft", "The bars show how many of the %d students reached a part.", class->count);
    begin_bars(page->out, "Students who reached each part, and mean points", "part", "students", "mean");
    for (int i = 0; i < class->task->part_count; i++) {
        const lab_class_part *part = &summary->parts[i];
        snprintf(mean, sizeof mean, "%.1f of %lld", (double)part->points / class->count,
                 (long long)class->task->parts[i].points);
        write_bar(page->out, class->task->parts[i].name, format_integer(part->students).text, mean,
                  percent(part->students, class->count));
    }
    fputs("</tbody></table>\n", page->out);
}

/* ---- Mistakes ---- */

static void write_mistake(FILE *out, const lab_class *class, const lab_class_mistake *mistake)
{
    lab_html_write(out,
                   "<li><div class=\"count\">%s<small>%s</small></div><div><b>%s</b><span class=\"kind\">%s</span>\n"
                   "<p>%s: %s</p>",
                   format_integer(mistake->students).text, mistake->students == 1 ? "student" : "students",
                   mistake->reason, mistake->kind, class->students[mistake->example].name, mistake->text);
    if (*mistake->source)
        lab_html_write(out, "<code>%s: %s</code>", format_integer(mistake->line).text, mistake->source);
    fputs("</div></li>\n", out);
}

static void write_mistakes(lab_page *page, const lab_class *class, const lab_class_summary *summary)
{
    lab_page_section(page, "mistakes", "Most common mistakes");
    if (summary->mistake_count == 0) {
        lab_page_text(page, "soft", "None: all students have all points.");
        return;
    }
    lab_page_text(page, "soft",
                  "A student counts once per mistake and may have several. The example is that of one student. "
                  "Memory accesses and results are compared with limits only if the kernel ran.");
    fputs("<ul class=\"mistakes\">\n", page->out);
    for (int i = 0; i < summary->mistake_count; i++)
        write_mistake(page->out, class, &summary->mistakes[i]);
    fputs("</ul>\n", page->out);
}

/* ---- Students ---- */

static void write_students_head(FILE *out, const lab_class *class)
{
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Points of all students\">"
          "<table id=\"students-table\"><caption>Points of all students</caption>\n<thead><tr>"
          "<th scope=\"col\" aria-sort=\"ascending\">student</th><th scope=\"col\" class=\"r\">points</th>",
          out);
    for (int i = 0; i < class->task->part_count; i++)
        lab_html_write(out, "<th scope=\"col\" class=\"r\">%s</th>", class->task->parts[i].name);
    if (class->has_variants)
        fputs("<th scope=\"col\">variant</th>", out);
    fputs("<th scope=\"col\">what was lost</th></tr></thead>\n<tbody>\n", out);
}

static void write_points(FILE *out, int64_t points, int64_t most)
{
    lab_html_write(out, "<td class=\"r %s\">%s</td>",
                   points == most ? "full"
                   : points == 0  ? "zero"
                                  : "some",
                   format_integer(points).text);
}

static void write_student(FILE *out, const lab_class *class, const lab_class_student *student)
{
    char text[2 * LAB_GRADE_PROBLEM_BYTES];
    lab_html_write(out, "<tr><th scope=\"row\">%s</th>", student->name);
    write_points(out, student->result->points, class->task->points);
    for (int i = 0; i < class->task->part_count; i++)
        write_points(out, student->result->parts[i].points, class->task->parts[i].points);
    if (student->variant) {
        lab_variant_describe(student->variant, text, sizeof text);
        lab_html_write(out, "<td>%s</td>", text);
    }
    lab_class_describe_losses(class, student, text, sizeof text);
    lab_html_write(out, "<td class=\"w\">%s</td></tr>\n", text);
}

static void write_students(lab_page *page, const lab_class *class)
{
    lab_page_section(page, "students", "Students");
    fputs("<p class=\"soft\" id=\"sort-hint\" hidden=\"hidden\">Select the title of a column to sort by it; select it "
          "again for the other direction.</p>\n",
          page->out);
    write_students_head(page->out, class);
    for (int i = 0; i < class->count; i++)
        write_student(page->out, class, &class->students[i]);
    fputs("</tbody></table></div>\n", page->out);
}

/* ---- Document ---- */

static void write_document(lab_page *page, const lab_class *class, const lab_class_summary *summary)
{
    lab_page_begin(page, class->task->name);
    write_header(page, class, summary);
    write_distribution(page, summary);
    write_parts(page, class, summary);
    write_mistakes(page, class, summary);
    write_students(page, class);
    fprintf(page->out, "<script>\n//<![CDATA[\n%s//]]>\n</script>\n", lab_class_page_script);
    lab_page_end(page);
}

bool lab_class_save_page(const lab_class *class, const lab_class_summary *summary, const char *path, char *why,
                         size_t capacity)
{
    lab_output_file output;
    if (!lab_output_open(path, &output))
        return lab_set_reason(why, capacity, "%s cannot be written: %s", path, strerror(errno));
    lab_page page = {.out = output.stream,
                     .version = rung_version_text(),
                     .eyebrow = "rung grade",
                     .style = lab_class_page_style,
                     .footer = "This file needs no network. Its script only sorts the table."};
    write_document(&page, class, summary);
    return lab_output_commit(&output) ||
           lab_set_reason(why, capacity, "%s cannot be written: %s", path, strerror(errno));
}
