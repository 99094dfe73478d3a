/* SPDX-License-Identifier: Apache-2.0 */
/* code.c - reading a disassembly: instructions, loops, counts. See code.h. */
#include "code.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_MAX = 1 << 16, LABELS_MAX = 1 << 13, LOOPS_MAX = 1 << 10, BARRIERS = 16, NAME = 64, WARP = 32 };

typedef struct place {
    char file[64];
    int64_t line;
} place_t;

typedef struct instruction {
    char operation[LAB_OPERATION];
    char target[NAME]; /* a label, or an address as 0x10; "" if it does not jump */
    long address;
    int barrier;   /* of BSSY, which names the place its BSYNC goes to */
    int jumps_to;  /* -1, or an instruction's number */
    bool goes_on;  /* the next instruction may follow */
    bool is_never; /* its condition is "not true" */
} instruction_t;

typedef struct label {
    char name[NAME];
    int at;
} label_t;

typedef struct loop {
    int head;
    unsigned char *holds; /* by instruction */
    lab_mix mix;
} loop_t;

/* A text, and the function in it that is being read. Who comes before an instruction is a list
 * that is threaded through the edges: number 2i is "i jumps", 2i + 1 is "i goes on". */
typedef struct reader {
    instruction_t code[CODE_MAX];
    label_t labels[LABELS_MAX];
    int code_count, label_count;
    place_t place; /* of the instructions that come next */
    loop_t loops[LOOPS_MAX];
    int loop_count;
    int first_edge[CODE_MAX], next_edge[2 * CODE_MAX];
    int waiting[CODE_MAX];
    lab_code *out;
    char *why;
    size_t capacity;
    bool failed;
} reader_t;

static void fail(reader_t *reader, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!reader->failed)
        vsnprintf(reader->why, reader->capacity, format, arguments);
    va_end(arguments);
    reader->failed = true;
}

/* ---- Operations --------------------------------------------------------------------------- */

/* Whether FFMA.FTZ is an FFMA; FFMA2 is none. */
static bool is(const instruction_t *instruction, const char *name)
{
    size_t length = strlen(name);
    char end = strncmp(instruction->operation, name, length) == 0 ? instruction->operation[length] : 'x';
    return end == '\0' || end == '.';
}

static bool is_any(const instruction_t *instruction, const char *const *names)
{
    while (*names && !is(instruction, *names))
        names++;
    return *names != NULL;
}

/* Whether ".64" is among the words behind the first. */
static bool has_word(const instruction_t *instruction, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strchr(instruction->operation, '.'); at; at = strchr(at + 1, '.'))
        if (strncmp(at + 1, word, length) == 0 && (at[1 + length] == '.' || at[1 + length] == '\0'))
            return true;
    return false;
}

static bool is_math(const instruction_t *instruction)
{
    static const char *const math[] = {"FFMA", "FFMA2", "DFMA", "HMMA", "IMMA", "DMMA", "IDP", NULL};
    return is_any(instruction, math);
}

/* A plain IMAD multiplies; IMAD.MOV, .WIDE, .SHL and the like move and make addresses. */
static bool is_integer_math(const instruction_t *instruction)
{
    return strcmp(instruction->operation, "IMAD") == 0;
}

/* Multiply-adds of a warp. A matrix instruction names its shape, m, n and k in one word; sm_70's
 * 884 comes in four steps, and each of its four quarters of a warp has its own. */
static int64_t multiply_adds_of(const instruction_t *instruction)
{
    static const struct {
        const char *shape;
        int64_t count;
    } shapes[] = {{"1684", 16 * 8 * 4},   {"1688", 16 * 8 * 8}, {"16816", 16 * 8 * 16}, {"16832", 16 * 8 * 32},
                  {"16864", 16 * 8 * 64}, {"8816", 8 * 8 * 16}, {"8832", 8 * 8 * 32},   {"884", 8 * 8 * 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (has_word(instruction, shapes[i].shape))
            return shapes[i].count;
    if (is(instruction, "FFMA2"))
        return 2 * WARP;
    if (is(instruction, "IDP"))
        return (has_word(instruction, "4A") ? 4 : 2) * WARP;
    return WARP;
}

/* Which width of LAB_WIDTHS: of one thread's data, 4 bytes if nothing is said. LDSM brings as
 * many tiles as its last word says, each of them 4 bytes a thread. */
static int width_of(const instruction_t *instruction, lab_move move)
{
    static const struct {
        const char *word;
        int width;
    } widths[] = {{"U8", 0}, {"S8", 0}, {"U16", 1}, {"S16", 1}, {"64", 3}, {"128", 4}, {"256", 5}};
    if (move == LAB_MOVE_MATRIX_LOAD)
        return has_word(instruction, "4") ? 4 : has_word(instruction, "2") ? 3 : 2;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (has_word(instruction, widths[i].word))
            return widths[i].width;
    return 2;
}

/* LAB_MOVE_COUNT if it is none. */
static lab_move move_of(const instruction_t *instruction)
{
    static const char *const names[] = {
#define X(name, operation) operation,
        LAB_MOVE_LIST(X)
#undef X
    };
    int move = 0;
    while (move < LAB_MOVE_COUNT && (instruction->is_never || !is(instruction, names[move])))
        move++;
    return (lab_move)move;
}

/* Everything but the math, which depends on what the function is. */
static void count_one(const instruction_t *instruction, lab_mix *mix)
{
    static const char *const integer[] = {"IMAD",  "IADD3",  "IADD", "IADD32I", "LEA",  "ISETP",  "LOP3",
                                          "SHF",   "SHL",    "SHR",  "IMNMX",   "IABS", "ISCADD", "XMAD",
                                          "VIADD", "VIMNMX", "LOP",  "IMUL",    NULL};
    static const char *const barriers[] = {"BAR", NULL};
    static const char *const branches[] = {"BRA", "JMP", "BRX", "CALL", "RET", "EXIT", "BSYNC", "BSSY", NULL};
    lab_move move = move_of(instruction);
    if (move < LAB_MOVE_COUNT)
        mix->moves[move][width_of(instruction, move)]++;
    else if (is_any(instruction, integer))
        mix->integer++;
    else if (is_any(instruction, barriers))
        mix->barriers++;
    else if (is_any(instruction, branches))
        mix->branches++;
    else
        mix->other++;
}

/* The operation that stands most often among the math of what is held. */
static void name_operation(const reader_t *reader, const unsigned char *holds, lab_mix *mix,
                           bool (*multiplies)(const instruction_t *))
{
    int most = 0;
    for (int i = 0; i < reader->code_count; i++) {
        const instruction_t *one = &reader->code[i];
        int count = 0;
        if ((holds && !holds[i]) || !multiplies(one) || strcmp(one->operation, mix->operation) == 0)
            continue;
        for (int j = i; j < reader->code_count; j++)
            count += (!holds || holds[j]) && strcmp(reader->code[j].operation, one->operation) == 0;
        if (count > most)
            snprintf(mix->operation, sizeof mix->operation, "%s", one->operation);
        most = count > most ? count : most;
        if (2 * most > mix->math)
            return;
    }
}

/* Of the instructions that are held, all if that is NULL. */
static lab_mix count(const reader_t *reader, const unsigned char *holds, bool integer)
{
    bool (*multiplies)(const instruction_t *) = integer ? is_integer_math : is_math;
    lab_mix mix = {.is_integer = integer};
    for (int i = 0; i < reader->code_count; i++) {
        const instruction_t *one = &reader->code[i];
        if (holds && !holds[i])
            continue;
        mix.instructions++;
        if (!multiplies(one)) {
            count_one(one, &mix);
            continue;
        }
        mix.math++;
        mix.multiply_adds += multiply_adds_of(one);
    }
    name_operation(reader, holds, &mix, multiplies);
    return mix;
}

int64_t lab_mix_moves(const lab_mix *mix, lab_move move)
{
    int64_t sum = 0;
    for (int i = 0; i < LAB_WIDTHS; i++)
        sum += mix->moves[move][i];
    return sum;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* Copies the word at `text`, and returns what stands behind it. */
static const char *take_word(const char *text, char *word, size_t capacity)
{
    text += strspn(text, " \t`(");
    size_t length = strcspn(text, " \t,;)");
    snprintf(word, capacity, "%.*s", (int)length, text);
    return text + length;
}

/* "P1, `(.L_x_1) ;": the last is the place, what stands before it is a condition. */
static void read_branch(instruction_t *new, const char *operands)
{
    const char *last = strrchr(operands, ',');
    take_word(last ? last + 1 : operands, new->target, sizeof new->target);
    new->goes_on = new->goes_on || last;
}

/* One more use of local memory at the place that is being read. */
static void add_spill(reader_t *reader, bool is_load)
{
    lab_code *out = reader->out;
    int64_t known = out->spill_count < LAB_SPILLS_MAX ? out->spill_count : LAB_SPILLS_MAX, i = 0;
    while (i < known &&
           (out->spills[i].line != reader->place.line || strcmp(out->spills[i].file, reader->place.file) != 0))
        i++;
    if (i == known) {
        out->spill_count++; /* past the last, a line may count twice */
        if (i == LAB_SPILLS_MAX)
            return;
        out->spills[i] = (lab_spill){.line = reader->place.line};
        memcpy(out->spills[i].file, reader->place.file, sizeof out->spills[i].file);
    }
    out->spills[i].loads += is_load;
    out->spills[i].stores += !is_load;
}

/* "@!P0 BRA `(.L_x_1) ;" */
static void add_instruction(reader_t *reader, const char *text, long address)
{
    static const char *const branches[] = {"BRA", "JMP", "CALL", NULL}; /* loops are left by CALL, too */
    static const char *const ends[] = {"BRA", "JMP", "BSYNC", "EXIT", "RET", "BRX", NULL};
    char guard[NAME] = "", barrier[NAME];
    if (reader->code_count == CODE_MAX) {
        fail(reader, "a function has more than %d instructions", CODE_MAX);
        return;
    }
    instruction_t *new = &reader->code[reader->code_count++];
    *new = (instruction_t){.address = address, .barrier = -1, .jumps_to = -1};
    text += strspn(text, " \t{");
    if (*text == '@')
        text = take_word(text, guard, sizeof guard);
    text = take_word(text, new->operation, sizeof new->operation);
    new->goes_on = *guard || !is_any(new, ends);
    new->is_never = strcmp(guard, "@!PT") == 0;
    if (is_any(new, branches))
        read_branch(new, text);
    if (is(new, "BSSY") || is(new, "BSYNC")) {
        text = take_word(text, barrier, sizeof barrier);
        new->barrier = barrier[0] == 'B' ? (int)(strtoul(barrier + 1, NULL, 10) % BARRIERS) : -1;
    }
    if (is(new, "BSSY"))
        take_word(text + strspn(text, ", "), new->target, sizeof new->target);
    lab_move move = move_of(new);
    if (move == LAB_MOVE_LOCAL_LOAD || move == LAB_MOVE_LOCAL_STORE)
        add_spill(reader, move == LAB_MOVE_LOCAL_LOAD);
}

static void add_label(reader_t *reader, const char *line, const char *colon)
{
    if (reader->label_count == LABELS_MAX) {
        fail(reader, "a function has more than %d labels", LABELS_MAX);
        return;
    }
    label_t *new = &reader->labels[reader->label_count++];
    snprintf(new->name, sizeof new->name, "%.*s", (int)(colon - line), line);
    new->at = reader->code_count;
}

/* `//## File "tile.h", line 62 inlined at "07_tile2d.cu", line 74`, and below it a line for each
 * caller, up to the one that is in the kernel: so the last of them is what counts. */
static void read_place(reader_t *reader, const char *text)
{
    const char *name = strchr(text, '"'), *end = name ? strchr(name + 1, '"') : NULL;
    const char *line = end ? strstr(end, "line ") : NULL;
    if (!line)
        return;
    for (const char *at = ++name; at < end; at++)
        name = *at == '/' ? at + 1 : name;
    snprintf(reader->place.file, sizeof reader->place.file, "%.*s", (int)(end - name), name);
    reader->place.line = strtol(line + 5, NULL, 10);
}

/* ---- Jumps -------------------------------------------------------------------------------- */

/* The instruction at a label or an address of this function; -1 elsewhere. */
static int place_of(const reader_t *reader, const char *target)
{
    long address = strncmp(target, "0x", 2) == 0 ? strtol(target, NULL, 16) : -1;
    for (int i = 0; i < reader->label_count && address < 0; i++)
        if (strcmp(reader->labels[i].name, target) == 0)
            return reader->labels[i].at < reader->code_count ? reader->labels[i].at : -1;
    for (int i = 0; i < reader->code_count && address >= 0; i++)
        if (reader->code[i].address == address)
            return i;
    return -1;
}

static void resolve_jumps(reader_t *reader)
{
    int meeting[BARRIERS];
    for (int i = 0; i < BARRIERS; i++)
        meeting[i] = -1;
    for (int i = 0; i < reader->code_count; i++) {
        instruction_t *one = &reader->code[i];
        int place = *one->target ? place_of(reader, one->target) : -1;
        if (is(one, "BSSY") && one->barrier >= 0)
            meeting[one->barrier] = place;
        else if (is(one, "BSYNC"))
            one->jumps_to = one->barrier >= 0 ? meeting[one->barrier] : -1;
        else
            one->jumps_to = place;
    }
    if (reader->code_count > 0)
        reader->code[reader->code_count - 1].goes_on = false;
}

static void add_edge(reader_t *reader, int edge, int to)
{
    reader->next_edge[edge] = reader->first_edge[to];
    reader->first_edge[to] = edge;
}

static void link_edges(reader_t *reader)
{
    for (int i = 0; i < reader->code_count; i++)
        reader->first_edge[i] = -1;
    for (int i = 0; i < reader->code_count; i++) {
        if (reader->code[i].jumps_to >= 0)
            add_edge(reader, 2 * i, reader->code[i].jumps_to);
        if (reader->code[i].goes_on)
            add_edge(reader, 2 * i + 1, i + 1);
    }
}

/* ---- Loops -------------------------------------------------------------------------------- */

/* Marks everything from which `from` is reached without passing `head`. If the function's
 * entry is among that, there is a way around `head`, which then heads no loop. */
static bool mark_body(reader_t *reader, unsigned char *holds, int head, int from)
{
    int count = 0;
    holds[head] = 1;
    if (!holds[from]) {
        holds[from] = 1;
        reader->waiting[count++] = from;
    }
    while (count > 0) {
        int at = reader->waiting[--count];
        if (at == 0)
            return false;
        for (int edge = reader->first_edge[at]; edge >= 0; edge = reader->next_edge[edge])
            if (!holds[edge / 2]) {
                holds[edge / 2] = 1;
                reader->waiting[count++] = edge / 2;
            }
    }
    return true;
}

/* All ways back to one head make one loop; false if there is none. */
static bool mark_loop(reader_t *reader, int head, unsigned char *all, unsigned char *one)
{
    bool found = false;
    for (int edge = reader->first_edge[head]; edge >= 0; edge = reader->next_edge[edge]) {
        memset(one, 0, (size_t)reader->code_count);
        if (!mark_body(reader, one, head, edge / 2))
            continue;
        found = true;
        for (int i = 0; i < reader->code_count; i++)
            all[i] |= one[i];
    }
    return found;
}

/* How hot a loop is, 0 for one that does not multiply. With nothing but IMAD to go by, what is
 * multiplied is loaded, too. */
static int64_t heat_of(const lab_mix *mix)
{
    int64_t loads = lab_mix_moves(mix, LAB_MOVE_SHARED_LOAD) + lab_mix_moves(mix, LAB_MOVE_GLOBAL_LOAD);
    if (!mix->is_integer)
        return mix->math;
    return mix->math > 0 && loads > 0 ? mix->math + loads : 0;
}

static void find_loop(reader_t *reader, int head, bool integer)
{
    size_t count_all = (size_t)reader->code_count;
    unsigned char *all = calloc(1, count_all), *one = calloc(1, count_all);
    bool keep = false;
    if (!all || !one || reader->loop_count == LOOPS_MAX)
        fail(reader, "no memory, or more than %d loops", LOOPS_MAX);
    else if (mark_loop(reader, head, all, one)) {
        lab_mix mix = count(reader, all, integer);
        keep = heat_of(&mix) > 0;
        if (keep)
            reader->loops[reader->loop_count++] = (loop_t){head, all, mix};
    }
    free(one);
    if (!keep)
        free(all);
}

static bool has_inner(const reader_t *reader, const loop_t *outer)
{
    for (int i = 0; i < reader->loop_count; i++)
        if (reader->loops[i].head != outer->head && outer->holds[reader->loops[i].head])
            return true;
    return false;
}

/* The hottest loop of the function; false if none multiplies. */
static bool find_hottest(reader_t *reader, bool integer, lab_mix *hottest)
{
    int64_t heat = 0;
    for (int i = 0; i < reader->code_count && !reader->failed; i++) {
        int first = reader->first_edge[i];
        if (first >= 0 && (reader->next_edge[first] >= 0 || first / 2 >= i))
            find_loop(reader, i, integer);
    }
    for (int i = 0; i < reader->loop_count; i++)
        if (heat_of(&reader->loops[i].mix) > heat && !has_inner(reader, &reader->loops[i])) {
            heat = heat_of(&reader->loops[i].mix);
            *hottest = reader->loops[i].mix;
        }
    while (reader->loop_count > 0)
        free(reader->loops[--reader->loop_count].holds);
    return heat > 0;
}

/* Of loops that multiply for certain and those that may, the first; of a kind, the hotter. */
static bool is_hotter(const lab_mix *mix, const lab_code *than)
{
    if (!than->has_loop || mix->is_integer != than->loop.is_integer)
        return !than->has_loop || !mix->is_integer;
    return heat_of(mix) > heat_of(&than->loop);
}

/* The function is whole. */
static void end_function(reader_t *reader)
{
    lab_code *out = reader->out;
    lab_mix hottest;
    resolve_jumps(reader);
    link_edges(reader);
    bool found = find_hottest(reader, false, &hottest) || find_hottest(reader, true, &hottest);
    bool is_first = !out->has_loop && reader->code_count > out->whole.instructions;
    if ((found && is_hotter(&hottest, out)) || (!found && is_first))
        out->whole = count(reader, NULL, found && hottest.is_integer);
    if (found && is_hotter(&hottest, out))
        out->loop = hottest;
    out->has_loop = out->has_loop || found;
    reader->code_count = reader->label_count = 0;
    reader->place = (place_t){.line = 0};
}

/* nvdisasm and cuobjdump -sass write one instruction a line, behind its address. */
static void read_line(reader_t *reader, const char *line)
{
    const char *text = line + strspn(line, " \t"), *colon = strchr(text, ':');
    bool starts = strncmp(text, ".section", 8) == 0 || strstr(text, "Function : ");
    char *end;
    if (starts && reader->code_count > 0)
        end_function(reader);
    if (strncmp(text, "/*", 2) == 0) {
        long address = strtol(text + 2, &end, 16);
        if (strncmp(end, "*/", 2) == 0 && strchr(end, ';'))
            add_instruction(reader, end + 2, address);
    } else if (strncmp(text, "//## File", 9) == 0) {
        read_place(reader, text);
    } else if (colon && colon[1 + strspn(colon + 1, " \t\r\n")] == '\0') {
        add_label(reader, text, colon);
    }
}

bool lab_code_read(FILE *in, lab_code *code, char *why, size_t capacity)
{
    char line[1 << 12];
    *code = (lab_code){.has_loop = false};
    reader_t *new = calloc(1, sizeof *new);
    if (!new) {
        snprintf(why, capacity, "out of memory");
        return false;
    }
    new->out = code;
    new->why = why;
    new->capacity = capacity;
    while (!new->failed && fgets(line, sizeof line, in))
        read_line(new, line);
    if (!new->failed &&new->code_count > 0)
        end_function(new);
    if (!new->failed && code->whole.instructions == 0)
        fail(new, "there are no instructions in it");
    bool good = !new->failed;
    free(new);
    return good;
}
