# SPDX-License-Identifier: Apache-2.0
# docker build -t rung .        an image with the rung command and what checks of CUDA kernels need
# docker run --rm -v "$PWD:/work" rung verify kernel.cu
#
# The stage `tools` has the compilers only; .devcontainer uses it.
ARG BASE=debian:12

FROM ${BASE} AS tools
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends ca-certificates cmake gcc git libc6-dev make opencl-headers \
    && rm -rf /var/lib/apt/lists/*

FROM tools AS build
COPY . /source
RUN cmake -S /source -B /build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr/local \
        -DRUNG_TESTS=OFF -DRUNG_EXAMPLES=OFF -DRUNG_IMAGES=OFF -DRUNG_MPI=OFF \
    && cmake --build /build --parallel "$(nproc)" \
    && DESTDIR=/installed cmake --install /build --strip

FROM ${BASE}
ENV DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends ca-certificates gcc libc6-dev ocl-icd-libopencl1 pkg-config \
        pocl-opencl-icd python3-venv \
    && rm -rf /var/lib/apt/lists/*
# NVIDIA's compiler, disassembler and headers, under NVIDIA's license: they come from PyPI when you build the image.
ARG LAB="nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-cuda-nvdisasm==13.2.86 nvidia-cuda-runtime-cu12==12.9.79 \
         nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-cccl-cu12==12.9.27"
ENV VIRTUAL_ENV=/opt/lab
RUN python3 -m venv "$VIRTUAL_ENV" && if [ -n "$LAB" ]; then "$VIRTUAL_ENV/bin/pip" install --no-cache-dir --no-deps $LAB; fi
COPY --from=build /installed/ /
RUN ldconfig && rung --version
WORKDIR /work
ENTRYPOINT ["rung"]
CMD ["doctor"]
