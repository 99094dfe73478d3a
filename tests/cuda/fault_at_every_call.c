/* SPDX-License-Identifier: Apache-2.0 */
/* fault_at_every_call.c - the driver fails at the N-th call of a function, for every N and every
 * function: no crash, nothing left behind, and never RUNG_OK with a wrong result. */
#include "device_session.h"

/* All but those that release: a driver that does not take back cannot be made to. */
static bool releases(const char *symbol)
{
    return strstr(symbol, "Free") || strstr(symbol, "Destroy") || strstr(symbol, "Release") ||
           strstr(symbol, "Unload") || strstr(symbol, "Pop") || strstr(symbol, "GetError");
}

static const char *const symbols[] = {
#define X(name, symbol, since, arguments) #symbol,
    RUNGI_CU_FUNCTION_LIST(X)
#undef X
        "cublasCreate_v2",
    "cublasSetStream_v2",
    "cublasGetVersion_v2",
    "cublasGemmEx",
};

static long (*blas_calls)(const char *symbol);

static bool is_blas(const char *symbol)
{
    return strncmp(symbol, "cublas", 6) == 0;
}

static long calls_of(const char *symbol)
{
    return is_blas(symbol) ? blas_calls(symbol) : emulated_driver.calls(symbol);
}

/* A life in which the n-th call fails; false if there was no n-th. */
static bool survives(const char *symbol, int nth, int code, const char *kernel)
{
    device_session_t life;
    session_begin(&life);
    long before = calls_of(symbol);
    inject_fault("RUNG_EMULATED_FAULT", symbol, nth, code);
    rung_status status = session_run_all(&life, kernel);
    bool met = calls_of(symbol) - before >= nth;
    if (status == RUNG_OK && !session_is_right(&life))
        fail_msg("%s %d, error %d: OK and wrong", symbol, nth, code);
    if (status != RUNG_OK && !met)
        fail_msg("%s %d: %s without a fault: %s", symbol, nth, rung_status_name(status), rung_error_text());
    session_end(&life);
    emulated_driver_clear_faults();
    if (rungi_cuda_live_objects(life.context, RUNGI_CU_CONTEXT) >= 0)
        assert_none_held(life.context);
    rung_context_destroy(life.context);
    assert_nothing_lives();
    return met;
}

static void fail_at_every_call(bool blas, int code, const char *kernel)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        for (int nth = 1;
             !releases(symbols[i]) && is_blas(symbols[i]) == blas && survives(symbols[i], nth, code, kernel); nth++)
            ;
}

static void every_call_of_a_session_may_fail(void **state)
{
    (void)state;
    fail_at_every_call(false, 2, "10");
    fail_at_every_call(false, 719, "10");
    fail_at_every_call(true, 3, "00"); /* cuBLAS's own: out of memory, and work that failed */
    fail_at_every_call(true, 13, "00");
}

/* The same of one call; the context stays, and does it rightly the next time. */
static bool call_survives(const char *symbol, int nth, int code)
{
    static float data[3][144];
    rung_context *context = fresh_context("cuda", -1);
    rung_matrix a = rung_matrix_of(RUNG_F32, 12, 12, data[0]), b = rung_matrix_of(RUNG_F32, 12, 12, data[1]);
    rung_matrix c = rung_matrix_block(rung_matrix_of(RUNG_F32, 12, 12, data[2]), 2, 3, 6, 7);
    uint64_t seed = 5;
    unit_fill(&seed, data[0], 2 * 144);
    a = rung_matrix_block(a, 1, 1, 6, 8);
    b = rung_matrix_transpose(rung_matrix_block(b, 2, 3, 7, 8));
    memset(data[2], 0, sizeof data[2]);
    long before = emulated_driver.calls(symbol);
    inject_fault("RUNG_EMULATED_FAULT", symbol, nth, code);
    rung_status status = rung_gemm(context, 1.0, a, b, 1.0, c);
    bool met = emulated_driver.calls(symbol) - before >= nth;
    emulated_driver_clear_faults();
    if (status == RUNG_OK)
        assert_int_equal(unit_first_wrong(&a, &b, &c), -1);
    else if (!met)
        fail_msg("%s %d: %s without a fault", symbol, nth, rung_error_text());
    if (rungi_cuda_live_objects(context, RUNGI_CU_CONTEXT) < 0) { /* no driver, and it stays so */
        rung_context_destroy(context);
        context = fresh_context("cuda", -1);
    }
    assert_true(rungi_cuda_live_objects(context, RUNGI_CU_MEMORY) <= 0);
    assert_ok(rung_gemm(context, 1.0, a, b, 0.0, c));
    assert_int_equal(unit_first_wrong(&a, &b, &c), -1);
    rung_context_destroy(context);
    assert_nothing_lives();
    return met;
}

static void every_call_of_rung_multiply_may_fail(void **state)
{
    static const int codes[] = {2, 700};
    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        for (size_t j = 0; j < sizeof codes / sizeof *codes; j++)
            for (int nth = 1; !releases(symbols[i]) && !is_blas(symbols[i]) && call_survives(symbols[i], nth, codes[j]);
                 nth++)
                ;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_call_of_a_session_may_fail, emulated_driver_reset),
        cmocka_unit_test_setup(every_call_of_rung_multiply_may_fail, emulated_driver_reset),
    };
    unit_clean_environment();
    void *blas = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!emulated_driver_is_loaded() || !blas ||
        !emulated_driver_symbol(blas, "rung_fake_cublas_call_count", &blas_calls))
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
