/* SPDX-License-Identifier: Apache-2.0 */
/* command_plan.c - rung plan: what a multiply would cost on so many ranks of a cluster, and how many are still worth it.
 * Nothing is run; the arithmetic is that of rung_cluster_gemm itself. */
#include <math.h>
#include <stdlib.h>

#include "fleet.h"
#include "json.h"
#include "options.h"
#include "oracle.h"
#include "table.h"
#include "target.h"

enum { ROWS_MAX = 32, RANKS_MAX = 1 << 17 };

static const int64_t SIZE_MOST = (int64_t)1 << 40;
static const double idle_share = 0.06;

/* What is asked. */
typedef struct question {
    const lab_options *options;
    lab_fleet fleet;
    lab_dtype dtype;
    int64_t ranks, m, n, k;
} question_t;

/* What so many ranks would do. */
typedef struct answer {
    rung_cluster_problem cluster;
    rung_cluster_grid grid;
    rung_cluster_cost cost;
    rung_cluster_speed speed;
    rung_cluster_prediction predicted;
} answer_t;

/* ---- The command line ----------------------------------------------------------------------------- */

/* Reads a number from 1 to `most`; `otherwise` where the option is not given. */
static const char *read_size(const char *name, const char *text, int64_t otherwise, int64_t most, int64_t *size)
{
    static char why[160];
    *size = otherwise;
    if (!text || (lab_read_integer(text, size) && *size > 0 && *size <= most))
        return NULL;
    snprintf(why, sizeof why, "--%s is %.40s; it must be a whole number from 1 to %lld", name, text, (long long)most);
    return why;
}

/* Lists all options that are required and not given. */
static const char *find_missing(const lab_options *options)
{
    static char why[256];
    const struct {
        const char *name, *value;
    } required[] = {{"--m", options->m}, {"--ranks", options->ranks}, {"--machine", options->machine}};
    int used = snprintf(why, sizeof why, "missing: "), missing = 0;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!required[i].value)
            used += snprintf(why + used, sizeof why - (size_t)used, "%s%s", missing++ ? ", " : "", required[i].name);
    snprintf(why + used, sizeof why - (size_t)used,
             "; for example: rung plan --ranks 1024 --m 131072 --dtype f64 --machine dgx-a100");
    return missing ? why : NULL;
}

static int read_question(question_t *question)
{
    static char why[512];
    const lab_options *options = question->options;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    int count;
    const char *wrong = find_missing(options);
    if (!wrong)
        wrong = lab_read_dtypes(options, &compute, dtypes, &count);
    if (!wrong && count != 1)
        wrong = "--dtype takes one type here; ask once for each";
    if (!wrong)
        wrong = read_size("m", options->m, 0, SIZE_MOST, &question->m);
    if (!wrong)
        wrong = read_size("n", options->n, question->m, SIZE_MOST, &question->n);
    if (!wrong)
        wrong = read_size("k", options->k, question->m, SIZE_MOST, &question->k);
    if (!wrong)
        wrong = read_size("ranks", options->ranks, 0, RANKS_MAX, &question->ranks);
    if (!wrong && !lab_fleet_read(options->machine, &question->fleet, why, sizeof why))
        wrong = why;
    if (wrong)
        return lab_usage("plan", wrong);
    question->dtype = dtypes[0];
    return LAB_GOOD;
}

/* ---- Answers --------------------------------------------------------------------------------------- */

static rung_status find_answer(const question_t *question, int64_t ranks, answer_t *answer)
{
    rung_type in = question->dtype.product.in, out = question->dtype.product.out;
    *answer = (struct answer){
        .cluster = rung_cluster_problem_of(ranks, question->m, question->n, question->k, in, in, out),
        .grid = rung_cluster_grid_of(1, 1, 1),
        .cost = rung_cluster_cost_default(),
        .predicted = rung_cluster_prediction_default()};
    answer->cluster.max_idle = idle_share;
    answer->cluster.memory_bytes = (int64_t)question->fleet.memory;
    if (!lab_fleet_speed(&question->fleet, &question->dtype, ranks, &answer->speed))
        return rung_error_set(RUNG_STATUS_INVALID, "%s does not tell how fast it multiplies %s",
                              question->options->machine, question->dtype.name);
    answer->cluster.flops_per_second = answer->speed.flops_per_second;
    answer->cluster.bytes_per_second = answer->speed.bytes_per_second;
    rung_status status = rung_cluster_grid_choose(&answer->cluster, &answer->grid);
    if (status == RUNG_OK)
        status = rung_cluster_grid_cost(&answer->cluster, &answer->grid, &answer->cost);
    return status == RUNG_OK
               ? rung_cluster_grid_predict(&answer->cluster, &answer->grid, &answer->speed, &answer->predicted)
               : status;
}

static double of_peak(const answer_t *answer)
{
    const rung_cluster_problem *cluster = &answer->cluster;
    double work = 2.0 * (double)cluster->m * (double)cluster->n * (double)cluster->k;
    return work / (double)cluster->ranks / answer->speed.flops_per_second / answer->predicted.seconds;
}

static double of_bound(const answer_t *answer)
{
    return answer->cost.bound_bytes > 0 ? (double)answer->cost.received_bytes / answer->cost.bound_bytes : 1.0;
}

/* The question's and powers of two, as many as fit the memory and as the cluster has. */
static int find_sweep(const question_t *question, answer_t *answers)
{
    int64_t last = question->fleet.ranks > 0 && question->fleet.ranks < RANKS_MAX ? (int64_t)question->fleet.ranks
                                                                                  : RANKS_MAX;
    int count = 0;
    if (last < question->ranks)
        last = question->ranks;
    for (int64_t ranks = 1; ranks <= last && count < ROWS_MAX - 1; ranks *= 2) {
        if (question->ranks > ranks / 2 && question->ranks < ranks)
            count += find_answer(question, question->ranks, &answers[count]) == RUNG_OK;
        count += find_answer(question, ranks, &answers[count]) == RUNG_OK;
    }
    if (count == 0 || answers[count - 1].cluster.ranks < question->ranks)
        count += find_answer(question, question->ranks, &answers[count]) == RUNG_OK;
    return count;
}

/* Up to how many ranks at least half of the time is spent multiplying, and up to how many each doubling still saves a
 * tenth; 0 if the sweep does not say. */
typedef struct limits {
    int64_t half, worth;
} limits_t;

static limits_t find_limits(const answer_t *answers, int count)
{
    limits_t limits = {0};
    int best = 0;
    for (int i = 0; i < count; i++) {
        if (of_peak(&answers[i]) >= 0.5)
            limits.half = answers[i].cluster.ranks;
        if (answers[i].predicted.seconds < 0.9 * answers[best].predicted.seconds)
            best = i;
    }
    limits.worth = count > 0 ? answers[best].cluster.ranks : 0;
    return limits;
}

/* ---- What there is to tell -------------------------------------------------------------------------- */

static void write_amount(double value, const char *unit, char text[32])
{
    static const char prefixes[] = " kMGTPE";
    int prefix = 0;
    for (; value >= 999.5 && prefix < 6; prefix++)
        value /= 1000;
    snprintf(text, 32, "%.3g %.*s%s", value, prefix > 0, &prefixes[prefix], unit);
}

static void write_time(double seconds, char text[32])
{
    if (seconds >= 1)
        snprintf(text, 32, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(text, 32, "%.3g ms", seconds * 1e3);
    else
        snprintf(text, 32, "%.3g us", seconds * 1e6);
}

static void print_answer(const question_t *question, const answer_t *answer)
{
    char text[32], more[32], rest[32];
    printf("%lld x %lld x %lld %s on %lld ranks: %s\n\n", (long long)question->m, (long long)question->n,
           (long long)question->k, question->dtype.name, (long long)question->ranks, question->fleet.title);
    printf("grid      %lld x %lld x %lld ranks along m, n and k", (long long)answer->grid.pm,
           (long long)answer->grid.pn, (long long)answer->grid.pk);
    int64_t idle = question->ranks - answer->grid.pm * answer->grid.pn * answer->grid.pk;
    if (idle > 0)
        printf(", %lld idle", (long long)idle);
    printf("; A comes in %lld pieces, B in %lld\n", (long long)answer->grid.a_chunks, (long long)answer->grid.b_chunks);
    write_amount((double)answer->cost.received_bytes, "B", text);
    printf("received  %s in %lld messages by the busiest rank, %.3f times the least that is possible\n", text,
           (long long)answer->cost.messages, of_bound(answer));
    write_amount((double)answer->cost.memory_bytes, "B", text);
    write_amount(question->fleet.memory, "B", more);
    printf("memory    %s a rank%s%s\n", text, question->fleet.memory > 0 ? " of " : "",
           question->fleet.memory > 0 ? more : "");
    write_time(answer->predicted.seconds, text);
    write_time(answer->predicted.multiply_seconds, more);
    write_time(answer->predicted.wait_seconds, rest);
    printf("time      %s: %s multiplying, %s waiting for the network\n", text, more, rest);
    printf("of peak   %.1f %%\n\n", 100 * of_peak(answer));
}

static void print_sweep(const answer_t *answers, int count)
{
    static lab_table table;
    const char *const heads[] = {"ranks", "grid", "time", "of peak", "received", "of bound", "memory"};
    table = (lab_table){0};
    lab_table_add(&table, 7, heads);
    for (int i = 0; i < count; i++) {
        const answer_t *answer = &answers[i];
        char ranks[32], grid[64], seconds[32], peak[32], received[32], bound[32], memory[32];
        const char *const cells[] = {ranks, grid, seconds, peak, received, bound, memory};
        snprintf(ranks, sizeof ranks, "%lld", (long long)answer->cluster.ranks);
        snprintf(grid, sizeof grid, "%lld x %lld x %lld", (long long)answer->grid.pm, (long long)answer->grid.pn,
                 (long long)answer->grid.pk);
        write_time(answer->predicted.seconds, seconds);
        snprintf(peak, sizeof peak, "%.1f %%", 100 * of_peak(answer));
        write_amount((double)answer->cost.received_bytes, "B", received);
        snprintf(bound, sizeof bound, "%.3f", of_bound(answer));
        write_amount((double)answer->cost.memory_bytes, "B", memory);
        lab_table_add(&table, 7, cells);
    }
    lab_table_print(&table, "rlrrrrr", stdout);
}

static void print_limits(const answer_t *answers, int count)
{
    limits_t limits = find_limits(answers, count);
    int64_t last = answers[count - 1].cluster.ranks;
    if (limits.half == 0)
        printf("\nNever at half of its peak");
    else
        printf("\nAt half of its peak or better up to %lld ranks", (long long)limits.half);
    if (limits.worth == last)
        printf("; up to %lld each doubling saves a tenth of the time or more.\n", (long long)last);
    else
        printf("; beyond %lld a doubling saves less than a tenth of the time.\n", (long long)limits.worth);
}

static void print_json_answer(lab_json *json, const char *name, const answer_t *answer)
{
    lab_json_begin(json, name, '{');
    lab_json_integer(json, "ranks", answer->cluster.ranks);
    lab_json_integer(json, "pm", answer->grid.pm);
    lab_json_integer(json, "pn", answer->grid.pn);
    lab_json_integer(json, "pk", answer->grid.pk);
    lab_json_integer(json, "sm", answer->grid.a_chunks);
    lab_json_integer(json, "sn", answer->grid.b_chunks);
    lab_json_integer(json, "received", answer->cost.received_bytes);
    lab_json_number(json, "bound", answer->cost.bound_bytes);
    lab_json_integer(json, "messages", answer->cost.messages);
    lab_json_integer(json, "memory", answer->cost.memory_bytes);
    lab_json_number(json, "seconds", answer->predicted.seconds);
    lab_json_number(json, "multiplying", answer->predicted.multiply_seconds);
    lab_json_number(json, "waiting", answer->predicted.wait_seconds);
    lab_json_number(json, "of_peak", of_peak(answer));
    lab_json_end(json, '}');
}

static void print_json(const question_t *question, const answer_t *plan, const answer_t *sweep, int count)
{
    limits_t limits = find_limits(sweep, count);
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-plan/1");
    lab_json_string(&json, "machine", question->fleet.title);
    lab_json_string(&json, "dtype", question->dtype.name);
    lab_json_integer(&json, "m", question->m);
    lab_json_integer(&json, "n", question->n);
    lab_json_integer(&json, "k", question->k);
    print_json_answer(&json, "plan", plan);
    lab_json_begin(&json, "sweep", '[');
    for (int i = 0; i < count; i++)
        print_json_answer(&json, NULL, &sweep[i]);
    lab_json_end(&json, ']');
    lab_json_integer(&json, "half_of_peak_up_to", limits.half);
    lab_json_integer(&json, "faster_up_to", limits.worth);
    lab_json_end(&json, '}');
}

int lab_command_plan(const lab_options *options)
{
    question_t question = {.options = options};
    answer_t answer, sweep[ROWS_MAX];
    int code = read_question(&question);
    if (code != LAB_GOOD)
        return code;
    if (find_answer(&question, question.ranks, &answer) != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_USAGE;
    }
    int count = find_sweep(&question, sweep);
    if (options->json) {
        print_json(&question, &answer, sweep, count);
        return LAB_GOOD;
    }
    print_answer(&question, &answer);
    print_sweep(sweep, count);
    print_limits(sweep, count);
    return LAB_GOOD;
}
