/* SPDX-License-Identifier: Apache-2.0 */
/* command_tune.c - rung tune: finds fast parameters and keeps them where the library looks.
 *
 * Candidates are compiled by drivers that may hang or end the process, and what they have
 * compiled stays until a device is closed. So a process of its own does the work, and this one
 * watches it: if it ends, its journal says which candidate it was at, and another goes on
 * behind that one. Resuming a killed run and surviving a candidate are the same thing. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "interrupt.h"
#include "json.h"
#include "progress.h"
#include "setting.h"
#include "start.h"
#include "sweep.h"
#include "table.h"
#include "tune.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    BARREN_MAX = 3, /* workers that may end in a row without having begun a candidate */
    TRIAL_S = 60,   /* seconds that a candidate may take, */
    GRACE_S = 2,    /* and by how much it may pass the time of the search */
    FINALS_S = 30,  /* and a winner's verification */
};

static const int64_t SECOND = 1000000000;

static int usage(const char *message)
{
    return lab_usage("tune", message);
}

static int complain(const char *message)
{
    lab_progress_break();
    fprintf(stderr, "rung: %s\n", message);
    return LAB_NOTHING;
}

/* ---- Options ------------------------------------------------------------------------------------ */

static bool add_problem(lab_tuning_run *shared, int64_t m, int64_t n, int64_t k)
{
    if (shared->problem_count == LAB_TUNED_MAX || m < 1 || n < 1 || k < 1)
        return false;
    shared->problems[shared->problem_count++] = (lab_tuned){.m = m, .n = n, .k = k};
    return true;
}

static bool read_sizes(const lab_options *options, lab_tuning_run *shared)
{
    int64_t sizes[LAB_SWEEP_MAX], m, n, k;
    if (options->m) {
        bool good = !options->sizes && lab_read_integer(options->m, &m);
        n = k = good ? m : 0;
        good = good && (!options->n || lab_read_integer(options->n, &n)) &&
               (!options->k || lab_read_integer(options->k, &k));
        return good && add_problem(shared, m, n, k);
    }
    const char *list = options->sizes ? options->sizes : "256,512,1024";
    int count = options->n || options->k ? -1 : lab_sweep_sizes(list, sizes);
    for (int i = 0; i < count; i++)
        if (!add_problem(shared, sizes[i], sizes[i], sizes[i]))
            return false;
    return count > 0;
}

/* "rc": A by rows, B by columns. */
static bool read_layout(const char *text, bool *a_by_columns, bool *b_by_columns)
{
    if (!text)
        return true;
    *a_by_columns = text[0] == 'c';
    *b_by_columns = text[0] && text[1] == 'c';
    return strlen(text) == 2 && strspn(text, "rc") == 2;
}

static int read_options(lab_tuner *session)
{
    const lab_options *options = session->options;
    rung_compute compute;
    double budget = 300;
    int64_t seed = 1;
    int count;
    const char *wrong = lab_read_dtypes(options, &compute, session->dtypes, &count);
    if (wrong)
        return usage(wrong);
    if (count != 1)
        return usage("--dtype is one type here; run it once for each");
    if (options->budget && (!lab_read_number(options->budget, &budget) || !(budget > 0) || budget > 1e7))
        return usage("--budget is a number of seconds");
    if (options->seed && (!lab_read_integer(options->seed, &seed) || seed < 0))
        return usage("--seed is a whole number");
    if (!read_layout(options->layout, &session->a_by_columns, &session->b_by_columns))
        return usage("--layout is rr, rc, cr or cc: whether A and B stand by rows or by columns");
    if (!read_sizes(options, session->shared))
        return usage("sizes are given like --sizes 256,512 or --m 8 --n 4096 --k 4096");
    session->seed = (uint64_t)seed;
    session->shared->budget_ns = (int64_t)(budget * 1e9);
    return LAB_GOOD;
}

/* ---- The one that watches --------------------------------------------------------------------------- */

/* How a worker came to its end. */
typedef struct ending {
    int status;
    bool is_ours;     /* this process has ended it */
    int64_t asked_ns; /* when it was seen that all is to end; 0: it is not */
} ending_t;

/* Ends the worker if it takes too long over something, or if all is to end: in the midst of a candidate, which is
 * late then, or after a while. Between two it may just have written down the next. */
static bool look_at(const lab_tuning_run *shared, pid_t worker, ending_t *end)
{
    int64_t since = atomic_load(&shared->watch.since_ns), now = lab_now();
    if (lab_interrupted()) {
        end->asked_ns = end->asked_ns > 0 ? end->asked_ns : now;
        return (since > 0 || now > end->asked_ns + GRACE_S * SECOND) && kill(worker, SIGKILL) == 0;
    }
    if (since > 0 ? now - since > TRIAL_S * SECOND || now > atomic_load(&shared->watch.late_ns) + GRACE_S * SECOND
                  : now > shared->began_ns + shared->budget_ns + FINALS_S * SECOND)
        return kill(worker, SIGKILL) == 0;
    return false;
}

/* How much of its time is over, and what was tried. */
static void show_progress(lab_tuning_run *shared)
{
    const lab_tuned *tuned = lab_tune_next(shared);
    char text[160] = "";
    if (tuned)
        snprintf(text, sizeof text, "%lldx%lldx%lld, %lld tried", (long long)tuned->m, (long long)tuned->n,
                 (long long)tuned->k, (long long)tuned->counts.tried);
    lab_progress_show(&(lab_progress){.what = text,
                                      .done = (double)(lab_now() - shared->began_ns) * 1e-9,
                                      .count = (double)shared->budget_ns * 1e-9,
                                      .units = "seconds"});
}

/* False if that cannot be known. */
static bool wait_for(lab_tuning_run *shared, pid_t worker, ending_t *end)
{
    pid_t ended;
    *end = (ending_t){0};
    while ((ended = waitpid(worker, &end->status, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        show_progress(shared);
        end->is_ours = end->is_ours || look_at(shared, worker, end);
    }
    end->is_ours = end->is_ours && WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGKILL;
    return ended == worker;
}

/* Writes down what the candidate under way did to its process. False after a sentence. */
static bool bury(lab_tuner *session, ending_t end)
{
    lab_tuning_run *shared = session->shared;
    lab_trial trial = shared->watch.trial;
    int64_t since = atomic_load(&shared->watch.since_ns);
    char why[1200] = "";
    lab_tuned *tuned = lab_tune_next(shared);
    atomic_store(&shared->watch.since_ns, 0);
    if (since == 0)
        return true; /* between candidates */
    bool took_long = lab_now() - since > TRIAL_S * SECOND;
    /* One that ends by itself late has ended its process too. */
    bool is_late = end.is_ours && (!took_long || lab_interrupted());
    trial.kind = is_late ? LAB_TRIAL_LATE : LAB_TRIAL_CRASHED;
    if (!is_late) {
        lab_progress_break();
        fprintf(stderr, "rung: %s %s %s; it is passed over\n", trial.kernel, trial.parameters,
                took_long ? "took more than a minute" : "has ended its process");
        if (tuned)
            tuned->counts.crashed++;
    }
    char reason[32];
    snprintf(reason, sizeof reason, "signal %d", WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0);
    lab_journal journal;
    bool good = lab_journal_open(shared->path, shared->head, &journal, why, sizeof why);
    if (good && !lab_journal_add(&journal, &trial, reason)) {
        snprintf(why, sizeof why,
                 "the search's state cannot be written; is there room on its disk? --state names "
                 "another file");
        good = false;
    }
    lab_journal_close(&journal);
    if (!good)
        complain(why);
    return good;
}

static pid_t start_worker(lab_tuner *session)
{
    fflush(stdout);
    fflush(stderr);
    pid_t watcher = getpid(), worker = fork();
    if (worker != 0)
        return worker;
    if (!lab_die_with(watcher))
        _exit(LAB_NOTHING);
    setenv("RUNG_TUNING", "off", 1); /* the defaults are what the library takes untuned */
    exit(lab_tune_work(session));
}

/* Gives up on a problem where workers end before they try anything. */
static void skip_problem(lab_tuning_run *shared)
{
    lab_tuned *tuned = lab_tune_next(shared);
    if (!tuned)
        return;
    tuned->is_done = true;
    snprintf(tuned->finals.why, sizeof tuned->finals.why, "the process that works on it ends every time");
}

static int run_workers(lab_tuner *session)
{
    lab_tuning_run *shared = session->shared;
    int barren = 0;
    while (lab_tune_next(shared) && !lab_interrupted()) {
        int64_t steps = shared->watch.steps;
        pid_t worker = start_worker(session);
        if (worker < 0)
            return complain("no process can be started; end others, or let the user have more (ulimit -u)");
        ending_t end;
        if (!wait_for(shared, worker, &end))
            return complain("the process that does the work is lost; run the same command again to resume");
        /* An exit in the midst of a candidate is a driver's. */
        bool is_own = WIFEXITED(end.status) && atomic_load(&shared->watch.since_ns) == 0;
        if (is_own && WEXITSTATUS(end.status) != LAB_AGAIN)
            return WEXITSTATUS(end.status);
        if (is_own)
            continue;
        if (!bury(session, end))
            return LAB_NOTHING;
        barren = shared->watch.steps > steps || lab_interrupted() ? 0 : barren + 1;
        if (barren == BARREN_MAX) {
            skip_problem(shared);
            barren = 0;
        }
    }
    return LAB_GOOD;
}

/* After an interruption. */
static void skip_rest(lab_tuning_run *shared)
{
    for (int i = 0; i < shared->problem_count; i++)
        if (!shared->problems[i].is_done && !shared->problems[i].is_of_another)
            snprintf(shared->problems[i].finals.why, sizeof shared->problems[i].finals.why, "interrupted");
}

/* ---- Telling ------------------------------------------------------------------------------------------ */

static void print_table(const lab_tuner *session)
{
    const lab_tuning_run *shared = session->shared;
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    printf("%s: %s (%s)\n\n", shared->device.name, shared->device.title, shared->device.platform);
    lab_table_add(
        table, 8,
        (const char *[]){"problem", "kernel", "parameters", "GFLOPS", "defaults", "ratio", "tried", "result"});
    for (int i = 0; i < shared->problem_count; i++) {
        const lab_tuned *tuned = &shared->problems[i];
        const lab_finals *finals = &tuned->finals;
        char problem[80], gflops[32] = "-", defaults[32] = "-", ratio[32] = "-", tried[32], result[320];
        if (tuned->is_of_another)
            continue;
        snprintf(problem, sizeof problem, "%lldx%lldx%lld", (long long)tuned->m, (long long)tuned->n,
                 (long long)tuned->k);
        snprintf(tried, sizeof tried, "%lld", (long long)tuned->counts.tried);
        if (finals->decided) {
            snprintf(gflops, sizeof gflops, "%.2f", finals->gflops);
            snprintf(defaults, sizeof defaults, "%.2f", finals->default_gflops);
            snprintf(ratio, sizeof ratio, "%.2fx", finals->ratio);
        }
        snprintf(result, sizeof result, "%s%s%s",
                 tuned->saved             ? "saved"
                 : tuned->record_removed  ? "record removed"
                 : tuned->record_replaced ? "record replaced by the defaults"
                 : finals->improved       ? "not saved"
                 : finals->record_stays   ? "the record stays"
                 : finals->decided        ? "the defaults stay"
                                          : "no result",
                 *finals->why ? ": " : "", finals->why);
        lab_table_add(
            table, 8,
            (const char *[]){problem, finals->kernel, finals->parameters, gflops, defaults, ratio, tried, result});
        lab_table_colour(table, tuned->saved ? LAB_BOLD : finals->decided ? LAB_PLAIN : LAB_YELLOW);
    }
    lab_table_print(table, "lllrrrrl", stdout);
    free(table);
}

/* What was tried for this problem, now or by the runs that this one went on from: the journal has it. */
static void print_trials(lab_json *json, const lab_tuning_run *shared, const lab_tuned *tuned)
{
    static const char *const words[] = {
#define X(name, word) word,
        LAB_TRIAL_LIST(X)
#undef X
    };
    lab_journal journal = {0};
    char why[1200];
    lab_json_begin(json, "trials", '[');
    bool good = *shared->path && lab_journal_open(shared->path, shared->head, &journal, why, sizeof why);
    for (int64_t i = 0; good && i < journal.count; i++) {
        const lab_trial *trial = &journal.trials[i];
        if (trial->m != tuned->m || trial->n != tuned->n || trial->k != tuned->k)
            continue;
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "kernel", trial->kernel);
        lab_json_string(json, "params", trial->parameters);
        lab_json_string(json, "result", words[trial->kind]);
        lab_json_integer(json, "ns", trial->ns);
        lab_json_end(json, '}');
    }
    lab_journal_close(&journal);
    lab_json_end(json, ']');
}

static void print_row(lab_json *json, const lab_tuner *session, const lab_tuned *tuned)
{
    const lab_finals *finals = &tuned->finals;
    const lab_tuned_device *device = &session->shared->device;
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "device", device->name);
    lab_json_string(json, "driver", device->driver);
    lab_json_string(json, "key", tuned->key);
    lab_json_string(json, "dtype", session->dtypes[0].name);
    lab_json_integer(json, "m", tuned->m);
    lab_json_integer(json, "n", tuned->n);
    lab_json_integer(json, "k", tuned->k);
    lab_json_string(json, "layout", session->options->layout ? session->options->layout : "rr");
    lab_json_string(json, "kernel", finals->kernel);
    lab_json_string(json, "params", finals->parameters);
    lab_json_number(json, "gflops", finals->gflops);
    lab_json_integer(json, "median_ns", finals->median_ns);
    lab_json_integer(json, "ci95_ns", finals->ci95_ns);
    lab_json_string(json, "default_kernel", finals->default_kernel);
    lab_json_string(json, "default_params", finals->default_parameters);
    lab_json_number(json, "default_gflops", finals->default_gflops);
    lab_json_integer(json, "default_median_ns", finals->default_median_ns);
    lab_json_integer(json, "default_ci95_ns", finals->default_ci95_ns);
    lab_json_number(json, "ratio", finals->decided ? finals->ratio : (double)NAN);
    lab_json_true(json, "improved", finals->improved);
    lab_json_true(json, "record_stays", finals->record_stays);
    lab_json_true(json, "record_removed", tuned->record_removed);
    lab_json_true(json, "record_replaced", tuned->record_replaced);
    lab_json_number(json, "record_ratio", finals->record_ratio > 0 ? finals->record_ratio : (double)NAN);
    lab_json_string(json, "challenger", finals->challenger);
    lab_json_string(json, "challenger_params", finals->challenger_parameters);
    lab_json_number(json, "challenger_ratio", finals->challenger_ratio > 0 ? finals->challenger_ratio : (double)NAN);
    lab_json_integer(json, "rounds", finals->rounds);
    lab_json_integer(json, "wins", finals->wins);
    lab_json_integer(json, "tried", tuned->counts.tried);
    lab_json_integer(json, "refused", tuned->counts.refused);
    lab_json_integer(json, "wrong", tuned->counts.wrong);
    lab_json_integer(json, "crashed", tuned->counts.crashed);
    lab_json_integer(json, "pruned", tuned->counts.pruned);
    lab_json_number(json, "seconds", tuned->seconds);
    lab_json_true(json, "saved", tuned->saved);
    lab_json_string(json, "why", finals->why);
    print_trials(json, session->shared, tuned);
    lab_json_end(json, '}');
}

static void print_json(const lab_tuner *session)
{
    const lab_tuning_run *shared = session->shared;
    const lab_tuned_device *device = &shared->device;
    rung_device_info info = {.name = device->name,
                             .backend = device->backend,
                             .title = device->title,
                             .platform = device->platform,
                             .driver = device->driver,
                             .missing = "",
                             .compute_units = device->compute_units};
    lab_json json = {.out = stdout};
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "schema", "rung-tune/1");
    lab_json_true(&json, "complete", !lab_tune_next(session->shared));
    lab_setting_print(&json, &info);
    lab_json_number(&json, "budget", (double)shared->budget_ns * 1e-9);
    lab_json_number(&json, "seconds", (double)(lab_now() - shared->began_ns) * 1e-9);
    lab_json_begin(&json, "results", '[');
    for (int i = 0; i < shared->problem_count; i++)
        if (!shared->problems[i].is_of_another)
            print_row(&json, session, &shared->problems[i]);
    lab_json_end(&json, ']');
    lab_json_end(&json, '}');
}

static void tell_classes(const lab_tuner *session)
{
    const lab_tuning_run *shared = session->shared;
    for (int i = 0; i < shared->problem_count && !session->options->quiet; i++)
        for (int j = i + 1; shared->problems[i].is_of_another && j < shared->problem_count; j++)
            if (!shared->problems[j].is_of_another && strcmp(shared->problems[i].key, shared->problems[j].key) == 0)
                fprintf(stderr,
                        "rung: %lldx%lldx%lld is of the class of %lldx%lldx%lld, which stands "
                        "for both\n",
                        (long long)shared->problems[i].m, (long long)shared->problems[i].n,
                        (long long)shared->problems[i].k, (long long)shared->problems[j].m,
                        (long long)shared->problems[j].n, (long long)shared->problems[j].k);
}

static void tell(const lab_tuner *session)
{
    tell_classes(session);
    if (session->options->json)
        print_json(session);
    else
        print_table(session);
}

/* ---- The command ---------------------------------------------------------------------------------------- */

static int export_store(const lab_options *options)
{
    char path[1024];
    int64_t changed = 0;
    const char *from = options->store;
    rung_status status = RUNG_OK;
    if (!from) {
        status = rung_tuning_path(NULL, path, sizeof path);
        from = path;
    }
    if (status == RUNG_OK && access(from, F_OK) != 0) {
        fprintf(stderr, "rung: nothing was ever saved in %s, so nothing is exported\n", from);
        return LAB_NOTHING;
    }
    if (status == RUNG_OK)
        status = rung_tuning_merge(NULL, from, options->export, &changed);
    if (status != RUNG_OK)
        return complain(rung_error_text());
    if (!options->quiet)
        fprintf(stderr, "rung: %lld records of %s are new in %s\n", (long long)changed, from, options->export);
    return LAB_GOOD;
}

/* Whether a file can be made in the folder of this path, or for the user's store in the first above it
 * that is there: the library makes two. */
static bool is_folder_open(char *path, bool makes_folders)
{
    for (int i = 0; i < (makes_folders ? 3 : 1); i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return access(".", W_OK | X_OK) == 0;
        slash[slash == path] = '\0';
        if (access(path, F_OK) == 0)
            return access(path, W_OK | X_OK) == 0;
    }
    return false;
}

/* Minutes of search are not to be spent on what cannot be kept. */
static int check_store(const lab_options *options)
{
    char path[1024], folder[1024];
    struct stat about;
    if (options->store && strlen(options->store) >= sizeof path)
        return usage("--store has too long a name");
    if (options->store)
        strcpy(path, options->store);
    else if (rung_tuning_path(NULL, path, sizeof path) != RUNG_OK)
        return complain(rung_error_text());
    strcpy(folder, path);
    bool is_file = stat(path, &about) != 0 || S_ISREG(about.st_mode);
    if (is_file && is_folder_open(folder, !options->store))
        return LAB_GOOD;
    fprintf(stderr, "rung: %s cannot be written, so nothing could be saved; name another file with --store\n", path);
    return LAB_NOTHING;
}

static int outcome_of(const lab_tuning_run *shared)
{
    int code = LAB_NOTHING;
    bool is_lost = false;
    for (int i = 0; i < shared->problem_count; i++) {
        if (shared->problems[i].counts.wrong > 0)
            return LAB_WRONG;
        is_lost = is_lost || shared->problems[i].is_lost;
        if (shared->problems[i].finals.decided)
            code = LAB_GOOD;
    }
    return is_lost ? LAB_NOTHING : code;
}

static bool is_any_done(const lab_tuning_run *shared)
{
    for (int i = 0; i < shared->problem_count; i++)
        if (shared->problems[i].is_done)
            return true;
    return false;
}

static int tune(lab_tuner *session)
{
    int code = read_options(session);
    if (code == LAB_GOOD && session->options->remove && session->options->export)
        return lab_usage("tune", "--export cannot be combined with --remove: first export, then remove");
    session->shared->began_ns = lab_now();
    if (code == LAB_GOOD)
        code = check_store(session->options);
    if (code != LAB_GOOD)
        return code;
    if (session->options->remove)
        return lab_tune_remove(session);
    lab_interrupt_watch();
    lab_progress_begin(session->options->quiet);
    code = run_workers(session);
    lab_progress_end();
    bool is_cut_short = lab_interrupted() && lab_tune_next(session->shared);
    if (is_cut_short)
        skip_rest(session->shared);
    if (code != LAB_GOOD && !is_any_done(session->shared))
        return code;
    if (!is_cut_short || *session->shared->device.name || session->options->json)
        tell(session);
    if (is_cut_short) {
        lab_interrupt_tell("what was found by then is saved; run the same command again to resume");
        return LAB_INTERRUPTED;
    }
    if (code != LAB_GOOD)
        return code; /* what was done by then is told, and saved, all the same */
    int exported = session->options->export ? export_store(session->options) : LAB_GOOD;
    code = outcome_of(session->shared);
    return code == LAB_GOOD ? exported : code;
}

int lab_command_tune(const lab_options *options)
{
    lab_tuner *session = calloc(1, sizeof *session);
    int code = LAB_NOTHING;
    if (!session)
        return code;
    session->options = options;
    session->shared = mmap(NULL, sizeof *session->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (session->shared != MAP_FAILED) {
        code = tune(session);
        munmap(session->shared, sizeof *session->shared);
    }
    free(session);
    return code;
}
