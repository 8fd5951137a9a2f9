#!/bin/sh
# Builds the probe, runs it on the first GPU and leaves its files in a folder:
#
#	hopper/probe/run.sh OUTDIR [SEED]
#	go run ./cmd/hoppercheck OUTDIR
#
# It needs nvcc of CUDA 12.4 or later, or another that NVCC names, PyTorch for cublas*.json, which it leaves out when
# python3 has none, and Nsight Compute (ncu) with access to the GPU's counters for banks_ncu.txt, else left out.
set -eu

usage="usage: run.sh OUTDIR [SEED]"
case ${1-} in
-h | -help | --help)
	echo "$usage"
	exit
	;;
-*)
	echo "run.sh: no flag $1; $usage" >&2
	exit 2
	;;
esac
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "$usage" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
seed=${2:-1}
nvcc=${NVCC:-nvcc}
if ! command -v "$nvcc" >/dev/null; then
	echo "run.sh: no $nvcc; it comes with CUDA, and NVCC names one outside PATH" >&2
	exit 1
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

"$nvcc" -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a -o "$bin/probe" "$here/probe.cu"
"$bin/probe" "$out" "$seed"
{
	"$nvcc" --version | grep release
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true
} >>"$out/machine.txt"
if command -v ncu >/dev/null; then
	"$nvcc" -std=c++17 -O2 -gencode=arch=compute_90a,code=sm_90a -o "$bin/banks" "$here/banks.cu"
	wavefronts=l1tex__data_pipe_lsu_wavefronts_mem_shared_op
	if ncu --csv --page raw --cache-control none --clock-control none --log-file "$bin/banks.csv" \
		--metrics ${wavefronts}_ld.sum,${wavefronts}_st.sum,${wavefronts}_atom.sum "$bin/banks" "$bin" "$seed" >&2; then
		# The columns of the counters, of a line for each kernel, come to the patterns.
		awk -F '","' '
			NR == FNR { pattern[n++] = $0; next }
			/^"ID"/ { for (i = 1; i <= NF; i++) if ($i ~ /wavefronts.*[.]sum/) column[i] }
			/^"[0-9]/ {
				sum = 0
				for (i in column) { gsub(/[^0-9.]/, "", $i); sum += $i }
				split(pattern[k++], p, " ")
				printf "%s %s %.2f %s\n", p[1], p[2], sum / 64, p[4]
			}' "$bin/banks_ncu.txt" "$bin/banks.csv" >"$out/banks_ncu.txt"
		printf '%-24s %6d records\n' banks_ncu.txt "$(wc -l <"$out/banks_ncu.txt")"
	else
		echo "ncu cannot read the counters: banks_ncu.txt left out" >&2
	fi
fi
if python3 -c 'import torch' 2>/dev/null; then
	python3 "$here/products.py" "$out"
else
	echo "no PyTorch: cublas*.json left out" >&2
fi
cat "$out/machine.txt"
