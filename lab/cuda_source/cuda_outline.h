/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_outline.h - the outline of a CUDA C++ file: its functions, kernels, structs and launches, read from the tokens
 * alone. Macros are not expanded, so the outline may miss what a macro hides. */
#pragma once

#include "cuda_source/cuda_tokens.h"

typedef enum lab_function_kind {
    LAB_FUNCTION_HOST,
    LAB_FUNCTION_DEVICE, /* __device__, also with __host__ */
    LAB_FUNCTION_KERNEL  /* __global__ */
} lab_function_kind;

/* Tokens from `first` to `last`; empty if last < first. */
typedef struct lab_token_range {
    int first, last;
} lab_token_range;

/* One parameter of a function or of a template. */
typedef struct lab_cuda_parameter {
    lab_token_range type;   /* "const float *__restrict__"; of a template "int" or "typename" */
    int name;               /* token; -1 if the parameter has no name */
    lab_token_range preset; /* the default value, may be empty */
} lab_cuda_parameter;

enum { LAB_CUDA_PARAMETERS_MAX = 32, LAB_CUDA_SCOPE_BYTES = 128 };

typedef struct lab_cuda_function {
    lab_function_kind kind;
    int name;                         /* token */
    char scope[LAB_CUDA_SCOPE_BYTES]; /* "space::" for a function of a namespace; "" at the top */
    bool is_member;                   /* of a class */
    lab_token_range whole;            /* with template<...> and body */
    lab_token_range body;             /* with its braces; empty for a declaration */
    lab_cuda_parameter template_parameters[LAB_CUDA_PARAMETERS_MAX];
    int template_count; /* -1: not a template */
    lab_cuda_parameter parameters[LAB_CUDA_PARAMETERS_MAX];
    int parameter_count;
    bool has_more_parameters; /* than fit */
} lab_cuda_function;

/* A struct or class with a body. */
typedef struct lab_cuda_struct {
    int name; /* token */
    char scope[LAB_CUDA_SCOPE_BYTES];
    lab_token_range templates; /* between < and > of template<...>; may be empty */
    lab_token_range body;
} lab_cuda_struct;

enum { LAB_CUDA_ARGUMENTS_MAX = 32 };

/* kernel<templates><<<grid, block, shared, stream>>>(arguments), or a call of cudaLaunchKernel() or
 * cudaLaunchCooperativeKernel(). A variable that holds the kernel is replaced by the kernel that is assigned to it. */
typedef struct lab_cuda_launch {
    int function;              /* that contains the launch; index in the outline */
    int at;                    /* token where the launch begins */
    int call;                  /* "(" of the call of `function` whose argument is the kernel; 0 otherwise */
    lab_token_range kernel;    /* name with scope, without template arguments */
    lab_token_range templates; /* between < and >; may be empty */
    bool has_templates;
    lab_token_range grid, block, shared; /* `shared` may be empty */
    lab_token_range arguments[LAB_CUDA_ARGUMENTS_MAX];
    int argument_count;
    int line;
    bool is_cooperative;
} lab_cuda_launch;

typedef struct lab_cuda_outline {
    lab_tokens tokens;
    lab_cuda_function *functions;
    int function_count;
    lab_cuda_struct *structs;
    int struct_count;
    lab_cuda_launch *launches;
    int launch_count;
} lab_cuda_outline;

/* Reads the outline. The text must live as long as the outline. Returns false if memory is exhausted. */
bool lab_cuda_outline_read(const char *text, size_t bytes, lab_cuda_outline *outline);
void lab_cuda_outline_free(lab_cuda_outline *outline);

/* Returns the name of a function or struct. */
rungi_string_view lab_cuda_name(const lab_cuda_outline *outline, int token);

/* Finds the kernel that a launch names: a definition, or otherwise a declaration. Returns -1 if the file has no
 * such kernel. */
int lab_cuda_launched_kernel(const lab_cuda_outline *outline, const lab_cuda_launch *launch);

/* Returns whether the words of a parameter's type name an integer. Only the compiler knows other names of types. */
bool lab_cuda_looks_integer(const lab_tokens *tokens, lab_token_range type);

/* Finds the struct of the file that is the type of a parameter; NULL for other types. */
const lab_cuda_struct *lab_cuda_parameter_struct(const lab_cuda_outline *outline, const lab_cuda_parameter *parameter);

/* Finds the class of a member function, which is defined in the class or outside of it; NULL for other functions. */
const lab_cuda_struct *lab_cuda_class_of(const lab_cuda_outline *outline, const lab_cuda_function *function);

/* Returns the token after the declaration or function at `i` in the body of a class. *is_function tells which. */
int lab_cuda_member_end(const lab_tokens *tokens, int i, int last, bool *is_function);

/* A field of a struct. */
typedef struct lab_cuda_field {
    lab_token_range type; /* that all fields of the declaration share */
    int name;             /* token */
} lab_cuda_field;

enum { LAB_CUDA_FIELDS_MAX = 16 };

/* Lists the first fields of a struct. Returns their number. */
int lab_cuda_struct_fields(const lab_cuda_outline *outline, const lab_cuda_struct *type,
                           lab_cuda_field fields[LAB_CUDA_FIELDS_MAX]);

/* Splits a range at its commas outside of brackets and template arguments. Returns the number of parts, at most
 * `capacity`. */
int lab_cuda_split(const lab_tokens *tokens, lab_token_range range, lab_token_range *parts, int capacity);

/* ---- For the files that read the outline ---- */

/* Returns the ">" that closes the "<" at `open`; -1 if a statement ends first. */
int lab_outline_angle_end(const lab_tokens *tokens, int open);

/* Returns the "(" of a call whose function's name is the token at `name`, after template arguments if there are any; -1 if the
 * name is not called. */
int lab_outline_call(const lab_tokens *tokens, int name);

/* Reads the parameters of a list without its brackets; there is room for LAB_CUDA_PARAMETERS_MAX. Returns their number. */
int lab_outline_parameters(const lab_tokens *tokens, lab_token_range list, lab_cuda_parameter *parameters);

/* Adds the launches of all functions. Returns false if memory is exhausted. */
bool lab_outline_read_launches(lab_cuda_outline *outline);
