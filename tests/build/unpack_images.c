/* SPDX-License-Identifier: Apache-2.0 */
/* unpack_images FOLDER - writes the embedded PTX images to files NUMBER_ARCHITECTURE.ptx, writes their names to the file
 * names, one per line as the log of the device has them, and prints their number. */
#include <stdio.h>
#include <stdlib.h>

#include "cuda/embedded_images.h"
#include "base/lz4.h"

static int write_name(const char *folder, int number, const rungi_cuda_image *image)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/names", folder);
    FILE *file = fopen(path, number == 0 ? "w" : "a");
    int good = file && fprintf(file, "compute_%d, of %s\n", image->architecture, image->name) > 0;
    if (file)
        good = fclose(file) == 0 && good;
    return good;
}

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
        if (image->is_ptx) {
            good = write_name(argv[1], number, image) && write_image(argv[1], number, image);
            number++;
        }
    printf("%d\n", number);
    return good ? 0 : 1;
}
