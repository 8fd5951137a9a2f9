package main

import "fmt"

// packSteps is how many steps of K the packing of a word of K takes: two lines of the cache for what multiplies for 16 cycles. It
// divides the steps of a turn.
const packSteps = 2

// packChunk is the bytes that are prefetched of a row of K.
const packChunk = 128

// packing writes the kernels that pack a panel of B while they multiply another.
func packing(s *source) {
	kernels[0].mulPack(s, pairs)
	kernels[0].mulPackT(s, pairs)
	for _, f := range []form{words, bf16, f16} {
		kernels[1].mulPack(s, f)
		kernels[1].mulPackT(s, f)
		kernels[2].mulPack(s, f)
	}
	s.words("interleave", interleave())
	s.words("packLanes", packLanes())
}

// mulPack writes the kernel that packs a panel of B while it multiplies another; see Packing for its contract.
//
// A cache takes lines of one set, as rows a power of two apart are, at a third of the rate of others, and what is loaded here is not needed
// soon: so the loads, the interleaving and the stores hide behind the products of any turn, and the turns that are left when the
// panel is packed are those of any strip.
//
//	BX tiles left   CX steps left   SI A   DI B   R8 src   R9 lds   R10 dst   R11 ldd
//	R12 panel   R13 bytes between rows of K   R14 words of K left   R15 rows of K   DX what to prefetch   AX its pitch
func (k kernel) mulPack(s *source, f form) {
	a := panelA{"SI", k.mr}
	s.function("mulPackAcross"+k.name[:3]+f.name, "k, m int, a, b, src unsafe.Pointer, lds int, dst unsafe.Pointer, ldd int, pack Packing", 8, k.doc+".")
	s.load("pack_B", "R15", "pack_Stride", "R13", "pack_K", "R14", "pack_Panel", "R12", "pack_Pitch", "AX", "pack_Next", "DX")
	if f.kpack == 2 {
		s.op("SHRQ $1, R14")
		s.op("VMOVDQU32 ·interleave<>+0(SB), Z30")
		s.op("VMOVDQU32 ·interleave<>+64(SB), Z31")
	}
	s.load("m", "BX", "a", "SI")
	s.load("src", "R8", "lds", "R9", "dst", "R10", "ldd", "R11")
	s.op("ANDQ $-2, R9")

	s.label("tile")
	s.load("b", "DI")
	s.load("k", "CX")
	k.loadTile(s, nil)
	s.label("start")
	s.op("SUBQ $%d, CX", k.unroll)
	s.op("JL rest")
	s.op("CMPQ R14, $%d", k.unroll/packSteps)
	s.op("JL loop")
	s.op("PCALIGN $64")
	s.label("pack")
	for u := range k.unroll {
		k.step(s, a, u)
		if u%packSteps == 0 {
			k.packWord(s, f, u/packSteps)
		}
	}
	s.op("SUBQ $%d, R14", k.unroll/packSteps)
	k.turned(s, a)
	s.op("JL rest")
	s.op("CMPQ R14, $%d", k.unroll/packSteps)
	s.op("JGE pack")

	k.loop(s, a)
	s.label("store")
	k.addSource(s)
	s.label("put")
	k.storeFloat(s)
	s.label("stored")
	s.op("DECQ BX")
	s.op("JNZ tile")

	s.op("TESTQ R14, R14")
	s.op("JZ done")
	s.label("tail")
	k.packWord(s, f, 0)
	s.op("DECQ R14")
	s.op("JNZ tail")
	s.label("done")
	s.ret()
}

// packWord packs a word of K of a panel, the n-th of a turn, and prefetches a chunk for every 4 bytes of a column.
func (k kernel) packWord(s *source, f form, n int) {
	t := k.registers() - 1 // has a word of A, which the next step does not want again
	switch {
	case f.kpack == 2:
		f.load512(s, "(R15)", "", 27)
		f.load512(s, "(R15)(R13*1)", "", 29)
		s.op("LEAQ (R15)(R13*2), R15")
		s.interleave(27, 29, 28)
		s.op("VMOVUPS Z27, (R12)")
		s.op("VMOVUPS Z28, 64(R12)")
	default:
		for v := range k.vecs {
			k.load(s, f, fmt.Sprintf("%d(R15)", v*k.bytes()/4*f.bytes), t)
			s.op("VMOVUPS %s, %d(R12)", k.reg(t), v*k.bytes())
		}
		s.op("ADDQ R13, R15")
	}
	s.op("ADDQ $%d, R12", k.rowB())
	if f.bytes*f.kpack == 4 || n%2 == 0 {
		for o := 0; o < packChunk; o += 64 {
			s.op("PREFETCHT1 %d(DX)", o)
		}
		s.op("ADDQ AX, DX")
	}
}

// load loads a vector of words from elements at addr.
func (k kernel) load(s *source, f form, addr string, reg int) {
	if k.zmm {
		f.load512(s, addr, "", reg)
	} else {
		f.load256(s, addr, reg)
	}
}
