/* SPDX-License-Identifier: Apache-2.0 */
/* contest.h - who multiplies, on one problem: verified, then timed in turn. */
#ifndef LAB_CLUSTER_CONTEST_H
#define LAB_CLUSTER_CONTEST_H

#include "cluster/matrices.h"
#include "cluster/scalapack.h"
#include "json.h"
#include "peers.h"
#include "samples.h"

/* Who multiplies what a rank has. */
typedef enum cluster_multiply { CLUSTER_PDGEMM, CLUSTER_VENDOR, CLUSTER_RUNG } cluster_multiply_t;

/* Shapes of blocks that a rank multiplies: two of rows, two of columns, and those of the last rank. */
enum { CLUSTER_PLANS = 16, CLUSTER_CONTENDERS = 5 };

typedef struct cluster_contender {
    cluster_multiply_t multiply;
    bool is_cyclic;
    bool verified;
    char why_not[512];
    lab_samples taken, ratios; /* ratios: of pdgemm's time to its own in the same round, in millionths */
    int64_t spent_ns;
    rung_cluster_report report; /* of the last run: the most of any rank */
} cluster_contender_t;

/* What stays from problem to problem. */
typedef struct cluster_house {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_kernel *vendor; /* NULL: none */
    int64_t threads;     /* of each rank */
    bool has_scalapack;
    scalapack_t scalapack;
    char blas[512];    /* the vendor's library */
    char why_not[512]; /* there is no pdgemm */
    int rank, ranks;
    struct {
        int64_t rows, cols, depth;
        rung_type in;
        rung_plan *plan;
    } plans[CLUSTER_PLANS];
    lab_settings settings;
} cluster_house_t;

typedef struct cluster_contest {
    cluster_house_t *house;
    cluster_problem_t problem;
    rung_cluster_cost cost;
    cluster_matrix_t cyclic[3], shares[3];
    cluster_contender_t contenders[CLUSTER_CONTENDERS];
    int count;
    int64_t budget_ns;
} cluster_contest_t;

/* Makes the matrices of those layouts, lets pdgemm find its best block where none is given (0), verifies and times. False
 * with the sentence in rung_error_text(). Every rank calls it, and all get the same. */
bool cluster_contest_run(cluster_contest_t *contest, bool wants_cyclic, bool wants_grid, int64_t block);
void cluster_contest_free(cluster_contest_t *contest);

/* Says what this rank's last failure was, and ends the job: a rank may be lost, and would be waited for at the end. */
_Noreturn void cluster_give_up(const cluster_house_t *house);

/* show.c: on the first rank. */
void cluster_contest_print(const cluster_contest_t *contest, FILE *out);
void cluster_contest_write(const cluster_contest_t *contest, lab_json *json);

#endif /* LAB_CLUSTER_CONTEST_H */
