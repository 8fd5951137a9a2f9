// Copies through tensor maps: the instructions.
#pragma once

#include "common.cuh"

// Coord is where an instruction copies, and in which mode.
struct Coord {
  int32_t c[5];
  bool im2col;
  uint16_t offset[3];  // of im2col loads
};

// The copies, PTX ISA 9.7.9.27. Every rank is an instruction of its own.

__device__ inline void im2col_load(uint32_t rank, uint32_t dst, const CUtensorMap* map, const Coord& at, uint32_t bar) {
#define LOAD(dims, coords, offsets, ...)                                                                                   \
  asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {" coords \
               "}], [%2], {" offsets "};" ::"r"(dst), "l"(map), "r"(bar), __VA_ARGS__ : "memory")
  const int32_t* c = at.c;
  const uint16_t* o = at.offset;
  switch (rank) {
    case 3: LOAD("3d", "%3, %4, %5", "%6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(o[0])); break;
    case 4:
      LOAD("4d", "%3, %4, %5, %6", "%7, %8", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(o[0]), "h"(o[1]));
      break;
    case 5:
      LOAD("5d", "%3, %4, %5, %6, %7", "%8, %9, %10", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]), "h"(o[0]), "h"(o[1]),
           "h"(o[2]));
      break;
  }
#undef LOAD
}

__device__ inline void im2col_multicast(uint32_t rank, uint32_t dst, const CUtensorMap* map, const Coord& at, uint32_t bar,
                                        uint16_t mask) {
#define LOAD(dims, coords, offsets, ...)                                                                                        \
  asm volatile("cp.async.bulk.tensor." dims                                                                                      \
               ".shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" coords "}], [%2], {" \
               offsets "}, %3;" ::"r"(dst), "l"(map), "r"(bar), "h"(mask), __VA_ARGS__ : "memory")
  const int32_t* c = at.c;
  const uint16_t* o = at.offset;
  switch (rank) {
    case 3: LOAD("3d", "%4, %5, %6", "%7", "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(o[0])); break;
    case 4:
      LOAD("4d", "%4, %5, %6, %7", "%8, %9", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(o[0]), "h"(o[1]));
      break;
    case 5:
      LOAD("5d", "%4, %5, %6, %7, %8", "%9, %10, %11", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]), "h"(o[0]),
           "h"(o[1]), "h"(o[2]));
      break;
  }
#undef LOAD
}

__device__ inline void im2col_store(uint32_t rank, uint32_t red, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define ISSUE(name, dims, mode, coords, ...)                                                                      \
  asm volatile(name dims ".global.shared::cta" mode ".im2col_no_offs.bulk_group [%0, {" coords "}], [%1];" ::"l"(map), \
               "r"(src), __VA_ARGS__ : "memory")
#define RANKS(name, mode)                                                                                                \
  switch (rank) {                                                                                                        \
    case 3: ISSUE(name, "3d", mode, "%2, %3, %4", "r"(c[0]), "r"(c[1]), "r"(c[2])); break;                                 \
    case 4: ISSUE(name, "4d", mode, "%2, %3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); break;                  \
    case 5: ISSUE(name, "5d", mode, "%2, %3, %4, %5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])); break; \
  }                                                                                                                      \
  break
#define REDUCE(op) RANKS("cp.reduce.async.bulk.tensor.", op)
  const int32_t* c = at.c;
  switch (red) {
    case 0: RANKS("cp.async.bulk.tensor.", "");
    case 1: REDUCE(".add");
    case 2: REDUCE(".min");
    case 3: REDUCE(".max");
    case 4: REDUCE(".inc");
    case 5: REDUCE(".dec");
    case 6: REDUCE(".and");
    case 7: REDUCE(".or");
    case 8: REDUCE(".xor");
  }
#undef ISSUE
#undef RANKS
#undef REDUCE
}

__device__ inline void tma_load(uint32_t rank, uint32_t dst, const CUtensorMap* map, const Coord& at, uint32_t bar) {
  if (at.im2col) return im2col_load(rank, dst, map, at, bar);
#define LOAD(dims) "cp.async.bulk.tensor." dims ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "
  switch (rank) {
    case 1:
      asm volatile(LOAD("1d") "[%0], [%1, {%3}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]) : "memory");
      break;
    case 2:
      asm volatile(LOAD("2d") "[%0], [%1, {%3, %4}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]) : "memory");
      break;
    case 3:
      asm volatile(LOAD("3d") "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]) : "memory");
      break;
    case 4:
      asm volatile(LOAD("4d") "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]), "r"(at.c[3]) : "memory");
      break;
    case 5:
      asm volatile(LOAD("5d") "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(dst), "l"(map), "r"(bar), "r"(at.c[0]), "r"(at.c[1]),
                   "r"(at.c[2]), "r"(at.c[3]), "r"(at.c[4]) : "memory");
      break;
  }
#undef LOAD
}

__device__ inline void tma_store(uint32_t rank, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define STORE(dims) "cp.async.bulk.tensor." dims ".global.shared::cta.tile.bulk_group "
  switch (rank) {
    case 1:
      asm volatile(STORE("1d") "[%0, {%2}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]) : "memory");
      break;
    case 2:
      asm volatile(STORE("2d") "[%0, {%2, %3}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]) : "memory");
      break;
    case 3:
      asm volatile(STORE("3d") "[%0, {%2, %3, %4}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]) : "memory");
      break;
    case 4:
      asm volatile(STORE("4d") "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]),
                   "r"(at.c[3]) : "memory");
      break;
    case 5:
      asm volatile(STORE("5d") "[%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]), "r"(at.c[2]),
                   "r"(at.c[3]), "r"(at.c[4]) : "memory");
      break;
  }
#undef STORE
}

__device__ inline void tma_reduce(uint32_t red, const CUtensorMap* map, const Coord& at, uint32_t src) {
#define REDUCE(op)                                                                                        \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op ".tile.bulk_group [%0, {%2, %3}], [%1];" \
               ::"l"(map), "r"(src), "r"(at.c[0]), "r"(at.c[1]) : "memory")
  switch (red) {
    case 1: REDUCE("add"); break;
    case 2: REDUCE("min"); break;
    case 3: REDUCE("max"); break;
    case 4: REDUCE("inc"); break;
    case 5: REDUCE("dec"); break;
    case 6: REDUCE("and"); break;
    case 7: REDUCE("or"); break;
    case 8: REDUCE("xor"); break;
  }
#undef REDUCE
}

__device__ inline void tma_prefetch(uint32_t rank, const CUtensorMap* map, const Coord& at) {
#define TILE(dims, coords, ...) \
  asm volatile("cp.async.bulk.prefetch.tensor." dims ".L2.global.tile [%0, {" coords "}];" ::"l"(map), __VA_ARGS__ : "memory")
#define IM2COL(dims, coords, offsets, ...)                                                                              \
  asm volatile("cp.async.bulk.prefetch.tensor." dims ".L2.global.im2col [%0, {" coords "}], {" offsets "};" ::"l"(map), \
               __VA_ARGS__ : "memory")
  const int32_t* c = at.c;
  const uint16_t* o = at.offset;
  switch (at.im2col ? rank + 5 : rank) {
    case 1: TILE("1d", "%1", "r"(c[0])); break;
    case 2: TILE("2d", "%1, %2", "r"(c[0]), "r"(c[1])); break;
    case 3: TILE("3d", "%1, %2, %3", "r"(c[0]), "r"(c[1]), "r"(c[2])); break;
    case 4: TILE("4d", "%1, %2, %3, %4", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])); break;
    case 5: TILE("5d", "%1, %2, %3, %4, %5", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])); break;
    case 8: IM2COL("3d", "%1, %2, %3", "%4", "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(o[0])); break;
    case 9:
      IM2COL("4d", "%1, %2, %3, %4", "%5, %6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(o[0]), "h"(o[1]));
      break;
    case 10:
      IM2COL("5d", "%1, %2, %3, %4, %5", "%6, %7, %8", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]), "h"(o[0]),
             "h"(o[1]), "h"(o[2]));
      break;
  }
#undef TILE
#undef IM2COL
}
