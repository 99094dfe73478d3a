/* SPDX-License-Identifier: Apache-2.0 */
/* peak_cpu.c - rung peak on the CPU (see peak.h).
 *
 * A read loop adds 64-bit words modulo 2^64 with the widest vectors of the processor, so that the sum proves that every
 * word was read in every pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/aligned_memory.h"
#include "bench/peak.h"
#include "common/lab_clock.h"
#include "common/statistics.h"

enum { SAMPLES_MAX = 25, SAMPLES_MIN = 5, PROBE_SAMPLES = 100, SAMPLE_MIN_NS = 4000000, READ_STEP_WORDS = 64 };

lab_peak_ceiling *lab_peak_add(lab_peak *peak, const char *name, const char *level)
{
    if (peak->count == LAB_PEAK_CEILINGS_MAX)
        return NULL;
    lab_peak_ceiling *added = &peak->list[peak->count++];
    *added = (lab_peak_ceiling){.samples = 0};
    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->level, sizeof added->level, "%s", level);
    return added;
}

double lab_peak_best_sample(double *samples, int64_t count, double *spread)
{
    *spread = 0;
    if (count == 0)
        return 0;
    lab_sort_doubles(samples, count);
    double best = samples[count - 1], median = (samples[(count - 1) / 2] + samples[count / 2]) / 2;
    *spread = best > 0 ? 100 * (best - median) / best : 0;
    return best;
}

/* ---- Arithmetic --------------------------------------------------------------------------------------- */

static void measure_probe(lab_cpu_probe probe, int64_t threads, lab_peak *peak)
{
    double samples[PROBE_SAMPLES];
    lab_peak_ceiling *ceiling = lab_peak_add(peak, lab_cpu_probe_name(probe), "registers");
    if (!ceiling)
        return;
    for (int i = 0; i < PROBE_SAMPLES; i++)
        samples[i] = lab_cpu_probe_run(probe, (int)threads);
    ceiling->threads = threads;
    ceiling->samples = PROBE_SAMPLES;
    ceiling->gflops = lab_peak_best_sample(samples, PROBE_SAMPLES, &ceiling->spread);
    ceiling->is_wrong = ceiling->gflops <= 0;
    if (ceiling->is_wrong)
        snprintf(ceiling->why_not, sizeof ceiling->why_not, "the loop computed a wrong sum");
}

/* ---- Reading ------------------------------------------------------------------------------------------- */

/* Returns the sum of all words times `passes`; `words` is a multiple of READ_STEP_WORDS. */
typedef uint64_t read_loop_t(const uint64_t *memory, int64_t words, int64_t passes);

/* Makes the compiler assume that the memory has changed between two passes. */
#define COMPILER_BARRIER __asm__ volatile("" : : : "memory")

static uint64_t read_portable(const uint64_t *memory, int64_t words, int64_t passes)
{
    uint64_t sums[8] = {0}, all = 0;
    for (int64_t pass = 0; pass < passes; pass++) {
        for (int64_t i = 0; i < words; i += 8)
            for (int j = 0; j < 8; j++)
                sums[j] += memory[i + j];
        COMPILER_BARRIER;
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
            COMPILER_BARRIER;                                                                                   \
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

static read_loop_t *widest_read_loop(void)
{
    int width = lab_cpu_fma_bits();
    return width == 512 ? read_avx512 : width == 256 ? read_avx2 : read_portable;
}
#else
static read_loop_t *widest_read_loop(void)
{
    return read_portable;
}
#endif

/* ---- Threads ------------------------------------------------------------------------------------------- */

/* The work and the result of one thread. */
typedef struct peak_thread {
    void (*work)(struct peak_thread *thread);
    read_loop_t *loop;
    uint64_t *memory;
    int64_t words, passes;
    uint64_t expected_sum; /* of all words */
    bool is_correct;
    int64_t started_ns, ended_ns;
} peak_thread_t;

static void fill_memory(peak_thread_t *thread)
{
    thread->expected_sum = 0;
    for (int64_t i = 0; i < thread->words; i++) {
        thread->memory[i] = (uint64_t)i * 0x9e3779b97f4a7c15u + 1;
        thread->expected_sum += thread->memory[i];
    }
}

static void read_memory(peak_thread_t *thread)
{
    uint64_t sum = thread->loop(thread->memory, thread->words, thread->passes);
    thread->is_correct = sum == thread->expected_sum * (uint64_t)thread->passes;
}

/* Copies the first half to the second. */
static void copy_memory(peak_thread_t *thread)
{
    size_t half = (size_t)thread->words / 2 * sizeof *thread->memory;
    for (int64_t pass = 0; pass < thread->passes; pass++) {
        memcpy(thread->memory + thread->words / 2, thread->memory, half);
        COMPILER_BARRIER;
    }
}

static void time_work(void *user)
{
    peak_thread_t *thread = user;
    thread->started_ns = lab_now_ns();
    thread->work(thread);
    thread->ended_ns = lab_now_ns();
}

/* Runs all threads at once. Returns the time from the first start to the last end; 0 if a thread could not be started. */
static int64_t run_threads(peak_thread_t *threads, int64_t count, void (*work)(peak_thread_t *thread))
{
    int64_t started_ns = INT64_MAX, ended_ns = 0;
    for (int64_t i = 0; i < count; i++)
        threads[i].work = work;
    if (lab_thread_team_run(time_work, threads, sizeof *threads, (int)count) < count)
        return 0;
    for (int64_t i = 0; i < count; i++) {
        started_ns = threads[i].started_ns < started_ns ? threads[i].started_ns : started_ns;
        ended_ns = threads[i].ended_ns > ended_ns ? threads[i].ended_ns : ended_ns;
    }
    return ended_ns - started_ns;
}

/* Doubles the passes until starting the threads takes a negligible part of a sample. Returns 0 on failure. */
static int64_t calibrate_passes(peak_thread_t *threads, int64_t count, void (*work)(peak_thread_t *thread))
{
    for (int64_t passes = 1;; passes *= 2) {
        for (int64_t i = 0; i < count; i++)
            threads[i].passes = passes;
        int64_t time = run_threads(threads, count, work);
        if (time <= 0 || time >= SAMPLE_MIN_NS || passes >= INT64_MAX / 4)
            return time > 0 ? passes : 0;
    }
}

static bool are_all_correct(const peak_thread_t *threads, int64_t count, bool is_copy)
{
    for (int64_t i = 0; i < count; i++) {
        const uint64_t *memory = threads[i].memory;
        size_t half = (size_t)threads[i].words / 2;
        if (is_copy ? memcmp(memory, memory + half, half * sizeof *memory) != 0 : !threads[i].is_correct)
            return false;
    }
    return true;
}

/* ---- Bandwidth ----------------------------------------------------------------------------------------- */

/* Returns NULL, or why there is no result. */
static const char *sample_threads(peak_thread_t *threads, int64_t count, bool is_copy, lab_peak_ceiling *ceiling)
{
    static const char not_started[] = "the threads could not be started";
    double samples[SAMPLES_MAX];
    void (*work)(peak_thread_t * thread) = is_copy ? copy_memory : read_memory;
    int64_t passes = run_threads(threads, count, fill_memory) > 0 ? calibrate_passes(threads, count, work) : 0;
    double bytes = (double)ceiling->bytes * (double)passes;
    if (passes == 0)
        return not_started;
    int64_t i = 0, started_ns = lab_now_ns();
    for (; i < SAMPLES_MAX && (i < SAMPLES_MIN || lab_now_ns() - started_ns < 1000000000); i++) {
        for (int64_t j = 0; is_copy && j < count; j++)
            threads[j].memory[threads[j].words - 1 - i] = 0; /* else an earlier copy would pass for a new one */
        int64_t time = run_threads(threads, count, work);
        if (time <= 0)
            return not_started;
        ceiling->is_wrong = !are_all_correct(threads, count, is_copy);
        if (ceiling->is_wrong)
            return is_copy ? "the copy differs from its source" : "the loop computed a wrong sum";
        samples[i] = bytes / (double)time;
    }
    ceiling->samples = i;
    ceiling->gb_s = lab_peak_best_sample(samples, i, &ceiling->spread);
    return NULL;
}

/* Measures reading or copying `bytes` per thread. */
static void measure_bandwidth(const char *name, const char *level, int64_t bytes, int64_t count, lab_peak *peak)
{
    peak_thread_t threads[LAB_THREADS_MAX] = {{.work = NULL}};
    bool is_copy = strcmp(name, "copy") == 0;
    int64_t words = bytes / 8 / (2 * READ_STEP_WORDS) * (2 * READ_STEP_WORDS);
    lab_peak_ceiling *ceiling = words > 0 ? lab_peak_add(peak, name, level) : NULL;
    if (!ceiling)
        return;
    uint64_t *memory = rungi_aligned_allocate(4096, (size_t)(count * words * 8 + 4095) / 4096 * 4096);
    for (int64_t i = 0; memory && i < count; i++)
        threads[i] = (peak_thread_t){.loop = widest_read_loop(), .memory = memory + i * words, .words = words};
    ceiling->threads = count;
    ceiling->bytes = count * words * 8;
    const char *why = memory ? sample_threads(threads, count, is_copy, ceiling) : "out of memory";
    snprintf(ceiling->why_not, sizeof ceiling->why_not, "%s", why ? why : "");
    rungi_aligned_free(memory);
}

/* Measures each cache level and memory. Half of a cache leaves room for other data. A shared level is divided between the
 * threads, and left out if such a part fits the level before. */
static void measure_levels(const lab_cache_sizes *caches, int64_t threads, lab_peak *peak)
{
    int64_t last = lab_cache_sizes_last_level(caches), before = 0;
    for (int i = 0; i < LAB_CACHE_LEVELS; i++) {
        char level[16];
        int64_t bytes = caches->level[i] / 2 / (i < 2 ? 1 : threads);
        snprintf(level, sizeof level, "L%d", i + 1);
        if (bytes > before)
            measure_bandwidth("read", level, bytes, threads, peak);
        before = caches->level[i] > 0 ? caches->level[i] : before;
    }
    int64_t memory = 4 * last > (int64_t)256 << 20 ? 4 * last : (int64_t)256 << 20;
    if (caches->memory > 0 && memory > caches->memory / 8)
        memory = caches->memory / 8;
    measure_bandwidth("read", "memory", memory / threads, threads, peak);
    measure_bandwidth("copy", "memory", memory / threads, threads, peak);
}

void lab_peak_measure_cpu(int64_t threads, lab_peak *peak)
{
    lab_cache_sizes caches = lab_cache_sizes_read();
    const int64_t counts[] = {1, threads < LAB_THREADS_MAX ? threads : LAB_THREADS_MAX};
    for (int i = 0; i < (threads > 1 ? 2 : 1); i++) {
        for (int probe = LAB_CPU_PROBE_NONE + 1; probe < LAB_CPU_PROBE_COUNT; probe++)
            if (lab_cpu_probe_is_available((lab_cpu_probe)probe))
                measure_probe((lab_cpu_probe)probe, counts[i], peak);
        measure_levels(&caches, counts[i], peak);
    }
}
