/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_types.c - types of parameters and fields of structs, from the tokens; part of cuda_outline.h. */
#include "cuda_source/cuda_outline.h"

bool lab_cuda_looks_integer(const lab_tokens *tokens, lab_token_range type)
{
    static const char *const words[] = {"int",     "unsigned",  "long",     "short",    "size_t",  "uint",
                                        "int64_t", "uint32_t",  "uint64_t", "int32_t",  "char",    "ssize_t",
                                        "index_t", "ptrdiff_t", "dim_t",    "uint16_t", "int16_t", "bool"};
    bool is_integer = false;
    for (int i = type.first; i <= type.last; i++) {
        if (lab_token_is(tokens, i, "*") || lab_token_is(tokens, i, "["))
            return false;
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            is_integer = is_integer || lab_token_is(tokens, i, words[w]);
    }
    return is_integer;
}

const lab_cuda_struct *lab_cuda_parameter_struct(const lab_cuda_outline *outline, const lab_cuda_parameter *parameter)
{
    for (int i = parameter->type.first; i <= parameter->type.last; i++)
        if (lab_token_is(&outline->tokens, i, "*"))
            return NULL;
    for (int i = 0; i < outline->struct_count; i++)
        for (int t = parameter->type.first; t <= parameter->type.last; t++)
            if (rungi_string_views_equal(lab_cuda_name(outline, outline->structs[i].name),
                                         outline->tokens.items[t].text))
                return &outline->structs[i];
    return NULL;
}

/* Adds the fields of the declaration from token `first` to before `end`. Returns the new number of fields. */
static int add_fields(const lab_tokens *tokens, int first, int end, lab_cuda_field *fields, int count)
{
    int type_last = -1;
    for (int at = first + 1; at < end && count < LAB_CUDA_FIELDS_MAX; at++) {
        bool is_last = at + 1 == end || lab_token_is(tokens, at + 1, ",") || lab_token_is(tokens, at + 1, "=");
        if (tokens->items[at].kind != LAB_TOKEN_NAME || !is_last || lab_token_is(tokens, at - 1, "="))
            continue;
        type_last = type_last < 0 ? at - 1 : type_last;
        fields[count++] = (lab_cuda_field){{first, type_last}, at};
    }
    return count;
}

int lab_cuda_struct_fields(const lab_cuda_outline *outline, const lab_cuda_struct *type,
                           lab_cuda_field fields[LAB_CUDA_FIELDS_MAX])
{
    const lab_tokens *tokens = &outline->tokens;
    int count = 0;
    for (int i = type->body.first + 1; i < type->body.last;) {
        int end = i;
        bool is_field = true;
        for (; end < type->body.last && !lab_token_is(tokens, end, ";"); end++)
            is_field = is_field && !lab_token_is(tokens, end, "(") && !lab_token_is(tokens, end, "{") &&
                       !lab_token_is(tokens, end, "static");
        if (is_field)
            count = add_fields(tokens, i, end, fields, count);
        i = end + 1;
    }
    return count;
}
