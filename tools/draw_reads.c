/* SPDX-License-Identifier: Apache-2.0 */
/* draw_reads.c - who reads what, as a drawing: which elements of A and of B the threads of a
 * warp ask for in one request, and which sectors of memory come for it.
 *
 *   draw_reads KERNEL [DTYPE] > picture.svg
 *
 * Nothing is drawn from a formula: the addresses are those that the kernel computed, on one block,
 * on the emulator (lab/explain/access_counters.h). For the first load of A and the first of B. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/emulated_multiply.h"
#include "explain/access_counters.h"
#include "verify/oracle.h"
#include "target/target.h"

enum { WARP = 32, SECTOR = 32, STRIDE = 256, LEFT = 8, PANEL_GAP = 26, SECTORS_MAX = 1024 };

typedef struct touch {
    int lane, bytes;
    int64_t offset; /* in bytes, from the matrix's first element */
} lane_access_t;

/* One request of the first warp. */
typedef struct request {
    const char *array;
    int line, count;
    lane_access_t touches[WARP];
    int64_t sectors[SECTORS_MAX];
    int sector_count, bytes; /* bytes: distinct ones */
} warp_request_t;

/* ---- The addresses ------------------------------------------------------------------------------------ */

static void add_sector(warp_request_t *request, int64_t sector)
{
    for (int i = 0; i < request->sector_count; i++)
        if (request->sectors[i] == sector)
            return;
    if (request->sector_count < SECTORS_MAX)
        request->sectors[request->sector_count++] = sector;
}

/* Bytes that several threads ask for count once; threads ask for the same ones or for others. */
static void count_request(warp_request_t *request)
{
    for (int i = 0; i < request->count; i++) {
        const lane_access_t *touch = &request->touches[i];
        bool is_new = true;
        for (int j = 0; j < i; j++)
            is_new = is_new && request->touches[j].offset != touch->offset;
        request->bytes += is_new ? touch->bytes : 0;
        for (int64_t byte = touch->offset; byte < touch->offset + touch->bytes; byte++)
            add_sector(request, byte / SECTOR);
    }
}

/* The threads of the line that loads the start of this array. */
static bool read_request(const lab_access_counters *counters, const char *array, warp_request_t *request)
{
    const lab_access_line *found = NULL;
    for (int64_t i = 0; i < counters->line_count; i++) {
        const lab_access_line *line = &counters->lines[i];
        if (line->kind == LAB_ACCESS_GLOBAL_LOAD && strcmp(line->array, array) == 0 && line->first_warp == 0 &&
            (!found || line->first_offsets[0] < found->first_offsets[0] ||
             (line->first_offsets[0] == found->first_offsets[0] && line->line < found->line)))
            found = line;
    }
    *request = (struct request){.array = array, .line = found ? (int)found->line : 0};
    for (int lane = 0; found && lane < WARP; lane++)
        if (found->first_offsets[lane] >= 0)
            request->touches[request->count++] = (lane_access_t){lane, (int)found->width, found->first_offsets[lane]};
    count_request(request);
    return found != NULL;
}

static bool count_reads(const char *kernel, const lab_dtype *dtype, lab_access_counters *counters, rung_kernel **opened)
{
    char why[4096];
    char parameters[RUNG_PARAMETERS_BYTES];
    if (!lab_kernel_open(NULL, "opencl", kernel, opened, why, sizeof why)) {
        fprintf(stderr, "draw_reads: %s\n", why);
        return false;
    }
    rung_type in = dtype->product.in;
    if (!lab_access_request_parameters(*opened, dtype->product, NULL, parameters)) {
        fprintf(stderr, "draw_reads: the parameters of %s are too long\n", kernel);
        return false;
    }
    lab_access_request asked = {.kernel = kernel,
                                .product = dtype->product,
                                .compute = dtype->compute,
                                .m = lab_kernel_value_or(*opened, parameters, in, "BM", 16),
                                .n = lab_kernel_value_or(*opened, parameters, in, "BN", 16),
                                .k = 4 * lab_kernel_value_or(*opened, parameters, in, "BK", 8),
                                .a_stride = STRIDE,
                                .b_stride = STRIDE,
                                .c_stride = STRIDE};
    bool good = lab_access_counters_collect(&asked, counters, why, sizeof why);
    if (!good)
        fprintf(stderr, "draw_reads: %s\n", why);
    return good;
}

/* ---- The drawing -------------------------------------------------------------------------------------- */

/* The rows and columns of a matrix that a panel shows: whole sectors. */
typedef struct window {
    int64_t row, col, rows, cols;
    int cell; /* its edge on paper */
} matrix_window_t;

static matrix_window_t window_of(const warp_request_t *request, int size)
{
    int64_t per_sector = SECTOR / size, bottom = 0, right = 0;
    matrix_window_t window = {.row = INT64_MAX, .col = INT64_MAX};
    for (int i = 0; i < request->sector_count; i++) {
        int64_t element = request->sectors[i] * per_sector, row = element / STRIDE, col = element % STRIDE;
        window.row = row < window.row ? row : window.row;
        window.col = col < window.col ? col : window.col;
        bottom = row > bottom ? row : bottom;
        right = col + per_sector > right ? col + per_sector : right;
    }
    window.rows = bottom - window.row + 1;
    window.cols = right - window.col;
    window.cell = window.cols > 64 ? 6 : window.cols > 32 ? 10 : 14;
    return window;
}

/* From light to dark along the warp. */
static void lane_colour(int lane, char *text, size_t capacity)
{
    snprintf(text, capacity, "hsl(%d,70%%,%d%%)", 200 + lane * 3, 78 - lane * 3 / 2);
}

static void draw_box(const matrix_window_t *window, int64_t element, int64_t count, int top, const char *style)
{
    int64_t row = element / STRIDE - window->row, col = element % STRIDE - window->col;
    printf("<rect x=\"%" PRId64 "\" y=\"%" PRId64 "\" width=\"%" PRId64 "\" height=\"%d\" %s/>\n",
           LEFT + col * window->cell, top + row * window->cell, count * window->cell, window->cell, style);
}

static int draw_request(const warp_request_t *request, int size, int top)
{
    matrix_window_t window = window_of(request, size);
    int ideal = (request->bytes + SECTOR - 1) / SECTOR;
    char style[96], colour[48];
    printf("<text x=\"%d\" y=\"%d\">%c, line %d: %d sector%s of 32 bytes, %d would hold what is read; rows %" PRId64
           " to %" PRId64 ", columns %" PRId64 " to %" PRId64 "</text>\n",
           LEFT, top + 12, request->array[0] - 32, request->line, request->sector_count,
           request->sector_count == 1 ? "" : "s", ideal, window.row, window.row + window.rows - 1, window.col,
           window.col + window.cols - 1);
    top += 18;
    for (int i = 0; i < request->sector_count; i++)
        draw_box(&window, request->sectors[i] * (SECTOR / size), SECTOR / size, top, "fill=\"#ddd\" stroke=\"none\"");
    for (int i = request->count - 1; i >= 0; i--) {
        lane_colour(request->touches[i].lane, colour, sizeof colour);
        snprintf(style, sizeof style, "fill=\"%s\" stroke=\"none\"", colour);
        draw_box(&window, request->touches[i].offset / size, request->touches[i].bytes / size, top, style);
    }
    for (int i = 0; i < request->sector_count; i++)
        draw_box(&window, request->sectors[i] * (SECTOR / size), SECTOR / size, top, "fill=\"none\" stroke=\"#666\"");
    return top + (int)window.rows * window.cell + PANEL_GAP;
}

static int draw_legend(int top)
{
    char colour[48];
    for (int lane = 0; lane < WARP; lane++) {
        lane_colour(lane, colour, sizeof colour);
        printf("<rect x=\"%d\" y=\"%d\" width=\"8\" height=\"10\" fill=\"%s\"/>\n", LEFT + lane * 8, top, colour);
    }
    printf("<text x=\"%d\" y=\"%d\">threads 0 to 31 of the first warp (where several read an element, the first); "
           "grey: comes unread</text>\n",
           LEFT + WARP * 8 + 8, top + 10);
    return top + 22;
}

static int width_of(const warp_request_t *requests, int size)
{
    int widest = 720;
    for (int i = 0; i < 2; i++) {
        matrix_window_t window = window_of(&requests[i], size);
        int width = (int)window.cols * window.cell + 2 * LEFT;
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void draw(const warp_request_t *requests, int size, const char *kernel)
{
    int height = 30;
    for (int i = 0; i < 2; i++) {
        matrix_window_t window = window_of(&requests[i], size);
        height += (int)window.rows * window.cell + PANEL_GAP + 18;
    }
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
           "font-size=\"12\">\n<title>What the first warp of %s reads of A and of B in one request</title>\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
           width_of(requests, size), height, kernel);
    int top = draw_legend(8);
    for (int i = 0; i < 2; i++)
        top = draw_request(&requests[i], size, top);
    printf("</svg>\n");
}

int main(int argc, char **argv)
{
    lab_options options = {.dtype = argc > 2 ? argv[2] : NULL};
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    rung_kernel *kernel = NULL;
    warp_request_t requests[2];
    lab_access_counters counters = {.line_count = 0};
    int count;
    if (argc < 2 || argc > 3 || lab_parse_dtypes(&options, &compute, dtypes, &count) || count != 1) {
        fprintf(stderr, "usage: draw_reads KERNEL [DTYPE] > picture.svg\n");
        return LAB_EXIT_USAGE;
    }
    bool good = count_reads(argv[1], &dtypes[0], &counters, &kernel) && read_request(&counters, "a", &requests[0]) &&
                read_request(&counters, "b", &requests[1]);
    if (good)
        draw(requests, (int)rung_type_size(dtypes[0].product.in), rung_kernel_describe(kernel)->name);
    lab_access_counters_free(&counters);
    rung_kernel_destroy(kernel);
    return good ? LAB_EXIT_SUCCESS : LAB_EXIT_WRONG;
}
