// Changes of tensor maps: the instructions, and how a warp publishes a changed map.
#pragma once

#include "common.cuh"
#include "tensormap.cuh"

// The fields, PTX ISA 9.7.9.28, which numbers the element types in its own way.
enum Field {
  kGlobalAddress, kRank, kBoxDim, kGlobalDim, kGlobalStride, kElementStride, kElemType, kInterleave, kSwizzleMode, kFillMode
};
constexpr uint32_t kElemTypes[kTypes] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12};

struct Change {
  uint32_t field, ord;
  uint64_t value;  // of an address what it is behind that of the tensor
};

struct Changes {
  uint32_t n;
  Change at[32];
  void add(uint32_t field, uint32_t ord, uint64_t value) {
    if (n < 32) at[n++] = Change{field, ord, value};
  }
};

#define SET(space, field, type, c, T) \
  asm volatile("tensormap.replace.tile." field space ".b1024." type " [%0], %1;" ::"l"(map), c(static_cast<T>(v)) : "memory")
#define SET_AT(space, field, ord, type, c, T)                                                                         \
  asm volatile("tensormap.replace.tile." field space ".b1024." type " [%0], " ord ", %1;" ::"l"(map), c(static_cast<T>(v)) \
               : "memory")
#define SET_TO(space, field, value) \
  asm volatile("tensormap.replace.tile." field space ".b1024.b32 [%0], " value ";" ::"l"(map) : "memory")
#define SET_32(space, field)                                         \
  switch (ord) {                                                     \
    case 0: SET_AT(space, field, "0", "b32", "r", uint32_t); break;  \
    case 1: SET_AT(space, field, "1", "b32", "r", uint32_t); break;  \
    case 2: SET_AT(space, field, "2", "b32", "r", uint32_t); break;  \
    case 3: SET_AT(space, field, "3", "b32", "r", uint32_t); break;  \
    case 4: SET_AT(space, field, "4", "b32", "r", uint32_t); break;  \
  }                                                                  \
  break
#define REPLACE(name, space)                                                                        \
  __device__ inline void name(uint64_t map, uint32_t field, uint32_t ord, uint64_t v) {             \
    switch (field) {                                                                                \
      case kGlobalAddress: SET(space, "global_address", "b64", "l", uint64_t); break;               \
      case kRank: SET(space, "rank", "b32", "r", uint32_t); break;                                  \
      case kBoxDim: SET_32(space, "box_dim");                                                       \
      case kGlobalDim: SET_32(space, "global_dim");                                                 \
      case kElementStride: SET_32(space, "element_stride");                                         \
      case kGlobalStride:                                                                           \
        switch (ord) {                                                                              \
          case 0: SET_AT(space, "global_stride", "0", "b64", "l", uint64_t); break;                 \
          case 1: SET_AT(space, "global_stride", "1", "b64", "l", uint64_t); break;                 \
          case 2: SET_AT(space, "global_stride", "2", "b64", "l", uint64_t); break;                 \
          case 3: SET_AT(space, "global_stride", "3", "b64", "l", uint64_t); break;                 \
        }                                                                                           \
        break;                                                                                      \
      case kElemType:                                                                               \
        switch (v) {                                                                                \
          case 0: SET_TO(space, "elemtype", "0"); break;                                            \
          case 1: SET_TO(space, "elemtype", "1"); break;                                            \
          case 2: SET_TO(space, "elemtype", "2"); break;                                            \
          case 3: SET_TO(space, "elemtype", "3"); break;                                            \
          case 4: SET_TO(space, "elemtype", "4"); break;                                            \
          case 5: SET_TO(space, "elemtype", "5"); break;                                            \
          case 6: SET_TO(space, "elemtype", "6"); break;                                            \
          case 7: SET_TO(space, "elemtype", "7"); break;                                            \
          case 8: SET_TO(space, "elemtype", "8"); break;                                            \
          case 9: SET_TO(space, "elemtype", "9"); break;                                            \
          case 10: SET_TO(space, "elemtype", "10"); break;                                          \
          case 11: SET_TO(space, "elemtype", "11"); break;                                          \
          case 12: SET_TO(space, "elemtype", "12"); break;                                          \
        }                                                                                           \
        break;                                                                                      \
      case kInterleave:                                                                             \
        switch (v) {                                                                                \
          case 0: SET_TO(space, "interleave_layout", "0"); break;                                   \
          case 1: SET_TO(space, "interleave_layout", "1"); break;                                   \
          case 2: SET_TO(space, "interleave_layout", "2"); break;                                   \
        }                                                                                           \
        break;                                                                                      \
      case kSwizzleMode:                                                                            \
        switch (v) {                                                                                \
          case 0: SET_TO(space, "swizzle_mode", "0"); break;                                        \
          case 1: SET_TO(space, "swizzle_mode", "1"); break;                                        \
          case 2: SET_TO(space, "swizzle_mode", "2"); break;                                        \
          case 3: SET_TO(space, "swizzle_mode", "3"); break;                                        \
        }                                                                                           \
        break;                                                                                      \
      case kFillMode:                                                                               \
        switch (v) {                                                                                \
          case 0: SET_TO(space, "fill_mode", "0"); break;                                           \
          case 1: SET_TO(space, "fill_mode", "1"); break;                                           \
        }                                                                                           \
        break;                                                                                      \
    }                                                                                               \
  }
REPLACE(replace_shared, ".shared::cta")
REPLACE(replace_global, ".global")
#undef SET
#undef SET_AT
#undef SET_TO
#undef SET_32
#undef REPLACE

// publish is a warp that changes a map: in shared memory, from where tensormap.cp_fenceproxy copies it to slot, or in slot
// itself, with a fence behind it.
__device__ inline void publish(const CUtensorMap* base, const Changes& changes, bool in_global, CUtensorMap* slot) {
  __shared__ alignas(128) CUtensorMap shared;
  const uint64_t global = static_cast<uint64_t>(__cvta_generic_to_global(slot));
  const uint32_t address = shared_address(&shared);
  if (threadIdx.x == 0) {
    CUtensorMap* to = in_global ? slot : &shared;
    for (int i = 0; i < 16; i++) {
      reinterpret_cast<volatile uint64_t*>(to)[i] = reinterpret_cast<const uint64_t*>(base)[i];
    }
    for (uint32_t i = 0; i < changes.n; i++) {
      const Change& c = changes.at[i];
      if (in_global) {
        replace_global(global, c.field, c.ord, c.value);
      } else {
        replace_shared(address, c.field, c.ord, c.value);
      }
    }
    if (in_global) asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
  }
  __syncwarp();
  if (!in_global) {
    asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
                     global),
                 "r"(address)
                 : "memory");
  }
}
