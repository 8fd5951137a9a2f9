// tma.bin, tma_tf32.txt, tma_illegal.txt: tile copies, stores and reductions.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "mbarrier.cuh"
#include "tensormap.cuh"

constexpr uint32_t kSharedBytes = 32 << 10;
constexpr size_t kGlobalBytes = 1 << 20;

struct Coord {
  int32_t c[5];
};

// The copies, PTX ISA 9.7.9.27. Every rank is an instruction of its own.

__device__ inline void tma_load(uint32_t rank, uint32_t dst, const CUtensorMap* map, const Coord& at, uint32_t bar) {
#define LOAD(dims) "cp.async.bulk.tensor." dims ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "
  switch (rank) {
    case 1:
      asm volatile(LOAD("1d") "[%0], [%1, {%3}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]) : "memory");
      break;
    case 2:
      asm volatile(LOAD("2d") "[%0], [%1, {%3, %4}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]) : "memory");
      break;
    case 3:
      asm volatile(LOAD("3d") "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]) : "memory");
      break;
    case 4:
      asm volatile(LOAD("4d") "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]), "r"(at.c[3]) : "memory");
      break;
    case 5:
      asm volatile(LOAD("5d") "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]) : "memory");
      break;
  }
#undef LOAD
}

__device__ inline void tma_store(uint32_t rank, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define STORE(dims) "cp.async.bulk.tensor." dims ".global.shared::cta.tile.bulk_group "
  switch (rank) {
    case 1:
      asm volatile(STORE("1d") "[%0, {%2}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]) : "memory");
      break;
    case 2:
      asm volatile(STORE("2d") "[%0, {%2, %3}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]) : "memory");
      break;
    case 3:
      asm volatile(STORE("3d") "[%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]) : "memory");
      break;
    case 4:
      asm volatile(STORE("4d") "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]),
                   "r"(at.c[3]) : "memory");
      break;
    case 5:
      asm volatile(STORE("5d") "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]),
                   "r"(at.c[3]), "r"(at.c[4]) : "memory");
      break;
  }
#undef STORE
}

__device__ inline void tma_reduce(uint32_t red, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define REDUCE(op)                                                                                        \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group [%0, {%2, %3}], [%1];" \
               ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]) : "memory")
  switch (red) {
    case 1: REDUCE("add"); break;
    case 2: REDUCE("min"); break;
    case 3: REDUCE("max"); break;
    case 4: REDUCE("inc"); break;
    case 5: REDUCE("dec"); break;
    case 6: REDUCE("and"); break;
    case 7: REDUCE("or"); break;
    case 8: REDUCE("xor"); break;
  }
#undef REDUCE
}

// poll waits for the phase of a parity, but not for ever.
__device__ inline bool poll(uint32_t bar, uint32_t parity, long long cycles) {
  const long long start = clock64();
  do {
    if (mbarrier_test_wait_parity(bar, parity)) return true;
  } while (clock64() - start < cycles);
  return false;
}

// signalled returns how many bytes a copy booked on a barrier whose only
// arrival expected bytes: it makes up for what is missing, or has the next phase
// absorb what is too much.
__device__ inline int signalled(uint32_t bar, int bytes) {
  constexpr long long kLong = 200 * 1000 * 1000, kShort = 20000;
  if (!poll(bar, 0, kLong)) {
    for (int missing = 1; missing <= bytes; missing++) {
      mbarrier_complete_tx(bar, 1);
      if (mbarrier_test_wait_parity(bar, 0)) return bytes - missing;
    }
    return -1;
  }
  mbarrier_arrive(bar);
  if (poll(bar, 1, kShort)) return bytes;
  for (int more = 1; more <= bytes; more++) {
    mbarrier_expect_tx(bar, 1);
    if (mbarrier_test_wait_parity(bar, 1)) return bytes + more;
  }
  return -2;
}

__global__ void load_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, Coord at, uint32_t offset, int bytes,
                            unsigned char* out, int* done) {
  extern __shared__ unsigned char raw[];
  __shared__ uint64_t object;
  unsigned char* memory = align1024(raw);
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) memory[k] = 0xEE;
  const uint32_t bar = shared_address(&object);
  if (threadIdx.x == 0) mbarrier_init(bar, 1);
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, bytes);
    tma_load(rank, shared_address(memory) + offset, &map, at, bar);
    *done = signalled(bar, bytes);
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) out[k] = memory[k];
}

__global__ void store_kernel(const __grid_constant__ CUtensorMap map, uint32_t rank, uint32_t red, Coord at, uint32_t offset,
                             uint32_t seed) {
  extern __shared__ unsigned char raw[];
  unsigned char* memory = align1024(raw);
  for (uint32_t k = threadIdx.x; k < kSharedBytes; k += blockDim.x) memory[k] = (k * 2246822519u + seed) >> 11 & 255;
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    const uint32_t src = shared_address(memory) + offset;
    if (red != 0) {
      tma_reduce(red, &map, at, src);
    } else {
      tma_store(rank, &map, at, src);
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
}

// CopyCase is one copy.
struct CopyCase {
  int kind = 0;  // 0 load, 1 store or reduction
  int red = 0;
  MapArgs map;
  uint32_t offset = 0;
  Coord at = {};
  uint32_t seed = 0;

  uint32_t element() const { return kTypeBytes[map.dtype]; }
  uint32_t moved(uint32_t d) const { return d == 0 ? map.box[0] : (map.box[d] + map.estride[d] - 1) / map.estride[d]; }
  uint32_t box_bytes() const {
    uint32_t n = element();
    for (uint32_t d = 0; d < map.rank; d++) n *= moved(d);
    return n;
  }
  uint32_t shared_bytes() const {
    const uint32_t row = map.box[0] * element();
    return box_bytes() / row * (map.swizzle != 0 ? kSpans[map.swizzle] : row);
  }
  uint64_t global_bytes() const {
    return map.rank == 1 ? (map.dims[0] * element() + 15) / 16 * 16 : map.strides[map.rank - 2] * map.dims[map.rank - 1];
  }
};

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

inline unsigned char global_pattern(uint32_t k, uint32_t seed) { return (k * 2654435761u + seed) >> 13 & 255; }

inline void encode_or_die(CUtensorMap* map, const MapArgs& a, size_t index) {
  const CUresult result = encode(map, a);
  if (result != CUDA_SUCCESS) fatal("copy %zu: the driver refused its tensor map with error %d", index, result);
}

inline void write_record(File& out, const CopyCase& c, int done, const std::vector<unsigned char>& after) {
  int32_t h[40] = {};
  const int32_t head[10] = {c.kind, c.red, c.map.dtype, static_cast<int32_t>(c.map.rank), 0, c.map.swizzle, c.map.nan_fill,
                            static_cast<int32_t>(c.offset), done, static_cast<int32_t>(c.box_bytes())};
  for (int i = 0; i < 10; i++) h[i] = head[i];
  for (int d = 0; d < 5; d++) {
    h[10 + d] = static_cast<int32_t>(c.map.box[d]);
    h[15 + d] = static_cast<int32_t>(c.map.estride[d]);
    h[20 + d] = c.at.c[d];
  }
  out.bytes(h, sizeof h);
  out.bytes(c.map.dims, 5 * sizeof(uint64_t));
  out.bytes(c.map.strides, 4 * sizeof(uint64_t));
  out.value(c.seed);
  out.value(static_cast<uint32_t>(after.size()));
  out.values(after);
}

inline size_t probe_tma(const std::string& dir, uint64_t seed) {
  constexpr size_t kCopies = 2000;
  Rng rng(seed, 3);
  Buffer<unsigned char> global(kGlobalBytes), shared(kSharedBytes);
  Buffer<int> done(1);
  File out(dir, "tma.bin");
  for (size_t i = 0; i < kCopies; i++) {
    CopyCase c = random_copy(rng);
    c.map.address = reinterpret_cast<uint64_t>(global.get());
    alignas(64) CUtensorMap map;
    encode_or_die(&map, c.map, i);
    std::vector<unsigned char> memory(c.global_bytes(), 0xCC);
    if (c.kind == 0 || c.red != 0) {
      for (size_t k = 0; k < memory.size(); k++) memory[k] = global_pattern(static_cast<uint32_t>(k), c.seed);
    }
    global.put(memory);
    if (c.kind == 0) {
      load_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, c.at, c.offset, static_cast<int>(c.box_bytes()), shared.get(),
                                                   done.get());
      finish("load", i);
      std::vector<unsigned char> after = shared.take();
      while (!after.empty() && after.back() == 0xEE) after.pop_back();
      write_record(out, c, done.take()[0], after);
    } else {
      store_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, static_cast<uint32_t>(c.red), c.at, c.offset, c.seed);
      finish("store", i);
      write_record(out, c, 1, global.take(memory.size()));
    }
  }
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

// attempt performs one copy and returns what the GPU said.
inline cudaError_t attempt(CopyCase c) {
  Buffer<unsigned char> global(kGlobalBytes), shared(kSharedBytes);
  Buffer<int> done(1);
  c.map.address = reinterpret_cast<uint64_t>(global.get());
  alignas(64) CUtensorMap map;
  encode_or_die(&map, c.map, 0);
  if (c.kind == 0) {
    load_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, c.at, c.offset, static_cast<int>(c.box_bytes()), shared.get(), done.get());
  } else {
    store_kernel<<<1, 128, kSharedBytes + 1024>>>(map, c.map.rank, 0, c.at, c.offset, c.seed);
  }
  return cudaDeviceSynchronize();
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
      const cudaError_t err = attempt(c);
      _exit(err == cudaErrorIllegalInstruction ? 42 : err == cudaSuccess ? 0 : 2);
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
