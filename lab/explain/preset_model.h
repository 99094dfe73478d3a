/* SPDX-License-Identifier: Apache-2.0 */
/* preset_model.h - predicts one kernel with one set of parameters for many problems.
 *
 * The predictions are those of lab_explain(). They are faster for many problems: the kernel is compiled once per path, and
 * the memory accesses are counted once per form of a block. Batches and split-K are predicted, too. */
#pragma once

#include "explain/explain.h"

/* A problem with row-major, dense operands. `splits` slices of k are multiplied by different blocks. */
typedef struct lab_model_problem {
    int64_t m, n, k, batch, splits;
} lab_model_problem;

typedef struct lab_preset_model lab_preset_model;

/* Creates a model of the kernel, parameters, type and GPU of the request, whose sizes do not matter. Returns NULL, with a
 * sentence in `why`, if the kernel or the type is invalid. */
lab_preset_model *lab_preset_model_create(const lab_explain_request *request, char *why, size_t capacity);
void lab_preset_model_free(lab_preset_model *model);

/* Tile of C per block, step along k, and rows of tiles that neighbouring blocks compute together. */
typedef struct lab_preset_tile {
    int64_t bm, bn, bk, group;
} lab_preset_tile;

lab_preset_tile lab_preset_model_tile(const lab_preset_model *model);

/* Predicts a problem. Returns false, with a sentence, if the kernel does not support it or an input is missing. The
 * prediction is the one of the multiplication: with splits > 1, add lab_reduction_seconds(). `resident` receives the
 * blocks per multiprocessor and may be NULL. */
bool lab_preset_model_predict(lab_preset_model *model, const lab_model_problem *problem, lab_prediction *prediction,
                              int64_t *resident, char *why, size_t capacity);

/* Computes a time that no prediction of the problem is below, without the simulation of the loop, which takes most of the
 * time of a prediction: the busiest unit of a multiprocessor, or DRAM, works all the time. Returns false, with a sentence,
 * as lab_preset_model_predict() does. */
bool lab_preset_model_bound(lab_preset_model *model, const lab_model_problem *problem, double *seconds, char *why,
                            size_t capacity);

/* Returns the length of a slice of k: a multiple of the kernel's step. */
int64_t lab_slice_length(int64_t k, int64_t splits, int64_t bk);

/* Predicts the second launch of split-K. It reads the partial sums, from L2 if they fit half of it, and writes C. */
double lab_reduction_seconds(const lab_gpu *machine, lab_type_pair product, const lab_model_problem *problem);
