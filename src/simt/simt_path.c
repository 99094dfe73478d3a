/* SPDX-License-Identifier: Apache-2.0 */
/* simt_path.c - chooses the compiled path of a kernel from the layout, alignment and size of a problem (see simt.h). */
#include <stdio.h>

#include "base/try.h"
#include "core/group_check.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/quantization.h"
#include "simt/simt.h"

/* Returns the problem with C transposed. */
static rung_problem transpose(const rung_problem *problem)
{
    rung_problem transposed = *problem;
    transposed.a = rung_matrix_transpose(problem->b);
    transposed.b = rung_matrix_transpose(problem->a);
    transposed.c = rung_matrix_transpose(problem->c);
    transposed.bias = rung_matrix_transpose(problem->bias);
    transposed.residual = rung_matrix_transpose(problem->residual);
    transposed.d = rung_matrix_transpose(problem->d);
    return transposed;
}

rung_problem rungi_simt_row_major(const rung_problem *problem)
{
    return problem->c.row_stride < problem->c.col_stride ? transpose(problem) : *problem;
}

rung_problem rungi_simt_orient(const rung_kernel *kernel, const rung_problem *problem)
{
    return rungi_kernel_transposes(kernel, &problem->c) ? transpose(problem) : *problem;
}

/* Returns whether vectors of `elements` elements along one dimension are aligned, given an aligned base. */
static bool has_aligned_vectors(const rung_matrix *matrix, bool along_rows, int64_t elements)
{
    int64_t unit = along_rows ? matrix->row_stride : matrix->col_stride;
    int64_t other = along_rows ? matrix->col_stride : matrix->row_stride;
    return unit == 1 && other % elements == 0;
}

/* Returns whether vectors of four elements can be loaded: none may cross the end of k, and C is stored by them, too. */
static bool can_load_fours(const rung_problem *problem, unsigned aligned, bool a_mn_major, bool b_mn_major)
{
    bool fits_k = (a_mn_major && b_mn_major) || problem->a.cols % 4 == 0;
    return aligned & RUNGI_ALIGNED_4_ELEMENTS && fits_k && has_aligned_vectors(&problem->a, a_mn_major, 4) &&
           has_aligned_vectors(&problem->b, !b_mn_major, 4) && has_aligned_vectors(&problem->c, false, 4);
}

/* Returns whether 16-byte chunks of A and B can be copied. Chunks may cross edges. The kernel itself checks C. */
static bool can_load_chunks(const rung_problem *problem, unsigned aligned, bool a_mn_major, bool b_mn_major)
{
    int64_t chunk = 16 / rung_type_size(problem->a.type);
    return aligned & RUNGI_INPUTS_ALIGNED_16_BYTES && has_aligned_vectors(&problem->a, a_mn_major, chunk) &&
           has_aligned_vectors(&problem->b, !b_mn_major, chunk);
}

/* Returns whether 16-byte chunks of B can be loaded, none of which crosses an edge. Kernels for few rows load A and store C
 * by elements. */
static bool can_load_chunks_of_b(const rung_problem *problem, unsigned aligned, bool b_mn_major)
{
    const rung_matrix *b = &problem->b;
    int64_t chunk = 16 / rung_type_size(b->type);
    return aligned & RUNGI_INPUTS_ALIGNED_16_BYTES && (b_mn_major ? b->cols : b->rows) % chunk == 0 &&
           has_aligned_vectors(b, !b_mn_major, chunk);
}

/* Returns whether a contiguous row of A or B ends within a chunk. */
static bool has_partial_chunks(const rung_problem *problem, bool a_mn_major, bool b_mn_major)
{
    int64_t chunk = 16 / rung_type_size(problem->a.type), k = problem->a.cols;
    return (a_mn_major ? problem->a.rows : k) % chunk != 0 || (b_mn_major ? problem->b.cols : k) % chunk != 0;
}

/* ---- A narrow B -------------------------------------------------------------------------------------------------- */

/* Returns whether vectors of four elements of A and C can be loaded and stored. */
static bool can_load_fours_of_a(const rung_problem *problem, unsigned aligned, bool a_mn_major)
{
    return aligned & RUNGI_ALIGNED_4_ELEMENTS && (a_mn_major || problem->a.cols % 4 == 0) &&
           has_aligned_vectors(&problem->a, a_mn_major, 4) && has_aligned_vectors(&problem->c, false, 4);
}

/* Returns whether units of eight elements of B lie along a dimension, and none crosses an edge. */
static bool has_units(const rung_matrix *b, unsigned aligned, bool along_rows)
{
    int64_t unit = along_rows ? b->row_stride : b->col_stride, other = along_rows ? b->col_stride : b->row_stride;
    int64_t length = along_rows ? b->rows : b->cols, lines = along_rows ? b->cols : b->rows;
    return aligned & RUNGI_NARROW_B_ALIGNED && unit == 1 && length % 8 == 0 && (lines < 2 || other % 8 == 0);
}

/* Returns the rows or columns of a block as quantized.h takes them: 0 if all are in one block. */
static int64_t block_size(int64_t size, int64_t all)
{
    return size >= all ? 0 : size;
}

/* Describes scales and zero points of a matrix. */
static void describe_scales(const rung_matrix *matrix, const rung_quantization *given, rungi_simt_narrow *narrow)
{
    rung_quantization quantization;
    if (!given || rungi_quantization_read(given, &quantization) != RUNG_OK)
        return;
    narrow->scale_type = quantization.scales.type;
    narrow->zero_type = quantization.zero_points.type;
    narrow->block_rows = block_size(quantization.block_rows, matrix->rows);
    narrow->block_cols = block_size(quantization.block_cols, matrix->cols);
}

static rungi_simt_narrow describe_narrow_b(const rung_problem *problem, unsigned aligned)
{
    const rung_matrix *b = &problem->b;
    rungi_simt_narrow narrow = {.type = b->type};
    narrow.has_units = rungi_type_has_scales(b->type) || has_units(b, aligned, true) || has_units(b, aligned, false);
    describe_scales(b, problem->b_quantization, &narrow);
    return narrow;
}

/* Chooses the path of a kernel that includes quantized.h. A, C and B are loaded by vectors, or not, independently. */
static rung_status choose_narrow_path(const rung_problem *problem, unsigned aligned, rungi_simt_path *path)
{
    const rung_matrix *a = &problem->a, *b = &problem->b;
    if (rungi_type_has_scales(b->type) && !rungi_matrix_is_empty(b) && rungi_matrix_has_blocks_in_rows(b))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the blocks of B (%s) lie along n; store B as n x k and pass the transposed view",
                          rung_type_name(b->type));
    path->narrow_b = describe_narrow_b(problem, aligned);
    path->a_mn_major = a->row_stride < a->col_stride;
    path->b_mn_major = path->narrow_b.has_units ? !rungi_type_has_scales(b->type) && !has_units(b, aligned, true)
                                                : b->col_stride < b->row_stride;
    path->wide = can_load_fours_of_a(problem, aligned, path->a_mn_major);
    return RUNG_OK;
}

/* ---- A quantized A and B ----------------------------------------------------------------------------------------- */

/* Returns whether scales of this type, for blocks of `block` elements along k, are those of an instruction for blocks of
 * `grain`. */
static bool has_scales_of(const rungi_simt_narrow *narrow, rung_type type, int64_t block, int64_t grain)
{
    return narrow->scale_type == type && block % grain == 0;
}

static bool is_fp8_or_fp4(rung_type type)
{
    return rungi_type_is_f8(type) || type == RUNG_F4E2M1;
}

static bool is_fp8_with_scales(const rungi_simt_narrow *narrow, int64_t block)
{
    return rungi_type_is_f8(narrow->type) && narrow->scale_type != RUNG_F64 && block % 32 == 0;
}

/* Checks that instructions of matrix engines multiply this pair. Zero points are integers, which none of them has. */
static rung_status check_pair(const rungi_simt_narrow *a, const rungi_simt_narrow *b)
{
    int64_t a_block = a->block_cols, b_block = b->block_rows;
    bool is_mx = has_scales_of(a, RUNG_E8M0, a_block, 32) && has_scales_of(b, RUNG_E8M0, b_block, 32) &&
                 is_fp8_or_fp4(a->type) && is_fp8_or_fp4(b->type);
    bool is_nvfp4 = a->type == RUNG_F4E2M1 && b->type == RUNG_F4E2M1 && has_scales_of(a, RUNG_F8E4M3, a_block, 16) &&
                    has_scales_of(b, RUNG_F8E4M3, b_block, 16);
    bool is_fp8 = is_fp8_with_scales(a, a_block) && is_fp8_with_scales(b, b_block);
    if ((is_mx || is_nvfp4 || is_fp8) && a->zero_type == RUNG_TYPE_NONE && b->zero_type == RUNG_TYPE_NONE)
        return RUNG_OK;
    return rungi_fail(
        RUNG_STATUS_UNSUPPORTED,
        "17_block_scaled multiplies FP8 with scales for multiples of 32 elements along k, MXFP8, MXFP4 and "
        "NVFP4; it does not multiply %s (scales %s, zero points %s) x %s (scales %s, zero points %s) with "
        "blocks of %lld and %lld along k",
        rung_type_name(a->type), rung_type_name(a->scale_type), rung_type_name(a->zero_type), rung_type_name(b->type),
        rung_type_name(b->scale_type), rung_type_name(b->zero_type), (long long)a_block, (long long)b_block);
}

/* Returns whether 16-byte chunks lie along k. Chunks may cross the end of k, but no byte may. */
static bool has_chunks_along_k(const rung_matrix *matrix, unsigned aligned, bool k_is_rows)
{
    int64_t step = k_is_rows ? matrix->row_stride : matrix->col_stride;
    int64_t other = k_is_rows ? matrix->col_stride : matrix->row_stride;
    int64_t k = k_is_rows ? matrix->rows : matrix->cols, lines = k_is_rows ? matrix->cols : matrix->rows;
    int64_t elements = rungi_type_is_4_bit(matrix->type) ? 32 : 16;
    return aligned & RUNGI_INPUTS_ALIGNED_16_BYTES && step == 1 && k % (elements / 16) == 0 &&
           (lines < 2 || other % elements == 0);
}

/* Chooses the path of a kernel that includes scaled_mma.h. Guards cost little there, and one compiled kernel then serves all
 * sizes. */
static rung_status choose_pair_path(const rung_problem *problem, unsigned aligned, rungi_simt_path *path)
{
    const rung_matrix *a = &problem->a, *b = &problem->b;
    if (a->cols == 0 || a->rows == 0 || b->cols == 0) { /* nothing is read, and scales may be absent */
        path->narrow_a = path->narrow_b = (rungi_simt_narrow){.type = RUNG_F8E4M3};
        return RUNG_OK;
    }
    path->narrow_a = (rungi_simt_narrow){.type = a->type, .has_units = has_chunks_along_k(a, aligned, false)};
    path->narrow_b = (rungi_simt_narrow){.type = b->type, .has_units = has_chunks_along_k(b, aligned, true)};
    describe_scales(a, problem->a_quantization, &path->narrow_a);
    describe_scales(b, problem->b_quantization, &path->narrow_b);
    path->guarded = true;
    path->a_mn_major = !path->narrow_a.has_units && a->row_stride < a->col_stride;
    path->b_mn_major = !path->narrow_b.has_units && b->col_stride < b->row_stride;
    path->wide = path->by_chunks = path->narrow_a.has_units || path->narrow_b.has_units;
    return check_pair(&path->narrow_a, &path->narrow_b);
}

/* ---- The path ---------------------------------------------------------------------------------------------------- */

bool rungi_simt_is_wide(const rung_kernel *kernel, const rung_problem *problem, unsigned aligned)
{
    const rung_matrix *a = &problem->a, *b = &problem->b;
    bool a_mn_major = a->row_stride < a->col_stride, b_mn_major = b->col_stride < b->row_stride;
    if (!rungi_simt_has_paths(kernel))
        return false;
    if (kernel->has_short_rows)
        return can_load_chunks_of_b(problem, aligned, b_mn_major);
    return (rungi_simt_copies_chunks(kernel) ? can_load_chunks : can_load_fours)(problem, aligned, a_mn_major,
                                                                                 b_mn_major);
}

rung_status rungi_simt_path_choose(const rung_kernel *kernel, const rungi_parameter_values *values,
                                   const rung_problem *problem, unsigned aligned, rungi_simt_path *path)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    int64_t bm, bn, bk;
    *path = (rungi_simt_path){
        .in = a->type,
        .out = c->type,
        .has_compute = rungi_kernel_needs_compute_macro(kernel, problem),
        .compute = rungi_kernel_compute(kernel, problem),
        .guarded = true,
        .b_mn_major = true,
        .bias = !rungi_matrix_is_empty(&problem->bias),
        .activation = problem->activation,
        .residual = !rungi_matrix_is_empty(&problem->residual),
        .addend = !rungi_matrix_is_empty(rungi_problem_addend(problem)),
    };
    path->has_paths = rungi_simt_has_paths(kernel);
    if (!path->has_paths)
        return RUNG_OK;
    TRY(rungi_kernel_evaluate(kernel, values, rungi_string_view_of("BM", 2), &bm));
    TRY(rungi_kernel_evaluate(kernel, values, rungi_string_view_of("BN", 2), &bn));
    TRY(rungi_kernel_evaluate(kernel, values, rungi_string_view_of("BK", 2), &bk));
    if (rungi_simt_has_narrow_a(kernel))
        return choose_pair_path(problem, aligned, path);
    if (rungi_simt_has_narrow_b(kernel)) {
        path->guarded = bm < 1 || bn < 1 || bk < 1 || c->rows % bm != 0 || c->cols % bn != 0 || a->cols % bk != 0;
        return choose_narrow_path(problem, aligned, path);
    }
    bool a_mn_major = a->row_stride < a->col_stride, b_mn_major = b->col_stride < b->row_stride;
    bool by_chunks = rungi_simt_copies_chunks(kernel) || kernel->has_short_rows;
    if (bm < 1 || bn < 1 || bk < 1 || !rungi_simt_is_wide(kernel, problem, aligned))
        return RUNG_OK;
    path->wide = true;
    path->by_chunks = by_chunks;
    path->has_partial_chunks = rungi_simt_copies_chunks(kernel) && !rungi_simt_has_tensor_maps(kernel) &&
                               has_partial_chunks(problem, a_mn_major, b_mn_major);
    path->guarded = c->cols % bn != 0 || a->cols % bk != 0;
    if (!kernel->has_short_rows) /* otherwise the rows are guarded in any case */
        path->guarded |= c->rows % bm != 0;
    if (rungi_simt_copies_chunks(kernel)) /* guards cost nothing, and one compiled kernel then serves all sizes */
        path->guarded = true;
    path->a_mn_major = a_mn_major && !kernel->has_short_rows; /* A is loaded by elements in either layout */
    path->b_mn_major = b_mn_major;
    return RUNG_OK;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

static bool is_one_block(int64_t size, int64_t all)
{
    return size == 0 || size >= all;
}

/* Returns whether blocks of `own` of `all` rows, or columns, may be read as blocks of `size`. */
static bool fits_block_size(int64_t own, int64_t size, int64_t all)
{
    return own == size || (is_one_block(own, all) && is_one_block(size, all));
}

/* Adds the B of one problem to a path of a narrow B. All scales must have the same types and blocks. */
static rung_status add_narrow_b(const rung_problem *problem, const rungi_simt_path *own, bool is_first,
                                rungi_simt_path *path)
{
    rungi_simt_narrow *narrow = &path->narrow_b, added = own->narrow_b;
    rung_quantization quantization = rung_quantization_default();
    if (problem->b_quantization)
        TRY(rungi_quantization_read(problem->b_quantization, &quantization));
    added.block_rows = quantization.block_rows; /* also where this B has only one block */
    added.block_cols = quantization.block_cols;
    if (is_first) {
        *narrow = added;
        return RUNG_OK;
    }
    narrow->has_units &= added.has_units && own->b_mn_major == path->b_mn_major;
    bool rows_fit = fits_block_size(added.block_rows, narrow->block_rows, problem->b.rows);
    bool cols_fit = fits_block_size(added.block_cols, narrow->block_cols, problem->b.cols);
    if (rows_fit && cols_fit && added.scale_type == narrow->scale_type && added.zero_type == narrow->zero_type)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_UNSUPPORTED, "the scales or zero points of B have several types or block sizes");
}

/* Adds the path of one problem to the path of a group. Problems without A and B only store C. */
static rung_status add_to_group_path(const rung_plan *plan, const rung_problem *problem, bool *has_layout,
                                     rungi_simt_path *path)
{
    rungi_simt_path own;
    rung_problem oriented = rungi_simt_orient(plan->kernel, problem);
    bool has_inputs = problem->a.cols > 0;
    if (!has_inputs) { /* the layout of the group suits the empty operands */
        int64_t vector = 16;
        oriented.a = rung_matrix_of(oriented.a.type, oriented.c.rows, 0, NULL);
        oriented.b = rung_matrix_of(oriented.b.type, 0, oriented.c.cols, NULL);
        oriented.a.row_stride = oriented.b.row_stride = vector;
    }
    bool is_narrow = rungi_simt_has_narrow_b(plan->kernel);
    TRY(rungi_simt_path_choose(plan->kernel, &plan->values, &oriented, plan->alignment, &own));
    path->wide &= own.wide &&
                  (!has_inputs || !*has_layout ||
                   (own.a_mn_major == path->a_mn_major && (is_narrow || own.b_mn_major == path->b_mn_major)));
    if (has_inputs && is_narrow)
        TRY(add_narrow_b(problem, &own, !*has_layout, path));
    if (has_inputs && !*has_layout) {
        path->a_mn_major = own.a_mn_major;
        path->b_mn_major = own.b_mn_major;
    }
    *has_layout |= has_inputs;
    path->guarded |= own.guarded;
    path->has_partial_chunks |= own.has_partial_chunks;
    path->by_chunks |= own.by_chunks;
    return RUNG_OK;
}

rung_status rungi_simt_group_path_choose(const rung_plan *plan, const rung_problem *oriented, rungi_simt_path *path)
{
    bool has_layout = false;
    TRY(rungi_simt_path_choose(plan->kernel, &plan->values, oriented, 0, path)); /* the general path */
    path->is_group = true;
    path->wide = true;
    path->guarded = path->a_mn_major = false;
    for (int64_t i = 0; i < plan->group->count; i++)
        TRY(add_to_group_path(plan, &plan->group->problems[i], &has_layout, path));
    if (path->wide || rungi_simt_has_narrow_b(plan->kernel)) /* a narrow B has its own layout, and all guards */
        return RUNG_OK;
    path->by_chunks = path->has_partial_chunks = path->a_mn_major = false;
    path->guarded = path->b_mn_major = true;
    return RUNG_OK;
}

void rungi_simt_path_name(const rungi_simt_path *path, char *text, size_t capacity)
{
    static const char *const layouts[2][2] = {{"_along_k", ""}, {"_turned", "_along_l"}}; /* of A, then of B */
    bool has_epilogue = path->bias || path->residual || path->addend || path->activation != RUNG_ACTIVATION_NONE;
    const char *base = !path->has_paths ? "-" : !path->wide ? "general" : path->guarded ? "wide_guarded" : "wide";
    snprintf(text, capacity, "%s%s%s%s%s%s%s", base, path->wide ? layouts[path->a_mn_major][path->b_mn_major] : "",
             path->narrow_b.has_units ? "_units" : "", path->has_partial_chunks ? "_partly" : "",
             has_epilogue ? "_epilogue" : "", path->split ? "_split" : "", path->is_group ? "_group" : "");
}

rungi_simt_scalar rungi_simt_scalar_of(double value, rung_type type)
{
    rungi_simt_scalar scalar = {.f64 = 0};
    if (type == RUNG_F64)
        scalar.f64 = value;
    else if (type == RUNG_I32)
        scalar.u32 = (uint32_t)(int64_t)value;
    else
        scalar.f32 = (float)value;
    return scalar;
}
