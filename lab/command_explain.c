/* SPDX-License-Identifier: Apache-2.0 */
/* command_explain.c - rung explain: why a kernel is as fast as it is, with no GPU. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"
#include "json.h"
#include "options.h"
#include "table.h"

enum { JOBS_MAX = 256 };

/* A question, its answer, and what it is to be held against. */
typedef struct job {
    lab_question    question;
    char            kernel[64], params[256], size[32];
    double          reported; /* GFLOPS; 0: nothing was */
    char            note[128];
    lab_explanation answer;
    bool            good, is_next; /* the step that follows the one that was asked for */
    char            why[4096];
} job;

typedef struct session {
    const lab_options *options;
    lab_machine        machine;
    lab_dtype          dtypes[LAB_DTYPES_MAX];
    int64_t            m, n, k;
    job               *jobs;
    int                count, next; /* next: of those that nobody has begun */
    pthread_mutex_t    lock;
} session;

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

static const char *read_options(const lab_options *options, session *session)
{
    rung_compute compute;
    int count;
    const char *wrong = lab_read_machine(options, &session->machine);
    if (!wrong)
        wrong = lab_read_dtypes(options, &compute, session->dtypes, &count);
    if (!wrong && count != 1)
        wrong = "--dtype takes one type here";
    if (!wrong && (!read_size(options->m, 4096, &session->m) || !read_size(options->n, session->m, &session->n) ||
                   !read_size(options->k, session->m, &session->k)))
        wrong = "--m, --n and --k take a number above 0";
    if (!wrong && !options->argument && !options->all && !options->compare)
        wrong = "name a kernel or a file, or give --all or --compare";
    return wrong;
}

static job *add_job(session *session, const char *kernel)
{
    if (session->count == JOBS_MAX)
        return NULL;
    job *job = &session->jobs[session->count++];
    snprintf(job->kernel, sizeof job->kernel, "%s", kernel);
    snprintf(job->params, sizeof job->params, "%s", session->options->params ? session->options->params : "");
    job->question = (lab_question){.kernel = job->kernel, .parameters = *job->params ? job->params : NULL,
                                   .dtype = session->dtypes[0], .m = session->m, .n = session->n, .k = session->k,
                                   .machine = session->machine};
    return job;
}

/* Those for matrix engines are asked in F16 where nobody named a type: F32 they only round. */
static void choose_dtype(const session *session, job *job)
{
    static const lab_dtype f16 = {RUNG_F16_TO_F32, RUNG_STRICT, "f16:f32"};
    rung_kernel *kernel;
    if (!session->options->dtype && rung_kernel_find(NULL, "opencl", job->kernel, &kernel) == RUNG_OK &&
        !lab_takes(kernel, &job->question.dtype) && lab_takes(kernel, &f16))
        job->question.dtype = f16;
}

static void add_ladder(session *session)
{
    rung_kernel *kernel;
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &kernel) == RUNG_OK; i++)
        if (rung_kernel_describe(kernel)->number > 0)
            choose_dtype(session, add_job(session, rung_kernel_describe(kernel)->name));
}

/* The kernel, and the step behind it on the ladder, which tells what it could gain. */
static void add_one(session *session, const char *name)
{
    rung_kernel *kernel, *next;
    choose_dtype(session, add_job(session, name));
    if (session->options->params || rung_kernel_find(NULL, "opencl", name, &kernel) != RUNG_OK)
        return;
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &next) == RUNG_OK; i++)
        if (rung_kernel_describe(next)->number == rung_kernel_describe(kernel)->number + 1 &&
            lab_takes(next, &session->jobs[0].question.dtype)) {
            job *job = add_job(session, rung_kernel_describe(next)->name);
            job->question.dtype = session->jobs[0].question.dtype;
            job->is_next = true;
        }
}

/* ---- What was reported ----------------------------------------------------------------------------- */

/* "machine kernel params dtype size gflops document note", separated by tabs; false if it is none. */
static bool read_row(session *session, char *line, char *why, size_t capacity)
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
    if (!fields[7] || !lab_read_integer(fields[4], &size) || !lab_read_number(fields[5], &gflops) || size < 1)
        return false;
    if (!lab_machine_find(fields[0], &machine, why, capacity))
        return false;
    asked.dtype = fields[3];
    lab_dtype dtypes[LAB_DTYPES_MAX];
    if (lab_read_dtypes(&asked, &compute, dtypes, &count) || count != 1)
        return false;
    job *job = add_job(session, fields[1]);
    if (!job)
        return false;
    snprintf(job->params, sizeof job->params, "%s", strcmp(fields[2], "-") == 0 ? "" : fields[2]);
    snprintf(job->note, sizeof job->note, "%s", strcmp(fields[7], "-") == 0 ? "" : fields[7]);
    job->reported = gflops;
    job->question.parameters = *job->params ? job->params : NULL;
    job->question.m = job->question.n = job->question.k = size;
    job->question.machine = machine;
    job->question.dtype = dtypes[0];
    job->question.dtype.name = rung_product_name(dtypes[0].product);
    return true;
}

static bool read_reported(session *session, const char *path)
{
    char line[1024], why[512] = "it is not \"machine kernel params dtype size gflops document note\"";
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) { /* its titles */
        fprintf(stderr, "rung: %s cannot be read\n", path);
        if (file)
            fclose(file);
        return false;
    }
    for (int number = 2; fgets(line, sizeof line, file); number++)
        if (!read_row(session, line, why, sizeof why)) {
            fprintf(stderr, "rung: %s:%d: %s\n", path, number, why);
            fclose(file);
            return false;
        }
    fclose(file);
    return true;
}

/* ---- Answering: several at once, since each mostly waits for a child ----------------------------------- */

static void *answer_some(void *opaque)
{
    session *session = opaque;
    for (;;) {
        pthread_mutex_lock(&session->lock);
        int index = session->next++;
        pthread_mutex_unlock(&session->lock);
        if (index >= session->count)
            return NULL;
        job *job = &session->jobs[index];
        if (!session->options->quiet)
            fprintf(stderr, "rung: looking at %s %s\n", job->kernel, job->params);
        job->good = lab_explain(&job->question, &job->answer, job->why, sizeof job->why);
    }
}

static void answer_all(session *session)
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
    for (int i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
}

/* ---- JSON ------------------------------------------------------------------------------------------------ */

static void number_or_null(lab_json *json, const char *name, bool known, double value)
{
    lab_json_number(json, name, known ? value : NAN);
}

static void write_lines(lab_json *json, const lab_explanation *answer)
{
    static const char *const kinds[] = {
#define X(name, word) word,
        LAB_TRAFFIC_LIST(X)
#undef X
    };
    lab_json_begin(json, "lines", '[');
    for (int64_t i = 0; i < answer->sight.line_count; i++) {
        const lab_sight_line *line = &answer->sight.lines[i];
        lab_json_begin(json, NULL, '{');
        lab_json_integer(json, "line", line->line);
        lab_json_string(json, "kind", kinds[line->kind]);
        lab_json_string(json, "array", line->array);
        lab_json_integer(json, "bytes_a_lane", line->width);
#define X(name) lab_json_integer(json, #name, line->name);
        LAB_SIGHT_COUNT_LIST(X)
#undef X
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_findings(lab_json *json, const lab_explanation *answer)
{
    lab_json_begin(json, "findings", '[');
    for (int i = 0; i < answer->finding_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "kind", answer->findings[i].kind);
        lab_json_string(json, "file", answer->findings[i].file);
        lab_json_integer(json, "line", answer->findings[i].line);
        lab_json_string(json, "text", answer->findings[i].text);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void write_stations(lab_json *json, const lab_explanation *answer)
{
    lab_json_begin(json, "clocks_a_block", '{');
    for (int i = 0; i < LAB_STATION_COUNT; i++)
        lab_json_number(json, lab_station_name((lab_station)i), answer->prediction.clocks[i]);
    lab_json_end(json, '}');
}

static void write_answer(lab_json *json, const job *job)
{
    const lab_explanation *answer = &job->answer;
    const lab_prediction *prediction = &answer->prediction;
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "kernel", answer->kernel[0] ? answer->kernel : job->kernel);
    lab_json_string(json, "params", answer->parameters);
    lab_json_string(json, "arch", job->question.machine.arch);
    lab_json_string(json, "machine", job->question.machine.name);
    lab_json_string(json, "dtype", job->question.dtype.name);
    lab_json_integer(json, "m", job->question.m);
    lab_json_integer(json, "n", job->question.n);
    lab_json_integer(json, "k", job->question.k);
    if (!job->good)
        lab_json_string(json, "error", job->why);
    number_or_null(json, "sectors_per_request", answer->is_seen, lab_sectors_per_request(answer));
    number_or_null(json, "sectors_ideal", answer->is_seen, lab_sectors_ideal(answer));
    number_or_null(json, "wavefronts_per_request", answer->is_seen, lab_wavefronts_per_request(answer));
    number_or_null(json, "wavefronts_ideal", answer->is_seen, lab_wavefronts_ideal(answer));
    number_or_null(json, "registers", answer->is_compiled, (double)answer->registers);
    number_or_null(json, "shared_bytes", answer->is_compiled, (double)answer->shared_bytes);
    number_or_null(json, "spills", answer->is_compiled, (double)answer->spill_bytes);
    number_or_null(json, "occupancy", answer->is_compiled, answer->occupancy.fraction);
    lab_json_string(json, "occupancy_bound_by", answer->occupancy.bound_by);
    lab_json_integer(json, "blocks_held", answer->occupancy.blocks);
    number_or_null(json, "math_share", answer->math_share > 0, answer->math_share);
    lab_json_string(json, "bound", prediction->runs ? lab_station_name(prediction->bound) : "");
    number_or_null(json, "predicted_gflops", prediction->runs, prediction->gflops);
    number_or_null(json, "peak_gflops", prediction->peak_gflops > 0, prediction->peak_gflops);
    number_or_null(json, "reported_gflops", job->reported > 0, job->reported);
    number_or_null(json, "waves", prediction->runs, prediction->waves + prediction->tail);
    number_or_null(json, "dram_bytes", prediction->runs, answer->load.dram_bytes);
    number_or_null(json, "shared_loads_as_written", answer->is_seen, answer->block.shared_loads);
    number_or_null(json, "shared_loads_as_compiled", answer->is_seen, answer->shared_loads_compiled);
    write_stations(json, answer);
    write_findings(json, answer);
    write_lines(json, answer);
    lab_json_end(json, '}');
}

static void write_json(const session *session)
{
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_begin(&json, "kernels", '[');
    for (int i = 0; i < session->count; i++)
        if (!session->jobs[i].is_next)
            write_answer(&json, &session->jobs[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
    printf("\n");
}

/* ---- For people ---------------------------------------------------------------------------------------------- */

static void print_lines(const lab_explanation *answer)
{
    static const char *const kinds[] = {"global load", "global store", "shared load", "shared store"};
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    lab_table_add(table, 7, (const char *[]){"  line", "what", "of", "bytes a thread", "requests", "sectors or wavefronts", "ideal"});
    for (int64_t i = 0; i < answer->sight.line_count; i++) {
        const lab_sight_line *line = &answer->sight.lines[i];
        bool global = line->kind == LAB_GLOBAL_LOAD || line->kind == LAB_GLOBAL_STORE;
        char cells[6][64];
        double requests = line->requests > 0 ? (double)line->requests : 1;
        snprintf(cells[0], sizeof cells[0], "  %lld", (long long)line->line);
        snprintf(cells[1], sizeof cells[1], "%s", kinds[line->kind]);
        snprintf(cells[2], sizeof cells[2], "%lld", (long long)line->width);
        snprintf(cells[3], sizeof cells[3], "%lld", (long long)line->requests);
        snprintf(cells[4], sizeof cells[4], "%.2f %s", (double)(global ? line->sectors : line->wavefronts) / requests,
                 global ? "sectors" : "wavefronts");
        snprintf(cells[5], sizeof cells[5], "%.2f", (double)(global ? line->sectors_ideal : line->wavefronts_ideal) / requests);
        lab_table_add(table, 7, (const char *[]){cells[0], cells[1], line->array, cells[2], cells[3], cells[4], cells[5]});
    }
    lab_table_print(table, "lllrrrr", stdout);
    free(table);
}

static void print_seen(const lab_explanation *answer)
{
    const lab_block_counts *block = &answer->block;
    if (!answer->is_seen) {
        printf("\nNot looked at: %s\n", answer->why_unseen);
        return;
    }
    printf("\nAs written, one block, counted on Oclgrind, a request being one of a warp (%s):\n", answer->file);
    print_lines(answer);
    printf("  all        %.2f sectors a request (ideal %.2f)", lab_sectors_per_request(answer), lab_sectors_ideal(answer));
    if (block->shared_loads + block->shared_stores > 0)
        printf(", %.2f wavefronts (ideal %.2f)", lab_wavefronts_per_request(answer), lab_wavefronts_ideal(answer));
    printf("\n  a multiply-add of a warp takes %.3g global and %.3g shared requests; barriers %.0f, waits for memory %.0f\n",
           block->global_requests * 32 / block->macs, (block->shared_loads + block->shared_stores) * 32 / block->macs,
           block->barriers, block->waits);
}

static void print_loop(const lab_explanation *answer)
{
    const lab_mix *loop = &answer->code.loop;
    bool other = strcmp(answer->code_arch, answer->machine.arch) != 0;
    printf("  hottest loop%s%s: %lld instructions, %lld %s (%.1f %%); ", other ? ", as for " : "", other ? answer->code_arch : "", (long long)loop->instructions, (long long)loop->math,
           loop->operation, 100 * answer->math_share);
    const char *comma = "";
    for (int move = 0; move < LAB_MOVE_COUNT; move++) {
        static const char *const names[] = {
#define X(name, operation) operation,
            LAB_MOVE_LIST(X)
#undef X
        };
        for (int width = 0; width < LAB_WIDTHS; width++)
            if (loop->moves[move][width] > 0) {
                printf("%s%lld %s of %d bytes", comma, (long long)loop->moves[move][width], names[move], 1 << width);
                comma = ", ";
            }
    }
    printf("%s%lld for addresses and whole numbers, %lld barriers, %lld branches, %lld others\n", comma, (long long)loop->integer,
           (long long)loop->barriers, (long long)loop->branches, (long long)loop->other);
    double written = answer->block.shared_loads, compiled = answer->shared_loads_compiled;
    if (answer->is_seen && written > 0 && fabs(compiled / written - 1) > 0.05)
        printf("  so shared memory is read by %.3g loads a multiply-add where %.3g are written: what follows counts the "
               "compiler's\n", compiled * 32 / answer->block.macs, written * 32 / answer->block.macs);
}

static void print_compiled(const lab_explanation *answer)
{
    const lab_occupancy *occupancy = &answer->occupancy;
    if (!answer->is_compiled) {
        printf("\nNot compiled: %s\n", answer->why_uncompiled);
        return;
    }
    printf("\nAs compiled for %s%s%s:\n", answer->machine.arch, strcmp(answer->path, "-") ? ", path " : "",
           strcmp(answer->path, "-") ? answer->path : "");
    printf("  %lld threads a block, %lld registers a thread, %lld bytes of shared memory, %lld bytes spilled\n",
           (long long)answer->threads, (long long)answer->registers, (long long)answer->shared_bytes,
           (long long)answer->spill_bytes);
    if (answer->is_taken_apart && answer->code.has_loop)
        print_loop(answer);
    else
        printf("  its loop: %s\n", answer->is_taken_apart ? "none was found that multiplies" : answer->why_whole);
    printf("  a multiprocessor holds %lld block%s, %lld of %lld warps (%.0f %%), bounded by %s\n", (long long)occupancy->blocks,
           occupancy->blocks == 1 ? "" : "s", (long long)occupancy->warps, (long long)occupancy->warps_max,
           100 * occupancy->fraction, occupancy->bound_by);
}

static void print_prediction(const lab_explanation *answer)
{
    const lab_prediction *prediction = &answer->prediction;
    const lab_load *load = &answer->load;
    if (!prediction->runs) {
        printf("\nNot predicted: %s\n", !answer->is_seen ? "it was not looked at" : prediction->peak_gflops > 0 ?
               "no multiprocessor holds a block of it" : "this GPU has no matrix engine for this type");
        return;
    }
    printf("\nOn %s (%.0f multiprocessors, %.0f MHz, %.0f GB/s): clocks of a block at each station\n ", answer->machine.title,
           answer->machine.units, answer->machine.clock_mhz, answer->machine.dram_gbs);
    for (int i = 0; i < LAB_STATION_COUNT; i++)
        printf(" %s %.0f%s", lab_station_name((lab_station)i), prediction->clocks[i], i < LAB_STATION_COUNT - 1 ? "," : "\n");
    printf("  operations a byte: %.3g of DRAM, %.3g of L2; the roof bends at %.3g\n", load->flops / load->dram_bytes,
           load->macs * 2 / (load->distinct_sectors * 32), prediction->peak_gflops / answer->machine.dram_gbs);
    printf("  %.1f waves of blocks\n", prediction->waves + prediction->tail);
    printf("Predicted: %.0f GFLOPS, %.1f %% of the peak of %.0f.\n", prediction->gflops,
           100 * prediction->gflops / prediction->peak_gflops, prediction->peak_gflops);
    printf("Bound by %s: %s.\n", lab_station_words(prediction->bound), lab_station_help(prediction->bound));
}

static void print_findings(const lab_explanation *answer)
{
    if (answer->finding_count > 0)
        printf("\nFound:\n");
    for (int i = 0; i < answer->finding_count; i++)
        printf("  %s:%lld: %s\n", answer->findings[i].file, (long long)answer->findings[i].line, answer->findings[i].text);
}

/* What the next step changes of what was counted. */
static void print_next(const lab_explanation *here, const lab_explanation *next)
{
    if (!here->prediction.runs || !next->prediction.runs)
        return;
    printf("\nNext, %s: sectors a request %.2f to %.2f, shared requests a multiply-add %.3g to %.3g, waits %.0f to %.0f; "
           "predicted %.0f to %.0f GFLOPS, bound by %s.\n", next->kernel, lab_sectors_per_request(here),
           lab_sectors_per_request(next), here->shared_loads_compiled * 32 / here->block.macs,
           next->shared_loads_compiled * 32 / next->block.macs, here->load.waits, next->load.waits, here->prediction.gflops,
           next->prediction.gflops, lab_station_words(next->prediction.bound));
}

static void print_answer(const job *job)
{
    const lab_explanation *answer = &job->answer;
    printf("%s  %s  %s  %lld x %lld x %lld\n", answer->kernel, answer->parameters, answer->dtype, (long long)answer->m,
           (long long)answer->n, (long long)answer->k);
    print_seen(answer);
    print_compiled(answer);
    print_prediction(answer);
    print_findings(answer);
}

static void add_overview(lab_table *table, const job *job)
{
    const lab_explanation *answer = &job->answer;
    char cells[9][LAB_TABLE_CELL];
    snprintf(cells[0], sizeof cells[0], "%s", job->kernel);
    snprintf(cells[1], sizeof cells[1], "%s", job->question.dtype.name);
    snprintf(cells[2], sizeof cells[2], "%.2f/%.2f", lab_sectors_per_request(answer), lab_sectors_ideal(answer));
    snprintf(cells[3], sizeof cells[3], "%.2f/%.2f", lab_wavefronts_per_request(answer), lab_wavefronts_ideal(answer));
    snprintf(cells[4], sizeof cells[4], "%lld", (long long)answer->registers);
    snprintf(cells[5], sizeof cells[5], "%.0f %%", 100 * answer->occupancy.fraction);
    snprintf(cells[6], sizeof cells[6], "%.0f %%", 100 * answer->math_share);
    snprintf(cells[7], sizeof cells[7], "%.0f", answer->prediction.gflops);
    snprintf(cells[8], sizeof cells[8], "%s", job->good ? answer->prediction.runs ? lab_station_words(answer->prediction.bound) :
             answer->why_unseen : job->why);
    lab_table_add(table, 9, (const char *[]){cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7],
                                             cells[8]});
}

static void print_overview(const session *session)
{
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%lld x %lld x %lld on %s (%s); sectors and wavefronts a request, beside the ideal; GFLOPS as predicted\n", (long long)session->m,
           (long long)session->n, (long long)session->k, session->machine.title, session->machine.arch);
    lab_table_add(table, 9, (const char *[]){"kernel", "dtype", "sectors", "wavefronts", "registers", "occupancy", "math",
                                             "GFLOPS", "bound by"});
    for (int i = 0; i < session->count; i++)
        add_overview(table, &session->jobs[i]);
    lab_table_print(table, "llrrrrrrl", stdout);
    free(table);
}

/* ---- Beside what was reported ------------------------------------------------------------------------------- */

/* The rank correlation of one machine's rows, of one size, or with 0 of all. */
static void print_correlation(const session *session, const char *machine)
{
    double predicted[JOBS_MAX], reported[JOBS_MAX], sum = 0;
    int count = 0;
    for (int i = 0; i < session->count; i++) {
        const job *job = &session->jobs[i];
        if (strcmp(job->question.machine.name, machine) != 0 || !job->answer.prediction.runs)
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

static void print_comparison(const session *session)
{
    printf("machine\tkernel\tparams\tdtype\tsize\treported\tpredicted\tratio\tbound\toccupancy\tnote\n");
    for (int i = 0; i < session->count; i++) {
        const job *job = &session->jobs[i];
        const lab_prediction *prediction = &job->answer.prediction;
        if (!prediction->runs) {
            printf("%s\t%s\t%s\t%s\t%lld\t%.5g\t-\t-\t-\t-\t%s\n", job->question.machine.name, job->kernel,
                   *job->params ? job->params : "-", job->question.dtype.name, (long long)job->question.m, job->reported,
                   job->good ? job->answer.why_unseen : job->why);
            continue;
        }
        printf("%s\t%s\t%s\t%s\t%lld\t%.5g\t%.5g\t%.2f\t%s\t%.2f\t%s\n", job->question.machine.name, job->kernel,
               *job->params ? job->params : "-", job->question.dtype.name, (long long)job->question.m, job->reported,
               prediction->gflops, prediction->gflops / job->reported, lab_station_name(prediction->bound),
               job->answer.occupancy.fraction, *job->note ? job->note : "-");
    }
    lab_machine machine;
    for (int i = 0; lab_machine_at(i, &machine); i++)
        print_correlation(session, machine.name);
}

/* ---- The command --------------------------------------------------------------------------------------------- */

static void print_all(const session *session)
{
    if (session->options->json)
        write_json(session);
    else if (session->options->compare)
        print_comparison(session);
    else if (session->options->all)
        print_overview(session);
    else
        print_answer(&session->jobs[0]);
    if (!session->options->json && session->count == 2 && session->jobs[1].is_next && session->jobs[1].good)
        print_next(&session->jobs[0].answer, &session->jobs[1].answer);
}

/* What was asked for by name must have an answer; of all, those that have one will do. */
static int outcome(const session *session)
{
    int good = 0;
    for (int i = 0; i < session->count; i++) {
        const job *job = &session->jobs[i];
        if (!job->good && !job->is_next)
            fprintf(stderr, "rung: %s: %s\n", job->kernel, job->why);
        good += job->good && !job->is_next && job->answer.is_seen;
    }
    if (session->count > 0 && !session->jobs[0].good && !session->options->all && !session->options->compare)
        return LAB_USAGE;
    if (good == 0)
        return LAB_NOTHING;
    return LAB_GOOD;
}

static int run(session *session)
{
    const lab_options *options = session->options;
    if (options->compare && !read_reported(session, options->compare))
        return LAB_USAGE;
    if (options->all && !options->compare)
        add_ladder(session);
    else if (!options->compare)
        add_one(session, options->argument);
    answer_all(session);
    int code = outcome(session);
    if (code != LAB_USAGE)
        print_all(session);
    return code;
}

int lab_command_explain(const lab_options *options)
{
    session session = {.options = options};
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
