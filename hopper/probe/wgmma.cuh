// wgmma_<kind>.bin: one m64n8 instruction for each tile of random operands.
#pragma once

#include "common.cuh"

// matrix_descriptor is the 64-bit operand, PTX ISA 9.7.15.5.1.2.2; offsets in
// bytes.
__device__ inline uint64_t matrix_descriptor(uint32_t start, uint32_t lbo, uint32_t sbo, uint32_t base_offset, uint32_t swizzle) {
  return static_cast<uint64_t>((start & 0x3ffff) >> 4) | static_cast<uint64_t>(lbo >> 4) << 16 |
         static_cast<uint64_t>(sbo >> 4) << 32 | static_cast<uint64_t>(base_offset) << 49 | static_cast<uint64_t>(swizzle) << 62;
}

// WGMMA_TEXT is the text of one instruction, started and waited for in the same
// asm statement, so that no access to its registers can come between. scale_d names
// the operand that says whether D counts.
#define WGMMA_TEXT(instruction, operands, scale_d, tail)  \
  "{\n .reg .pred p;\n setp.ne.b32 p, " scale_d ", 0;\n" \
  " wgmma.fence.sync.aligned;\n"                         \
  " " instruction " " operands ", p" tail ";\n"          \
  " wgmma.commit_group.sync.aligned;\n"                  \
  " wgmma.wait_group.sync.aligned 0;\n}"
#define WGMMA(instruction, operands, scale_d, tail) \
  WGMMA_TEXT("wgmma.mma_async.sync.aligned." instruction, operands, scale_d, tail)

// The kinds, numbered as in the files. Those of mixed types name A's first.
enum Kind : int32_t {
  kKindBF16 = 0, kKindF16 = 1, kKindTF32 = 2, kKindE4M3 = 3, kKindE5M2 = 4, kKindE4M3xE5M2 = 5, kKindE5M2xE4M3 = 6,
  kKindF16Acc = 100, kKindE4M3F16 = 110, kKindE5M2F16 = 111, kKindE4M3xE5M2F16 = 112, kKindE5M2xE4M3F16 = 113,
  kKindS8 = 200, kKindU8 = 201, kKindS8U8 = 202, kKindS8Sat = 203, kKindU8S8 = 204, kKindB1 = 205,
};

__host__ __device__ constexpr bool half_accumulators(int kind) { return kind >= 100 && kind < 200; }
__host__ __device__ constexpr bool integers(int kind) { return kind >= 200; }

// Scale says whether scale-d is 0, and which of imm-scale-a/b are -1: bit 0 a's, bit 1 b's.
struct Scale {
  uint32_t overwrite, negate;
};

// Accumulators are f32 in registers of that type, or 32-bit words. Instructions of floats have imm-scale-a/b; tail is
// what follows.
#define IMM_SCALE "n"(negate & 1 ? -1 : 1), "n"(negate & 2 ? -1 : 1)
#define MMA_F32(instruction, tail)                                                        \
  asm volatile(WGMMA(instruction, "{%0, %1, %2, %3}, %4, %5", "%6", ", %7, %8" tail)      \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "l"(a), "l"(b), "r"(scale_d), IMM_SCALE : "memory")
#define MMA_F16(instruction, tail)                                            \
  asm volatile(WGMMA(instruction, "{%0, %1}, %2, %3", "%4", ", %5, %6" tail)  \
               : "+r"(r[0]), "+r"(r[1]) : "l"(a), "l"(b), "r"(scale_d), IMM_SCALE : "memory")
#define MMA_S32(instruction)                                            \
  asm volatile(WGMMA(instruction, "{%0, %1, %2, %3}, %4, %5", "%6", "") \
               : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "l"(a), "l"(b), "r"(scale_d) : "memory")

// mma is one instruction on the accumulators of this thread, as words.
template <int kind, uint32_t negate>
__device__ void mma(uint32_t (&r)[4], uint64_t a, uint64_t b, uint32_t scale_d) {
  if constexpr (half_accumulators(kind)) {
    if constexpr (kind == kKindF16Acc) MMA_F16("m64n8k16.f16.f16.f16", ", 0, 0");
    if constexpr (kind == kKindE4M3F16) MMA_F16("m64n8k32.f16.e4m3.e4m3", "");
    if constexpr (kind == kKindE5M2F16) MMA_F16("m64n8k32.f16.e5m2.e5m2", "");
    if constexpr (kind == kKindE4M3xE5M2F16) MMA_F16("m64n8k32.f16.e4m3.e5m2", "");
    if constexpr (kind == kKindE5M2xE4M3F16) MMA_F16("m64n8k32.f16.e5m2.e4m3", "");
  } else if constexpr (integers(kind)) {
    if constexpr (kind == kKindS8) MMA_S32("m64n8k32.s32.s8.s8");
    if constexpr (kind == kKindU8) MMA_S32("m64n8k32.s32.u8.u8");
    if constexpr (kind == kKindS8U8) MMA_S32("m64n8k32.s32.s8.u8");
    if constexpr (kind == kKindS8Sat) MMA_S32("m64n8k32.s32.s8.s8.satfinite");
    if constexpr (kind == kKindB1) MMA_S32("m64n8k256.s32.b1.b1.and.popc");
  } else {
    float f[4];
    for (int i = 0; i < 4; i++) f[i] = __uint_as_float(r[i]);
    if constexpr (kind == kKindBF16) MMA_F32("m64n8k16.f32.bf16.bf16", ", 0, 0");
    if constexpr (kind == kKindF16) MMA_F32("m64n8k16.f32.f16.f16", ", 0, 0");
    if constexpr (kind == kKindTF32) MMA_F32("m64n8k8.f32.tf32.tf32", "");
    if constexpr (kind == kKindE4M3) MMA_F32("m64n8k32.f32.e4m3.e4m3", "");
    if constexpr (kind == kKindE5M2) MMA_F32("m64n8k32.f32.e5m2.e5m2", "");
    if constexpr (kind == kKindE4M3xE5M2) MMA_F32("m64n8k32.f32.e4m3.e5m2", "");
    if constexpr (kind == kKindE5M2xE4M3) MMA_F32("m64n8k32.f32.e5m2.e4m3", "");
    for (int i = 0; i < 4; i++) r[i] = __float_as_uint(f[i]);
  }
}

#undef MMA_F32
#undef MMA_F16
#undef MMA_S32

constexpr uint32_t kRows = 64, kColumns = 8, kRowBytes = 32;
constexpr uint32_t kBytesA = kRows * kRowBytes, kBytesB = kColumns * kRowBytes, kElements = kRows * kColumns;

// mma_kernel multiplies one tile a block. Both operands lie in shared memory
// K-major without swizzle: core matrices of 8 rows by 16 bytes, the two of one
// row group half an operand apart.
template <int kind, uint32_t negate>
__global__ void mma_kernel(uint32_t scale_d, const unsigned char* as, const unsigned char* bs, const uint32_t* cs,
                           uint32_t* ds) {
  __shared__ __align__(128) unsigned char a[kBytesA];
  __shared__ __align__(128) unsigned char b[kBytesB];
  const uint32_t t = threadIdx.x;
  const size_t tile = blockIdx.x;
  for (uint32_t i = t; i < kBytesA; i += blockDim.x) {
    const uint32_t row = i / kRowBytes, k = i % kRowBytes;
    a[row / 8 * 128 + row % 8 * 16 + k / 16 * (kBytesA / 2) + k % 16] = as[tile * kBytesA + i];
  }
  for (uint32_t i = t; i < kBytesB; i += blockDim.x) {
    const uint32_t column = i / kRowBytes, k = i % kRowBytes;
    b[column % 8 * 16 + k / 16 * (kBytesB / 2) + k % 16] = bs[tile * kBytesB + i];
  }
  fence_async();
  __syncthreads();

  const uint32_t warp = t / 32, lane = t % 32;
  const uint32_t row = 16 * warp + lane / 4, column = 2 * (lane % 4);
  const uint32_t* c = cs + tile * kElements;
  uint32_t* d = ds + tile * kElements;
  uint32_t r[4] = {};
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t element = c[(row + i / 2 * 8) * kColumns + column + i % 2];
    if (half_accumulators(kind)) {
      r[i / 2] |= element << 16 * (i % 2);
    } else {
      r[i] = element;
    }
  }
  mma<kind, negate>(r, matrix_descriptor(shared_address(a), kBytesA / 2, 128, 0, 0),
                    matrix_descriptor(shared_address(b), kBytesB / 2, 128, 0, 0), scale_d);
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t element = half_accumulators(kind) ? r[i / 2] >> 16 * (i % 2) & 0xffff : r[i];
    d[(row + i / 2 * 8) * kColumns + column + i % 2] = element;
  }
}

// Format is a floating-point format of 1 sign bit, exp exponent bits and frac
// fraction bits; ieee has infinities.
struct Format {
  int exp, frac;
  bool ieee;
  int bytes() const { return exp + frac + 1 <= 8 ? 1 : exp + frac + 1 <= 16 ? 2 : 4; }
};
constexpr Format kFormatBF16{8, 7, true}, kFormatF16{5, 10, true}, kFormatF32{8, 23, true}, kFormatE4M3{4, 3, false}, kFormatE5M2{5, 2, true};

// Style says how the elements of a tile are drawn. Of the last two a row is of one mood, 0 to 7.
enum Style { kNear, kWide, kTiny, kSpecial, kRaw, kCancel, kBorder, kZero, kStyles };

// random_border is a number at the border of two classes, or one whose square is. The larger mood % 4, the more are
// zeros; moods from 4 on have infinities and NaNs, too.
inline uint32_t random_border(Rng& rng, const Format& f, uint32_t mood) {
  const uint32_t top = (1u << f.exp) - 1, mask = (1u << f.frac) - 1, bias = top / 2, infinity = top << f.frac;
  const uint32_t sign = rng.below(2) << (f.exp + f.frac), fraction = rng.next() & mask;
  static const uint32_t zeros[] = {1, 6, 12, 15};
  if (rng.below(16) < zeros[mood % 4]) return sign;
  if (mood >= 4 && rng.chance(12)) {
    const uint32_t specials[] = {infinity, infinity | mask, infinity | 1, infinity | fraction};
    return sign | specials[rng.below(4)];
  }
  // The square of 2^-root is the least subnormal of the accumulators, or half of it or less.
  const uint32_t least = f.exp == 11 ? 1022 + 52 : f.exp == 8 ? 126 + 23 : 14 + 10;
  const uint32_t root = least / 2 + rng.below(2);
  const uint32_t borders[] = {
      1, mask, 1u << rng.below(f.frac), 1u << f.frac, 1u << f.frac | fraction, bias << f.frac,
      root < bias ? (bias - root) << f.frac | (rng.chance(2) ? 0 : fraction) : 1,
      f.ieee ? infinity - 1 : infinity | (mask - 1),
  };
  return sign | borders[rng.below(8)];
}

// random_zero is a zero, one or the least subnormal, as the mood says.
inline uint32_t random_zero(Rng& rng, const Format& f, uint32_t mood) {
  const uint32_t one = ((1u << f.exp) - 1) / 2 << f.frac, any = rng.below(2) << (f.exp + f.frac);
  const uint32_t negative = 1u << (f.exp + f.frac);
  switch (mood) {
    case 0: return 0;
    case 1: return negative;
    case 2: return any;
    case 3: return any | (rng.chance(6) ? one : 0);
    case 4: return any | (rng.chance(6) ? 1 : 0);
    case 5: return any | one;
    case 6: return one;
    default: return negative | one;
  }
}

inline uint32_t random_float(Rng& rng, const Format& f, Style style, uint32_t mood = 0) {
  if (style == kBorder) return random_border(rng, f, mood);
  if (style == kZero) return random_zero(rng, f, mood);
  const uint32_t top = (1u << f.exp) - 1, mask = (1u << f.frac) - 1, sign = rng.below(2) << (f.exp + f.frac);
  const uint32_t bias = top / 2, fraction = rng.next() & mask;
  const uint32_t last = f.ieee ? top - 1 : top;  // the largest exponent of finite numbers
  switch (style) {
    case kWide:
      return sign | rng.below(last + 1) << f.frac | (f.ieee ? fraction : fraction & (mask - 1));
    case kTiny:
      return sign | rng.below(3) << f.frac | fraction;
    case kRaw:
      return sign | rng.below(top + 1) << f.frac | fraction;
    case kSpecial: {
      const uint32_t specials[] = {0, 1, mask, top << f.frac, top << f.frac | mask, last << f.frac | (mask - 1), 1u << f.frac};
      if (rng.chance(24)) return sign | specials[rng.below(7)];
      break;
    }
    default:
      break;
  }
  return sign | (bias - 3 + rng.below(7)) << f.frac | fraction;
}

inline void put(unsigned char* at, uint32_t v, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = static_cast<unsigned char>(v >> 8 * i);
}

inline uint32_t random_mood(Rng& rng, Style style) { return style < kBorder ? 0 : rng.below(8); }

// random_c is an element of C.
inline uint32_t random_c(Rng& rng, bool half, Style style) {
  if (style == kCancel && rng.chance(2)) style = kTiny;
  return random_float(rng, half ? kFormatF16 : kFormatF32, style, random_mood(rng, style));
}

// fill_floats draws one operand: rows of 32 bytes, K contiguous. Of products that
// cancel, group elements of a row are alike.
inline void fill_floats(Rng& rng, const Format& f, Style style, bool negate, unsigned char* rows, uint32_t n,
                        uint32_t group = 2) {
  const int bytes = f.bytes();
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t mood = random_mood(rng, style);
    uint32_t before = 0;
    for (uint32_t k = 0; k < kRowBytes / bytes; k++) {
      uint32_t v = random_float(rng, f, style, mood);
      if (style == kCancel && k % group != 0) {
        // Products that cancel but for the last bits: (x, y), (-x, y').
        v = before;
        if (negate) v ^= 1u << (f.exp + f.frac);
        if (rng.chance(4)) v ^= 1;
      }
      before = v;
      put(rows + i * kRowBytes + k * bytes, v, bytes);
    }
  }
}

inline uint32_t random_s32(Rng& rng, uint32_t style) {
  switch (style % 3) {
    case 0: return rng.next();
    case 1: return 0x7fffffffu - rng.below(400000);
    default: return 0x80000000u + rng.below(400000);
  }
}

// put_accumulators writes C or D of a tile. Elements of f16 are words in memory and 16 bits in a file.
inline void put_accumulators(File& out, const uint32_t* words, bool half) {
  for (uint32_t i = 0; i < kElements; i++) {
    if (half) {
      out.value(static_cast<uint16_t>(words[i]));
    } else {
      out.value(words[i]);
    }
  }
}

// probe_kind writes the file of one kind.
template <int kind>
size_t probe_kind(const std::string& dir, uint64_t seed, const char* name, const Format& fa, const Format& fb) {
  constexpr uint32_t kTiles = 72;
  Rng rng(seed, 100 + kind);
  std::vector<unsigned char> a(kTiles * kBytesA), b(kTiles * kBytesB);
  std::vector<uint32_t> c(kTiles * kElements);
  for (uint32_t tile = 0; tile < kTiles; tile++) {
    unsigned char* ta = &a[tile * kBytesA];
    unsigned char* tb = &b[tile * kBytesB];
    uint32_t* tc = &c[tile * kElements];
    if (integers(kind)) {
      for (uint32_t i = 0; i < kBytesA; i++) ta[i] = tile % 6 == 5 ? 0x80 - rng.below(2) : rng.next() & 255;
      for (uint32_t i = 0; i < kBytesB; i++) tb[i] = tile % 6 == 5 ? 0x80 - rng.below(2) : rng.next() & 255;
      for (uint32_t i = 0; i < kElements; i++) tc[i] = random_s32(rng, tile);
      continue;
    }
    const Style style = static_cast<Style>(tile % kStyles);
    fill_floats(rng, fa, style, true, ta, kRows);
    fill_floats(rng, fb, style, false, tb, kColumns);
    const bool zero = tile % 12 == 0;
    for (uint32_t i = 0; i < kElements; i++) tc[i] = zero ? 0 : random_c(rng, half_accumulators(kind), style);
  }

  Buffer<unsigned char> device_a(a), device_b(b);
  Buffer<uint32_t> device_c(c), device_d(c.size());
  mma_kernel<kind, 0><<<kTiles, 128>>>(1, device_a.get(), device_b.get(), device_c.get(), device_d.get());
  finish(name, 0);
  const std::vector<uint32_t> d = device_d.take();

  File out(dir, name);
  out.value(static_cast<int32_t>(kind));
  out.value(static_cast<int32_t>(kTiles));
  out.values(a);
  out.values(b);
  for (const std::vector<uint32_t>& words : {c, d}) {
    for (uint32_t i = 0; i < words.size(); i += kElements) put_accumulators(out, &words[i], half_accumulators(kind));
  }
  return kTiles;
}

inline size_t probe_wgmma(const std::string& dir, uint64_t seed) {
  const Format none{7, 0, false};  // integers take bytes as they come
  size_t n = 0;
  n += probe_kind<kKindBF16>(dir, seed, "wgmma_bf16.bin", kFormatBF16, kFormatBF16);
  n += probe_kind<kKindF16>(dir, seed, "wgmma_f16.bin", kFormatF16, kFormatF16);
  n += probe_kind<kKindTF32>(dir, seed, "wgmma_tf32.bin", kFormatF32, kFormatF32);
  n += probe_kind<kKindE4M3>(dir, seed, "wgmma_e4m3.bin", kFormatE4M3, kFormatE4M3);
  n += probe_kind<kKindE5M2>(dir, seed, "wgmma_e5m2.bin", kFormatE5M2, kFormatE5M2);
  n += probe_kind<kKindE4M3xE5M2>(dir, seed, "wgmma_e4m3xe5m2.bin", kFormatE4M3, kFormatE5M2);
  n += probe_kind<kKindF16Acc>(dir, seed, "wgmma_f16acc.bin", kFormatF16, kFormatF16);
  n += probe_kind<kKindE4M3F16>(dir, seed, "wgmma_e4m3_f16.bin", kFormatE4M3, kFormatE4M3);
  n += probe_kind<kKindE5M2F16>(dir, seed, "wgmma_e5m2_f16.bin", kFormatE5M2, kFormatE5M2);
  n += probe_kind<kKindS8>(dir, seed, "wgmma_s8.bin", none, none);
  n += probe_kind<kKindU8>(dir, seed, "wgmma_u8.bin", none, none);
  n += probe_kind<kKindS8U8>(dir, seed, "wgmma_s8u8.bin", none, none);
  n += probe_kind<kKindS8Sat>(dir, seed, "wgmma_s8sat.bin", none, none);
  n += probe_kind<kKindB1>(dir, seed, "wgmma_b1.bin", none, none);
  return n;
}
