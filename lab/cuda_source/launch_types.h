/* SPDX-License-Identifier: Apache-2.0 */
/* launch_types.h - types of template parameters that follow from the arguments of a call or a launch. The tokens alone tell
 * them: the declarations of variables, constructor calls such as Add{}, and literals. */
#pragma once

#include <stdio.h>

#include "cuda_source/cuda_outline.h"

/* A call or a launch. */
typedef struct lab_call_site {
    const lab_cuda_outline *outline;
    const lab_cuda_function *callee;
    const lab_token_range *arguments;
    int argument_count;
    int function; /* that contains the call; index in the outline */
    int at;       /* token where the call begins */
} lab_call_site;

/* A type in the tokens of the file. */
typedef struct lab_deduced_type {
    lab_token_range tokens;
    bool is_expression; /* the type is that of the expression, decltype(...) */
    bool is_lambda;     /* the argument is a lambda, whose type has no name */
    int parameter;      /* of the callee, whose argument tells the type */
} lab_deduced_type;

/* Finds the type of a template parameter of the callee. Returns false if the arguments do not tell it. */
bool lab_deduce_type(const lab_call_site *site, rungi_string_view name, lab_deduced_type *type);

/* Returns the struct of the file that a type names; NULL for other types. */
const lab_cuda_struct *lab_deduced_struct(const lab_cuda_outline *outline, const lab_deduced_type *type);

/* Returns whether a token of a type is left out of its name: const, static, &, *. */
bool lab_type_is_decoration(const lab_tokens *tokens, int token);
