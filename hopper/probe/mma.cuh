// mma.txt: one mma.sync of a warp for each record of random operands.
#pragma once

#include "warp.cuh"
#include "wgmma.cuh"

constexpr Format kFormatS8{7, 0, false};        // integers take bytes as they come
constexpr Format kFormatF64High{11, 20, true};  // the upper word of an f64

// SYNC is the text of one instruction whose C is also D.
#define SYNC(instruction, d, a, b) "mma.sync.aligned." instruction " {" d "}, {" a "}, {" b "}, {" d "};"

// double_of returns the f64 in words 2i and 2i+1.
__device__ inline double double_of(const uint32_t* words, int i) {
  return __hiloint2double(words[2 * i + 1], words[2 * i]);
}

// The forms of operands: the type of the accumulators and how many registers A takes.
#define F32_2(text)                                                           \
  asm volatile(SYNC(text, "%0, %1, %2, %3", "%4, %5", "%6")                   \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define F32_4(text)                                                           \
  asm volatile(SYNC(text, "%0, %1, %2, %3", "%4, %5, %6, %7", "%8, %9")       \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define F16_2(text)                                                           \
  asm volatile(SYNC(text, "%0, %1", "%2, %3", "%4") : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define F16_4(text)                                                           \
  asm volatile(SYNC(text, "%0, %1", "%2, %3, %4, %5", "%6, %7")               \
               : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define S32_1(text) asm volatile(SYNC(text, "%0, %1", "%2", "%3") : "+r"(c[0]), "+r"(c[1]) : "r"(a[0]), "r"(b[0]))
#define S32_2(text)                                                           \
  asm volatile(SYNC(text, "%0, %1, %2, %3", "%4, %5", "%6")                   \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]))
#define S32_4(text)                                                           \
  asm volatile(SYNC(text, "%0, %1, %2, %3", "%4, %5, %6, %7", "%8, %9")       \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
#define A64(i) "d"(double_of(a, i))
#define B64(i) "d"(double_of(b, i))
#define F64_1(text) asm volatile(SYNC(text, "%0, %1", "%2", "%3") : "+d"(d[0]), "+d"(d[1]) : A64(0), B64(0))
#define F64_2(text)                                                           \
  asm volatile(SYNC(text, "%0, %1, %2, %3", "%4, %5", "%6")                   \
               : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3]) : A64(0), A64(1), B64(0))
#define F64_4(text)                                                           \
  asm volatile(SYNC(text, "%0, %1, %2, %3", "%4, %5, %6, %7", "%8, %9")       \
               : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])               \
               : A64(0), A64(1), A64(2), A64(3), B64(0), B64(1))
#define F64_8(text)                                                           \
  asm volatile(SYNC(text, "%0, %1, %2, %3", "%4, %5, %6, %7, %8, %9, %10, %11", "%12, %13, %14, %15") \
               : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])               \
               : A64(0), A64(1), A64(2), A64(3), A64(4), A64(5), A64(6), A64(7), B64(0), B64(1), B64(2), B64(3))

// All instructions: a name, the form, M, K, the qualifiers behind the shape, the formats of A, B and C.
#define MMA_FP8(X, id, ta, tb, fa, fb)                                                                     \
  X(id##_k16, F32_2, 16, 16, "f32." ta "." tb ".f32", fa, fb, kFormatF32)                                  \
  X(id##_k32, F32_4, 16, 32, "f32." ta "." tb ".f32", fa, fb, kFormatF32)                                  \
  X(id##_f16_k16, F16_2, 16, 16, "f16." ta "." tb ".f16", fa, fb, kFormatF16)                              \
  X(id##_f16_k32, F16_4, 16, 32, "f16." ta "." tb ".f16", fa, fb, kFormatF16)
#define MMA_INT(X, id, types)                                                                              \
  X(id##_m8, S32_1, 8, 16, types, kFormatS8, kFormatS8, kFormatF32)                                        \
  X(id##_k16, S32_2, 16, 16, types, kFormatS8, kFormatS8, kFormatF32)                                      \
  X(id##_k32, S32_4, 16, 32, types, kFormatS8, kFormatS8, kFormatF32)
#define MMAS(X)                                                                                            \
  X(bf16_k8, F32_2, 16, 8, "f32.bf16.bf16.f32", kFormatBF16, kFormatBF16, kFormatF32)                      \
  X(bf16_k16, F32_4, 16, 16, "f32.bf16.bf16.f32", kFormatBF16, kFormatBF16, kFormatF32)                    \
  X(f16_k8, F32_2, 16, 8, "f32.f16.f16.f32", kFormatF16, kFormatF16, kFormatF32)                           \
  X(f16_k16, F32_4, 16, 16, "f32.f16.f16.f32", kFormatF16, kFormatF16, kFormatF32)                         \
  X(f16acc_k8, F16_2, 16, 8, "f16.f16.f16.f16", kFormatF16, kFormatF16, kFormatF16)                        \
  X(f16acc_k16, F16_4, 16, 16, "f16.f16.f16.f16", kFormatF16, kFormatF16, kFormatF16)                      \
  X(tf32_k4, F32_2, 16, 4, "f32.tf32.tf32.f32", kFormatF32, kFormatF32, kFormatF32)                        \
  X(tf32_k8, F32_4, 16, 8, "f32.tf32.tf32.f32", kFormatF32, kFormatF32, kFormatF32)                        \
  MMA_FP8(X, e4m3, "e4m3", "e4m3", kFormatE4M3, kFormatE4M3)                                               \
  MMA_FP8(X, e4m3xe5m2, "e4m3", "e5m2", kFormatE4M3, kFormatE5M2)                                          \
  MMA_FP8(X, e5m2xe4m3, "e5m2", "e4m3", kFormatE5M2, kFormatE4M3)                                          \
  MMA_FP8(X, e5m2, "e5m2", "e5m2", kFormatE5M2, kFormatE5M2)                                               \
  MMA_INT(X, s8, "s32.s8.s8.s32") MMA_INT(X, s8sat, "satfinite.s32.s8.s8.s32")                             \
  MMA_INT(X, s8u8, "s32.s8.u8.s32") MMA_INT(X, s8u8sat, "satfinite.s32.s8.u8.s32")                         \
  MMA_INT(X, u8s8, "s32.u8.s8.s32") MMA_INT(X, u8s8sat, "satfinite.s32.u8.s8.s32")                         \
  MMA_INT(X, u8, "s32.u8.u8.s32") MMA_INT(X, u8sat, "satfinite.s32.u8.u8.s32")                             \
  X(f64_m8, F64_1, 8, 4, "f64.f64.f64.f64", kFormatF64High, kFormatF64High, kFormatF64High)                \
  X(f64_k4, F64_2, 16, 4, "f64.f64.f64.f64", kFormatF64High, kFormatF64High, kFormatF64High)               \
  X(f64_k8, F64_4, 16, 8, "f64.f64.f64.f64", kFormatF64High, kFormatF64High, kFormatF64High)               \
  X(f64_k16, F64_8, 16, 16, "f64.f64.f64.f64", kFormatF64High, kFormatF64High, kFormatF64High)
#define MMA_BITS(X, id, types)                                                                             \
  X(id##_m8, S32_1, 8, 128, types, kFormatS8, kFormatS8, kFormatF32)                                       \
  X(id##_k128, S32_2, 16, 128, types, kFormatS8, kFormatS8, kFormatF32)                                    \
  X(id##_k256, S32_4, 16, 256, types, kFormatS8, kFormatS8, kFormatF32)
#define MMA_XOR(X) MMA_BITS(X, b1xor, "s32.b1.b1.s32.xor.popc")
#define MMA_AND(X) MMA_BITS(X, b1and, "s32.b1.b1.s32.and.popc")

// A kernel has the registers of a lane side by side, as many as the shape gives each of A, B and C.
#define KERNEL(id, form, m, k, types, fa, fb, fc)                                                          \
  __global__ void sync_##id(uint32_t na, uint32_t nb, uint32_t nc, const uint32_t* as, const uint32_t* bs, \
                            uint32_t* cs) {                                                                \
    uint32_t a[16] = {}, b[8] = {}, c[8] = {};                                                             \
    for (uint32_t i = 0; i < 16; i++) if (i < na) a[i] = as[threadIdx.x * na + i];                         \
    for (uint32_t i = 0; i < 8; i++) if (i < nb) b[i] = bs[threadIdx.x * nb + i];                          \
    for (uint32_t i = 0; i < 8; i++) if (i < nc) c[i] = cs[threadIdx.x * nc + i];                          \
    float f[4];                                                                                            \
    double d[4];                                                                                           \
    constexpr bool f32 = #form[0] == 'F' && #form[1] == '3', f64 = #form[0] == 'F' && #form[1] == '6';     \
    for (int i = 0; i < 4; i++) f[i] = __uint_as_float(c[i]), d[i] = double_of(c, i);                      \
    form("m" #m "n8k" #k ".row.col." types);                                                               \
    for (int i = 0; i < 4 && f32; i++) c[i] = __float_as_uint(f[i]);                                       \
    for (int i = 0; i < 4 && f64; i++) c[2 * i] = __double2loint(d[i]), c[2 * i + 1] = __double2hiint(d[i]); \
    for (uint32_t i = 0; i < 8; i++) if (i < nc) cs[threadIdx.x * nc + i] = c[i];                          \
  }
MMAS(KERNEL) MMA_XOR(KERNEL) MMA_AND(KERNEL)
#undef KERNEL
#undef SYNC
#undef F32_2
#undef F32_4
#undef F16_2
#undef F16_4
#undef S32_1
#undef S32_2
#undef S32_4
#undef F64_1
#undef F64_2
#undef F64_4
#undef F64_8
#undef A64
#undef B64

struct SyncOp {
  const char* name;
  void (*kernel)(uint32_t, uint32_t, uint32_t, const uint32_t*, const uint32_t*, uint32_t*);
  uint32_t m, k;
  Format a, b, c;
};
#define ROW(id, form, m, k, types, fa, fb, fc) {"m" #m "n8k" #k ".row.col." types, sync_##id, m, k, fa, fb, fc},
const SyncOp kSyncOps[] = {MMAS(ROW)};
const SyncOp kXorOps[] = {MMA_XOR(ROW)};
const SyncOp kAndOps[] = {MMA_AND(ROW)};
#undef ROW

inline bool is_f64(const Format& f) { return f.exp == kFormatF64High.exp; }
inline bool is_integer(const Format& f) { return f.exp == kFormatS8.exp; }
inline uint32_t format_bytes(const Format& f) { return is_f64(f) ? 8 : f.bytes(); }

// random_element draws an element. The lower word of a special f64 is often 0, or an infinity would always be a NaN.
inline uint64_t random_element(Rng& rng, const Format& f, Style style, uint32_t mood = 0) {
  if (is_integer(f)) return style == kCancel ? 0x80 - rng.below(2) : rng.next() & 255;
  const uint64_t v = random_float(rng, f, style, mood);
  if (!is_f64(f)) return v;
  const bool alone = style == kZero || ((style == kSpecial || style == kBorder) && rng.chance(2));
  return v << 32 | (alone ? 0 : rng.next());
}

// random_rows draws n rows of A, or columns of B. The elements of style kCancel come in pairs, or larger groups, whose
// products cancel but for the last bits: (x, y), (-x, y').
inline std::vector<uint64_t> random_rows(Rng& rng, const Format& f, Style style, bool negate, uint32_t n, uint32_t k,
                                         uint32_t group = 2) {
  std::vector<uint64_t> rows(n * k);
  uint32_t mood = 0;
  for (uint32_t i = 0; i < n * k; i++) {
    if (i % k == 0) mood = random_mood(rng, style);
    rows[i] = random_element(rng, f, style, mood);
    if (style == kCancel && i % group != 0 && !is_integer(f)) {
      rows[i] = rows[i - 1] ^ (rng.chance(4) ? 1 : 0);
      if (negate) rows[i] ^= 1ull << (8 * format_bytes(f) - 1);
    }
  }
  return rows;
}

// lane_words returns elements as words, the first in the lowest bits.
inline std::vector<uint32_t> lane_words(const std::vector<uint64_t>& elements, uint32_t bytes) {
  std::vector<unsigned char> memory(elements.size() * bytes);
  for (size_t i = 0; i < memory.size(); i++) memory[i] = elements[i / bytes] >> i % bytes * 8 & 255;
  std::vector<uint32_t> words(memory.size() / 4);
  for (size_t i = 0; i < memory.size(); i++) words[i / 4] |= static_cast<uint32_t>(memory[i]) << i % 4 * 8;
  return words;
}

// fragment_words returns the registers of n rows of A, or columns of B, those of a lane side by side.
inline std::vector<uint32_t> fragment_words(const std::vector<uint64_t>& rows, const Format& f, uint32_t n,
                                            uint32_t k) {
  const uint32_t bytes = format_bytes(f), per = bytes < 4 ? 4 / bytes : 1, lane_elements = n * k / kLanes;
  std::vector<uint64_t> elements(rows.size());
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < k; j++) {
      const uint32_t lane = i % 8 * 4 + j / per % 4, reg = j / per / 4 * (n / 8) + i / 8;
      elements[lane * lane_elements + reg * per + j % per] = rows[i * k + j];
    }
  }
  return lane_words(elements, bytes);
}

// random_sums draws C, whose words lie as the accumulators of m rows: those of a lane side by side.
inline std::vector<uint32_t> random_sums(Rng& rng, const Format& in, const Format& f, Style style, uint32_t m) {
  std::vector<uint64_t> elements(m * 8);
  for (uint64_t& v : elements) {
    const Style of = style == kCancel && rng.chance(2) ? kTiny : style;
    v = is_integer(in) ? random_s32(rng, rng.below(3)) : random_element(rng, f, of, random_mood(rng, of));
    if (rng.chance(16)) v = 0;
  }
  return lane_words(elements, format_bytes(f));
}

// record_mma executes an instruction and writes a record: the instruction and the registers of A, B, C and D, those of
// a lane side by side.
inline void record_mma(File& out, const SyncOp& op, size_t index, const std::vector<uint32_t>& a,
                       const std::vector<uint32_t>& b, const std::vector<uint32_t>& c) {
  Buffer<uint32_t> device_a(a), device_b(b), device_c(c);
  op.kernel<<<1, kLanes>>>(a.size() / kLanes, b.size() / kLanes, c.size() / kLanes, device_a.get(), device_b.get(),
                           device_c.get());
  finish(op.name, index);
  out.print("%s", op.name);
  print_words(out, a);
  print_words(out, b);
  print_words(out, c);
  print_words(out, device_c.take());
  out.print("\n");
}

inline size_t probe_mma(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 12);
  size_t records = 0;
  File out(dir, "mma.txt");
  for (const SyncOp& op : kSyncOps) {
    for (uint32_t n = 0; n < (is_integer(op.a) ? 2 : kStyles); n++) {
      const Style style = is_integer(op.a) ? n == 1 ? kCancel : kRaw : static_cast<Style>(n);
      const std::vector<uint32_t> a = fragment_words(random_rows(rng, op.a, style, true, op.m, op.k), op.a, op.m, op.k);
      const std::vector<uint32_t> b = fragment_words(random_rows(rng, op.b, style, false, 8, op.k), op.b, 8, op.k);
      const std::vector<uint32_t> c = random_sums(rng, op.a, op.c, style, op.m);
      record_mma(out, op, records++, a, b, c);
    }
  }
  return records;
}
