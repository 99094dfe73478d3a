/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_choice.h - which kernel of a CUDA file a launch is for: by its name, its template arguments and its parameters. */
#pragma once

#include "check/check_session.h"

/* Finds the kernel of a launch. Of kernels with the same name, the arguments decide. Returns false with a sentence for the
 * user. */
bool lab_check_find_kernel(const lab_check_session *session, const lab_launch_line *line, int *kernel, char *why,
                           size_t capacity);

/* Writes the names of the kernels, separated by commas. */
void lab_check_list_kernels(const lab_cuda_outline *outline, char *text, size_t capacity);

/* Returns the template arguments of a kernel: those of the launch line, or else those of a launch or of an instantiation in the
 * file. Empty if the file does not instantiate the template. */
rungi_string_view lab_check_templates(const lab_check_session *session, const lab_launch_line *line,
                                      const lab_cuda_function *function);

/* Writes a kernel's name with a cast to its type, which chooses among functions of the same name. Returns false for
 * templates. */
bool lab_check_write_cast(const lab_cuda_outline *outline, const lab_cuda_function *function, char *text,
                          size_t capacity);

/* Returns the element type that a pointer's words name; LAB_ELEMENT_TYPE_COUNT if only the compiler knows it. */
lab_element_type lab_check_pointed_type(const lab_tokens *tokens, lab_token_range type);

/* Returns the name of a parameter; one without a name is p0, p1 and so on. */
void lab_check_parameter_name(const lab_cuda_outline *outline, const lab_cuda_function *function, int index, char *name,
                              size_t capacity);

/* Returns the parameter that an argument is for, which may be a field of the parameter; -1 for an unknown name. */
int lab_check_find_parameter(const lab_cuda_outline *outline, const lab_cuda_function *function,
                             rungi_string_view name);

/* Returns whether a parameter is a pointer or an array. */
bool lab_check_is_pointer(const lab_cuda_outline *outline, const lab_cuda_parameter *parameter);
