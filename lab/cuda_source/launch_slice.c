/* SPDX-License-Identifier: Apache-2.0 */
/* launch_slice.c - see launch_slice.h. */
#include "cuda_source/launch_slice.h"

static const lab_tokens *tokens_of(const lab_launch_slice *slice)
{
    return &slice->outline->tokens;
}

static bool contains(const rungi_string_view *names, int count, rungi_string_view name)
{
    for (int i = 0; i < count; i++)
        if (rungi_string_views_equal(names[i], name))
            return true;
    return false;
}

void lab_launch_slice_begin(lab_launch_slice *slice, const lab_cuda_outline *outline, const lab_cuda_launch *launch)
{
    slice->outline = outline;
    slice->launch = launch;
    slice->needed_count = slice->free_count = slice->count = slice->member_count = 0;
}

void lab_launch_slice_free(lab_launch_slice *slice, rungi_string_view name)
{
    if (slice->free_count < LAB_CUDA_ARGUMENTS_MAX && !contains(slice->free, slice->free_count, name))
        slice->free[slice->free_count++] = name;
}

bool lab_launch_slice_needs(const lab_launch_slice *slice, rungi_string_view name)
{
    return contains(slice->needed, slice->needed_count, name);
}

/* Returns whether the token is a member's name, after "." or "->" or "::". */
static bool is_member(const lab_tokens *tokens, int i)
{
    return lab_token_is(tokens, i - 1, ".") || lab_token_is(tokens, i - 1, "->") || lab_token_is(tokens, i - 1, "::");
}

void lab_launch_slice_need(lab_launch_slice *slice, lab_token_range expression)
{
    const lab_tokens *tokens = tokens_of(slice);
    for (int i = expression.first; i <= expression.last; i++) {
        rungi_string_view name = tokens->items[i].text;
        if (tokens->items[i].kind == LAB_TOKEN_NAME && !is_member(tokens, i) &&
            slice->needed_count < LAB_SLICE_NAMES_MAX && !lab_launch_slice_needs(slice, name))
            slice->needed[slice->needed_count++] = name;
    }
}

/* ---- Statements ---- */

/* Returns the ";" of the statement that begins at `i`; -1 if a brace or `end` comes first. */
static int statement_end(const lab_tokens *tokens, int i, int end)
{
    for (int at = i; at < end; at = lab_tokens_step(tokens, at)) {
        if (lab_token_is(tokens, at, ";"))
            return at;
        bool is_initializer = at > i && (tokens->items[at - 1].kind == LAB_TOKEN_NAME ||
                                         lab_token_is(tokens, at - 1, "=") || lab_token_is(tokens, at - 1, "]"));
        if (lab_token_is(tokens, at, "}") || (lab_token_is(tokens, at, "{") && !is_initializer))
            return -1;
    }
    return -1;
}

/* Words that begin statements which define nothing. */
static bool begins_other_statement(const lab_tokens *tokens, int i)
{
    static const char *const words[] = {"return", "if",   "for",  "while", "do",  "switch", "delete", "goto",
                                        "break",  "case", "else", "throw", "try", "printf", "new",    "default"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (lab_token_is(tokens, i, words[w]))
            return true;
    return tokens->items[i].kind != LAB_TOKEN_NAME;
}

static bool ends_declarator(const lab_tokens *tokens, int i)
{
    return lab_token_is(tokens, i, "=") || lab_token_is(tokens, i, "(") || lab_token_is(tokens, i, "{") ||
           lab_token_is(tokens, i, "[") || lab_token_is(tokens, i, ",") || lab_token_is(tokens, i, ";");
}

/* Returns the name that a declaration declares first, as in `const int *x = 3`; -1 for another statement. */
static int declared_name(const lab_tokens *tokens, lab_token_range statement)
{
    if (lab_token_is(tokens, statement.first, "using")) /* using T = float; or using space::Tile; */
        return lab_token_is(tokens, statement.first + 2, "=") ? statement.first + 1 : statement.last - 1;
    for (int i = statement.first; i < statement.last; i++) {
        if (lab_token_is(tokens, i, "(") || lab_token_is(tokens, i, "=") || lab_token_is(tokens, i, "."))
            return -1;
        bool follows_type = i > statement.first &&
                            (tokens->items[i - 1].kind == LAB_TOKEN_NAME || lab_token_is(tokens, i - 1, ">") ||
                             lab_token_is(tokens, i - 1, "*") || lab_token_is(tokens, i - 1, "&"));
        if (follows_type && tokens->items[i].kind == LAB_TOKEN_NAME && ends_declarator(tokens, i + 1))
            return i;
    }
    return -1;
}

/* The definitions of one statement, or of all. */
typedef struct statement_list {
    lab_slice_statement *items;
    int count, capacity;
} statement_list_t;

static void add(statement_list_t *list, lab_slice_statement statement)
{
    if (list->count < list->capacity && statement.rest.last >= statement.rest.first)
        list->items[list->count++] = statement;
}

/* Adds the declarators of a declaration whose first name is at `name`. */
static void add_declarators(const lab_tokens *tokens, lab_token_range statement, int name, statement_list_t *list)
{
    int start = name;
    while (start > statement.first && (lab_token_is(tokens, start - 1, "*") || lab_token_is(tokens, start - 1, "&")))
        start--;
    lab_token_range type = {statement.first, start - 1};
    for (int i = name; i <= statement.last; i = lab_tokens_step(tokens, i)) {
        if (!lab_token_is(tokens, i, ",") && i != statement.last)
            continue;
        add(list, (lab_slice_statement){type, {start, i - 1}, name});
        for (start = name = i + 1; lab_token_is(tokens, name, "*") || lab_token_is(tokens, name, "&");)
            name++;
    }
}

/* Adds what a statement defines: `int a = 1, b(2);`, `a = 3;`, `grid.x = 4;` or `using T = float;`. */
static void add_definitions(const lab_tokens *tokens, lab_token_range statement, statement_list_t *list)
{
    int name = declared_name(tokens, statement), first = statement.first;
    lab_token_range all = {first, statement.last - 1};
    bool is_assignment = lab_token_is(tokens, first + 1, "=") ||
                         (lab_token_is(tokens, first + 1, ".") && lab_token_is(tokens, first + 3, "="));
    if (name >= 0 && !lab_token_is(tokens, first, "using"))
        add_declarators(tokens, statement, name, list);
    else if (name >= 0 || is_assignment)
        add(list, (lab_slice_statement){{0, -1}, all, name >= 0 ? name : first});
}

static bool is_wanted(const lab_launch_slice *slice, rungi_string_view name)
{
    return lab_launch_slice_needs(slice, name) && !contains(slice->free, slice->free_count, name);
}

/* Lists the members of the function's class that have a value: constants, and fields with an initializer. */
static void list_members(const lab_launch_slice *slice, statement_list_t *list)
{
    const lab_tokens *tokens = tokens_of(slice);
    const lab_cuda_struct *type = lab_cuda_class_of(slice->outline,
                                                    &slice->outline->functions[slice->launch->function]);
    for (int i = type ? type->body.first + 1 : 0, next; type && i < type->body.last; i = next) {
        bool is_function, has_value = false;
        next = lab_cuda_member_end(tokens, i, type->body.last, &is_function);
        for (int at = i; at < next; at++)
            has_value = has_value || lab_token_is(tokens, at, "=") || lab_token_is(tokens, at, "{");
        if (has_value && !is_function && !begins_other_statement(tokens, i) && lab_token_is(tokens, next - 1, ";"))
            add_definitions(tokens, (lab_token_range){i, next - 1}, list);
    }
}

/* Lists the definitions before the launch that are in scope there. */
static void list_statements(const lab_launch_slice *slice, statement_list_t *list)
{
    const lab_tokens *tokens = tokens_of(slice);
    int end = slice->launch->at;
    for (int i = slice->outline->functions[slice->launch->function].body.first + 1; i < end;) {
        bool is_closed_block = lab_token_is(tokens, i, "{") && tokens->items[i].match < end;
        int last = begins_other_statement(tokens, i) ? -1 : statement_end(tokens, i, end);
        if (last > 0)
            add_definitions(tokens, (lab_token_range){i, last}, list);
        if (last > 0)
            i = last + 1;
        else
            i = is_closed_block || lab_token_is(tokens, i, "(") ? lab_tokens_step(tokens, i) : i + 1;
    }
}

void lab_launch_slice_find(lab_launch_slice *slice)
{
    enum { ALL_MAX = 512 };
    lab_slice_statement all[ALL_MAX];
    bool is_taken[ALL_MAX] = {false};
    statement_list_t list = {.items = all, .capacity = ALL_MAX};
    list_members(slice, &list);
    int member_count = list.count;
    list_statements(slice, &list);
    slice->count = slice->member_count = 0;
    for (int i = list.count - 1; i >= 0; i--)
        if (is_wanted(slice, tokens_of(slice)->items[all[i].name].text)) {
            is_taken[i] = true;
            lab_launch_slice_need(slice, all[i].type);
            lab_launch_slice_need(slice, all[i].rest);
        }
    for (int i = 0; i < list.count && slice->count < LAB_SLICE_STATEMENTS_MAX; i++)
        if (is_taken[i]) {
            slice->member_count += i < member_count;
            slice->statements[slice->count++] = all[i];
        }
}

/* ---- Results ---- */

bool lab_launch_slice_write_statement(const lab_launch_slice *slice, int index, FILE *out)
{
    const lab_slice_statement *statement = &slice->statements[index];
    rungi_string_view type = lab_tokens_text(tokens_of(slice), statement->type.first, statement->type.last);
    rungi_string_view rest = lab_tokens_text(tokens_of(slice), statement->rest.first, statement->rest.last);
    bool is_constant = false;
    fprintf(out, "%.*s %.*s;\n", (int)type.length, type.text, (int)rest.length, rest.text);
    for (int i = statement->type.first; i <= statement->type.last; i++)
        is_constant = is_constant || lab_token_is(tokens_of(slice), i, "const") ||
                      lab_token_is(tokens_of(slice), i, "constexpr");
    return is_constant;
}

void lab_launch_slice_write(const lab_launch_slice *slice, FILE *out)
{
    for (int i = 0; i < slice->count; i++)
        lab_launch_slice_write_statement(slice, i, out);
}

bool lab_launch_slice_defines(const lab_launch_slice *slice, rungi_string_view name)
{
    for (int i = 0; i < slice->count; i++)
        if (rungi_string_views_equal(tokens_of(slice)->items[slice->statements[i].name].text, name))
            return true;
    return false;
}
