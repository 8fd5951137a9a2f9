// reduce.txt: reductions through tensor maps, in bulk to global memory and in bulk to
// the shared memory of another CTA: every pair of operation and type that the place has.
#pragma once

#include "cluster.cuh"
#include "wgmma.cuh"

constexpr uint32_t kReduced = 512;  // bytes

// The operations, numbered as in tma.bin.
enum Reduction : int { kAdd = 1, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };

constexpr const char* kReductionNames[] = {"", "add", "min", "max", "inc", "dec", "and", "or", "xor"};

// Operation, type and the text of PTX of all bulk reductions, first of those that also go to shared memory.
// Bits have the types of unsigned integers in the file.
#define SHARED_REDUCTIONS(X)                                                              \
  X(kAdd, kU32, "add.u32") X(kAdd, kS32, "add.s32") X(kAdd, kU64, "add.u64")              \
  X(kMin, kU32, "min.u32") X(kMin, kS32, "min.s32") X(kMax, kU32, "max.u32") X(kMax, kS32, "max.s32") \
  X(kInc, kU32, "inc.u32") X(kDec, kU32, "dec.u32")                                       \
  X(kAnd, kU32, "and.b32") X(kOr, kU32, "or.b32") X(kXor, kU32, "xor.b32")
#define GLOBAL_REDUCTIONS(X)                                                              \
  X(kAdd, kF16, "add.noftz.f16") X(kAdd, kBF16, "add.noftz.bf16") X(kAdd, kF32, "add.f32") X(kAdd, kF64, "add.f64") \
  X(kMin, kU64, "min.u64") X(kMin, kS64, "min.s64") X(kMin, kF16, "min.f16") X(kMin, kBF16, "min.bf16") \
  X(kMax, kU64, "max.u64") X(kMax, kS64, "max.s64") X(kMax, kF16, "max.f16") X(kMax, kBF16, "max.bf16") \
  X(kAnd, kU64, "and.b64") X(kOr, kU64, "or.b64") X(kXor, kU64, "xor.b64")

struct ReductionType {
  int red, dtype;
};

#define PAIR(red, dtype, text) {red, dtype},
constexpr ReductionType kSharedReductions[] = {SHARED_REDUCTIONS(PAIR)};
constexpr ReductionType kGlobalReductions[] = {SHARED_REDUCTIONS(PAIR) GLOBAL_REDUCTIONS(PAIR)};
#undef PAIR
// Maps have bits of signed integers, too, and floats that do without subnormals.
constexpr ReductionType kMapReductions[] = {{kAnd, kS32}, {kOr, kS32}, {kXor, kS32}, {kAdd, kF32FTZ}, {kAdd, kTF32}, {kAdd, kTF32FTZ}};

#define KEY(red, dtype) ((red) * 16 + (dtype))

__device__ inline void reduce_global(int red, int dtype, unsigned char* dst, uint32_t src) {
#define CASE(red, dtype, text)                                                                             \
  case KEY(red, dtype):                                                                                    \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." text " [%0], [%1], %2;" ::"l"(dst), \
                 "r"(src), "r"(kReduced) : "memory");                                                      \
    break;
  switch (KEY(red, dtype)) { SHARED_REDUCTIONS(CASE) GLOBAL_REDUCTIONS(CASE) }
#undef CASE
}

__device__ inline void reduce_shared(int red, int dtype, uint32_t dst, uint32_t src, uint32_t bar) {
#define CASE(red, dtype, text)                                                                                         \
  case KEY(red, dtype):                                                                                                \
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." text                 \
                 " [%0], [%1], %2, [%3];" ::"r"(dst), "r"(src), "r"(kReduced), "r"(bar) : "memory");                   \
    break;
  switch (KEY(red, dtype)) { SHARED_REDUCTIONS(CASE) }
#undef CASE
}

// reduce_kernel reduces x into memory, which is global: through the map if tensor, else in bulk.
__global__ void reduce_kernel(const __grid_constant__ CUtensorMap map, bool tensor, int red, int dtype, const unsigned char* x,
                              unsigned char* memory) {
  __shared__ __align__(128) unsigned char source[kReduced];
  for (uint32_t i = threadIdx.x; i < kReduced; i += blockDim.x) source[i] = x[i];
  fence_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    if (tensor) {
      tma_reduce(static_cast<uint32_t>(red), &map, Coord{}, shared_address(source));
    } else {
      reduce_global(red, dtype, memory, shared_address(source));
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
  __syncthreads();
}

// reduce_cluster_kernel does so in the shared memory of the second of two CTAs, which the first reduces into.
__global__ void __cluster_dims__(2) reduce_cluster_kernel(int red, int dtype, const unsigned char* x, unsigned char* memory) {
  __shared__ __align__(128) unsigned char bytes[kReduced];
  __shared__ uint64_t object;
  const uint32_t bar = shared_address(&object);
  const bool first = blockIdx.x == 0;
  for (uint32_t i = threadIdx.x; i < kReduced; i += blockDim.x) bytes[i] = first ? x[i] : memory[i];
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    if (!first) mbarrier_arrive_expect_tx(bar, kReduced);
  }
  cluster_sync();
  if (first && threadIdx.x == 0) {
    reduce_shared(red, dtype, remote(shared_address(bytes), 1), shared_address(bytes), remote(bar, 1));
  }
  if (!first) {
    while (!mbarrier_test_wait_parity(bar, 0)) {
    }
    for (uint32_t i = threadIdx.x; i < kReduced; i += blockDim.x) memory[i] = bytes[i];
  }
  cluster_sync();
}

// random_element is an element of a type, often one that reductions treat apart.
inline uint64_t random_element(Rng& rng, int dtype) {
  const Style style = static_cast<Style>(rng.below(kCancel));
  switch (dtype) {
    case kF16:
      return random_float(rng, kFormatF16, style);
    case kBF16:
      return random_float(rng, kFormatBF16, style);
    case kF32: case kF32FTZ: case kTF32: case kTF32FTZ:
      return random_float(rng, kFormatF32, style);
    case kF64: {
      static const uint32_t special[] = {0, 1, 2, 2046, 2047};
      const uint64_t exponent = rng.chance(8) ? special[rng.below(5)] : 1000 + rng.below(60);
      return static_cast<uint64_t>(rng.below(2)) << 63 | exponent << 52 | static_cast<uint64_t>(rng.next()) << 20 | rng.next() >> 12;
    }
  }
  static const uint64_t special[] = {0, 1, ~0ull, 1ull << 31, (1ull << 31) - 1, 1ull << 63, (1ull << 63) - 1};
  if (rng.chance(3)) return special[rng.below(7)];
  return static_cast<uint64_t>(rng.next()) << 32 | rng.next();
}

inline std::vector<unsigned char> random_elements(Rng& rng, int dtype) {
  std::vector<unsigned char> bytes(kReduced);
  const uint32_t size = kTypeBytes[dtype];
  for (uint32_t i = 0; i < kReduced; i += size) {
    const uint64_t v = random_element(rng, dtype);
    for (uint32_t b = 0; b < size; b++) bytes[i + b] = static_cast<unsigned char>(v >> 8 * b);
  }
  return bytes;
}

inline void print_hex(File& out, const std::vector<unsigned char>& bytes) {
  out.print(" ");
  for (unsigned char b : bytes) out.print("%02x", b);
}

inline size_t probe_reductions(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 7);
  Buffer<unsigned char> memory(kReduced), x(kReduced);
  size_t records = 0;
  File out(dir, "reduce.txt");
  const auto one = [&](const char* place, const ReductionType& r) {
    const std::vector<unsigned char> before = random_elements(rng, r.dtype), operand = random_elements(rng, r.dtype);
    memory.put(before);
    x.put(operand);
    if (place[0] == 'c') {
      reduce_cluster_kernel<<<2, 32>>>(r.red, r.dtype, x.get(), memory.get());
    } else {
      MapArgs m;
      m.dtype = r.dtype;
      m.rank = 2;
      m.address = reinterpret_cast<uint64_t>(memory.get());
      m.dims[0] = kReduced / kTypeBytes[r.dtype];
      m.box[0] = static_cast<uint32_t>(m.dims[0]);
      m.strides[0] = kReduced;
      alignas(64) CUtensorMap map;
      encode_or_die(&map, m, records);
      reduce_kernel<<<1, 32>>>(map, place[0] == 't', r.red, r.dtype, x.get(), memory.get());
    }
    finish("reduction", records);
    out.print("%s %s %d", place, kReductionNames[r.red], r.dtype);
    print_hex(out, before);
    print_hex(out, operand);
    print_hex(out, memory.take());
    out.print("\n");
    records++;
  };
  for (int round = 0; round < 3; round++) {
    for (const ReductionType& r : kGlobalReductions) one("global", r);
    for (const ReductionType& r : kSharedReductions) one("cluster", r);
    for (const ReductionType& r : kGlobalReductions) one("tensor", r);
    for (const ReductionType& r : kMapReductions) one("tensor", r);
  }
  return records;
}
