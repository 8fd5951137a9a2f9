// mma_b1.txt: one mma.sync of bits of a warp for each record.
#pragma once

#include "mma.cuh"

// The words of an operand are zeros, or ones, with few of the other among them or none, two words in any order, or
// random.
constexpr uint32_t kBitStyles = 6;

inline std::vector<uint32_t> random_bits(Rng& rng, uint32_t style, uint32_t n) {
  std::vector<uint32_t> words(n);
  const uint32_t two[2] = {rng.next(), rng.next()};
  for (uint32_t& w : words) {
    switch (style) {
      case 0: w = 0; break;
      case 1: w = ~0u; break;
      case 2: w = rng.chance(8) ? 1u << rng.below(32) : 0; break;
      case 3: w = ~(rng.chance(8) ? 1u << rng.below(32) : 0); break;
      case 4: w = two[rng.below(2)]; break;
      default: w = rng.next();
    }
  }
  return words;
}

// random_counts draws C, of four words: zeros, any, and such that a count wraps, ends short of that, or at zero.
inline std::vector<uint32_t> random_counts(Rng& rng, uint32_t n) {
  const uint32_t style = rng.below(5);
  uint32_t four[4];
  for (uint32_t& w : four) {
    const uint32_t less = rng.below(256);
    const uint32_t any[5] = {0, rng.next(), 0x7fffffffu - less, 0x80000000u + less, 0u - less};
    w = any[style];
  }
  std::vector<uint32_t> words(n);
  for (uint32_t& w : words) w = four[rng.below(4)];
  return words;
}

// Both operations of a shape have the same operands: of all pairs of styles, then random ones.
inline size_t probe_mma_b1(const std::string& dir, uint64_t seed) {
  constexpr uint32_t kOperands = kBitStyles * (kBitStyles + 1);
  Rng rng(seed, 22);
  size_t records = 0;
  File out(dir, "mma_b1.txt");
  for (uint32_t shape = 0; shape < sizeof kXorOps / sizeof *kXorOps; shape++) {
    const uint32_t m = kXorOps[shape].m, k = kXorOps[shape].k;
    for (uint32_t n = 0; n < kOperands; n++) {
      const uint32_t style = n < kBitStyles * kBitStyles ? n % kBitStyles : kBitStyles;
      const std::vector<uint32_t> a = random_bits(rng, style, m * k / 32);
      const std::vector<uint32_t> b = random_bits(rng, n / kBitStyles, 8 * k / 32);
      const std::vector<uint32_t> c = random_counts(rng, m * 8);
      for (const SyncOp* op : {&kXorOps[shape], &kAndOps[shape]}) record_mma(out, *op, records++, a, b, c);
    }
  }
  return records;
}
