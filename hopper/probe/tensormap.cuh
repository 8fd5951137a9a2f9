// tensormap.txt, tensormap_im2col.txt: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col accept and what they refuse.
#pragma once

#include "common.cuh"

// Values of CUtensorMapDataType, with the bytes of an element.
constexpr int kTypes = 13;
constexpr uint32_t kTypeBytes[kTypes] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
constexpr int kU32 = 2, kS32 = 3, kU64 = 4, kS64 = 5, kF16 = 6, kF32 = 7, kF64 = 8, kBF16 = 9, kF32FTZ = 10, kTF32 = 11, kTF32FTZ = 12;

// The span of CUtensorMapSwizzle in bytes.
constexpr uint32_t kSpans[4] = {0, 32, 64, 128};

// MapArgs are the arguments of one call. The arrays are longer than the largest
// rank, so that a rank of 6 reads nothing outside.
struct MapArgs {
  int dtype = 0;
  uint32_t rank = 1;
  uint64_t address = 0;
  uint64_t dims[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  uint64_t strides[8] = {16, 16, 16, 16, 16, 16, 16, 16};
  uint32_t box[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  uint32_t estride[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  int swizzle = 0, l2 = 0, nan_fill = 0;
  bool im2col = false;  // then the box is channelsPerPixel and pixelsPerColumn
  int lower[8] = {}, upper[8] = {};
};

// driver finds a function of the driver without linking against that.
template <typename F>
inline F* driver(const char* name) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  CHECK(cudaGetDriverEntryPointByVersion(name, &p, 12000, cudaEnableDefault, &found));
#else
  CHECK(cudaGetDriverEntryPoint(name, &p, cudaEnableDefault, &found));
#endif
  if (found != cudaDriverEntryPointSuccess || p == nullptr) fatal("the driver has no %s", name);
  return reinterpret_cast<F*>(p);
}

inline CUresult encode(CUtensorMap* map, const MapArgs& a) {
  static const auto tiled = driver<decltype(cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  static const auto im2col = driver<decltype(cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  const auto dtype = static_cast<CUtensorMapDataType>(a.dtype);
  const auto address = reinterpret_cast<void*>(a.address);
  const auto dims = reinterpret_cast<const cuuint64_t*>(a.dims), strides = reinterpret_cast<const cuuint64_t*>(a.strides);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(a.swizzle);
  const auto l2 = static_cast<CUtensorMapL2promotion>(a.l2);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(a.nan_fill);
  if (a.im2col) {
    return im2col(map, dtype, a.rank, address, dims, strides, a.lower, a.upper, a.box[0], a.box[1], a.estride,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, l2, fill);
  }
  return tiled(map, dtype, a.rank, address, dims, strides, a.box, a.estride, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, l2, fill);
}

// random_map makes mostly acceptable arguments and now and then breaks a rule.
inline MapArgs random_map(Rng& rng, uint64_t base) {
  static const uint64_t sizes[] = {1, 2, 7, 16, 32, 33, 100, 128, 256, 300, 512, 1000, 4096, 65536, 1ull << 32};
  static const uint32_t boxes[] = {1, 2, 3, 4, 5, 7, 8, 16, 17, 32, 64, 100, 128, 255, 256};
  static const uint32_t misaligned[] = {1, 2, 4, 8, 16, 32, 64, 48};
  MapArgs a;
  a.dtype = rng.below(kTypes);
  a.rank = rng.chance(60) ? (rng.chance(2) ? 0 : 6) : rng.range(1, 5);
  a.address = base + (rng.chance(12) ? misaligned[rng.below(8)] : 0);
  a.swizzle = rng.below(4);
  a.l2 = rng.below(4);
  const bool is_float = a.dtype >= kF16;
  a.nan_fill = is_float ? rng.below(2) : rng.chance(16);
  const uint64_t bytes = kTypeBytes[a.dtype];

  for (int d = 0; d < 5; d++) {
    a.dims[d] = sizes[rng.below(sizeof sizes / sizeof sizes[0])];
    if (rng.chance(200)) a.dims[d] = rng.chance(2) ? 0 : (1ull << 32) + 1;
    a.box[d] = boxes[rng.below(d < 2 ? 15 : 7)];
    if (rng.chance(150)) a.box[d] = rng.chance(2) ? 0 : 257;
    a.estride[d] = rng.chance(10) ? rng.range(1, 8) : 1;
    if (rng.chance(200)) a.estride[d] = rng.chance(2) ? 0 : 9;
  }
  // A row of the box that is whole 16-byte chunks and fits the swizzle, as a rule.
  if (!rng.chance(16)) {
    const uint32_t span = kSpans[a.swizzle];
    const uint32_t chunks = rng.range(1, span != 0 ? span / 16 : bytes == 1 ? 16 : 32);
    a.box[0] = static_cast<uint32_t>(16 * chunks / bytes);
  }
  uint64_t pitch = a.dims[0] * bytes;
  for (int d = 0; d < 4; d++) {
    pitch = (pitch + 15) / 16 * 16;
    if (rng.chance(8)) pitch += 16 * rng.range(1, 4);
    if (pitch >= 1ull << 40 && !rng.chance(8)) pitch = (1ull << 40) - 16 * rng.range(1, 64);
    a.strides[d] = pitch;
    if (rng.chance(60)) a.strides[d] += misaligned[rng.below(4)];
    if (rng.chance(60)) a.strides[d] = 16 * rng.below(4);
    if (rng.chance(100)) a.strides[d] = 1ull << 40;
    pitch *= a.dims[d + 1];
  }
  return a;
}

// too_large reports a box beyond the shared memory of a block, of which the
// recordings say nothing.
inline bool too_large(const MapArgs& a) {
  uint64_t row = static_cast<uint64_t>(a.box[0]) * kTypeBytes[a.dtype];
  if (row < kSpans[a.swizzle]) row = kSpans[a.swizzle];
  for (uint32_t d = 1; d < (a.im2col ? 2 : a.rank) && d < 5; d++) row *= a.box[d];
  return row > 232448;
}

// random_im2col_map makes an im2col map of random_map's arguments.
inline MapArgs random_im2col_map(Rng& rng, uint64_t base) {
  static const int limits[] = {1 << 15, 1 << 15, 1 << 15, 1 << 15, 1 << 7, 1 << 4, 1 << 4};
  static const uint64_t large[] = {(1ull << 31) - 1, 1ull << 31, (1ull << 31) + 1, 3ull << 30, (1ull << 32) - 1};
  static const uint32_t pixels[] = {1, 2, 3, 16, 63, 64, 100, 128, 200, 256, 257, 512, 1000, 1023, 1024};
  MapArgs a = random_map(rng, base);
  a.im2col = true;
  a.rank = rng.chance(30) ? (rng.chance(2) ? 2 : 6) : rng.range(3, 5);
  a.box[1] = pixels[rng.below(15)];
  if (rng.chance(40)) a.box[1] = rng.chance(2) ? 0 : 1025;
  const int limit = limits[a.rank];
  for (int d = 0; d < 3; d++) {
    if (rng.chance(3)) a.dims[1 + d] = rng.chance(10) ? large[rng.below(5)] : rng.range(1, 12);
    const auto corner = [&] {
      if (rng.chance(60)) return rng.chance(2) ? -limit - 1 : limit;
      if (rng.chance(12)) return rng.chance(2) ? -limit : limit - 1;
      return rng.chance(3) ? 0 : rng.range(-4, 3);
    };
    a.lower[d] = corner();
    a.upper[d] = corner();
  }
  return a;
}

inline size_t probe_maps(const std::string& dir, const char* name, size_t calls, Rng rng, bool im2col) {
  Buffer<unsigned char> memory(1 << 20);
  const uint64_t base = (reinterpret_cast<uint64_t>(memory.get()) + 4095) / 4096 * 4096;
  File out(dir, name);
  out.print("dtype rank addr_off dims strides %s estr interleave swizzle l2 oob result\n",
            im2col ? "lower upper channels pixels" : "box");
  for (size_t i = 0; i < calls;) {
    const MapArgs a = im2col ? random_im2col_map(rng, base) : random_map(rng, base);
    if (too_large(a)) continue;
    i++;
    alignas(64) CUtensorMap map;
    const CUresult result = encode(&map, a);
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_INVALID_VALUE) fatal("%s %zu: error %d", name, i, result);
    out.print("%d %u %llu ", a.dtype, a.rank, static_cast<unsigned long long>(a.address % 4096));
    for (int d = 0; d < 5; d++) out.print("%llu%c", static_cast<unsigned long long>(a.dims[d]), d < 4 ? ',' : ' ');
    for (int d = 0; d < 4; d++) out.print("%llu%c", static_cast<unsigned long long>(a.strides[d]), d < 3 ? ',' : ' ');
    if (im2col) {
      out.print("%d,%d,%d %d,%d,%d %u %u ", a.lower[0], a.lower[1], a.lower[2], a.upper[0], a.upper[1], a.upper[2], a.box[0],
                a.box[1]);
    } else {
      for (int d = 0; d < 5; d++) out.print("%u%c", a.box[d], d < 4 ? ',' : ' ');
    }
    for (int d = 0; d < 5; d++) out.print("%u%c", a.estride[d], d < 4 ? ',' : ' ');
    out.print("0 %d %d %d %d\n", a.swizzle, a.l2, a.nan_fill, static_cast<int>(result));
  }
  return calls;
}

inline size_t probe_tensormap(const std::string& dir, uint64_t seed) {
  return probe_maps(dir, "tensormap.txt", 9000, Rng(seed, 2), false);
}

inline size_t probe_im2col_maps(const std::string& dir, uint64_t seed) {
  return probe_maps(dir, "tensormap_im2col.txt", 3000, Rng(seed, 10), true);
}
