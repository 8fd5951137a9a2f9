// wgmma_desc.bin, and wgmma_sp_desc.bin of sparse instructions: what matrix
// descriptors of all layouts address. Small integers everywhere in shared memory
// make every element of D exact.
#pragma once

#include "wgmma.cuh"

// The accumulators of m64nN are N/2 registers.
#define REGISTERS_4 "%0, %1, %2, %3"
#define REGISTERS_12 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11"
#define REGISTERS_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define REGISTERS_64 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define REGISTERS_128 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define F4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define F12(i) F4(i), F4(i + 4), F4(i + 8)
#define F16(i) F4(i), F4(i + 4), F4(i + 8), F4(i + 12)
#define F32(i) F16(i), F16(i + 16)
#define F64(i) F32(i), F32(i + 32)
#define F128(i) F64(i), F64(i + 64)

// The other operands follow the accumulators; their numbers are written out
// because the preprocessor cannot add.
#define DESCRIPTOR_MMA(n, registers, outputs, a_number, b_number, s_number, ta_number, tb_number)                    \
  asm volatile(WGMMA("m64n" #n "k16.f32.bf16.bf16", "{" registers "}, %" #a_number ", %" #b_number, "%" #s_number,   \
                     ", 1, 1, %" #ta_number ", %" #tb_number)                                                        \
               : outputs : "l"(a), "l"(b), "r"(0), "n"(ta), "n"(tb) : "memory")

#define SPARSE_DESCRIPTOR_MMA(n, registers, outputs, a_number, b_number, meta_number, selector_number, s_number,      \
                              ta_number, tb_number)                                                                   \
  asm volatile(WGMMA_TEXT("wgmma.mma_async.sp.sync.aligned.m64n" #n "k32.f32.bf16.bf16",                              \
                          "{" registers "}, %" #a_number ", %" #b_number ", %" #meta_number ", %" #selector_number,   \
                          "%" #s_number, ", 1, 1, %" #ta_number ", %" #tb_number)                                     \
               : outputs : "l"(a), "l"(b), "r"(meta), "n"(sparse - 1), "r"(0), "n"(ta), "n"(tb) : "memory")

// descriptor_mma computes D = A*B; the old D does not count. ta and tb say that
// an operand is MN-major, sparse is 0 or the selector plus 1.
template <int n, int ta, int tb, int sparse>
__device__ void descriptor_mma(float (&d)[n / 2], uint64_t a, uint64_t b, uint32_t meta) {
  if constexpr (sparse != 0) {
    if constexpr (n == 8) SPARSE_DESCRIPTOR_MMA(8, REGISTERS_4, F4(0), 4, 5, 6, 7, 8, 9, 10);
    if constexpr (n == 64) SPARSE_DESCRIPTOR_MMA(64, REGISTERS_32, F32(0), 32, 33, 34, 35, 36, 37, 38);
    if constexpr (n == 256) SPARSE_DESCRIPTOR_MMA(256, REGISTERS_128, F128(0), 128, 129, 130, 131, 132, 133, 134);
  } else {
    if constexpr (n == 8) DESCRIPTOR_MMA(8, REGISTERS_4, F4(0), 4, 5, 6, 7, 8);
    if constexpr (n == 24) DESCRIPTOR_MMA(24, REGISTERS_12, F12(0), 12, 13, 14, 15, 16);
    if constexpr (n == 64) DESCRIPTOR_MMA(64, REGISTERS_32, F32(0), 32, 33, 34, 35, 36);
    if constexpr (n == 128) DESCRIPTOR_MMA(128, REGISTERS_64, F64(0), 64, 65, 66, 67, 68);
    if constexpr (n == 256) DESCRIPTOR_MMA(256, REGISTERS_128, F128(0), 128, 129, 130, 131, 132);
  }
}

#undef F4
#undef F12
#undef F16
#undef F32
#undef F64
#undef F128

constexpr uint32_t kOperandBytes = 192 << 10;

struct Operand {
  uint32_t start, lbo, sbo, swizzle, base_offset;
};

// DescriptorCase is the head of a record.
struct DescriptorCase {
  uint32_t n, ta, tb, seed;
  Operand a, b;
  uint32_t sparse;  // 0, or the selector plus 1
};

__device__ inline uint32_t hashed(uint32_t i, uint32_t seed) {
  uint32_t x = i * 2654435761u + seed * 40503u;
  x = ((x >> 16) ^ x) * 0x45d9f3bu;
  return (x >> 16) ^ x;
}

// two_of_four is one of the twelve metadata of a chunk with two different places of
// four, that of the first in the lower half.
__device__ __host__ inline uint32_t two_of_four(uint32_t x) { return 0xedcb98764321ull >> x % 12 * 4 & 15; }

// hashed_metadata is that of one thread. Those of the other pair of each four have
// all bits set, which is no metadata.
__device__ inline uint32_t hashed_metadata(const DescriptorCase& c) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  uint32_t meta = 0xffffffffu;
  if (lane % 4 / 2 + 1 != c.sparse) return meta;
  meta = 0;
  for (uint32_t i = 0; i < 8; i++) {
    const uint32_t row = 16 * warp + lane / 4 + i / 4 * 8, chunk = lane % 2 * 4 + i % 4;
    meta |= two_of_four(hashed((1 << 20) + row * 8 + chunk, c.seed)) << 4 * i;
  }
  return meta;
}

template <int n, int ta, int tb, int sparse>
__global__ void descriptor_kernel(DescriptorCase c, int16_t* out) {
  extern __shared__ unsigned char raw[];
  unsigned char* memory = align1024(raw);
  for (uint32_t i = threadIdx.x; i < kOperandBytes / 2; i += blockDim.x) {
    // The upper half of the f32 of a small integer is its bf16.
    const uint32_t bits = __float_as_uint(static_cast<float>(static_cast<int>(hashed(i, c.seed) % 17) - 8)) >> 16;
    reinterpret_cast<uint16_t*>(memory)[i] = static_cast<uint16_t>(bits);
  }
  fence_async();
  __syncthreads();

  float d[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; i++) d[i] = 0;
  const uint32_t base = shared_address(memory);
  descriptor_mma<n, ta, tb, sparse>(
      d, matrix_descriptor(base + c.a.start, c.a.lbo, c.a.sbo, c.a.base_offset, c.a.swizzle),
      matrix_descriptor(base + c.b.start, c.b.lbo, c.b.sbo, c.b.base_offset, c.b.swizzle), hashed_metadata(c));
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < n / 2; i++) {
    const uint32_t row = 16 * warp + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    out[row * n + column] = static_cast<int16_t>(d[i]);
  }
}

template <int n, int ta, int tb, int sparse>
void launch_descriptor(const DescriptorCase& c, int16_t* out) {
  constexpr int bytes = kOperandBytes + 1024;
  const auto kernel = descriptor_kernel<n, ta, tb, sparse>;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<1, 128, bytes>>>(c, out);
}

template <int n, int sparse>
void launch_descriptor(const DescriptorCase& c, int16_t* out) {
  switch (2 * c.ta + c.tb) {
    case 0: launch_descriptor<n, 0, 0, sparse>(c, out); break;
    case 1: launch_descriptor<n, 0, 1, sparse>(c, out); break;
    case 2: launch_descriptor<n, 1, 0, sparse>(c, out); break;
    case 3: launch_descriptor<n, 1, 1, sparse>(c, out); break;
  }
}

// launch_sparse is launch_descriptor of a sparse instruction.
template <int n>
void launch_sparse(const DescriptorCase& c, int16_t* out) {
  c.sparse == 1 ? launch_descriptor<n, 1>(c, out) : launch_descriptor<n, 2>(c, out);
}

// random_operand places an operand behind from. Half of the offsets are those
// of a dense tile, the others any multiple of 16.
inline Operand random_operand(Rng& rng, uint32_t from, bool mn_major) {
  static const uint32_t spans[] = {0, 128, 64, 32};  // of a descriptor's codes
  Operand o{};
  o.swizzle = rng.below(4);
  const uint32_t span = spans[o.swizzle];
  o.start = from + 1024 * rng.below(4) + (rng.chance(2) ? 0 : span == 0 ? 16 * rng.below(64) : 32 * rng.below(span / 32));
  if (rng.chance(3)) {
    o.start += 128 * rng.below(8);
    o.base_offset = rng.below(8);
  }
  if (rng.chance(2)) {
    o.lbo = 16 * rng.range(1, 128);
    o.sbo = 16 * rng.range(1, 128);
  } else if (span == 0) {
    o.lbo = mn_major ? 128 << rng.below(5) : 128;
    o.sbo = mn_major ? 128 : 256;
  } else {
    o.lbo = mn_major ? 16 * span : 16;
    o.sbo = 8 * span;
  }
  return o;
}

inline size_t probe_descriptors(const std::string& dir, uint64_t seed, const char* name, bool sparse) {
  constexpr size_t kCases = 200;
  static const uint32_t dense_ns[] = {8, 8, 24, 64, 64, 128, 256}, sparse_ns[] = {8, 8, 8, 8, 64, 64, 256};
  Rng rng(seed, sparse ? 14 : 6);
  Buffer<int16_t> result(64 * 256);
  File out(dir, name);
  for (size_t i = 0; i < kCases; i++) {
    DescriptorCase c{};
    c.n = (sparse ? sparse_ns : dense_ns)[rng.below(7)];
    c.ta = rng.below(2);
    c.tb = rng.below(2);
    c.seed = rng.below(1 << 20);
    c.a = random_operand(rng, 0, c.ta != 0);
    c.b = random_operand(rng, 64 << 10, c.tb != 0);
    c.sparse = sparse ? 1 + rng.below(2) : 0;
    switch (sparse ? c.n + 1 : c.n) {
      case 8: launch_descriptor<8, 0>(c, result.get()); break;
      case 24: launch_descriptor<24, 0>(c, result.get()); break;
      case 64: launch_descriptor<64, 0>(c, result.get()); break;
      case 128: launch_descriptor<128, 0>(c, result.get()); break;
      case 256: launch_descriptor<256, 0>(c, result.get()); break;
      case 9: launch_sparse<8>(c, result.get()); break;
      case 65: launch_sparse<64>(c, result.get()); break;
      case 257: launch_sparse<256>(c, result.get()); break;
    }
    finish(name, i);
    const uint32_t head[16] = {c.n,     c.ta,    c.tb,    c.seed,      c.a.start,       c.a.lbo,         c.a.sbo,  c.a.swizzle,
                               c.b.start, c.b.lbo, c.b.sbo, c.b.swizzle, c.a.base_offset, c.b.base_offset, c.sparse, 0};
    out.bytes(head, sizeof head);
    out.values(result.take(64 * c.n));
  }
  return kCases;
}
