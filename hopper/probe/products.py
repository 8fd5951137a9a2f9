"""Records whole products of cuBLAS, by way of PyTorch: cublas.json and
cublas_rows.bin in the folder given. Elements, layouts and checksums are those
that hopper/README.md describes.
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


def main(folder):
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        sys.exit("products.py: no GPU of compute capability 9.0")
    entries = []
    rows = bytearray()
    for name, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
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
    with open(os.path.join(folder, "cublas_rows.bin"), "wb") as f:
        f.write(rows)
    with open(os.path.join(folder, "cublas.json"), "w") as f:
        json.dump(entries, f, indent=0)
        f.write("\n")
    print("%-24s %6d records" % ("cublas.json", len(entries)))
    with open(os.path.join(folder, "machine.txt"), "a") as f:
        f.write("PyTorch %s, CUDA %s\n" % (torch.__version__, torch.version.cuda))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: products.py OUTDIR")
    main(sys.argv[1])
