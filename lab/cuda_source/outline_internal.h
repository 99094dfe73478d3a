/* SPDX-License-Identifier: Apache-2.0 */
/* outline_internal.h - shared by the files that read the outline of a CUDA file. */
#pragma once

#include "cuda_source/cuda_outline.h"

/* Returns the ">" that closes the "<" at `open`; -1 if a statement ends first. */
int lab_outline_angle_end(const lab_tokens *tokens, int open);

/* Reads the parameters of a list without its brackets; there is room for LAB_CUDA_PARAMETERS_MAX. Returns their number. */
int lab_outline_parameters(const lab_tokens *tokens, lab_token_range list, lab_cuda_parameter *parameters);

/* Adds the launches of all functions. Returns false if memory is exhausted. */
bool lab_outline_read_launches(lab_cuda_outline *outline);
