/* SPDX-License-Identifier: Apache-2.0 */
/* command_verify.c - rung verify: every kernel against the oracle, on a suite of
 * problems or on one. */
#define _GNU_SOURCE /* strsignal */
#include "checker.h"
#include "conform.h"
#include "interrupt.h"
#include "json.h"
#include "options.h"
#include "oracle.h"
#include "parameters.h"
#include "progress.h"
#include "supervise.h"
#include "sweep.h"
#include "table.h"
#include "tally.h"
#include "target.h"

#include <stdlib.h>
#include <string.h>

enum { CONTENDERS_MAX = 512, FAILURES_KEPT = 20, TIME_LIMIT = 60, SIMULATOR_FACTOR = 5 };

/* A kernel with one set of parameters, and how it fared. */
typedef struct contender {
    const rung_kernel *kernel; /* NULL: rung_gemm */
    char name[256];
    lab_dtype dtype;
    char parameters[LAB_PARAMETERS_TEXT];
    lab_suite suite;
    int64_t cases, wrong, skipped;
    char why_skipped[256];
    int64_t threads, shared_bytes; /* per block of a kernel that was rejected; 0: not known */
    lab_tally tally;
} contender_t;

/* A file of the user's is looked at more closely than a kernel of the ladder. */
typedef struct grade {
    const rung_kernel *kernel;
    char file[1024];
    lab_check check;
    bool is_dangerous; /* so it was not run here */
} grade_t;

/* A problem that was wrong or did not run. */
typedef struct failure {
    int contender;
    lab_case problem;
    bool ran;
    bool timed_out;
    bool is_confirmed; /* its command was tried, and shows a failure */
    char replay[1024 + LAB_PARAMETERS_TEXT];
    char message[4096];
} failure_t;

/* The problem that is being run. */
typedef struct position {
    int contender;
    lab_case problem;
    int64_t number, count; /* of the contender's problems */
} position_t;

/* With a file among the kernels, a child process runs them (supervise.h) and the parent prints: the session is in
 * memory that both share, and what is printed refers to no kernel and no device. */
typedef struct session {
    const lab_options *options;
    lab_target target;
    const char *kernels; /* the list that was given, NULL if none */
    lab_dtype dtypes[LAB_DTYPES_MAX];
    int dtype_count;
    rung_compute compute;                             /* of those that say none */
    int64_t batch, splits, repeat, carveout, threads; /* 0 where they are not given */
    lab_epilogue epilogue;
    uint64_t seed;
    int64_t every;
    lab_suite suite;
    lab_case single; /* if options->m is given */
    contender_t contenders[CONTENDERS_MAX];
    int contender_count;
    failure_t failures[FAILURES_KEPT]; /* the plainest and smallest, in that order */
    int64_t failure_count;             /* of all */
    bool is_complete;                  /* neither interrupted nor ended by a kernel */
    position_t running;
    double time_limit; /* seconds for one problem, 0: none */
    struct {
        char name[64], title[256], platform[128];
        bool is_simulator; /* Oclgrind, which is slow */
    } device;
    grade_t grades[LAB_KERNELS_MAX];
    int grade_count;
} session_t;

static int usage(const char *message)
{
    return lab_usage("verify", message);
}

/* ---- Reading the options ---------------------------------------------------------------------- */

static bool read_suite(const char *text, lab_suite *suite)
{
    static const char *const names[] = {
#define X(name) #name,
        LAB_SUITE_LIST(X)
#undef X
    };
    *suite = LAB_SUITE_full;
    for (int i = 0; text && i < LAB_SUITE_COUNT; i++)
        if (strcmp(names[i], text) == 0) {
            *suite = (lab_suite)i;
            return true;
        }
    return !text;
}

/* Items side by side; sizes that no memory holds are refused later. */
static void set_batch_stride(lab_form *form, int64_t rows, int64_t cols)
{
    double span = (double)form->offset + (double)rows * (double)form->row_stride +
                  (double)cols * (double)form->col_stride;
    form->batch_stride = span < 0x1p62 ? lab_span(*form, rows, cols) : 0;
}

/* "R,C", "R,C,OFFSET" or "R,C,OFFSET,BATCH" over the dense row-major default. */
static bool read_form(const char *text, int64_t rows, int64_t cols, lab_form *form)
{
    char copy[96], *rest = copy;
    int64_t *fields[] = {&form->row_stride, &form->col_stride, &form->offset, &form->batch_stride};
    *form = lab_form_of(LAB_LAYOUT_rows, rows, cols);
    set_batch_stride(form, rows, cols);
    if (!text)
        return true;
    snprintf(copy, sizeof copy, "%s", text);
    int count = 0;
    while (rest && count < 4) {
        char *comma = strchr(rest, ',');
        if (comma)
            *comma = '\0';
        if (!lab_read_integer(rest, fields[count]) || *fields[count] < 0)
            return false;
        count++;
        rest = comma ? comma + 1 : NULL;
    }
    if (count < 4)
        set_batch_stride(form, rows, cols);
    return !rest && count >= 2;
}

static bool read_single(const session_t *session, lab_case *single)
{
    const lab_options *options = session->options;
    *single = (lab_case){.alpha = 1,
                         .beta = 0,
                         .batch = options->batch ? session->batch : 1,
                         .scattered = options->scattered != NULL,
                         .splits = session->splits,
                         .epilogue = session->epilogue,
                         .has_d = options->d_strides != NULL};
    if (!lab_read_integer(options->m, &single->m))
        return false;
    single->n = single->k = single->m;
    return (!options->n || lab_read_integer(options->n, &single->n)) &&
           (!options->k || lab_read_integer(options->k, &single->k)) &&
           (!options->alpha || lab_read_number(options->alpha, &single->alpha)) &&
           (!options->beta || lab_read_number(options->beta, &single->beta)) && single->m >= 0 && single->n >= 0 &&
           single->k >= 0 && read_form(options->a_strides, single->m, single->k, &single->a) &&
           read_form(options->b_strides, single->k, single->n, &single->b) &&
           read_form(options->c_strides, single->m, single->n, &single->c) &&
           read_form(options->d_strides, single->m, single->n, &single->d);
}

/* A number that may not be negative, if it is given. */
static bool read_count(const char *text, int64_t *count)
{
    return !text || (lab_read_integer(text, count) && *count >= 0 && *count <= 1 << 30);
}

static int read_extras(session_t *session)
{
    const lab_options *options = session->options;
    const char *wrong = lab_read_dtypes(options, &session->compute, session->dtypes, &session->dtype_count);
    if (wrong)
        return usage(wrong);
    if (!lab_read_epilogue(options->epilogue, &session->epilogue))
        return usage("--epilogue is a list of bias_row, bias_col or bias; relu, gelu, gelu_tanh or silu; and residual");
    if (!read_count(options->batch, &session->batch) || (options->batch && session->batch < 1))
        return usage("--batch is the number of items, at least 1");
    if (!read_count(options->splits, &session->splits))
        return usage("--splits is a whole number");
    if (!read_count(options->carveout, &session->carveout) || session->carveout > 100)
        return usage("--carveout is a per cent, 1 to 100, or 0 for the driver's choice");
    if (options->threads &&
        (!read_count(options->threads, &session->threads) || session->threads < 1 || session->threads > 8192))
        return usage("--threads is a number from 1 to 8192");
    if (options->scattered && !options->batch)
        return usage("--scattered is for the items of a --batch");
    if (!read_count(options->repeat, &session->repeat) || (options->repeat && !options->m))
        return usage("--repeat is a whole number, for one problem given by --m");
    return LAB_GOOD;
}

static int read_options(session_t *session)
{
    const lab_options *options = session->options;
    int64_t seed = 1;
    session->every = 1;
    if (!read_suite(options->suite, &session->suite))
        return usage("--suite is full, types, quick, edges, tile, extras or scattered");
    if (lab_wrong_parameters(options->params))
        return usage(lab_wrong_parameters(options->params));
    int code = read_extras(session);
    if (code != LAB_GOOD)
        return code;
    if (options->every && (!lab_read_integer(options->every, &session->every) || session->every < 1))
        return usage("--every is a number from 1 on");
    if (options->seed && !lab_read_integer(options->seed, &seed))
        return usage("--seed is a whole number");
    session->seed = (uint64_t)seed;
    if (!lab_read_time_limit(options->time_limit, TIME_LIMIT, &session->time_limit))
        return usage(LAB_TIME_LIMIT_WRONG);
    if (options->m ? !read_single(session, &session->single)
                   : options->n || options->k || options->a_strides || options->b_strides || options->c_strides ||
                         options->d_strides || options->alpha || options->beta)
        return usage("one problem is given by --m, and then --n, --k, strides like --a-strides 64,1, "
                     "--alpha and --beta");
    for (int i = 0; options->m && i < session->dtype_count; i++)
        if (!lab_oracle_takes_k(session->dtypes[i].product, session->single.k))
            return usage("k is so large that rounding can explain any result; give a smaller --k");
    return LAB_GOOD;
}

/* ---- The contenders -------------------------------------------------------------------------------- */

static void add_contender(session_t *session, const rung_kernel *kernel, const char *parameters, lab_suite suite,
                          const lab_dtype *dtype)
{
    if (session->contender_count == CONTENDERS_MAX)
        return;
    contender_t *added = &session->contenders[session->contender_count++];
    added->kernel = kernel;
    snprintf(added->name, sizeof added->name, "%s", kernel ? rung_kernel_describe(kernel)->name : "rung_gemm");
    added->dtype = *dtype;
    added->suite = suite;
    snprintf(added->parameters, sizeof added->parameters, "%s", parameters ? parameters : "");
}

/* Its presets and each other choice of each parameter, on a suite of few problems. */
static void add_variants(session_t *session, const rung_kernel *kernel, lab_suite suite, const lab_dtype *dtype)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    for (int64_t i = 0; i < info->preset_count; i++)
        add_contender(session, kernel, rung_kernel_preset(kernel, i)->name, suite, dtype);
    for (int64_t i = 0; i < info->parameter_count; i++)
        for (int64_t j = 0; j < rung_kernel_parameter(kernel, i)->choice_count; j++) {
            char parameters[LAB_PARAMETERS_TEXT];
            snprintf(parameters, sizeof parameters, "%s=%lld", rung_kernel_parameter(kernel, i)->name,
                     (long long)rung_kernel_parameter(kernel, i)->choices[j]);
            if (rung_kernel_parameter(kernel, i)->choices[j] != rung_kernel_parameter(kernel, i)->value &&
                rung_kernel_check(kernel, parameters) == RUNG_OK)
                add_contender(session, kernel, parameters, suite, dtype);
        }
}

/* What the full suite is for a type that is not the first: everything a type can get
 * wrong on small tiles, and a few problems on those that are taken by default. Each path
 * of a kernel is compiled anew for each type, which takes longer the larger its tiles. */
static void add_type(session_t *session, const rung_kernel *kernel, lab_suite suite, const lab_dtype *dtype)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    const char *sum = rung_type_name(lab_product_sum(dtype->product));
    add_contender(session, kernel, lab_has_preset(kernel, "tiny") ? "tiny" : NULL, suite, dtype);
    add_contender(session, kernel, lab_has_preset(kernel, sum) ? sum : info->defaults, LAB_SUITE_tile, dtype);
}

/* Whether a problem of the size of its tiles takes so long to check that there can be but few. */
static bool has_large_tiles(const rung_kernel *kernel)
{
    const char *defaults = rung_kernel_describe(kernel)->defaults;
    return lab_kernel_number(kernel, defaults, RUNG_F32, "BM * BN * BK", 0) > 1 << 18;
}

/* The first type: all that may be compiled of a kernel. Its defaults are named, since a plan
 * may prefer a preset. Where a matrix engine is emulated, or tiles are as large as a cache, only
 * small ones are fast enough for many problems. */
static void add_all(session_t *session, const rung_kernel *kernel, const lab_dtype *dtype)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    bool is_slow = lab_is_emulated(kernel) || has_large_tiles(kernel);
    if (is_slow)
        add_type(session, kernel, LAB_SUITE_full, dtype);
    else
        add_contender(session, kernel, info->defaults, LAB_SUITE_full, dtype);
    add_variants(session, kernel, is_slow ? LAB_SUITE_tile : LAB_SUITE_edges, dtype);
}

/* Adds the kernel as asked for; if nothing was asked for, all of its variants. A type that the kernel does
 * not multiply is reported only if the kernel was named. Returns false if --params is too long. */
static bool add_kernel(session_t *session, const rung_kernel *kernel)
{
    const lab_options *options = session->options;
    char given[LAB_PARAMETERS_TEXT] = ""; /* those of --params that this kernel has */
    if (options->params && !lab_parameters_of(kernel, options->params, given, sizeof given))
        return false;
    bool as_asked = options->params || session->suite != LAB_SUITE_full || options->m, is_first = true;
    bool is_slow = !session->kernels && lab_is_emulated(kernel);
    for (int i = 0; i < session->dtype_count; i++) {
        const lab_dtype *dtype = &session->dtypes[i];
        if (!session->kernels && !lab_takes(kernel, dtype))
            continue;
        if (as_asked)
            add_contender(session, kernel, is_slow && !options->params ? "tiny" : given, session->suite, dtype);
        else if (is_first)
            add_all(session, kernel, dtype);
        else
            add_type(session, kernel, LAB_SUITE_types, dtype);
        is_first = false;
    }
    return true;
}

/* rung_gemm itself, which chooses kernel and parameters. */
static void add_call(session_t *session)
{
    bool full = session->suite == LAB_SUITE_full && !session->options->m;
    for (int i = 0; i < session->dtype_count; i++)
        add_contender(session, NULL, NULL, full && i > 0 ? LAB_SUITE_tile : session->suite, &session->dtypes[i]);
}

static int add_contenders(session_t *session)
{
    const char *list = session->kernels;
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    int count, code = lab_target_kernels(&session->target, list, kernels, &count);
    if (code != LAB_GOOD)
        return code;
    char why[2048];
    if (!lab_parameters_check(kernels, count, session->options->params, why, sizeof why))
        return usage(why);
    for (int i = 0; i < count; i++) {
        if (!kernels[i] && session->options->packed)
            return usage("--packed is for kernels; rung_gemm does not take a packed B");
        if (!kernels[i])
            add_call(session);
        else if ((list || rung_kernel_describe(kernels[i])->number > 0) && /* not the vendor's unasked */
                 !add_kernel(session, kernels[i]))
            return usage("--params is too long");
    }
    if (!list && !session->options->params)
        add_call(session);
    for (int i = 0; i < session->contender_count; i++) {
        contender_t *contender = &session->contenders[i];
        bool usual = rung_type_size(contender->dtype.product.in) == 4; /* others, the plan checks */
        if (contender->kernel && usual && rung_kernel_check(contender->kernel, contender->parameters) != RUNG_OK)
            return usage(rung_error_text());
    }
    return LAB_GOOD;
}

/* ---- Running ------------------------------------------------------------------------------------------ */

static bool is_file(const contender_t *contender)
{
    return contender->kernel && rung_kernel_describe(contender->kernel)->number == -1;
}

static lab_traits traits_of(const contender_t *contender);

/* Orders failures: what did not run, then plain problems before others, then small ones before large ones. */
static double rank_of(const failure_t *failure)
{
    const lab_case *problem = &failure->problem;
    double size = (double)problem->m * (double)problem->n * (double)problem->k;
    bool has_scalars = problem->alpha != 1 || problem->beta != 0;
    return failure->ran ? 1 + (double)lab_level_of(problem) * 1e15 + has_scalars * 1e13 + (size < 1e12 ? size : 1e12)
                        : 0;
}

static int kept_count(const session_t *session)
{
    return session->failure_count < FAILURES_KEPT ? (int)session->failure_count : FAILURES_KEPT;
}

/* Puts a failure in its place among those that are kept. */
static void insert_failure(session_t *session, const failure_t *added)
{
    int at = kept_count(session);
    session->failure_count++;
    while (at > 0 && rank_of(&session->failures[at - 1]) > rank_of(added)) {
        if (at < FAILURES_KEPT)
            session->failures[at] = session->failures[at - 1];
        at--;
    }
    if (at < FAILURES_KEPT)
        session->failures[at] = *added;
}

static void keep_failure(session_t *session, const contender_t *contender, const lab_subject *subject,
                         const lab_case *problem, const lab_outcome *outcome)
{
    failure_t failure = {.contender = (int)(contender - session->contenders),
                         .problem = *problem,
                         .ran = outcome->kind == LAB_WRONG_RESULT,
                         .is_confirmed = session->options->m != NULL};
    lab_replay(subject, problem, failure.replay, sizeof failure.replay);
    snprintf(failure.message, sizeof failure.message, "%s", outcome->message);
    insert_failure(session, &failure);
}

/* Notes what a block of a rejected kernel needs, as far as the library determines it. */
static void note_needs(contender_t *contender, const lab_subject *subject, const lab_case *problem)
{
    rung_type in = contender->dtype.product.in, out = contender->dtype.product.out;
    rung_problem form = rung_problem_of(rung_matrix_of(in, problem->m, problem->k, NULL),
                                        rung_matrix_of(in, problem->k, problem->n, NULL),
                                        rung_matrix_of(out, problem->m, problem->n, NULL));
    rung_plan_options options = rung_plan_options_default();
    rung_candidate_list *list;
    options.kernel = subject->kernel;
    options.parameters = subject->parameters;
    form.compute = contender->dtype.compute;
    if (rung_candidate_list_create(subject->device, &form, &options, &list) != RUNG_OK)
        return;
    contender->threads = rung_candidate_list_at(list, 0)->threads_per_block;
    contender->shared_bytes = rung_candidate_list_at(list, 0)->shared_bytes_per_block;
    rung_candidate_list_destroy(list);
}

static void note(session_t *session, contender_t *contender, const lab_subject *subject, const lab_case *problem,
                 const lab_outcome *outcome)
{
    contender->cases++;
    if (is_file(contender) && (outcome->kind == LAB_RIGHT || outcome->kind == LAB_WRONG_RESULT))
        lab_tally_add(&contender->tally, problem, traits_of(contender), outcome->kind == LAB_RIGHT,
                      outcome->fault == LAB_FAULT_OUTSIDE);
    switch (outcome->kind) {
    case LAB_RIGHT: return;
    case LAB_REFUSED:
        if (contender->skipped++ == 0 && is_file(contender))
            note_needs(contender, subject, problem);
        snprintf(contender->why_skipped, sizeof contender->why_skipped, "%.*s", (int)sizeof contender->why_skipped - 1,
                 outcome->message);
        return;
    case LAB_WRONG_RESULT:
    case LAB_FAILED: contender->wrong++; keep_failure(session, contender, subject, problem, outcome);
    }
}

/* The tile of a contender, for the edges of its problems. */
static int64_t tile(const contender_t *contender, const char *name, int64_t otherwise)
{
    if (!contender->kernel)
        return otherwise;
    int64_t size = lab_kernel_number(contender->kernel, contender->parameters, contender->dtype.product.in, name,
                                     otherwise);
    return size > 4096 ? otherwise : size;
}

/* What the contender is; rung_gemm takes all but a wish for shares. */
static lab_traits traits_of(const contender_t *contender)
{
    return (lab_traits){
        .bm = tile(contender, "BM", 16),
        .bn = tile(contender, "BN", 16),
        .bk = tile(contender, "BK", 8),
        .whole = lab_is_whole(contender->dtype.product.in),
        .abilities = contender->kernel ? rung_kernel_describe(contender->kernel)->abilities
                                       : RUNG_ABILITY_BATCH_OFFSETS | RUNG_ABILITY_EPILOGUE,
    };
}

/* What was asked for on the command line goes for every problem of a suite. */
static void override(const session_t *session, lab_case *problem)
{
    const lab_options *options = session->options;
    if (options->batch) {
        lab_case_batch(problem, session->batch);
        problem->scattered = options->scattered != NULL;
    }
    if (options->splits)
        problem->splits = session->splits;
    if (options->epilogue)
        problem->epilogue = session->epilogue;
}

/* The problems that --m and its options stand for: one with each content. */
static lab_case_list variants_of(const lab_case *problem)
{
    lab_case_list list = {.cases = calloc(LAB_CONTENT_COUNT, sizeof(lab_case)), .count = LAB_CONTENT_COUNT};
    list.out_of_memory = !list.cases;
    for (int i = 0; list.cases && i < LAB_CONTENT_COUNT; i++) {
        list.cases[i] = *problem;
        list.cases[i].content = (lab_content)i;
        list.cases[i].guarded = i % 2 != 0;
        list.cases[i].rehearsed = i == 0;
    }
    return list;
}

static lab_case_list problems_of(const session_t *session, const contender_t *contender)
{
    if (!session->options->m) {
        lab_case_list suite = lab_cases_of(contender->suite, traits_of(contender));
        if (is_file(contender) && session->every == 1 && !session->device.is_simulator)
            lab_cases_prepend_dense(&suite, traits_of(contender));
        for (int64_t i = 0; i < suite.count; i++)
            override(session, &suite.cases[i]);
        return suite;
    }
    return variants_of(&session->single);
}

static void show_progress(const session_t *session, const contender_t *contender, int64_t done, int64_t count)
{
    char text[256];
    snprintf(text, sizeof text, "%s %s, case %lld of %lld", contender->name, contender->parameters, (long long)done + 1,
             (long long)count);
    lab_progress_show(&(lab_progress){.what = text,
                                      .done = (double)(contender - session->contenders) + (double)done / (double)count,
                                      .count = session->contender_count,
                                      .units = "settings"});
}

/* Tells the supervisor which problem a kernel file runs, by the command that runs it again; rung's own kernels end. */
static void begin_problem(session_t *session, const contender_t *contender, const lab_subject *subject,
                          const lab_case *problem, int64_t number, int64_t count)
{
    char replay[LAB_STEP_TEXT];
    if (!is_file(contender))
        return;
    session->running = (position_t){
        .contender = (int)(contender - session->contenders), .problem = *problem, .number = number, .count = count};
    lab_replay(subject, problem, replay, sizeof replay);
    lab_step_begin(replay);
}

/* Runs what the command of a failure would run, and takes over what is wrong with the first problem that fails. */
static bool does_fail_alone(session_t *session, const contender_t *contender, const lab_subject *subject,
                            failure_t *failure)
{
    lab_outcome outcome = {.kind = LAB_RIGHT};
    lab_case_list list = variants_of(&failure->problem);
    for (int i = 0; list.cases && outcome.kind == LAB_RIGHT && i < list.count && !lab_interrupted(); i++) {
        begin_problem(session, contender, subject, &list.cases[i], i, list.count);
        lab_conform(subject, &list.cases[i], &outcome);
        lab_step_end();
    }
    free(list.cases);
    if (outcome.kind != LAB_WRONG_RESULT)
        return false;
    snprintf(failure->message, sizeof failure->message, "%s", outcome.message);
    return true;
}

/* Gives a problem other sizes. Dense matrices stay dense, and views keep their strides. */
static void resize(lab_case *problem, int64_t m, int64_t n, int64_t k)
{
    bool a = lab_is_dense(problem->a, problem->k), b = lab_is_dense(problem->b, problem->n);
    bool c = lab_is_dense(problem->c, problem->n);
    problem->m = m;
    problem->n = n;
    problem->k = k;
    problem->a = a ? lab_form_of(LAB_LAYOUT_rows, m, k) : problem->a;
    problem->b = b ? lab_form_of(LAB_LAYOUT_rows, k, n) : problem->b;
    problem->c = c ? lab_form_of(LAB_LAYOUT_rows, m, n) : problem->c;
}

static int64_t half(int64_t size)
{
    return size > 1 ? size / 2 : size;
}

/* One way to make a problem simpler. Returns false past the last way. */
static bool make_simpler(lab_case *problem, int way)
{
    enum { SINGLE_WAYS = 8, HALVINGS = 12 };
    const int64_t m = problem->m, n = problem->n, k = problem->k;
    switch (way) {
    case 0:
        problem->alpha = 1;
        problem->beta = 0;
        return true;
    case 1: problem->c = lab_form_of(LAB_LAYOUT_rows, m, n); return true;
    case 2: problem->b = lab_form_of(LAB_LAYOUT_rows, k, n); return true;
    case 3: problem->a = lab_form_of(LAB_LAYOUT_rows, m, k); return true;
    case 4: resize(problem, 1, n, k); return true;
    case 5: resize(problem, m < 2 ? m : 2, n, k); return true;
    case 6: resize(problem, m, 1, k); return true;
    case 7: resize(problem, m, n < 2 ? n : 2, k); return true;
    default: break;
    }
    switch ((way - SINGLE_WAYS) / HALVINGS) {
    case 0: resize(problem, half(m), n, k); return true;
    case 1: resize(problem, m, half(n), k); return true;
    case 2: resize(problem, m, n, half(k)); return true;
    default: return false;
    }
}

static bool is_same(const lab_case *first, const lab_case *second)
{
    return first->m == second->m && first->n == second->n && first->k == second->k && first->alpha == second->alpha &&
           first->beta == second->beta && memcmp(&first->a, &second->a, sizeof first->a) == 0 &&
           memcmp(&first->b, &second->b, sizeof first->b) == 0 && memcmp(&first->c, &second->c, sizeof first->c) == 0;
}

/* Replaces a failure by the simplest one that still fails. Items of a batch stay as they are. */
static void simplify(session_t *session, const contender_t *contender, const lab_subject *subject, failure_t *failure)
{
    struct failure tried = *failure;
    lab_case passed = failure->problem; /* the last that did not fail */
    for (int way = 0; failure->problem.batch == 1 && !lab_interrupted(); way++) {
        tried.problem = failure->problem;
        if (!make_simpler(&tried.problem, way))
            break;
        if (is_same(&tried.problem, &failure->problem) || is_same(&tried.problem, &passed))
            continue;
        if (does_fail_alone(session, contender, subject, &tried)) {
            lab_replay(subject, &tried.problem, tried.replay, sizeof tried.replay);
            *failure = tried;
        } else {
            passed = tried.problem;
        }
    }
}

/* A command is printed only after it was seen to fail: tries those of the first failures until one does, and of all
 * that will be printed. */
static void confirm_failures(session_t *session, const contender_t *contender, const lab_subject *subject)
{
    bool is_first = true;
    for (int i = 0; !session->device.is_simulator && i < kept_count(session) && !lab_interrupted(); i++) {
        failure_t *failure = &session->failures[i];
        if (failure->contender != contender - session->contenders || !failure->ran || failure->is_confirmed)
            continue;
        failure->is_confirmed = does_fail_alone(session, contender, subject, failure);
        if (failure->is_confirmed && is_first) {
            simplify(session, contender, subject, failure);
            is_first = false;
        }
        if (failure->is_confirmed && !session->options->all_cases)
            return;
    }
}

static int run_contender(session_t *session, contender_t *contender)
{
    lab_outcome outcome;
    lab_subject subject = {
        .context = session->target.context,
        .device = session->target.device,
        .queue = session->target.queue,
        .kernel = contender->kernel,
        .parameters = contender->parameters,
        .product = contender->dtype.product,
        .compute = contender->dtype.compute,
        .seed = session->seed,
        .rigour = lab_may_use_engine(&session->target, contender->kernel) ? LAB_ON_ENGINE : LAB_BOUNDED,
        .carveout = session->carveout,
        .threads = session->threads,
        .is_packed = session->options->packed != NULL,
    };
    lab_case_list list = problems_of(session, contender);
    if (list.out_of_memory) {
        free(list.cases);
        fprintf(stderr, "rung: out of memory for the list of problems; take every tenth with --every 10\n");
        return LAB_NOTHING;
    }
    for (int64_t i = 0; i < list.count && !lab_interrupted(); i += session->every) {
        show_progress(session, contender, i, list.count);
        begin_problem(session, contender, &subject, &list.cases[i], i, list.count);
        lab_conform(&subject, &list.cases[i], &outcome);
        if (session->repeat > 0 && outcome.kind == LAB_RIGHT)
            lab_conform_repeat(&subject, &list.cases[i], session->repeat, &outcome);
        lab_step_end();
        note(session, contender, &subject, &list.cases[i], &outcome);
        /* What does not compile or fit once never will. */
        if (outcome.kind == LAB_FAILED || (outcome.kind == LAB_REFUSED && contender->cases == 1))
            break;
    }
    free(list.cases);
    confirm_failures(session, contender, &subject);
    return LAB_GOOD;
}

/* ---- Files of the user's ------------------------------------------------------------------------------- */

static grade_t *grade_of(session_t *session, const rung_kernel *kernel)
{
    for (int i = 0; i < session->grade_count; i++)
        if (kernel && session->grades[i].kernel == kernel)
            return &session->grades[i];
    return NULL;
}

/* Under the checker before it runs here: what writes over foreign memory could take this process with
 * it. One problem alone, by --m, is not checked, nor is anything that is on the checker's simulator already. */
static void check_files(session_t *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    bool is_checkable = strcmp(device->backend, "opencl") == 0 && !session->device.is_simulator;
    for (int i = 0; is_checkable && !session->options->m && !lab_interrupted() && i < session->contender_count; i++) {
        const contender_t *contender = &session->contenders[i];
        char what[512], given[LAB_PARAMETERS_TEXT] = ""; /* the parameters of --params that this kernel has */
        if (!is_file(contender) || grade_of(session, contender->kernel) || session->grade_count == LAB_KERNELS_MAX)
            continue;
        grade_t *grade = &session->grades[session->grade_count++];
        const rung_kernel_info *kernel = rung_kernel_describe(contender->kernel);
        grade->kernel = contender->kernel;
        snprintf(grade->file, sizeof grade->file, "%s", kernel->file);
        snprintf(what, sizeof what, "%.400s under Oclgrind", kernel->file);
        lab_progress_show(&(lab_progress){
            .what = what, .done = session->grade_count, .count = session->contender_count, .units = "files"});
        if (session->options->params) /* add_kernel has tested that they fit */
            lab_parameters_of(contender->kernel, session->options->params, given, sizeof given);
        lab_check_kernel(contender->kernel, *given ? given : NULL, lab_product_name(contender->dtype.product),
                         SIMULATOR_FACTOR * session->time_limit, &grade->check);
        grade->is_dangerous = lab_check_is_dangerous(&grade->check);
    }
}

/* What all runs of a file have in common, whatever its parameters. */
static lab_tally tally_of(const session_t *session, const grade_t *grade)
{
    lab_tally sum = {0};
    for (int i = 0; i < session->contender_count; i++)
        if (session->contenders[i].kernel == grade->kernel)
            lab_tally_join(&sum, &session->contenders[i].tally);
    return sum;
}

static int remark_count(const session_t *session)
{
    int count = 0;
    for (int i = 0; i < session->grade_count; i++)
        count += session->grades[i].check.count;
    return count;
}

/* Those that are a danger to this process are not run in it. */
static int run_all(session_t *session)
{
    int code = LAB_GOOD;
    lab_interrupt_watch();
    lab_progress_begin(session->options->quiet);
    check_files(session);
    for (int i = 0; code == LAB_GOOD && i < session->contender_count; i++) {
        const grade_t *grade = grade_of(session, session->contenders[i].kernel);
        if (!grade || !grade->is_dangerous)
            code = run_contender(session, &session->contenders[i]);
    }
    session->is_complete = !lab_interrupted();
    lab_progress_end();
    return code;
}

/* ---- Telling -------------------------------------------------------------------------------------------- */

static contender_t total_of(const session_t *session)
{
    contender_t total = {0};
    for (int i = 0; i < session->contender_count; i++) {
        total.cases += session->contenders[i].cases;
        total.wrong += session->contenders[i].wrong;
        total.skipped += session->contenders[i].skipped;
    }
    return total;
}

static void json_remark(lab_json *json, const grade_t *grade, const char *kind, int line, const char *text)
{
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kind", kind);
    lab_json_string(json, "file", grade->file);
    lab_json_integer(json, "line", line);
    lab_json_string(json, "text", text);
    lab_json_end(json, '}');
}

static void json_findings(lab_json *json, const session_t *session)
{
    lab_json_begin(json, "findings", '[');
    for (int i = 0; i < session->grade_count; i++) {
        const grade_t *grade = &session->grades[i];
        lab_tally tally = tally_of(session, grade);
        char text[LAB_REMARK_TEXT];
        for (int j = 0; j < grade->check.count; j++)
            json_remark(json, grade, lab_remark_kind_name(grade->check.remarks[j].kind), grade->check.remarks[j].line,
                        grade->check.remarks[j].text);
        lab_tally_tell(&tally, text, sizeof text);
        if (*text)
            json_remark(json, grade, "wrong", 0, text);
    }
    lab_json_end(json, ']');
}

/* Which files Oclgrind has checked: a file without findings is not a checked file. */
static void json_checks(lab_json *json, const session_t *session)
{
    lab_json_begin(json, "checks", '[');
    for (int i = 0; i < session->grade_count; i++) {
        const grade_t *grade = &session->grades[i];
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "file", grade->file);
        lab_json_true(json, "ran", grade->check.ran);
        lab_json_true(json, "uninitialised_reads", grade->check.ran && !grade->check.is_partial);
        lab_json_string(json, "why_not", grade->check.ran ? "" : grade->check.why_not);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void print_json(const session_t *session)
{
    contender_t total = total_of(session);
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-verify/1");
    lab_json_true(&json, "complete", session->is_complete);
    lab_json_string(&json, "version", rung_version_text());
    lab_json_string(&json, "device", session->device.name);
    lab_json_string(&json, "title", session->device.title);
    lab_json_string(&json, "platform", session->device.platform);
    lab_json_integer(&json, "seed", (int64_t)session->seed);
    lab_json_string(&json, "compute", rung_compute_name(session->compute));
    lab_json_integer(&json, "cases", total.cases);
    lab_json_integer(&json, "wrong", total.wrong);
    lab_json_integer(&json, "skipped", total.skipped);
    lab_json_begin(&json, "by_kernel", '[');
    for (int i = 0; i < session->contender_count; i++) {
        const contender_t *contender = &session->contenders[i];
        lab_json_begin(&json, NULL, '{');
        lab_json_string(&json, "kernel", contender->name);
        lab_json_string(&json, "params", contender->parameters);
        lab_json_string(&json, "dtype", lab_product_name(contender->dtype.product));
        lab_json_string(&json, "compute", rung_compute_name(contender->dtype.compute));
        lab_json_integer(&json, "cases", contender->cases);
        lab_json_integer(&json, "wrong", contender->wrong);
        lab_json_integer(&json, "skipped", contender->skipped);
        lab_json_string(&json, "why_skipped", contender->why_skipped);
        if (contender->threads > 0) {
            lab_json_integer(&json, "threads", contender->threads);
            lab_json_integer(&json, "shared_bytes", contender->shared_bytes);
        }
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    lab_json_begin(&json, "failures", '[');
    for (int i = 0; i < kept_count(session); i++) {
        lab_json_begin(&json, NULL, '{');
        lab_json_true(&json, "ran", session->failures[i].ran);
        lab_json_true(&json, "timed_out", session->failures[i].timed_out);
        lab_json_string(&json, "message", session->failures[i].message);
        lab_json_string(&json, "replay", session->failures[i].replay);
        lab_json_end(&json, '}');
    }
    lab_json_end(&json, ']');
    json_findings(&json, session);
    json_checks(&json, session);
    lab_json_end(&json, '}');
}

static void add_row(lab_table *table, const char *name, const char *type, const char *parameters,
                    const contender_t *counts)
{
    char cases[32], wrong[32], skipped[32];
    snprintf(cases, sizeof cases, "%lld", (long long)counts->cases);
    snprintf(wrong, sizeof wrong, "%lld", (long long)counts->wrong);
    snprintf(skipped, sizeof skipped, "%lld", (long long)counts->skipped);
    lab_table_add(table, 7, (const char *[]){name, type, parameters, cases, wrong, skipped, counts->why_skipped});
    lab_table_colour(table, counts->wrong > 0 ? LAB_RED : counts->skipped > 0 ? LAB_YELLOW : LAB_PLAIN);
}

/* "m = 3, n = 1, k = 17, dense" */
static void describe(const lab_case *problem, char *text, size_t capacity)
{
    char scalars[96] = "", batch[48] = "";
    bool is_dense = lab_is_dense(problem->a, problem->k) && lab_is_dense(problem->b, problem->n) &&
                    lab_is_dense(problem->c, problem->n);
    if (problem->alpha != 1 || problem->beta != 0)
        snprintf(scalars, sizeof scalars, ", alpha = %.6g, beta = %.6g", problem->alpha, problem->beta);
    if (problem->batch != 1)
        snprintf(batch, sizeof batch, ", a batch of %lld", (long long)problem->batch);
    snprintf(text, capacity, "m = %lld, n = %lld, k = %lld, %s%s%s", (long long)problem->m, (long long)problem->n,
             (long long)problem->k, is_dense ? "dense" : "strided", batch, scalars);
}

static void print_failure(const failure_t *failure)
{
    char problem[256];
    describe(&failure->problem, problem, sizeof problem);
    lab_colour_begin(LAB_RED, stdout);
    fputs(failure->timed_out ? "did not finish"
          : failure->ran     ? "wrong"
          : *failure->replay ? "did not run"
                             : "crashed",
          stdout);
    lab_colour_end(LAB_RED, stdout);
    if (failure->ran)
        printf(": %s: %s\n", problem, failure->message);
    else
        printf(": %s\n", failure->message);
    if (*failure->replay && (failure->is_confirmed || !failure->ran))
        printf("  again: %s\n", failure->replay);
    fputc('\n', stdout);
}

static bool is_same_kernel(const session_t *session, const failure_t *first, const failure_t *second)
{
    return strcmp(session->contenders[first->contender].name, session->contenders[second->contender].name) == 0;
}

/* Whether a failure is the one to show of its kernel: the first whose command is known to fail, else the first. */
static bool is_simplest(const session_t *session, int index)
{
    const failure_t *failure = &session->failures[index];
    for (int i = 0; i < kept_count(session); i++) {
        bool same = i != index && is_same_kernel(session, &session->failures[i], failure);
        bool confirmed = session->failures[i].is_confirmed || !session->failures[i].ran;
        if (same && (i < index ? confirmed || !failure->is_confirmed : confirmed && !failure->is_confirmed))
            return false;
    }
    return true;
}

/* The simplest of each kernel, or with --all-cases all that are kept. */
static void print_failures(const session_t *session)
{
    int64_t shown = 0;
    for (int i = 0; i < kept_count(session); i++)
        if (session->options->all_cases || is_simplest(session, i)) {
            print_failure(&session->failures[i]);
            shown++;
        }
    if (session->failure_count > shown)
        printf("%lld more problems are wrong%s.\n\n", (long long)(session->failure_count - shown),
               session->options->all_cases ? "" : "; --all-cases lists them, up to 20");
}

static void print_table(const session_t *session)
{
    contender_t total = total_of(session);
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    lab_table_add(table, 7, (const char *[]){"kernel", "type", "parameters", "cases", "wrong", "skipped", ""});
    for (int i = 0; i < session->contender_count; i++)
        add_row(table, session->contenders[i].name, session->contenders[i].dtype.name,
                session->contenders[i].parameters, &session->contenders[i]);
    add_row(table, "all", "", "", &total);
    lab_table_print(table, "lllrrrl", stdout);
    free(table);
}

/* What is wrong with a file, with the line where it is known. */
static void print_findings(const session_t *session, const grade_t *grade)
{
    const lab_check *check = &grade->check;
    lab_tally tally = tally_of(session, grade);
    char text[LAB_REMARK_TEXT];
    lab_tally_tell(&tally, text, sizeof text);
    if (check->count == 0 && !*text)
        return;
    printf("Found:\n");
    for (int i = 0; i < check->count; i++) {
        char line[16] = "";
        if (check->remarks[i].line > 0)
            snprintf(line, sizeof line, ":%d", check->remarks[i].line);
        printf("  %s%s: %s\n", grade->file, line, check->remarks[i].text);
    }
    if (*text)
        printf("  %s: %s\n", grade->file, text);
    if (grade->is_dangerous)
        printf("  It was not run here: it %s.\n",
               check->is_endless ? "might not end" : "could write over memory that is not its own");
    fputc('\n', stdout);
}

/* What the checker looked for and did not find, or why it did not look. */
static void print_check(const lab_check *check)
{
    if (!check->ran && *check->why_not)
        printf("\nRaces were not looked for: %s.\n", check->why_not);
    else if (check->count == 0)
        printf("\nOclgrind found no race and no access outside the matrices%s.\n",
               check->is_partial ? "; reads of what was never written it could not look for"
                                 : ", and no read of what was never written");
}

/* Findings first: the table below them counts. */
static void print_text(const session_t *session)
{
    printf("%s: %s (%s)\n\n", session->device.name, session->device.title, session->device.platform);
    for (int i = 0; i < session->grade_count; i++)
        print_findings(session, &session->grades[i]);
    print_failures(session);
    print_table(session);
    for (int i = 0; i < session->grade_count; i++)
        print_check(&session->grades[i].check);
}

static void describe_device(session_t *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    snprintf(session->device.name, sizeof session->device.name, "%s", device->name);
    snprintf(session->device.title, sizeof session->device.title, "%s", device->title);
    snprintf(session->device.platform, sizeof session->device.platform, "%s", device->platform);
    session->device.is_simulator = strcmp(device->platform, "Oclgrind") == 0;
    if (session->device.is_simulator && !session->options->time_limit)
        session->time_limit = SIMULATOR_FACTOR * TIME_LIMIT;
}

/* All that needs a device. */
static int run_session(void *opaque)
{
    session_t *session = opaque;
    int code = lab_target_open(session->options, session->kernels, &session->target);
    if (code == LAB_GOOD) {
        describe_device(session);
        code = add_contenders(session);
    }
    if (code == LAB_GOOD)
        code = run_all(session);
    lab_target_close(&session->target);
    return code;
}

/* Counts the problem that ended the child as a failure. */
static void note_ending(session_t *session, const lab_supervised *child)
{
    const position_t *running = &session->running;
    contender_t *contender = &session->contenders[running->contender];
    failure_t failure = {.contender = running->contender,
                         .problem = running->problem,
                         .is_confirmed = true,
                         .timed_out = child->ending == LAB_ENDED_TIMED_OUT};
    char where[256], name[sizeof contender->name];
    snprintf(name, sizeof name, "%s", contender->name);
    snprintf(where, sizeof where, "m = %lld, n = %lld, k = %lld (problem %lld of %lld)", (long long)running->problem.m,
             (long long)running->problem.n, (long long)running->problem.k, (long long)running->number + 1,
             (long long)running->count);
    if (failure.timed_out)
        snprintf(failure.message, sizeof failure.message,
                 "%s did not finish within %g s on %s; check that each of its loops ends (--time-limit SECONDS "
                 "allows more time)",
                 name, session->time_limit, where);
    else
        snprintf(failure.message, sizeof failure.message,
                 "%s crashed (signal %d, %s) on %s; check that each access is inside its matrix", name, child->code,
                 strsignal(child->code), where);
    snprintf(failure.replay, sizeof failure.replay, "%.*s", (int)sizeof failure.replay - 1, child->step);
    insert_failure(session, &failure);
    contender->cases++;
    contender->wrong++;
}

/* Adds a crash outside of a problem, for example at the end of the process, to the failures. All counts stay. */
static void note_late_crash(session_t *session, const lab_supervised *child)
{
    failure_t failure = {.is_confirmed = true};
    for (int i = 0; i < session->contender_count; i++)
        if (session->contenders[i].cases > 0)
            failure.contender = i;
    snprintf(
        failure.message, sizeof failure.message,
        "the process that runs the kernels crashed (signal %d, %s) after problem %lld; check that each kernel writes "
        "inside its matrices only",
        child->code, strsignal(child->code), (long long)total_of(session).cases);
    insert_failure(session, &failure);
    session->is_complete = false;
}

/* Runs the session here, or in a child process where a file could contain an endless loop. */
static int run_safely(session_t *session)
{
    if (!lab_names_file(session->kernels))
        return run_session(session);
    lab_progress_begin(session->options->quiet);
    lab_supervised child = lab_supervise(run_session, session, &session->time_limit);
    lab_progress_end();
    switch (child.ending) {
    case LAB_ENDED_ITSELF: return child.code;
    case LAB_ENDED_STOPPED: return LAB_GOOD;
    case LAB_ENDED_NEVER_BEGAN: break;
    case LAB_ENDED_TIMED_OUT:
    case LAB_ENDED_CRASHED:
        if (*child.step) {
            note_ending(session, &child);
            return LAB_GOOD;
        }
        if (total_of(session).cases > 0) {
            note_late_crash(session, &child);
            return LAB_GOOD;
        }
    }
    fprintf(stderr, "rung: the process that runs the kernels %s\n",
            child.ending == LAB_ENDED_NEVER_BEGAN ? "could not be started; end other processes, or raise ulimit -u"
                                                  : "crashed before it ran a kernel; is the driver broken?");
    return LAB_WRONG;
}

static int verify(session_t *session)
{
    int code = read_options(session);
    if (code == LAB_GOOD)
        code = run_safely(session);
    if (code != LAB_GOOD)
        return code;
    if (session->options->json)
        print_json(session);
    else
        print_text(session);
    if (!session->is_complete && lab_interrupted()) {
        lab_interrupt_tell("these are the cases so far; run it again for all of them");
        return LAB_INTERRUPTED;
    }
    contender_t total = total_of(session);
    if (total.wrong > 0 || session->failure_count > 0 || remark_count(session) > 0)
        return LAB_WRONG;
    return total.skipped == total.cases ? LAB_NOTHING : LAB_GOOD;
}

int lab_command_verify(const lab_options *options)
{
    session_t *session = lab_shared_allocate(sizeof *session);
    if (!session)
        return LAB_NOTHING;
    session->options = options;
    session->kernels = options->argument ? options->argument : options->kernels;
    int code = verify(session);
    lab_shared_free(session, sizeof *session);
    return code;
}
