/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - see probe.h.
 *
 * Each loop keeps a dozen sums in registers, more than the instructions' latency needs, and
 * reads no memory. The compiler is told that a sum may have changed after each turn, so that
 * it cannot shorten the loop; and if the sums are not what so many turns make, it did nothing. */
#define _GNU_SOURCE /* syscall */
#include "probe.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {
#define X(name, word) word,
    LAB_PROBE_LIST(X)
#undef X
};

const char *lab_probe_name(lab_probe probe)
{
    return probe < LAB_PROBE_COUNT ? names[probe] : "?";
}

bool lab_probe_has_modes(lab_probe probe)
{
    return probe == LAB_PROBE_AMX_BF16 || probe == LAB_PROBE_AMX_I8;
}

/* A loop does so many turns and gives the operations it did. */
typedef double probe_loop_t(int64_t turns);

/* ---- Loops ------------------------------------------------------------------------------------------ */

enum { SUMS = 12 };

#define PORTABLE_LOOP(NAME, TYPE)                    \
    static double NAME(int64_t turns)                \
    {                                                \
        volatile TYPE start = 1;                     \
        TYPE sums[SUMS], factor = start * (TYPE)0.5; \
        for (int i = 0; i < SUMS; i++)               \
            sums[i] = start;                         \
        for (int64_t turn = 0; turn < turns; turn++) \
            for (int i = 0; i < SUMS; i++)           \
                sums[i] = sums[i] * factor + factor; \
        for (int i = 0; i < SUMS; i++)               \
            start = sums[i];                         \
        return (double)turns * SUMS * 2;             \
    }
PORTABLE_LOOP(portable_f32, float)
PORTABLE_LOOP(portable_f64, double)

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One turn: every sum by one instruction. EACH(op) has it for each by name, since an array
 * would not stay in registers. */
#define EACH(OP) OP(0) OP(1) OP(2) OP(3) OP(4) OP(5) OP(6) OP(7) OP(8) OP(9) OP(10) OP(11)
#define DECLARE(I) s##I = one,
#define KEEP(I) __asm__ volatile("" : "+v"(s##I));
#define CHECK(I)                        \
    memcpy(lanes, &s##I, sizeof lanes); \
    right = right && is_near((double)lanes[0], expected);

/* Rounding may have moved a sum of BF16 a little. */
static bool is_near(double sum, double expected)
{
    return fabs(sum - expected) <= expected / 100;
}

#define VECTOR_LOOP(NAME, TARGET, TYPE, ONE, STEP, OPERATIONS, LANE, START, GAIN) \
    __attribute__((target(TARGET))) static double NAME(int64_t turns)             \
    {                                                                             \
        TYPE one = ONE, EACH(DECLARE) factor = one;                               \
        for (int64_t turn = 0; turn < turns; turn++) {                            \
            EACH(STEP)                                                            \
            EACH(KEEP)                                                            \
        }                                                                         \
        LANE lanes[sizeof(TYPE) / sizeof(LANE)];                                  \
        const double expected = (START) + (double)turns * (GAIN);                 \
        bool right = true;                                                        \
        EACH(CHECK)                                                               \
        return right ? (double)turns * SUMS * (OPERATIONS) : 0;                   \
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

/* Four sums of 16 x 16, two A and two B of 16 rows of 64 bytes: all eight tiles, of which the
 * last four are filled with ones, since zeros draw less current. */
typedef struct tile_form_t {
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_form_t;

#define TILE_LOOP(NAME, TARGET, DOT, ONE, OPERATIONS, LANE, GAIN)                             \
    __attribute__((target(TARGET))) static double NAME(int64_t turns)                         \
    {                                                                                         \
        tile_form_t form = {.palette = 1};                                                    \
        uint16_t ones[512];                                                                   \
        for (int i = 0; i < 512; i++)                                                         \
            ones[i] = ONE;                                                                    \
        for (int i = 0; i < 8; i++) {                                                         \
            form.row_bytes[i] = 64;                                                           \
            form.rows[i] = 16;                                                                \
        }                                                                                     \
        __asm__ volatile("" : : : "memory"); /* the next ones do not say what they read */    \
        _tile_loadconfig(&form);                                                              \
        _tile_zero(0);                                                                        \
        _tile_zero(1);                                                                        \
        _tile_zero(2);                                                                        \
        _tile_zero(3);                                                                        \
        _tile_loadd(4, ones, 64);                                                             \
        _tile_loadd(5, ones, 64);                                                             \
        _tile_loadd(6, ones, 64);                                                             \
        _tile_loadd(7, ones, 64);                                                             \
        for (int64_t turn = 0; turn < turns; turn++) {                                        \
            DOT(0, 4, 6);                                                                     \
            DOT(1, 4, 7);                                                                     \
            DOT(2, 5, 6);                                                                     \
            DOT(3, 5, 7);                                                                     \
        }                                                                                     \
        LANE sums[4][256];                                                                    \
        _tile_stored(0, sums[0], 64);                                                         \
        _tile_stored(1, sums[1], 64);                                                         \
        _tile_stored(2, sums[2], 64);                                                         \
        _tile_stored(3, sums[3], 64);                                                         \
        _tile_release();                                                                      \
        __asm__ volatile("" : : : "memory");                                                  \
        bool right = true;                                                                    \
        for (int i = 0; i < 4 * 256; i++)                                                     \
            right = right && is_near((double)sums[i / 256][i % 256], (double)turns * (GAIN)); \
        return right ? (double)turns * 4 * (OPERATIONS) : 0;                                  \
    }
TILE_LOOP(amx_bf16, "amx-tile,amx-bf16", _tile_dpbf16ps, 0x3f80, 2 * 16 * 16 * 32, float, 32)
TILE_LOOP(amx_i8, "amx-tile,amx-int8", _tile_dpbssd, 0x0101, 2 * 16 * 16 * 64, int32_t, 64)

static bool has_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    const unsigned bits = 1u << 22 | 1u << 24 | 1u << 25; /* 7, edx: BF16, tiles, INT8 */
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & bits) == bits &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

int lab_probe_width(void)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        return 512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 256 : 0;
}

static bool has_dot(lab_probe probe)
{
    __builtin_cpu_init();
    return probe == LAB_PROBE_DOT_BF16 ? __builtin_cpu_supports("avx512bf16") > 0
                                       : __builtin_cpu_supports("avx512vnni") > 0;
}

static probe_loop_t *loop_of(lab_probe probe)
{
    int width = lab_probe_width();
    switch (probe) {
    case LAB_PROBE_FMA_F32: return width == 512 ? avx512_f32 : width == 256 ? avx2_f32 : portable_f32;
    case LAB_PROBE_FMA_F64: return width == 512 ? avx512_f64 : width == 256 ? avx2_f64 : portable_f64;
    case LAB_PROBE_DOT_BF16: return dot_bf16;
    case LAB_PROBE_DOT_I8: return dot_i8;
    case LAB_PROBE_AMX_BF16: return amx_bf16;
    case LAB_PROBE_AMX_I8: return amx_i8;
    case LAB_PROBE_NONE:
    case LAB_PROBE_COUNT: break;
    }
    return NULL;
}
#else
static bool has_tiles(void)
{
    return false;
}

static bool has_dot(lab_probe probe)
{
    (void)probe;
    return false;
}

int lab_probe_width(void)
{
    return 0;
}

static probe_loop *loop_of(lab_probe probe)
{
    return probe == LAB_PROBE_NONE ? NULL : probe == LAB_PROBE_FMA_F64 ? portable_f64 : portable_f32;
}
#endif

bool lab_probe_is_roof(lab_probe probe, lab_product product)
{
    bool is_fma = probe == LAB_PROBE_FMA_F32 || probe == LAB_PROBE_FMA_F64;
    rung_type sum = lab_product_sum(product);
    return probe != LAB_PROBE_NONE && (!is_fma || (lab_probe_width() > 0 && (sum == RUNG_F32 || sum == RUNG_F64)));
}

lab_probe lab_probe_of(lab_product product, rung_compute compute)
{
    if (lab_product_sum(product) == RUNG_F64)
        return LAB_PROBE_FMA_F64;
    if (product.in == RUNG_I8)
        return has_tiles() ? LAB_PROBE_AMX_I8 : has_dot(LAB_PROBE_DOT_I8) ? LAB_PROBE_DOT_I8 : LAB_PROBE_FMA_F32;
    bool is_bf16 = product.in == RUNG_BF16, is_f32 = product.in == RUNG_F32;
    if (is_bf16 || (is_f32 && (compute == RUNG_COMPUTE_BF16X3 || compute == RUNG_COMPUTE_BF16X1)))
        return has_tiles() ? LAB_PROBE_AMX_BF16 : has_dot(LAB_PROBE_DOT_BF16) ? LAB_PROBE_DOT_BF16 : LAB_PROBE_FMA_F32;
    return LAB_PROBE_FMA_F32;
}

bool lab_probe_is_here(lab_probe probe)
{
    switch (probe) {
    case LAB_PROBE_FMA_F32:
    case LAB_PROBE_FMA_F64: return true;
    case LAB_PROBE_DOT_BF16:
    case LAB_PROBE_DOT_I8: return has_dot(probe);
    case LAB_PROBE_AMX_BF16:
    case LAB_PROBE_AMX_I8: return has_tiles();
    case LAB_PROBE_NONE:
    case LAB_PROBE_COUNT: break;
    }
    return false;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

/* About as many operations as 100 us take on a processor of 2026; any number will do. */
static int64_t turns_of(lab_probe probe)
{
    return lab_probe_has_modes(probe) ? 3000 : 20000;
}

typedef struct probe_part {
    probe_loop_t *loop;
    int64_t turns;
    clockid_t clock;
    pthread_mutex_t *gate; /* held until all are there; NULL if it is alone */
    double gflops;
} probe_part_t;

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *run_part(void *user)
{
    probe_part_t *part = user;
    if (part->gate) {
        pthread_mutex_lock(part->gate);
        pthread_mutex_unlock(part->gate);
    }
    double started = now(part->clock);
    double operations = part->loop(part->turns);
    part->gflops = operations / fmax(now(part->clock) - started, 1);
    return NULL;
}

/* Alone it is timed like the samples of one thread, by what it had of the processor. Where
 * fewer threads can be made, fewer are told of. */
double lab_probe_run(lab_probe probe, int threads)
{
    enum { THREADS_MAX = 256 };
    probe_loop_t *loop = loop_of(probe);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    probe_part_t parts[THREADS_MAX];
    pthread_t helpers[THREADS_MAX];
    double gflops = 0;
    int made = 1;
    if (!loop)
        return 0;
    parts[0] = (probe_part_t){loop, turns_of(probe), threads > 1 ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, NULL, 0};
    pthread_mutex_lock(&gate);
    for (; made < threads && made < THREADS_MAX; made++) {
        parts[made] = parts[0];
        parts[made].gate = &gate;
        if (pthread_create(&helpers[made], NULL, run_part, &parts[made]) != 0)
            break;
    }
    pthread_mutex_unlock(&gate);
    run_part(&parts[0]);
    for (int i = 1; i < made; i++)
        pthread_join(helpers[i], NULL);
    for (int i = 0; i < made; i++)
        gflops += parts[i].gflops;
    pthread_mutex_destroy(&gate);
    return gflops;
}
