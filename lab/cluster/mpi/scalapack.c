/* SPDX-License-Identifier: Apache-2.0 */
/* scalapack.c - see scalapack.h. */
#define _GNU_SOURCE /* dladdr, pipe2 */
#include "cluster/mpi/scalapack.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each MPI has one of its own. */
#if defined(OPEN_MPI)
static const char library_name[] = "libscalapack-openmpi.so.2.2";
static const char package[] = "libscalapack-openmpi2.2";
#else
static const char library_name[] = "libscalapack-mpich.so.2.2";
static const char package[] = "libscalapack-mpich2.2";
#endif

static void *open_library(void)
{
    const char *named = getenv("RUNG_SCALAPACK");
    return dlopen(named && *named ? named : library_name, RTLD_NOW | RTLD_GLOBAL);
}

/* In the child. */
static void write_blas_path(int pipe)
{
    Dl_info found;
    void *library = open_library(), *dgemm = library ? dlsym(library, "dgemm_") : NULL;
    char path[4096];
    if (!dgemm || !dladdr(dgemm, &found) || !realpath(found.dli_fname, path))
        _exit(1);
    _exit(write(pipe, path, strlen(path)) < 0);
}

bool lab_scalapack_find_blas(char *path, size_t capacity, char *reason, size_t reason_capacity)
{
    int ends[2], outcome = -1;
    size_t used = 0;
    ssize_t got;
    snprintf(reason, reason_capacity,
             "%s, or the BLAS behind it, was not found: install %s (Debian), or let RUNG_SCALAPACK name "
             "it",
             library_name, package);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        write_blas_path(ends[1]);
    }
    close(ends[1]);
    while (child > 0 && used + 1 < capacity && (got = read(ends[0], path + used, capacity - 1 - used)) > 0)
        used += (size_t)got;
    path[used] = '\0';
    close(ends[0]);
    return child > 0 && waitpid(child, &outcome, 0) == child && outcome == 0 && used > 0;
}

bool lab_scalapack_load(lab_scalapack *scalapack)
{
    memset(scalapack, 0, sizeof *scalapack);
    scalapack->library = open_library();
    if (!scalapack->library)
        return false;
    /* A function's address by way of an object's, as POSIX has it. */
    *(void **)&scalapack->get = dlsym(scalapack->library, "Cblacs_get");
    *(void **)&scalapack->grid_init = dlsym(scalapack->library, "Cblacs_gridinit");
    *(void **)&scalapack->grid_exit = dlsym(scalapack->library, "Cblacs_gridexit");
    *(void **)&scalapack->pdgemm = dlsym(scalapack->library, "pdgemm_");
    *(void **)&scalapack->psgemm = dlsym(scalapack->library, "psgemm_");
    if (!scalapack->get || !scalapack->grid_init || !scalapack->grid_exit || !scalapack->pdgemm || !scalapack->psgemm) {
        scalapack->library = NULL;
        return false;
    }
    scalapack->context = -1;
    return true;
}

void lab_scalapack_begin(const lab_cluster_problem *problem, lab_scalapack *scalapack)
{
    scalapack->get(-1, 0, &scalapack->context);
    scalapack->grid_init(&scalapack->context, "Row", (int)problem->process_rows, (int)problem->process_cols);
}

void lab_scalapack_close(lab_scalapack *scalapack)
{
    if (scalapack->library && scalapack->context >= 0)
        scalapack->grid_exit(scalapack->context);
    scalapack->library = NULL; /* it stays loaded: MPI may hold its functions */
}

/* Writes the descriptor of a block-cyclic matrix. */
static void write_descriptor(const lab_cluster_matrix *matrix, int context, int descriptor[9])
{
    const rung_cluster_cyclic *cyclic = &matrix->matrix.cyclic;
    int64_t rows = matrix->matrix.rows, cols = matrix->matrix.cols;
    int64_t numbers[9] = {1, context, rows, cols, cyclic->row_block, cyclic->col_block, 0, 0, cyclic->ld};
    for (int i = 0; i < 9; i++)
        descriptor[i] = (int)numbers[i];
}

void lab_scalapack_multiply(const lab_scalapack *scalapack, const lab_cluster_matrix *a, const lab_cluster_matrix *b,
                            const lab_cluster_matrix *c)
{
    int first = 1, m = (int)c->matrix.rows, n = (int)c->matrix.cols, k = (int)a->matrix.cols;
    int of_a[9], of_b[9], of_c[9];
    if (scalapack->context < 0) /* more ranks than processes */
        return;
    write_descriptor(a, scalapack->context, of_a);
    write_descriptor(b, scalapack->context, of_b);
    write_descriptor(c, scalapack->context, of_c);
    if (a->matrix.type == RUNG_F64)
        scalapack->pdgemm("N", "N", &m, &n, &k, &(double){1}, a->matrix.data, &first, &first, of_a, b->matrix.data,
                          &first, &first, of_b, &(double){0}, c->matrix.data, &first, &first, of_c);
    else
        scalapack->psgemm("N", "N", &m, &n, &k, &(float){1}, a->matrix.data, &first, &first, of_a, b->matrix.data,
                          &first, &first, of_b, &(float){0}, c->matrix.data, &first, &first, of_c);
}
