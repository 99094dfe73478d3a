/* SPDX-License-Identifier: Apache-2.0 */
/* launch_options.h - how to launch a kernel of a plain CUDA file: from the command line, or from a comment line of the
 * file (check/launch_line.h):
 *
 *     // rung: grid=(N+15)/16,(M+15)/16 block=16,16 kernel=gemm template=64,8 shared=4096 args=lda=K,flag=1 */
#pragma once

#include "check/launch_line.h"

enum { LAB_LAUNCH_TEXT_BYTES = 512 };

/* Empty texts are not given. */
typedef struct lab_launch_options {
    char kernel[LAB_LAUNCH_TEXT_BYTES];
    char templates[LAB_LAUNCH_TEXT_BYTES];
    char grid[LAB_LAUNCH_TEXT_BYTES], block[LAB_LAUNCH_TEXT_BYTES], shared[LAB_LAUNCH_TEXT_BYTES];
    char arguments[LAB_LAUNCH_TEXT_BYTES]; /* "lda=K,flag=1" */
    int line;                              /* of the comment that gives grid or block; 0 if none does */
} lab_launch_options;

/* Copies what a comment line gives. Texts that are already given stay. Returns false, with a sentence, if a text is too
 * long. Arguments other than args=, which only rung check takes, are ignored. */
bool lab_launch_options_complete(lab_launch_options *options, const lab_launch_line *line, char *why, size_t capacity);

/* Copies a text of the command line; NULL is ignored. Returns false if it is too long. */
bool lab_launch_options_set(char to[LAB_LAUNCH_TEXT_BYTES], const char *text);
