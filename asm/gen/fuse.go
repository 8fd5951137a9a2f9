package main

import "fmt"

// fuseAhead is how many rows of K a fused kernel prefetches ahead. The rows often lie a power of two apart, and a cache of
// 16 ways then keeps few of them.
const fuseAhead = 64

// fused writes the kernels that pack a panel of B while they multiply.
func fused(s *source) {
	kernels[0].fuse(s, pairs)
	kernels[1].fuse(s, words)
	kernels[2].fuse(s, words)
	kernels[0].mulPack(s, pairs)
	kernels[0].mulPackT(s, pairs, false)
	kernels[0].mulPackT(s, pairs, true)
	kernels[1].mulPackT(s, words, true)
	for _, f := range []form{words, bf16, f16} {
		kernels[1].mulPack(s, f)
		kernels[1].mulPackT(s, f, false)
		kernels[2].mulPack(s, f)
	}
	s.words("interleave", interleave())
	s.words("packLanes", packLanes())
}

// fuse writes the kernel that packs a panel of B from rows of K while it multiplies it by rows of A, whose elements are words or
// pairs; see FuseRowsFunc for its contract. The loads, the interleaving and the stores of B hide behind the products of a row of A each.
//
//	CX steps of K left   SI B   R13 stride   R15 what is prefetched   DX A   R12 panel
//	R8 src   R9 lds   R10 dst   R11 ldd   AX BX DI rows of A
func (k kernel) fuse(s *source, f form) {
	a := rowsA{"DX", "AX", "BX", "DI", k.mr}
	accs := k.mr * k.vecs
	name, b0, bcast, spare := "fuse256", accs, accs+k.vecs, 1
	if k.zmm {
		name = "fuse"
		bcast++ // one more for what an interleaving needs, and two for its tables
		spare = k.registers() - bcast - 2
	}
	s.function(name+"Rows"+f.name, "k int, a, b unsafe.Pointer, stride int, panel, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd, lda int", 0,
		fmt.Sprintf("One panel of %d columns by %d rows.", k.rowB()/4, k.mr))
	s.load("lda", "BX")
	s.load("k", "CX", "a", "DX", "b", "SI", "stride", "R13", "panel", "R12")
	s.op("MOVQ R13, R15")
	s.op("IMULQ $%d, R15", fuseAhead)
	s.op("ADDQ SI, R15")
	s.load("src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("ANDQ $-2, R9")
	a.start(s)
	if f.kpack == 2 {
		s.op("SHRQ $1, CX")
		s.op("VMOVDQU32 ·interleave<>+0(SB), Z30")
		s.op("VMOVDQU32 ·interleave<>+64(SB), Z31")
	}
	k.loadTile(s, nil)
	s.label("start")
	s.label("loop")
	for range f.kpack {
		for o := 0; o < k.rowB()/4*f.bytes; o += 64 {
			s.op("PREFETCHT1 %d(R15)", o)
		}
		s.op("ADDQ R13, R15")
	}
	{
		if f.kpack == 2 {
			f.load512(s, "(SI)", "", b0)
			f.load512(s, "(SI)(R13*1)", "", b0+2)
			s.op("LEAQ (SI)(R13*2), SI")
			s.interleave(b0, b0+2, b0+1)
		} else {
			for v := range k.vecs {
				k.load(s, f, fmt.Sprintf("%d(SI)", v*k.bytes()/4*f.bytes), b0+v)
			}
			s.op("ADDQ R13, SI")
		}
		for v := range k.vecs {
			s.op("VMOVUPS %s, %d(R12)", k.reg(b0+v), v*k.bytes())
		}
		s.op("ADDQ $%d, R12", k.vecs*k.bytes())
		for i := range k.mr {
			r := bcast + i%spare
			s.op("VBROADCASTSS %s, %s", a.word(0, i), k.reg(r))
			for v := range k.vecs {
				k.multiply(s, i*k.vecs+v, r, b0+v)
			}
		}
		a.advance(s, 1)
	}
	s.op("DECQ CX")
	s.op("JNZ loop")

	k.storeTile(s, variant{})
	s.ret()
}

// load loads a vector of words from elements at addr.
func (k kernel) load(s *source, f form, addr string, reg int) {
	if k.zmm {
		f.load512(s, addr, "", reg)
	} else {
		f.load256(s, addr, reg)
	}
}
