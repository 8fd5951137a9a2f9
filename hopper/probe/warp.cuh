// warp.txt: what a warp does as one (shuffles, votes, matches, reductions, ldmatrix and stmatrix),
// and atomic.txt: atomics of one thread on shared and global memory.
#pragma once

#include "reduce.cuh"

constexpr uint32_t kLanes = 32;
constexpr uint32_t kMatrixRows = 64;  // of 16 bytes, of which the matrices of a record are some
constexpr uint32_t kWarpWords = kMatrixRows * 4;

// Instructions of a warp. Each lane has the words a and b, and leaves a word of the result, or those of its matrices;
// lanes that are not in the mask leave zeros.
enum WarpOp : int {
  kShflIdx, kShflUp, kShflDown, kShflXor,
  kBallot, kAny, kAll, kMatchAny, kMatchAll,
  kReduxAddU, kReduxAddS, kReduxMinU, kReduxMinS, kReduxMaxU, kReduxMaxS, kReduxAnd, kReduxOr, kReduxXor,
  kLoad1, kLoad2, kLoad4, kLoad1T, kLoad2T, kLoad4T,
  kStore1, kStore2, kStore4, kStore1T, kStore2T, kStore4T,
  kWarpOps,
};

constexpr const char* kWarpNames[kWarpOps] = {
    "shfl.idx", "shfl.up", "shfl.down", "shfl.bfly", "vote.ballot", "vote.any", "vote.all", "match.any", "match.all",
    "redux.add.u32", "redux.add.s32", "redux.min.u32", "redux.min.s32", "redux.max.u32", "redux.max.s32",
    "redux.and.b32", "redux.or.b32", "redux.xor.b32",
    "ldmatrix.x1", "ldmatrix.x2", "ldmatrix.x4", "ldmatrix.x1.trans", "ldmatrix.x2.trans", "ldmatrix.x4.trans",
    "stmatrix.x1", "stmatrix.x2", "stmatrix.x4", "stmatrix.x1.trans", "stmatrix.x2.trans", "stmatrix.x4.trans",
};

__host__ __device__ constexpr uint32_t matrices(int op) { return 1u << (op - kLoad1) % 3; }

#define REDUX(op, text) \
  case op: asm volatile("redux.sync." text " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(mask)); break;
#define SHFL(op, mode, low)                                                                       \
  case op:                                                                                        \
    asm volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, %4;"                                     \
                 : "=r"(r) : "r"(a), "r"(b), "r"((32 - n) << 8 | (low)), "r"(mask));              \
    break;
#define MATRIX1(op, text) \
  case op: asm volatile(text " {%0}, [%1];" : "=r"(x[0]) : "r"(row) : "memory"); break;
#define MATRIX2(op, text) \
  case op: asm volatile(text " {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(row) : "memory"); break;
#define MATRIX4(op, text)                                                                         \
  case op:                                                                                        \
    asm volatile(text " {%0, %1, %2, %3}, [%4];"                                                  \
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");         \
    break;
#define STORE1(op, text) \
  case op: asm volatile(text " [%1], {%0};" ::"r"(x[0]), "r"(row) : "memory"); break;
#define STORE2(op, text) \
  case op: asm volatile(text " [%2], {%0, %1};" ::"r"(x[0]), "r"(x[1]), "r"(row) : "memory"); break;
#define STORE4(op, text)                                                                          \
  case op:                                                                                        \
    asm volatile(text " [%4], {%0, %1, %2, %3};"                                                  \
                 ::"r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(row) : "memory");              \
    break;

__device__ inline uint32_t warp_word(int op, uint32_t mask, uint32_t n, uint32_t a, uint32_t b) {
  uint32_t r = 0;
  switch (op) {
    SHFL(kShflIdx, "idx", 0x1f) SHFL(kShflUp, "up", 0) SHFL(kShflDown, "down", 0x1f) SHFL(kShflXor, "bfly", 0x1f)
    case kBallot: r = __ballot_sync(mask, a != 0); break;
    case kAny: r = __any_sync(mask, a != 0) != 0; break;
    case kAll: r = __all_sync(mask, a != 0) != 0; break;
    case kMatchAny: r = __match_any_sync(mask, a); break;
    case kMatchAll: { int all; r = __match_all_sync(mask, a, &all); break; }
    REDUX(kReduxAddU, "add.u32") REDUX(kReduxAddS, "add.s32") REDUX(kReduxMinU, "min.u32") REDUX(kReduxMinS, "min.s32")
    REDUX(kReduxMaxU, "max.u32") REDUX(kReduxMaxS, "max.s32") REDUX(kReduxAnd, "and.b32") REDUX(kReduxOr, "or.b32")
    REDUX(kReduxXor, "xor.b32")
  }
  return r;
}

__device__ inline void warp_matrix(int op, uint32_t row, uint32_t x[4]) {
  switch (op) {
    MATRIX1(kLoad1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")
    MATRIX2(kLoad2, "ldmatrix.sync.aligned.m8n8.x2.shared.b16")
    MATRIX4(kLoad4, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")
    MATRIX1(kLoad1T, "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16")
    MATRIX2(kLoad2T, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
    MATRIX4(kLoad4T, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
    STORE1(kStore1, "stmatrix.sync.aligned.m8n8.x1.shared.b16")
    STORE2(kStore2, "stmatrix.sync.aligned.m8n8.x2.shared.b16")
    STORE4(kStore4, "stmatrix.sync.aligned.m8n8.x4.shared.b16")
    STORE1(kStore1T, "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16")
    STORE2(kStore2T, "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16")
    STORE4(kStore4T, "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
  }
}

// warp_kernel does op once. For matrices b is the row of shared memory whose address the lane gives; a is the memory
// that is loaded, or the registers that are stored, those of a lane side by side.
__global__ void warp_kernel(int op, uint32_t mask, uint32_t n, const uint32_t* a, const uint32_t* b, uint32_t* result) {
  __shared__ __align__(16) uint32_t memory[kWarpWords];
  const uint32_t lane = threadIdx.x;
  if (op < kLoad1) {
    result[lane] = mask >> lane & 1 ? warp_word(op, mask, n, a[lane], b[lane]) : 0;
    return;
  }
  const bool load = op < kStore1;
  const uint32_t m = matrices(op);
  uint32_t x[4] = {};
  for (uint32_t i = lane; i < kWarpWords; i += kLanes) memory[i] = load ? a[i] : 0;
  for (uint32_t i = 0; i < m && !load; i++) x[i] = a[lane * m + i];
  __syncwarp();
  warp_matrix(op, shared_address(&memory[4 * b[lane]]), x);
  __syncwarp();
  for (uint32_t i = 0; i < m && load; i++) result[lane * m + i] = x[i];
  for (uint32_t i = lane; i < kWarpWords && !load; i += kLanes) result[i] = memory[i];
}

inline void print_words(File& out, const std::vector<uint32_t>& words) {
  out.print(" ");
  for (uint32_t w : words) out.print("%08x", w);
}

// A record is the name, the mask, the width of a shuffle or 0, a, b and the result.
inline size_t probe_warp(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 8);
  Buffer<uint32_t> memory_a(kWarpWords), memory_b(kLanes), result(kWarpWords);
  size_t records = 0;
  File out(dir, "warp.txt");
  for (int round = 0; round < 8; round++) {
    for (int op = 0; op < kWarpOps; op++) {
      uint32_t mask = ~0u, n = 0, words = kLanes;
      std::vector<uint32_t> a(kLanes), b(kLanes);
      const bool few = op >= kBallot && op <= kMatchAll;  // values
      const uint32_t most = rng.range(1, 3);
      for (uint32_t& w : a) w = few ? rng.below(most) : rng.next();
      if (op <= kShflXor) {
        n = 1u << rng.below(6);
        for (uint32_t& w : b) w = op == kShflXor ? rng.below(32) : rng.below(rng.chance(4) ? 64 : 32);
        if (op == kShflXor && round % 2) b.assign(kLanes, b[0]);
        if (op == kShflUp || op == kShflDown) for (uint32_t& w : b) w %= 32;
      } else if (op < kLoad1) {
        if (round % 4) mask = rng.next() & rng.next() | 1u << rng.below(32);
        if (rng.chance(4)) a.assign(kLanes, a[0]);
      } else {
        std::vector<uint32_t> rows(kMatrixRows);
        for (uint32_t i = 0; i < kMatrixRows; i++) {
          const uint32_t j = rng.below(i + 1);
          rows[i] = rows[j];
          rows[j] = i;
        }
        for (uint32_t i = 0; i < kLanes; i++) b[i] = rows[i];
        const bool load = op < kStore1;
        a.resize(load ? kWarpWords : kLanes * matrices(op));
        for (uint32_t& w : a) w = rng.next();
        words = load ? kLanes * matrices(op) : kWarpWords;
      }
      memory_a.put(a);
      memory_b.put(b);
      warp_kernel<<<1, kLanes>>>(op, mask, n, memory_a.get(), memory_b.get(), result.get());
      finish(kWarpNames[op], records);
      out.print("%s %08x %u", kWarpNames[op], mask, n);
      print_words(out, a);
      print_words(out, b);
      print_words(out, result.take(words));
      out.print("\n");
      records++;
    }
  }
  return records;
}

// The atomics: name, type as maps have it, in C++, and the call on p with the operand x and, for cas, what it is
// compared with.
#define ATOMICS(X)                                                                                      \
  X(add_u32, kU32, unsigned, atomicAdd(p, x)) X(add_s32, kS32, int, atomicAdd(p, x))                    \
  X(add_u64, kU64, unsigned long long, atomicAdd(p, x)) X(add_f32, kF32, float, atomicAdd(p, x))        \
  X(add_f64, kF64, double, atomicAdd(p, x))                                                             \
  X(sub_u32, kU32, unsigned, atomicSub(p, x)) X(sub_s32, kS32, int, atomicSub(p, x))                    \
  X(exch_u32, kU32, unsigned, atomicExch(p, x)) X(exch_s32, kS32, int, atomicExch(p, x))                \
  X(exch_u64, kU64, unsigned long long, atomicExch(p, x)) X(exch_f32, kF32, float, atomicExch(p, x))    \
  X(min_u32, kU32, unsigned, atomicMin(p, x)) X(min_s32, kS32, int, atomicMin(p, x))                    \
  X(min_u64, kU64, unsigned long long, atomicMin(p, x)) X(min_s64, kS64, long long, atomicMin(p, x))    \
  X(max_u32, kU32, unsigned, atomicMax(p, x)) X(max_s32, kS32, int, atomicMax(p, x))                    \
  X(max_u64, kU64, unsigned long long, atomicMax(p, x)) X(max_s64, kS64, long long, atomicMax(p, x))    \
  X(inc_u32, kU32, unsigned, atomicInc(p, x))                                                           \
  X(dec_u32, kU32, unsigned, atomicDec(p, x))                                                           \
  X(and_u32, kU32, unsigned, atomicAnd(p, x)) X(and_s32, kS32, int, atomicAnd(p, x))                    \
  X(and_u64, kU64, unsigned long long, atomicAnd(p, x))                                                 \
  X(or_u32, kU32, unsigned, atomicOr(p, x)) X(or_s32, kS32, int, atomicOr(p, x))                        \
  X(or_u64, kU64, unsigned long long, atomicOr(p, x))                                                   \
  X(xor_u32, kU32, unsigned, atomicXor(p, x)) X(xor_s32, kS32, int, atomicXor(p, x))                    \
  X(xor_u64, kU64, unsigned long long, atomicXor(p, x))                                                 \
  X(cas_u32, kU32, unsigned, atomicCAS(p, compare, x)) X(cas_s32, kS32, int, atomicCAS(p, compare, x))  \
  X(cas_u64, kU64, unsigned long long, atomicCAS(p, compare, x))

struct AtomicOp {
  const char* name;
  int dtype;
};
#define ROW(name, dtype, T, call) {#name, dtype},
constexpr AtomicOp kAtomics[] = {ATOMICS(ROW)};
#undef ROW
#define ID(name, dtype, T, call) k_##name,
enum AtomicId : int { ATOMICS(ID) };
#undef ID

template <typename T>
__device__ T of_word(unsigned long long word) {
  T v;
  memcpy(&v, &word, sizeof v);
  return v;
}

template <typename T>
__device__ unsigned long long to_word(T v) {
  unsigned long long word = 0;
  memcpy(&word, &v, sizeof v);
  return word;
}

// words: before, operand, compare, then what is returned and what is left; and the place if that is global.
__global__ void atomic_kernel(int op, bool global, unsigned long long* words) {
  __shared__ unsigned long long there;
#define CASE(name, dtype, T, call)                                                     \
  case k_##name: {                                                                     \
    T* p = global ? reinterpret_cast<T*>(&words[5]) : reinterpret_cast<T*>(&there);    \
    const T x = of_word<T>(words[1]), compare = of_word<T>(words[2]);                  \
    *p = of_word<T>(words[0]);                                                         \
    __threadfence();                                                                   \
    words[3] = to_word<T>(call);                                                       \
    __threadfence();                                                                   \
    words[4] = to_word<T>(*static_cast<volatile T*>(p));                               \
    (void)compare;                                                                     \
    break;                                                                             \
  }
  switch (op) { ATOMICS(CASE) }
#undef CASE
}

// special_float is infinite, NaN, subnormal, a zero or the largest or smallest that is normal, of either sign.
inline uint64_t special_float(Rng& rng, int dtype) {
  const int fraction = dtype == kF64 ? 52 : 23, bits = dtype == kF64 ? 64 : 32;
  const uint64_t ones = (1ull << fraction) - 1, infinity = ((1ull << (bits - 1)) - 1) & ~ones;
  const uint64_t nan = infinity | (rng.next() & 0x3fffff) | 1, quiet = 1ull << (fraction - 1);
  const uint64_t all[] = {infinity, nan, nan | quiet, rng.below(1 << 22) + 1, 0, infinity - 1, ones + 1};
  return all[rng.below(7)] | static_cast<uint64_t>(rng.below(2)) << (bits - 1);
}

// A record is the place, the operation, and the words in hexadecimal. Global memory is not as shared only where floats
// are added.
inline size_t probe_atomics(const std::string& dir, uint64_t seed) {
  Rng rng(seed, 9);
  Buffer<unsigned long long> words(6);
  size_t records = 0;
  File out(dir, "atomic.txt");
  int i = 0;
  for (const AtomicOp& op : kAtomics) {
    const bool floats = op.dtype == kF32 || op.dtype == kF64;
    for (int round = floats ? 96 : 12; round > 0; round--) {
      for (bool global : {false, true}) {
        if (global && (!floats || op.name[0] != 'a')) continue;
        const uint32_t size = 8 * kTypeBytes[op.dtype];
        const uint64_t bits = ~0ull >> (64 - size);
        std::vector<unsigned long long> w(6);
        for (int j = 0; j < 3; j++) {
          w[j] = (floats && rng.chance(2) ? special_float(rng, op.dtype) : random_element(rng, op.dtype)) & bits;
        }
        if (rng.chance(2)) w[2] = w[0];
        if (rng.chance(4)) w[1] = w[0] ^ (floats ? static_cast<uint64_t>(rng.below(2)) << (size - 1) : 0);
        words.put(w);
        atomic_kernel<<<1, 1>>>(i, global, words.get());
        finish(op.name, records);
        out.print("%s %s", global ? "global" : "shared", op.name);
        for (unsigned long long v : words.take(5)) out.print(" %llx", v & bits);
        out.print("\n");
        records++;
      }
    }
    i++;
  }
  return records;
}
