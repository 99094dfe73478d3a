# SPDX-License-Identifier: Apache-2.0
# Whole calls: their fields, which are no kernel's, and a trace that others can read.
rung verify --device opencl --m 1 > /dev/null 2>&1 || exit 77
export RUNG_OVERLAP=1
rung bench --device opencl --kernels 04,rung_gemm --sizes 96,64 --budget 0.3 --json --trace trace.json > out.json
echo "exit $?"
jq -c '.results[] | [.kernel, .m, .verified, has("call_wall_ns"), .percent_of_vendor, .over_first,
       if has("call_wall_ns") then .call_wall_ns > 0 and .up_ns > 0 and .kernel_ns > 0 and .down_ns > 0
           and .host_ns > 0 and .hidden_percent >= 0 and .hidden_percent <= 100 else null end]' out.json
jq -c '[.traceEvents[] | select(.ph == "M") | [.name, .pid, .tid, .args.name]]' trace.json
jq -c '[.traceEvents[] | select(.ph == "X")] | [([.[].name] | unique), ([.[].pid] | unique), ([.[].tid] | unique),
       (map(.ts >= 0 and .dur >= 0 and (.args.bytes >= 0)) | all)]' trace.json
jq -c '[.traceEvents[] | select(.ph == "X" and .pid == 1)] | group_by(.name)
       | map([.[0].name, length, (map(.args.bytes) | add)])' trace.json
rung bench --device opencl --kernels rung_gemm --sizes 64 --budget 0.1 | sed -n '/^call /,$p' | awk '{print $1, NF}'
rung bench --device cpu --kernels rung_gemm --sizes 16 --budget 0.02 --json | jq -c '.results[0] | [.up_ns, .host_ns, .hidden_percent]'
try rung bench --device opencl --kernels 04 --sizes 16 --trace other.json
try rung bench --device opencl --kernels rung_gemm --sizes 16 --trace no/such/place.json
