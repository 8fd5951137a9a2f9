#!/bin/sh
# Builds the probe, runs it on the first GPU and leaves its files in a folder:
#
#	hopper/probe/run.sh OUTDIR [SEED]
#	go run ./cmd/hoppercheck OUTDIR
#
# It needs nvcc of CUDA 12.4 or later, or another that NVCC names, and PyTorch for
# cublas*.json, which it leaves out when python3 has none.
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
if python3 -c 'import torch' 2>/dev/null; then
	python3 "$here/products.py" "$out"
else
	echo "no PyTorch: cublas*.json left out" >&2
fi
cat "$out/machine.txt"
