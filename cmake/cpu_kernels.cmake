# SPDX-License-Identifier: Apache-2.0
# Compiles the CPU kernels. A file that ends in a TYPED_KERNEL is compiled once per type of A and B. A file that also
# includes simd.h is compiled once per type and instruction set. Each combination is a variant: a generated file of three
# lines. One more generated file selects the variant of a job (cmake/cpu_kernel_dispatch.c.in).
set(cpu_types F32 F64 F16 BF16 I8 I32)
set(cpu_isas PORTABLE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND cpu_isas AVX2 AVX512)
endif()
# The instruction sets of src/cpu/features.h.
set(cpu_flags_PORTABLE "")
set(cpu_flags_AVX2 -mavx2 -mfma -mf16c)
set(cpu_flags_AVX512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c)
# Kernels 01 to 07 each show one idea, with every compiler the same one. Vectors are introduced by 08, explicitly.
set(cpu_flags_scalar -fno-tree-vectorize -fno-tree-slp-vectorize)

set(RUNG_CPU_KERNEL_SOURCES "")
set(variants_folder "${PROJECT_BINARY_DIR}/cpu_kernels")

function(rung_cpu_kernel name)
    set(isas ${cpu_isas})
    set(flags -ffp-contract=fast) # use fused multiply-add instructions
    set(declarations "")
    set(table "")
    set(sources "${variants_folder}/${name}.c")
    file(STRINGS "src/cpu/kernels/${name}.c" by_isa REGEX "^#include \"cpu/kernels/simd.h\"")
    if(NOT by_isa)
        set(isas PORTABLE)
        list(APPEND flags ${cpu_flags_scalar})
    endif()
    foreach(isa IN LISTS isas)
        foreach(type IN LISTS cpu_types)
            set(variant "${variants_folder}/${name}_${type}_${isa}.c")
            file(CONFIGURE OUTPUT "${variant}" CONTENT
                 "#define VARIANT ${type}_${isa}\n#define IN_${type}\n#include \"cpu/kernels/${name}.c\"\n")
            set_source_files_properties("${variant}" PROPERTIES COMPILE_OPTIONS "${flags};${cpu_flags_${isa}}")
            list(APPEND sources "${variant}")
            string(APPEND declarations "extern const rungi_cpu_kernel rungi_cpu_${name}_${type}_${isa};\n")
            string(APPEND table
                   "    [RUNGI_ISA_${isa}][RUNG_${type}] = &rungi_cpu_${name}_${type}_${isa},\n")
        endforeach()
    endforeach()
    configure_file(cmake/cpu_kernel_dispatch.c.in "${variants_folder}/${name}.c" @ONLY)
    list(APPEND RUNG_CPU_KERNEL_SOURCES ${sources})
    set(RUNG_CPU_KERNEL_SOURCES "${RUNG_CPU_KERNEL_SOURCES}" PARENT_SCOPE)
endfunction()

foreach(name IN LISTS RUNG_CPU_KERNELS)
    file(STRINGS "src/cpu/kernels/${name}.c" by_type REGEX "^TYPED_KERNEL\\(")
    if(by_type)
        rung_cpu_kernel(${name})
    else()
        list(APPEND RUNG_CPU_KERNEL_SOURCES "src/cpu/kernels/${name}.c")
    endif()
endforeach()
