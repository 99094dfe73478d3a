# SPDX-License-Identifier: Apache-2.0
# Sourced by tests of the public headers. Sets `headers` to the headers of include/rung, such as rung/rung.h, and
# `header_flags` to the flags that they need. `mpi_header` is mpi.h where an MPI is installed: cluster.h declares more
# after it.
headers= header_flags=-I$RUNG_SOURCE/include mpi_header=
if command -v mpicc > /dev/null; then
    mpi_header=mpi.h
    mpi_folders=$(mpicc --showme:compile 2> /dev/null || mpicc -compile_info)
    # System folders: warnings about an MPI's own header are not ours.
    header_flags="$header_flags $(grep -oE -- '-I[^ ]+' <<< "$mpi_folders" | sed 's/^-I/-isystem /' | tr '\n' ' ')"
fi
for header_file in "$RUNG_SOURCE"/include/rung/*.h; do
    headers="${headers:+$headers }rung/${header_file##*/}"
done
