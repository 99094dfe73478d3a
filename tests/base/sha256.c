/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c - SHA-256 against the vectors of NIST, whole and in pieces. */
#include "support/unit.h"

#include <stdio.h>

#include "base/sha256.h"

static void assert_digest(rungi_sha256 *hash, const char *expected)
{
    uint8_t digest[RUNGI_SHA256_BYTES];
    char text[2 * RUNGI_SHA256_BYTES + 1];
    rungi_sha256_end(hash, digest);
    for (int i = 0; i < RUNGI_SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", (unsigned)digest[i]);
    assert_string_equal(text, expected);
}

static void nist_vectors(void **state)
{
    static const char *const vectors[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
         "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        rungi_sha256 hash;
        rungi_sha256_begin(&hash);
        rungi_sha256_add(&hash, vectors[i][0], strlen(vectors[i][0]));
        assert_digest(&hash, vectors[i][1]);
    }
}

static void a_million_letters(void **state)
{
    char letters[1000];
    rungi_sha256 hash;
    (void)state;
    memset(letters, 'a', sizeof letters);
    rungi_sha256_begin(&hash);
    for (int i = 0; i < 1000; i++)
        rungi_sha256_add(&hash, letters, sizeof letters);
    assert_digest(&hash, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Around every length at which padding takes another turn. Hashes of hashes, of
 * 0, 1, ... 200 letters; the expected one is of Python's hashlib. */
static void every_length(void **state)
{
    char letters[200];
    rungi_sha256 all;
    (void)state;
    memset(letters, 'x', sizeof letters);
    rungi_sha256_begin(&all);
    for (size_t length = 0; length <= sizeof letters; length++) {
        uint8_t digest[RUNGI_SHA256_BYTES];
        rungi_sha256 one;
        rungi_sha256_begin(&one);
        rungi_sha256_add(&one, letters, length);
        rungi_sha256_end(&one, digest);
        rungi_sha256_add(&all, digest, sizeof digest);
    }
    assert_digest(&all, "2e9fcf76499976b60177466c31b8ab5caa7d4c6dd8dd97c8ce7b574af689ec94");
}

static void chunked_updates_match(void **state)
{
    uint8_t text[300], whole[RUNGI_SHA256_BYTES], parts[RUNGI_SHA256_BYTES];
    uint64_t seed = 5;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)unit_random(&seed, 256);
    rungi_sha256 hash;
    rungi_sha256_begin(&hash);
    rungi_sha256_add(&hash, text, sizeof text);
    rungi_sha256_end(&hash, whole);
    for (size_t first = 0; first <= sizeof text; first++) {
        size_t second = (size_t)unit_random(&seed, (int64_t)(sizeof text - first) + 1);
        rungi_sha256_begin(&hash);
        rungi_sha256_add(&hash, text, first);
        rungi_sha256_add(&hash, text + first, second);
        rungi_sha256_add(&hash, text + first + second, sizeof text - first - second);
        rungi_sha256_end(&hash, parts);
        assert_memory_equal(parts, whole, sizeof whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nist_vectors),
        cmocka_unit_test(a_million_letters),
        cmocka_unit_test(every_length),
        cmocka_unit_test(chunked_updates_match),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
