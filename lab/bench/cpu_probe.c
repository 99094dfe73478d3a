/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_probe.c - see cpu_probe.h.
 *
 * Each loop keeps 12 accumulators in registers, enough to hide the latency of the instructions, and reads no memory. An
 * empty asm statement makes the compiler assume that each accumulator changes in every iteration, so that it cannot shorten
 * the loop. If the accumulators do not contain what the iterations must produce, the loop counts as not run. */
#include "bench/cpu_probe.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/amx_permission.h"
#include "base/x86_features.h"
#include "common/enum_names.h"
#include "common/lab_clock.h"

LAB_DEFINE_ENUM_NAME(lab_cpu_probe_name, lab_cpu_probe, LAB_CPU_PROBE_LIST)

bool lab_cpu_probe_is_fma(lab_cpu_probe probe)
{
    return probe == LAB_CPU_PROBE_FMA_F32 || probe == LAB_CPU_PROBE_FMA_F64;
}

bool lab_cpu_probe_has_modes(lab_cpu_probe probe)
{
    return probe == LAB_CPU_PROBE_AMX_BF16 || probe == LAB_CPU_PROBE_AMX_I8;
}

/* Runs the iterations of a loop. Returns the number of operations, or 0 if the sums are wrong. */
typedef double probe_loop_t(int64_t iterations);

/* ---- Loops ------------------------------------------------------------------------------------------ */

enum { SUMS = 12 };

#define PORTABLE_LOOP(NAME, TYPE)                                        \
    static double NAME(int64_t iterations)                               \
    {                                                                    \
        volatile TYPE start = 1;                                         \
        TYPE sums[SUMS], factor = start * (TYPE)0.5;                     \
        for (int i = 0; i < SUMS; i++)                                   \
            sums[i] = start;                                             \
        for (int64_t iteration = 0; iteration < iterations; iteration++) \
            for (int i = 0; i < SUMS; i++)                               \
                sums[i] = sums[i] * factor + factor;                     \
        for (int i = 0; i < SUMS; i++)                                   \
            start = sums[i];                                             \
        return (double)iterations * SUMS * 2;                            \
    }
PORTABLE_LOOP(portable_f32, float)
PORTABLE_LOOP(portable_f64, double)

#if defined(__x86_64__)
#include <immintrin.h>

/* Applies OP to every accumulator by name, since an array would not stay in registers. */
#define EACH(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define DECLARE(I) s##I = one,
#define KEEP_IN_REGISTER(I) __asm__ volatile("" : "+v"(s##I));
#define CHECK(I)                        \
    memcpy(lanes, &s##I, sizeof lanes); \
    is_correct = is_correct && is_near((double)lanes[0], expected);

/* Allows for the rounding of BF16 sums. */
static bool is_near(double sum, double expected)
{
    return fabs(sum - expected) <= expected / 100;
}

#define VECTOR_LOOP(NAME, TARGET, TYPE, ONE, STEP, OPERATIONS, LANE, START, GAIN) \
    __attribute__((target(TARGET))) static double NAME(int64_t iterations)        \
    {                                                                             \
        TYPE one = ONE, EACH(DECLARE) factor = one;                               \
        for (int64_t iteration = 0; iteration < iterations; iteration++) {        \
            EACH(STEP)                                                            \
            EACH(KEEP_IN_REGISTER)                                                \
        }                                                                         \
        LANE lanes[sizeof(TYPE) / sizeof(LANE)];                                  \
        const double expected = (START) + (double)iterations * (GAIN);            \
        bool is_correct = true;                                                   \
        EACH(CHECK)                                                               \
        return is_correct ? (double)iterations * SUMS * (OPERATIONS) : 0;         \
    }
#define STEP_AVX2_F32(I) s##I = _mm256_fmadd_ps(factor, factor, s##I);
#define STEP_AVX2_F64(I) s##I = _mm256_fmadd_pd(factor, factor, s##I);
#define STEP_F32(I) s##I = _mm512_fmadd_ps(factor, factor, s##I);
#define STEP_F64(I) s##I = _mm512_fmadd_pd(factor, factor, s##I);
#define STEP_BF16(I) s##I = _mm512_dpbf16_ps(s##I, (__m512bh)factor, (__m512bh)factor);
#define STEP_I8(I) s##I = _mm512_dpbusd_epi32(s##I, factor, factor);
VECTOR_LOOP(avx2_f32, "avx2,fma", __m256, _mm256_set1_ps(1), STEP_AVX2_F32, 16, float, 1, 1)
VECTOR_LOOP(avx2_f64, "avx2,fma", __m256d, _mm256_set1_pd(1), STEP_AVX2_F64, 8, double, 1, 1)
VECTOR_LOOP(avx512_f32, "avx512f", __m512, _mm512_set1_ps(1), STEP_F32, 32, float, 1, 1)
VECTOR_LOOP(avx512_f64, "avx512f", __m512d, _mm512_set1_pd(1), STEP_F64, 16, double, 1, 1)
VECTOR_LOOP(dot_bf16, "avx512f,avx512bf16", __m512, _mm512_castsi512_ps(_mm512_set1_epi16(0x3f80)), STEP_BF16, 64,
            float, 1, 2)
VECTOR_LOOP(dot_i8, "avx512f,avx512vnni", __m512i, _mm512_set1_epi8(1), STEP_I8, 128, int32_t, 0x01010101, 4)

/* The configuration of AMX tiles. The loop uses all eight: four accumulators of 16 x 16, two tiles of A and two of B with 16
 * rows of 64 bytes. A and B contain ones, since zeros draw less current. */
typedef struct tile_config_t {
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config_t;

#define TILE_LOOP(NAME, TARGET, DOT, ONE, OPERATIONS, LANE, GAIN)                                            \
    __attribute__((target(TARGET))) static double NAME(int64_t iterations)                                   \
    {                                                                                                        \
        tile_config_t config = {.palette = 1};                                                               \
        uint16_t ones[512];                                                                                  \
        for (int i = 0; i < 512; i++)                                                                        \
            ones[i] = ONE;                                                                                   \
        for (int i = 0; i < 8; i++) {                                                                        \
            config.row_bytes[i] = 64;                                                                        \
            config.rows[i] = 16;                                                                             \
        }                                                                                                    \
        __asm__ volatile("" : : : "memory"); /* the intrinsics do not declare what they read */              \
        _tile_loadconfig(&config);                                                                           \
        _tile_zero(0);                                                                                       \
        _tile_zero(1);                                                                                       \
        _tile_zero(2);                                                                                       \
        _tile_zero(3);                                                                                       \
        _tile_loadd(4, ones, 64);                                                                            \
        _tile_loadd(5, ones, 64);                                                                            \
        _tile_loadd(6, ones, 64);                                                                            \
        _tile_loadd(7, ones, 64);                                                                            \
        for (int64_t iteration = 0; iteration < iterations; iteration++) {                                   \
            DOT(0, 4, 6);                                                                                    \
            DOT(1, 4, 7);                                                                                    \
            DOT(2, 5, 6);                                                                                    \
            DOT(3, 5, 7);                                                                                    \
        }                                                                                                    \
        LANE sums[4][256];                                                                                   \
        _tile_stored(0, sums[0], 64);                                                                        \
        _tile_stored(1, sums[1], 64);                                                                        \
        _tile_stored(2, sums[2], 64);                                                                        \
        _tile_stored(3, sums[3], 64);                                                                        \
        _tile_release();                                                                                     \
        __asm__ volatile("" : : : "memory");                                                                 \
        bool is_correct = true;                                                                              \
        for (int i = 0; i < 4 * 256; i++)                                                                    \
            is_correct = is_correct && is_near((double)sums[i / 256][i % 256], (double)iterations * (GAIN)); \
        return is_correct ? (double)iterations * 4 * (OPERATIONS) : 0;                                       \
    }
TILE_LOOP(amx_bf16, "amx-tile,amx-bf16", _tile_dpbf16ps, 0x3f80, 2 * 16 * 16 * 32, float, 32)
TILE_LOOP(amx_i8, "amx-tile,amx-int8", _tile_dpbssd, 0x0101, 2 * 16 * 16 * 64, int32_t, 64)

static bool has_amx(void)
{
    return rungi_x86_features_detect().has_amx && rungi_amx_request();
}

int lab_cpu_fma_bits(void)
{
    rungi_x86_features x86 = rungi_x86_features_detect();
    return x86.has_avx512f ? 512 : x86.has_avx2_fma ? 256 : 0;
}

static bool has_dot_product(lab_cpu_probe probe)
{
    rungi_x86_features x86 = rungi_x86_features_detect();
    return probe == LAB_CPU_PROBE_DOT_BF16 ? x86.has_avx512_bf16 : x86.has_avx512_vnni;
}

static probe_loop_t *loop_of(lab_cpu_probe probe)
{
    int width = lab_cpu_fma_bits();
    switch (probe) {
    case LAB_CPU_PROBE_FMA_F32: return width == 512 ? avx512_f32 : width == 256 ? avx2_f32 : portable_f32;
    case LAB_CPU_PROBE_FMA_F64: return width == 512 ? avx512_f64 : width == 256 ? avx2_f64 : portable_f64;
    case LAB_CPU_PROBE_DOT_BF16: return dot_bf16;
    case LAB_CPU_PROBE_DOT_I8: return dot_i8;
    case LAB_CPU_PROBE_AMX_BF16: return amx_bf16;
    case LAB_CPU_PROBE_AMX_I8: return amx_i8;
    case LAB_CPU_PROBE_NONE:
    case LAB_CPU_PROBE_COUNT: break;
    }
    return NULL;
}
#else
static bool has_amx(void)
{
    return false;
}

static bool has_dot_product(lab_cpu_probe probe)
{
    (void)probe;
    return false;
}

int lab_cpu_fma_bits(void)
{
    return 0;
}

static probe_loop_t *loop_of(lab_cpu_probe probe)
{
    return probe == LAB_CPU_PROBE_NONE ? NULL : probe == LAB_CPU_PROBE_FMA_F64 ? portable_f64 : portable_f32;
}
#endif

bool lab_cpu_probe_is_upper_bound(lab_cpu_probe probe, lab_type_pair product)
{
    rung_type sum = lab_type_pair_accumulator(product);
    if (lab_cpu_probe_is_fma(probe))
        return lab_cpu_fma_bits() > 0 && (sum == RUNG_F32 || sum == RUNG_F64);
    return probe != LAB_CPU_PROBE_NONE;
}

lab_cpu_probe lab_cpu_probe_for(lab_type_pair product, rung_compute compute)
{
    bool is_q8 = lab_type_pair_is_mixed(product) && compute == RUNG_COMPUTE_Q8;
    bool is_i8 = product.in == RUNG_I8 || is_q8,
         splits_f32 = compute == RUNG_COMPUTE_BF16X3 || compute == RUNG_COMPUTE_BF16X1;
    bool is_bf16 = lab_type_pair_is_mixed(product)
                       ? compute == RUNG_COMPUTE_BF16X1 /* other modes dequantize B to F32 */
                       : product.in == RUNG_BF16 || (product.in == RUNG_F32 && splits_f32);
    lab_cpu_probe dot = is_i8 ? LAB_CPU_PROBE_DOT_I8 : LAB_CPU_PROBE_DOT_BF16;
    if (lab_type_pair_accumulator(product) == RUNG_F64)
        return LAB_CPU_PROBE_FMA_F64;
    if ((is_i8 || is_bf16) && has_amx())
        return is_i8 ? LAB_CPU_PROBE_AMX_I8 : LAB_CPU_PROBE_AMX_BF16;
    return (is_i8 || is_bf16) && has_dot_product(dot) ? dot : LAB_CPU_PROBE_FMA_F32;
}

bool lab_cpu_probe_is_available(lab_cpu_probe probe)
{
    if (probe == LAB_CPU_PROBE_DOT_BF16 || probe == LAB_CPU_PROBE_DOT_I8)
        return has_dot_product(probe);
    return lab_cpu_probe_is_fma(probe) || (lab_cpu_probe_has_modes(probe) && has_amx());
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

typedef struct team_member {
    void (*work)(void *item);
    void *item;
    pthread_mutex_t *gate; /* locked until all threads exist */
} team_member_t;

static void *run_member(void *user)
{
    team_member_t *member = user;
    pthread_mutex_lock(member->gate);
    pthread_mutex_unlock(member->gate);
    member->work(member->item);
    return NULL;
}

int lab_thread_team_run(void (*work)(void *item), void *items, size_t item_bytes, int count)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    team_member_t members[LAB_THREADS_MAX];
    pthread_t threads[LAB_THREADS_MAX];
    int created = 1;
    pthread_mutex_lock(&gate);
    for (; created < count && created < LAB_THREADS_MAX; created++) {
        members[created] = (team_member_t){work, (char *)items + (size_t)created * item_bytes, &gate};
        if (pthread_create(&threads[created], NULL, run_member, &members[created]) != 0)
            break;
    }
    pthread_mutex_unlock(&gate);
    work(items);
    for (int i = 1; i < created; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&gate);
    return created;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

typedef struct probe_thread {
    probe_loop_t *loop;
    int64_t iterations;
    bool is_alone; /* timed by its processor time, like the samples of one thread */
    double gflops;
} probe_thread_t;

static int64_t now_ns(const probe_thread_t *thread)
{
    struct timespec time;
    if (!thread->is_alone)
        return lab_now_ns();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void run_thread(void *user)
{
    probe_thread_t *thread = user;
    int64_t started_ns = now_ns(thread);
    double operations = thread->loop(thread->iterations);
    thread->gflops = operations / fmax((double)(now_ns(thread) - started_ns), 1);
}

double lab_cpu_probe_run(lab_cpu_probe probe, int count)
{
    probe_thread_t threads[LAB_THREADS_MAX];
    double gflops = 0;
    /* About 100 us on a processor of 2026. Other durations work, too. */
    int64_t iterations = lab_cpu_probe_has_modes(probe) ? 3000 : 20000;
    if (!loop_of(probe))
        return 0;
    for (int i = 0; i < LAB_THREADS_MAX && (i == 0 || i < count); i++)
        threads[i] = (probe_thread_t){loop_of(probe), iterations, count <= 1, 0};
    int ran = lab_thread_team_run(run_thread, threads, sizeof *threads, count);
    for (int i = 0; i < ran; i++)
        gflops += threads[i].gflops;
    return gflops;
}
