// tma.bin, tma_tf32.txt, tma_illegal.txt: tile copies, stores and reductions.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "copy.cuh"

// The types whose reductions the recordings hold, by reduction.
inline int random_reduced_type(Rng& rng, int red) {
  static const int add[] = {kU32, kS32, kU64, kF16, kF32, kBF16};
  static const int extreme[] = {kU32, kS32, kU64, kF16, kBF16};
  static const int bits[] = {kU32, kS32, kU64};
  switch (red) {
    case 1: return add[rng.below(6)];
    case 2: case 3: return extreme[rng.below(5)];
    case 4: case 5: return kU32;
    default: return bits[rng.below(3)];
  }
}

// random_copy makes a copy that the hardware performs: the inner coordinate is a
// multiple of 16 bytes, a store begins at no negative coordinate.
inline CopyCase random_copy(Rng& rng) {
  for (;;) {
    CopyCase c;
    MapArgs& m = c.map;
    c.kind = rng.below(2);
    c.seed = rng.next();
    if (c.kind == 1 && rng.chance(4)) c.red = rng.range(1, 8);
    m.dtype = c.red != 0 ? random_reduced_type(rng, c.red) : static_cast<int>(rng.below(kTF32FTZ + 1));
    m.rank = c.red != 0 || !rng.chance(4) ? 2 : rng.range(1, 5);
    m.swizzle = rng.below(4);
    m.nan_fill = m.dtype >= kF16 ? rng.below(2) : 0;
    const uint32_t bytes = c.element();
    const uint32_t chunks = rng.range(1, m.swizzle != 0 ? kSpans[m.swizzle] / 16 : 16);
    m.box[0] = 16 * chunks / bytes;
    m.dims[0] = rng.range(1, 2 * m.box[0] + 3);
    if (rng.chance(8)) m.estride[0] = rng.range(2, 4);  // ignored
    for (uint32_t d = 1; d < m.rank; d++) {
      m.box[d] = rng.range(1, m.rank == 2 ? 40 : 6);
      m.dims[d] = rng.range(1, m.rank == 2 ? 48 : 8);
      if (rng.chance(5)) m.estride[d] = rng.range(2, 4);
    }
    m.strides[0] = (m.dims[0] * bytes + 15) / 16 * 16 + (rng.chance(3) ? 16 * rng.range(1, 3) : 0);
    for (uint32_t d = 1; d < 4; d++) m.strides[d] = m.strides[d - 1] * m.dims[d];
    if (rng.chance(3)) c.offset = 128 * rng.below(8);
    for (uint32_t d = 0; d < m.rank; d++) {
      const int size = static_cast<int>(m.dims[d]), box = static_cast<int>(m.box[d]);
      const int low = c.kind == 0 ? -box - 2 : 0;
      c.at.c[d] = rng.chance(3) ? 0 : rng.range(low, size + 2);
    }
    const int unit = 16 / bytes;
    c.at.c[0] = c.at.c[0] / unit * unit;
    if (c.offset + c.shared_bytes() <= kSharedBytes && c.global_bytes() <= 64 << 10) return c;
  }
}

inline size_t probe_tma(const std::string& dir, uint64_t seed) {
  constexpr size_t kCopies = 2000;
  Rng rng(seed, 3);
  File out(dir, "tma.bin");
  for (size_t i = 0; i < kCopies; i++) record(out, random_copy(rng), i);
  return kCopies;
}

// random_word makes f32 words near everything that rounding to tf32 decides:
// ties, carries into the exponent, subnormals, infinities and NaNs.
inline uint32_t random_word(Rng& rng) {
  static const uint32_t low[] = {0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x1fff};
  uint32_t x = rng.next();
  if (rng.chance(3)) x = (x & ~0x1fffu) | low[rng.below(6)];
  if (rng.chance(8)) x = (x & 0x80001fffu) | (rng.below(255) << 23) | 0x007fe000u;
  if (rng.chance(8)) x &= 0x807fffffu;
  if (rng.chance(16)) x |= 0x7f800000u;
  if (rng.chance(64)) x = (x & 0x80000000u) | 0x7f800000u;
  return x;
}

inline size_t probe_tf32(const std::string& dir, uint64_t seed) {
  constexpr int kBoxes = 8, kWords = 256;
  Rng rng(seed, 4);
  Buffer<uint32_t> global(kWords);
  Buffer<unsigned char> shared(kSharedBytes);
  Buffer<int> done(1);
  File out(dir, "tma_tf32.txt");
  for (int i = 0; i < kBoxes; i++) {
    std::vector<uint32_t> words(kWords);
    for (uint32_t& w : words) w = random_word(rng);
    global.put(words);
    MapArgs m;
    m.dtype = i % 2 == 0 ? kTF32 : kTF32FTZ;
    m.address = reinterpret_cast<uint64_t>(global.get());
    m.dims[0] = m.box[0] = kWords;
    alignas(64) CUtensorMap map;
    encode_or_die(&map, m, i);
    load_kernel<<<1, 128, kSharedBytes + 1024>>>(map, 1, Coord{}, 0, 4 * kWords, shared.get(), done.get());
    finish("tf32 load", i);
    const std::vector<unsigned char> after = shared.take();
    for (int k = 0; k < kWords; k++) {
      uint32_t w = 0;
      for (int b = 0; b < 4; b++) w |= static_cast<uint32_t>(after[4 * k + b]) << 8 * b;
      out.print("%08x -> %08x\n", words[k], w);
    }
  }
  return kBoxes * kWords;
}

// faulty_copy makes a copy that breaks one of the two rules of coordinates, and
// only that one.
inline CopyCase faulty_copy(Rng& rng) {
  for (;;) {
    CopyCase c = random_copy(rng);
    MapArgs& m = c.map;
    if (c.red != 0 || m.rank > 3) continue;
    for (uint32_t& s : m.estride) s = 1;  // not all of them are in the file
    if (c.offset + c.shared_bytes() > kSharedBytes) continue;
    c.at = Coord{};
    const int unit = 16 / static_cast<int>(c.element());
    switch (rng.below(3)) {
      case 0:
        c.at.c[0] = rng.range(1, unit - 1);
        if (c.kind == 0 && rng.chance(2)) c.at.c[0] -= unit;
        return c;
      case 1:
        c.kind = 1;
        c.at.c[0] = -unit;
        return c;
      default:
        if (m.rank < 2) continue;
        c.kind = 1;
        c.at.c[rng.range(1, static_cast<int>(m.rank) - 1)] = -rng.range(1, 4);
        return c;
    }
  }
}

// probe_illegal runs every copy in a process of its own, because a fault ends
// the CUDA context. It must run before this process touches CUDA.
inline size_t probe_illegal(const std::string& dir, uint64_t seed) {
  constexpr int kCases = 16;
  Rng rng(seed, 5);
  size_t faults = 0;
  File out(dir, "tma_illegal.txt");
  for (int i = 0; i < kCases; i++) {
    const CopyCase c = faulty_copy(rng);
    fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) fatal("cannot fork");
    if (child == 0) {
      int done = 0;
      perform(c, &done);
      _exit(done == -cudaErrorIllegalInstruction ? 42 : done > 0 ? 0 : 2);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) fatal("lost case %d", i);
    const MapArgs& m = c.map;
    char line[400];
    snprintf(line, sizeof line,
             "case %d kind %d dt %d rank %u il 0 sw %d oob %d smoff %u box %u,%u,%u,%u,%u es %u,%u,%u crd %d,%d,%d,%d,%d dims %llu,%llu,%llu", i,
             c.kind, m.dtype, m.rank, m.swizzle, m.nan_fill, c.offset, m.box[0], m.box[1], m.box[2], m.box[3], m.box[4], m.estride[0],
             m.estride[1], m.estride[2], c.at.c[0], c.at.c[1], c.at.c[2], c.at.c[3], c.at.c[4],
             static_cast<unsigned long long>(m.dims[0]), static_cast<unsigned long long>(m.dims[1]),
             static_cast<unsigned long long>(m.dims[2]));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 42) {
      out.print("%s\n", line);
      faults++;
    } else {
      fprintf(stderr, "probe: no illegal instruction (status %#x): %s\n", status, line);
    }
  }
  return faults;
}
