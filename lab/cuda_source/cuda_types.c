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

const lab_cuda_struct *lab_cuda_class_of(const lab_cuda_outline *outline, const lab_cuda_function *function)
{
    const lab_tokens *tokens = &outline->tokens;
    const lab_cuda_struct *found = NULL;
    int owner = lab_token_is(tokens, function->name - 1, "::") ? function->name - 2 : -1;
    for (int depth = 0; owner > 0 && (lab_token_is(tokens, owner, ">") || depth > 0); owner--) /* Gemm<BS>::run */
        depth += lab_token_is(tokens, owner, ">") ? 1 : lab_token_is(tokens, owner, "<") ? -1 : 0;
    for (int i = 0; i < outline->struct_count; i++) {
        const lab_cuda_struct *type = &outline->structs[i];
        bool is_inside = function->is_member && type->body.first < function->whole.first &&
                         function->whole.last < type->body.last;
        bool is_named = owner >= 0 &&
                        rungi_string_views_equal(lab_cuda_name(outline, type->name), tokens->items[owner].text);
        if (is_inside || is_named)
            found = type; /* of nested classes the innermost, which comes last */
    }
    return found;
}

int lab_cuda_member_end(const lab_tokens *tokens, int i, int last, bool *is_function)
{
    bool has_initializers = false;
    *is_function = false;
    for (int end = i; end < last; end = lab_tokens_step(tokens, end)) {
        if (lab_token_is(tokens, end, ";"))
            return end + 1;
        *is_function = *is_function || lab_token_is(tokens, end, "(");
        bool is_label = lab_token_is(tokens, end, ":") &&
                        (lab_token_is(tokens, end - 1, "public") || lab_token_is(tokens, end - 1, "private") ||
                         lab_token_is(tokens, end - 1, "protected"));
        has_initializers = has_initializers || (*is_function && lab_token_is(tokens, end, ":"));
        /* The braces of an initializer follow its name; those of the body do not. */
        bool is_initializer = has_initializers && tokens->items[end - 1].kind == LAB_TOKEN_NAME;
        bool is_body = lab_token_is(tokens, end, "{") && *is_function && !is_initializer &&
                       tokens->items[end].match > end;
        if (is_label)
            return end + 1;
        if (is_body)
            return tokens->items[end].match + 1;
    }
    return last;
}

int lab_cuda_struct_fields(const lab_cuda_outline *outline, const lab_cuda_struct *type,
                           lab_cuda_field fields[LAB_CUDA_FIELDS_MAX])
{
    const lab_tokens *tokens = &outline->tokens;
    int count = 0;
    for (int i = type->body.first + 1, next; i < type->body.last; i = next) {
        bool is_function, is_field = true;
        next = lab_cuda_member_end(tokens, i, type->body.last, &is_function);
        for (int at = i; at < next; at++)
            is_field = is_field && !lab_token_is(tokens, at, "{") && !lab_token_is(tokens, at, "static") &&
                       !lab_token_is(tokens, at, "using") && !lab_token_is(tokens, at, "typedef") &&
                       !lab_token_is(tokens, at, "friend");
        if (is_field && !is_function && lab_token_is(tokens, next - 1, ";"))
            count = add_fields(tokens, i, next - 1, fields, count);
    }
    return count;
}
