// wgmma_desc.bin: what matrix descriptors of all layouts address. Small integers
// everywhere in shared memory make every element of D exact.
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

// descriptor_mma computes D = A*B; the old D does not count. ta and tb say that
// an operand is MN-major.
template <int n, int ta, int tb>
__device__ void descriptor_mma(float (&d)[n / 2], uint64_t a, uint64_t b) {
  if constexpr (n == 8) DESCRIPTOR_MMA(8, REGISTERS_4, F4(0), 4, 5, 6, 7, 8);
  if constexpr (n == 24) DESCRIPTOR_MMA(24, REGISTERS_12, F12(0), 12, 13, 14, 15, 16);
  if constexpr (n == 64) DESCRIPTOR_MMA(64, REGISTERS_32, F32(0), 32, 33, 34, 35, 36);
  if constexpr (n == 128) DESCRIPTOR_MMA(128, REGISTERS_64, F64(0), 64, 65, 66, 67, 68);
  if constexpr (n == 256) DESCRIPTOR_MMA(256, REGISTERS_128, F128(0), 128, 129, 130, 131, 132);
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
};

template <int n, int ta, int tb>
__global__ void descriptor_kernel(DescriptorCase c, int16_t* out) {
  extern __shared__ unsigned char raw[];
  unsigned char* memory = align1024(raw);
  for (uint32_t i = threadIdx.x; i < kOperandBytes / 2; i += blockDim.x) {
    uint32_t x = i * 2654435761u + c.seed * 40503u;
    x = ((x >> 16) ^ x) * 0x45d9f3bu;
    x = (x >> 16) ^ x;
    // The upper half of the f32 of a small integer is its bf16.
    const uint32_t bits = __float_as_uint(static_cast<float>(static_cast<int>(x % 17) - 8)) >> 16;
    reinterpret_cast<uint16_t*>(memory)[i] = static_cast<uint16_t>(bits);
  }
  fence_async();
  __syncthreads();

  float d[n / 2];
#pragma unroll
  for (int i = 0; i < n / 2; i++) d[i] = 0;
  const uint32_t base = shared_address(memory);
  descriptor_mma<n, ta, tb>(d, matrix_descriptor(base + c.a.start, c.a.lbo, c.a.sbo, c.a.base_offset, c.a.swizzle),
                            matrix_descriptor(base + c.b.start, c.b.lbo, c.b.sbo, c.b.base_offset, c.b.swizzle));
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < n / 2; i++) {
    const uint32_t row = 16 * warp + lane / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    out[row * n + column] = static_cast<int16_t>(d[i]);
  }
}

template <int n, int ta, int tb>
void launch_descriptor(const DescriptorCase& c, int16_t* out) {
  constexpr int bytes = kOperandBytes + 1024;
  CHECK(cudaFuncSetAttribute(descriptor_kernel<n, ta, tb>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  descriptor_kernel<n, ta, tb><<<1, 128, bytes>>>(c, out);
}

template <int n>
void launch_descriptor(const DescriptorCase& c, int16_t* out) {
  switch (2 * c.ta + c.tb) {
    case 0: launch_descriptor<n, 0, 0>(c, out); break;
    case 1: launch_descriptor<n, 0, 1>(c, out); break;
    case 2: launch_descriptor<n, 1, 0>(c, out); break;
    case 3: launch_descriptor<n, 1, 1>(c, out); break;
  }
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

inline size_t probe_descriptors(const std::string& dir, uint64_t seed) {
  constexpr size_t kCases = 200;
  static const uint32_t ns[] = {8, 8, 24, 64, 64, 128, 256};
  Rng rng(seed, 6);
  Buffer<int16_t> result(64 * 256);
  File out(dir, "wgmma_desc.bin");
  for (size_t i = 0; i < kCases; i++) {
    DescriptorCase c{};
    c.n = ns[rng.below(7)];
    c.ta = rng.below(2);
    c.tb = rng.below(2);
    c.seed = rng.below(1 << 20);
    c.a = random_operand(rng, 0, c.ta != 0);
    c.b = random_operand(rng, 64 << 10, c.tb != 0);
    switch (c.n) {
      case 8: launch_descriptor<8>(c, result.get()); break;
      case 24: launch_descriptor<24>(c, result.get()); break;
      case 64: launch_descriptor<64>(c, result.get()); break;
      case 128: launch_descriptor<128>(c, result.get()); break;
      case 256: launch_descriptor<256>(c, result.get()); break;
    }
    finish("descriptor", i);
    const uint32_t head[16] = {c.n,     c.ta,    c.tb,    c.seed,      c.a.start,       c.a.lbo,         c.a.sbo, c.a.swizzle,
                               c.b.start, c.b.lbo, c.b.sbo, c.b.swizzle, c.a.base_offset, c.b.base_offset, 0,       0};
    out.bytes(head, sizeof head);
    out.values(result.take(64 * c.n));
  }
  return kCases;
}
