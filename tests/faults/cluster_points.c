/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_points.c - makes each call of librung on one of two MPI ranks fail once, and checks what both ranks report.
 *
 *   cluster_points list                                  prints the scenarios and what each needs
 *   cluster_points SCENARIO count                        prints the number of calls that can fail
 *   cluster_points SCENARIO once|from-on [FIRST [COUNT [EVERY]]]
 *                                                        prints one line per point: number, call, outcome, detail
 *
 * The program starts itself with mpirun, as jobs that run up to 64 points each. A point has its own communicator. A job ends after a
 * point in which a rank died, hung, or was missing when the communicator was duplicated, and another job goes on with the next point.
 *
 * Only calls of rung's libraries on one rank fail, and functions of MPI that these libraries call (wrapped_mpi.c). MPI's own calls
 * do not. Outcomes are those of fault_points.c. These are wrong:
 *
 *   - a wrong result, or a failure without a sentence
 *   - one rank fails, and the other one succeeds, unless MPI failed when it completed the last message
 *   - a sentence that does not name the rank whose call failed, unless MPI failed
 *   - RUNG_STATUS_DEVICE_LOST, unless MPI failed
 *   - a changed C, if a call of librung-cluster-mpi had no memory: this is found before any data is sent
 *   - a next call on the communicator that fails, or succeeds after RUNG_STATUS_DEVICE_LOST
 *
 * After RUNG_STATUS_DEVICE_LOST the library keeps its memory, because MPI may write to it: then only descriptors, threads and files
 * are compared. RUNG_FAULTS_CLASSES selects classes of calls (bits of fault_class), RUNG_MPIEXEC the launcher. RUNG_FAULTS_SECONDS and
 * RUNG_FAULTS_LIST have the same meaning as for fault_points. The exit code is 1 unless every outcome is reported or worked, and 77 if
 * the scenario does not work without a fault. */
#define _GNU_SOURCE /* mkdtemp, prctl */
#include "cluster_scenarios.h"
#include "fault_calls.h"
#include "fault_outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CLUSTER_MPIEXEC
#define CLUSTER_MPIEXEC "mpirun"
#endif

enum { POINTS_PER_JOB = 64, WARM_UPS = 2, REPORT_BYTES = 400 };

typedef struct point {
    int64_t number;
    fault_outcome outcome;
    char call[FAULT_RECORD_BYTES], detail[FAULT_DETAIL_BYTES];
} point_t;

/* Shared by the first process and both ranks. */
typedef struct job {
    char scenario[64];
    int64_t first, every, calls;
    int32_t count, mode, classes;
    atomic_int begun, done; /* points of this job */
    atomic_int is_warm, is_exhausted, has_hung;
    fault_state state;                /* of the rank with the fault */
    char problem[FAULT_DETAIL_BYTES]; /* of a call without a fault */
    point_t points[POINTS_PER_JOB];
} job_t;

static job_t *job;

static job_t *map_job(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool is_open = file >= 0 && ftruncate(file, sizeof(job_t)) == 0;
    void *memory = is_open ? mmap(NULL, sizeof(job_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    if (file >= 0)
        close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

static const cluster_scenario *find_scenario(const char *name)
{
    for (const cluster_scenario *scenario = cluster_scenarios; scenario->name; scenario++) {
        if (!name)
            printf("%s\t%s\n", scenario->name, scenario->is_planted ? "planted" : "mpi");
        else if (strcmp(scenario->name, name) == 0)
            return scenario;
    }
    return NULL;
}

/* ---- One point on a rank ----------------------------------------------------------------------------------------------- */

static int rank;

/* What happened on a rank. */
typedef struct rank_report {
    rung_status first, next; /* the call with the fault, and the one after it */
    bool has_failed;         /* the wrapped call */
    bool is_first_right, is_next_right, is_clear;
    int failed_class;
    fault_held before, after;
    char first_text[REPORT_BYTES], next_text[REPORT_BYTES];
} rank_report_t;

static void copy_text(rung_status status, char *text)
{
    snprintf(text, REPORT_BYTES, "%s", status == RUNG_OK ? "" : rung_error_text());
}

/* Returns whether the condition is true on all ranks. */
static bool is_on_all(bool is_here)
{
    int here = is_here, all;
    PMPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

static MPI_Comm create_comm(void)
{
    MPI_Comm comm;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static rung_status run_once(const cluster_scenario *scenario, MPI_Comm comm, bool *is_right)
{
    rung_status status = scenario->run(comm, rank);
    *is_right = status == RUNG_OK && scenario->is_right(rank);
    return status;
}

/* Runs the call with the fault, the one after it, and frees the communicator, unless messages may be in flight. The fault may come
 * while the communicator is freed. */
static rank_report_t run_point(const cluster_scenario *scenario, int64_t fail_at)
{
    rank_report_t report = {.before = fault_measure_held()};
    MPI_Comm comm = create_comm();
    cluster_scenario_open();
    cluster_scenario_clear_c();
    if (rank == scenario->faulty_rank)
        fault_arm(fail_at, (fault_mode)job->mode, job->classes);
    report.first = run_once(scenario, comm, &report.is_first_right);
    copy_text(report.first, report.first_text);
    report.is_clear = cluster_scenario_c_is_clear();
    if (is_on_all(report.first == RUNG_OK && !fault_has_failed())) {
        PMPI_Comm_free(&comm);
        comm = MPI_COMM_NULL;
    }
    fault_disarm();
    report.has_failed = fault_has_failed();
    report.failed_class = job->state.failed_class;
    if (comm == MPI_COMM_NULL)
        comm = create_comm();
    cluster_scenario_clear_c();
    report.next = run_once(scenario, comm, &report.is_next_right);
    copy_text(report.next, report.next_text);
    cluster_scenario_close();
    fault_held expected = report.before;
    if (is_on_all(report.first != RUNG_STATUS_DEVICE_LOST && report.next != RUNG_STATUS_DEVICE_LOST))
        PMPI_Comm_free(&comm);
    else
        expected.allocations = INT64_MAX;
    report.after = fault_wait_until_released(&expected);
    return report;
}

/* ---- The judgement of all reports, on rank 0 ----------------------------------------------------------------------------- */

/* A call of librung-cluster-mpi itself is not one of a local multiplication. */
static bool must_leave_output(rung_status status)
{
    const char *caller = strchr(job->state.record, ' ');
    bool is_own = caller && strncmp(caller, " librung-cluster-mpi", 20) == 0;
    return fault_leaves_output(status) || (status == RUNG_STATUS_NO_MEMORY && is_own);
}

static fault_outcome judge_rank(const rank_report_t *report, const cluster_scenario *scenario, bool has_mpi_failed,
                                bool is_lost, char *text)
{
    char name[16];
    snprintf(name, sizeof name, "rank %d", scenario->faulty_rank);
    bool is_named = has_mpi_failed || report->first == RUNG_OK || strstr(report->first_text, name);
    const char *problem = NULL;
    if (report->first == RUNG_OK && !report->is_first_right)
        problem = "the result is wrong";
    else if (report->first != RUNG_OK && strlen(report->first_text) < 10)
        problem = "there is no sentence";
    else if (must_leave_output(report->first) && !report->is_clear)
        problem = "the output was changed";
    else if (!is_named)
        problem = "the sentence does not name the rank";
    else if (report->first == RUNG_STATUS_DEVICE_LOST && !has_mpi_failed)
        problem = "the communicator is lost";
    else if (is_lost && (report->next == RUNG_OK || strlen(report->next_text) < 10))
        problem = "the communicator is lost, and the next call works or has no sentence";
    else if (!is_lost && (report->next != RUNG_OK || !report->is_next_right))
        problem = "the next call fails";
    if (problem)
        snprintf(text, FAULT_DETAIL_BYTES, "%s: %.80s; next call: %.80s", problem, report->first_text,
                 report->next_text);
    return problem ? FAULT_WRONG : report->first == RUNG_OK ? FAULT_WORKED : FAULT_REPORTED;
}

static bool has_leaked(const rank_report_t *report, bool is_memory_kept, char *text)
{
    fault_held after = report->after;
    if (is_memory_kept)
        after.allocations = report->before.allocations;
    if (!fault_holds_more(&after, &report->before))
        return false;
    fault_describe_leak(&after, &report->before, text, FAULT_DETAIL_BYTES);
    return true;
}

static fault_outcome judge(const rank_report_t *reports, const cluster_scenario *scenario, char *text)
{
    const rank_report_t *faulty = &reports[scenario->faulty_rank];
    bool has_mpi_failed = faulty->has_failed && faulty->failed_class == FAULT_DRIVERS, is_lost = false;
    bool is_split = (reports[0].first == RUNG_OK) != (reports[1].first == RUNG_OK);
    fault_outcome outcome = FAULT_WORKED;
    for (int i = 0; i < CLUSTER_RANKS; i++)
        is_lost = is_lost || reports[i].first == RUNG_STATUS_DEVICE_LOST;
    for (int i = 0; i < CLUSTER_RANKS; i++) {
        char problem[FAULT_DETAIL_BYTES];
        fault_outcome found = judge_rank(&reports[i], scenario, has_mpi_failed, is_lost, problem);
        if (found == FAULT_WRONG) {
            snprintf(text, FAULT_DETAIL_BYTES, "rank %d: %.240s", i, problem);
            return FAULT_WRONG;
        }
        if (found == FAULT_REPORTED) {
            snprintf(text, FAULT_DETAIL_BYTES, "%.250s", reports[i].first_text);
            outcome = FAULT_REPORTED;
        }
    }
    if (is_split && strncmp(job->state.record, "MPI_Test", 8) != 0) {
        snprintf(text, FAULT_DETAIL_BYTES, "one rank fails, and the other one succeeds");
        return FAULT_WRONG;
    }
    for (int i = 0; i < CLUSTER_RANKS; i++)
        if (has_leaked(&reports[i], has_mpi_failed, text))
            return FAULT_LEAKED;
    return outcome;
}

/* OpenMPI duplicates one communicator at a time: behind one that is never complete, all others wait forever. */
static bool blocks_mpi(const rank_report_t *reports)
{
    for (int i = 0; i < CLUSTER_RANKS; i++)
        if (strstr(reports[i].first_text, "has not called") || strstr(reports[i].next_text, "has not called"))
            return true;
    return false;
}

/* ---- A job -------------------------------------------------------------------------------------------------------------- */

static void end_hung_job(int signal)
{
    (void)signal;
    atomic_store(&job->has_hung, 1);
    _exit(1);
}

/* Sets reports[0] and [1] on both ranks. */
static void run_on_all(const cluster_scenario *scenario, int64_t fail_at, rank_report_t *reports)
{
    alarm(fault_seconds_max());
    rank_report_t report = run_point(scenario, fail_at);
    PMPI_Allgather(&report, sizeof report, MPI_BYTE, reports, sizeof report, MPI_BYTE, MPI_COMM_WORLD);
    alarm(fault_seconds_max());
}

/* The first calls of a process allocate what it keeps. */
static bool warm_up(const cluster_scenario *scenario)
{
    rank_report_t reports[CLUSTER_RANKS];
    char text[FAULT_DETAIL_BYTES] = "";
    for (int i = 0; i < WARM_UPS; i++)
        run_on_all(scenario, 0, reports);
    bool is_warm = judge(reports, scenario, text) == FAULT_WORKED;
    if (rank == 0)
        snprintf(job->problem, sizeof job->problem, "%s", text);
    if (rank == scenario->faulty_rank)
        job->calls = atomic_load(&job->state.calls);
    atomic_store(&job->is_warm, is_warm);
    return is_warm;
}

/* Returns whether the job can go on. */
static bool run_point_of_job(const cluster_scenario *scenario, int i)
{
    rank_report_t reports[CLUSTER_RANKS];
    point_t *point = &job->points[i];
    if (rank == 0) {
        point->number = job->first + i * job->every;
        memset(point->call, 0, sizeof point->call);
        atomic_store(&job->begun, i + 1);
    }
    is_on_all(true);
    run_on_all(scenario, job->points[i].number, reports);
    bool is_reached = reports[scenario->faulty_rank].has_failed;
    if (rank == 0) {
        char text[FAULT_DETAIL_BYTES] = "";
        point->outcome = judge(reports, scenario, text);
        if (!is_reached && point->outcome == FAULT_WORKED) {
            point->outcome = FAULT_NOT_REACHED;
            atomic_store(&job->is_exhausted, 1);
        }
        snprintf(point->detail, sizeof point->detail, "%s", text);
        snprintf(point->call, sizeof point->call, "%s", job->state.record);
        atomic_store(&job->done, i + 1);
    }
    is_on_all(true);
    if (blocks_mpi(reports))
        _exit(0);
    return is_reached;
}

static int run_job(const char *path, int *count, char ***words)
{
    job = map_job(path);
    if (!job)
        return 2;
    signal(SIGALRM, end_hung_job);
    alarm(fault_seconds_max());
    PMPI_Init(count, words);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const cluster_scenario *scenario = find_scenario(job->scenario);
    if (scenario && rank == scenario->faulty_rank)
        fault_use_state(&job->state);
    if (scenario && fault_finds_next_function() && warm_up(scenario))
        for (int i = 0; i < job->count && run_point_of_job(scenario, i); i++)
            continue;
    PMPI_Finalize();
    return 0;
}

/* ---- The first process -------------------------------------------------------------------------------------------------- */

static void start_job(const char *folder, const char *path)
{
    char program[512];
    const char *launcher = getenv("RUNG_MPIEXEC");
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* the launcher ends together with this program */
    setenv("HOME", folder, 1);
    setenv("RUNG_CLUSTER_JOB", path, 1);
    setenv("RUNG_FAULTS_HELD", "1", 1); /* read when the library is loaded */
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_btl_base_warn_component_unused", "0", 1);
    bool is_quiet = !getenv("RUNG_FAULTS_LIST");
    if (!freopen("/dev/null", "r", stdin) || /* the launcher would read it */
        (is_quiet && (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))))
        _exit(2);
    if (!launcher)
        launcher = CLUSTER_MPIEXEC;
#ifdef OPEN_MPI
    execlp(launcher, launcher, "-n", "2", "--oversubscribe", program, (char *)NULL);
#else
    execlp(launcher, launcher, "-n", "2", program, (char *)NULL);
#endif
    _exit(2);
}

/* Runs points of a scenario. */
static void run_in_job(const char *folder, const char *path, int64_t first, int64_t count)
{
    job->first = first;
    job->count = (int32_t)(count < POINTS_PER_JOB ? count : POINTS_PER_JOB);
    atomic_store(&job->begun, 0);
    atomic_store(&job->done, 0);
    atomic_store(&job->is_warm, 0);
    atomic_store(&job->has_hung, 0);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        start_job(folder, path);
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
}

/* Completes the point in which a rank ended. Returns whether there is one. */
static bool complete_last_point(void)
{
    int begun = atomic_load(&job->begun), done = atomic_load(&job->done);
    if (begun == done)
        return false;
    point_t *point = &job->points[done];
    point->outcome = atomic_load(&job->has_hung) ? FAULT_HUNG : FAULT_ABORTED;
    snprintf(point->call, sizeof point->call, "%s", job->state.record);
    snprintf(point->detail, sizeof point->detail, "%s",
             point->outcome == FAULT_HUNG ? "a rank did not return" : "a rank ended");
    atomic_store(&job->done, done + 1);
    return true;
}

static bool print_points(void)
{
    bool is_good = true;
    for (int i = 0; i < atomic_load(&job->done); i++) {
        point_t *point = &job->points[i];
        if (point->outcome == FAULT_NOT_REACHED)
            break;
        fault_make_one_line(point->detail);
        printf("%lld\t%s\t%s\t%s\n", (long long)point->number, point->call, fault_outcome_names[point->outcome],
               point->detail);
        is_good = is_good && (point->outcome == FAULT_WORKED || point->outcome == FAULT_REPORTED);
    }
    fflush(stdout);
    return is_good;
}

static void report_problem(void)
{
    fprintf(stderr, "%s: it does not work without a fault, either: %s\n", job->scenario,
            job->problem[0] ? job->problem : "the job does not start; RUNG_FAULTS_LIST=1 prints its messages");
}

static int run_points(const char *folder, const char *path, int64_t first, int64_t count)
{
    int code = 0;
    while (count > 0 && !atomic_load(&job->is_exhausted)) {
        run_in_job(folder, path, first, count);
        complete_last_point();
        int done = atomic_load(&job->done);
        if (!atomic_load(&job->is_warm) || done == 0) {
            report_problem();
            return 77;
        }
        if (!print_points())
            code = 1;
        first += done * job->every;
        count -= done;
    }
    return code;
}

static int print_count(const char *folder, const char *path)
{
    run_in_job(folder, path, 1, 0);
    if (!atomic_load(&job->is_warm)) {
        report_problem();
        return 77;
    }
    printf("%lld\n", (long long)job->calls);
    return 0;
}

int main(int count, char **words)
{
    const char *path = getenv("RUNG_CLUSTER_JOB"), *classes = getenv("RUNG_FAULTS_CLASSES");
    char folder[] = "/tmp/rung-faults-XXXXXX", file[64];
    if (path)
        return run_job(path, &count, &words);
    if (count == 2 && strcmp(words[1], "list") == 0) {
        find_scenario(NULL);
        return 0;
    }
    if (count < 3 || !find_scenario(words[1])) {
        fprintf(stderr, "cluster_points: see the first comment of cluster_points.c for the arguments\n");
        return 2;
    }
    if (!mkdtemp(folder))
        return 2;
    snprintf(file, sizeof file, "%s/job", folder);
    job = map_job(file);
    if (!job)
        return 2;
    snprintf(job->scenario, sizeof job->scenario, "%s", words[1]);
    job->mode = strcmp(words[2], "from-on") == 0 ? FAULT_FROM_ON : FAULT_ONCE;
    job->classes = classes ? atoi(classes) : FAULT_ALL_CLASSES;
    job->every = count > 5 && atoll(words[5]) > 0 ? atoll(words[5]) : 1;
    int code = strcmp(words[2], "count") == 0 ? print_count(folder, file)
                                              : run_points(folder, file, count > 3 ? atoll(words[3]) : 1,
                                                           count > 4 ? atoll(words[4]) : INT64_MAX / 2);
    fault_remove_folder(folder);
    return code;
}
