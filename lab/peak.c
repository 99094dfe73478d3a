/* SPDX-License-Identifier: Apache-2.0 */
/* peak.c - see peak.h: the processor.
 *
 * Reading adds up 64-bit words by the widest vectors that there are, modulo 2^64, so that the sum
 * proves that every word was read in every pass. */
#include "peak.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caches.h"
#include "clock.h"
#include "probe.h"
#include "samples.h"

enum { SAMPLES = 25, SAMPLES_MIN = 5, PROBES = 100, SAMPLE_NS = 4000000, THREADS_MAX = 256, STEP = 64 /* words */ };

lab_ceiling *lab_peak_add(lab_peak *peak, const char *name, const char *level)
{
    if (peak->count == LAB_CEILINGS_MAX)
        return NULL;
    lab_ceiling *added = &peak->list[peak->count++];
    *added = (lab_ceiling){.samples = 0};
    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->level, sizeof added->level, "%s", level);
    return added;
}

double lab_peak_best(double *samples, int64_t count, double *spread)
{
    *spread = 0;
    if (count == 0)
        return 0;
    lab_sort(samples, count);
    double best = samples[count - 1], median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
    *spread = best > 0 ? 100 * (best - median) / best : 0;
    return best;
}

/* ---- Arithmetic --------------------------------------------------------------------------------------- */

static void measure_probe(lab_probe probe, int64_t threads, lab_peak *peak)
{
    double samples[PROBES];
    lab_ceiling *ceiling = lab_peak_add(peak, lab_probe_name(probe), "registers");
    if (!ceiling)
        return;
    for (int i = 0; i < PROBES; i++)
        samples[i] = lab_probe_run(probe, (int)threads);
    ceiling->threads = threads;
    ceiling->samples = PROBES;
    ceiling->gflops = lab_peak_best(samples, PROBES, &ceiling->spread);
    ceiling->is_wrong = ceiling->gflops <= 0;
    if (ceiling->is_wrong)
        snprintf(ceiling->why_not, sizeof ceiling->why_not, "its sums are wrong");
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* The sum of all words, so many times; `words` is a multiple of STEP. */
typedef uint64_t read_loop_t(const uint64_t *memory, int64_t words, int64_t passes);

/* Between two passes the memory may have changed, as far as the compiler knows. */
#define FORGET __asm__ volatile("" : : : "memory")

static uint64_t read_portable(const uint64_t *memory, int64_t words, int64_t passes)
{
    uint64_t sums[8] = {0}, all = 0;
    for (int64_t pass = 0; pass < passes; pass++) {
        for (int64_t i = 0; i < words; i += 8)
            for (int j = 0; j < 8; j++)
                sums[j] += memory[i + j];
        FORGET;
    }
    for (int j = 0; j < 8; j++)
        all += sums[j];
    return all;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define VECTOR_READ(NAME, TARGET, TYPE, WORDS, ZERO, ADD, LOAD)                                                 \
    __attribute__((target(TARGET))) static uint64_t NAME(const uint64_t *memory, int64_t words, int64_t passes) \
    {                                                                                                           \
        TYPE s0 = ZERO, s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;                          \
        for (int64_t pass = 0; pass < passes; pass++) {                                                         \
            for (int64_t i = 0; i < words; i += 8 * (WORDS)) {                                                  \
                const uint64_t *at = memory + i;                                                                \
                s0 = ADD(s0, LOAD((const void *)(at + 0 * (WORDS))));                                           \
                s1 = ADD(s1, LOAD((const void *)(at + 1 * (WORDS))));                                           \
                s2 = ADD(s2, LOAD((const void *)(at + 2 * (WORDS))));                                           \
                s3 = ADD(s3, LOAD((const void *)(at + 3 * (WORDS))));                                           \
                s4 = ADD(s4, LOAD((const void *)(at + 4 * (WORDS))));                                           \
                s5 = ADD(s5, LOAD((const void *)(at + 5 * (WORDS))));                                           \
                s6 = ADD(s6, LOAD((const void *)(at + 6 * (WORDS))));                                           \
                s7 = ADD(s7, LOAD((const void *)(at + 7 * (WORDS))));                                           \
            }                                                                                                   \
            FORGET;                                                                                             \
        }                                                                                                       \
        uint64_t lanes[WORDS], all = 0;                                                                         \
        s0 = ADD(ADD(ADD(s0, s1), ADD(s2, s3)), ADD(ADD(s4, s5), ADD(s6, s7)));                                 \
        memcpy(lanes, &s0, sizeof lanes);                                                                       \
        for (int i = 0; i < (WORDS); i++)                                                                       \
            all += lanes[i];                                                                                    \
        return all;                                                                                             \
    }
VECTOR_READ(read_avx2, "avx2", __m256i, 4, _mm256_setzero_si256(), _mm256_add_epi64, _mm256_load_si256)
VECTOR_READ(read_avx512, "avx512f", __m512i, 8, _mm512_setzero_si512(), _mm512_add_epi64, _mm512_load_si512)

static read_loop_t *widest_read(void)
{
    int width = lab_probe_width();
    return width == 512 ? read_avx512 : width == 256 ? read_avx2 : read_portable;
}
#else
static read_loop *widest_read(void)
{
    return read_portable;
}
#endif

/* ---- Threads ------------------------------------------------------------------------------------------- */

/* A thread's share: what it does, with what, and what came of it. */
typedef struct part {
    void (*work)(struct part *part);
    read_loop_t *loop;
    uint64_t *memory;
    int64_t words, passes;
    uint64_t expected; /* sum of all words */
    bool right;
    int64_t started, ended;
    pthread_mutex_t *gate; /* held until all are there */
} part_t;

static void fill(part_t *part)
{
    part->expected = 0;
    for (int64_t i = 0; i < part->words; i++) {
        part->memory[i] = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
        part->expected += part->memory[i];
    }
}

static void read_all(part_t *part)
{
    part->right = part->loop(part->memory, part->words, part->passes) == part->expected * (uint64_t)part->passes;
}

/* The first half to the second. */
static void copy_all(part_t *part)
{
    size_t half = (size_t)part->words / 2 * sizeof *part->memory;
    for (int64_t pass = 0; pass < part->passes; pass++) {
        memcpy(part->memory + part->words / 2, part->memory, half);
        FORGET;
    }
}

static void *run_part(void *user)
{
    part_t *part = user;
    pthread_mutex_lock(part->gate);
    pthread_mutex_unlock(part->gate);
    part->started = lab_now();
    part->work(part);
    part->ended = lab_now();
    return NULL;
}

/* All at once; from the first's start to the last's end, 0 if there are not enough threads. */
static int64_t run_parts(part_t *parts, int64_t count, void (*work)(part_t *part))
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t threads[THREADS_MAX];
    int64_t made = 0, started = INT64_MAX, ended = 0;
    pthread_mutex_lock(&gate);
    for (; made < count; made++) {
        parts[made].work = work;
        parts[made].gate = &gate;
        if (pthread_create(&threads[made], NULL, run_part, &parts[made]) != 0)
            break;
    }
    pthread_mutex_unlock(&gate);
    for (int64_t i = 0; i < made; i++) {
        pthread_join(threads[i], NULL);
        started = parts[i].started < started ? parts[i].started : started;
        ended = parts[i].ended > ended ? parts[i].ended : ended;
    }
    pthread_mutex_destroy(&gate);
    return made == count ? ended - started : 0;
}

static void set_passes(part_t *parts, int64_t count, int64_t passes)
{
    for (int64_t i = 0; i < count; i++)
        parts[i].passes = passes;
}

/* Until starting the threads takes no part of it. */
static int64_t find_passes(part_t *parts, int64_t count, void (*work)(part_t *part))
{
    int64_t passes = 1;
    for (;;) {
        set_passes(parts, count, passes);
        int64_t time = run_parts(parts, count, work);
        if (time <= 0 || time >= SAMPLE_NS || passes >= INT64_MAX / 4)
            return time > 0 ? passes : 0;
        passes *= 2;
    }
}

static bool all_right(part_t *parts, int64_t count, bool copies)
{
    bool right = true;
    for (int64_t i = 0; i < count; i++) {
        size_t half = (size_t)parts[i].words / 2 * sizeof *parts[i].memory;
        right = right &&
                (copies ? memcmp(parts[i].memory, parts[i].memory + parts[i].words / 2, half) == 0 : parts[i].right);
    }
    return right;
}

/* ---- Bandwidth ---------------------------------------------------------------------------------------- */

static const char *sample_parts(part_t *parts, int64_t count, bool copies, lab_ceiling *ceiling)
{
    double samples[SAMPLES];
    void (*work)(part_t * part) = copies ? copy_all : read_all;
    if (run_parts(parts, count, fill) <= 0)
        return "threads could not be started";
    int64_t passes = find_passes(parts, count, work);
    double bytes = (double)ceiling->bytes * (double)passes;
    if (passes == 0)
        return "threads could not be started";
    int64_t i = 0, began = lab_now();
    for (; i < SAMPLES && (i < SAMPLES_MIN || lab_now() - began < 1000000000); i++) {
        for (int64_t j = 0; copies && j < count; j++)
            parts[j].memory[parts[j].words - 1 - i] = 0; /* what is there is not what was there */
        int64_t time = run_parts(parts, count, work);
        if (time <= 0)
            return "threads could not be started";
        ceiling->is_wrong = !all_right(parts, count, copies);
        if (ceiling->is_wrong)
            return copies ? "the copy is not what was copied" : "the sum of what was read is wrong";
        samples[i] = bytes / (double)time;
    }
    ceiling->samples = i;
    ceiling->gb_s = lab_peak_best(samples, i, &ceiling->spread);
    return NULL;
}

/* So many bytes a thread. */
static void measure_bytes(const char *name, const char *level, int64_t bytes, int64_t threads, lab_peak *peak)
{
    part_t parts[THREADS_MAX] = {{.work = NULL}};
    bool copies = strcmp(name, "copy") == 0;
    int64_t words = bytes / 8 / (2 * STEP) * (2 * STEP);
    lab_ceiling *ceiling = words > 0 ? lab_peak_add(peak, name, level) : NULL;
    if (!ceiling)
        return;
    uint64_t *memory = aligned_alloc(4096, (size_t)(threads * words * 8 + 4095) / 4096 * 4096);
    for (int64_t i = 0; memory && i < threads; i++)
        parts[i] = (part_t){.loop = widest_read(), .memory = memory + i * words, .words = words};
    ceiling->threads = threads;
    ceiling->bytes = threads * words * 8;
    const char *why = memory ? sample_parts(parts, threads, copies, ceiling) : "out of memory";
    snprintf(ceiling->why_not, sizeof ceiling->why_not, "%s", why ? why : "");
    free(memory);
}

/* Half of a cache leaves room for all else; a level that is shared is divided, and left out where
 * the share would fit the level before. */
static void measure_levels(const lab_caches *caches, int64_t threads, lab_peak *peak)
{
    int64_t last = lab_caches_last(caches), before = 0;
    for (int i = 0; i < LAB_CACHE_LEVELS; i++) {
        char level[16];
        int64_t bytes = caches->level[i] / 2 / (i < 2 ? 1 : threads);
        snprintf(level, sizeof level, "L%d", i + 1);
        if (bytes > before)
            measure_bytes("read", level, bytes, threads, peak);
        before = caches->level[i] > 0 ? caches->level[i] : before;
    }
    int64_t memory = 4 * last > (int64_t)256 << 20 ? 4 * last : (int64_t)256 << 20;
    if (caches->memory > 0 && memory > caches->memory / 8)
        memory = caches->memory / 8;
    measure_bytes("read", "memory", memory / threads, threads, peak);
    measure_bytes("copy", "memory", memory / threads, threads, peak);
}

void lab_peak_cpu(int64_t threads, lab_peak *peak)
{
    lab_caches caches = lab_caches_read();
    const int64_t counts[] = {1, threads < THREADS_MAX ? threads : THREADS_MAX};
    for (int i = 0; i < (threads > 1 ? 2 : 1); i++) {
        for (int probe = LAB_PROBE_NONE + 1; probe < LAB_PROBE_COUNT; probe++)
            if (lab_probe_is_here((lab_probe)probe))
                measure_probe((lab_probe)probe, counts[i], peak);
        measure_levels(&caches, counts[i], peak);
    }
}
