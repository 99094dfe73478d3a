/* SPDX-License-Identifier: Apache-2.0 */
/* nsight_csv.c - reads the metrics of one kernel from a CSV file of Nsight Compute; see nsight_metrics.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "explain/nsight_metrics.h"
#include "io/input_file.h"

enum { FIELDS_MAX = 4096, LINE_BYTES = 1 << 20 };

/* The fields of a line, which they point into. */
typedef struct csv_row {
    char *fields[FIELDS_MAX];
    int count;
} csv_row_t;

/* Columns of the layout with one metric per row; -1 if the file has none. */
typedef struct columns {
    int kernel, id, name, unit, value;
} columns_t;

typedef struct nsight_reader {
    const char *wanted; /* name of the kernel */
    lab_nsight_values *values;
    columns_t columns;
    csv_row_t titles, units; /* of the layout with one kernel per row; they own their line */
    char chosen_id[32];      /* the launch whose metrics are read; "" before the first */
    bool is_exact;           /* its name contains `wanted` */
    int found;
} nsight_reader_t;

/* ---- Fields ---- */

/* Splits a line in place. Quotes around fields are removed; "" within them is a quote. */
static void split_line(char *line, csv_row_t *row)
{
    char *from = line;
    row->count = 0;
    while (row->count < FIELDS_MAX) {
        char *to = from;
        bool is_quoted = *from == '"';
        row->fields[row->count++] = from;
        from += is_quoted;
        while (*from && *from != '\n' && *from != '\r' && (is_quoted || *from != ',')) {
            if (is_quoted && *from == '"' && from[1] != '"') {
                is_quoted = false;
                from++;
                continue;
            }
            from += is_quoted && *from == '"';
            *to++ = *from++;
        }
        bool is_last = *from != ',';
        *to = '\0';
        if (is_last)
            return;
        from++;
    }
}

static int find_column(const csv_row_t *row, const char *title)
{
    for (int i = 0; i < row->count; i++)
        if (strcmp(row->fields[i], title) == 0)
            return i;
    return -1;
}

static const char *field_at(const csv_row_t *row, int column)
{
    return column >= 0 && column < row->count ? row->fields[column] : "";
}

/* Reads a number with commas between thousands. NAN if the text is no number. */
static double number_of(const char *text)
{
    char digits[64], *end;
    size_t length = 0;
    for (; *text && length < sizeof digits - 1; text++)
        if (*text != ',')
            digits[length++] = *text;
    digits[length] = '\0';
    double value = strtod(digits, &end);
    return length > 0 && *end == '\0' ? value : NAN;
}

/* Returns the factor of a unit: Nsight Compute scales bytes and seconds so that the number is short. */
static double factor_of(const char *unit)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"Kbyte", 1e3},   {"Mbyte", 1e6},   {"Gbyte", 1e9}, {"nsecond", 1},      {"ns", 1},  {"usecond", 1e3},
                 {"us", 1e3},      {"msecond", 1e6}, {"ms", 1e6},    {"second", 1e9},     {"s", 1e9}, {"Ksector", 1e3},
                 {"Msector", 1e6}, {"Kinst", 1e3},   {"Minst", 1e6}, {"Kbyte/block", 1e3}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].unit) == 0)
            return units[i].factor;
    return 1;
}

/* ---- Metrics ---- */

/* Stores a value. op_ldgsts is added to op_ld, because the emulator counts both as loads. */
static void take_metric(nsight_reader_t *reader, const char *name, const char *unit, const char *text)
{
    char plain[256];
    double value = number_of(text) * factor_of(unit);
    const char *copy = strstr(name, "op_ldgsts.");
    int before = copy ? (int)(copy - name) : 0;
    if (copy)
        snprintf(plain, sizeof plain, "%.*sop_ld%s", before, name, copy + strlen("op_ldgsts"));
    else
        snprintf(plain, sizeof plain, "%s", name);
    if (isnan(value) || (copy && !strstr(name, ".sum")))
        return;
    for (int i = 0; i < reader->values->count; i++)
        if (strcmp(reader->values->names[i], plain) == 0) {
            double sum = reader->values->values[i];
            reader->values->values[i] = isnan(sum) ? value : sum + value;
            reader->found++;
        }
}

/* Returns whether the launch of a row is the one to read. A kernel with the wanted name replaces the first one of the
 * file. */
static bool choose_launch(nsight_reader_t *reader, const char *id, const char *kernel)
{
    bool is_exact = strstr(kernel, reader->wanted) != NULL;
    if (*reader->chosen_id && !(is_exact && !reader->is_exact))
        return strcmp(reader->chosen_id, id) == 0;
    snprintf(reader->chosen_id, sizeof reader->chosen_id, "%s", *id ? id : "0");
    snprintf(reader->values->kernel, sizeof reader->values->kernel, "%s", kernel);
    reader->is_exact = is_exact;
    reader->found = 0;
    for (int i = 0; i < reader->values->count; i++)
        reader->values->values[i] = NAN;
    return true;
}

static void take_metric_row(nsight_reader_t *reader, const csv_row_t *row)
{
    const columns_t *columns = &reader->columns;
    const char *id = columns->id >= 0 ? field_at(row, columns->id) : "0";
    if (choose_launch(reader, id, field_at(row, columns->kernel)))
        take_metric(reader, field_at(row, columns->name), field_at(row, columns->unit), field_at(row, columns->value));
}

static void take_kernel_row(nsight_reader_t *reader, const csv_row_t *row)
{
    if (!choose_launch(reader, field_at(row, reader->columns.id), field_at(row, reader->columns.kernel)) ||
        reader->found > 0)
        return;
    for (int i = 0; i < row->count; i++)
        take_metric(reader, field_at(&reader->titles, i), field_at(&reader->units, i), row->fields[i]);
}

/* ---- File ---- */

/* Returns whether the row has the titles of either layout, and finds the columns. */
static bool is_title_row(nsight_reader_t *reader, const csv_row_t *row)
{
    reader->columns = (columns_t){find_column(row, "Kernel Name"), find_column(row, "ID"),
                                  find_column(row, "Metric Name"), find_column(row, "Metric Unit"),
                                  find_column(row, "Metric Value")};
    return reader->columns.kernel >= 0 || reader->columns.name >= 0;
}

/* Copies a row with its text, because the next line overwrites it. */
static bool keep_row(const csv_row_t *from, csv_row_t *to)
{
    size_t bytes = 0, used = 0;
    for (int i = 0; i < from->count; i++)
        bytes += strlen(from->fields[i]) + 1;
    char *text = malloc(bytes);
    if (!text)
        return false;
    for (int i = 0; i < from->count; i++) {
        to->fields[i] = strcpy(text + used, from->fields[i]);
        used += strlen(from->fields[i]) + 1;
    }
    to->count = from->count;
    return true;
}

static void free_row(csv_row_t *row)
{
    if (row->count > 0)
        free(row->fields[0]);
    row->count = 0;
}

/* Reads all rows. Lines before the titles, such as "==PROF== ...", are skipped. Returns false if memory is exhausted. */
static bool read_rows(FILE *file, char *line, nsight_reader_t *reader, csv_row_t *row)
{
    bool has_titles = false;
    while (fgets(line, LINE_BYTES, file)) {
        split_line(line, row);
        if (!has_titles) {
            has_titles = is_title_row(reader, row);
            if (has_titles && !keep_row(row, &reader->titles))
                return false;
        } else if (row->count < 2 || strncmp(line, "==", 2) == 0)
            continue;
        else if (reader->columns.name >= 0)
            take_metric_row(reader, row);
        else if (reader->units.count == 0 && !*field_at(row, reader->columns.kernel)) {
            if (!keep_row(row, &reader->units)) /* the row after the titles has the units */
                return false;
        } else
            take_kernel_row(reader, row);
    }
    return true;
}

bool lab_nsight_read(const char *path, const char *kernel, lab_nsight_values *values, char *why, size_t capacity)
{
    char reason[256];
    FILE *file = lab_file_open(path, LAB_TEXT_BYTES_MAX, reason, sizeof reason);
    if (!file)
        return lab_set_reason(why, capacity, "%s: %s", path, reason);
    char *line = malloc(LINE_BYTES);
    nsight_reader_t *reader = calloc(1, sizeof *reader);
    csv_row_t *row = calloc(1, sizeof *row);
    bool good = line && reader && row;
    int found = 0;
    if (good) {
        reader->wanted = kernel;
        reader->values = values;
        good = read_rows(file, line, reader, row);
        found = reader->found;
        free_row(&reader->titles);
        free_row(&reader->units);
    }
    fclose(file);
    free(line);
    free(reader);
    free(row);
    if (!good)
        return lab_set_reason(why, capacity, "out of memory");
    if (found == 0)
        return lab_set_reason(why, capacity,
                              "%s has none of the metrics; write it with ncu --csv --page raw --metrics and the names "
                              "that rung explain --metrics prints",
                              path);
    return true;
}
