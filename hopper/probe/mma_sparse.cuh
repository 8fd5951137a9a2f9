// mma_sp.txt: one mma.sp of a warp for each record of random operands.
#pragma once

#include "descriptor.cuh"
#include "mma.cuh"

// SP is the text of one instruction whose C is also D, with the metadata and the selector behind it.
#define SP(variant, instruction, d, a, b, tail) \
  "mma." variant ".sync.aligned." instruction " {" d "}, {" a "}, {" b "}, {" d "}, " tail ";"
#define SP_F32_2(variant, text)                                                                        \
  asm volatile(SP(variant, text, "%0, %1, %2, %3", "%4, %5", "%6, %7", "%8, %9")                       \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                            \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(meta), "n"(selector))
#define SP_F32_4(variant, text)                                                                        \
  asm volatile(SP(variant, text, "%0, %1, %2, %3", "%4, %5, %6, %7", "%8, %9, %10, %11", "%12, %13")   \
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                            \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),   \
                 "r"(meta), "n"(selector))
#define SP_F16_2(variant, text)                                                                        \
  asm volatile(SP(variant, text, "%0, %1", "%2, %3", "%4, %5", "%6, %7") : "+r"(c[0]), "+r"(c[1])      \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(meta), "n"(selector))
#define SP_F16_4(variant, text)                                                                        \
  asm volatile(SP(variant, text, "%0, %1", "%2, %3, %4, %5", "%6, %7, %8, %9", "%10, %11")             \
               : "+r"(c[0]), "+r"(c[1])                                                                    \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),   \
                 "r"(meta), "n"(selector))
#define SP_S32_2(variant, text)                                                                        \
  asm volatile(SP(variant, text, "%0, %1, %2, %3", "%4, %5", "%6, %7", "%8, %9")                       \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                            \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(meta), "n"(selector))
#define SP_S32_4(variant, text)                                                                        \
  asm volatile(SP(variant, text, "%0, %1, %2, %3", "%4, %5, %6, %7", "%8, %9, %10, %11", "%12, %13")   \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                            \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),   \
                 "r"(meta), "n"(selector))

// All instructions: a name, the form, K, the number of selectors, the qualifiers behind the shape, the formats of A, B
// and C. M is 16.
#define SP_WIDE(X, id, small, large, types, fa, fc, half)                                              \
  X(id##_small, SP_##half##_2, small, 4, types, fa, fa, fc)                                            \
  X(id##_large, SP_##half##_4, large, 2, types, fa, fa, fc)
#define SP_INT(X, id, types)                                                                           \
  X(id##_k32, SP_S32_2, 32, 2, types, kFormatS8, kFormatS8, kFormatF32)                                \
  X(id##_k64, SP_S32_4, 64, 1, types, kFormatS8, kFormatS8, kFormatF32)
#define SP_FLOATS(X)                                                                                   \
  SP_WIDE(X, bf16, 16, 32, "f32.bf16.bf16.f32", kFormatBF16, kFormatF32, F32)                          \
  SP_WIDE(X, f16, 16, 32, "f32.f16.f16.f32", kFormatF16, kFormatF32, F32)                              \
  SP_WIDE(X, f16acc, 16, 32, "f16.f16.f16.f16", kFormatF16, kFormatF16, F16)                           \
  SP_WIDE(X, tf32, 8, 16, "f32.tf32.tf32.f32", kFormatF32, kFormatF32, F32)
#define SP_FP8(X)                                                                                      \
  X(e4m3, SP_F32_4, 64, 1, "f32.e4m3.e4m3.f32", kFormatE4M3, kFormatE4M3, kFormatF32)                  \
  X(e4m3xe5m2, SP_F32_4, 64, 1, "f32.e4m3.e5m2.f32", kFormatE4M3, kFormatE5M2, kFormatF32)             \
  X(e5m2xe4m3, SP_F32_4, 64, 1, "f32.e5m2.e4m3.f32", kFormatE5M2, kFormatE4M3, kFormatF32)             \
  X(e5m2, SP_F32_4, 64, 1, "f32.e5m2.e5m2.f32", kFormatE5M2, kFormatE5M2, kFormatF32)
#define SP_INTS(X)                                                                                     \
  SP_INT(X, s8, "s32.s8.s8.s32") SP_INT(X, s8sat, "satfinite.s32.s8.s8.s32")                       \
  SP_INT(X, s8u8, "s32.s8.u8.s32") SP_INT(X, s8u8sat, "satfinite.s32.s8.u8.s32")                   \
  SP_INT(X, u8s8, "s32.u8.s8.s32") SP_INT(X, u8s8sat, "satfinite.s32.u8.s8.s32")                   \
  SP_INT(X, u8, "s32.u8.u8.s32") SP_INT(X, u8sat, "satfinite.s32.u8.u8.s32")
#define SP_MMAS(X) SP_FLOATS(X) SP_FP8(X) SP_INTS(X)

// A kernel has the registers of a lane side by side, the metadata last of those of B.
#define KERNEL(id, form, k, selectors, types, fa, fb, fc)                                                  \
  template <bool ordered, int selector>                                                                    \
  __global__ void sparse_sync_##id(uint32_t n, uint32_t nc, const uint32_t* as, const uint32_t* bs,        \
                                   const uint32_t* metas, uint32_t* cs) {                                  \
    uint32_t a[4] = {}, b[4] = {}, c[4] = {};                                                              \
    const uint32_t meta = metas[threadIdx.x];                                                              \
    for (uint32_t i = 0; i < 4; i++) if (i < n) a[i] = as[threadIdx.x * n + i], b[i] = bs[threadIdx.x * n + i]; \
    for (uint32_t i = 0; i < 4; i++) if (i < nc) c[i] = cs[threadIdx.x * nc + i];                          \
    float f[4];                                                                                            \
    constexpr bool f32 = #form[3] == 'F' && #form[4] == '3';                                               \
    for (int i = 0; i < 4; i++) f[i] = __uint_as_float(c[i]);                                              \
    if constexpr (ordered) {                                                                               \
      form("sp::ordered_metadata", "m16n8k" #k ".row.col." types);                                         \
    } else {                                                                                               \
      form("sp", "m16n8k" #k ".row.col." types);                                                           \
    }                                                                                                      \
    for (int i = 0; i < 4 && f32; i++) c[i] = __float_as_uint(f[i]);                                       \
    for (uint32_t i = 0; i < 4; i++) if (i < nc) cs[threadIdx.x * nc + i] = c[i];                          \
  }
SP_MMAS(KERNEL)
#undef KERNEL
#undef SP

using SparseSync = void (*)(uint32_t, uint32_t, const uint32_t*, const uint32_t*, const uint32_t*, uint32_t*);

struct SparseSyncOp {
  const char* name;
  bool ordered;
  SparseSync kernels[4];  // by the selector
  uint32_t k, selectors;
  Format a, b, c;
};
// There is no kernel of a selector that an instruction has not.
#define SELECT(id, ordered, selectors, i) sparse_sync_##id<ordered, i < selectors ? i : 0>
#define SELECTED(id, ordered, selectors)                                                                   \
  {SELECT(id, ordered, selectors, 0), SELECT(id, ordered, selectors, 1), SELECT(id, ordered, selectors, 2), \
   SELECT(id, ordered, selectors, 3)}
#define ROW(id, form, k, selectors, types, fa, fb, fc)                                                     \
  {"mma.sp.sync.aligned.m16n8k" #k ".row.col." types, false, SELECTED(id, false, selectors), k, selectors, \
   fa, fb, fc},                                                                                            \
  {"mma.sp::ordered_metadata.sync.aligned.m16n8k" #k ".row.col." types, true, SELECTED(id, true, selectors), \
   k, selectors, fa, fb, fc},
const SparseSyncOp kSparseSyncOps[] = {SP_MMAS(ROW)};
#undef ROW
#undef SELECTED
#undef SELECT

// random_chunks is a register of metadata.
inline uint32_t random_chunks(Rng& rng, const SparseSyncOp& op) {
  uint32_t meta = 0;
  for (uint32_t i = 0; i < 8; i++) {
    uint32_t chunk = op.ordered ? 0xed9c84 >> 4 * rng.below(6) & 15 : two_of_four(rng.below(12));
    if (format_bytes(op.a) == 4) chunk = rng.below(2) ? 0xe : 0x4;
    meta |= chunk << 4 * i;
  }
  return meta;
}

// A record is the instruction, the selector, the metadata and the registers of A, B, C and D, those of a lane side by
// side. Lanes that the selector does not name have metadata, too, or any word.
inline size_t probe_mma_sparse(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 21);
  Buffer<uint32_t> device_a(kLanes * 4), device_b(kLanes * 4), device_meta(kLanes), device_c(kLanes * 4);
  size_t records = 0;
  File out(dir, "mma_sp.txt");
  for (const SparseSyncOp& op : kSparseSyncOps) {
    for (uint32_t n = 0; n < (is_integer(op.a) ? 2 : kStyles); n++) {
      const Style style = is_integer(op.a) ? n == 1 ? kCancel : kRaw : static_cast<Style>(n);
      const uint32_t selector = n % op.selectors;
      const uint32_t k = op.k / 2;
      const std::vector<uint32_t> a = fragment_words(random_rows(rng, op.a, style, true, 16, k), op.a, 16, k);
      const std::vector<uint32_t> b = fragment_words(random_rows(rng, op.b, style, false, 8, 2 * k, 4), op.b, 8, 2 * k);
      const std::vector<uint32_t> c = random_sums(rng, op.a, op.c, style, 16);
      std::vector<uint32_t> meta(kLanes);
      for (uint32_t lane = 0; lane < kLanes; lane++) {
        const bool named = lane % 4 * op.selectors / 4 == selector;
        meta[lane] = named || rng.chance(2) ? random_chunks(rng, op) : rng.next();
      }
      device_a.put(a);
      device_b.put(b);
      device_meta.put(meta);
      device_c.put(c);
      op.kernels[selector]<<<1, kLanes>>>(a.size() / kLanes, c.size() / kLanes, device_a.get(), device_b.get(),
                                          device_meta.get(), device_c.get());
      finish(op.name, records);
      out.print("%s %u", op.name, selector);
      print_words(out, meta);
      print_words(out, a);
      print_words(out, b);
      print_words(out, c);
      print_words(out, device_c.take(c.size()));
      out.print("\n");
      records++;
    }
  }
  return records;
}
