/* SPDX-License-Identifier: Apache-2.0 */
/* hot_loop - what the loop that multiplies is made of, counted in machine code.
 *
 *   nvdisasm -c KERNEL.cubin | hot_loop ARCHITECTURE THREADS REGISTERS SHARED_BYTES
 *   hot_loop --titles
 *
 * Prints, separated by tabs: instructions of the loop; those that multiply (FFMA, FFMA2,
 * DFMA, HMMA, IMMA, DMMA) and their share; loads from shared memory (LDS, LDSM); copies
 * from global memory (LDGSTS, LDG); multiplying instructions a load and a copy ("-" where
 * there is none); threads, registers and shared bytes as given; and how many warps of how
 * many a multiprocessor then holds. A load that is never taken, "@!PT LDS", which the
 * compiler puts before copies, is an instruction but no load.
 *
 * The hottest loop is, of those that multiply and have none within them that does, the one
 * with the most multiplying instructions. Loops are natural ones, found by who can reach
 * whom and not by the order of addresses: compilers turn loops around and put rare code
 * behind the end. Every instruction counts once, predicated or not, and a NOP too, since
 * it takes its turn; so a rare branch counts as if it were always taken. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_MAX = 1 << 16, LABELS_MAX = 1 << 13, LOOPS_MAX = 1 << 10, BARRIERS = 16, NAME = 64 };

typedef struct instruction {
    char operation[32];
    char target[NAME]; /* a label, or an address as 0x10; "" if it does not jump */
    long address;
    int  barrier;      /* of BSSY, which names the place its BSYNC goes to */
    int  jumps_to;     /* -1, or an instruction's number */
    bool goes_on;      /* the next instruction may follow */
    bool is_never;     /* its condition is "not true" */
} instruction;

typedef struct label {
    char name[NAME];
    int  at;
} label;

/* A function's code. A text may have several functions, one after the other. */
static instruction code[CODE_MAX];
static label       labels[LABELS_MAX];
static int         code_count, label_count;

typedef struct counts {
    int instructions, math, shared_loads, copies;
} counts;

static _Noreturn void stop(const char *why, const char *what)
{
    fprintf(stderr, "hot_loop: %s%s\n", why, what);
    exit(1);
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* Whether FFMA.FTZ is an FFMA; FFMA2 is none. */
static bool is(const instruction *instruction, const char *name)
{
    size_t length = strlen(name);
    char end = strncmp(instruction->operation, name, length) == 0 ? instruction->operation[length] : 'x';
    return end == '\0' || end == '.';
}

static bool is_any(const instruction *instruction, const char *const *names)
{
    while (*names && !is(instruction, *names))
        names++;
    return *names != NULL;
}

/* Copies the word at `text`, and returns what stands behind it. */
static const char *take_word(const char *text, char *word, size_t capacity)
{
    text += strspn(text, " \t`(");
    size_t length = strcspn(text, " \t,;)");
    snprintf(word, capacity, "%.*s", (int)length, text);
    return text + length;
}

/* "P1, `(.L_x_1) ;": the last is the place, what stands before it is a condition. */
static void read_branch(instruction *new, const char *operands)
{
    const char *last = strrchr(operands, ',');
    take_word(last ? last + 1 : operands, new->target, sizeof new->target);
    new->goes_on = new->goes_on || last;
}

/* "@!P0 BRA `(.L_x_1) ;" */
static void add_instruction(const char *text, long address)
{
    static const char *const branches[] = {"BRA", "JMP", "CALL", NULL}; /* loops are left by CALL, too */
    static const char *const ends[] = {"BRA", "JMP", "BSYNC", "EXIT", "RET", "BRX", NULL};
    char guard[NAME] = "", barrier[NAME];
    if (code_count == CODE_MAX)
        stop("too long a function", "");
    instruction *new = &code[code_count++];
    *new = (instruction){.address = address, .barrier = -1, .jumps_to = -1};
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
        new->barrier = barrier[0] == 'B' ? atoi(barrier + 1) % BARRIERS : -1;
    }
    if (is(new, "BSSY"))
        take_word(text + strspn(text, ", "), new->target, sizeof new->target);
}

static void add_label(const char *line, const char *colon)
{
    if (label_count == LABELS_MAX)
        stop("too many labels", "");
    label *new = &labels[label_count++];
    snprintf(new->name, sizeof new->name, "%.*s", (int)(colon - line), line);
    new->at = code_count;
}

/* The instruction at a label or an address of this function; -1 elsewhere. */
static int place_of(const char *target)
{
    long address = strncmp(target, "0x", 2) == 0 ? strtol(target, NULL, 16) : -1;
    for (int i = 0; i < label_count && address < 0; i++)
        if (strcmp(labels[i].name, target) == 0)
            return labels[i].at < code_count ? labels[i].at : -1;
    for (int i = 0; i < code_count && address >= 0; i++)
        if (code[i].address == address)
            return i;
    return -1;
}

static void resolve_jumps(void)
{
    int meeting[BARRIERS];
    for (int i = 0; i < BARRIERS; i++)
        meeting[i] = -1;
    for (int i = 0; i < code_count; i++) {
        int place = *code[i].target ? place_of(code[i].target) : -1;
        if (is(&code[i], "BSSY") && code[i].barrier >= 0)
            meeting[code[i].barrier] = place;
        else if (is(&code[i], "BSYNC"))
            code[i].jumps_to = code[i].barrier >= 0 ? meeting[code[i].barrier] : -1;
        else
            code[i].jumps_to = place;
    }
    if (code_count > 0)
        code[code_count - 1].goes_on = false;
}

/* ---- Loops ------------------------------------------------------------------------------- */

typedef struct loop {
    int            head;
    unsigned char *holds; /* by instruction */
    counts         counts;
} loop;

static loop loops[LOOPS_MAX];
static int  loop_count;

/* Who comes before an instruction, as a list that is threaded through the edges: number 2i
 * is "i jumps", 2i + 1 is "i goes on". */
static int first_edge[CODE_MAX], next_edge[2 * CODE_MAX];

static void add_edge(int edge, int to)
{
    next_edge[edge] = first_edge[to];
    first_edge[to] = edge;
}

static void link_edges(void)
{
    for (int i = 0; i < code_count; i++)
        first_edge[i] = -1;
    for (int i = 0; i < code_count; i++) {
        if (code[i].jumps_to >= 0)
            add_edge(2 * i, code[i].jumps_to);
        if (code[i].goes_on)
            add_edge(2 * i + 1, i + 1);
    }
}

/* Marks everything from which `from` is reached without passing `head`. If the function's
 * entry is among that, there is a way around `head`, which then heads no loop. */
static bool mark_body(unsigned char *holds, int head, int from)
{
    static int waiting[CODE_MAX];
    int count = 0;
    holds[head] = 1;
    if (!holds[from]) {
        holds[from] = 1;
        waiting[count++] = from;
    }
    while (count > 0) {
        int at = waiting[--count];
        if (at == 0)
            return false;
        for (int edge = first_edge[at]; edge >= 0; edge = next_edge[edge])
            if (!holds[edge / 2]) {
                holds[edge / 2] = 1;
                waiting[count++] = edge / 2;
            }
    }
    return true;
}

static counts count_body(const unsigned char *holds)
{
    static const char *const math[] = {"FFMA", "FFMA2", "DFMA", "HMMA", "IMMA", "DMMA", NULL};
    static const char *const shared_loads[] = {"LDS", "LDSM", NULL};
    static const char *const copies[] = {"LDGSTS", "LDG", NULL};
    counts sum = {0, 0, 0, 0};
    for (int i = 0; i < code_count; i++)
        if (holds[i]) {
            sum.instructions++;
            sum.math += is_any(&code[i], math);
            sum.shared_loads += is_any(&code[i], shared_loads) && !code[i].is_never;
            sum.copies += is_any(&code[i], copies);
        }
    return sum;
}

/* All ways back to one head make one loop. */
static void find_loop(int head)
{
    unsigned char *all = calloc(1, CODE_MAX), *one = calloc(1, CODE_MAX);
    bool found = false;
    if (!all || !one || loop_count == LOOPS_MAX)
        stop("no memory, or too many loops", "");
    for (int edge = first_edge[head]; edge >= 0; edge = next_edge[edge]) {
        memset(one, 0, CODE_MAX);
        if (!mark_body(one, head, edge / 2))
            continue;
        found = true;
        for (int i = 0; i < code_count; i++)
            all[i] |= one[i];
    }
    free(one);
    if (found && count_body(all).math > 0)
        loops[loop_count++] = (loop){head, all, count_body(all)};
    else
        free(all);
}

static bool has_inner(const loop *outer)
{
    for (int i = 0; i < loop_count; i++)
        if (loops[i].head != outer->head && outer->holds[loops[i].head])
            return true;
    return false;
}

/* The function is whole: the hottest of its loops, if it is hotter than what there was. */
static void end_function(counts *hottest)
{
    resolve_jumps();
    link_edges();
    loop_count = 0;
    for (int i = 0; i < code_count; i++) {
        bool is_joint = first_edge[i] >= 0 && (next_edge[first_edge[i]] >= 0 || first_edge[i] / 2 >= i);
        if (is_joint)
            find_loop(i);
    }
    for (int i = 0; i < loop_count; i++)
        if (loops[i].counts.math > hottest->math && !has_inner(&loops[i]))
            *hottest = loops[i].counts;
    while (loop_count > 0)
        free(loops[--loop_count].holds);
    code_count = label_count = 0;
}

/* nvdisasm and cuobjdump -sass write one instruction a line, behind its address. */
static counts read_text(FILE *in)
{
    static char line[1 << 12];
    counts hottest = {0, 0, 0, 0};
    while (fgets(line, sizeof line, in)) {
        char *text = line + strspn(line, " \t"), *end;
        char *colon = strchr(text, ':');
        bool starts = strncmp(text, ".section", 8) == 0 || strstr(text, "Function : ");
        if (starts && code_count > 0)
            end_function(&hottest);
        if (strncmp(text, "/*", 2) == 0) {
            long address = strtol(text + 2, &end, 16);
            if (strncmp(end, "*/", 2) == 0 && strchr(end, ';'))
                add_instruction(end + 2, address);
        } else if (colon && colon[1 + strspn(colon + 1, " \t\r\n")] == '\0') {
            add_label(text, colon);
        }
    }
    if (code_count > 0)
        end_function(&hottest);
    return hottest;
}

/* ---- Occupancy --------------------------------------------------------------------------- */

/* Of a multiprocessor, from the table "Technical Specifications per Compute Capability" of
 * NVIDIA's programming guide; registers are 65,536 everywhere. */
typedef struct limits {
    const char *architecture;
    int         warps, blocks, shared;
} limits;

static const limits all_limits[] = {
    {"sm_80", 64, 32, 164 * 1024}, {"sm_86", 48, 16, 100 * 1024}, {"sm_89", 48, 24, 100 * 1024},
    {"sm_90", 64, 32, 228 * 1024}, {"sm_100", 64, 32, 228 * 1024}, {"sm_120", 48, 24, 100 * 1024},
};

static const limits *limits_of(const char *architecture)
{
    for (size_t i = 0; i < sizeof all_limits / sizeof *all_limits; i++)
        if (strcmp(all_limits[i].architecture, architecture) == 0)
            return &all_limits[i];
    stop("limits are not known of ", architecture);
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int round_up(int value, int unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Warps that a multiprocessor holds. Registers are given out by 256 to a warp and warps by
 * four, one to each quarter; shared memory by 128 bytes, and 1 KiB of a block's is the
 * system's. */
static int warps_held(const limits *limits, int threads, int registers, int shared)
{
    int warps = round_up(threads, 32) / 32;
    int warps_by_registers = 65536 / round_up(registers * 32, 256) / 4 * 4;
    int blocks = smaller(limits->blocks, limits->warps / warps);
    blocks = smaller(blocks, warps_by_registers / warps);
    blocks = smaller(blocks, limits->shared / round_up(shared + 1024, 128));
    return blocks * warps;
}

/* ---- The row ----------------------------------------------------------------------------- */

static void print_ratio(int over, int under)
{
    if (under > 0)
        printf("\t%.1f", (double)over / under);
    else
        printf("\t-");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--titles") == 0) {
        puts("loop\tmath\tshare\tshared_loads\tcopies\tmath_a_load\tmath_a_copy\tthreads\tregisters\tshared\t"
             "warps\twarps_max");
        return 0;
    }
    if (argc != 5) {
        fprintf(stderr, "usage: hot_loop ARCHITECTURE THREADS REGISTERS SHARED_BYTES < DISASSEMBLY\n");
        return 2;
    }
    const limits *limits = limits_of(argv[1]);
    int threads = atoi(argv[2]), registers = atoi(argv[3]), shared = atoi(argv[4]);
    if (threads < 1 || threads > 1024 || registers < 1 || registers > 255 || shared < 0)
        stop("no such kernel: ", "threads, registers or shared bytes are out of range");
    counts hottest = read_text(stdin);
    if (hottest.math == 0)
        stop("no loop that multiplies", "");
    printf("%d\t%d\t%.3f\t%d\t%d", hottest.instructions, hottest.math,
           (double)hottest.math / hottest.instructions, hottest.shared_loads, hottest.copies);
    print_ratio(hottest.math, hottest.shared_loads);
    print_ratio(hottest.math, hottest.copies);
    printf("\t%d\t%d\t%d\t%d\t%d\n", threads, registers, shared, warps_held(limits, threads, registers, shared),
           limits->warps);
    return 0;
}
