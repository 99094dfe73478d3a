/* SPDX-License-Identifier: Apache-2.0 */
/* compile_message.h - how the child process that compiles sends its result to the parent. */
#pragma once

#include "cuda_source/compile_job.h"

/* Writes the result to a descriptor. */
void lab_compile_message_write(int output, lab_cuda_compile_status status, const lab_cuda_code *code, const char *why);

/* Reads the result. Returns false if the message is incomplete or memory is exhausted. */
bool lab_compile_message_read(const char *bytes, size_t count, lab_cuda_compile_status *status, lab_cuda_code *code,
                              char *why, size_t capacity);
