#!/usr/bin/env python3
"""Measure torch.mm on the CPU and print a line of CSV per product, as peers.c does:

    peers_torch.py [-dtype bf16,f32,f64] [-trans NN|NT] [-threads T] [-count N] [-min-time MS] [-step] SHAPE...

    lib,dtype,m,n,k,threads,seconds_median

SHAPE is N or MxNxK. A and B are plain row-major tensors on every call, but with NT B
is the transpose of one, as the weights of torch.nn.Linear are, and C is given as
out=, so that no call allocates it. torch writes a bf16 product in bf16.
Each product is checked, warmed up and then sampled. With -step each sample waits for a
line on stdin and is a line, for a program that compares two.
"""
import argparse
import math
import operator
import os
import signal
import sys
import time
from statistics import median

MAX_DIM = 16384
CHECKS = 256


def fail(status, what):
    print(f"peers_torch: {what}", file=sys.stderr)
    sys.exit(status)


class Parser(argparse.ArgumentParser):
    def error(self, message):  # without the usage, so that it stays one line
        fail(2, message)

    def print_help(self, file=None):
        print(self.format_help(), end="", flush=True)


def number(high):
    def parse(s):
        if not (s.isascii() and s.isdigit() and 1 <= int(s) <= high):
            raise argparse.ArgumentTypeError(f'"{s}" is not in 1..{high}')
        return int(s)
    return parse


def shape(s):
    parts = s.split("x")
    parts = parts * 3 if len(parts) == 1 else parts
    if len(parts) != 3:
        raise argparse.ArgumentTypeError(f'"{s}" is not N or MxNxK')
    return tuple(number(MAX_DIM)(p) for p in parts)


def types(s):
    for t in s.split(","):
        if t not in ("bf16", "f32", "f64"):
            raise argparse.ArgumentTypeError(f'"{t}" is not one of bf16, f32, f64')
    return s.split(",")


def layout(s):
    if s not in ("NN", "NT"):
        raise argparse.ArgumentTypeError(f'"{s}" is neither NN nor NT')
    return s


def arguments():
    p = Parser(description=__doc__.splitlines()[0], allow_abbrev=False)
    p.add_argument("-dtype", type=types, default=["bf16", "f32"])
    p.add_argument("-trans", type=layout, default="NN")
    p.add_argument("-threads", type=number(4096), default=1)
    p.add_argument("-count", type=number(1000), default=3)
    p.add_argument("-min-time", type=number(60000), default=100, help="milliseconds")
    p.add_argument("-step", action="store_true")
    p.add_argument("shapes", type=shape, nargs="+", metavar="SHAPE")
    return p.parse_args()


def right(torch, a, b, c):
    """Compare entries all over C with exact sums, to gemmbench's bound and an ulp of a bf16 C."""
    m, n = c.shape
    at = torch.linspace(0, m * n - 1, CHECKS, dtype=torch.float64).long().clamp(0, m * n - 1)
    rows = a[at // n].double()
    cols = b.t()[at % n].double()
    # All elements are multiples of 2^-53, and Python's integers of any size.
    fixed = [(x * 2**53).long() for x in (rows, cols)]
    ref = torch.tensor([sum(map(operator.mul, x.tolist(), y.tolist())) / 2**106 for x, y in zip(*fixed)],
                       dtype=torch.float64)
    unit = 2.0**-53 if c.dtype == torch.float64 else 2.0**-24
    bound = (a.shape[1] + 8) * unit * (rows * cols).abs().sum(1)
    if c.dtype == torch.bfloat16:
        bound += (ref.abs() + bound) * 2.0**-7
    got = c.flatten()[at].double()
    return bool(((got - ref).abs() <= bound).all())  # false for NaN


def samples(torch, dtype, dims, trans, count, min_time, step):
    """Yield the seconds of a call in each sample, or NaN for a wrong product."""
    if step and not sys.stdin.readline():
        sys.exit(0)
    m, n, k = dims
    kind = {"bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}[dtype]
    # Multiples of 1/128 in [-1, 1) are exact in bf16. Those of 2^-53 need all bits of a float64.
    parts = 2**53 if dtype == "f64" else 128
    a = torch.randint(-parts, parts, (m, k)).to(kind) / parts
    b = torch.randint(-parts, parts, (n, k) if trans == "NT" else (k, n)).to(kind) / parts
    if trans == "NT":
        b = b.t()
    c = torch.full((m, n), float("nan"), dtype=kind)

    def repeat(calls):
        start = time.perf_counter()
        for _ in range(calls):
            torch.mm(a, b, out=c)
        return time.perf_counter() - start

    repeat(1)
    wrong = not right(torch, a, b, c)
    calls = 1
    while not wrong and (t := repeat(calls)) < min_time:
        calls = int(min(max(1.2 * calls * min_time / max(t, 1e-9), 2 * calls), 100 * calls))
    for i in range(count):
        if step:
            if i and not sys.stdin.readline():
                sys.exit(0)
            repeat(1)  # the caches are the other program's
        yield math.nan if wrong else repeat(calls) / calls


def main():
    args = arguments()
    try:
        import torch
    except (ImportError, OSError) as e:
        fail(1, f"torch cannot be imported: {e}")
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    cpu = getattr(torch.backends, "cpu", None)  # not in torch 1, as of Debian 12
    print(f"peers_torch: torch {torch.__version__}, {torch.get_num_threads()} threads, "
          f"CPU capability {cpu.get_cpu_capability() if cpu else 'unknown'}", file=sys.stderr)
    status = 0
    with torch.inference_mode():
        for dims in args.shapes:
            for dtype in args.dtype:
                name = "{}x{}x{}".format(*dims)
                product = f"torch,{dtype},{','.join(map(str, dims))},{args.threads},"
                seconds = []
                for s in samples(torch, dtype, dims, args.trans, args.count, args.min_time / 1e3, args.step):
                    seconds.append(s)
                    if args.step:
                        print(f"{product}{s:.9g}", flush=True)
                if math.isnan(seconds[0]):
                    print(f"peers_torch: {dtype} {name} is wrong, and not measured", file=sys.stderr)
                    status = 1
                elif not args.step:
                    print(f"{product}{median(seconds):.9g}", flush=True)
    sys.exit(status)


if __name__ == "__main__":
    for ends in (signal.SIGINT, signal.SIGPIPE):  # without a traceback, as other programs
        signal.signal(ends, signal.SIG_DFL)
    try:
        main()
    except OSError as e:
        print(f"peers_torch: cannot write the result: {e.strerror}", file=sys.stderr)
        os._exit(1)  # exit would try to write it again
