#!/bin/sh
# run.sh builds gemmbench and every peer that it finds, runs them in turn on the
# same products, and prints GFLOP/s and the ratio to the best peer. See README.md.
set -eu

usage() {
	cat <<'EOF'
Usage: run.sh [flags] SHAPE...

SHAPE is N or MxNxK, sizes in 1..16384: C (MxN) = A (MxK) * B (KxN).

  -d LIST   types of A and B, of bf16,f32,f64 (default bf16,f32)
  -t LIST   threads (default 1 and all: 1,N)
  -r N      rounds, 1..100: each runs every program once (default 3)
  -c N      samples of each product in a round, 1..1000 (default 3)
  -s MS     shortest sample in milliseconds, 1..60000 (default 100)
  -l LIST   peers, of openblas,onednn,torch,gonum,gomlx (default all)

Environment: TIMEOUT, seconds for one run of one program (default 120); GO, CC,
PYTHON (python3); OPENBLAS_FLAGS (-lopenblas), ONEDNN_FLAGS (-ldnnl): for builds in
other places, as -I/opt/x/include -L/opt/x/lib -Wl,-rpath,/opt/x/lib -ldnnl.
EOF
}

fail() { echo "run.sh: $1" >&2; exit "${2:-2}"; }
note() { echo "run.sh: $1" >&2; }

# number VALUE MAX succeeds for an integer in 1..MAX of at most nine digits.
number() {
	case $1 in '' | *[!0-9]* | ??????????*) return 1 ;; esac
	[ "$1" -ge 1 ] && [ "$1" -le "$2" ]
}

dtypes=bf16,f32 rounds=3 count=3 ms=100 peers=openblas,onednn,torch,gonum,gomlx
cores=$(nproc)
if [ "$cores" = 1 ]; then threads=1; else threads=1,$cores; fi
case ${1-} in -h | -help | --help) usage; exit 0 ;; --?*) fail "unknown flag $1 (run.sh -h lists them)" ;; esac
while getopts :hd:t:r:c:s:l: flag; do
	case $flag in
	h) usage; exit 0 ;;
	d) dtypes=$OPTARG ;;
	t) threads=$OPTARG ;;
	r) number "$OPTARG" 100 || fail "-r: \"$OPTARG\" is not in 1..100"; rounds=$OPTARG ;;
	c) number "$OPTARG" 1000 || fail "-c: \"$OPTARG\" is not in 1..1000"; count=$OPTARG ;;
	s) number "$OPTARG" 60000 || fail "-s: \"$OPTARG\" is not in 1..60000"; ms=$OPTARG ;;
	l) peers=$OPTARG ;;
	:) fail "-$OPTARG needs a value" ;;
	*) fail "unknown flag -$OPTARG (run.sh -h lists them)" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || fail "no shapes: give N or MxNxK (run.sh -h)"
for shape in "$@"; do
	case $shape in
	'' | *[!0-9x]* | *x*x*x* | x* | *x | *xx*) fail "shape: \"$shape\" is not N or MxNxK" ;;
	*x*x*) ;;
	*x*) fail "shape: \"$shape\" is not N or MxNxK" ;;
	esac
	for size in $(echo "$shape" | tr x ' '); do
		number "$size" 16384 || fail "shape: \"$shape\" is not N or MxNxK with sizes in 1..16384"
	done
done
case ,$dtypes, in *,,* | *[!a-z0-9,]*) fail "-d: \"$dtypes\" is not a list of types" ;; esac
for dtype in $(echo "$dtypes" | tr , ' '); do
	case $dtype in bf16 | f32 | f64) ;; *) fail "-d: \"$dtype\" is not one of bf16, f32, f64" ;; esac
done
[ -z "$(echo "$dtypes" | tr , '\n' | sort | uniq -d)" ] || fail "-d: \"$dtypes\" names a type twice"
case ,$threads, in *,,* | *[!0-9,]*) fail "-t: \"$threads\" is not a list of numbers" ;; esac
for t in $(echo "$threads" | tr , ' '); do
	number "$t" 4096 || fail "-t: \"$t\" is not in 1..4096"
	[ "$t" -le "$cores" ] || fail "-t: $t threads, but this machine gives $cores"
done
[ -z "$(echo "$threads" | tr , '\n' | sort | uniq -d)" ] || fail "-t: \"$threads\" names a number twice"
case ,$peers, in *,,* | *[!a-z,]*) fail "-l: \"$peers\" is not a list of peers" ;; esac
for lib in $(echo "$peers" | tr , ' '); do
	case $lib in openblas | onednn | torch | gonum | gomlx) ;; *) fail "-l: \"$lib\" is not one of openblas, onednn, torch, gonum, gomlx" ;; esac
done
[ -z "$(echo "$peers" | tr , '\n' | sort | uniq -d)" ] || fail "-l: \"$peers\" names a peer twice"
limit=${TIMEOUT:-120}
number "$limit" 86400 || fail "TIMEOUT: \"$limit\" is not in 1..86400"
command -v timeout >/dev/null || fail "no timeout command (Debian: coreutils)" 1

cd "$(dirname "$0")"
GO=${GO:-go} CC=${CC:-cc} PYTHON=${PYTHON:-python3}
mkdir -p build
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
trap 'exit 130' INT TERM
log=$results/log

# A timeout in the foreground leaves its program where an interrupt finds it.
#
# gobuild DIR PACKAGE NAME builds a command of the module at DIR. Without a Go
# tool, what was built earlier or elsewhere does.
gobuild() {
	if command -v "$GO" >/dev/null; then
		(cd "$1" && CGO_ENABLED=0 timeout --foreground 600 "$GO" build -o "$OLDPWD/build/$3" "$2") >"$log" 2>&1
	else
		echo "no $GO, and no build/$3" >"$log"
		[ -x "build/$3" ]
	fi
}

# why picks the line of the log that names the cause.
why() { grep -iE 'cannot|error|forbidden|disabled|no ' "$log" | head -n 1 | grep . || tail -n 1 "$log"; }

# cbuild NAME MACRO FLAGS builds peers.c for one library, or takes what is there.
cbuild() {
	if command -v "$CC" >/dev/null; then
		# The flags are several words.
		timeout --foreground 60 $CC -std=gnu11 -O2 -D"$2" -o "build/peers-$1" peers.c $3 -lm -ldl >"$log" 2>&1
	else
		echo "no $CC, and no build/peers-$1" >"$log"
		[ -x "build/peers-$1" ]
	fi
}

gobuild ../.. ./cmd/gemmbench gemmbench && gobuild ../.. ./bench/peers/report report || {
	cat "$log" >&2
	fail "gemmbench does not build" 1
}
found=
for lib in $(echo "$peers" | tr , ' '); do
	case $lib in
	openblas) cbuild openblas PEER_OPENBLAS "${OPENBLAS_FLAGS:--lopenblas}" ;;
	onednn) cbuild onednn PEER_ONEDNN "${ONEDNN_FLAGS:--ldnnl}" ;;
	torch) timeout --foreground 120 "$PYTHON" -c 'import torch' >"$log" 2>&1 ;;
	*) gobuild go "./$lib" "peers-$lib" ;;
	esac && found="$found $lib" || note "$lib skipped: $(why)"
done

# Each library is to choose its kernels for itself.
for name in OPENBLAS_CORETYPE OPENBLAS_L2_SIZE DNNL_MAX_CPU_ISA ONEDNN_MAX_CPU_ISA ONEDNN_DEFAULT_FPMATH_MODE \
	MKL_ENABLE_INSTRUCTIONS MKL_DEBUG_CPU_TYPE ATEN_CPU_CAPABILITY LEAFHOPPER_KERNEL; do
	if value=$(printenv "$name"); then
		unset "$name"
		note "$name=$value is in the environment, and left out"
	fi
done
load() { cut -d ' ' -f 1 /proc/loadavg 2>/dev/null || echo unknown; }
load_before=$(load)

# measure LIB ROUND THREADS SHAPE... writes the results of one program.
measure() {
	lib=$1 round=$2 threads_now=$3
	shift 3
	out=$results/$lib-$round-$threads_now
	export OMP_NUM_THREADS="$threads_now" OPENBLAS_NUM_THREADS="$threads_now" MKL_NUM_THREADS="$threads_now"
	status=0
	case $lib in
	leafhopper)
		# Every product is verified, in the first round. As in the peers one product is measured
		# after the other: those of several in turns would find the caches full of each other's.
		verify=false
		[ "$round" != 1 ] || verify=true
		: >"$log"
		for dtype in $(echo "$dtypes" | tr , ' '); do
			for shape in "$@"; do
				timeout --foreground "$limit" build/gemmbench compare -format json -size "$shape" -dtype "$dtype" -depth 0 -workers "$threads_now" \
					-count "$count" -min-time "${ms}ms" -verify="$verify" >"$results/$lib.$dtype.$shape-$round-$threads_now.json" 2>>"$log" || status=$?
				[ "$status" = 0 ] || break 2
			done
		done
		;;
	*)
		set -- -dtype "$dtypes" -threads "$threads_now" -count "$count" -min-time "$ms" "$@"
		if [ "$lib" = torch ]; then set -- "$PYTHON" peers_torch.py "$@"; else set -- "build/peers-$lib" "$@"; fi
		timeout --foreground "$limit" "$@" >"$out.csv" 2>"$log" || status=$?
		;;
	esac
	[ "$round" != 1 ] || sort -u "$log" >&2
	[ "$status,$lib" = 124,leafhopper ] && fail "gemmbench took more than $limit s (TIMEOUT)" 1
	[ "$status" != 124 ] || note "$lib: stopped after $limit s (TIMEOUT); what it had measured counts"
	case $lib,$status in
	*,0 | *,1 | *,124) ;;
	*) note "$lib: status $status" ;;
	esac
	if [ "$lib" = leafhopper ] && [ "$status" != 0 ]; then
		cat "$log" >&2
		fail "gemmbench failed with status $status" 1
	fi
}

# Each round starts with another program, so that none is always first.
programs="leafhopper$found"
round=1
while [ "$round" -le "$rounds" ]; do
	for t in $(echo "$threads" | tr , ' '); do
		for lib in $programs; do
			measure "$lib" "$round" "$t" "$@"
		done
	done
	programs="${programs#* } ${programs%% *}"
	round=$((round + 1))
done

load_after=$(load)
sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 | sed "s/\$/, $cores threads, $(uname -sr)/"
echo "load average $load_before before, $load_after after (the programs themselves make up to $cores)"
of="the median of $rounds rounds"
[ "$rounds" != 1 ] || of="one round"
echo "GFLOP/s, $of; ratio: leafhopper to the best peer"
build/report "$results"/*-*-*.*
