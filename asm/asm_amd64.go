//go:build amd64 && !purego

package asm

// assembled says that this build has assembly.
const assembled = true

// The kernels in assembly, by role. flops are those of a turn of the peak loop: accumulators × lanes × 2, and twice that for pairs.
var (
	avx512BF16 = functions{
		strip: mulAVX512BF16, rows: rowsAVX512BF16, stores: storePast | storeBF16,
		packA:   [numTypes][2]PackFunc{BF16: packers512(BF16, 2, 8, packT8Pairs, packS8Pairs)},
		packB:   [numTypes][2]PackFunc{BF16: packers512(BF16, 2, 32, packT32Pairs, packS32Pairs)},
		mulPack: [numTypes][2]mulPackFunc{BF16: {mulPackPairs, mulPackTPairs}},
		stream:  [numTypes]streamFuncs{BF16: streamPairs.roles()},
		edge:    edgesAVX512BF16.multiply,
		lanes:   lanesAVX512BF16,
		peak:    peakAVX512BF16, flops: 24 * 16 * 4,
	}
	avx512 = functions{
		strip: mulAVX512, rows: rowsAVX512, stores: storePast | storeBF16 | storeF16,
		packA: [numTypes][2]PackFunc{
			BF16: packers512(BF16, 1, 8, packT8BF16, packS8BF16),
			F16:  packers512(F16, 1, 8, packT8F16, packS8F16),
			F32:  packers512(F32, 1, 8, packT8Words, packS8Words),
		},
		packB: [numTypes][2]PackFunc{
			BF16: packers512(BF16, 1, 32, packT32BF16, packS32BF16),
			F16:  packers512(F16, 1, 32, packT32F16, packS32F16),
			F32:  packers512(F32, 1, 32, packT32Words, packS32Words),
		},
		mulPack: [numTypes][2]mulPackFunc{
			BF16: {mulPackBF16, mulPackTBF16}, F16: {mulPackF16, mulPackTF16}, F32: {mulPackWords, mulPackTWords},
		},
		stream:   [numTypes]streamFuncs{BF16: streamBF16.roles(), F16: streamF16.roles(), F32: streamWords.roles()},
		edge:     edgesAVX512.multiply,
		unpacked: unpackedOf(&unpackedAVX512, &unpackedAcrossAVX512),
		lanes:    lanesAVX512,
		peak:     peakAVX512, flops: 24 * 16 * 2,
	}
	avx2 = functions{
		strip: mulAVX2, rows: rowsAVX2,
		packA: [numTypes][2]PackFunc{
			BF16: packers256x4(BF16, packT4BF16, packS4BF16),
			F16:  packers256x4(F16, packT4F16, packS4F16),
			F32:  packers256x4(F32, packT4Words, packS4Words),
		},
		packB: [numTypes][2]PackFunc{
			BF16: packers256x24(BF16, groupsT24BF16, groupsS24BF16),
			F16:  packers256x24(F16, groupsT24F16, groupsS24F16),
			F32:  packers256x24(F32, groupsT24Words, groupsS24Words),
		},
		mulPack:  [numTypes][2]mulPackFunc{BF16: {mulPack256BF16}, F16: {mulPack256F16}, F32: {mulPack256Words}},
		stream:   [numTypes]streamFuncs{BF16: stream256BF16.roles(), F16: stream256F16.roles(), F32: stream256Words.roles()},
		edge:     edgesAVX2.multiply,
		unpacked: unpackedOf(&unpackedAVX2, &unpackedAcrossAVX2),
		lanes:    lanesAVX2,
		peak:     peakAVX2, flops: 12 * 8 * 2,
	}
	amx = functions{
		strip: stripAMX, rows: stripRowsAMX, stores: storePast | storeBF16,
		packA:  [numTypes][2]PackFunc{BF16: packers512TilesA()},
		packB:  [numTypes][2]PackFunc{BF16: packers512TilesB()},
		stream: [numTypes]streamFuncs{BF16: {by: [2]StreamFunc{acrossTiles, alongTiles}, panels: storedTiles}},
		sweep:  sweepAMX,
		peak:   peakAMX, flops: 4 * 16 * 16 * 32 * 2, // four tiles
	}
)
