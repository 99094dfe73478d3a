/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_roles.c - see gemm_roles.h. */
#include "plain_gemm/gemm_roles.h"

#include <stdio.h>
#include <string.h>

static const char *const role_names[] = {
#define X(name, word) word,
    LAB_ROLE_LIST(X)
#undef X
};

const char *lab_role_name(lab_role role)
{
    return role_names[role];
}

lab_role lab_role_find(rungi_string_view word)
{
    for (int i = 1; i < LAB_ROLE_COUNT; i++)
        if (rungi_string_view_equals(word, role_names[i]))
            return (lab_role)i;
    return LAB_ROLE_UNKNOWN;
}

/* ---- Types ---- */

static const struct {
    const char *name;
    rung_type element;
    int lanes;
    bool is_integer;
} element_types[] = {
    {"float", RUNG_F32, 1, false},
    {"double", RUNG_F64, 1, false},
    {"__half", RUNG_F16, 1, false},
    {"half", RUNG_F16, 1, false},
    {"__half2", RUNG_F16, 2, false},
    {"half2", RUNG_F16, 2, false},
    {"__nv_bfloat16", RUNG_BF16, 1, false},
    {"nv_bfloat16", RUNG_BF16, 1, false},
    {"__nv_bfloat162", RUNG_BF16, 2, false},
    {"char", RUNG_I8, 1, true},
    {"signed char", RUNG_I8, 1, true},
    {"int", RUNG_I32, 1, true},
    {"signed int", RUNG_I32, 1, true},
    {"float2", RUNG_F32, 2, false},
    {"float4", RUNG_F32, 4, false},
    {"double2", RUNG_F64, 2, false},
    {"char4", RUNG_I8, 4, false},
    {"int4", RUNG_I32, 4, false},
    /* Integers that can be sizes, but not elements. */
    {"unsigned int", RUNG_TYPE_NONE, 1, true},
    {"long", RUNG_TYPE_NONE, 1, true},
    {"unsigned long", RUNG_TYPE_NONE, 1, true},
    {"long long", RUNG_TYPE_NONE, 1, true},
    {"unsigned long long", RUNG_TYPE_NONE, 1, true},
    {"short", RUNG_TYPE_NONE, 1, true},
    {"unsigned short", RUNG_TYPE_NONE, 1, true},
    {"unsigned char", RUNG_TYPE_NONE, 1, true},
    {"bool", RUNG_TYPE_NONE, 1, true},
    {"int64_t", RUNG_TYPE_NONE, 1, true},
    {"uint64_t", RUNG_TYPE_NONE, 1, true},
    {"uint32_t", RUNG_TYPE_NONE, 1, true},
    {"size_t", RUNG_TYPE_NONE, 1, true},
    {"int32_t", RUNG_I32, 1, true},
    {"int8_t", RUNG_I8, 1, true},
    {"int16_t", RUNG_TYPE_NONE, 1, true},
    {"uint16_t", RUNG_TYPE_NONE, 1, true},
    {"uint8_t", RUNG_TYPE_NONE, 1, true},
};

/* Removes a word and the spaces around it from a text that ends with 0. Returns how often it occurred. */
static int remove_word(char *text, const char *word)
{
    int count = 0;
    size_t length = strlen(word);
    for (char *at = text; (at = strstr(at, word));) {
        bool is_whole = (at == text || !rungi_is_name_character(at[-1]) || !rungi_is_name_character(*word)) &&
                        (!rungi_is_name_character(at[length]) || !rungi_is_name_character(*word));
        if (!is_whole) {
            at += length;
            continue;
        }
        memmove(at, at + length, strlen(at + length) + 1);
        count++;
    }
    return count;
}

static void trim(char *text)
{
    size_t start = strspn(text, " "), length = strlen(text);
    while (length > start && text[length - 1] == ' ')
        length--;
    memmove(text, text + start, length - start);
    text[length - start] = '\0';
}

lab_cuda_type lab_cuda_type_parse(rungi_string_view text)
{
    char word[128];
    lab_cuda_type type = {.lanes = 1};
    snprintf(word, sizeof word, "%.*s", (int)text.length, text.text);
    type.pointers = remove_word(word, "*");
    remove_word(word, "__restrict__");
    remove_word(word, "__restrict");
    type.is_const = remove_word(word, "const") > 0 && type.pointers > 0;
    remove_word(word, "struct");
    trim(word);
    if (strcmp(word, "signed char") != 0)
        remove_word(word, "signed");
    trim(word);
    for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++)
        if (strcmp(word, element_types[i].name) == 0) {
            type.element = element_types[i].element;
            type.lanes = element_types[i].lanes;
            type.is_integer = element_types[i].is_integer && type.pointers == 0;
            return type;
        }
    type.is_struct = type.pointers == 0;
    return type;
}

/* ---- Names ---- */

enum { NAME_BYTES = 64 };

static bool remove_prefix(char *name, const char *prefix)
{
    size_t length = strlen(prefix);
    if (strncmp(name, prefix, length) != 0 || !name[length])
        return false;
    memmove(name, name + length, strlen(name + length) + 1);
    return true;
}

static bool remove_suffix(char *name, const char *suffix)
{
    size_t length = strlen(name), cut = strlen(suffix);
    if (length <= cut || strcmp(name + length - cut, suffix) != 0)
        return false;
    name[length - cut] = '\0';
    return true;
}

/* Writes the name in lower case without decorations: "d_matA" and "A_dev" become "a", "numARows" becomes "arows". */
static void normalize(rungi_string_view text, char name[NAME_BYTES])
{
    static const char *const prefixes[] = {"d_", "dev_", "device_", "gpu_",    "g_",   "h_",   "host_", "s_",  "p_",
                                           "m_", "_",    "mat_",    "matrix_", "ptr_", "num_", "size_", "dim_"};
    static const char *const suffixes[] = {"_d",      "_dev",    "_device", "_gpu", "_ptr",   "_",   "_mat",
                                           "_matrix", "_global", "_size",   "_dim", "_total", "_len"};
    static const char *const plain_prefixes[] = {"matrix", "mat", "num", "dev"};
    static const char *const plain_suffixes[] = {"ptr", "matrix", "mat"};
    size_t length = text.length < NAME_BYTES - 1 ? text.length : NAME_BYTES - 1;
    for (size_t i = 0; i < length; i++)
        name[i] = (char)(text.text[i] >= 'A' && text.text[i] <= 'Z' ? text.text[i] - 'A' + 'a' : text.text[i]);
    name[length] = '\0';
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
            changed = remove_prefix(name, prefixes[i]) || changed;
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
            changed = remove_suffix(name, suffixes[i]) || changed;
    }
    for (size_t i = 0; i < sizeof plain_prefixes / sizeof *plain_prefixes; i++)
        remove_prefix(name, plain_prefixes[i]);
    for (size_t i = 0; i < sizeof plain_suffixes / sizeof *plain_suffixes; i++)
        remove_suffix(name, plain_suffixes[i]);
    char *to = name;
    for (const char *from = name; *from; from++)
        if (*from != '_' && *from != '.')
            *to++ = *from;
    *to = '\0';
}

typedef struct name_role {
    const char *name;
    lab_role role;
} name_role_t;

static lab_role find_name(const char *name, const name_role_t *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i].name) == 0)
            return names[i].role;
    return LAB_ROLE_UNKNOWN;
}

/* Rows and columns of an operand: "arows", "rowsa", "aheight", "wa". Returns LAB_ROLE_UNKNOWN for other names. */
static lab_role operand_size(const char *name)
{
    static const char *const row_words[] = {"rows", "row", "height", "h", "r", "nrows", "numrows"};
    static const char *const column_words[] = {"columns", "cols",  "col",        "width",
                                               "w",       "ncols", "numcolumns", "numcols"};
    static const struct {
        char operand;
        lab_role rows, columns;
    } sizes[] = {{'a', LAB_ROLE_M, LAB_ROLE_K}, {'b', LAB_ROLE_K, LAB_ROLE_N}, {'c', LAB_ROLE_M, LAB_ROLE_N}};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && length > 1; i++) {
        char word[NAME_BYTES];
        if (name[0] == sizes[i].operand)
            snprintf(word, sizeof word, "%s", name + 1);
        else if (name[length - 1] == sizes[i].operand)
            snprintf(word, sizeof word, "%.*s", (int)length - 1, name);
        else
            continue;
        for (size_t w = 0; w < sizeof row_words / sizeof *row_words; w++)
            if (strcmp(word, row_words[w]) == 0)
                return sizes[i].rows;
        for (size_t w = 0; w < sizeof column_words / sizeof *column_words; w++)
            if (strcmp(word, column_words[w]) == 0)
                return sizes[i].columns;
    }
    return LAB_ROLE_UNKNOWN;
}

lab_role lab_role_of_integer(rungi_string_view text)
{
    static const name_role_t names[] = {
        {"m", LAB_ROLE_M},
        {"rows", LAB_ROLE_M},
        {"height", LAB_ROLE_M},
        {"nrows", LAB_ROLE_M},
        {"row", LAB_ROLE_M},
        {"outrows", LAB_ROLE_M},
        {"msize", LAB_ROLE_M},
        {"mdim", LAB_ROLE_M},
        {"n", LAB_ROLE_N},
        {"cols", LAB_ROLE_N},
        {"columns", LAB_ROLE_N},
        {"ncols", LAB_ROLE_N},
        {"col", LAB_ROLE_N},
        {"outcols", LAB_ROLE_N},
        {"nsize", LAB_ROLE_N},
        {"ndim", LAB_ROLE_N},
        {"k", LAB_ROLE_K},
        {"inner", LAB_ROLE_K},
        {"common", LAB_ROLE_K},
        {"depth", LAB_ROLE_K},
        {"ksize", LAB_ROLE_K},
        {"kdim", LAB_ROLE_K},
        {"innerdim", LAB_ROLE_K},
        {"reduce", LAB_ROLE_K},
        {"width", LAB_ROLE_SIZE},
        {"size", LAB_ROLE_SIZE},
        {"dim", LAB_ROLE_SIZE},
        {"order", LAB_ROLE_SIZE},
        {"w", LAB_ROLE_SIZE},
        {"len", LAB_ROLE_SIZE},
        {"length", LAB_ROLE_SIZE},
        {"side", LAB_ROLE_SIZE},
        {"infeatures", LAB_ROLE_K},
        {"outfeatures", LAB_ROLE_N},
        {"indim", LAB_ROLE_K},
        {"outdim", LAB_ROLE_N},
        {"tokens", LAB_ROLE_M},
        {"inputsize", LAB_ROLE_K},
        {"outputsize", LAB_ROLE_N},
        {"hidden", LAB_ROLE_K},
        {"lda", LAB_ROLE_LDA},
        {"ldb", LAB_ROLE_LDB},
        {"ldc", LAB_ROLE_LDC},
        {"ldd", LAB_ROLE_LDD},
        {"astride", LAB_ROLE_LDA},
        {"bstride", LAB_ROLE_LDB},
        {"cstride", LAB_ROLE_LDC},
        {"pitcha", LAB_ROLE_LDA},
        {"pitchb", LAB_ROLE_LDB},
        {"pitchc", LAB_ROLE_LDC},
        {"ald", LAB_ROLE_LDA}, /* A.ld of a struct */
        {"bld", LAB_ROLE_LDB},
        {"cld", LAB_ROLE_LDC},
        {"apitch", LAB_ROLE_LDA},
        {"bpitch", LAB_ROLE_LDB},
        {"cpitch", LAB_ROLE_LDC},
        {"dimsax", LAB_ROLE_K}, /* dimsA.x of a dim3: columns; dimsA.y: rows */
        {"dimsay", LAB_ROLE_M},
        {"dimsbx", LAB_ROLE_N},
        {"dimsby", LAB_ROLE_K},
        {"dimscx", LAB_ROLE_N},
        {"dimscy", LAB_ROLE_M},
        {"batch", LAB_ROLE_BATCH},
        {"batchsize", LAB_ROLE_BATCH},
        {"batchcount", LAB_ROLE_BATCH},
        {"nbatch", LAB_ROLE_BATCH},
        {"batches", LAB_ROLE_BATCH},
        {"bs", LAB_ROLE_BATCH},
        {"stridea", LAB_ROLE_BATCH_A},
        {"strideb", LAB_ROLE_BATCH_B},
        {"stridec", LAB_ROLE_BATCH_C},
        {"batchstridea", LAB_ROLE_BATCH_A},
        {"batchstrideb", LAB_ROLE_BATCH_B},
        {"batchstridec", LAB_ROLE_BATCH_C},
    };
    char name[NAME_BYTES];
    normalize(text, name);
    lab_role role = find_name(name, names, sizeof names / sizeof *names);
    return role != LAB_ROLE_UNKNOWN ? role : operand_size(name);
}

lab_role lab_role_of_scalar(rungi_string_view text)
{
    char name[NAME_BYTES];
    normalize(text, name);
    return strstr(name, "alpha") || strcmp(name, "scale") == 0 ? LAB_ROLE_ALPHA
           : strstr(name, "beta")                              ? LAB_ROLE_BETA
                                                               : LAB_ROLE_UNKNOWN;
}

/* ---- Pointers ---- */

/* Conventions for the names of the three matrices; the first that fits all of A, B and C counts. */
static const struct {
    const char *a[4], *b[4], *c[6];
} conventions[] = {
    {{"a"}, {"b"}, {"c", "out", "output", "d", "result", "r"}},
    {{"a"}, {"b", "bt"}, {"p", "o", "y", "z", "res", "dst"}},
    {{"m"}, {"n"}, {"p", "out", "r"}},
    {{"x"}, {"w", "y"}, {"y", "z", "out", "output", "o"}},
    {{"input", "in", "inp", "activation"}, {"weight", "weights", "w", "filter"}, {"output", "out", "result"}},
    {{"lhs", "left", "first", "src1"},
     {"rhs", "right", "second", "src2"},
     {"out", "output", "result", "dst", "res", "prod"}},
    {{"in1", "input1", "inputa", "ina"},
     {"in2", "input2", "inputb", "inb"},
     {"out", "output", "outputc", "outc", "result"}},
    {{"q"}, {"k"}, {"s", "out", "scores"}},
};

static bool is_listed(const char *name, const char *const *names, size_t capacity)
{
    for (size_t i = 0; i < capacity && names[i]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static void apply_convention(size_t convention, const char names[][NAME_BYTES], lab_pointer_parameter *pointers,
                             int count)
{
    int found[3] = {-1, -1, -1};
    for (int i = 0; i < count; i++) {
        if (pointers[i].role != LAB_ROLE_UNKNOWN)
            continue;
        if (found[0] < 0 && is_listed(names[i], conventions[convention].a, 4))
            found[0] = i;
        else if (found[1] < 0 && is_listed(names[i], conventions[convention].b, 4))
            found[1] = i;
        else if (found[2] < 0 && !pointers[i].is_const && is_listed(names[i], conventions[convention].c, 6))
            found[2] = i;
    }
    if (found[0] < 0 || found[1] < 0 || found[2] < 0 || pointers[found[0]].is_written || pointers[found[1]].is_written)
        return;
    for (int i = 0; i < 3; i++)
        pointers[found[i]].role = (lab_role)(LAB_ROLE_A + i);
}

static bool has_role(const lab_pointer_parameter *pointers, int count, lab_role role)
{
    for (int i = 0; i < count; i++)
        if (pointers[i].role == role)
            return true;
    return false;
}

/* Takes pointers without a role in their order: the kernel writes the output, and inputs are const where anything is. */
static void assign_in_order(lab_pointer_parameter *pointers, int count)
{
    static const lab_role inputs[] = {LAB_ROLE_A, LAB_ROLE_B};
    bool has_const = false;
    for (int i = 0; i < count; i++)
        has_const = has_const || (pointers[i].is_const && pointers[i].role == LAB_ROLE_UNKNOWN);
    for (int integers = 0; integers < 2; integers++) /* a pointer to integers may be a counter */
        for (int i = count - 1; i >= 0 && !has_role(pointers, count, LAB_ROLE_C); i--)
            if (pointers[i].role == LAB_ROLE_UNKNOWN && pointers[i].is_written &&
                pointers[i].may_count == (integers == 1))
                pointers[i].role = LAB_ROLE_C;
    for (int i = count - 1; i >= 0 && !has_role(pointers, count, LAB_ROLE_C); i--)
        if (pointers[i].role == LAB_ROLE_UNKNOWN && (!has_const || !pointers[i].is_const))
            pointers[i].role = LAB_ROLE_C;
    for (size_t r = 0; r < sizeof inputs / sizeof *inputs; r++)
        for (int i = 0; i < count && !has_role(pointers, count, inputs[r]); i++)
            if (pointers[i].role == LAB_ROLE_UNKNOWN)
                pointers[i].role = inputs[r];
}

static bool is_counter_name(const char *name)
{
    static const char *const words[] = {"counter", "semaphore", "lock", "workspace", "barrier", "flag", "sync"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return true;
    return false;
}

void lab_roles_of_pointers(lab_pointer_parameter *pointers, int count)
{
    enum { POINTERS_MAX = 16 };
    char names[POINTERS_MAX][NAME_BYTES];
    count = count < POINTERS_MAX ? count : POINTERS_MAX;
    for (int i = 0; i < count; i++) {
        normalize(pointers[i].name, names[i]);
        pointers[i].role = pointers[i].may_count && is_counter_name(names[i]) ? LAB_ROLE_ZEROS
                           : strstr(names[i], "bias")                         ? LAB_ROLE_BIAS
                           : strstr(names[i], "alpha")                        ? LAB_ROLE_ALPHA
                           : strstr(names[i], "beta")                         ? LAB_ROLE_BETA
                                                                              : LAB_ROLE_UNKNOWN;
    }
    /* D = A B + C: the result is D if C is an input. */
    for (int i = 0; i < count; i++)
        for (int c = 0; c < count; c++)
            if (strcmp(names[i], "d") == 0 && !pointers[i].is_const && strcmp(names[c], "c") == 0 &&
                pointers[c].is_const) {
                pointers[i].role = LAB_ROLE_D;
                pointers[c].role = LAB_ROLE_C;
            }
    for (size_t i = 0; i < sizeof conventions / sizeof *conventions && !has_role(pointers, count, LAB_ROLE_A); i++)
        apply_convention(i, (const char(*)[NAME_BYTES])names, pointers, count);
    assign_in_order(pointers, count);
}
