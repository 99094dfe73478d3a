/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_sizes.c - see gemm_sizes.h. */
#include "plain_gemm/gemm_sizes.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "plain_gemm/gemm_meaning.h"

enum { STEP_MAX = 256 };

/* A search in one direction; all directions at once if the kernel takes square matrices only. */
typedef struct size_search {
    lab_gemm_kernel *kernel;
    const lab_gemm_meaning *meaning;
    const int64_t *base;
    int direction;
    bool is_square;
    bool base_has_findings; /* then findings do not tell sizes apart */
    char reason[512];
} size_search_t;

/* Out-of-bounds accesses count as wrong, even if the result is right. */
static bool has_findings(const lab_gemm_kernel *kernel)
{
    for (int64_t i = 0; i < rung_emulator_finding_count(kernel->emulator); i++) {
        rung_emulator_finding_kind kind = rung_emulator_finding_at(kernel->emulator, i)->kind;
        if (kind == RUNG_EMULATOR_OUT_OF_BOUNDS || kind == RUNG_EMULATOR_MISALIGNED ||
            kind == RUNG_EMULATOR_UNINITIALIZED || kind == RUNG_EMULATOR_RACE || kind == RUNG_EMULATOR_BARRIER)
            return true;
    }
    return false;
}

static bool is_right(size_search_t *search, int64_t size)
{
    const int64_t *base = search->base;
    int64_t sizes[3] = {base[0], base[1], base[2]};
    for (int i = 0; i < 3; i++)
        if (search->is_square || i == search->direction)
            sizes[i] = size;
    lab_gemm_problem problem = {.m = sizes[0],
                                .n = sizes[1],
                                .k = sizes[2],
                                .alpha = 2,
                                .beta = 3,
                                .is_exact = true,
                                .seed = 2,
                                .checks = RUNG_EMULATOR_CHECK_ALL};
    lab_gemm_result result = lab_gemm_run(search->kernel, search->meaning, &problem);
    bool is_clean = search->base_has_findings || !has_findings(search->kernel);
    if (result.outcome == LAB_GEMM_RIGHT && is_clean)
        return true;
    if (!*search->reason)
        snprintf(search->reason, sizeof search->reason, "%lld x %lld x %lld: %s", (long long)sizes[0],
                 (long long)sizes[1], (long long)sizes[2],
                 result.outcome == LAB_GEMM_RIGHT ? rung_emulator_finding_at(search->kernel->emulator, 0)->text
                                                  : result.text);
    return false;
}

/* Returns the smallest step for which the kernel is right above and below the base; 0 if every step fails. *most is the
 * largest size if only smaller ones are right. */
static int64_t find_step(size_search_t *search, int64_t *most)
{
    int64_t base = search->base[search->direction];
    *most = 0;
    for (int64_t step = 1; step <= STEP_MAX && step <= base; step *= 2)
        if (is_right(search, base + step) && (base == step || is_right(search, base - step)))
            return step;
    *most = base;
    for (int64_t step = 1; step <= STEP_MAX && step < base; step *= 2)
        if (is_right(search, base - step))
            return step;
    return 0;
}

static int64_t find_least(size_search_t *search, int64_t step)
{
    int64_t base = search->base[search->direction];
    for (int64_t least = step; least < base; least += least < 4 * step ? step : least)
        if (is_right(search, least))
            return least;
    return base;
}

lab_gemm_sizes lab_gemm_find_sizes(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, const int64_t base[3])
{
    lab_gemm_sizes sizes = {.base = {base[0], base[1], base[2]}};
    size_search_t search = {
        .kernel = kernel, .meaning = meaning, .base = base, .is_square = lab_gemm_is_square(kernel)};
    is_right(&search, base[0]); /* direction 0 at its base */
    search.base_has_findings = has_findings(kernel);
    for (int i = 0; i < 3; i++) {
        search.direction = i;
        *search.reason = '\0';
        if (search.is_square && i > 0) {
            sizes.step[i] = sizes.step[0];
            sizes.least[i] = sizes.least[0];
            sizes.most[i] = sizes.most[0];
            continue;
        }
        sizes.step[i] = find_step(&search, &sizes.most[i]);
        sizes.least[i] = sizes.step[i] > 0 ? find_least(&search, sizes.step[i]) : base[i];
        snprintf(sizes.first_wrong[i], sizeof sizes.first_wrong[i], "%s", search.reason);
    }
    return sizes;
}

bool lab_gemm_takes_any_size(const lab_gemm_sizes *sizes)
{
    for (int i = 0; i < 3; i++)
        if (sizes->step[i] != 1 || sizes->least[i] != 1 || sizes->most[i] != 0)
            return false;
    return true;
}

/* Appends what directions with the same limits take. */
static void append_direction(const lab_gemm_sizes *sizes, int direction, const char *names, char *text, size_t capacity)
{
    int64_t step = sizes->step[direction], least = sizes->least[direction], most = sizes->most[direction];
    bool is_plural = strchr(names, ' ') != NULL;
    const char *and = "";
    if (step == 1 && least == 1 && most == 0)
        return;
    lab_append(text, capacity, "%s%s %s ", *text ? ", " : "", names, is_plural ? "are" : "is");
    if (step == 0) {
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

void lab_gemm_describe_sizes(const lab_gemm_kernel *kernel, const lab_gemm_sizes *sizes, char *text, size_t capacity)
{
    static const char names[] = "MNK";
    bool is_taken[3] = {false};
    *text = '\0';
    if (lab_gemm_is_square(kernel)) {
        append_direction(sizes, 0, "N", text, capacity);
        return;
    }
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
            append_direction(sizes, i, list, text, capacity);
    }
}
