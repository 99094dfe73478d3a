/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_sizes.c - see gemm_sizes.h. */
#include "plain_gemm/gemm_sizes.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "plain_gemm/gemm_meaning.h"

enum { STEP_MAX = 256 };
static const char names[] = "MNK";

/* A search in one direction, and in all directions that must have the same size. */
typedef struct size_search {
    lab_gemm_kernel *kernel;
    const lab_gemm_meaning *meaning;
    lab_gemm_sizes *sizes;
    lab_finding_list *findings;
    int direction;
    bool base_has_findings; /* then findings do not tell sizes apart */
    bool is_over;           /* no time, or the kernel does not end: further runs are useless */
} size_search_t;

/* ---- Findings ---- */

/* Returns whether the last run wrote beyond an array, or accessed memory beyond one at either line of a race. */
static bool is_race_outside(const lab_gemm_kernel *kernel, const rung_emulator_finding *race)
{
    for (int64_t i = 0; i < rung_emulator_finding_count(kernel->emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(kernel->emulator, i);
        bool is_same_line = finding->place.line == race->place.line || finding->place.line == race->other.line;
        if (finding->kind == RUNG_EMULATOR_OUT_OF_BOUNDS &&
            (is_same_line || finding->place.access == RUNG_EMULATOR_ACCESS_WRITE))
            return true;
    }
    return false;
}

/* Returns whether a kernel without code for partial tiles may cause the finding. Tiles that reach beyond the last column
 * access the next row, where other threads write: a race, if the tiles of the last row write beyond the matrix. */
static bool is_of_whole_tiles(const lab_gemm_kernel *kernel, const rung_emulator_finding *finding)
{
    switch (finding->kind) {
    case RUNG_EMULATOR_OUT_OF_BOUNDS: return finding->memory != RUNG_EMULATOR_MEMORY_SHARED;
    case RUNG_EMULATOR_MISALIGNED:
    case RUNG_EMULATOR_DIVISION_BY_ZERO: /* the number of tiles is 0 */
    case RUNG_EMULATOR_TRAP:             /* an assertion of the kernel on its sizes */
    case RUNG_EMULATOR_LIMIT: return true;
    case RUNG_EMULATOR_RACE: return finding->memory == RUNG_EMULATOR_MEMORY_GLOBAL && is_race_outside(kernel, finding);
    default: return false;
    }
}

static void describe_size(const int64_t size[3], char *text, size_t capacity)
{
    snprintf(text, capacity, "M = %lld, N = %lld, K = %lld.", (long long)size[0], (long long)size[1],
             (long long)size[2]);
}

static void add_findings(const size_search_t *search, const int64_t size[3], bool all_outside)
{
    char when[96];
    describe_size(size, when, sizeof when);
    for (int64_t i = 0; i < rung_emulator_finding_count(search->kernel->emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(search->kernel->emulator, i);
        bool is_bug = !is_of_whole_tiles(search->kernel, finding) &&
                      !lab_finding_is_secondary(search->kernel->emulator, finding);
        if (is_bug || (all_outside && finding->kind == RUNG_EMULATOR_OUT_OF_BOUNDS))
            lab_finding_list_add_one(search->findings, finding, when);
    }
}

/* ---- Runs ---- */

/* Returns whether a parameter tells the kernel the size. Otherwise the size is fixed, and others need not work. */
static bool has_parameter(const size_search_t *search, int direction)
{
    const lab_gemm_kernel *kernel = search->kernel;
    for (int i = 0; i < kernel->slot_count; i++) {
        lab_role role = lab_gemm_slot_role(kernel, search->meaning, i);
        if (role == (lab_role)(LAB_ROLE_M + direction) || role == LAB_ROLE_SIZE)
            return true;
    }
    return false;
}

static void add_failure(size_search_t *search, const int64_t size[3], const lab_gemm_result *result)
{
    lab_gemm_sizes *sizes = search->sizes;
    if (sizes->failure_count == LAB_GEMM_FAILURES_MAX)
        return;
    lab_gemm_failure *failure = &sizes->failures[sizes->failure_count];
    *failure = (lab_gemm_failure){.size = {size[0], size[1], size[2]},
                                  .kind = result->outcome == LAB_GEMM_INVALID ? "invalid-launch" : "wrong-result"};
    snprintf(failure->text, sizeof failure->text, "%s", result->text);
    if (!search->base_has_findings && rung_emulator_finding_count(search->kernel->emulator) > 0) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(search->kernel->emulator, 0);
        failure->kind = rung_emulator_finding_name(finding->kind);
        failure->line = finding->place.line;
        snprintf(failure->text, sizeof failure->text, "%s", finding->text);
    }
    if (sizes->reason[search->direction] < 0)
        sizes->reason[search->direction] = sizes->failure_count;
    sizes->failure_count++;
}

static lab_gemm_result run_size(size_search_t *search, const int64_t size[3])
{
    lab_gemm_problem problem = {.m = size[0],
                                .n = size[1],
                                .k = size[2],
                                .alpha = 2,
                                .beta = 3,
                                .is_exact = true,
                                .seed = 2,
                                .checks = RUNG_EMULATOR_CHECK_ALL};
    lab_gemm_result result = lab_gemm_run(search->kernel, search->meaning, &problem);
    search->is_over = search->is_over || result.outcome == LAB_GEMM_LATE || result.outcome == LAB_GEMM_ENDLESS;
    for (int i = 0; i < 3; i++)
        if (size[i] > search->sizes->largest[i])
            search->sizes->largest[i] = size[i];
    return result;
}

/* Returns whether the kernel is right at a size and has no findings, apart from those that it has at the base. */
static bool is_right_at(size_search_t *search, const int64_t size[3])
{
    if (search->is_over)
        return false;
    lab_gemm_result result = run_size(search, size);
    bool is_clean = search->base_has_findings || result.finding_count == 0;
    if (result.outcome == LAB_GEMM_RIGHT && is_clean)
        return true;
    if (result.outcome != LAB_GEMM_LATE)
        add_failure(search, size, &result);
    if (!search->base_has_findings && has_parameter(search, search->direction))
        add_findings(search, size, false);
    return false;
}

static void set_size(const size_search_t *search, int64_t size, int64_t to[3])
{
    for (int i = 0; i < 3; i++)
        to[i] = search->sizes->leader[i] == search->direction ? size : search->sizes->base[i];
}

static bool is_right(size_search_t *search, int64_t size)
{
    int64_t all[3];
    set_size(search, size, all);
    return is_right_at(search, all);
}

/* ---- Limits ---- */

/* Returns the smallest step for which the kernel is right above and below the base; 0 if every step fails. *most is the
 * largest size if only smaller ones are right. */
static int64_t find_step(size_search_t *search, int64_t *most)
{
    int64_t base = search->sizes->base[search->direction];
    *most = 0;
    for (int64_t step = 1; step <= STEP_MAX && step <= base && !search->is_over; step *= 2)
        if (is_right(search, base + step) && (base == step || is_right(search, base - step)))
            return step;
    *most = base;
    for (int64_t step = 1; step <= STEP_MAX && step < base && !search->is_over; step *= 2)
        if (is_right(search, base - step))
            return step;
    return 0;
}

static int64_t find_least(size_search_t *search, int64_t step)
{
    int64_t base = search->sizes->base[search->direction];
    for (int64_t least = step; least < base && !search->is_over; least += least < 4 * step ? step : least)
        if (is_right(search, least))
            return least;
    return base;
}

/* Returns the size of an element that an access takes, so that accesses to several elements are known. */
static int64_t element_bytes(const lab_gemm_kernel *kernel, bool is_write)
{
    int64_t bytes = 8;
    for (int i = 0; i < kernel->slot_count; i++) {
        const lab_gemm_slot *slot = &kernel->slots[i];
        bool is_output = slot->role == LAB_ROLE_C || slot->role == LAB_ROLE_D;
        bool is_input = slot->role == LAB_ROLE_A || slot->role == LAB_ROLE_B;
        int64_t size = (int64_t)rung_type_size(slot->type.element);
        if (slot->type.pointers > 0 && (is_write ? is_output : is_input) && size > 0 && size < bytes)
            bytes = size;
    }
    return bytes;
}

/* Runs a size and counts the accesses beyond the matrices, of single elements. */
static int64_t count_outside(size_search_t *search, int64_t size)
{
    int64_t all[3], count = 0;
    set_size(search, size, all);
    if (search->is_over)
        return 0;
    run_size(search, all);
    for (int64_t i = 0; i < rung_emulator_finding_count(search->kernel->emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(search->kernel->emulator, i);
        bool is_write = finding->place.access != RUNG_EMULATOR_ACCESS_READ;
        if (finding->kind == RUNG_EMULATOR_OUT_OF_BOUNDS && finding->bytes <= element_bytes(search->kernel, is_write))
            count += finding->count;
    }
    return count;
}

/* Whole tiles reach far beyond the matrix if the last tile has one row, and one row beyond it if the tile lacks one row. A
 * comparison such as "row <= M" reaches one row beyond it in both cases: then the accesses are findings. */
static void find_wrong_guards(size_search_t *search, int64_t step)
{
    int64_t base = search->sizes->base[search->direction], all[3];
    if (step < 3 || search->base_has_findings || search->sizes->reason[search->direction] < 0 ||
        !has_parameter(search, search->direction))
        return;
    int64_t almost_full = count_outside(search, base + step - 1), almost_empty = count_outside(search, base + 1);
    set_size(search, base + 1, all);
    if (almost_empty > 0 && almost_full >= almost_empty && !search->is_over)
        add_findings(search, all, true);
}

/* ---- Equal sizes ---- */

/* Returns whether the kernel is right if some sizes of the base are doubled. */
static bool is_right_doubled(size_search_t *search, const bool is_doubled[3])
{
    int64_t size[3];
    for (int i = 0; i < 3; i++)
        size[i] = search->sizes->base[i] * (is_doubled[i] ? 2 : 1);
    return is_right_at(search, size);
}

/* If the base is a cube because no other size was right, finds the sizes that must be equal: those that cannot be doubled
 * alone, but together. */
static void find_equal_sizes(size_search_t *search)
{
    lab_gemm_sizes *sizes = search->sizes;
    bool is_tied[3];
    int count = 0, first = -1, parameters = 0;
    if (sizes->base[1] != sizes->base[0] || sizes->base[2] != sizes->base[0] || *search->kernel->constants)
        return;
    for (int i = 0; i < 3; i++) {
        search->direction = i;
        is_tied[i] = !is_right_doubled(search, (const bool[]){i == 0, i == 1, i == 2});
        count += is_tied[i];
    }
    if (count < 2 || !is_right_doubled(search, is_tied))
        return;
    for (int i = 0; i < 3; i++) {
        if (!is_tied[i])
            continue;
        first = first < 0 ? i : first;
        sizes->leader[i] = first;
        parameters += has_parameter(search, i);
        lab_append(sizes->relation, sizeof sizes->relation, "%s%c", *sizes->relation ? " = " : "", names[i]);
    }
    sizes->is_defect = parameters > 1;
}

/* ---- Interface ---- */

static void find_limits(size_search_t *search, int direction)
{
    lab_gemm_sizes *sizes = search->sizes;
    search->direction = direction;
    sizes->least[direction] = sizes->base[direction];
    if (search->kernel->fixed[direction] > 0)
        return; /* the kernel is compiled for this size */
    sizes->step[direction] = find_step(search, &sizes->most[direction]);
    sizes->least[direction] = sizes->step[direction] > 0 ? find_least(search, sizes->step[direction])
                                                         : sizes->base[direction];
    find_wrong_guards(search, sizes->step[direction]);
    if (sizes->step[direction] == 0 && has_parameter(search, direction))
        sizes->is_defect = true; /* a parameter with one valid value */
}

lab_gemm_sizes lab_gemm_find_sizes(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, const int64_t base[3],
                                   lab_finding_list *findings)
{
    lab_gemm_sizes sizes = {.base = {base[0], base[1], base[2]}, .leader = {0, 1, 2}, .reason = {-1, -1, -1}};
    size_search_t search = {.kernel = kernel, .meaning = meaning, .sizes = &sizes, .findings = findings};
    const int64_t *fixed = kernel->fixed;
    if (fixed[0] == 0 || fixed[1] == 0 || fixed[2] == 0)
        search.base_has_findings = run_size(&search, base).finding_count > 0;
    if (lab_gemm_is_square(kernel))
        sizes.leader[1] = sizes.leader[2] = 0;
    else
        find_equal_sizes(&search);
    for (int i = 0; i < 3; i++)
        if (sizes.leader[i] == i)
            find_limits(&search, i);
    for (int i = 0; i < 3; i++) {
        sizes.step[i] = sizes.step[sizes.leader[i]];
        sizes.least[i] = sizes.least[sizes.leader[i]];
        sizes.most[i] = sizes.most[sizes.leader[i]];
    }
    return sizes;
}

bool lab_gemm_takes_any_size(const lab_gemm_sizes *sizes)
{
    for (int i = 0; i < 3; i++)
        if (sizes->step[i] != 1 || sizes->least[i] != 1 || sizes->most[i] != 0)
            return false;
    return !*sizes->relation;
}

/* Appends what directions with the same limits take. */
static void append_direction(const lab_gemm_sizes *sizes, int direction, const char *list, char *text, size_t capacity)
{
    int64_t step = sizes->step[direction], least = sizes->least[direction], most = sizes->most[direction];
    bool is_plural = strchr(list, ' ') != NULL;
    const char *and = "";
    if (step == 1 && least == 1 && most == 0)
        return;
    lab_append(text, capacity, "%s%s %s ", *text ? "; " : "", list, is_plural ? "are" : "is");
    if (step == 0 || least == most) {
        lab_append(text, capacity, "%lld", (long long)sizes->base[direction]);
        return;
    }
    if (step > 1) {
        lab_append(text, capacity, "%s of %lld", is_plural ? "multiples" : "a multiple", (long long)step);
        and = " and ";
    }
    if (least > step) {
        lab_append(text, capacity, "%sat least %lld", and, (long long)least);
        and = " and ";
    }
    if (most > 0)
        lab_append(text, capacity, "%sat most %lld", and, (long long)most);
}

static bool have_same_limits(const lab_gemm_sizes *sizes, int i, int j)
{
    return sizes->step[i] == sizes->step[j] && sizes->least[i] == sizes->least[j] && sizes->most[i] == sizes->most[j] &&
           (sizes->step[i] > 0 || sizes->base[i] == sizes->base[j]);
}

/* Replaces the separators of parts: "a, and b", or "a, b, and c". */
static void join_parts(const char *parts, char *text, size_t capacity)
{
    const char *rest = parts;
    *text = '\0';
    for (const char *end = strchr(rest, ';'); end; end = strchr(rest, ';')) {
        bool is_last = !strchr(end + 1, ';');
        lab_append(text, capacity, "%.*s, %s", (int)(end - rest), rest, is_last ? "and " : "");
        rest = end + 2;
    }
    lab_append(text, capacity, "%s", rest);
}

void lab_gemm_describe_sizes(const lab_gemm_kernel *kernel, const lab_gemm_sizes *sizes, char *text, size_t capacity)
{
    bool is_taken[3] = {false};
    char parts[512] = "";
    if (lab_gemm_is_square(kernel)) {
        *text = '\0';
        append_direction(sizes, 0, "N", text, capacity);
        return;
    }
    lab_append(parts, sizeof parts, "%s", sizes->relation);
    for (int i = 0; i < 3; i++) {
        char group[4] = "", list[32] = "";
        int count = 0;
        for (int j = i; j < 3 && !is_taken[i]; j++)
            if (!is_taken[j] && have_same_limits(sizes, i, j))
                group[count++] = names[j];
        for (int j = 0; j < count; j++) {
            is_taken[strchr(names, group[j]) - names] = true;
            lab_append(list, sizeof list, "%s%c", j == 0 ? "" : j + 1 == count ? " and " : ", ", group[j]);
        }
        if (count > 0)
            append_direction(sizes, i, list, parts, sizeof parts);
    }
    join_parts(parts, text, capacity);
}

void lab_gemm_describe_failure(const lab_gemm_sizes *sizes, int direction, char *text, size_t capacity)
{
    *text = '\0';
    if (sizes->reason[direction] < 0)
        return;
    const lab_gemm_failure *failure = &sizes->failures[sizes->reason[direction]];
    lab_append(text, capacity, "%lld x %lld x %lld", (long long)failure->size[0], (long long)failure->size[1],
               (long long)failure->size[2]);
    if (failure->line > 0)
        lab_append(text, capacity, ", line %d, %s", failure->line, failure->kind);
    lab_append(text, capacity, ": %s", failure->text);
}
