// wgmma_sp.bin: one sparse m64n8 instruction a record, of all kinds, with random
// operands and metadata.
#pragma once

#include "descriptor.cuh"

// The operands of an instruction behind its 4 or 2 accumulators, A in shared memory
// (SS) or in registers (RS).
#define SPARSE_SS4(instruction, tail) \
  WGMMA_TEXT("wgmma.mma_async.sp.sync.aligned." instruction, "{%0, %1, %2, %3}, %4, %5, %6, %7", "%8", tail)
#define SPARSE_RS4(instruction, tail)                          \
  WGMMA_TEXT("wgmma.mma_async.sp.sync.aligned." instruction,   \
             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, %9, %10", "%11", tail)
#define SPARSE_SS2(instruction, tail) \
  WGMMA_TEXT("wgmma.mma_async.sp.sync.aligned." instruction, "{%0, %1}, %2, %3, %4, %5", "%6", tail)
#define SPARSE_RS2(instruction, tail)                        \
  WGMMA_TEXT("wgmma.mma_async.sp.sync.aligned." instruction, \
             "{%0, %1}, {%2, %3, %4, %5}, %6, %7, %8", "%9", tail)
#define SPARSE_SS_INPUTS "l"(a), "l"(b), "r"(meta), "n"(selector), "r"(scale_d)
#define SPARSE_RS_INPUTS                                                                                             \
  "r"(fragment[0]), "r"(fragment[1]), "r"(fragment[2]), "r"(fragment[3]), "l"(b), "r"(meta), "n"(selector), "r"(scale_d)

// Those of floats have imm-scale-a/b, and what the tails say behind them.
#define SPARSE_F32(instruction, ss_tail, rs_tail)                                                                  \
  do {                                                                                                             \
    if constexpr (registers) {                                                                                     \
      asm volatile(SPARSE_RS4(instruction, ", %12, %13" rs_tail)                                                   \
                   : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : SPARSE_RS_INPUTS, IMM_SCALE : "memory");     \
    } else {                                                                                                       \
      asm volatile(SPARSE_SS4(instruction, ", %9, %10" ss_tail)                                                    \
                   : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : SPARSE_SS_INPUTS, IMM_SCALE : "memory");     \
    }                                                                                                              \
  } while (0)
#define SPARSE_F16(instruction, ss_tail, rs_tail)                                                                  \
  do {                                                                                                             \
    if constexpr (registers) {                                                                                     \
      asm volatile(SPARSE_RS2(instruction, ", %10, %11" rs_tail)                                                   \
                   : "+r"(r[0]), "+r"(r[1]) : SPARSE_RS_INPUTS, IMM_SCALE : "memory");                             \
    } else {                                                                                                       \
      asm volatile(SPARSE_SS2(instruction, ", %7, %8" ss_tail)                                                     \
                   : "+r"(r[0]), "+r"(r[1]) : SPARSE_SS_INPUTS, IMM_SCALE : "memory");                             \
    }                                                                                                              \
  } while (0)
#define SPARSE_S32(instruction)                                                                               \
  do {                                                                                                        \
    if constexpr (registers) {                                                                                \
      asm volatile(SPARSE_RS4(instruction, "")                                                                \
                   : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : SPARSE_RS_INPUTS : "memory");           \
    } else {                                                                                                  \
      asm volatile(SPARSE_SS4(instruction, "")                                                                \
                   : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : SPARSE_SS_INPUTS : "memory");           \
    }                                                                                                         \
  } while (0)
#define SPARSE_INT(types)                              \
  do {                                                 \
    if constexpr (saturate) {                          \
      SPARSE_S32("m64n8k64.s32." types ".satfinite");  \
    } else {                                           \
      SPARSE_S32("m64n8k64.s32." types);               \
    }                                                  \
  } while (0)

// sparse_mma is one instruction on the accumulators of this thread, as words.
template <int kind, bool saturate, int selector, bool registers, uint32_t negate>
__device__ void sparse_mma(uint32_t (&r)[4], uint64_t a, const uint32_t (&fragment)[4], uint64_t b, uint32_t meta,
                           uint32_t scale_d) {
  if constexpr (half_accumulators(kind)) {
    if constexpr (kind == kKindF16Acc) SPARSE_F16("m64n8k32.f16.f16.f16", ", 0, 0", ", 0");
    if constexpr (kind == kKindE4M3F16) SPARSE_F16("m64n8k64.f16.e4m3.e4m3", "", "");
    if constexpr (kind == kKindE5M2F16) SPARSE_F16("m64n8k64.f16.e5m2.e5m2", "", "");
    if constexpr (kind == kKindE4M3xE5M2F16) SPARSE_F16("m64n8k64.f16.e4m3.e5m2", "", "");
    if constexpr (kind == kKindE5M2xE4M3F16) SPARSE_F16("m64n8k64.f16.e5m2.e4m3", "", "");
  } else if constexpr (integers(kind)) {
    if constexpr (kind == kKindS8) SPARSE_INT("s8.s8");
    if constexpr (kind == kKindU8) SPARSE_INT("u8.u8");
    if constexpr (kind == kKindS8U8) SPARSE_INT("s8.u8");
    if constexpr (kind == kKindU8S8) SPARSE_INT("u8.s8");
  } else {
    float f[4];
    for (int i = 0; i < 4; i++) f[i] = __uint_as_float(r[i]);
    if constexpr (kind == kKindBF16) SPARSE_F32("m64n8k32.f32.bf16.bf16", ", 0, 0", ", 0");
    if constexpr (kind == kKindF16) SPARSE_F32("m64n8k32.f32.f16.f16", ", 0, 0", ", 0");
    if constexpr (kind == kKindTF32) SPARSE_F32("m64n8k16.f32.tf32.tf32", "", "");
    if constexpr (kind == kKindE4M3) SPARSE_F32("m64n8k64.f32.e4m3.e4m3", "", "");
    if constexpr (kind == kKindE5M2) SPARSE_F32("m64n8k64.f32.e5m2.e5m2", "", "");
    if constexpr (kind == kKindE4M3xE5M2) SPARSE_F32("m64n8k64.f32.e4m3.e5m2", "", "");
    if constexpr (kind == kKindE5M2xE4M3) SPARSE_F32("m64n8k64.f32.e5m2.e4m3", "", "");
    for (int i = 0; i < 4; i++) r[i] = __float_as_uint(f[i]);
  }
}

// The head of a record. Swizzles are a descriptor's codes.
struct SparseCase {
  uint32_t kind, saturate, selector, registers, swizzle_a, swizzle_b;
  Scale scale;
};

constexpr uint32_t kRowBytesB = 2 * kRowBytes;

struct SparseInput {
  unsigned char a[kRows * kRowBytes], b[kColumns * kRowBytesB];
  uint32_t meta[128], c[kElements];
};

// k_major returns where byte k of one of so many rows lies, and sets the offsets: of
// columns of core matrices, or of swizzled rows of a span, which what they leave of
// longer rows is behind.
__device__ inline uint32_t k_major(uint32_t code, uint32_t rows, uint32_t row, uint32_t k, uint32_t* lbo, uint32_t* sbo) {
  const uint32_t span = code == 0 ? 16 : 256 >> code;
  *lbo = span * rows;
  *sbo = 8 * span;
  const uint32_t at = row * span + k / span * *lbo + k % span;
  return at ^ (at >> 3 & (span - 16));
}

template <int kind, bool saturate, int selector, bool registers, uint32_t negate>
__global__ void sparse_kernel(SparseCase s, const SparseInput* in, uint32_t* d) {
  __shared__ __align__(1024) unsigned char a[kRows * 128];
  __shared__ __align__(1024) unsigned char b[kColumns * 128];
  const uint32_t t = threadIdx.x, warp = t / 32, lane = t % 32;
  uint32_t lbo_a = 0, sbo_a = 0, lbo_b = 0, sbo_b = 0;
  for (uint32_t i = t; i < kRows * kRowBytes; i += blockDim.x) {
    a[k_major(s.swizzle_a, kRows, i / kRowBytes, i % kRowBytes, &lbo_a, &sbo_a)] = in->a[i];
  }
  for (uint32_t i = t; i < kColumns * kRowBytesB; i += blockDim.x) {
    b[k_major(s.swizzle_b, kColumns, i / kRowBytesB, i % kRowBytesB, &lbo_b, &sbo_b)] = in->b[i];
  }
  fence_async();
  __syncthreads();

  const uint32_t row = 16 * warp + lane / 4, column = 2 * (lane % 4);
  uint32_t r[4] = {}, fragment[4];
  for (uint32_t i = 0; i < 4; i++) {
    const unsigned char* bytes = in->a + (row + i % 2 * 8) * kRowBytes + i / 2 * 16 + lane % 4 * 4;
    fragment[i] = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
    const uint32_t element = in->c[(row + i / 2 * 8) * kColumns + column + i % 2];
    if (half_accumulators(kind)) {
      r[i / 2] |= element << 16 * (i % 2);
    } else {
      r[i] = element;
    }
  }
  sparse_mma<kind, saturate, selector, registers, negate>(
      r, matrix_descriptor(shared_address(a), lbo_a, sbo_a, 0, s.swizzle_a), fragment,
      matrix_descriptor(shared_address(b), lbo_b, sbo_b, 0, s.swizzle_b), in->meta[t], s.scale.overwrite ? 0 : 1);
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t element = half_accumulators(kind) ? r[i / 2] >> 16 * (i % 2) & 0xffff : r[i];
    d[(row + i / 2 * 8) * kColumns + column + i % 2] = element;
  }
}

// Only operands in registers are negated: in shared memory wgmma_scale.bin has them.
template <int kind, bool saturate, int selector>
void launch_sparse_kernel(const SparseCase& s, const SparseInput* in, uint32_t* d) {
  if (!s.registers) {
    sparse_kernel<kind, saturate, selector, false, 0><<<1, 128>>>(s, in, d);
  } else if constexpr (integers(kind)) {
    sparse_kernel<kind, saturate, selector, true, 0><<<1, 128>>>(s, in, d);
  } else {
    switch (s.scale.negate) {
      case 0: sparse_kernel<kind, saturate, selector, true, 0><<<1, 128>>>(s, in, d); break;
      case 1: sparse_kernel<kind, saturate, selector, true, 1><<<1, 128>>>(s, in, d); break;
      case 2: sparse_kernel<kind, saturate, selector, true, 2><<<1, 128>>>(s, in, d); break;
      default: sparse_kernel<kind, saturate, selector, true, 3><<<1, 128>>>(s, in, d); break;
    }
  }
}

// launch_wide is of 16- and 32-bit types, which have two selectors.
template <int kind>
void launch_wide(const SparseCase& s, const SparseInput* in, uint32_t* d) {
  s.selector ? launch_sparse_kernel<kind, false, 1>(s, in, d) : launch_sparse_kernel<kind, false, 0>(s, in, d);
}

template <int kind>
void launch_integers(const SparseCase& s, const SparseInput* in, uint32_t* d) {
  s.saturate ? launch_sparse_kernel<kind, true, 0>(s, in, d) : launch_sparse_kernel<kind, false, 0>(s, in, d);
}

inline void launch_case(const SparseCase& s, const SparseInput* in, uint32_t* d) {
  switch (s.kind) {
    case kKindBF16: launch_wide<kKindBF16>(s, in, d); break;
    case kKindF16: launch_wide<kKindF16>(s, in, d); break;
    case kKindTF32: launch_wide<kKindTF32>(s, in, d); break;
    case kKindF16Acc: launch_wide<kKindF16Acc>(s, in, d); break;
    case kKindE4M3: launch_sparse_kernel<kKindE4M3, false, 0>(s, in, d); break;
    case kKindE5M2: launch_sparse_kernel<kKindE5M2, false, 0>(s, in, d); break;
    case kKindE4M3xE5M2: launch_sparse_kernel<kKindE4M3xE5M2, false, 0>(s, in, d); break;
    case kKindE5M2xE4M3: launch_sparse_kernel<kKindE5M2xE4M3, false, 0>(s, in, d); break;
    case kKindE4M3F16: launch_sparse_kernel<kKindE4M3F16, false, 0>(s, in, d); break;
    case kKindE5M2F16: launch_sparse_kernel<kKindE5M2F16, false, 0>(s, in, d); break;
    case kKindE4M3xE5M2F16: launch_sparse_kernel<kKindE4M3xE5M2F16, false, 0>(s, in, d); break;
    case kKindE5M2xE4M3F16: launch_sparse_kernel<kKindE5M2xE4M3F16, false, 0>(s, in, d); break;
    case kKindS8: launch_integers<kKindS8>(s, in, d); break;
    case kKindU8: launch_integers<kKindU8>(s, in, d); break;
    case kKindS8U8: launch_integers<kKindS8U8>(s, in, d); break;
    case kKindU8S8: launch_integers<kKindU8S8>(s, in, d); break;
    default: fatal("no sparse instruction of kind %u", s.kind);
  }
}

// random_metadata is that of thread t: of its eight chunks if it contributes, else
// any word.
inline uint32_t random_metadata(Rng& rng, const SparseCase& s, uint32_t element_bytes, uint32_t t) {
  if (element_bytes > 1 && t % 4 / 2 != s.selector) return rng.next();
  uint32_t meta = 0;
  for (uint32_t i = 0; i < 8; i++) meta |= (element_bytes == 4 ? (rng.below(2) ? 0xe : 0x4) : two_of_four(rng.below(12))) << 4 * i;
  return meta;
}

// random_input draws operands of one style. In most of them all groups of eight rows
// have the same elements of A and C, so that the file compresses, and differ by their
// metadata.
inline SparseInput random_input(Rng& rng, const SparseCase& s, const Format& fa, const Format& fb, Style style) {
  SparseInput in;
  if (integers(s.kind)) {
    const bool large = style == kCancel;
    for (unsigned char& x : in.a) x = large ? 0x80 - rng.below(2) : rng.next() & 255;
    for (unsigned char& x : in.b) x = large ? 0x80 - rng.below(2) : rng.next() & 255;
    for (uint32_t& x : in.c) x = random_s32(rng, style);
  } else {
    // The two elements of a chunk in A, or of neighbouring chunks in tf32, meet two
    // of four in B.
    fill_floats(rng, fa, style, true, in.a, kRows);
    fill_floats(rng, fb, style, false, in.b, kColumns * 2, 4);
    for (uint32_t& x : in.c) x = style == kWide && s.registers ? 0 : random_c(rng, half_accumulators(s.kind), style);
  }
  if (!rng.chance(6)) {
    for (uint32_t i = 8 * kRowBytes; i < sizeof in.a; i++) in.a[i] = in.a[i - 8 * kRowBytes];
    for (uint32_t i = 8 * kColumns; i < kElements; i++) in.c[i] = in.c[i - 8 * kColumns];
  }
  for (uint32_t t = 0; t < 128; t++) in.meta[t] = random_metadata(rng, s, fa.bytes(), t);
  return in;
}

inline size_t probe_sparse(const std::string& dir, uint64_t seed) {
  constexpr size_t kCases = 480;
  struct Types {
    uint32_t kind;
    Format a, b;
  };
  const Format none{7, 0, false};  // integers take bytes as they come
  const Types types[] = {
      {kKindBF16, kFormatBF16, kFormatBF16}, {kKindF16, kFormatF16, kFormatF16}, {kKindTF32, kFormatF32, kFormatF32},
      {kKindE4M3, kFormatE4M3, kFormatE4M3}, {kKindE5M2, kFormatE5M2, kFormatE5M2},
      {kKindE4M3xE5M2, kFormatE4M3, kFormatE5M2}, {kKindE5M2xE4M3, kFormatE5M2, kFormatE4M3},
      {kKindF16Acc, kFormatF16, kFormatF16}, {kKindE4M3F16, kFormatE4M3, kFormatE4M3}, {kKindE5M2F16, kFormatE5M2, kFormatE5M2},
      {kKindE4M3xE5M2F16, kFormatE4M3, kFormatE5M2}, {kKindE5M2xE4M3F16, kFormatE5M2, kFormatE4M3},
      {kKindS8, none, none}, {kKindU8, none, none}, {kKindS8U8, none, none}, {kKindU8S8, none, none},
  };
  constexpr size_t kTypes = sizeof types / sizeof types[0];
  Rng rng(seed, 300);
  Buffer<SparseInput> device_in(1);
  Buffer<uint32_t> device_d(kElements);
  File out(dir, "wgmma_sp.bin");
  for (size_t i = 0; i < kCases; i++) {
    const Types& type = types[i % kTypes];
    SparseCase s{};
    s.kind = type.kind;
    s.saturate = integers(s.kind) ? rng.below(2) : 0;
    s.selector = type.a.bytes() > 1 ? rng.below(2) : 0;
    s.registers = rng.below(2);
    s.scale.overwrite = rng.chance(6);
    s.scale.negate = s.registers && !integers(s.kind) ? rng.below(4) : 0;
    s.swizzle_a = s.registers ? 0 : rng.below(4);
    s.swizzle_b = rng.below(4);
    // Neighbours differ, so that the first records have every style.
    const Style style = static_cast<Style>((i + i / kTypes) % kStyles);
    const SparseInput in = random_input(rng, s, type.a, type.b, style);
    device_in.put({in});
    launch_case(s, device_in.get(), device_d.get());
    finish("sparse", i);
    out.value(s);
    out.bytes(in.a, sizeof in.a);
    out.bytes(in.b, sizeof in.b);
    out.bytes(in.meta, sizeof in.meta);
    put_accumulators(out, in.c, half_accumulators(s.kind));
    put_accumulators(out, device_d.take().data(), half_accumulators(s.kind));
  }
  return kCases;
}
