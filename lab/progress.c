/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see progress.h. */
#include "progress.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "terminal.h"

enum { LINE_MAX_BYTES = 1024 };

static bool is_on;
static int64_t began_ns, shown_ns;

void lab_progress_begin(bool quiet)
{
    is_on = !quiet && lab_terminal_is_clever(stderr);
    began_ns = lab_now();
    shown_ns = 0;
}

/* 75 s as 1:15. */
static void write_duration(double seconds, char *text, size_t capacity)
{
    long long whole = (long long)(seconds + 0.5);
    if (whole < 3600)
        snprintf(text, capacity, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(text, capacity, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
}

/* What the rest takes if it takes as long as what is done; nothing before that says anything. */
static void write_left(const lab_progress *progress, double seconds, char *text, size_t capacity)
{
    char left[32];
    *text = '\0';
    if (seconds < 1 || !(progress->done > 0) || progress->done > progress->count)
        return;
    write_duration(seconds * (progress->count - progress->done) / progress->done, left, sizeof left);
    snprintf(text, capacity, ", about %s left", left);
}

void lab_progress_write(const lab_progress *progress, double seconds, int width, char *text, size_t capacity)
{
    char tail[128], elapsed[32], left[64], what[LINE_MAX_BYTES];
    write_duration(seconds, elapsed, sizeof elapsed);
    write_left(progress, seconds, left, sizeof left);
    double done = progress->done < progress->count ? progress->done : progress->count;
    snprintf(tail, sizeof tail, "%lld of %lld %.24s, %s%s", (long long)done, (long long)progress->count,
             progress->units, elapsed, left);
    snprintf(what, sizeof what, "%s", progress->what);
    int room = width - lab_text_width(tail) - 2;
    lab_text_cut(what, room > 0 ? room : 0);
    snprintf(text, capacity, "%s%s%s", what, *what ? ": " : "", tail);
    lab_text_cut(text, width);
}

void lab_progress_show(const lab_progress *progress)
{
    char line[LINE_MAX_BYTES], all[2 * LINE_MAX_BYTES];
    int64_t now = lab_now();
    if (!is_on || now - shown_ns < 100000000)
        return;
    /* The last column stays free: some terminals go on to the next line behind it. */
    int width = lab_terminal_width(stderr) - 1;
    if (width > LINE_MAX_BYTES / 2)
        width = LINE_MAX_BYTES / 2;
    lab_progress_write(progress, (double)(now - began_ns) * 1e-9, width, line, sizeof line);
    /* In one piece, since others write there too. */
    snprintf(all, sizeof all, "\r%s%*s", line, width - lab_text_width(line), "");
    fputs(all, stderr);
    fflush(stderr);
    shown_ns = now;
}

void lab_progress_break(void)
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
    lab_progress_break();
    is_on = false;
}
