/* SPDX-License-Identifier: Apache-2.0 */
/* launch_line.h - one launch, described in one line of --launch or of a comment of the file. rung check runs it; rung verify
 * and rung explain take the configuration and the roles of parameters from it:
 *
 *     // rung: grid=(n+255)/256 block=256 x=f32[n] y=f32[n]:zero n=1000 a=2.5
 *     // rung: grid=(N+15)/16,(M+15)/16 block=16,16 kernel=gemm template=64,8 args=width=K,flag=1 */
#pragma once

#include "check/element_type.h"

/* What an array contains before the launch. */
typedef enum lab_contents {
    LAB_CONTENTS_random, /* floats in [-1, 1), integers from 0 to 9 */
    LAB_CONTENTS_zero,
    LAB_CONTENTS_ones,
    LAB_CONTENTS_iota, /* 0, 1, 2, ... */
    LAB_CONTENTS_none, /* uninitialised */
    LAB_CONTENTS_FILE
} lab_contents;

/* One NAME=VALUE. */
typedef struct lab_launch_argument {
    rungi_string_view name;  /* "x", or "A.width" for a field of a struct */
    rungi_string_view value; /* an expression, or the name of an array */
    bool is_array;           /* VALUE is TYPE[COUNT]:CONTENTS */
    lab_element_type type;
    rungi_string_view count;
    bool has_contents; /* otherwise they are the default */
    lab_contents contents;
    rungi_string_view file; /* of LAB_CONTENTS_FILE */
} lab_launch_argument;

enum { LAB_LINE_ARGUMENTS_MAX = 64, LAB_LINES_MAX = 64 };

/* Views are empty if they are not given. */
typedef struct lab_launch_line {
    rungi_string_view kernel, templates, grid, block, shared, cluster;
    rungi_string_view roles;       /* args=: meaning or value of parameters, for rung verify and rung explain */
    rungi_string_view cooperative; /* "1": all blocks run at the same time, so that grid.sync() works */
    lab_launch_argument arguments[LAB_LINE_ARGUMENTS_MAX];
    int argument_count;
    int line; /* of the file; 0 for --launch */
} lab_launch_line;

typedef struct lab_launch_lines {
    lab_launch_line *items; /* for free() */
    int count;
} lab_launch_lines;

/* Reads the launches of --launch, which newlines or semicolons separate. Lines point into the text. Returns false with a
 * sentence for the user. */
bool lab_launch_lines_read(const char *text, lab_launch_lines *lines, char *why, size_t capacity);

/* Reads the comment lines of a file that begin with "// rung:". */
bool lab_launch_lines_read_comments(const char *text, size_t bytes, lab_launch_lines *lines, char *why,
                                    size_t capacity);
