/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_images FOLDER - writes the PTX that the library carries into files, for ptx.sh:
 * NUMBER_ARCHITECTURE.ptx each. */
#include <stdio.h>
#include <stdlib.h>

#include "cuda/embedded_images.h"
#include "cuda/lz4.h"

static int write_image(const char *folder, int number, const rungi_cuda_image *image)
{
    char path[4096];
    unsigned char *code = malloc(image->bytes);
    snprintf(path, sizeof path, "%s/%03d_%d.ptx", folder, number, image->architecture);
    FILE *file = code ? fopen(path, "wb") : NULL;
    int good = file &&
               rungi_lz4_decompress(rungi_cuda_image_data + image->offset, image->compressed_bytes, code,
                                    image->bytes) &&
               fwrite(code, 1, image->bytes - 1, file) == image->bytes - 1; /* without its 0 */
    if (file)
        good = fclose(file) == 0 && good;
    free(code);
    return good;
}

int main(int argc, char **argv)
{
    int number = 0, good = argc == 2;
    for (const rungi_cuda_image *image = rungi_cuda_images; good && image->name; image++)
        if (image->is_ptx)
            good = write_image(argv[1], number++, image);
    printf("%d\n", number);
    return good ? 0 : 1;
}
