/* SPDX-License-Identifier: Apache-2.0 */
/* progress_line.c - see progress_line.h. */
#include "cli/progress_line.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/lab_clock.h"
#include "cli/terminal.h"

enum { LINE_MAX_BYTES = 1024 };

static bool is_on;
static int64_t started_ns, shown_ns;

void lab_progress_begin(bool quiet)
{
    is_on = !quiet && lab_terminal_has_escapes(stderr);
    started_ns = lab_now_ns();
    shown_ns = 0;
}

/* Formats 75 s as 1:15. */
static void format_duration(double seconds, char *text, size_t capacity)
{
    long long whole = (long long)(seconds + 0.5);
    if (whole < 3600)
        snprintf(text, capacity, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(text, capacity, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

/* Formats the remaining time, extrapolated from the elapsed time; "" in the first second. */
static void format_remaining(const lab_progress *progress, double seconds, char *text, size_t capacity)
{
    char left[32];
    *text = '\0';
    if (seconds < 1 || !(progress->done > 0) || progress->done > progress->count)
        return;
    format_duration(seconds * (progress->count - progress->done) / progress->done, left, sizeof left);
    snprintf(text, capacity, ", about %s left", left);
}

void lab_progress_format(const lab_progress *progress, double seconds, int width, char *text, size_t capacity)
{
    char tail[128], elapsed[32], left[64], what[LINE_MAX_BYTES];
    format_duration(seconds, elapsed, sizeof elapsed);
    format_remaining(progress, seconds, left, sizeof left);
    double done = progress->done < progress->count ? progress->done : progress->count;
    snprintf(tail, sizeof tail, "%lld of %lld %.24s, %s%s", (long long)done, (long long)progress->count,
             progress->units, elapsed, left);
    snprintf(what, sizeof what, "%s", progress->what);
    int room = width - lab_text_width(tail) - 2;
    lab_text_truncate(what, room > 0 ? room : 0);
    snprintf(text, capacity, "%s%s%s", what, *what ? ": " : "", tail);
    lab_text_truncate(text, width);
}

void lab_progress_show(const lab_progress *progress)
{
    char line[LINE_MAX_BYTES], all[2 * LINE_MAX_BYTES];
    int64_t now = lab_now_ns();
    if (!is_on || now - shown_ns < 100000000)
        return;
    /* The last column stays free: some terminals wrap the line after it. */
    int width = lab_terminal_width(stderr) - 1;
    if (width > LINE_MAX_BYTES / 2)
        width = LINE_MAX_BYTES / 2;
    lab_progress_format(progress, (double)(now - started_ns) * 1e-9, width, line, sizeof line);
    /* One write, because other processes write to the terminal too. */
    snprintf(all, sizeof all, "\r%s%*s", line, width - lab_text_width(line), "");
    fputs(all, stderr);
    fflush(stderr);
    shown_ns = now;
}

void lab_progress_hide(void)
{
    char line[LINE_MAX_BYTES];
    int width = lab_terminal_width(stderr) - 1;
    if (!is_on)
        return;
    snprintf(line, sizeof line, "\r%*s\r", width < LINE_MAX_BYTES / 2 ? width : LINE_MAX_BYTES / 2, "");
    fputs(line, stderr);
    fflush(stderr);
    shown_ns = 0;
}

void lab_progress_end(void)
{
    lab_progress_hide();
    is_on = false;
}
