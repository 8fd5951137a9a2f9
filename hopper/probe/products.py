"""Records whole products of cuBLAS, by way of PyTorch, in the folder given: cublas.json,
cublas_few.json, cublas_fp8_tf32.json and cublas_epilogue.json, each with its _rows.bin. Elements,
layouts and checksums are those that hopper/README.md describes.
"""

import json
import os
import sys
import zlib

import torch

SHAPES = [
    (64, 64, 64),
    (64, 64, 48),
    (128, 128, 256),
    (192, 320, 448),
    (256, 128, 512),
    (384, 640, 1024),
    (512, 512, 256),
    (768, 1024, 320),
    (1024, 512, 768),
    (1000, 1000, 1000),
]


TF32_SHAPES = [
    (128, 128, 256),
    (256, 256, 512),
    (384, 640, 1024),
    (512, 512, 256),
    (640, 384, 512),
    (768, 1024, 320),
    (1024, 512, 768),
    (2048, 1024, 512),
]

FP8_SHAPES = [
    (64, 64, 96),
    (128, 256, 64),
    (192, 320, 448),
    (256, 512, 640),
    (384, 640, 1024),
    (1024, 512, 768),
]

EPILOGUE_SHAPES = [
    (128, 128, 128),
    (192, 320, 448),
    (512, 512, 512),
    (1024, 512, 768),
]

FEW_SHAPES = [  # rows, and the B that they are multiplied by
    ((1, 2, 8, 17, 64), 768, 768),
    ((1, 2, 8, 17), 192, 3072),
    ((1, 2, 8, 17), 256, 4096),
    ((1, 17), 128, 11008),
]

DTYPES = (("bf16", torch.bfloat16), ("f16", torch.float16))
FP8 = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
OUT = {"f32": torch.float32, "bf16": torch.bfloat16}


def elements(rows, columns, seed, dtype):
    """The matrix of a seed, row-major: a hash of the index, in [-1, 1)."""
    mask = 0xFFFFFFFF
    x = torch.arange(rows * columns, dtype=torch.int64, device="cuda")
    x = (x * 2654435761 + seed * 40503) & mask
    for _ in range(2):
        x = (((x >> 16) ^ x) * 0x45D9F3B) & mask
    x = (x >> 16) ^ x
    value = ((x & 0xFFFF) - 32768).to(torch.float32) / 32768
    return value.to(dtype).reshape(rows, columns)


def raw(matrix):
    """The bytes of a matrix, row-major."""
    return matrix.contiguous().view(torch.uint8).cpu().numpy().tobytes()


def write(folder, name, entries, rows):
    with open(os.path.join(folder, name + "_rows.bin"), "wb") as f:
        f.write(rows)
    with open(os.path.join(folder, name + ".json"), "w") as f:
        json.dump(entries, f, indent=0)
        f.write("\n")
    print("%-24s %6d records" % (name + ".json", len(entries)))


def tf32_products(add):
    """C = A·B in tf32. For the smaller shapes cuBLAS starts kernels for older GPUs,
    with mma.sync, and may split K."""
    torch.backends.cuda.matmul.allow_tf32 = True
    for m, n, k in TF32_SHAPES:
        a = elements(m, k, 1, torch.float32) * 1.000123
        for layout in ("NN", "NT"):
            b = elements(*((k, n) if layout == "NN" else (n, k)), 2, torch.float32) * 1.000123
            if layout == "NT":
                b = b.t()
            add(torch.mm(a, b), a="tf32", b="tf32", m=m, n=n, k=k, layout=layout, out="f32", scales="none", bias=False)


def few_products(add):
    """C = A·B of few rows, as decoding has them. The names of the kernels say whether cuBLAS cuts K."""
    for name, dtype in DTYPES:
        for rows, n, k in FEW_SHAPES:
            for layout in ("NN", "NT"):
                b = elements(k, n, 2, dtype) if layout == "NN" else elements(n, k, 2, dtype).t()
                for m in rows:
                    a = elements(m, k, 1, dtype)
                    for out, kind in ((name, dtype), ("f32", torch.float32)):
                        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
                            c = torch.mm(a, b, **({} if kind == dtype else {"out_dtype": kind}))
                            torch.cuda.synchronize()
                        split = any("splitK" in e.name for e in seen.events())
                        add(c, a=name, b=name, m=m, n=n, k=k, layout=layout, out=out, scales="none", bias=False, split=split)


def fp8_products(add):
    """C = A·Bᵀ in fp8, as torch._scaled_mm has it."""
    one = torch.ones((), dtype=torch.float32, device="cuda")
    for ta, tb in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e4m3", "e5m2")):
        for m, n, k in FP8_SHAPES:
            a, b = elements(m, k, 1, FP8[ta]), elements(n, k, 2, FP8[tb]).t()
            bias = elements(1, n, 5, torch.bfloat16).reshape(n)
            scales = {
                "none": (one, one),
                "tensor": (one * 0.3, one * 1.7),
                "row": (elements(m, 1, 3, torch.float32).abs() + 0.01, elements(1, n, 4, torch.float32).abs() + 0.01),
            }
            for kind, (sa, sb) in scales.items():
                for out, with_bias in (("f32", False), ("bf16", False), ("bf16", True)):
                    for fast in (True, False):
                        entry = dict(a=ta, b=tb, m=m, n=n, k=k, layout="NT", out=out, scales=kind, bias=with_bias, fast_accum=fast)
                        try:
                            c = torch._scaled_mm(a, b, sa, sb, bias=bias if with_bias else None, out_dtype=OUT[out], use_fast_accum=fast)
                            torch.cuda.synchronize()
                        except RuntimeError as err:  # not every version has every combination
                            print("left out: %s: %s" % (entry, str(err).splitlines()[0]), file=sys.stderr)
                            continue
                        add(c, **entry)


def epilogue_products(add):
    """f(alpha·A·B + beta·C + bias) of 16-bit operands: beta·C of cuBLAS, and the bias with
    ReLU or GELU of cuBLASLt."""
    for name, dtype in DTYPES:
        for m, n, k in EPILOGUE_SHAPES:
            a = elements(m, k, 1, dtype)
            bias = elements(1, n, 5, dtype).reshape(n)
            for layout in ("NN", "NT"):
                b = elements(k, n, 2, dtype) if layout == "NN" else elements(n, k, 2, dtype).t()
                entry = dict(a=name, b=name, m=m, n=n, k=k, layout=layout, scales="none")
                for out, kind in ((name, dtype), ("f32", torch.float32)):
                    c = elements(m, n, 6, kind)
                    for alpha, beta in ((1.0, 1.0), (0.3, 1.0), (0.75, -1.5), (0.3, 1.7)):
                        try:
                            d = torch.addmm(c, a, b, beta=beta, alpha=alpha, **({} if kind == dtype else {"out_dtype": kind}))
                        except (RuntimeError, TypeError) as err:  # not every version has C in f32
                            print("left out: %s, C in %s: %s" % (entry, out, str(err).splitlines()[0]), file=sys.stderr)
                            continue
                        add(d, out=out, alpha=alpha, beta=beta, bias=False, activation="identity", **entry)
                for activation in ("relu", "gelutanh"):
                    add(torch._addmm_activation(bias, a, b, use_gelu=activation == "gelutanh"),
                        out=name, alpha=1.0, beta=0.0, bias=True, activation=activation, **entry)


def main(folder):
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        sys.exit("products.py: no GPU of compute capability 9.0")
    entries = []
    rows = bytearray()
    for name, dtype in DTYPES:
        for m, n, k in SHAPES:
            a = elements(m, k, 1, dtype)
            for layout in ("NN", "NT"):
                b = elements(k, n, 2, dtype) if layout == "NN" else elements(n, k, 2, dtype).t()
                narrow = torch.mm(a, b)
                wide = torch.mm(a, b, out_dtype=torch.float32)
                torch.cuda.synchronize()
                entry = {"dtype": name, "M": m, "N": n, "K": k, "layout": layout}
                entry["crc32"] = zlib.crc32(raw(narrow))
                entry["rows_off"] = len(rows)
                entry["rows"] = 1
                rows += raw(narrow[:1])
                entry["crc32_f32"] = zlib.crc32(raw(wide))
                entry["rows_off_f32"] = len(rows)
                rows += raw(wide[:1])
                entries.append(entry)
    write(folder, "cublas", entries, rows)

    for file, kinds in (
        ("cublas_few", (few_products,)),
        ("cublas_fp8_tf32", (tf32_products, fp8_products)),
        ("cublas_epilogue", (epilogue_products,)),
    ):
        found, found_rows = [], bytearray()

        def add(c, **entry):
            found.append(dict(entry, crc32=zlib.crc32(raw(c)), row_off=len(found_rows)))
            found_rows.extend(raw(c[:1]))

        for record in kinds:
            record(add)
        write(folder, file, found, found_rows)
    with open(os.path.join(folder, "machine.txt"), "a") as f:
        f.write("PyTorch %s, CUDA %s\n" % (torch.__version__, torch.version.cuda))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: products.py OUTDIR")
    main(sys.argv[1])
