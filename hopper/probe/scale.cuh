// wgmma_scale.bin: m64n8 instructions of floats, one a record, with scale-d and imm-scale-a/b.
#pragma once

#include "wgmma.cuh"

// The head of a record of wgmma_scale.bin.
struct ScaleCase {
  uint32_t kind;
  Scale scale;
};

template <int kind>
void launch_scaled(const Scale& s, const unsigned char* a, const unsigned char* b, const uint32_t* c, uint32_t* d) {
  const uint32_t scale_d = s.overwrite ? 0 : 1;
  switch (s.negate) {
    case 0: mma_kernel<kind, 0><<<1, 128>>>(scale_d, a, b, c, d); break;
    case 1: mma_kernel<kind, 1><<<1, 128>>>(scale_d, a, b, c, d); break;
    case 2: mma_kernel<kind, 2><<<1, 128>>>(scale_d, a, b, c, d); break;
    default: mma_kernel<kind, 3><<<1, 128>>>(scale_d, a, b, c, d); break;
  }
}

// FloatKind is a kind of floats.
struct FloatKind {
  uint32_t kind;
  Format a, b;
  void (*launch)(const Scale&, const unsigned char*, const unsigned char*, const uint32_t*, uint32_t*);
};
#define FLOATS(kind, a, b) {kind, kFormat##a, kFormat##b, launch_scaled<kind>},
const FloatKind kFloatKinds[] = {
    FLOATS(kKindBF16, BF16, BF16) FLOATS(kKindF16, F16, F16) FLOATS(kKindTF32, F32, F32)
    FLOATS(kKindE4M3, E4M3, E4M3) FLOATS(kKindE5M2, E5M2, E5M2)
    FLOATS(kKindE4M3xE5M2, E4M3, E5M2) FLOATS(kKindE5M2xE4M3, E5M2, E4M3)
    FLOATS(kKindF16Acc, F16, F16) FLOATS(kKindE4M3F16, E4M3, E4M3) FLOATS(kKindE5M2F16, E5M2, E5M2)
    FLOATS(kKindE4M3xE5M2F16, E4M3, E5M2) FLOATS(kKindE5M2xE4M3F16, E5M2, E4M3)};
#undef FLOATS

// probe_scale writes instructions of every kind, mostly of zeros and of numbers at borders.
inline size_t probe_scale(const std::string& dir, uint64_t seed) {
  constexpr uint32_t kEach = 20;
  Rng rng(seed, 400);
  Buffer<unsigned char> device_a(kBytesA), device_b(kBytesB);
  Buffer<uint32_t> device_c(kElements), device_d(kElements);
  std::vector<unsigned char> a(kBytesA), b(kBytesB);
  std::vector<uint32_t> c(kElements);
  size_t records = 0;
  File out(dir, "wgmma_scale.bin");
  for (uint32_t i = 0; i < kEach; i++) {
    for (const FloatKind& kind : kFloatKinds) {
      const bool half = half_accumulators(kind.kind);
      const Style style = i % 4 == 3 ? static_cast<Style>(rng.below(kBorder)) : i % 4 == 1 ? kZero : kBorder;
      const Scale scale{rng.chance(4), rng.below(4)};
      fill_floats(rng, kind.a, style, true, a.data(), kRows);
      fill_floats(rng, kind.b, style, false, b.data(), kColumns);
      for (uint32_t& x : c) x = random_c(rng, half, style);
      device_a.put(a);
      device_b.put(b);
      device_c.put(c);
      kind.launch(scale, device_a.get(), device_b.get(), device_c.get(), device_d.get());
      finish("scale", records);
      out.value(ScaleCase{kind.kind, scale});
      out.values(a);
      out.values(b);
      put_accumulators(out, c.data(), half);
      put_accumulators(out, device_d.take().data(), half);
      records++;
    }
  }
  return records;
}
