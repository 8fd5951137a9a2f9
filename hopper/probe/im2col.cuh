// tma_im2col.bin, tma_im2col_edge.bin: loads, stores and reductions through im2col maps; tma_prefetch.bin, tma_wide.bin:
// prefetches, and copies through maps of more elements than a coordinate counts.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "tma.cuh"

// random_offset is mostly that of a small filter. PTX gives rank 4 8 bits and rank 5 5; some need more, or all 16.
inline uint16_t random_offset(Rng& rng, uint32_t rank) {
  if (rng.chance(16)) return static_cast<uint16_t>(rng.chance(2) ? rng.below(1 << 16) : (1 << 16) - rng.range(1, 6));
  if (rng.chance(10)) return static_cast<uint16_t>((rank == 5 ? 32 : 256) * rng.below(2) + rng.below(8));
  return static_cast<uint16_t>(rng.below(5));
}

// random_im2col makes a copy that begins in the bounding box, which for a store lies in the tensor.
inline CopyCase random_im2col(Rng& rng) {
  for (;;) {
    CopyCase c;
    MapArgs& m = c.map;
    m.im2col = c.at.im2col = true;
    c.kind = rng.chance(3);
    c.multicast = c.kind == 0 && rng.chance(8);
    c.seed = rng.next();
    if (c.kind == 1 && rng.chance(4)) c.red = rng.range(1, 8);
    m.dtype = c.red != 0 ? random_reduced_type(rng, c.red) : static_cast<int>(rng.below(kTypes));
    m.rank = rng.range(3, 5);
    m.swizzle = rng.below(4);
    m.nan_fill = m.dtype >= kF16 ? rng.below(2) : 0;
    const uint32_t bytes = c.element(), spatial = m.rank - 2;
    const uint32_t chunks = rng.range(1, !rng.chance(4) ? 2 : m.swizzle != 0 ? kSpans[m.swizzle] / 16 : 12);
    m.box[0] = 16 * chunks / bytes;
    m.box[1] = rng.chance(12) ? rng.range(1, 1024) : rng.range(1, 30);
    m.dims[0] = rng.range(1, m.box[0] + 40 / bytes);
    m.dims[m.rank - 1] = rng.range(1, 4);
    for (uint32_t d = 0; d < m.rank; d++) {
      if (rng.chance(3)) m.estride[d] = rng.range(2, rng.chance(4) ? 8 : 3);
    }
    for (uint32_t d = 0; d < spatial; d++) {
      const int size = rng.range(1, m.rank == 3 ? (rng.chance(8) ? 300 : 20) : m.rank == 4 ? 7 : 5);
      m.dims[1 + d] = size;
      m.lower[d] = rng.range(c.kind == 0 ? -3 : 0, 2);
      m.upper[d] = rng.range(-3, c.kind == 0 ? 3 : 0);
      if (c.kind == 0 && rng.chance(10)) m.lower[d] = m.rank == 5 ? -16 : -rng.range(4, 128);
      if (c.kind == 0 && rng.chance(10)) m.upper[d] = m.rank == 5 ? 15 : rng.range(4, 127);
      if (m.lower[d] > size - 1 + m.upper[d]) m.lower[d] = m.upper[d] = 0;
      c.at.c[1 + d] = rng.chance(3) ? m.lower[d] : rng.range(m.lower[d], size - 1 + m.upper[d]);
      if (c.kind == 0) c.at.offset[d] = random_offset(rng, m.rank);
    }
    m.strides[0] = (m.dims[0] * bytes + 15) / 16 * 16 + (rng.chance(3) ? 16 * rng.range(1, 3) : 0);
    for (uint32_t d = 1; d < 4; d++) m.strides[d] = m.strides[d - 1] * m.dims[d];
    if (rng.chance(3)) c.offset = 128 * rng.below(8);
    const int unit = 16 / bytes, channels = static_cast<int>(m.dims[0]), low = c.kind == 0 ? -static_cast<int>(m.box[0]) - 2 : 0;
    c.at.c[0] = (rng.chance(2) ? 0 : rng.range(low, channels + 2)) / unit * unit;
    c.at.c[m.rank - 1] = rng.range(c.kind == 0 && rng.chance(4) ? -2 : 0, static_cast<int>(m.dims[m.rank - 1]));
    if (c.offset + c.shared_bytes() <= kSharedBytes && c.global_bytes() <= (c.red != 0 ? 4 << 10 : 64 << 10)) return c;
  }
}

constexpr uint32_t kEdges = 9;

// edge_im2col makes a copy that PTX forbids, in one of the ways.
inline CopyCase edge_im2col(Rng& rng, uint32_t way) {
  for (;;) {
    CopyCase c = random_im2col(rng);
    MapArgs& m = c.map;
    c.multicast = false;
    const bool load = c.kind == 0;
    const uint32_t d = rng.below(m.rank - 2), n = m.rank - 1;
    const int unit = 16 / static_cast<int>(c.element()), high = static_cast<int>(m.dims[1 + d]) - 1 + m.upper[d];
    int32_t& at = c.at.c[1 + d];
    switch (way) {
      case 0:  // a load that begins before the bounding box
        at = m.lower[d] - rng.range(1, 5);
        if (load) return c;
        break;
      case 1:  // or behind it
        at = high + rng.range(1, 5);
        if (load) return c;
        break;
      case 2:  // a store that does
        m.lower[d] = rng.range(0, high);
        at = m.lower[d] > 0 && rng.chance(2) ? rng.range(0, m.lower[d] - 1) : high + rng.range(1, 4);
        if (!load) return c;
        break;
      case 3:  // a store with a bounding box that is larger than the tensor
        if (rng.chance(2)) {
          m.lower[d] = -rng.range(1, 3);
        } else {
          m.upper[d] = rng.range(1, 3);
        }
        if (!load) return c;
        break;
      case 4:  // or with a negative coordinate
        c.at.c[0] = -unit;
        if (!load) return c;
        break;
      case 5:
        c.at.c[n] = -rng.range(1, 3);
        if (!load) return c;
        break;
      case 6:
        at = -rng.range(1, 3);
        m.lower[d] = rng.chance(2) ? at : 0;
        if (!load) return c;
        break;
      case 7:  // an inner coordinate off the 16 bytes
        c.at.c[0] = rng.range(1, unit);
        if (c.at.c[0] < unit) return c;
        break;
      case 8:  // the other mode's instruction
        if (rng.chance(2)) {
          c.at.im2col = false;
        } else {
          m.im2col = false;
          m.box[1] = rng.range(1, 8);
        }
        if (load && c.offset + c.shared_bytes() <= kSharedBytes) return c;
        break;
    }
  }
}

inline size_t probe_im2col(const std::string& dir, uint64_t seed) {
  constexpr size_t kCopies = 1000;
  Rng rng(seed, 11);
  File out(dir, "tma_im2col.bin");
  for (size_t i = 0; i < kCopies; i++) record(out, random_im2col(rng), i);
  return kCopies;
}

// Outcome is what a process leaves of its copy; done is a negative error if that faulted.
struct Outcome {
  int done, same;
  uint32_t bytes;
  unsigned char memory[64 << 10];
};

// forked does cases in processes of their own, some at once, because a fault ends the CUDA context. It must run before this
// process touches CUDA.
template <typename Case, typename Make, typename Work, typename Write>
inline void forked(int cases, Make make, Work work, Write write) {
  constexpr int kAtOnce = 8;
  const size_t size = kAtOnce * sizeof(Outcome);
  auto* outcomes = static_cast<Outcome*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (outcomes == MAP_FAILED) fatal("no memory to share");
  for (int i = 0; i < cases; i += kAtOnce) {
    fflush(nullptr);
    Case all[kAtOnce];
    pid_t children[kAtOnce];
    const int n = std::min(kAtOnce, cases - i);
    for (int k = 0; k < n; k++) {
      all[k] = make(i + k);
      outcomes[k].done = 0;
      if ((children[k] = fork()) < 0) fatal("cannot fork");
      if (children[k] > 0) continue;
      const std::vector<unsigned char> after = work(all[k], &outcomes[k]);
      outcomes[k].bytes = static_cast<uint32_t>(after.size());
      std::copy(after.begin(), after.end(), outcomes[k].memory);
      _exit(0);
    }
    for (int k = 0; k < n; k++) {
      int status = 0;
      if (waitpid(children[k], &status, 0) != children[k] || status != 0) fatal("lost case %d", i + k);
      const unsigned char* p = outcomes[k].memory;
      write(all[k], outcomes[k], std::vector<unsigned char>(p, p + (outcomes[k].done > 0 ? outcomes[k].bytes : 0)));
    }
  }
  munmap(outcomes, size);
}

// record_forked performs copies of which some fault. Those whose map the driver refuses are left out.
template <typename Make>
inline size_t record_forked(const std::string& dir, const char* name, int cases, Make make) {
  size_t records = 0;
  File out(dir, name);
  forked<CopyCase>(
      cases, make, [](const CopyCase& c, Outcome* o) { return perform(c, &o->done); },
      [&](const CopyCase& c, const Outcome& o, const std::vector<unsigned char>& after) {
        if (o.done == 0) return;
        records++;
        write_record(out, c, o.done, after);
      });
  return records;
}

inline size_t probe_im2col_edge(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 12);
  return record_forked(dir, "tma_im2col_edge.bin", 48, [&](int i) { return edge_im2col(rng, i % kEdges); });
}

// prefetch_of makes the prefetch of a load, or of one that faults. Such prefetches do, too, but not always.
inline CopyCase prefetch_of(Rng& rng, int way) {
  static const uint32_t edges[] = {0, 1, 8};
  CopyCase c;
  do {
    c = way < 3 ? edge_im2col(rng, edges[way]) : way == 3 ? random_im2col(rng) : random_copy(rng);
  } while (c.kind != 0 || c.multicast);
  const int unit = 16 / static_cast<int>(c.element());
  if (way == 5) c.at.c[0] += unit > 1 ? rng.range(1, unit - 1) : 0;
  c.kind = 2;
  return c;
}

inline size_t probe_prefetch(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 17);
  return record_forked(dir, "tma_prefetch.bin", 18, [&](int i) { return prefetch_of(rng, i % 6); });
}

// random_wide makes a copy through a map of about 2^31 elements or more in a dimension, which all lie at the same place.
inline CopyCase random_wide(Rng& rng) {
  static const uint64_t k31 = 1ull << 31, k32 = 1ull << 32;
  static const uint64_t sizes[] = {k31 - 2, k31 - 1, k31, k31 + 1, k31 + 5, 3ull << 30, k32 - 3, k32 - 1, k32};
  for (;;) {
    CopyCase c = rng.chance(2) ? random_im2col(rng) : random_copy(rng);
    MapArgs& m = c.map;
    if (c.red != 0 || m.rank < 2 || c.multicast) continue;
    const uint32_t w = rng.range(1, static_cast<int>(m.rank) - 1);
    m.dims[w] = sizes[rng.below(9)];
    for (uint32_t d = 1, s = m.strides[0]; d < m.rank; d++) {
      m.strides[d - 1] = d == w ? 0 : s;
      if (d != w) s *= m.dims[d];
    }
    int32_t low = INT32_MIN, high = INT32_MAX;
    if (m.im2col && w < m.rank - 1) {
      if (rng.chance(2)) m.upper[w - 1] = m.rank == 5 ? rng.range(-16, 15) : rng.range(-128, 127);
      low = m.lower[w - 1];
      high = static_cast<int32_t>(static_cast<uint32_t>(m.dims[w]) + static_cast<uint32_t>(m.upper[w - 1]) - 1);
      if (low > high) continue;
    } else if (c.kind == 1) {
      low = 0;
      if (!m.im2col) m.box[w] = 1;
    }
    const int32_t near = rng.below(8);
    switch (rng.below(4)) {
      case 0: c.at.c[w] = std::max(low, high - near); break;
      case 1: c.at.c[w] = std::min(high, low + near); break;
      case 2: c.at.c[w] = std::min(high, std::max(low, near)); break;
      default: c.at.c[w] = std::min(high, std::max(low, -near)); break;
    }
    if (m.im2col && c.kind == 1) m.box[1] = 1;
    if (c.kind == 0 && rng.chance(4)) c.kind = 2;
    if (c.offset + c.shared_bytes() <= 8 << 10 && c.global_bytes() <= 16 << 10) return c;
  }
}

inline size_t probe_wide(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 18);
  return record_forked(dir, "tma_wide.bin", 24, [&](int) { return random_wide(rng); });
}
