/* SPDX-License-Identifier: Apache-2.0 */
/* command_explain.c - rung explain: why a kernel is as fast as it is, with no GPU. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "explain_show.h"
#include "file.h"
#include "interrupt.h"
#include "options.h"
#include "parameters.h"
#include "progress.h"
#include "supervise.h"
#include "sweep.h"
#include "table.h"

enum { JOBS_MAX = 256 };

/* A question, its answer, and what it is to be held against. */
typedef struct job {
    lab_question question;
    char named[64], params[RUNG_PARAMETERS_BYTES]; /* what a row of a table names */
    double reported;                               /* GFLOPS; 0: nothing was */
    char note[128];
    lab_explanation answer;
    bool good, is_next; /* the step that follows the one that was asked for */
    char why[4096];
} job_t;

typedef struct session {
    const lab_options *options;
    lab_machine machine;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    int64_t m, n, k;
    double seconds; /* time limit, as in lab_look */
    job_t *jobs;
    int count, next, done; /* next: of those that nobody has begun */
    pthread_mutex_t lock;
} session_t;

static int usage(const char *message)
{
    return lab_usage("explain", message);
}

/* ---- What is asked ------------------------------------------------------------------------------ */

static bool read_size(const char *text, int64_t otherwise, int64_t *value)
{
    *value = otherwise;
    return !text || (lab_read_integer(text, value) && *value > 0 && *value < 1 << 24);
}

static const char *read_options(const lab_options *options, session_t *session)
{
    rung_compute compute;
    int count;
    const char *wrong = lab_read_machine(options, &session->machine);
    if (!wrong && !lab_read_time_limit(options->time_limit, LAB_LOOK_SECONDS, &session->seconds))
        wrong = LAB_TIME_LIMIT_WRONG;
    session->seconds = session->seconds > 0 ? session->seconds : -1;
    if (!wrong)
        wrong = lab_read_dtypes(options, &compute, session->dtypes, &count);
    if (!wrong && count != 1)
        wrong = "--dtype takes one type here; ask once for each";
    if (!wrong && (!read_size(options->m, 4096, &session->m) || !read_size(options->n, session->m, &session->n) ||
                   !read_size(options->k, session->m, &session->k)))
        wrong = "--m, --n and --k take a number from 1 to 16777215";
    if (!wrong)
        wrong = lab_wrong_parameters(options->params);
    if (!wrong && !options->argument + !options->all + !options->compare != 2)
        wrong = "name a kernel or a file, or give --all or --compare";
    if (!wrong && options->params && options->compare)
        wrong = "--params cannot be combined with --compare: the table names the parameters of each kernel";
    return wrong;
}

static job_t *add_job(session_t *session, const char *kernel)
{
    if (session->count == JOBS_MAX)
        return NULL;
    job_t *job = &session->jobs[session->count++];
    job->question = (lab_question){.kernel = kernel,
                                   .parameters = session->options->params,
                                   .dtype = session->dtypes[0],
                                   .m = session->m,
                                   .n = session->n,
                                   .k = session->k,
                                   .machine = session->machine,
                                   .seconds = session->seconds};
    return job;
}

/* Those for matrix engines are asked in F16 where nobody named a type: F32 they only round. */
static void choose_dtype(const session_t *session, job_t *job)
{
    static const lab_dtype f16 = {{RUNG_F16, RUNG_F32}, RUNG_COMPUTE_STRICT, "f16:f32"};
    rung_kernel *kernel;
    if (!session->options->dtype && rung_kernel_find(NULL, "opencl", job->question.kernel, &kernel) == RUNG_OK &&
        !lab_takes(kernel, &job->question.dtype) && lab_takes(kernel, &f16))
        job->question.dtype = f16;
}

/* Gives the job those of --params that its kernel has. */
static bool choose_parameters(const session_t *session, const rung_kernel *kernel, job_t *job)
{
    if (!session->options->params)
        return true;
    job->question.parameters = NULL;
    if (!lab_parameters_of(kernel, session->options->params, job->params, sizeof job->params))
        return false;
    if (*job->params)
        job->question.parameters = job->params;
    return true;
}

/* Adds every kernel of the ladder. Returns NULL or a sentence on what is wrong. */
static const char *add_ladder(session_t *session, char *why, size_t capacity)
{
    const rung_kernel *kernels[LAB_KERNELS_MAX];
    rung_kernel *kernel;
    int count = 0;
    for (int64_t i = 0; count < LAB_KERNELS_MAX && rung_kernel_at(NULL, "opencl", i, &kernel) == RUNG_OK; i++)
        if (rung_kernel_describe(kernel)->number > 0)
            kernels[count++] = kernel;
    if (!lab_parameters_check(kernels, count, session->options->params, why, capacity))
        return why;
    for (int i = 0; i < count; i++) {
        job_t *job = add_job(session, rung_kernel_describe(kernels[i])->name);
        choose_dtype(session, job);
        if (!choose_parameters(session, kernels[i], job))
            return "--params is too long";
    }
    return NULL;
}

/* Checks --params against the named kernel; what else is wrong with it, lab_explain() reports. */
static const char *check_one(const session_t *session, const char *name, char *why, size_t capacity)
{
    rung_kernel *kernel;
    if (!session->options->params || !lab_kernel_open(NULL, "opencl", name, &kernel, why, capacity))
        return NULL;
    const rung_kernel *kernels[] = {kernel};
    bool good = lab_parameters_check(kernels, 1, session->options->params, why, capacity);
    rung_kernel_destroy(kernel);
    return good ? NULL : why;
}

/* The kernel, and the step behind it on the ladder, which tells what it could gain. */
static void add_one(session_t *session, const char *name)
{
    rung_kernel *kernel, *next;
    choose_dtype(session, add_job(session, name));
    if (session->options->params || rung_kernel_find(NULL, "opencl", name, &kernel) != RUNG_OK)
        return;
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &next) == RUNG_OK; i++)
        if (rung_kernel_describe(next)->number == rung_kernel_describe(kernel)->number + 1 &&
            lab_takes(next, &session->jobs[0].question.dtype)) {
            job_t *job = add_job(session, rung_kernel_describe(next)->name);
            job->question.dtype = session->jobs[0].question.dtype;
            job->is_next = true;
        }
}

/* ---- What was reported ----------------------------------------------------------------------------- */

/* "machine kernel params dtype size gflops document note", separated by tabs; false if it is none. */
static bool read_row(session_t *session, char *line, char *why, size_t capacity)
{
    char *fields[8] = {0}, *rest = line;
    lab_options asked = {0};
    rung_compute compute;
    lab_machine machine;
    int64_t size;
    double gflops;
    int count;
    for (int i = 0; i < 8 && rest; i++) {
        fields[i] = rest;
        rest = strpbrk(rest, "\t\n");
        if (rest)
            *rest++ = '\0';
    }
    if (!fields[7] || !lab_read_integer(fields[4], &size) || !lab_read_number(fields[5], &gflops) || size < 1 ||
        !(gflops > 0))
        return false;
    if (!lab_machine_find(fields[0], &machine, why, capacity))
        return false;
    asked.dtype = fields[3];
    lab_dtype dtypes[LAB_DTYPES_MAX];
    const char *wrong = lab_read_dtypes(&asked, &compute, dtypes, &count);
    if (wrong || count != 1) {
        snprintf(why, capacity, "%s", wrong ? wrong : "one type a row; write one for each");
        return false;
    }
    if (strlen(fields[1]) >= sizeof session->jobs->named || strlen(fields[2]) >= sizeof session->jobs->params ||
        strlen(fields[7]) >= sizeof session->jobs->note) {
        snprintf(why, capacity,
                 "the kernel, the parameters or the note is too long (%zu, %zu and %zu characters at most)",
                 sizeof session->jobs->named - 1, sizeof session->jobs->params - 1, sizeof session->jobs->note - 1);
        return false;
    }
    job_t *job = add_job(session, "");
    if (!job) {
        snprintf(why, capacity, "a table may have %d rows; make two of it", JOBS_MAX);
        return false;
    }
    snprintf(job->named, sizeof job->named, "%s", fields[1]);
    snprintf(job->params, sizeof job->params, "%s", strcmp(fields[2], "-") == 0 ? "" : fields[2]);
    job->question.kernel = job->named;
    snprintf(job->note, sizeof job->note, "%s", strcmp(fields[7], "-") == 0 ? "" : fields[7]);
    job->reported = gflops;
    job->question.parameters = *job->params ? job->params : NULL;
    job->question.m = job->question.n = job->question.k = size;
    job->question.machine = machine;
    job->question.dtype = dtypes[0];
    job->question.dtype.name = lab_product_name(dtypes[0].product);
    return true;
}

static bool read_reported(session_t *session, const char *path)
{
    char line[2048], why[512] = "it is not \"machine kernel params dtype size gflops document note\", "
                                "with a tab between each two";
    char reason[256] = "empty";
    FILE *file = lab_file_open(path, LAB_TEXT_BYTES_MAX, reason, sizeof reason);
    if (!file || !fgets(line, sizeof line, file)) { /* its titles */
        fprintf(stderr, "rung: %s: %s; give a table as results/documents/reported.tsv is one\n", path, reason);
        if (file)
            fclose(file);
        return false;
    }
    for (int number = 2; fgets(line, sizeof line, file); number++) {
        bool is_whole = strchr(line, '\n') || feof(file);
        if (!is_whole)
            snprintf(why, sizeof why, "the line is too long (%zu characters at most)", sizeof line - 2);
        if (!is_whole || !read_row(session, line, why, sizeof why)) {
            fprintf(stderr, "rung: %s:%d: %s\n", path, number, why);
            fclose(file);
            return false;
        }
    }
    fclose(file);
    return true;
}

/* ---- Answering: several at once, since each mostly waits for a child ----------------------------------- */

/* Under the lock. */
static void show_progress(const session_t *session, const char *what)
{
    lab_progress_show(
        &(lab_progress){.what = what, .done = session->done, .count = session->count, .units = "kernels"});
}

static void *answer_some(void *opaque)
{
    session_t *session = opaque;
    for (;;) {
        pthread_mutex_lock(&session->lock);
        int index = lab_interrupted() ? session->count : session->next++;
        job_t *job = index < session->count ? &session->jobs[index] : NULL;
        if (job)
            show_progress(session, job->question.kernel);
        pthread_mutex_unlock(&session->lock);
        if (!job)
            return NULL;
        job->good = lab_explain(&job->question, &job->answer, job->why, sizeof job->why);
        pthread_mutex_lock(&session->lock);
        session->done++;
        show_progress(session, job->question.kernel);
        pthread_mutex_unlock(&session->lock);
    }
}

/* The clock goes on while workers wait. */
static void watch_progress(session_t *session)
{
    bool is_done = false;
    while (!is_done) {
        pthread_mutex_lock(&session->lock);
        is_done = session->done == session->count || lab_interrupted();
        int last = session->next < session->count ? session->next : session->count;
        if (!is_done && last > 0)
            show_progress(session, session->jobs[last - 1].question.kernel);
        pthread_mutex_unlock(&session->lock);
        if (!is_done)
            lab_rest(20000000);
    }
}

static void answer_all(session_t *session)
{
    enum { WORKERS_MAX = 16 };
    pthread_t workers[WORKERS_MAX];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int started = 0;
    while (started < processors && started < WORKERS_MAX && started < session->count &&
           pthread_create(&workers[started], NULL, answer_some, session) == 0)
        started++;
    if (started == 0)
        answer_some(session);
    else
        watch_progress(session);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
}

/* ---- Telling ------------------------------------------------------------------------------------- */

/* The first answer that lacks a tool; NULL if all have it. */
static const lab_explanation *lacking(const session_t *session, lab_tool tool)
{
    for (int i = 0; i < session->count; i++)
        if (session->jobs[i].answer.missing_tools & 1u << tool)
            return &session->jobs[i].answer;
    return NULL;
}

/* Each missing tool once, however many kernels were explained. */
static void print_missing_tools(const session_t *session, FILE *out)
{
    bool any = false;
    for (int tool = 0; tool < LAB_TOOL_COUNT; tool++) {
        const lab_explanation *answer = lacking(session, (lab_tool)tool);
        if (answer && !any)
            fprintf(out, "Missing tools (without them nothing is predicted):\n");
        any = any || answer;
        if (answer)
            fprintf(out, "  %s. It provides %s.\n", lab_tool_advice(answer, (lab_tool)tool),
                    lab_tool_gives((lab_tool)tool));
    }
    if (any)
        fprintf(out, "\n");
}

static void write_missing_tools(lab_json *json, const session_t *session)
{
    lab_json_begin(json, "missing_tools", '[');
    for (int tool = 0; tool < LAB_TOOL_COUNT; tool++) {
        const lab_explanation *answer = lacking(session, (lab_tool)tool);
        if (!answer)
            continue;
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "tool", lab_tool_name((lab_tool)tool));
        lab_json_string(json, "provides", lab_tool_gives((lab_tool)tool));
        lab_json_string(json, "install", lab_tool_advice(answer, (lab_tool)tool));
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_answer(lab_json *json, const job_t *job)
{
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", job->answer.kernel[0] ? job->answer.kernel : job->question.kernel);
    lab_json_string(json, "params", job->answer.parameters);
    lab_json_string(json, "arch", job->question.machine.arch);
    lab_json_string(json, "machine", job->question.machine.name);
    lab_json_string(json, "dtype", job->question.dtype.name);
    lab_json_integer(json, "m", job->question.m);
    lab_json_integer(json, "n", job->question.n);
    lab_json_integer(json, "k", job->question.k);
    lab_json_string(json, "error", job->good ? "" : job->why);
    lab_explanation_fields(json, &job->answer);
    lab_json_number(json, "reported_gflops", job->reported > 0 ? job->reported : (double)NAN);
    lab_explanation_details(json, &job->answer);
    lab_json_end(json, '}');
}

static void write_json(const session_t *session)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    write_missing_tools(&json, session);
    lab_json_begin(&json, "kernels", '[');
    for (int i = 0; i < session->count; i++)
        if (!session->jobs[i].is_next)
            write_answer(&json, &session->jobs[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
    printf("\n");
}

/* The first line of why a job has no prediction. */
static void write_reason(const job_t *job, char *text, size_t capacity)
{
    const char *reason = job->good ? lab_why_not_predicted(&job->answer) : job->why;
    snprintf(text, capacity, "%.*s", (int)strcspn(reason, "\n\t"), reason);
}

static void add_overview(lab_table *table, const job_t *job)
{
    const lab_explanation *answer = &job->answer;
    char sectors[32] = "-", wavefronts[32] = "-", registers[32] = "-", held[32] = "-", math[32] = "-", gflops[32] = "-";
    char bound[LAB_TABLE_CELL];
    if (answer->is_seen)
        snprintf(sectors, sizeof sectors, "%.2f/%.2f", lab_sectors_per_request(answer), lab_sectors_ideal(answer));
    if (answer->is_seen && answer->block.wavefronts > 0)
        snprintf(wavefronts, sizeof wavefronts, "%.2f/%.2f", lab_wavefronts_per_request(answer),
                 lab_wavefronts_ideal(answer));
    if (answer->is_compiled) {
        snprintf(registers, sizeof registers, "%lld", (long long)answer->registers);
        snprintf(held, sizeof held, "%.0f %%", 100 * answer->occupancy.fraction);
    }
    if (answer->math_share > 0)
        snprintf(math, sizeof math, "%.0f %%", 100 * answer->math_share);
    write_reason(job, bound, sizeof bound);
    if (answer->prediction.runs) {
        snprintf(gflops, sizeof gflops, "%.0f%s", answer->prediction.gflops, answer->counts_loop ? "" : "*");
        snprintf(bound, sizeof bound, "%s", lab_station_words(answer->prediction.bound));
    }
    lab_table_add(table, 9,
                  (const char *[]){job->question.kernel, job->question.dtype.name, sectors, wavefronts, registers, held,
                                   math, gflops, bound});
}

static void print_overview(const session_t *session)
{
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%lld x %lld x %lld on %s (%s); sectors and wavefronts a request, beside the ideal; GFLOPS as predicted\n",
           (long long)session->m, (long long)session->n, (long long)session->k, session->machine.title,
           session->machine.arch);
    lab_table_add(table, 9,
                  (const char *[]){"kernel", "dtype", "sectors", "wavefronts", "registers", "occupancy", "math",
                                   "GFLOPS", "bound by"});
    bool any_estimate = false;
    for (int i = 0; i < session->count; i++) {
        const lab_explanation *answer = &session->jobs[i].answer;
        any_estimate = any_estimate || (answer->prediction.runs && !answer->counts_loop);
        add_overview(table, &session->jobs[i]);
    }
    lab_table_print(table, "llrrrrrrl", stdout);
    if (any_estimate)
        printf("* estimate: instructions are counted in the source; compare it only with other estimates\n");
    free(table);
}

/* ---- Beside what was reported ------------------------------------------------------------------------------- */

/* The rank correlation of one machine's rows, and how far they are off. Estimates are left out. */
static void print_correlation(const session_t *session, const char *machine)
{
    double predicted[JOBS_MAX], reported[JOBS_MAX], sum = 0;
    int count = 0;
    for (int i = 0; i < session->count; i++) {
        const job_t *job = &session->jobs[i];
        if (strcmp(job->question.machine.name, machine) != 0 || !job->answer.prediction.runs ||
            !job->answer.counts_loop)
            continue;
        predicted[count] = job->answer.prediction.gflops;
        reported[count] = job->reported;
        sum += fabs(log(predicted[count] / reported[count]));
        count++;
    }
    if (count > 0)
        printf("%s: %d rows, rank correlation %.3f, off by a factor of %.2f in the geometric mean\n", machine, count,
               lab_rank_correlation(predicted, reported, count), exp(sum / count));
}

static void print_compared(const job_t *job)
{
    const lab_prediction *prediction = &job->answer.prediction;
    char note[256];
    printf("%s\t%s\t%s\t%s\t%lld\t%.5g\t", job->question.machine.name, job->named, *job->params ? job->params : "-",
           job->question.dtype.name, (long long)job->question.m, job->reported);
    write_reason(job, note, sizeof note);
    if (!prediction->runs)
        printf("-\t-\t-\t-\t%s\n", note);
    else
        printf("%.5g\t%.2f\t%s\t%.2f\t%s%s\n", prediction->gflops, prediction->gflops / job->reported,
               lab_station_name(prediction->bound), job->answer.occupancy.fraction,
               job->answer.counts_loop ? "" : "estimate, not ranked; ", *job->note ? job->note : "-");
}

static void print_comparison(const session_t *session)
{
    lab_machine machine;
    printf("machine\tkernel\tparams\tdtype\tsize\treported\tpredicted\tratio\tbound\toccupancy\tnote\n");
    for (int i = 0; i < session->count; i++)
        print_compared(&session->jobs[i]);
    for (int i = 0; lab_machine_at(i, &machine); i++)
        print_correlation(session, machine.name);
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static void print_all(const session_t *session)
{
    if (!session->options->json)
        print_missing_tools(session, session->options->compare ? stderr : stdout); /* that is tab-separated */
    if (session->options->json)
        write_json(session);
    else if (session->options->compare)
        print_comparison(session);
    else if (session->options->all)
        print_overview(session);
    else
        lab_explanation_print(&session->jobs[0].answer);
    if (!session->options->json && session->count == 2 && session->jobs[1].is_next && session->jobs[1].good)
        lab_explanation_print_next(&session->jobs[0].answer, &session->jobs[1].answer);
}

static bool can_look(void)
{
    lab_microscope_parts parts;
    lab_microscope_find(&parts);
    return *parts.oclgrind && *parts.plugin;
}

/* What makes no sense is the user's mistake. What was not looked at although it could be is wrong;
 * of several, those that were will do. */
static int outcome(const session_t *session)
{
    int seen = 0, refused = 0, asked = 0;
    for (int i = 0; i < session->count; i++) {
        const job_t *job = &session->jobs[i];
        if (job->is_next)
            continue;
        if (!job->good)
            fprintf(stderr, "rung: %s: %s\n", job->question.kernel, job->why);
        asked++;
        refused += !job->good;
        seen += job->good && job->answer.is_seen;
    }
    if (seen > 0)
        return LAB_GOOD;
    return refused == asked ? LAB_USAGE : can_look() ? LAB_WRONG : LAB_NOTHING;
}

static int run(session_t *session)
{
    const lab_options *options = session->options;
    if (options->compare && !read_reported(session, options->compare))
        return LAB_USAGE;
    char why[2048];
    const char *wrong = options->all        ? add_ladder(session, why, sizeof why)
                        : options->argument ? check_one(session, options->argument, why, sizeof why)
                                            : NULL;
    if (wrong)
        return usage(wrong);
    if (options->argument)
        add_one(session, options->argument);
    lab_interrupt_watch();
    lab_progress_begin(options->quiet);
    answer_all(session);
    lab_progress_end();
    if (lab_interrupted()) {
        lab_interrupt_tell("nothing is explained; run it again");
        return LAB_INTERRUPTED;
    }
    int code = outcome(session);
    if (code != LAB_USAGE)
        print_all(session);
    return code;
}

int lab_command_explain(const lab_options *options)
{
    session_t session = {.options = options};
    const char *wrong = read_options(options, &session);
    if (wrong)
        return usage(wrong);
    session.jobs = calloc(JOBS_MAX, sizeof *session.jobs);
    if (!session.jobs || pthread_mutex_init(&session.lock, NULL) != 0) {
        fprintf(stderr, "rung: out of memory\n");
        free(session.jobs);
        return LAB_WRONG;
    }
    int code = run(&session);
    for (int i = 0; i < session.count; i++)
        lab_explanation_free(&session.jobs[i].answer);
    pthread_mutex_destroy(&session.lock);
    free(session.jobs);
    return code;
}
