/* SPDX-License-Identifier: Apache-2.0 */
/* flips.c - checked products (src/core/checked) with and without errors. tools/flips runs it with large numbers.
 *
 *     flips clean DEVICE FIRST COUNT      multiplies COUNT cases, from seed FIRST on; any correction or failure is a false alarm
 *     flips flip DEVICE FIRST COUNT       makes COUNT single-bit errors and looks whether they are corrected
 *
 * Prints lines of results/trust: "types runs alarms", or "device place flips above_bound corrected reported missed". Exits with
 * 1 after a false alarm, or if an error above the bound of its element stays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/checked/checked_multiply.h"
#include "core/problem.h"
#include "flip_case.h"

static rung_context *context;
static const char *device;

static bool is_cpu(void)
{
    return strcmp(device, "cpu") == 0;
}

/* The largest m, n and k: emulated GPUs are slow. */
static int64_t size_limit(bool is_clean)
{
    return !is_cpu() ? 48 : is_clean ? 100 : 160;
}

/* ---- Clean runs -------------------------------------------------------------------------------------------------- */

enum { TYPES_MAX = 200 };

static struct {
    char types[64];
    int64_t runs, alarms;
} totals[TYPES_MAX];
static int total_count;

static void count_run(const char *types, bool is_alarm)
{
    int i = 0;
    while (i < total_count && strcmp(totals[i].types, types) != 0)
        i++;
    if (i == TYPES_MAX)
        abort();
    if (i == total_count)
        snprintf(totals[total_count++].types, sizeof totals[i].types, "%s", types);
    totals[i].runs++;
    totals[i].alarms += is_alarm;
}

/* Runs a case without errors. Returns whether there was an alarm. */
static bool run_clean(uint64_t seed)
{
    flip_case own;
    int64_t corrected = 0;
    rung_multiply_options options = rung_multiply_options_default();
    options.checked = 1;
    options.corrected = &corrected;
    flip_case_create(&own, seed, true, size_limit(true));
    rung_status status = rung_multiply(context, &own.problem, &options);
    bool is_alarm = corrected != 0 || (status != RUNG_OK && status != RUNG_STATUS_UNSUPPORTED);
    if (is_alarm)
        fprintf(stderr, "flips: false alarm: seed %llu, %s, %s: %lld corrected; %s\n", (unsigned long long)seed,
                flip_case_types(&own), rung_status_name(status), (long long)corrected,
                status == RUNG_OK ? "" : rung_error_text());
    if (status != RUNG_STATUS_UNSUPPORTED)
        count_run(flip_case_types(&own), is_alarm);
    flip_case_free(&own);
    return is_alarm;
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

enum { A_PANEL, B_PANEL, ACCUMULATOR, RESULT, PLACES };

static const char *const place_names[] = {"A panel", "B panel", "accumulator", "C"};

static struct {
    int64_t flips, above, corrected, reported, missed;
} outcomes[PLACES];

/* One error. */
typedef struct flip {
    const flip_case *own;
    int place, bit;
    int64_t row, col;   /* of A, B or C */
    int64_t start, end; /* columns or rows of C that see the wrong panel, or k of the accumulator in `start` */
    int64_t wrong;      /* elements of the product above their bound, before the check */
} flip_t;

static void flip_bit(const rung_matrix *view, int64_t row, int64_t col, int bit)
{
    int64_t size = rung_type_size(view->type);
    unsigned char *bytes = (unsigned char *)view->data +
                           (view->offset + row * view->row_stride + col * view->col_stride) * size;
    bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
}

static rung_status multiply_part(rung_problem part, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    part.a = rung_matrix_block(part.a, row, 0, rows, part.a.cols);
    part.b = rung_matrix_block(part.b, 0, col, part.b.rows, cols);
    part.c = rung_matrix_block(part.c, row, col, rows, cols);
    return rung_multiply(context, &part, NULL);
}

/* Multiplies with a wrong element of A for some columns of C, as if the panel that these columns use were wrong. */
static rung_status multiply_wrong_a(const flip_t *flip, const rung_problem *problem)
{
    int64_t m = problem->c.rows, n = problem->c.cols;
    rung_status status = multiply_part(*problem, 0, m, 0, flip->start);
    flip_bit(&problem->a, flip->row, flip->col, flip->bit);
    if (status == RUNG_OK)
        status = multiply_part(*problem, 0, m, flip->start, flip->end - flip->start);
    flip_bit(&problem->a, flip->row, flip->col, flip->bit);
    return status == RUNG_OK ? multiply_part(*problem, 0, m, flip->end, n - flip->end) : status;
}

static rung_status multiply_wrong_b(const flip_t *flip, const rung_problem *problem)
{
    int64_t m = problem->c.rows, n = problem->c.cols;
    rung_status status = multiply_part(*problem, 0, flip->start, 0, n);
    flip_bit(&problem->b, flip->row, flip->col, flip->bit);
    if (status == RUNG_OK)
        status = multiply_part(*problem, flip->start, flip->end - flip->start, 0, n);
    flip_bit(&problem->b, flip->row, flip->col, flip->bit);
    return status == RUNG_OK ? multiply_part(*problem, flip->end, m - flip->end, 0, n) : status;
}

/* Multiplies the first `start` products of each sum, spoils a sum, and adds the others. */
static rung_status multiply_wrong_sum(const flip_t *flip, const rung_problem *problem)
{
    rung_problem first = *problem, rest = *problem;
    int64_t k = problem->a.cols;
    first.a = rung_matrix_block(problem->a, 0, 0, problem->a.rows, flip->start);
    first.b = rung_matrix_block(problem->b, 0, 0, flip->start, problem->b.cols);
    rest.a = rung_matrix_block(problem->a, 0, flip->start, problem->a.rows, k - flip->start);
    rest.b = rung_matrix_block(problem->b, flip->start, 0, k - flip->start, problem->b.cols);
    rest.beta = 1;
    rung_status status = rung_multiply(context, &first, NULL);
    flip_bit(&problem->c, flip->row, flip->col, flip->bit);
    return status == RUNG_OK ? rung_multiply(context, &rest, NULL) : status;
}

/* The multiplication of rungi_unchecked. */
static rung_status multiply_with_flip(void *user, const rung_problem *normalized)
{
    flip_t *flip = user;
    rung_problem problem = rungi_problem_denormalize(normalized);
    rung_status status;
    switch (flip->place) {
    case A_PANEL: status = multiply_wrong_a(flip, &problem); break;
    case B_PANEL: status = multiply_wrong_b(flip, &problem); break;
    case ACCUMULATOR: status = multiply_wrong_sum(flip, &problem); break;
    default: status = rung_multiply(context, &problem, NULL); flip_bit(&problem.c, flip->row, flip->col, flip->bit);
    }
    flip->wrong = status == RUNG_OK ? flip_case_count_wrong(flip->own, &problem.c) : 0;
    return status;
}

/* Chooses a range of 0 to extent - 1 that is not empty. */
static void choose_range(uint64_t *state, int64_t extent, flip_t *flip)
{
    flip->start = (int64_t)flip_random(state, (uint64_t)extent);
    flip->end = flip->start + 1 + (int64_t)flip_random(state, (uint64_t)(extent - flip->start));
}

static flip_t choose_flip(uint64_t *state, const flip_case *own)
{
    flip_t flip = {.own = own, .place = (int)flip_random(state, PLACES)};
    const rung_problem *problem = &own->problem;
    const rung_matrix *views[] = {&problem->a, &problem->b, &problem->c, &problem->c};
    const rung_matrix *view = views[flip.place];
    flip.bit = (int)flip_random(state, 8 * (uint64_t)rung_type_size(view->type));
    flip.row = (int64_t)flip_random(state, (uint64_t)view->rows);
    flip.col = (int64_t)flip_random(state, (uint64_t)view->cols);
    if (flip.place == A_PANEL)
        choose_range(state, problem->c.cols, &flip);
    if (flip.place == B_PANEL)
        choose_range(state, problem->c.rows, &flip);
    if (flip.place == ACCUMULATOR)
        flip.start = 1 + (int64_t)flip_random(state, (uint64_t)problem->a.cols);
    return flip;
}

static void print_flip(const char *what, uint64_t seed, const flip_t *flip, rung_status status)
{
    const rung_problem *problem = &flip->own->problem;
    fprintf(
        stderr,
        "flips: %s: seed %llu, %s %s, %lld x %lld x %lld, %s, bit %d of (%lld, %lld), range %lld to %lld: %s, %lld wrong\n",
        what, (unsigned long long)seed, flip_case_types(flip->own), rung_compute_name(problem->compute),
        (long long)problem->c.rows, (long long)problem->c.cols, (long long)problem->a.cols, place_names[flip->place],
        flip->bit, (long long)flip->row, (long long)flip->col, (long long)flip->start, (long long)flip->end,
        rung_status_name(status), (long long)flip->wrong);
}

/* Makes one error. Returns whether the case cannot be computed. */
static bool run_flip(uint64_t seed, uint64_t *state, const flip_case *own)
{
    flip_t flip = choose_flip(state, own);
    rungi_unchecked unchecked = {.multiply = multiply_with_flip, .user = &flip, .has_engine = !is_cpu()};
    rung_problem normalized = own->problem;
    int64_t corrected;
    rungi_problem_normalize(&normalized);
    rung_status status = rungi_multiply_and_check(context, &unchecked, &normalized, &corrected);
    if (status != RUNG_OK && status != RUNG_STATUS_CORRUPTED) {
        print_flip("not computed", seed, &flip, status);
        return true;
    }
    bool is_reported = status == RUNG_STATUS_CORRUPTED;
    bool is_missed = !is_reported && flip_case_count_wrong(own, &normalized.c) > 0;
    outcomes[flip.place].flips++;
    outcomes[flip.place].above += flip.wrong > 0;
    outcomes[flip.place].reported += flip.wrong > 0 && is_reported;
    outcomes[flip.place].missed += is_missed;
    outcomes[flip.place].corrected += flip.wrong > 0 && !is_reported && !is_missed;
    if (is_missed)
        print_flip("missed", seed, &flip, status);
    return false;
}

static int64_t run_flips(uint64_t first, int64_t count)
{
    enum { FLIPS_PER_CASE = 20 };
    int64_t failures = 0, done = 0;
    for (uint64_t seed = first; done < count; seed++) {
        flip_case own;
        uint64_t state = seed ^ UINT64_C(0x5bd1e995);
        flip_case_create(&own, seed, false, size_limit(false));
        flip_case_solve(&own, !is_cpu());
        for (int i = 0; i < FLIPS_PER_CASE && done < count; i++, done++)
            failures += run_flip(seed, &state, &own);
        flip_case_free(&own);
    }
    for (int place = 0; place < PLACES; place++) {
        failures += outcomes[place].missed;
        printf("%s\t%s\t%lld\t%lld\t%lld\t%lld\t%lld\n", device, place_names[place], (long long)outcomes[place].flips,
               (long long)outcomes[place].above, (long long)outcomes[place].corrected,
               (long long)outcomes[place].reported, (long long)outcomes[place].missed);
    }
    return failures;
}

static int64_t run_clean_cases(uint64_t first, int64_t count)
{
    int64_t alarms = 0;
    for (int64_t i = 0; i < count; i++)
        alarms += run_clean(first + (uint64_t)i);
    for (int i = 0; i < total_count; i++)
        printf("%s\t%lld\t%lld\n", totals[i].types, (long long)totals[i].runs, (long long)totals[i].alarms);
    return alarms;
}

int main(int argc, char **argv)
{
    enum { SKIPPED = 77 };
    rung_context_options options = rung_context_options_default();
    rung_device *opened;
    if (argc != 5 || (strcmp(argv[1], "clean") != 0 && strcmp(argv[1], "flip") != 0)) {
        fprintf(stderr, "usage: flips clean|flip DEVICE FIRST COUNT\n");
        return 2;
    }
    device = argv[2];
    options.device = device;
    if (rung_context_create(&options, &context) != RUNG_OK || rung_device_open(context, device, &opened) != RUNG_OK) {
        fprintf(stderr, "flips: %s: %s\n", device, rung_error_text());
        return SKIPPED;
    }
    rung_device_close(opened);
    uint64_t first = strtoull(argv[3], NULL, 10);
    int64_t count = strtoll(argv[4], NULL, 10);
    int64_t failures = argv[1][0] == 'c' ? run_clean_cases(first, count) : run_flips(first, count);
    rung_context_destroy(context);
    return failures > 0;
}
