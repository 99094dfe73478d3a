/* SPDX-License-Identifier: Apache-2.0 */
/* bench_file.c - rung bench --output: what is measured stays measured, whatever happens to the
 * process. The file is written after each problem, beside its place, and put there by renaming, which
 * is done or not done and never half. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "progress.h"
#include "target.h"

enum { PATH_BYTES = 4096 };

/* Where the file is, behind links, since a link is not to be replaced; and its neighbour. False if the
 * name is too long. */
static bool find_places(const char *name, char place[PATH_BYTES], char neighbour[PATH_BYTES + 8])
{
    char *behind = realpath(name, NULL);
    int length = snprintf(place, PATH_BYTES, "%s", behind ? behind : name);
    free(behind);
    snprintf(neighbour, PATH_BYTES + 8, "%s.part", place);
    return length > 0 && length < PATH_BYTES;
}

int lab_bench_check_file(const lab_options *options)
{
    char place[PATH_BYTES], neighbour[PATH_BYTES + 8];
    struct stat about;
    if (!options->output)
        return LAB_GOOD;
    if (!*options->output || !find_places(options->output, place, neighbour) ||
        (stat(place, &about) == 0 && !S_ISREG(about.st_mode)))
        return lab_usage("bench", "--output names a file, new or to be replaced; for standard output leave it out");
    FILE *file = fopen(neighbour, "w");
    if (!file) {
        fprintf(stderr, "rung: %s cannot be written: %s; name a file in a folder of yours with --output\n", neighbour,
                strerror(errno));
        return LAB_USAGE;
    }
    fclose(file);
    remove(neighbour);
    return LAB_GOOD;
}

bool lab_bench_save(lab_bench *bench)
{
    char place[PATH_BYTES], neighbour[PATH_BYTES + 8];
    if (!bench->options->output)
        return true;
    bool good = find_places(bench->options->output, place, neighbour);
    FILE *file = good ? fopen(neighbour, "w") : NULL;
    if (file) {
        lab_bench_print(bench, file);
        good = !ferror(file);
        good = fclose(file) == 0 && good;
    }
    if (file && good && rename(neighbour, place) == 0)
        return true;
    lab_progress_break();
    fprintf(stderr, "rung: %s could not be written: %s; what was there before is unharmed\n", place, strerror(errno));
    remove(neighbour);
    return false;
}
