/* SPDX-License-Identifier: Apache-2.0 */
/* warp_operations.h - the modes of shfl, vote and redux, for the decoder and the executors. */
#pragma once

typedef enum ptx_shuffle_mode {
    PTX_SHUFFLE_UP,
    PTX_SHUFFLE_DOWN,
    PTX_SHUFFLE_BUTTERFLY,
    PTX_SHUFFLE_INDEX
} ptx_shuffle_mode_t;

typedef enum ptx_vote_mode { PTX_VOTE_ALL, PTX_VOTE_ANY, PTX_VOTE_UNIFORM, PTX_VOTE_BALLOT } ptx_vote_mode_t;

typedef enum ptx_reduction {
    PTX_REDUCE_ADD,
    PTX_REDUCE_MIN,
    PTX_REDUCE_MAX,
    PTX_REDUCE_AND,
    PTX_REDUCE_OR,
    PTX_REDUCE_XOR
} ptx_reduction_t;
