# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the public headers. Sets `headers` to the headers of include/rung that compile here, such as
# rung/rung.h, and `header_flags` to the flags that they need. A header that includes mpi.h is left out where no MPI is
# installed.
headers= header_flags=-I$RUNG_SOURCE/include
if command -v mpicc > /dev/null; then
    mpi_folders=$(mpicc --showme:compile 2> /dev/null || mpicc -compile_info)
    # System folders: warnings about an MPI's own header are not ours.
    header_flags="$header_flags $(grep -oE -- '-I[^ ]+' <<< "$mpi_folders" | sed 's/^-I/-isystem /' | tr '\n' ' ')"
fi
for header_file in "$RUNG_SOURCE"/include/rung/*.h; do
    if command -v mpicc > /dev/null || ! grep -q '^ *# *include *<mpi.h>' "$header_file"; then
        headers="${headers:+$headers }rung/${header_file##*/}"
    fi
done
