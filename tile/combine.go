package tile

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"example.com/leafhopper/bf16"
)

// A combiner replaces every whole element of dst, a chunk or the start of one,
// by its combination with the element of src.
type combiner func(dst, src []byte)

// A place is where a reduction leaves its results; each has its own pairs of
// operation and type.
type place uint8

const (
	inTensor  place = 1 << iota // global memory, through a tensor map
	inGlobal                    // global memory, in bulk
	inCluster                   // shared memory of a CTA of the cluster, in bulk
)

// combination is a combiner and the places that have it.
type combination struct {
	combine combiner
	at      place
}

func everywhere(c combiner) combination { return combination{c, inTensor | inGlobal | inCluster} }
func globally(c combiner) combination   { return combination{c, inTensor | inGlobal} }
func bulkOnly(c combiner) combination   { return combination{c, inGlobal} }
func tensorOnly(c combiner) combination { return combination{c, inTensor} }

var combiners = [...][len(dataTypes)]combination{
	ReduceAdd: {
		Uint32: everywhere(words(add[uint32])), Int32: everywhere(words(add[uint32])),
		Uint64:  everywhere(longs(add[uint64])),
		Float16: globally(halves(addFloat16)), BFloat16: globally(halves(addBFloat16)),
		Float32: globally(words(addFloat32)), Float64: globally(longs(addFloat64)),
		TFloat32: tensorOnly(words(addFloat32)), Float32FTZ: tensorOnly(words(addFlushed)),
		TFloat32FTZ: tensorOnly(words(addFlushed)),
	},
	ReduceMin: {
		Uint32: everywhere(words(least[uint32])), Int32: everywhere(words(signed32(least[int32]))),
		Uint64: globally(longs(least[uint64])), Int64: globally(longs(signed64(least[int64]))),
		Float16: globally(halves(leastFloat(float16Inf))), BFloat16: globally(halves(leastFloat(bfloat16Inf))),
	},
	ReduceMax: {
		Uint32: everywhere(words(greatest[uint32])), Int32: everywhere(words(signed32(greatest[int32]))),
		Uint64: globally(longs(greatest[uint64])), Int64: globally(longs(signed64(greatest[int64]))),
		Float16: globally(halves(greatestFloat(float16Inf))), BFloat16: globally(halves(greatestFloat(bfloat16Inf))),
	},
	ReduceInc: {Uint32: everywhere(words(increment))},
	ReduceDec: {Uint32: everywhere(words(decrement))},
	ReduceAnd: bitwise(words(and[uint32]), longs(and[uint64])),
	ReduceOr:  bitwise(words(or[uint32]), longs(or[uint64])),
	ReduceXor: bitwise(words(xor[uint32]), longs(xor[uint64])),
}

// bitwise returns the row of an operation on bits. A bulk reduction calls its
// types b32 and b64, whatever their sign; a map of Int64 is refused.
func bitwise(words, longs combiner) [len(dataTypes)]combination {
	return [len(dataTypes)]combination{
		Uint32: everywhere(words), Int32: everywhere(words),
		Uint64: globally(longs), Int64: bulkOnly(longs),
	}
}

func halves(f func(old, x uint16) uint16) combiner {
	return func(dst, src []byte) {
		for i := 0; i+2 <= len(dst); i += 2 {
			v := f(binary.LittleEndian.Uint16(dst[i:]), binary.LittleEndian.Uint16(src[i:]))
			binary.LittleEndian.PutUint16(dst[i:], v)
		}
	}
}

func words(f func(old, x uint32) uint32) combiner {
	return func(dst, src []byte) {
		for i := 0; i+4 <= len(dst); i += 4 {
			v := f(binary.LittleEndian.Uint32(dst[i:]), binary.LittleEndian.Uint32(src[i:]))
			binary.LittleEndian.PutUint32(dst[i:], v)
		}
	}
}

func longs(f func(old, x uint64) uint64) combiner {
	return func(dst, src []byte) {
		for i := 0; i+8 <= len(dst); i += 8 {
			v := f(binary.LittleEndian.Uint64(dst[i:]), binary.LittleEndian.Uint64(src[i:]))
			binary.LittleEndian.PutUint64(dst[i:], v)
		}
	}
}

type unsigned interface{ uint32 | uint64 }

type integer interface {
	int32 | int64 | unsigned
}

func add[T unsigned](old, x T) T     { return old + x }
func and[T unsigned](old, x T) T     { return old & x }
func or[T unsigned](old, x T) T      { return old | x }
func xor[T unsigned](old, x T) T     { return old ^ x }
func least[T integer](old, x T) T    { return min(old, x) }
func greatest[T integer](old, x T) T { return max(old, x) }

func signed32(f func(old, x int32) int32) func(old, x uint32) uint32 {
	return func(old, x uint32) uint32 { return uint32(f(int32(old), int32(x))) }
}

func signed64(f func(old, x int64) int64) func(old, x uint64) uint64 {
	return func(old, x uint64) uint64 { return uint64(f(int64(old), int64(x))) }
}

func increment(old, x uint32) uint32 {
	if old >= x {
		return 0
	}
	return old + 1
}

func decrement(old, x uint32) uint32 {
	if old == 0 || old > x {
		return x
	}
	return old - 1
}

// The bits of infinity and of the NaN that the hardware writes.
const (
	float16Inf  = 0x7c00
	bfloat16Inf = 0x7f80
	nan16       = 0x7fff
	nan32       = 0x7fffffff
	nan64       = 0xfff8000000000000
)

func addFloat32(old, x uint32) uint32 {
	sum := math.Float32frombits(old) + math.Float32frombits(x)
	if sum != sum {
		return nan32
	}
	return math.Float32bits(sum)
}

// addFlushed is the addition of the FTZ types: subnormal operands and results
// are zeros of the same sign.
func addFlushed(old, x uint32) uint32 {
	return flush32(addFloat32(flush32(old), flush32(x)))
}

func flush32(bits uint32) uint32 {
	if bits&0x7f800000 == 0 {
		return bits & 0x80000000
	}
	return bits
}

// addFloat64 hands a NaN on as it is, x's before old's, a signaling one too.
func addFloat64(old, x uint64) uint64 {
	a, b := math.Float64frombits(old), math.Float64frombits(x)
	sum := a + b
	switch {
	case b != b:
		return x
	case a != a:
		return old
	case sum != sum:
		return nan64
	}
	return math.Float64bits(sum)
}

// addFloat16 rounds only once, in effect: the precision of f32, 24 bits, is at
// least twice that of the operands, 11, plus two. The same holds for bf16, 8.
func addFloat16(old, x uint16) uint16 {
	sum := float16.Frombits(old).Float32() + float16.Frombits(x).Float32()
	if sum != sum {
		return nan16
	}
	return float16.Fromfloat32(sum).Bits()
}

func addBFloat16(old, x uint16) uint16 {
	sum := bf16.BF16(old).Float32() + bf16.BF16(x).Float32()
	if sum != sum {
		return nan16
	}
	return bf16.FromFloat32(sum).Bits()
}

// leastFloat returns the minimum of the 16-bit floats with that infinity.
func leastFloat(inf uint16) func(old, x uint16) uint16 {
	return func(old, x uint16) uint16 { return pickFloat(old, x, inf, order(x) < order(old)) }
}

// greatestFloat returns the maximum of the 16-bit floats with that infinity.
func greatestFloat(inf uint16) func(old, x uint16) uint16 {
	return func(old, x uint16) uint16 { return pickFloat(old, x, inf, order(x) > order(old)) }
}

func pickFloat(old, x, inf uint16, second bool) uint16 {
	oldNaN, xNaN := old&0x7fff > inf, x&0x7fff > inf
	switch {
	case oldNaN && xNaN:
		return nan16
	case oldNaN, second && !xNaN:
		return x
	}
	return old
}

// order maps float bits to integers of the same order, -0 below +0.
func order(bits uint16) int32 {
	if bits&0x8000 != 0 {
		return -1 - int32(bits&0x7fff)
	}
	return int32(bits)
}
