/* SPDX-License-Identifier: Apache-2.0 */
/* command_bench.c - rung bench: how fast kernels are, beside each other.
 *
 * For each problem every contender is verified exactly, then all take turns, a
 * sample each, until each knows its median well or has spent its time: what disturbs
 * the machine disturbs them alike. A time of a wrong result is never printed. */
#define _GNU_SOURCE /* strsignal */
#include "baseline.h"
#include "bench.h"
#include "bench_runs.h"
#include "interrupt.h"
#include "launch.h"
#include "measure.h"
#include "progress.h"
#include "supervise.h"
#include "target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROBLEMS_MAX = 256, CONTENDERS_MAX = 128, THREADS_MAX = 256, TIME_LIMIT = 600 };

/* So many rounds at least, if there is time, where two executables take turns: a difference is told by
 * the number of pairs. */
enum { PAIRED_ROUNDS = 30 };

/* What a contender took before, to tell beforehand what it will take. */
typedef struct experience {
    const rung_kernel *kernel;
    char asked[LAB_PARAMETERS_TEXT];
    lab_product product;
    rung_compute compute;
    bool is_packed;
    double ns_per_step; /* of m n k */
} experience_t;

typedef struct session {
    const lab_options *options;
    lab_target target;
    bool is_cpu;
    const char *kernel_list;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    int dtype_count;
    int64_t splits, carveout, threads;
    lab_machine machine; /* that --arch or --machine asks about */
    int64_t budget_ns;
    lab_shape problems[PROBLEMS_MAX];
    int problem_count;
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    int kernel_count;
    experience_t known[CONTENDERS_MAX * 2];
    int known_count;
    lab_contender *contenders;
    int contender_count;
    int64_t rounds;                     /* turns of all contenders that this problem has seen */
    lab_call calls[CONTENDERS_MAX];     /* of those that are rung_gemm */
    double best_probe[LAB_PROBE_COUNT]; /* that was ever seen */
    int row_capacity;
    lab_turns turns; /* with another executable */
    lab_bench found;
    bool any_wrong, any_right;
    lab_caller caller; /* of rung_gemm, where it is among the kernels */
    lab_json trace;    /* its file is NULL without --trace */
    int64_t traced;    /* problems */
    int done;          /* of all problems of all types, for the progress */
    bool is_unsaved;   /* --output could not be written */
} session_t;

static int usage(const char *message)
{
    return lab_usage("bench", message);
}

/* What a contender is called, and its number; rung_gemm has none. */
static const char *name_of(const lab_contender *contender)
{
    return contender->kernel ? rung_kernel_describe(contender->kernel)->name : "rung_gemm";
}

/* ---- What to run -------------------------------------------------------------------------------- */

static bool add_problem(session_t *session, int64_t m, int64_t n, int64_t k)
{
    if (session->problem_count == PROBLEMS_MAX)
        return false;
    session->problems[session->problem_count++] = (lab_shape){m, n, k};
    return true;
}

/* The documents' short form: from 128, doubling, up to the largest. */
static bool add_doubling(session_t *session, const char *largest)
{
    int64_t end;
    if (!lab_read_integer(largest, &end) || end < 1 || end > 1 << 20)
        return false;
    for (int64_t size = end < 128 ? end : 128; size <= end; size *= 2)
        if (!add_problem(session, size, size, size))
            return false;
    return true;
}

/* Every combination of the given sizes; n and k are m where they are not given. */
static bool add_ranges(session_t *session)
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

static bool add_shapes(session_t *session, const char *text)
{
    lab_shape shapes[LAB_SWEEP_MAX];
    int count = lab_sweep_shapes(text, shapes);
    for (int i = 0; i < count; i++)
        if (!add_problem(session, shapes[i].m, shapes[i].n, shapes[i].k))
            return false;
    return count > 0;
}

/* What the matrices are, and whether they are in the caches. */
static int read_inputs(session_t *session)
{
    const lab_options *options = session->options;
    lab_bench *found = &session->found;
    found->inputs = options->inputs ? lab_inputs_of(options->inputs) : LAB_INPUTS_WHOLE;
    found->is_cold = options->cache && strcmp(options->cache, "cold") == 0;
    found->seed = (int64_t)(time(NULL) & 0x7fffffff);
    if (options->cache && !found->is_cold && strcmp(options->cache, "hot") != 0)
        return usage("--cache is hot or cold");
    if (found->inputs == LAB_INPUTS_COUNT)
        return usage("--inputs is whole or normal");
    if (options->seed && (!lab_read_integer(options->seed, &found->seed) || found->seed < 0))
        return usage("--seed is a whole number");
    if (options->seed && found->inputs == LAB_INPUTS_WHOLE)
        return usage("--seed is for --inputs normal; whole numbers are always the same");
    if (found->is_cold && options->calls)
        return usage("--calls are timed with --cache hot");
    return LAB_GOOD;
}

static int read_options(session_t *session)
{
    const lab_options *options = session->options;
    double budget = 2;
    bool good;
    session->found.batch = 1;
    rung_compute compute;
    const char *wrong = lab_read_dtypes(options, &compute, session->dtypes, &session->dtype_count);
    if (!wrong)
        wrong = lab_read_machine(options, &session->machine);
    if (wrong)
        return usage(wrong);
    if (!lab_read_epilogue(options->epilogue, &session->found.epilogue))
        return usage("--epilogue is a list of bias_row, bias_col or bias; relu, gelu, gelu_tanh or silu; and residual");
    if ((options->batch && (!lab_read_integer(options->batch, &session->found.batch) || session->found.batch < 1 ||
                            session->found.batch > 1 << 30)) ||
        (options->splits && (!lab_read_integer(options->splits, &session->splits) || session->splits < 0)))
        return usage("--batch is a number from 1 on, --splits a whole number");
    if (options->carveout &&
        (!lab_read_integer(options->carveout, &session->carveout) || session->carveout < 0 || session->carveout > 100))
        return usage("--carveout is a per cent, 1 to 100, or 0 for the driver's choice");
    if (options->threads && (!lab_read_integer(options->threads, &session->threads) || session->threads < 1 ||
                             session->threads > THREADS_MAX))
        return usage("--threads is a number from 1 to 256");
    if (options->budget && (!lab_read_number(options->budget, &budget) || !(budget > 0 && budget <= 1e6)))
        return usage("--budget is the number of seconds per kernel and size: more than 0, at most 1000000");
    session->budget_ns = (int64_t)(budget * 1e9);
    if ((options->argument2 != NULL) + (options->m != NULL) + (options->sizes != NULL) > 1)
        return usage("give the sizes once: by --sizes, by --m, --n and --k, or shortly by KERNEL LARGEST");
    if (options->argument && options->kernels)
        return usage("give the kernels once: by --kernels, or shortly by KERNEL");
    if (options->argument2)
        good = add_doubling(session, options->argument2);
    else if (options->m)
        good = add_ranges(session);
    else
        good = !options->n && !options->k && add_shapes(session, options->sizes ? options->sizes : "256,512,1024");
    if (!good)
        return usage("sizes are given like --sizes 256,512,1x4096x512 or --m 128:1024:128 --n 64, or shortly: "
                     "rung bench KERNEL LARGEST");
    session->kernel_list = options->argument ? options->argument : options->kernels;
    return read_inputs(session);
}

/* The vendor's library is always there to be held against, unless a list leaves it
 * out on purpose. */
static void add_vendor(session_t *session)
{
    rung_kernel *vendor;
    if (!session->options->argument ||
        rung_kernel_find(session->target.context, session->found.device->backend, "00", &vendor) != RUNG_OK ||
        session->kernel_count == LAB_KERNELS_MAX)
        return;
    memmove(session->kernels + 1, session->kernels, (size_t)session->kernel_count * sizeof *session->kernels);
    session->kernels[0] = vendor;
    session->kernel_count++;
}

/* Checks --params against the kernels that will be timed. */
static int check_parameters(session_t *session)
{
    const rung_kernel *timed[LAB_KERNELS_MAX];
    char why[2048];
    int count = 0;
    for (int i = 0; i < session->kernel_count; i++)
        if (!session->kernels[i] || session->kernel_list || !lab_is_emulated(session->kernels[i]))
            timed[count++] = session->kernels[i];
    return lab_sweep_check(timed, count, session->options->params, why, sizeof why) ? LAB_GOOD : usage(why);
}

static int find_kernels(session_t *session)
{
    const lab_options *options = session->options;
    int code = lab_target_kernels(&session->target, session->kernel_list, session->kernels, &session->kernel_count);
    if (code != LAB_GOOD)
        return code;
    code = check_parameters(session);
    if (code != LAB_GOOD)
        return code;
    add_vendor(session);
    if ((options->peers || options->threads) && !session->is_cpu)
        return usage("--peers and --threads are the CPU's: say --device cpu");
    if (options->packed && !session->is_cpu)
        return usage("only the CPU packs B: give --device cpu with --packed");
    if (options->packed && (options->cache || options->inputs || options->calls || options->batch))
        return usage("--packed times one B that is packed once; leave out --cache, --inputs, --calls and --batch");
    const char *wrong = options->peers ? lab_peers_add(session->target.context, options->peers, session->kernels,
                                                       LAB_KERNELS_MAX, &session->kernel_count)
                                       : NULL;
    for (int i = 0; !wrong && i < session->kernel_count; i++)
        if (!session->kernels[i] && options->threads)
            wrong = "--threads is for kernels; rung_gemm has those of its context";
    for (int i = 0; !wrong && i < session->kernel_count; i++)
        if (!session->kernels[i] && session->found.is_cold)
            wrong = "--cache cold is for kernels; rung_gemm copies its matrices itself";
    if (wrong)
        return usage(wrong);
    if (session->is_cpu)
        lab_peers_prepare(session->kernels, session->kernel_count, session->threads, &session->found.settings);
    return LAB_GOOD;
}

/* ---- The contenders of one problem -------------------------------------------------------------- */

/* False if there are too many. */
static bool add_contender(session_t *session, const rung_kernel *kernel, const char *asked, bool is_packed)
{
    if (session->contender_count == CONTENDERS_MAX)
        return false;
    lab_contender *added = &session->contenders[session->contender_count++];
    memset(added, 0, sizeof *added);
    added->kernel = kernel;
    added->is_packed = is_packed;
    snprintf(added->asked, sizeof added->asked, "%s", asked);
    return true;
}

static int refuse_contenders(void)
{
    char text[128];
    snprintf(text, sizeof text, "kernels and parameters come to more than %d rows per problem; name fewer",
             CONTENDERS_MAX);
    return usage(text);
}

static int gather_contenders(session_t *session, const lab_dtype *dtype)
{
    static char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_TEXT];
    session->contender_count = 0;
    for (int i = 0; i < session->kernel_count; i++) {
        const rung_kernel *kernel = session->kernels[i];
        if (!kernel) {
            if (!add_contender(session, NULL, "", false))
                return refuse_contenders();
            continue;
        }
        if (lab_is_emulated(kernel) && session->kernel_list)
            return usage("a kernel for matrix engines multiplies in software on this device, which would say "
                         "nothing of its speed; rung verify runs it");
        if (lab_is_emulated(kernel) || !lab_takes(kernel, dtype))
            continue;
        int count = lab_sweep_parameters(kernel, session->options->params, texts);
        if (count < 0)
            return usage(
                "--params is like TILE=16,32,UNROLL=4, or a preset's name: at most 64 combinations, of at most "
                "687 bytes each");
        if (count == 0)
            return usage(rung_error_text());
        bool packs = session->options->packed && rung_kernel_describe(kernel)->abilities & RUNG_ABILITY_PACKED_B;
        for (int j = 0; j < count; j++)
            if (!add_contender(session, kernel, texts[j], false) ||
                (packs && !add_contender(session, kernel, texts[j], true)))
                return refuse_contenders();
    }
    return LAB_GOOD;
}

/* Multiply-adds. */
static double steps_of(const lab_problem *problem)
{
    return (double)problem->m * (double)problem->n * (double)problem->k * (double)problem->batch;
}

static experience_t *experience_of(session_t *session, const lab_contender *contender, const lab_problem *problem)
{
    for (int i = 0; i < session->known_count; i++) {
        experience_t *known = &session->known[i];
        if (known->kernel == contender->kernel && lab_product_equal(known->product, problem->product) &&
            known->compute == problem->compute && known->is_packed == contender->is_packed &&
            strcmp(known->asked, contender->asked) == 0)
            return known;
    }
    return NULL;
}

static void remember(session_t *session, const lab_contender *contender, const lab_problem *problem,
                     int64_t nanoseconds)
{
    experience_t *known = experience_of(session, contender, problem);
    if (!known && session->known_count < CONTENDERS_MAX * 2) {
        known = &session->known[session->known_count++];
        known->ns_per_step = 0;
        known->kernel = contender->kernel;
        known->product = problem->product;
        known->compute = problem->compute;
        known->is_packed = contender->is_packed;
        snprintf(known->asked, sizeof known->asked, "%s", contender->asked);
    }
    double ns_per_step = (double)nanoseconds / steps_of(problem);
    if (known && (known->ns_per_step == 0 || ns_per_step < known->ns_per_step))
        known->ns_per_step = ns_per_step;
}

/* True if one run would take more than all the time there is for it, were it as fast as it ever was. */
static bool is_too_slow(session_t *session, lab_contender *contender, const lab_problem *problem)
{
    const experience_t *known = experience_of(session, contender, problem);
    if (!known)
        return false;
    double expected = known->ns_per_step * steps_of(problem);
    if (expected <= (double)session->budget_ns)
        return false;
    lab_contender_drop(contender, LAB_ROW_SKIPPED,
                       "skipped: one run would take about %.0f s; give it time with "
                       "--budget",
                       expected * 1e-9);
    return true;
}

/* ---- Running --------------------------------------------------------------------------------------- */

/* How much of the problem under way is done, 0 to 1, by the time that its contenders have: each has as
 * much for its samples, and verifying counts for a tenth of that. */
static double part_done(const session_t *session)
{
    double parts = 0;
    for (int i = 0; i < session->contender_count; i++) {
        const lab_contender *contender = &session->contenders[i];
        double spent = (double)contender->spent_ns / (double)session->budget_ns;
        parts += contender->verified ? 0.1 + 0.9 * (spent < 1 ? spent : 1) : contender->state != LAB_ROW_PENDING;
    }
    return session->contender_count > 0 ? parts / session->contender_count : 0;
}

static void show_progress(const session_t *session, const lab_problem *problem, const char *what,
                          const lab_contender *contender)
{
    char text[256];
    snprintf(text, sizeof text, "%lldx%lldx%lld %s, %s %s", (long long)problem->m, (long long)problem->n,
             (long long)problem->k, lab_product_name(problem->product), what, contender ? name_of(contender) : "");
    lab_progress_show(&(lab_progress){.what = text,
                                      .done = session->done + part_done(session),
                                      .count = session->problem_count * session->dtype_count,
                                      .units = "problems"});
}

/* Tells the supervisor which kernel file runs; rung's own kernels end. */
static void begin_step(const lab_problem *problem, const char *what, const lab_contender *contender)
{
    char text[512];
    if (!contender->kernel || rung_kernel_describe(contender->kernel)->number != -1)
        return;
    snprintf(text, sizeof text, "%s %s, %lld x %lld x %lld, %s", what, name_of(contender), (long long)problem->m,
             (long long)problem->n, (long long)problem->k, lab_product_name(problem->product));
    lab_step_begin(text);
}

static void verify_all(session_t *session, const lab_problem *problem)
{
    for (int i = 0; i < session->contender_count && !lab_interrupted(); i++) {
        lab_contender *contender = &session->contenders[i];
        show_progress(session, problem, "verifying", contender);
        if (is_too_slow(session, contender, problem))
            continue;
        begin_step(problem, "verifying", contender);
        lab_contender_verify(problem, contender);
        lab_step_end();
        if (contender->verified)
            remember(session, contender, problem, contender->first_ns);
        else if (contender->state == LAB_ROW_WRONG)
            session->any_wrong = true;
    }
}

/* The best that was seen of a probe whose speed has modes, else 0. */
static double best_of(const session_t *session, const lab_problem *problem)
{
    return lab_probe_has_modes(problem->probe) ? session->best_probe[problem->probe] : 0;
}

static void note_probe(session_t *session, const lab_problem *problem, const lab_samples *taken)
{
    double *best = &session->best_probe[problem->probe];
    double last = taken->before[taken->count - 1], next = taken->after[taken->count - 1];
    *best = last > *best ? last : *best;
    *best = next > *best ? next : *best;
}

static bool wants_more(const session_t *session, const lab_problem *problem, const lab_contender *contender)
{
    bool wants_pairs = session->turns.role != LAB_ALONE && contender->taken.count < PAIRED_ROUNDS &&
                       contender->spent_ns < session->budget_ns;
    return contender->verified &&
           (wants_pairs || lab_contender_wants_more(contender, best_of(session, problem), session->budget_ns));
}

static bool anybody_wants_more(const session_t *session, const lab_problem *problem)
{
    for (int i = 0; i < session->contender_count; i++)
        if (wants_more(session, problem, &session->contenders[i]))
            return true;
    return false;
}

static void take_sample(session_t *session, const lab_problem *problem, lab_contender *contender)
{
    int64_t *count = &contender->taken.count;
    show_progress(session, problem, "sampling", contender);
    begin_step(problem, "timing", contender);
    rung_status status = lab_contender_sample(problem, contender);
    lab_step_end();
    if (status != RUNG_OK) {
        lab_contender_drop(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
        return;
    }
    note_probe(session, problem, &contender->taken);
    if (*count % (1 + *count / 20) == 0) /* sorting takes time, too */
        lab_contender_summarise(contender, best_of(session, problem));
}

/* A turn of all; another begins each second time. On a processor, whose mood changes from one second to the
 * next, those who are sure go on with the others as long as they have time: so all have seen
 * the same. */
static void sample_round(session_t *session, const lab_problem *problem)
{
    for (int i = 0; i < session->contender_count && !lab_interrupted(); i++) {
        lab_contender *contender = &session->contenders[(session->rounds / 2 + i) % session->contender_count];
        bool goes_on = session->is_cpu || session->turns.role != LAB_ALONE;
        bool has_time = goes_on && contender->verified && contender->spent_ns < session->budget_ns &&
                        contender->taken.count < LAB_SAMPLES_MAX;
        contender->taken.round = session->rounds;
        if (has_time || wants_more(session, problem, contender))
            take_sample(session, problem, contender);
    }
    session->rounds++;
}

/* As the parent says, a round at a time. */
static void sample_when_asked(session_t *session, const lab_problem *problem)
{
    char word[64];
    lab_turns_answer(&session->turns, "ready", anybody_wants_more(session, problem));
    for (;;) {
        lab_turns_hear(&session->turns, word, sizeof word);
        if (strcmp(word, "round") != 0)
            break;
        sample_round(session, problem);
        lab_turns_answer(&session->turns, "done", anybody_wants_more(session, problem));
    }
    session->turns.failed = session->turns.failed || strcmp(word, "end") != 0;
}

/* Whoever comes behind itself finds its matrices in the caches. So the order is such that each comes behind each, here and
 * there alike: the two change places with every round, once more when each contender has begun in both. */
static bool is_other_first(const session_t *session)
{
    int64_t rounds = session->rounds, count = session->contender_count > 0 ? session->contender_count : 1;
    return (rounds + rounds / (2 * count)) % 2 == 1;
}

/* As long as anybody wants more, here or there. */
static void sample_in_turn(session_t *session, const lab_problem *problem)
{
    lab_turns *turns = &session->turns;
    bool good = lab_turns_ask(turns, "problem", "ready");
    while (good && !lab_interrupted() && (turns->wants || anybody_wants_more(session, problem))) {
        bool other_first = is_other_first(session);
        if (other_first)
            good = lab_turns_ask(turns, "round", "done");
        sample_round(session, problem);
        if (!other_first)
            good = lab_turns_ask(turns, "round", "done");
    }
    if (good)
        lab_turns_ask(turns, "end", "ended");
    if (turns->failed && !lab_interrupted()) {
        lab_progress_break();
        fprintf(stderr, "rung: %s; the rest is measured without it\n", turns->why);
    }
}

/* As long as anybody wants more. Who has lost the other goes on alone. */
static void sample_all(session_t *session, const lab_problem *problem)
{
    if (session->turns.role == LAB_CHILD)
        sample_when_asked(session, problem);
    else if (session->turns.role == LAB_PARENT && !session->turns.failed)
        sample_in_turn(session, problem);
    bool is_alone = session->turns.role == LAB_ALONE || (session->turns.role == LAB_PARENT && session->turns.failed);
    while (is_alone && !lab_interrupted() && anybody_wants_more(session, problem))
        sample_round(session, problem);
}

static void give_up(session_t *session, const char *why)
{
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        if (contender->verified)
            lab_contender_drop(contender, LAB_ROW_REFUSED, "%s", why);
    }
}

/* Verified on whole numbers, timed on what was asked for. */
static void change_inputs(session_t *session, const lab_problem *problem, lab_inputs inputs)
{
    show_progress(session, problem, "filling", NULL);
    if (session->found.inputs != LAB_INPUTS_WHOLE &&
        lab_problem_fill(problem, inputs, (uint64_t)session->found.seed) != RUNG_OK)
        give_up(session, rung_error_text());
}

/* What was timed on copies was not what was verified. */
static void judge_copies(session_t *session, const lab_problem *problem)
{
    if (!problem->sets)
        return;
    change_inputs(session, problem, LAB_INPUTS_WHOLE);
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        show_progress(session, problem, "verifying", contender);
        if (contender->verified) {
            lab_contender_judge_sets(problem, contender);
            session->any_wrong = session->any_wrong || contender->state == LAB_ROW_WRONG;
        }
    }
}

/* After an interruption: who would have needed more samples and has too few of them has no time. */
static void drop_unfinished(session_t *session, const lab_problem *problem)
{
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        bool is_verified = contender->verified;
        if (contender->state != LAB_ROW_PENDING &&
            !(is_verified && contender->taken.count < LAB_SAMPLES_MIN && wants_more(session, problem, contender)))
            continue;
        lab_contender_drop(contender, LAB_ROW_INTERRUPTED, "interrupted");
        contender->taken.count = 0;
        contender->samples = contender->median_ns = contender->min_ns = contender->ci95_ns = 0;
    }
}

static void fill_row(const session_t *session, const lab_problem *problem, const lab_contender *contender, lab_row *row)
{
    const rung_kernel_info *info = contender->kernel ? rung_kernel_describe(contender->kernel) : NULL;
    *row = (lab_row){
        .product = problem->product,
        .size = {problem->m, problem->n, problem->k},
        .is_vendor = info && info->number == 0,
        .is_peer = info && lab_peer_of(contender->kernel),
        .is_call = !info,
        .is_packed = contender->is_packed,
        .verified = contender->verified,
        .state = contender->state,
        .median_ns = contender->median_ns,
        .min_ns = contender->min_ns,
        .ci95_ns = contender->ci95_ns,
        .samples = contender->samples,
        .h2d_ns = problem->h2d_ns,
        .d2h_ns = problem->d2h_ns,
        .splits = contender->splits,
        .asked = problem->compute,
        .compute = contender->compute,
        .sets = problem->sets ? problem->sets->count : 1,
        .cold_bytes = problem->sets ? problem->sets->bytes : 0,
        .worst_ns = contender->worst_ns,
        .outliers = contender->outliers,
        .batch_wall_ns = contender->batch_wall_ns,
        .calls_wall_ns = contender->calls_wall_ns,
        .gflops = lab_gflops(problem, contender->median_ns),
        .clock = problem->clock,
        .threads = contender->threads,
        .repeats = contender->repeats,
        .probe = problem->probe,
        .probe_gflops = lab_samples_probe(&contender->taken, contender->mode, best_of(session, problem)),
        .mode = contender->mode,
        .fast = contender->fast,
        .slow = contender->slow,
        .roof_gflops = lab_probe_is_roof(problem->probe, problem->product) ? session->best_probe[problem->probe] : 0,
    };
    lab_samples_series(&contender->taken, contender->mode, best_of(session, problem), &row->series);
    row->origin = contender->origin;
    snprintf(row->origin_text, sizeof row->origin_text, "%s", contender->origin_text);
    snprintf(row->kernel, sizeof row->kernel, "%s%s", name_of(contender), contender->is_packed ? ":packed" : "");
    snprintf(row->params, sizeof row->params, "%s", contender->parameters);
    snprintf(row->why_not, sizeof row->why_not, "%s", contender->why_not);
    snprintf(row->library, sizeof row->library, "%s", contender->library);
    snprintf(row->doubt, sizeof row->doubt, "%s", contender->doubt);
    if (row->verified && info && info->number != 0)
        snprintf(row->asked_as, sizeof row->asked_as, "%s", info->number < 0 ? info->file : info->name);
}

/* Where only few probes ran, all of them may have been disturbed: before a row is refused, they get the
 * chance to do better. */
static void raise_roof(session_t *session, const lab_problem *problem, lab_row *rows, int count)
{
    enum { MORE = 200 };
    double *best = &session->best_probe[problem->probe];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < MORE && lab_row_is_beyond(&rows[i]); j++) {
            double more = lab_probe_run(problem->probe, (int)problem->probe_threads);
            *best = more > *best ? more : *best;
            rows[i].roof_gflops = *best;
        }
}

/* Makes room for the rows of one more problem. */
static bool reserve_rows(session_t *session)
{
    lab_bench *found = &session->found;
    int wanted = found->row_count + session->contender_count;
    if (found->rows && wanted <= session->row_capacity)
        return true;
    lab_row *larger = realloc(found->rows, ((size_t)wanted * 2 + 1) * sizeof *larger);
    if (!larger)
        return false;
    found->rows = larger;
    session->row_capacity = wanted * 2 + 1;
    return true;
}

/* Modes are told apart by the best probe there was, which may have come last. */
static void add_rows(session_t *session, const lab_problem *problem)
{
    lab_row *rows = session->found.rows + session->found.row_count;
    int count = 0;
    for (int i = 0; i < session->contender_count; i++) {
        lab_contender *contender = &session->contenders[i];
        if (contender->taken.count > 0) {
            lab_contender_summarise(contender, best_of(session, problem));
            remember(session, contender, problem, contender->median_ns);
        }
        fill_row(session, problem, contender, &rows[count]);
        rows[count].call = session->calls[i];
        session->any_right = session->any_right || contender->verified;
        session->found.row_count++;
        count++;
    }
    raise_roof(session, problem, rows, count);
    lab_rows_compare(rows, count);
    for (int i = 0; i < count; i++)
        session->any_wrong = session->any_wrong || rows[i].is_beyond;
}

/* The batch as one piece of work and as many. */
static void time_calls(session_t *session, const lab_problem *problem)
{
    for (int i = 0; session->options->calls && i < session->contender_count && !lab_interrupted(); i++) {
        lab_contender *contender = &session->contenders[i];
        if (!contender->kernel)
            continue;
        show_progress(session, problem, "timing calls of", contender);
        if (contender->verified && lab_contender_time_calls(problem, contender) != RUNG_OK)
            lab_contender_drop(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
    }
}

static void trace_call(session_t *session, const lab_problem *problem, const lab_call *call)
{
    char title[128];
    if (!session->trace.out)
        return;
    snprintf(title, sizeof title, "%s %lld x %lld x %lld", lab_product_name(problem->product), (long long)problem->m,
             (long long)problem->n, (long long)problem->k);
    lab_call_trace(&session->trace, ++session->traced, title, call);
}

/* What the calls of rung_gemm consist of. */
static void take_apart(session_t *session, const lab_problem *problem)
{
    rung_problem multiply = lab_problem_multiply(problem, false);
    for (int i = 0; i < session->contender_count && !lab_interrupted(); i++) {
        lab_contender *contender = &session->contenders[i];
        lab_call *call = &session->calls[i];
        if (contender->kernel || !contender->verified)
            continue;
        show_progress(session, problem, "taking apart", contender);
        if (lab_call_run(&session->caller, &multiply, call) == RUNG_OK) {
            trace_call(session, problem, call);
        } else {
            lab_contender_drop(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
        }
        lab_call_free(call);
    }
}

/* On the CPU one thread is timed by what it has of the processor, several by the wall. */
static void choose_clock(const session_t *session, lab_problem *problem)
{
    if (!session->is_cpu)
        return;
    problem->clock = session->threads == 1 ? LAB_CLOCK_CPU : LAB_CLOCK_WALL;
    problem->probe = lab_probe_of(problem->product, problem->compute);
    problem->threads = session->threads;
    problem->probe_threads = session->threads > 0 ? session->threads : session->found.device->compute_units;
    bool is_alone = session->contender_count == 1 && session->turns.role == LAB_ALONE;
    problem->rest_ns = problem->probe_threads > 1 && !is_alone ? lab_peers_rest() : 0;
}

/* Memory may not do for as many copies as there should be. */
static void tell_of_sets(const lab_problem *problem)
{
    const lab_sets *sets = problem->sets;
    if (sets && sets->bytes < sets->wanted)
        fprintf(stderr,
                "rung: warning: %lld copies of A, B and C are %lld MiB, less than twice the last cache, %lld "
                "MiB: memory has no room for more, and they may not be cold\n",
                (long long)sets->count, (long long)(sets->bytes >> 20), (long long)(sets->wanted >> 20));
}

static int run_problem(session_t *session, lab_shape size, const lab_dtype *dtype)
{
    memset(session->calls, 0, sizeof session->calls);
    session->rounds = 0;
    lab_problem problem = {.context = session->target.context,
                           .device = session->target.device,
                           .queue = session->target.queue,
                           .product = dtype->product,
                           .compute = dtype->compute,
                           .m = size.m,
                           .n = size.n,
                           .k = size.k,
                           .batch = session->found.batch,
                           .splits = session->splits,
                           .carveout = session->carveout,
                           .is_cold = session->found.is_cold,
                           .epilogue = session->found.epilogue};
    int code = gather_contenders(session, dtype);
    if (code != LAB_GOOD)
        return code;
    if (!reserve_rows(session)) {
        fprintf(stderr, "rung: out of memory\n");
        return LAB_USAGE;
    }
    choose_clock(session, &problem);
    if (session->turns.role == LAB_CHILD && !lab_turns_wait(&session->turns, "problem"))
        return LAB_USAGE;
    if (lab_problem_create(&problem) == RUNG_OK) {
        tell_of_sets(&problem);
        verify_all(session, &problem);
        change_inputs(session, &problem, session->found.inputs);
        sample_all(session, &problem);
        if (lab_interrupted())
            drop_unfinished(session, &problem);
        judge_copies(session, &problem);
        time_calls(session, &problem);
        take_apart(session, &problem);
    } else {
        for (int i = 0; i < session->contender_count; i++)
            lab_contender_drop(&session->contenders[i], LAB_ROW_REFUSED, "%s", rung_error_text());
        sample_all(session, &problem); /* nobody wants any: but another may wait for an answer */
    }
    add_rows(session, &problem);
    for (int i = 0; i < session->contender_count; i++)
        lab_contender_finish(&session->contenders[i]);
    lab_problem_destroy(&problem);
    if (session->turns.role == LAB_CHILD)
        lab_turns_answer(&session->turns, "ended", false);
    return session->turns.role == LAB_CHILD && session->turns.failed ? LAB_USAGE : LAB_GOOD;
}

/* On a device of its own a thread of this process waits for it, no more. */
static void judge_conditions(session_t *session)
{
    lab_bench *found = &session->found;
    int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t threads = !session->is_cpu ? 1 : session->threads > 0 ? session->threads : found->device->compute_units;
    found->after = lab_conditions_read(found->device);
    found->warnings = lab_conditions_judge(&found->before, &found->after, threads,
                                           processors > threads ? processors : threads);
    for (int i = 0; i < found->warnings.count; i++)
        fprintf(stderr, "rung: warning: %s\n", found->warnings.list[i]);
}

/* ---- What explain says of it, for another machine perhaps, and of one multiply alone -------------- */

static const lab_dtype *dtype_of(const session_t *session, const lab_row *row)
{
    for (int i = 0; i < session->dtype_count; i++)
        if (lab_product_equal(session->dtypes[i].product, row->product) && session->dtypes[i].compute == row->asked)
            return &session->dtypes[i];
    return &session->dtypes[0];
}

static void explain_row(const session_t *session, lab_row *row)
{
    lab_question question = {.kernel = row->asked_as,
                             .parameters = *row->params ? row->params : NULL,
                             .dtype = *dtype_of(session, row),
                             .m = row->size.m,
                             .n = row->size.n,
                             .k = row->size.k,
                             .machine = session->machine};
    char why[2048];
    row->explanation = calloc(1, sizeof *row->explanation);
    if (row->explanation && lab_explain(&question, row->explanation, why, sizeof why))
        return;
    lab_progress_break();
    fprintf(stderr, "rung: %s is not explained: %s\n", row->kernel, row->explanation ? why : "out of memory");
    free(row->explanation);
    row->explanation = NULL;
}

static void explain_rows(session_t *session, int first)
{
    bool asked = (session->options->arch || session->options->machine) && !session->is_cpu;
    for (int i = first; asked && !lab_interrupted() && i < session->found.row_count; i++)
        if (*session->found.rows[i].asked_as)
            explain_row(session, &session->found.rows[i]);
}

static void free_explanations(session_t *session)
{
    for (int i = 0; i < session->found.row_count; i++)
        if (session->found.rows[i].explanation) {
            lab_explanation_free(session->found.rows[i].explanation);
            free(session->found.rows[i].explanation);
        }
}

/* ---- All of it --------------------------------------------------------------------------------- */

/* One problem more is done: its rows, from `first` on, are told and kept. */
static void keep(session_t *session, int first)
{
    bool is_last = session->done + 1 == session->problem_count * session->dtype_count;
    explain_rows(session, first);
    session->found.complete = is_last && !lab_interrupted();
    lab_progress_break();
    if (lab_bench_has_tables(&session->found) && session->done == 0)
        lab_bench_print_head(&session->found);
    if (lab_bench_has_tables(&session->found))
        lab_bench_print_from(&session->found, first);
    session->is_unsaved = !lab_bench_save(&session->found) || session->is_unsaved;
}

static int run_all(session_t *session)
{
    int code = LAB_GOOD, count = session->problem_count * session->dtype_count;
    session->found.before = session->found.after = lab_conditions_read(session->found.device);
    lab_interrupt_watch();
    lab_progress_begin(session->options->quiet);
    for (; code == LAB_GOOD && session->done < count && !lab_interrupted(); session->done++) {
        int first = session->found.row_count;
        code = run_problem(session, session->problems[session->done % session->problem_count],
                           &session->dtypes[session->done / session->problem_count]);
        if (code == LAB_GOOD)
            keep(session, first);
    }
    lab_progress_end();
    if (code == LAB_GOOD) {
        judge_conditions(session);
        session->is_unsaved = !lab_bench_save(&session->found) || session->is_unsaved;
    }
    return code;
}

/* What only rung_gemm needs. */
static int open_caller(session_t *session)
{
    const char *file = session->options->trace;
    bool called = false;
    for (int i = 0; i < session->kernel_count; i++)
        called = called || !session->kernels[i];
    if (file && !called)
        return usage("--trace draws calls: say --kernels rung_gemm");
    if (called && lab_caller_open(session->found.device->name, &session->caller) != RUNG_OK) {
        fprintf(stderr, "rung: %s\n", rung_error_text());
        return LAB_NOTHING;
    }
    if (!file)
        return LAB_GOOD;
    session->trace.out = fopen(file, "we");
    if (!session->trace.out) {
        fprintf(stderr, "rung: %s cannot be written: %s; name a file in a folder of yours with --trace\n", file,
                strerror(errno));
        return LAB_USAGE;
    }
    lab_json_begin(&session->trace, NULL, '{');
    lab_json_begin(&session->trace, "traceEvents", '[');
    return LAB_GOOD;
}

/* Closes the trace; false if it could not be written. */
static bool close_trace(session_t *session)
{
    if (!session->trace.out)
        return true;
    lab_json_end(&session->trace, ']');
    lab_json_end(&session->trace, '}');
    bool good = !ferror(session->trace.out);
    good = fclose(session->trace.out) == 0 && good;
    session->trace.out = NULL;
    if (!good)
        fprintf(stderr, "rung: %s could not be written whole; is there room on its disk?\n", session->options->trace);
    return good;
}

/* What --baseline names, before anything is measured. */
static int open_baseline(session_t *session)
{
    const lab_options *options = session->options;
    bool is_executable = false;
    const char *wrong = options->baseline ? lab_baseline_look(options->baseline, &is_executable) : NULL;
    if (!wrong && options->baseline_json && !is_executable)
        wrong = "--baseline-json is for a --baseline that is an executable";
    if (wrong)
        return usage(wrong);
    if (is_executable && session->is_cpu && session->threads == 1)
        lab_turns_share_processor();
    if (is_executable && !lab_baseline_start(options, &session->found, &session->turns)) {
        fprintf(stderr, "rung: %s\n", session->turns.why);
        return lab_interrupted() ? LAB_INTERRUPTED : LAB_USAGE;
    }
    snprintf(session->found.pairing, sizeof session->found.pairing, "%s", session->turns.pairing);
    return LAB_GOOD;
}

static int outcome(session_t *session)
{
    int code = LAB_GOOD;
    if (!session->found.complete) {
        lab_interrupt_tell("this is what was measured so far; run it again for the rest");
        return LAB_INTERRUPTED;
    }
    if (session->turns.role == LAB_PARENT && session->turns.failed)
        code = LAB_USAGE;
    else if (session->options->baseline)
        code = lab_baseline_compare(session->options, &session->found, &session->turns);
    if (session->turns.failed && lab_interrupted()) {
        lab_interrupt_tell("this is what was measured; run it again to compare it");
        return LAB_INTERRUPTED;
    }
    if (session->any_wrong)
        return LAB_WRONG;
    if (session->is_unsaved)
        return LAB_USAGE;
    return session->any_right ? code : LAB_NOTHING;
}

static int bench(session_t *session)
{
    lab_turns_join(&session->turns); /* before anything that takes time */
    int code = read_options(session);
    if (code == LAB_GOOD)
        code = lab_bench_check_file(session->options);
    if (code == LAB_GOOD)
        code = lab_target_open(session->options, session->kernel_list, &session->target);
    if (code == LAB_GOOD) {
        session->found.device = rung_device_describe(session->target.device);
        session->is_cpu = strcmp(session->found.device->backend, "cpu") == 0;
        code = find_kernels(session);
    }
    if (code == LAB_GOOD)
        code = open_caller(session);
    if (code == LAB_GOOD)
        code = open_baseline(session);
    if (code == LAB_GOOD)
        code = run_all(session);
    if (!close_trace(session) && code == LAB_GOOD)
        code = LAB_USAGE;
    if (code != LAB_GOOD)
        return code;
    if (!lab_bench_has_tables(&session->found))
        lab_bench_print(&session->found, stdout);
    return outcome(session);
}

/* Returns the first given option that --cluster has no use for, NULL if there is none. */
static const char *useless_for_cluster(const lab_options *options)
{
    const struct {
        const char *name, *value;
    } list[] = {
        {"--kernels", options->kernels},
        {"--params", options->params},
        {"--batch", options->batch},
        {"--epilogue", options->epilogue},
        {"--splits", options->splits},
        {"--carveout", options->carveout},
        {"--seed", options->seed},
        {"--cache", options->cache},
        {"--inputs", options->inputs},
        {"--calls", options->calls},
        {"--peers", options->peers},
        {"--trace", options->trace},
        {"--baseline", options->baseline},
        {"--baseline-json", options->baseline_json},
        {"--arch", options->arch},
        {"--machine", options->machine},
        {"--runs", options->runs},
        {"--packed", options->packed},
        {"--time-limit", options->time_limit},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (list[i].value)
            return list[i].name;
    return NULL;
}

static int run_session(void *opaque)
{
    const lab_options *options = opaque;
    session_t *session = calloc(1, sizeof *session);
    int code = LAB_NOTHING;
    if (session) {
        session->options = session->found.options = options;
        session->contenders = calloc(CONTENDERS_MAX, sizeof *session->contenders);
        if (session->contenders)
            code = bench(session);
        fflush(stdout); /* a crash below must not lose the results */
        lab_turns_close(&session->turns);
        lab_caller_close(&session->caller);
        lab_target_close(&session->target);
        free_explanations(session);
        free(session->contenders);
        free(session->found.rows);
    }
    free(session);
    return code;
}

/* Runs the session in a child process, since a file could contain an endless loop. */
static int run_safely(const lab_options *options, double seconds)
{
    lab_progress_begin(options->quiet);
    lab_supervised child = lab_supervise(run_session, (void *)(uintptr_t)options, &seconds);
    lab_progress_end();
    switch (child.ending) {
    case LAB_ENDED_ITSELF: return child.code;
    case LAB_ENDED_STOPPED:
        lab_interrupt_tell("a kernel did not finish, and its times are lost; --output keeps those of earlier problems");
        return LAB_INTERRUPTED;
    case LAB_ENDED_TIMED_OUT:
        fprintf(stderr,
                "rung: %s: the kernel did not finish within %g s; check that each of its loops ends "
                "(--time-limit SECONDS allows more time)\n",
                child.step, seconds);
        return LAB_WRONG;
    case LAB_ENDED_CRASHED:
        if (*child.step)
            fprintf(stderr, "rung: %s: the kernel crashed (signal %d, %s); see: rung verify FILE\n", child.step,
                    child.code, strsignal(child.code));
        else if (child.steps > 0)
            fprintf(stderr,
                    "rung: the process that runs the kernels crashed (signal %d, %s) after step %lld; check the "
                    "kernel with: rung verify FILE\n",
                    child.code, strsignal(child.code), child.steps);
        else
            fprintf(stderr,
                    "rung: the process that runs the kernels crashed (signal %d, %s) before it ran a kernel; is the "
                    "driver broken?\n",
                    child.code, strsignal(child.code));
        return LAB_WRONG;
    case LAB_ENDED_NEVER_BEGAN: break;
    }
    fprintf(stderr, "rung: the process that runs the kernels could not be started; end other processes, or raise "
                    "ulimit -u\n");
    return LAB_NOTHING;
}

int lab_command_bench(const lab_options *options)
{
    double seconds;
    int64_t runs;
    const char *useless = options->cluster ? useless_for_cluster(options) : NULL;
    if (useless) {
        char message[64];
        snprintf(message, sizeof message, "%s cannot be combined with --cluster", useless);
        return usage(message);
    }
    if (options->cluster)
        return lab_cluster_launch(options);
    if (options->block || options->layout)
        return usage("--block and --layout are for --cluster");
    if (!lab_read_time_limit(options->time_limit, TIME_LIMIT, &seconds))
        return usage(LAB_TIME_LIMIT_WRONG);
    const char *wrong = lab_bench_count_runs(options, &runs);
    if (wrong)
        return usage(wrong);
    if (runs > 1)
        return lab_bench_run_many(options, runs);
    bool is_file = lab_names_file(options->argument ? options->argument : options->kernels);
    return is_file ? run_safely(options, seconds) : run_session((void *)(uintptr_t)options);
}
