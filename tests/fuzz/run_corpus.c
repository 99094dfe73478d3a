/* SPDX-License-Identifier: Apache-2.0 */
/* run_corpus.c - runs files through a fuzz target without a fuzzer, so that every build does: each
 * file whole, and cut off after each of its bytes, as a crash may leave it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 1 << 16, CUTS = 64 };

/* In memory of just that size, so that a sanitizer sees one byte too many. */
static void run_exactly(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    static uint8_t data[LARGEST];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 1;
        }
        size_t size = fread(data, 1, sizeof data, file), step = size / CUTS + 1;
        fclose(file);
        for (size_t cut = 0; cut < size; cut += step)
            run_exactly(data, cut);
        run_exactly(data, size);
    }
    printf("%d files\n", argc - 1);
    return argc > 1 ? 0 : 1;
}
