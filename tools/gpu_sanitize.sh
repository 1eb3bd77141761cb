#!/bin/bash
# Runs compute-sanitizer (memcheck, then racecheck) over the tests that reach every feature of the GPU backend: launches,
# graphs, pools, atomics and sums, snippets with shared memory and warps, sorts, scans, reductions, gradients.
# Needs a GPU and NVIDIA's compute-sanitizer.
#
# usage: tools/gpu_sanitize.sh [--device cuda:0] [--jobs N] [--logs FOLDER] [PYTHON]
set -eu
device=cuda:0 jobs=4 logs=$(mktemp -d) python=python3
while [ $# -gt 0 ]; do
    case $1 in
        --device) device=$2; shift 2 ;;
        --jobs) jobs=$2; shift 2 ;;
        --logs) logs=$2; shift 2 ;;
        -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 0 ;;
        *) python=$1; shift ;;
    esac
done
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -1)
[ -n "$sanitizer" ] || { echo "gpu_sanitize: compute-sanitizer is not installed (it comes with the CUDA toolkit)" >&2; exit 2; }
cd "$(dirname "$0")/.."
mkdir -p "$logs"
files="test_cuda test_device_algorithms test_device_reductions test_snippet_blocks test_native_snippets test_graphs
test_tape test_structs test_array_kinds"
export sanitizer device logs python
one() {
    log=$logs/$1-$2.log
    # Calls of the driver that fail are asked for by tests, and where a symbol is looked for. Faults that a test causes on
    # purpose end the context, which the tool reports, and PyTorch counts its memory otherwise under the tool: these
    # tests are left out.
    code=0
    "$sanitizer" --tool "$1" --report-api-errors no --target-processes all --error-exitcode 9 --print-limit 20 \
        "$python" -m pytest -q -p no:cacheprovider -p no:randomly "tests/python/$2.py" --device "$device" \
        -k "not fault and not illegal and not broken and not processes and not pytorchs_pool" >"$log" 2>&1 || code=$?
    echo "$1 $2: $(grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$log" | sort | uniq -c | tr -s ' ' | paste -sd';'); $(grep -hE '(passed|failed|error).* in ' "$log" | tail -1)"
    return $code
}
export -f one
status=0
for tool in memcheck racecheck; do
    printf '%s\n' $files | xargs -P "$jobs" -I{} bash -c "one $tool {}" || status=1
done
echo "logs: $logs"
exit $status
