// banks.txt: how many cycles a warp's access of shared memory takes, by the addresses of its lanes.
#pragma once

#include <algorithm>
#include <iterator>

#include "common.cuh"

constexpr int kBankLanes = 32, kBankWarps = 16, kBankUnroll = 8;
constexpr uint32_t kBankBytes = 8192;  // that the addresses of a warp lie in

// The instructions: identifier, name, the bytes that a lane accesses and whether the 32 lanes have to be active.
#define BANK_OPS(X)                                                                               \
  X(kBankLd8, "ld.shared.u8", 1, 0) X(kBankLd16, "ld.shared.u16", 2, 0)                           \
  X(kBankLd32, "ld.shared.u32", 4, 0) X(kBankLd64, "ld.shared.v2.u32", 8, 0)                      \
  X(kBankLd128, "ld.shared.v4.u32", 16, 0)                                                        \
  X(kBankSt8, "st.shared.u8", 1, 0) X(kBankSt16, "st.shared.u16", 2, 0)                           \
  X(kBankSt32, "st.shared.u32", 4, 0) X(kBankSt64, "st.shared.v2.u32", 8, 0)                      \
  X(kBankSt128, "st.shared.v4.u32", 16, 0)                                                        \
  X(kBankAdd, "atom.shared.add.u32", 4, 0) X(kBankMin, "atom.shared.min.s32", 4, 0)               \
  X(kBankMax, "atom.shared.max.s32", 4, 0) X(kBankInc, "atom.shared.inc.u32", 4, 0)               \
  X(kBankDec, "atom.shared.dec.u32", 4, 0) X(kBankAnd, "atom.shared.and.b32", 4, 0)               \
  X(kBankOr, "atom.shared.or.b32", 4, 0) X(kBankXor, "atom.shared.xor.b32", 4, 0)                 \
  X(kBankExch, "atom.shared.exch.b32", 4, 0) X(kBankCas, "atom.shared.cas.b32", 4, 0)             \
  X(kBankExch64, "atom.shared.exch.b64", 8, 0) X(kBankCas64, "atom.shared.cas.b64", 8, 0)         \
  X(kBankLdm1, "ldmatrix.x1", 16, 1) X(kBankLdm2, "ldmatrix.x2", 16, 1)                           \
  X(kBankLdm4, "ldmatrix.x4", 16, 1) X(kBankLdm1T, "ldmatrix.x1.trans", 16, 1)                    \
  X(kBankLdm2T, "ldmatrix.x2.trans", 16, 1) X(kBankLdm4T, "ldmatrix.x4.trans", 16, 1)             \
  X(kBankStm1, "stmatrix.x1", 16, 1) X(kBankStm2, "stmatrix.x2", 16, 1)                           \
  X(kBankStm4, "stmatrix.x4", 16, 1) X(kBankStm1T, "stmatrix.x1.trans", 16, 1)                    \
  X(kBankStm2T, "stmatrix.x2.trans", 16, 1) X(kBankStm4T, "stmatrix.x4.trans", 16, 1)

struct BankOp {
  const char* name;
  uint32_t bytes;
  bool matrix;
};
#define BANK_ROW(id, name, bytes, matrix) {name, bytes, matrix},
constexpr BankOp kBankOps[] = {BANK_OPS(BANK_ROW)};
#undef BANK_ROW
#define BANK_ID(id, name, bytes, matrix) id,
enum BankId : int { BANK_OPS(BANK_ID) kBankIds };
#undef BANK_ID

struct BankPattern {
  uint32_t mask = ~0u;
  uint16_t at[kBankLanes];
};

#define BANK_CASE(id, text, ...) \
  else if constexpr (op == id) asm volatile(text __VA_ARGS__ : "memory")
#define BANK_R1 : "=r"(x[0]) : "r"(at)
#define BANK_R2 : "=r"(x[0]), "=r"(x[1]) : "r"(at)
#define BANK_R4 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at)
#define BANK_W1 : : "r"(at), "r"(v)
#define BANK_A32 : "=r"(x[0]) : "r"(at), "r"(v)
#define BANK_A64 : "=l"(y) : "r"(at), "l"(static_cast<unsigned long long>(v))

// bank_access is one instruction at an address; what it returns comes to x.
template <int op>
__device__ inline void bank_access(uint32_t at, uint32_t v, uint32_t x[4]) {
  unsigned long long y = 0;
  if constexpr (op == kBankIds) x[0] = 0;
  BANK_CASE(kBankLd8, "ld.shared.u8 %0, [%1];", BANK_R1);
  BANK_CASE(kBankLd16, "{ .reg .u16 h; ld.shared.u16 h, [%1]; cvt.u32.u16 %0, h; }", BANK_R1);
  BANK_CASE(kBankLd32, "ld.shared.u32 %0, [%1];", BANK_R1);
  BANK_CASE(kBankLd64, "ld.shared.v2.u32 {%0, %1}, [%2];", BANK_R2);
  BANK_CASE(kBankLd128, "ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];", BANK_R4);
  BANK_CASE(kBankSt8, "st.shared.u8 [%0], %1;", BANK_W1);
  BANK_CASE(kBankSt16, "{ .reg .u16 h; cvt.u16.u32 h, %1; st.shared.u16 [%0], h; }", BANK_W1);
  BANK_CASE(kBankSt32, "st.shared.u32 [%0], %1;", BANK_W1);
  BANK_CASE(kBankSt64, "st.shared.v2.u32 [%0], {%1, %1};", BANK_W1);
  BANK_CASE(kBankSt128, "st.shared.v4.u32 [%0], {%1, %1, %1, %1};", BANK_W1);
  BANK_CASE(kBankAdd, "atom.shared.add.u32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankMin, "atom.shared.min.s32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankMax, "atom.shared.max.s32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankInc, "atom.shared.inc.u32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankDec, "atom.shared.dec.u32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankAnd, "atom.shared.and.b32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankOr, "atom.shared.or.b32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankXor, "atom.shared.xor.b32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankExch, "atom.shared.exch.b32 %0, [%1], %2;", BANK_A32);
  BANK_CASE(kBankCas, "atom.shared.cas.b32 %0, [%1], %2, %2;", BANK_A32);
  BANK_CASE(kBankExch64, "atom.shared.exch.b64 %0, [%1], %2;", BANK_A64);
  BANK_CASE(kBankCas64, "atom.shared.cas.b64 %0, [%1], %2, %2;", BANK_A64);
  BANK_CASE(kBankLdm1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];", BANK_R1);
  BANK_CASE(kBankLdm2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];", BANK_R2);
  BANK_CASE(kBankLdm4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];", BANK_R4);
  BANK_CASE(kBankLdm1T, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];", BANK_R1);
  BANK_CASE(kBankLdm2T, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];", BANK_R2);
  BANK_CASE(kBankLdm4T, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];", BANK_R4);
  BANK_CASE(kBankStm1, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};", BANK_W1);
  BANK_CASE(kBankStm2, "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %1};", BANK_W1);
  BANK_CASE(kBankStm4, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};", BANK_W1);
  BANK_CASE(kBankStm1T, "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};", BANK_W1);
  BANK_CASE(kBankStm2T, "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %1};", BANK_W1);
  BANK_CASE(kBankStm4T, "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %1, %1, %1};", BANK_W1);
  if constexpr (op == kBankExch64 || op == kBankCas64) x[0] = static_cast<uint32_t>(y ^ y >> 32);
}

// bank_run does the instruction kBankUnroll·rounds times. step is 0, which the compiler does not know.
template <int op>
__device__ inline uint32_t bank_run(uint32_t at, uint32_t step, int rounds) {
  uint32_t sum = 0;
  for (int i = 0; i < rounds; i++) {
    uint32_t x[kBankUnroll][4] = {};
#pragma unroll
    for (int j = 0; j < kBankUnroll; j++) {
      bank_access<op>(at, step, x[j]);
      at += step;
    }
#pragma unroll
    for (int j = 0; j < kBankUnroll; j++) sum ^= x[j][0] ^ x[j][1] ^ x[j][2] ^ x[j][3];
  }
  return sum;
}

// bank_kernel measures a pattern in each block: the cycles that kBankWarps warps take for few and for many instructions
// each, whose difference is that of the instructions alone. Together the warps issue more than shared memory takes.
template <int op>
__global__ void bank_kernel(const BankPattern* patterns, uint32_t step, int few, int many, uint32_t* cycles,
                            uint32_t* sink) {
  extern __shared__ unsigned char raw[];
  __shared__ long long starts[kBankWarps], ends[kBankWarps];
  unsigned char* memory = align1024(raw);
  const BankPattern& p = patterns[blockIdx.x];
  const int lane = threadIdx.x % kBankLanes, warp = threadIdx.x / kBankLanes;
  for (uint32_t i = threadIdx.x; i < kBankWarps * kBankBytes; i += blockDim.x) memory[i] = 0;
  const uint32_t at = shared_address(memory) + warp * kBankBytes + p.at[lane];
  constexpr bool all = kBankOps[op].matrix;
  const bool active = all || (p.mask >> lane & 1) != 0;
  uint32_t sum = 0, best[2] = {~0u, ~0u};
  for (int repeat = 0; repeat < 10; repeat++) {
    __syncthreads();
    const long long start = clock64();
    if (active) sum ^= bank_run<op>(at, step, repeat % 2 ? many : few);
    __syncwarp();
    const long long end = clock64();
    if (lane == 0) starts[warp] = start, ends[warp] = end;
    __syncthreads();
    long long first = starts[0], last = ends[0];
    for (int i = 1; i < kBankWarps; i++) first = min(first, starts[i]), last = max(last, ends[i]);
    best[repeat % 2] = min(best[repeat % 2], static_cast<uint32_t>(last - first));
  }
  if (threadIdx.x == 0) cycles[blockIdx.x] = best[1] - best[0];
  if (sum == step + 90) *sink = sum;
}

constexpr uint32_t kBankStrides[] = {0, 1, 2, 3, 4, 5, 8, 16, 32, 33};

// bank_places chooses addresses: elements of some bytes, as kernels have them in tiles, or none of these.
inline void bank_places(Rng& rng, uint32_t bytes, int systematic, BankPattern& p) {
  const uint32_t n = kBankBytes / bytes;
  uint32_t e[kBankLanes], kind = systematic >= 0 ? 0 : rng.below(7);
  const uint32_t some[] = {1, 2, 4, 8, 16, 31, 32, 33, 36, 40, 64, 68, 72, 128, 136, 256};
  const uint32_t rows = 1u << rng.below(6), pitch = some[rng.below(16)], step = some[rng.below(6)];
  const uint32_t few = 1 + rng.below(rng.chance(2) ? 8 : 128);
  const uint32_t stride = systematic >= 0 ? kBankStrides[systematic] : rng.below(65);
  const uint32_t swizzle = (1u << rng.below(5)) - 1;
  for (uint32_t i = 0; i < kBankLanes; i++) {
    switch (kind) {
      case 0: e[i] = i * stride; break;
      case 1: e[i] = rng.below(n); break;
      case 2: e[i] = rng.below(few); break;
      case 3: e[i] = i / rows * pitch + i % rows * step; break;
      case 4: e[i] = i / rows * pitch + ((i % rows) ^ (i / rows & swizzle)) * step; break;
      case 5: e[i] = rng.below(few) * (128 / std::min(bytes, 16u)) + rng.below(rows); break;  // many of a bank
      default: e[i] = i; break;
    }
  }
  if (kind == 6) for (uint32_t i = kBankLanes; i > 1; i--) std::swap(e[i - 1], e[rng.below(i)]);
  // Lanes at the same place as others, and then some that are not.
  if (systematic < 0 && !rng.chance(3)) {
    const uint32_t masks[] = {1, 2, 3, 4, 8, 16, 17, 24, 28, 6};
    const uint32_t away = masks[rng.below(10)];
    for (uint32_t i = 0; i < kBankLanes; i++) e[i] = e[i & ~away];
    if (rng.chance(3)) e[rng.below(kBankLanes)] = rng.below(n);
    if (rng.chance(3)) for (uint32_t i = 16; i < kBankLanes; i++) e[i] += step;
  }
  for (uint32_t i = 0; i < kBankLanes; i++) p.at[i] = static_cast<uint16_t>(e[i] % n * bytes);
}

// bank_lanes chooses which lanes are active.
inline uint32_t bank_lanes(Rng& rng) {
  const uint32_t some[] = {0x55555555, 0xaaaaaaaa, 0x33333333, 0x0f0f0f0f, 0x00ff00ff,
                           0x11111111, 0xffff,     0xffff0000, 0xff,       0xf};
  switch (rng.below(10)) {
    case 0: return some[rng.below(10)];
    case 1: return rng.next() | 1;
    case 2: return (rng.next() & rng.next()) | 1u << rng.below(32);
    case 3: return ~(1u << rng.below(32) | 1u << rng.below(32));
    case 4: return 1u << rng.below(32);
    default: return ~0u;
  }
}

// bank_patterns chooses those of an instruction: some strides and others, most where parts of a warp may go together.
inline std::vector<BankPattern> bank_patterns(Rng& rng, int op, int strides, int others) {
  if (op == kBankLd64 || op == kBankLd128 || op == kBankSt64 || op == kBankSt128) others *= 4;
  std::vector<BankPattern> all(strides + others);
  for (int i = 0; i < strides + others; i++) {
    bank_places(rng, kBankOps[op].bytes, i < strides ? i : -1, all[i]);
    if (i >= strides && !kBankOps[op].matrix) all[i].mask = bank_lanes(rng);
  }
  return all;
}

inline void print_bank(File& out, int op, const BankPattern& p, double taken) {
  out.print("%s %08x %.2f ", kBankOps[op].name, p.mask, taken);
  for (uint16_t at : p.at) out.print("%04x", at);
  out.print("\n");
}

// bank_measure measures patterns of an instruction, and returns the cycles of each.
template <int op>
std::vector<double> bank_measure(const std::vector<BankPattern>& all) {
  constexpr int kFew = 8, kMany = 24;
  constexpr size_t kBytes = kBankWarps * kBankBytes + 1024;
  Buffer<BankPattern> patterns(all);
  Buffer<uint32_t> cycles(all.size()), sink(1);
  CHECK(cudaFuncSetAttribute(bank_kernel<op>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  bank_kernel<op><<<all.size(), kBankWarps * kBankLanes, kBytes>>>(patterns.get(), 0, kFew, kMany, cycles.get(),
                                                                   sink.get());
  finish(kBankOps[op].name, 0);
  std::vector<double> each;
  for (uint32_t c : cycles.take()) each.push_back(static_cast<double>(c) / ((kMany - kFew) * kBankUnroll * kBankWarps));
  return each;
}

// A record is the instruction, the lanes that are active, the cycles of one, and the lanes' addresses.
template <int op = 0>
size_t bank_records(File& out, Rng& rng) {
  if constexpr (op == kBankIds) {
    return 0;
  } else {
    const std::vector<BankPattern> all = bank_patterns(rng, op, std::size(kBankStrides), 15);
    const std::vector<double> cycles = bank_measure<op>(all);
    for (size_t i = 0; i < all.size(); i++) print_bank(out, op, all[i], cycles[i]);
    return all.size() + bank_records<op + 1>(out, rng);
  }
}

inline size_t probe_banks(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 20);
  File out(dir, "banks.txt");
  return bank_records(out, rng);
}
