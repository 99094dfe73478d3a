/* SPDX-License-Identifier: Apache-2.0 */
/* command_bench.c - rung bench: how fast kernels are, beside each other.
 *
 * For each problem every contender is verified exactly, then all take turns, a
 * sample each, until each knows its median well or has spent its time: what disturbs
 * the machine disturbs them alike. A time of a wrong result is never printed. */
#include "call.h"
#include "explain_show.h"
#include "json.h"
#include "measure.h"
#include "options.h"
#include "setting.h"
#include "sweep.h"
#include "table.h"
#include "target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROBLEMS_MAX = 256, CONTENDERS_MAX = 128, ROWS_MAX = 4096 };

typedef struct sizes {
    int64_t m, n, k;
} sizes;

/* A line of the result. */
typedef struct row {
    char      kernel[64], params[256], origin[256];
    bool      vendor_tuned; /* the vendor that percent_of_vendor is of */
    rung_product product;
    sizes     size;
    bool      verified;
    char      why_not[512];
    int64_t   median_ns, min_ns, ci95_ns, samples, h2d_ns, d2h_ns, splits;
    rung_compute asked, compute; /* how it was to form products, and how it did, or better */
    int64_t   batch_wall_ns, calls_wall_ns;
    lab_call  call; /* its sums, where the row is rung_gemm's; wall_ns is 0 elsewhere */
    double    gflops, percent_of_vendor, over_before, over_first; /* 0: nothing to compare with */
    char      asked_as[256];     /* the kernel's name or file, "" for what is not explained */
    lab_explanation *explanation; /* NULL where it is not asked for or cannot be given */
} row;

/* What a contender took before, to tell beforehand what it will take. */
typedef struct experience {
    const rung_kernel *kernel;
    char               asked[LAB_PARAMETERS_TEXT];
    rung_product       product;
    rung_compute       compute;
    double             ns_per_step; /* of m n k */
} experience;

typedef struct session {
    const lab_options *options;
    lab_target         target;
    const char        *kernel_list;
    lab_dtype          dtypes[LAB_DTYPES_MAX];
    int                dtype_count;
    int64_t            batch, splits, carveout;
    lab_epilogue       epilogue;
    lab_machine        machine; /* that --arch or --machine asks about */
    int64_t            budget_ns;
    sizes              problems[PROBLEMS_MAX];
    int                problem_count;
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    int                kernel_count;
    experience         known[CONTENDERS_MAX * 2];
    int                known_count;
    lab_contender     *contenders;
    int                contender_count;
    lab_call           calls[CONTENDERS_MAX]; /* of those that are rung_gemm */
    row               *rows;
    int                row_count;
    bool               any_wrong, any_right;
    lab_caller         caller; /* of rung_gemm, where it is among the kernels */
    lab_json           trace;  /* its file is NULL without --trace */
    int64_t            traced; /* problems */
} session;

static int usage(const char *message)
{
    return lab_usage("bench", message);
}

/* What a contender is called, and its number; rung_gemm has none. */
static const char *name_of(const lab_contender *contender)
{
    return contender->kernel ? rung_kernel_describe(contender->kernel)->name : "rung_gemm";
}

static bool is_vendor(const lab_contender *contender)
{
    return contender->kernel && rung_kernel_describe(contender->kernel)->number == 0;
}

/* ---- What to run -------------------------------------------------------------------------------- */

static bool add_problem(session *session, int64_t m, int64_t n, int64_t k)
{
    if (session->problem_count == PROBLEMS_MAX)
        return false;
    session->problems[session->problem_count++] = (sizes){m, n, k};
    return true;
}

/* The documents' short form: from 128, doubling, up to the largest. */
static bool add_doubling(session *session, const char *largest)
{
    int64_t end;
    if (!lab_read_integer(largest, &end) || end < 1 || end > 1 << 20)
        return false;
    for (int64_t size = end < 128 ? end : 128; size <= end; size *= 2)
        add_problem(session, size, size, size);
    return true;
}

/* Every combination of the given sizes; n and k are m where they are not given. */
static bool add_ranges(session *session)
{
    const lab_options *options = session->options;
    int64_t m[LAB_SWEEP_MAX], n[LAB_SWEEP_MAX], k[LAB_SWEEP_MAX];
    int m_count = lab_sweep_sizes(options->m, m);
    int n_count = options->n ? lab_sweep_sizes(options->n, n) : 1;
    int k_count = options->k ? lab_sweep_sizes(options->k, k) : 1;
    if (m_count < 0 || n_count < 0 || k_count < 0)
        return false;
    for (int i = 0; i < m_count; i++)
        for (int j = 0; j < n_count; j++)
            for (int l = 0; l < k_count; l++)
                if (!add_problem(session, m[i], options->n ? n[j] : m[i], options->k ? k[l] : m[i]))
                    return false;
    return true;
}

static bool add_squares(session *session, const char *text)
{
    int64_t squares[LAB_SWEEP_MAX];
    int count = lab_sweep_sizes(text, squares);
    for (int i = 0; i < count; i++)
        add_problem(session, squares[i], squares[i], squares[i]);
    return count > 0;
}

static int read_options(session *session)
{
    const lab_options *options = session->options;
    double budget = 2;
    bool good;
    session->batch = 1;
    rung_compute compute;
    const char *wrong = lab_read_dtypes(options, &compute, session->dtypes, &session->dtype_count);
    if (!wrong)
        wrong = lab_read_machine(options, &session->machine);
    if (wrong)
        return usage(wrong);
    if (!lab_read_epilogue(options->epilogue, &session->epilogue))
        return usage("--epilogue is a list of bias_row, bias_col or bias, relu or gelu, and residual");
    if ((options->batch && (!lab_read_integer(options->batch, &session->batch) || session->batch < 1 ||
                             session->batch > 1 << 30)) ||
        (options->splits && (!lab_read_integer(options->splits, &session->splits) || session->splits < 0)))
        return usage("--batch is a number from 1 on, --splits a whole number");
    if (options->carveout && (!lab_read_integer(options->carveout, &session->carveout) ||
                              session->carveout < 0 || session->carveout > 100))
        return usage("--carveout is a per cent, 1 to 100, or 0 for the driver's choice");
    if (options->budget && (!lab_read_number(options->budget, &budget) || !(budget > 0)))
        return usage("--budget is a number of seconds a kernel and size");
    session->budget_ns = (int64_t)(budget * 1e9);
    if (options->argument2)
        good = add_doubling(session, options->argument2);
    else if (options->m)
        good = add_ranges(session);
    else
        good = !options->n && !options->k &&
               add_squares(session, options->sizes ? options->sizes : "256,512,1024");
    if (!good)
        return usage("sizes are given like --sizes 256,512 or --m 128:1024:128 --n 64, or shortly: rung "
                     "bench KERNEL LARGEST");
    session->kernel_list = options->argument ? options->argument : options->kernels;
    return LAB_GOOD;
}

/* The vendor's library is always there to be held against, unless a list leaves it
 * out on purpose. */
static int find_kernels(session *session)
{
    int code = lab_target_kernels(&session->target, session->kernel_list, session->kernels,
                                  &session->kernel_count);
    rung_kernel *vendor;
    if (code != LAB_GOOD || !session->options->argument)
        return code;
    if (rung_kernel_find(session->target.context, rung_device_describe(session->target.device)->backend,
                         "00", &vendor) == RUNG_OK && session->kernel_count < LAB_KERNELS_MAX) {
        memmove(session->kernels + 1, session->kernels,
                (size_t)session->kernel_count * sizeof *session->kernels);
        session->kernels[0] = vendor;
        session->kernel_count++;
    }
    return LAB_GOOD;
}

/* ---- The contenders of one problem -------------------------------------------------------------- */

static void add_contender(session *session, const rung_kernel *kernel, const char *asked)
{
    if (session->contender_count == CONTENDERS_MAX)
        return;
    lab_contender *added = &session->contenders[session->contender_count++];
    memset(added, 0, sizeof *added);
    added->kernel = kernel;
    snprintf(added->asked, sizeof added->asked, "%s", asked);
}

static int gather_contenders(session *session, const lab_dtype *dtype)
{
    static char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_TEXT];
    session->contender_count = 0;
    for (int i = 0; i < session->kernel_count; i++) {
        const rung_kernel *kernel = session->kernels[i];
        if (!kernel) {
            add_contender(session, NULL, "");
            continue;
        }
        if (lab_is_emulated(kernel) && session->kernel_list)
            return usage("a kernel for matrix engines multiplies in software on this device, which would say "
                         "nothing of its speed; rung verify runs it");
        if (lab_is_emulated(kernel) || !lab_takes(kernel, dtype))
            continue;
        int count = lab_sweep_parameters(kernel, session->options->params, texts);
        if (count < 0)
            return usage("--params is like TILE=16,32,UNROLL=4, or a preset's name");
        if (count == 0)
            return usage(rung_error_text());
        for (int j = 0; j < count; j++)
            add_contender(session, kernel, texts[j]);
    }
    return LAB_GOOD;
}

/* Multiply-adds. */
static double steps_of(const lab_problem *problem)
{
    return (double)problem->m * (double)problem->n * (double)problem->k * (double)problem->batch;
}

static experience *experience_of(session *session, const lab_contender *contender, const lab_problem *problem)
{
    for (int i = 0; i < session->known_count; i++) {
        experience *known = &session->known[i];
        if (known->kernel == contender->kernel && known->product == problem->product &&
            known->compute == problem->compute &&
            strcmp(known->asked, contender->asked) == 0)
            return known;
    }
    return NULL;
}

static void remember(session *session, const lab_contender *contender, const lab_problem *problem)
{
    experience *known = experience_of(session, contender, problem);
    if (!known && session->known_count < CONTENDERS_MAX * 2) {
        known = &session->known[session->known_count++];
        known->kernel = contender->kernel;
        known->product = problem->product;
        known->compute = problem->compute;
        snprintf(known->asked, sizeof known->asked, "%s", contender->asked);
    }
    if (known)
        known->ns_per_step = (double)contender->first_ns / steps_of(problem);
}

/* True if one run would take more than all the time there is for it. */
static bool is_too_slow(session *session, lab_contender *contender, const lab_problem *problem)
{
    const experience *known = experience_of(session, contender, problem);
    if (!known)
        return false;
    double expected = known->ns_per_step * steps_of(problem);
    if (expected <= (double)session->budget_ns)
        return false;
    snprintf(contender->why_not, sizeof contender->why_not,
             "skipped: one run would take about %.0f s; give it time with --budget", expected * 1e-9);
    return true;
}

/* ---- Running --------------------------------------------------------------------------------------- */

static void show_progress(const session *session, const lab_problem *problem, const char *what,
                          const lab_contender *contender)
{
    if (session->options->quiet || !isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r%-60s\r%lldx%lldx%lld %s: %s %s", "", (long long)problem->m,
            (long long)problem->n, (long long)problem->k, rung_product_name(problem->product), what,
            contender ? name_of(contender) : "");
}

static void verify_all(session *session, const lab_problem *problem)
{
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        show_progress(session, problem, "verifying", contender);
        if (is_too_slow(session, contender, problem))
            continue;
        lab_contender_verify(problem, contender);
        if (contender->verified)
            remember(session, contender, problem);
        else if (strncmp(contender->why_not, "WRONG", 5) == 0)
            session->any_wrong = true;
    }
}

/* In turn, as long as anybody wants more. */
static void sample_all(session *session, const lab_problem *problem)
{
    bool more = true;
    while (more) {
        more = false;
        for (int i = 0; i < session->contender_count; i++) {
            lab_contender *contender = &session->contenders[i];
            if (!contender->verified || !lab_contender_wants_more(contender, session->budget_ns))
                continue;
            show_progress(session, problem, "sampling", contender);
            if (lab_contender_sample(problem, contender) != RUNG_OK) {
                contender->verified = false;
                snprintf(contender->why_not, sizeof contender->why_not, "%s", rung_error_text());
                continue;
            }
            lab_contender_summarise(contender);
            more = true;
        }
    }
}

static double ratio(int64_t slow, int64_t fast)
{
    return slow > 0 && fast > 0 ? (double)slow / (double)fast : 0;
}

static void add_rows(session *session, const lab_problem *problem)
{
    int64_t vendor = 0, before = 0, first = 0;
    rung_compute vendor_compute = RUNG_STRICT;
    bool vendor_tuned = false;
    for (int i = 0; i < session->contender_count; i++)
        if (is_vendor(&session->contenders[i])) {
            vendor = session->contenders[i].median_ns;
            vendor_compute = session->contenders[i].compute;
            vendor_tuned = session->contenders[i].verified &&
                           strcmp(session->contenders[i].origin, "defaults") != 0;
        }
    for (int i = 0; i < session->contender_count && session->row_count < ROWS_MAX; i++) {
        const lab_contender *contender = &session->contenders[i];
        row *row = &session->rows[session->row_count++];
        *row = (struct row){
            .product = problem->product, .size = {problem->m, problem->n, problem->k},
            .verified = contender->verified, .median_ns = contender->median_ns,
            .min_ns = contender->min_ns, .ci95_ns = contender->ci95_ns, .samples = contender->samples,
            .h2d_ns = problem->h2d_ns, .d2h_ns = problem->d2h_ns, .splits = contender->splits,
            .asked = problem->compute, .compute = contender->compute,
            .batch_wall_ns = contender->batch_wall_ns, .calls_wall_ns = contender->calls_wall_ns,
            .gflops = lab_gflops(problem, contender->median_ns), .vendor_tuned = vendor_tuned,
        };
        snprintf(row->origin, sizeof row->origin, "%s", contender->origin);
        snprintf(row->kernel, sizeof row->kernel, "%s", name_of(contender));
        snprintf(row->params, sizeof row->params, "%s", contender->parameters);
        snprintf(row->why_not, sizeof row->why_not, "%s", contender->why_not);
        if (!contender->verified)
            continue;
        session->any_right = true;
        row->call = session->calls[i];
        if (!contender->kernel)
            continue; /* a call's time is no kernel's */
        /* A per cent across compute types says nothing. */
        if (contender->compute == vendor_compute)
            row->percent_of_vendor = 100 * ratio(vendor, contender->median_ns);
        if (is_vendor(contender))
            continue; /* steps are counted on our own ladder */
        const rung_kernel_info *info = rung_kernel_describe(contender->kernel);
        snprintf(row->asked_as, sizeof row->asked_as, "%s", info->number < 0 ? info->file : info->name);
        row->over_before = ratio(before, contender->median_ns);
        row->over_first = ratio(first, contender->median_ns);
        before = contender->median_ns;
        if (first == 0)
            first = contender->median_ns;
    }
}

/* The batch as one piece of work and as many. */
static void time_calls(session *session, const lab_problem *problem)
{
    for (int i = 0; session->options->calls && i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        if (!contender->kernel)
            continue;
        show_progress(session, problem, "timing calls of", contender);
        if (contender->verified && lab_contender_time_calls(problem, contender) != RUNG_OK) {
            contender->verified = false;
            snprintf(contender->why_not, sizeof contender->why_not, "%s", rung_error_text());
        }
    }
}

static void trace_call(session *session, const lab_problem *problem, const lab_call *call)
{
    char title[128];
    if (!session->trace.out)
        return;
    snprintf(title, sizeof title, "%s %lld x %lld x %lld", rung_product_name(problem->product),
             (long long)problem->m, (long long)problem->n, (long long)problem->k);
    lab_call_trace(&session->trace, ++session->traced, title, call);
}

/* What the calls of rung_gemm consist of. */
static void take_apart(session *session, const lab_problem *problem)
{
    rung_problem multiply = lab_problem_multiply(problem, false);
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        lab_call *call = &session->calls[i];
        if (contender->kernel || !contender->verified)
            continue;
        show_progress(session, problem, "taking apart", contender);
        if (lab_call_run(&session->caller, &multiply, call) == RUNG_OK) {
            trace_call(session, problem, call);
        } else {
            contender->verified = false;
            snprintf(contender->why_not, sizeof contender->why_not, "%s", rung_error_text());
        }
        lab_call_free(call);
    }
}

static int run_problem(session *session, sizes size, const lab_dtype *dtype)
{
    memset(session->calls, 0, sizeof session->calls);
    lab_problem problem = {.context = session->target.context, .device = session->target.device, .queue = session->target.queue,
                           .product = dtype->product, .compute = dtype->compute, .m = size.m, .n = size.n,
                           .k = size.k, .batch = session->batch, .splits = session->splits,
                           .carveout = session->carveout,
                           .epilogue = session->epilogue};
    int code = gather_contenders(session, dtype);
    if (code != LAB_GOOD)
        return code;
    if (lab_problem_create(&problem) == RUNG_OK) {
        verify_all(session, &problem);
        sample_all(session, &problem);
        time_calls(session, &problem);
        take_apart(session, &problem);
    } else {
        for (int i = 0; i < session->contender_count; i++)
            snprintf(session->contenders[i].why_not, sizeof session->contenders[i].why_not, "%s",
                     rung_error_text());
    }
    add_rows(session, &problem);
    for (int i = 0; i < session->contender_count; i++)
        lab_contender_finish(&session->contenders[i]);
    lab_problem_destroy(&problem);
    return LAB_GOOD;
}

static int run_all(session *session)
{
    for (int type = 0; type < session->dtype_count; type++)
        for (int i = 0; i < session->problem_count; i++) {
            int code = run_problem(session, session->problems[i], &session->dtypes[type]);
            if (code != LAB_GOOD)
                return code;
        }
    if (!session->options->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-70s\r", "");
    return LAB_GOOD;
}

/* ---- What explain says of it, for another machine perhaps, and of one multiply alone -------------- */

static const lab_dtype *dtype_of(const session *session, const row *row)
{
    for (int i = 0; i < session->dtype_count; i++)
        if (session->dtypes[i].product == row->product && session->dtypes[i].compute == row->asked)
            return &session->dtypes[i];
    return &session->dtypes[0];
}

static void explain_row(const session *session, row *row)
{
    lab_question question = {.kernel = row->asked_as, .parameters = *row->params ? row->params : NULL,
                             .dtype = *dtype_of(session, row), .m = row->size.m, .n = row->size.n, .k = row->size.k,
                             .machine = session->machine};
    char why[2048];
    row->explanation = calloc(1, sizeof *row->explanation);
    if (row->explanation && lab_explain(&question, row->explanation, why, sizeof why))
        return;
    fprintf(stderr, "rung: %s is not explained: %s\n", row->kernel, row->explanation ? why : "out of memory");
    free(row->explanation);
    row->explanation = NULL;
}

static void explain_rows(session *session)
{
    const char *backend = rung_device_describe(session->target.device)->backend;
    bool asked = (session->options->arch || session->options->machine) && strcmp(backend, "cpu") != 0;
    for (int i = 0; asked && i < session->row_count; i++)
        if (*session->rows[i].asked_as)
            explain_row(session, &session->rows[i]);
}

static void free_explanations(session *session)
{
    for (int i = 0; i < session->row_count; i++)
        if (session->rows[i].explanation) {
            lab_explanation_free(session->rows[i].explanation);
            free(session->rows[i].explanation);
        }
}

static void print_explained(const row *row)
{
    const lab_explanation *answer = row->explanation;
    if (!answer || !answer->prediction.runs)
        return;
    printf("%s on %s: %.2f sectors a request (ideal %.2f), %.2f wavefronts (%.2f), occupancy %.0f %%, predicted %.0f "
           "GFLOPS, bound by %s\n", row->kernel, answer->machine.title, lab_sectors_per_request(answer),
           lab_sectors_ideal(answer),
           lab_wavefronts_per_request(answer), lab_wavefronts_ideal(answer), 100 * answer->occupancy.fraction,
           answer->prediction.gflops, lab_station_words(answer->prediction.bound));
}

static void add_explained(lab_json *json, const lab_explanation *answer)
{
    if (!answer)
        return;
    lab_json_string(json, "machine", answer->machine.name);
    lab_explanation_fields(json, answer);
}

/* ---- Telling ----------------------------------------------------------------------------------------- */

static void write_time(int64_t nanoseconds, char *text, size_t capacity)
{
    double ms = (double)nanoseconds * 1e-6;
    snprintf(text, capacity, ms < 10 ? "%.3f" : ms < 1000 ? "%.1f" : "%.0f", ms);
}

static void write_ratio(double value, const char *unit, char *text, size_t capacity)
{
    if (value > 0)
        snprintf(text, capacity, value < 10 ? "%.2f%s" : "%.0f%s", value, unit);
    else
        snprintf(text, capacity, "-");
}

static void add_table_row(lab_table *table, const row *row)
{
    char median[32], spread[32], least[32], gflops[32], before[32], first[32], vendor[32], samples[32];
    if (!row->verified) {
        lab_table_add(table, 10, (const char *[]){row->kernel, row->params, "-", "", "", "", "", "", "",
                                                  row->why_not});
        return;
    }
    write_time(row->median_ns, median, sizeof median);
    write_time(row->ci95_ns, spread, sizeof spread);
    write_time(row->min_ns, least, sizeof least);
    snprintf(gflops, sizeof gflops, row->gflops < 100 ? "%.2f" : "%.0f", row->gflops);
    write_ratio(row->over_before, "x", before, sizeof before);
    write_ratio(row->over_first, "x", first, sizeof first);
    write_ratio(row->percent_of_vendor, "%", vendor, sizeof vendor);
    snprintf(samples, sizeof samples, "%lld", (long long)row->samples);
    lab_table_add(table, 10, (const char *[]){row->kernel, row->params, median, spread, least, gflops,
                                              before, first, vendor, samples});
}

static bool same_problem(const row *x, const row *y)
{
    return x->product == y->product && x->asked == y->asked && memcmp(&x->size, &y->size, sizeof x->size) == 0;
}

/* What was asked for beyond sizes and types, for the table's head. */
static void write_extras(const session *session, rung_compute asked, char *text, size_t capacity)
{
    char epilogue[64], batch[48] = "";
    lab_write_epilogue(session->epilogue, epilogue, sizeof epilogue);
    if (session->batch > 1)
        snprintf(batch, sizeof batch, ", batch of %lld", (long long)session->batch);
    snprintf(text, capacity, "%s%s%s%s%s", batch, *epilogue ? ", " : "", epilogue,
             asked == RUNG_STRICT ? "" : ", ", asked == RUNG_STRICT ? "" : rung_compute_name(asked));
}

static void print_calls(const session *session, const row *row)
{
    char batch[32], calls[32];
    if (!row->verified || row->calls_wall_ns == 0)
        return;
    write_time(row->batch_wall_ns, batch, sizeof batch);
    write_time(row->calls_wall_ns, calls, sizeof calls);
    printf("%s: the batch %s ms, %lld calls %s ms, %.1f times as long\n", row->kernel, batch,
           (long long)session->batch, calls, ratio(row->calls_wall_ns, row->batch_wall_ns));
}

/* The calls of rung_gemm among these rows, in parts. */
static void print_parts(const row *rows, int count, lab_table *table)
{
    memset(table, 0, sizeof *table);
    lab_table_add(table, 7, (const char *[]){"a call", "wall ms", "up", "kernel", "down", "packing",
                                             "hidden"});
    bool any = false;
    for (int i = 0; i < count; i++) {
        const lab_call *call = &rows[i].call;
        char wall[32], up[32], kernel[32], down[32], host[32], hidden[32];
        if (!rows[i].verified || call->wall_ns == 0)
            continue;
        write_time(call->wall_ns, wall, sizeof wall);
        write_time(call->up_ns, up, sizeof up);
        write_time(call->kernel_ns, kernel, sizeof kernel);
        write_time(call->down_ns, down, sizeof down);
        write_time(call->host_ns, host, sizeof host);
        snprintf(hidden, sizeof hidden, "%.0f%%", call->hidden_percent);
        lab_table_add(table, 7, (const char *[]){rows[i].kernel, wall, up, kernel, down, host, hidden});
        any = true;
    }
    if (any)
        lab_table_print(table, "lrrrrrr", stdout);
}

static void print_tables(const session *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    lab_table *table = malloc(sizeof *table);
    char extras[128];
    printf("%s: %s (%s)\n", device->name, device->title, device->platform);
    for (int start = 0, end; table && start < session->row_count; start = end) {
        const row *rows = session->rows;
        char to_device[32], back[32];
        memset(table, 0, sizeof *table);
        lab_table_add(table, 10, (const char *[]){"kernel", "parameters", "median ms", "+-95%", "min",
                                                  "GFLOPS", "over before", "over first", "of vendor",
                                                  "samples"});
        for (end = start; end < session->row_count && same_problem(&rows[start], &rows[end]); end++)
            add_table_row(table, &rows[end]);
        write_extras(session, rows[start].asked, extras, sizeof extras);
        write_time(rows[start].h2d_ns, to_device, sizeof to_device);
        write_time(rows[start].d2h_ns, back, sizeof back);
        printf("\n%s %lld x %lld x %lld%s; A and B to the device %s ms, C back %s ms\n",
               rung_product_name(rows[start].product), (long long)rows[start].size.m,
               (long long)rows[start].size.n, (long long)rows[start].size.k, extras, to_device, back);
        if (rows[start].vendor_tuned)
            printf("the vendor with parameters of its own tuner\n");
        lab_table_print(table, "llrrrrrrrl", stdout);
        for (int i = start; i < end; i++)
            print_calls(session, &rows[i]);
        for (int i = start; i < end; i++)
            print_explained(&rows[i]);
        print_parts(&rows[start], end - start, table);
    }
    free(table);
}

static void print_csv(const session *session)
{
    char epilogue[64];
    lab_write_epilogue(session->epilogue, epilogue, sizeof epilogue);
    printf("device,kernel,params,dtype,m,n,k,batch,splits,compute,epilogue,verified,median_ns,min_ns,"
           "ci95_ns,samples,gflops,percent_of_vendor,h2d_ns,kernel_ns,d2h_ns\n");
    for (int i = 0; i < session->row_count; i++) {
        const row *row = &session->rows[i];
        printf("%s,%s,\"%s\",%s,%lld,%lld,%lld,%lld,%lld,%s,\"%s\",%d,%lld,%lld,%lld,%lld,%.4f,%.2f,%lld,%lld,%lld\n",
               rung_device_describe(session->target.device)->name, row->kernel, row->params,
               rung_product_name(row->product), (long long)row->size.m, (long long)row->size.n,
               (long long)row->size.k, (long long)session->batch, (long long)row->splits,
               rung_compute_name(row->asked), epilogue, row->verified, (long long)row->median_ns, (long long)row->min_ns,
               (long long)row->ci95_ns, (long long)row->samples, row->gflops, row->percent_of_vendor,
               (long long)row->h2d_ns, (long long)row->median_ns, (long long)row->d2h_ns);
    }
}

static void add_ratio(lab_json *json, const char *name, double value)
{
    lab_json_number(json, name, value > 0 ? value : (double)NAN);
}

static void print_row(lab_json *json, const session *session, const char *device, const row *row)
{
    char epilogue[64];
    lab_write_epilogue(session->epilogue, epilogue, sizeof epilogue);
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "device", device);
    lab_json_string(json, "kernel", row->kernel);
    lab_json_string(json, "params", row->params);
    lab_json_string(json, "dtype", rung_product_name(row->product));
    lab_json_integer(json, "m", row->size.m);
    lab_json_integer(json, "n", row->size.n);
    lab_json_integer(json, "k", row->size.k);
    lab_json_integer(json, "batch", session->batch);
    lab_json_integer(json, "splits", row->splits);
    lab_json_string(json, "compute", rung_compute_name(row->asked));
    lab_json_string(json, "computed", rung_compute_name(row->compute));
    lab_json_string(json, "epilogue", epilogue);
    lab_json_true(json, "verified", row->verified);
    lab_json_string(json, "why_not", row->why_not);
    lab_json_integer(json, "median_ns", row->median_ns);
    lab_json_integer(json, "min_ns", row->min_ns);
    lab_json_integer(json, "ci95_ns", row->ci95_ns);
    lab_json_integer(json, "samples", row->samples);
    lab_json_number(json, "gflops", row->gflops);
    add_ratio(json, "over_before", row->over_before);
    add_ratio(json, "over_first", row->over_first);
    add_ratio(json, "percent_of_vendor", row->percent_of_vendor);
    lab_json_true(json, "vendor_tuned", row->vendor_tuned);
    lab_json_string(json, "origin", row->origin);
    lab_json_integer(json, "h2d_ns", row->h2d_ns);
    lab_json_integer(json, "kernel_ns", row->call.wall_ns > 0 ? row->call.kernel_ns : row->median_ns);
    lab_json_integer(json, "d2h_ns", row->d2h_ns);
    add_explained(json, row->explanation);
    if (row->call.wall_ns > 0) {
        const char *overlap = getenv("RUNG_OVERLAP");
        lab_json_string(json, "overlap", overlap && *overlap ? overlap : "default");
        lab_json_integer(json, "call_wall_ns", row->call.wall_ns);
        lab_json_integer(json, "up_ns", row->call.up_ns);
        lab_json_integer(json, "down_ns", row->call.down_ns);
        lab_json_integer(json, "host_ns", row->call.host_ns);
        lab_json_number(json, "hidden_percent", row->call.hidden_percent);
    }
    if (row->calls_wall_ns > 0) {
        lab_json_integer(json, "batch_wall_ns", row->batch_wall_ns);
        lab_json_integer(json, "calls_wall_ns", row->calls_wall_ns);
        lab_json_number(json, "over_calls", ratio(row->calls_wall_ns, row->batch_wall_ns));
    }
    lab_json_end(json, '}');
}

static void print_json(const session *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-bench/1");
    lab_setting_print(&json, device);
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < session->row_count; i++)
        print_row(&json, session, device->name, &session->rows[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

/* What only rung_gemm needs. */
static int open_caller(session *session)
{
    const char *file = session->options->trace;
    bool called = false;
    for (int i = 0; i < session->kernel_count; i++)
        called = called || !session->kernels[i];
    if (file && !called)
        return usage("--trace draws calls: say --kernels rung_gemm");
    if (called && lab_caller_open(rung_device_describe(session->target.device)->name,
                                  &session->caller) != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_NOTHING;
    }
    if (!file)
        return LAB_GOOD;
    session->trace.out = fopen(file, "w");
    if (!session->trace.out) {
        fprintf(stderr, "rung: %s cannot be written\n", file);
        return LAB_USAGE;
    }
    lab_json_begin(&session->trace, NULL, '{');
    lab_json_begin(&session->trace, "traceEvents", '[');
    return LAB_GOOD;
}

/* Closes the trace; false if it could not be written. */
static bool close_trace(session *session)
{
    if (!session->trace.out)
        return true;
    lab_json_end(&session->trace, ']');
    lab_json_end(&session->trace, '}');
    bool good = !ferror(session->trace.out);
    good = fclose(session->trace.out) == 0 && good;
    session->trace.out = NULL;
    if (!good)
        fprintf(stderr, "rung: %s could not be written\n", session->options->trace);
    return good;
}

static int bench(session *session)
{
    int code = read_options(session);
    if (code == LAB_GOOD)
        code = lab_target_open(session->options, session->kernel_list, &session->target);
    if (code == LAB_GOOD)
        code = find_kernels(session);
    if (code == LAB_GOOD)
        code = open_caller(session);
    if (code == LAB_GOOD)
        code = run_all(session);
    if (!close_trace(session) && code == LAB_GOOD)
        code = LAB_USAGE;
    if (code != LAB_GOOD)
        return code;
    explain_rows(session);
    if (session->options->json)
        print_json(session);
    else if (session->options->csv)
        print_csv(session);
    else
        print_tables(session);
    if (session->any_wrong)
        return LAB_WRONG;
    return session->any_right ? LAB_GOOD : LAB_NOTHING;
}

int lab_command_bench(const lab_options *options)
{
    session *session = calloc(1, sizeof *session);
    int code = LAB_NOTHING;
    if (session) {
        session->options = options;
        session->contenders = calloc(CONTENDERS_MAX, sizeof *session->contenders);
        session->rows = calloc(ROWS_MAX, sizeof *session->rows);
        if (session->contenders && session->rows)
            code = bench(session);
        lab_caller_close(&session->caller);
        lab_target_close(&session->target);
        if (session->rows)
            free_explanations(session);
        free(session->contenders);
        free(session->rows);
    }
    free(session);
    return code;
}
