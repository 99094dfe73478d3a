/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - rung-cluster, which rung bench --cluster runs on each rank: rung_cluster_gemm and ScaLAPACK in turn.
 *
 * A program of its own, since rung itself links no MPI and starts where there is none. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/contest.h"
#include "conditions.h"
#include "options.h"
#include "oracle.h"
#include "output_file.h"
#include "setting.h"
#include "sweep.h"
#include "target.h"

typedef struct session {
    lab_options options;
    cluster_house_t house;
    cluster_contest_t contest;
    lab_shape shapes[LAB_SWEEP_MAX];
    int shape_count;
    lab_dtype dtypes[LAB_DTYPES_MAX];
    int dtype_count;
    int64_t block, threads;
    double budget;
    bool wants_cyclic, wants_grid;
    bool any_wrong, any_right;
    lab_json json; /* its file is NULL where a table alone is asked for */
    char *text;    /* what is written to --output at the end, so that the file is whole or not replaced */
    size_t length;
    lab_conditions before;
} session_t;

/* ---- What is asked for ---------------------------------------------------------------------------------- */

static const char *read_sizes(session_t *session)
{
    const lab_options *options = &session->options;
    lab_shape *shape = &session->shapes[0];
    if (!options->m) {
        session->shape_count = lab_sweep_shapes(options->sizes ? options->sizes : "1024", session->shapes);
        return session->shape_count > 0 ? NULL
                                        : "sizes are given like --sizes 1024,2048,1x4096x512, or --m 1024 --n 64";
    }
    session->shape_count = 1;
    if (!lab_read_integer(options->m, &shape->m) || (options->n && !lab_read_integer(options->n, &shape->n)) ||
        (options->k && !lab_read_integer(options->k, &shape->k)))
        return "with --cluster, --m, --n and --k are one number each";
    shape->n = options->n ? shape->n : shape->m;
    shape->k = options->k ? shape->k : shape->m;
    return shape->m > 0 && shape->n > 0 && shape->k > 0 ? NULL : "sizes begin at 1";
}

/* NULL, or what is wrong. */
static const char *read_options(session_t *session)
{
    const lab_options *options = &session->options;
    rung_compute compute;
    const char *wrong = lab_read_dtypes(options, &compute, session->dtypes, &session->dtype_count);
    session->budget = 2;
    if (!wrong)
        wrong = read_sizes(session);
    if (wrong)
        return wrong;
    for (int i = 0; i < session->shape_count; i++)
        for (int j = 0; j < session->dtype_count; j++)
            if (16.0 * (double)session->shapes[i].k > lab_whole_limit(session->dtypes[j].product.out))
                return "with --cluster results are judged exactly, which C's type is too narrow for: take f64, or f16:f32";
    if (options->block &&
        (!lab_read_integer(options->block, &session->block) || session->block < 1 || session->block > 1 << 20))
        return "--block is a number from 1 on";
    if (options->threads && (!lab_read_integer(options->threads, &session->threads) || session->threads < 1))
        return "--threads is a number from 1 on";
    if (options->budget && (!lab_read_number(options->budget, &session->budget) || !(session->budget > 0)))
        return "--budget is a number of seconds";
    if (options->csv)
        return "with --cluster there is a table or --json";
    session->wants_cyclic = !options->layout || strcmp(options->layout, "cyclic") == 0;
    session->wants_grid = !options->layout || strcmp(options->layout, "grid") == 0;
    return session->wants_cyclic || session->wants_grid ? NULL : "with --cluster, --layout is grid or cyclic";
}

/* ---- What is there -------------------------------------------------------------------------------------- */

/* Before any BLAS is loaded, and before MPI has threads: both are to have the same one, at its best, with as many threads
 * each. */
static void prepare_blas(session_t *session)
{
    cluster_house_t *house = &session->house;
    rung_kernel *vendor = NULL;
    char threads[32];
    snprintf(threads, sizeof threads, "%lld", (long long)house->threads);
    setenv("OPENBLAS_NUM_THREADS", threads, 0);
    setenv("OMP_NUM_THREADS", threads, 0);
    setenv("MKL_NUM_THREADS", threads, 0);
    house->has_scalapack = scalapack_find_blas(house->blas, sizeof house->blas, house->why_not, sizeof house->why_not);
    if (house->has_scalapack)
        setenv("RUNG_CPU_VENDOR", house->blas, 1);
    if (rung_kernel_find(NULL, "cpu", "00", &vendor) == RUNG_OK)
        lab_peers_prepare((const rung_kernel *const[]){vendor}, 1, house->threads, &house->settings);
}

/* False with the sentence in rung_error_text(). */
static bool open_house(session_t *session)
{
    cluster_house_t *house = &session->house;
    const char *device = session->options.device ? session->options.device : "cpu";
    rung_context_options options = {.size = sizeof(rung_context_options), .device = device, .threads = house->threads};
    if (rung_context_create(&options, &house->context) != RUNG_OK ||
        rung_device_open(house->context, device, &house->device) != RUNG_OK ||
        rung_queue_create(house->device, &house->queue) != RUNG_OK)
        return false;
    if (strcmp(rung_device_describe(house->device)->backend, "cpu") == 0 &&
        rung_kernel_find(house->context, "cpu", "00", &house->vendor) != RUNG_OK)
        house->vendor = NULL;
    return true;
}

static void close_house(cluster_house_t *house)
{
    scalapack_close(&house->scalapack);
    for (int i = 0; i < CLUSTER_PLANS; i++)
        rung_plan_destroy(house->plans[i].plan);
    rung_queue_destroy(house->queue);
    rung_device_close(house->device);
    rung_context_destroy(house->context);
}

/* All ranks have it, or none: those with it would wait for those without. */
static void open_scalapack(const cluster_problem_t *problem, cluster_house_t *house)
{
    int own = house->has_scalapack && scalapack_load(&house->scalapack), all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (own && !all)
        snprintf(house->why_not, sizeof house->why_not, "ScaLAPACK is not on every rank's machine");
    house->has_scalapack = all != 0;
    if (all)
        scalapack_begin(problem, &house->scalapack);
}

/* As square as it gets. */
static void choose_processes(cluster_problem_t *problem, int ranks)
{
    problem->process_rows = 1;
    for (int64_t rows = 1; rows * rows <= ranks; rows++)
        if (ranks % rows == 0)
            problem->process_rows = rows;
    problem->process_cols = ranks / problem->process_rows;
}

/* ---- Telling --------------------------------------------------------------------------------------------- */

static bool begin_json(session_t *session)
{
    const lab_options *options = &session->options;
    if (session->house.rank != 0 || !(options->json || options->output))
        return true;
    const char *wrong = options->output ? lab_output_check(options->output) : NULL;
    if (!wrong)
        session->json.out = options->output ? open_memstream(&session->text, &session->length) : stdout;
    if (!session->json.out) {
        fprintf(stderr, "rung: %s\n", wrong ? wrong : "out of memory");
        return false;
    }
    lab_json_begin(&session->json, NULL, '{');
    lab_json_string(&session->json, "schema", "rung-cluster/1");
    lab_setting_print(&session->json, rung_device_describe(session->house.device));
    lab_json_integer(&session->json, "ranks", session->house.ranks);
    lab_json_integer(&session->json, "threads", session->house.threads);
    lab_json_string(&session->json, "blas", session->house.blas);
    lab_json_begin(&session->json, "settings", '[');
    for (int i = 0; i < session->house.settings.count; i++) {
        lab_json_begin(&session->json, NULL, '{');
        lab_json_string(&session->json, "name", session->house.settings.list[i].name);
        lab_json_string(&session->json, "value", session->house.settings.list[i].value);
        lab_json_end(&session->json, '}');
    }
    lab_json_end(&session->json, ']');
    lab_json_begin(&session->json, "results", '[');
    return true;
}

static bool save(session_t *session)
{
    lab_output_file file;
    bool good = fclose(session->json.out) == 0 && lab_output_begin(session->options.output, &file);
    if (good) {
        fwrite(session->text, 1, session->length, file.stream); /* commit checks it */
        good = lab_output_commit(&file);
    }
    if (!good)
        fprintf(stderr, "rung: %s could not be written: %s; a file that was there is unchanged\n",
                session->options.output, strerror(errno));
    free(session->text);
    return good;
}

static bool end_json(session_t *session)
{
    lab_json *json = &session->json;
    if (!json->out)
        return true;
    lab_conditions after = lab_conditions_read(rung_device_describe(session->house.device));
    lab_warnings warnings = lab_conditions_judge(
        &session->before, &after, session->house.ranks * session->house.threads, sysconf(_SC_NPROCESSORS_ONLN));
    lab_json_end(json, ']');
    lab_conditions_print(json, &session->before, &after, &warnings);
    lab_json_end(json, '}');
    if (session->options.output)
        return save(session);
    bool good = !ferror(stdout) && fflush(stdout) == 0;
    if (!good)
        fprintf(stderr, "rung: the result could not be written whole; is there room on its disk?\n");
    return good;
}

static void tell(session_t *session)
{
    bool has_table = !session->options.json || session->options.output;
    for (int i = 0; i < session->contest.count; i++) {
        session->any_right |= session->contest.contenders[i].verified;
        session->any_wrong |= !session->contest.contenders[i].verified;
    }
    if (session->house.rank != 0)
        return;
    if (has_table)
        cluster_contest_print(&session->contest, stdout);
    if (session->json.out)
        cluster_contest_write(&session->contest, &session->json);
    fflush(stdout);
}

/* ---- Running --------------------------------------------------------------------------------------------- */

static bool run_all(session_t *session)
{
    cluster_house_t *house = &session->house;
    cluster_contest_t *contest = &session->contest;
    contest->house = house;
    contest->budget_ns = (int64_t)(session->budget * 1e9);
    contest->problem.rank = house->rank;
    for (int i = 0; i < session->dtype_count * session->shape_count; i++) {
        lab_shape shape = session->shapes[i % session->shape_count];
        lab_product product = session->dtypes[i / session->shape_count].product;
        rung_type in = product.in, out = product.out;
        contest->problem.product = product;
        contest->problem.cluster = rung_cluster_problem_of(house->ranks, shape.m, shape.n, shape.k, in, in, out);
        bool good = cluster_contest_run(contest, session->wants_cyclic, session->wants_grid, session->block);
        if (good)
            tell(session);
        cluster_contest_free(contest);
        if (!good)
            return false;
    }
    return true;
}

static int bench(session_t *session)
{
    cluster_house_t *house = &session->house;
    choose_processes(&session->contest.problem, house->ranks);
    if (!open_house(session)) {
        fprintf(stderr, "rung: rank %d: %s\n", house->rank, rung_error_text());
        return LAB_NOTHING;
    }
    open_scalapack(&session->contest.problem, house);
    session->before = lab_conditions_read(rung_device_describe(house->device));
    if (house->rank == 0 && !house->has_scalapack)
        fprintf(stderr, "rung: nothing to compare with: %s\n", house->why_not);
    if (house->rank == 0 && (!session->options.json || session->options.output))
        printf("%d ranks of %lld threads each, on %s; BLAS: %s\n", house->ranks, (long long)house->threads,
               rung_device_describe(house->device)->title, *house->blas ? house->blas : "none");
    if (!begin_json(session))
        return LAB_USAGE;
    if (!run_all(session))
        cluster_give_up(house);
    if (!end_json(session))
        return LAB_USAGE;
    return session->any_wrong ? LAB_WRONG : session->any_right ? LAB_GOOD : LAB_NOTHING;
}

int main(int argc, char **argv)
{
    static session_t session;
    signal(SIGCHLD, SIG_DFL); /* if it was inherited as ignored, waitpid could not report how a child ended */
    if (argc < 2 || !lab_options_read(LAB_COMMAND_bench, argc, argv, &session.options))
        return LAB_USAGE;
    const char *wrong = read_options(&session);
    if (wrong)
        return lab_usage("bench", wrong);
    session.house.threads = session.threads > 0 ? session.threads : 1;
    prepare_blas(&session);
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        fprintf(stderr, "rung: MPI does not start\n");
        return LAB_NOTHING;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &session.house.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &session.house.ranks);
    int code = bench(&session);
    if (code != LAB_GOOD && code != LAB_WRONG) /* others may be waiting for this rank */
        MPI_Abort(MPI_COMM_WORLD, code);
    close_house(&session.house);
    MPI_Finalize();
    return code;
}
