/* SPDX-License-Identifier: Apache-2.0 */
/* transcript.c - calls gemm some thousand times, right and wrong, and writes down what came of
 * each: which handler was told what, or all that C then holds. The functions are looked up by
 * name among what is preloaded, so that the transcripts of two libraries can be compared.
 *
 *     transcript BITS SGEMM DGEMM CBLAS_SGEMM CBLAS_DGEMM XERBLA CBLAS_XERBLA CALLS
 *
 * XERBLA and CBLAS_XERBLA are the handlers that go with such names; another is written down by
 * its own.
 *
 * The environment may ask for failures: TRANSCRIPT_FAILS=1 has rung fail, TRANSCRIPT_FAILS=late
 * after it wrote to C; TRANSCRIPT_SHIFT=1 gives memory that is not aligned, and
 * TRANSCRIPT_OVERLAP=1 has C begin inside A. How many calls rung served is told on standard
 * error. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rung/rung.h"

enum { SIZE_MAX_USED = 9, LD_MAX = SIZE_MAX_USED + 3, ELEMENTS = LD_MAX * LD_MAX };

/* ---- Who is told of wrong arguments --------------------------------------------------------- */

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int CBLAS_CallFromC, RowMajorStrg; /* Netlib's; ours are taken before them */

static char handler_calls[256]; /* of the call so far */

static void print_error_call(const char *format, ...)
{
    size_t used = strlen(handler_calls);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(handler_calls + used, sizeof handler_calls - used, format, arguments);
    va_end(arguments);
}

static const char *expected_handlers[2]; /* handlers */

static const char *handler(const char *name)
{
    return strcmp(name, expected_handlers[0]) == 0   ? "fortran"
           : strcmp(name, expected_handlers[1]) == 0 ? "cblas"
                                                     : name;
}

static void print_fortran_error(const char *name, const char *routine, long long number, size_t length)
{
    print_error_call(" %s <%.*s> %lld from_c=%d rows=%d", handler(name), (int)length, routine, number, CBLAS_CallFromC,
                     RowMajorStrg);
}

static void print_cblas_error(const char *name, const char *routine, long long number, const char *format,
                              va_list arguments)
{
    char text[64];
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    print_error_call(" %s <%s> %lld \"%s\" from_c=%d rows=%d", handler(name), routine, number, text, CBLAS_CallFromC,
                     RowMajorStrg);
}

#define FORTRAN_HANDLER(name, integer)                                            \
    VISIBLE void name(const char *routine, const integer *number, size_t length); \
    void name(const char *routine, const integer *number, size_t length)          \
    {                                                                             \
        print_fortran_error(#name, routine, *number, length);                     \
    }

#define CBLAS_HANDLER(name, integer)                                                 \
    VISIBLE void name(integer number, const char *routine, const char *format, ...); \
    void name(integer number, const char *routine, const char *format, ...)          \
    {                                                                                \
        va_list arguments;                                                           \
        va_start(arguments, format);                                                 \
        print_cblas_error(#name, routine, number, format, arguments);                \
        va_end(arguments);                                                           \
    }

FORTRAN_HANDLER(xerbla_, int32_t)
FORTRAN_HANDLER(xerbla_64_, int64_t)
FORTRAN_HANDLER(scipy_xerbla_, int32_t)
FORTRAN_HANDLER(scipy_xerbla_64_, int64_t)
CBLAS_HANDLER(cblas_xerbla, int32_t)
CBLAS_HANDLER(cblas_xerbla64_, int64_t)
CBLAS_HANDLER(cblas_xerbla_64, int64_t)
CBLAS_HANDLER(scipy_cblas_xerbla, int32_t)
CBLAS_HANDLER(scipy_cblas_xerbla64_, int64_t)

/* ---- rung, watched ------------------------------------------------------------------------------ */

static int64_t served;

/* Stands before librung's own. */
VISIBLE rung_status rung_multiply(rung_context *context, const rung_problem *problem,
                                  const rung_multiply_options *options)
{
    rung_status (*real)(rung_context *, const rung_problem *, const rung_multiply_options *);
    void *address = dlsym(RTLD_NEXT, "rung_multiply");
    const char *fails = getenv("TRANSCRIPT_FAILS");
    memcpy(&real, &address, sizeof real);
    if (fails && strcmp(fails, "late") == 0 && problem->c.rows > 0 && problem->c.cols > 0)
        memset(problem->c.data, 0x55, problem->c.type == RUNG_F64 ? sizeof(double) : sizeof(float));
    if (fails)
        return RUNG_STATUS_DEVICE_LOST;
    rung_status status = real(context, problem, options);
    served += status == RUNG_OK;
    return status;
}

/* ---- One call ------------------------------------------------------------------------------------- */

typedef struct blas_call {
    bool is_cblas, is_double;
    int layout, trans_a, trans_b; /* CBLAS's numbers or Fortran's letters */
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    double a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];
    bool a_is_null, b_is_null, c_is_null;
} blas_call_t;

static struct {
    void *fortran[2], *cblas[2]; /* of float, of double */
} functions;

static size_t shift, overlap; /* bytes; elements, 0 for none */

/* Makes the call with elements and integers of these types. */
#define DEFINE_MAKE(name, element, integer)                                                                           \
    static void to_##name(const double *from, void *to)                                                               \
    {                                                                                                                 \
        for (size_t i = 0; i < ELEMENTS; i++)                                                                         \
            memcpy((char *)to + i * sizeof(element), &(element){(element)from[i]}, sizeof(element));                  \
    }                                                                                                                 \
    static void from_##name(const void *from, double *to)                                                             \
    {                                                                                                                 \
        for (size_t i = 0; i < ELEMENTS; i++) {                                                                       \
            element value;                                                                                            \
            memcpy(&value, (const char *)from + i * sizeof value, sizeof value);                                      \
            to[i] = value;                                                                                            \
        }                                                                                                             \
    }                                                                                                                 \
    static void make_##name(blas_call_t *call)                                                                        \
    {                                                                                                                 \
        typedef void fortran(const char *, const char *, const integer *, const integer *, const integer *,           \
                             const element *, const void *, const integer *, const void *, const integer *,           \
                             const element *, void *, const integer *, size_t, size_t);                               \
        typedef void cblas(int, int, int, integer, integer, integer, element, const void *, integer, const void *,    \
                           integer, element, void *, integer);                                                        \
        static element memory[3][ELEMENTS + 1];                                                                       \
        char *a = (char *)memory[0] + shift, *b = (char *)memory[1] + shift;                                          \
        char *c = overlap ? a + overlap * sizeof(element) : (char *)memory[2] + shift;                                \
        char trans_a = (char)call->trans_a, trans_b = (char)call->trans_b;                                            \
        integer m = (integer)call->m, n = (integer)call->n, k = (integer)call->k;                                     \
        integer lda = (integer)call->lda, ldb = (integer)call->ldb, ldc = (integer)call->ldc;                         \
        element alpha = (element)call->alpha, beta = (element)call->beta;                                             \
        fortran *by_fortran;                                                                                          \
        cblas *by_cblas;                                                                                              \
        memcpy(&by_fortran, &functions.fortran[call->is_double], sizeof by_fortran);                                  \
        memcpy(&by_cblas, &functions.cblas[call->is_double], sizeof by_cblas);                                        \
        to_##name(call->c, c);                                                                                        \
        to_##name(call->a, a);                                                                                        \
        to_##name(call->b, b);                                                                                        \
        const void *given_a = call->a_is_null ? NULL : a, *given_b = call->b_is_null ? NULL : b;                      \
        void *given_c = call->c_is_null ? NULL : c;                                                                   \
        if (call->is_cblas)                                                                                           \
            by_cblas(call->layout, call->trans_a, call->trans_b, m, n, k, alpha, given_a, lda, given_b, ldb, beta,    \
                     given_c, ldc);                                                                                   \
        else                                                                                                          \
            by_fortran(&trans_a, &trans_b, &m, &n, &k, &alpha, given_a, &lda, given_b, &ldb, &beta, given_c, &ldc, 1, \
                       1);                                                                                            \
        from_##name(c, call->c);                                                                                      \
    }

DEFINE_MAKE(float_32, float, int32_t)
DEFINE_MAKE(double_32, double, int32_t)
DEFINE_MAKE(float_64, float, int64_t)
DEFINE_MAKE(double_64, double, int64_t)

/* ---- What to call with ----------------------------------------------------------------------------- */

static uint64_t seed = 20;

static int64_t random_below(int64_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)limit);
}

#define PICK(...) pick((const int[]){__VA_ARGS__}, sizeof(int[]){__VA_ARGS__} / sizeof(int))

static int pick(const int *from, size_t count)
{
    return from[random_below((int64_t)count)];
}

static int random_size(void)
{
    return random_below(20) == 0 ? PICK(-1, -7) : PICK(0, 1, 2, 3, 5, 8, 9);
}

/* One that is large enough, mostly. */
static int64_t random_ld(int64_t least)
{
    int64_t enough = least > 1 ? least : 1;
    if (random_below(16) == 0)
        return PICK(-1, 0, (int)enough - 1);
    return enough + PICK(0, 0, 1, 3);
}

static bool transposes(const blas_call_t *call, int trans)
{
    return call->is_cblas ? trans == 112 || trans == 113 : strchr("TtCc", trans) != NULL && trans != 0;
}

static int random_trans(bool is_cblas)
{
    bool wrong = random_below(20) == 0;
    if (is_cblas)
        return wrong ? PICK(0, -1, 110, 114, 'N') : PICK(111, 112, 113);
    return wrong ? PICK(0, 'X', ' ', 'R', 'M', 112) : PICK('N', 'n', 'T', 't', 'C', 'c');
}

static void fill(double *values, bool with_nan)
{
    for (int i = 0; i < ELEMENTS; i++)
        values[i] = with_nan ? NAN : (double)(random_below(9) - 4);
}

static void random_arguments(blas_call_t *call)
{
    *call = (struct blas_call){.is_cblas = random_below(2), .is_double = random_below(2)};
    call->layout = random_below(20) == 0 ? PICK(0, 100, 103, -1) : PICK(101, 102);
    call->trans_a = random_trans(call->is_cblas);
    call->trans_b = random_trans(call->is_cblas);
    call->m = random_size();
    call->n = random_size();
    call->k = random_size();
    call->alpha = PICK(0, 1, 1, -1, 2);
    call->beta = PICK(0, 1, 1, -1, 2);
    bool by_rows = call->is_cblas && call->layout == 101;
    call->lda = random_ld(transposes(call, call->trans_a) != by_rows ? call->k : call->m);
    call->ldb = random_ld(transposes(call, call->trans_b) != by_rows ? call->n : call->k);
    call->ldc = random_ld(by_rows ? call->n : call->m);
    /* What is not read may be anything. */
    bool unread = call->alpha == 0 || call->k <= 0 || call->m <= 0 || call->n <= 0;
    fill(call->a, unread);
    fill(call->b, unread);
    fill(call->c, call->beta == 0);
    call->a_is_null = unread && random_below(2);
    call->b_is_null = unread && random_below(2);
    call->c_is_null = (call->m == 0 || call->n == 0) && random_below(2);
}

/* ---- What came of it -------------------------------------------------------------------------------- */

/* Of all values, gaps too; any two NaN and the two zeros are the same. */
static uint64_t hash(const double *values)
{
    uint64_t sum = 14695981039346656037u;
    for (int i = 0; i < ELEMENTS; i++) {
        double value = isnan(values[i]) ? 1e300 : values[i] + 0.0;
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        sum = (sum ^ bits) * 1099511628211u;
    }
    return sum;
}

static void print_result(int number, const blas_call_t *call)
{
    printf("%d %s%s %d %d,%d %lldx%lldx%lld ld %lld,%lld,%lld alpha %g beta %g:%s C %016llx\n", number,
           call->is_cblas ? "cblas_" : "", call->is_double ? "dgemm" : "sgemm", call->is_cblas ? call->layout : 0,
           call->trans_a, call->trans_b, (long long)call->m, (long long)call->n, (long long)call->k,
           (long long)call->lda, (long long)call->ldb, (long long)call->ldc, call->alpha, call->beta,
           *handler_calls ? handler_calls : " done", (unsigned long long)hash(call->c));
}

static void *look_up(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address) {
        fprintf(stderr, "nobody has %s\n", name);
        exit(2);
    }
    return address;
}

int main(int count, char **arguments)
{
    static blas_call_t call;
    if (count != 9)
        return 2;
    bool is_wide = strcmp(arguments[1], "64") == 0;
    for (int i = 0; i < 2; i++) {
        functions.fortran[i] = look_up(arguments[2 + i]);
        functions.cblas[i] = look_up(arguments[4 + i]);
        expected_handlers[i] = arguments[6 + i];
    }
    shift = getenv("TRANSCRIPT_SHIFT") != NULL;
    overlap = getenv("TRANSCRIPT_OVERLAP") ? 2 : 0;
    for (int i = 0; i < atoi(arguments[8]); i++) {
        random_arguments(&call);
        *handler_calls = '\0';
        CBLAS_CallFromC = RowMajorStrg = 0;
        if (call.is_double)
            is_wide ? make_double_64(&call) : make_double_32(&call);
        else
            is_wide ? make_float_64(&call) : make_float_32(&call);
        if (CBLAS_CallFromC || RowMajorStrg)
            print_error_call(" and left Netlib's variables set");
        print_result(i, &call);
    }
    fprintf(stderr, "rung served %lld\n", (long long)served);
    return 0;
}
