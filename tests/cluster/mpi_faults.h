/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_faults.h - an MPI_Isend that fails when it is told to: linked into a test, or loaded before a program (LD_PRELOAD), where
 * RUNG_TEST_FAULT=RANK:NUMBER says which rank's and which of its calls. */
#ifndef TEST_MPI_FAULTS_H
#define TEST_MPI_FAULTS_H

extern int fault_at;    /* the number of the call that fails; 0: none */
extern int fault_sends; /* calls so far */

#endif /* TEST_MPI_FAULTS_H */
