//go:build amd64 && !purego

package asm

// assembled says that this build has assembly.
const assembled = true

// What there is for functions of no kernel.
var (
	hasAVX2   = machine().lacks(isaAVX2) == nil
	hasAVX512 = machine().lacks(isaAVX512) == nil
)

// Packers of B that fp8 takes, too.
var (
	packB512Pairs = packers512(BF16, 2, 32, packAlong512Pairsx32, packAcross512Pairsx32)
	packB512BF16  = packers512(BF16, 1, 32, packAlong512BF16x32, packAcross512BF16x32)
)

// The kernels in assembly, by role. flops are those of a turn of the peak loop: accumulators × lanes × 2, and twice
// that for pairs. The kernels of Hopper's arithmetic pack values as the native ones do that have panels as wide.
var (
	amx = functions{
		strip: stripAMX, rows: stripRowsAMX, stores: StorePast | StoreBF16,
		packA: [numTypes][2]PackFunc{BF16: packers512TilesA()},
		packB: [numTypes][2]PackFunc{BF16: packers512TilesB()},
		stream: [numTypes]streamFuncs{BF16: {by: [2]StreamFunc{streamTiles.readAcross, streamTiles.readAlong},
			rows: [2]int{streamTilesRows, streamTilesRows}, panels: storedTiles}},
		lanes: [numTypes]LanesFunc{BF16: lanesTiles.lanes(BF16, 2, lanesAcross512Tiles)},
		sweep: sweepAMX,
		peak:  peakAMX, flops: 4 * 16 * 16 * 32 * 2, // four tiles
	}
	avx512BF16 = functions{
		strip: mul512Pairs, rows: rows512Pairs, stores: StorePast | StoreBF16,
		packA:   [numTypes][2]PackFunc{BF16: packers512(BF16, 2, 8, packAlong512Pairsx8, packAcross512Pairsx8)},
		packB:   [numTypes][2]PackFunc{BF16: packB512Pairs, E4M3: pairs8.packB(E4M3), E5M2: pairs8.packB(E5M2)},
		mulPack: [numTypes][2]mulPackFunc{BF16: {mulPackAcross512Pairs, mulPackAlong512Pairs}},
		stream: [numTypes]streamFuncs{
			BF16: streamPairs.roles(), E4M3: pairs8.streams(E4M3), E5M2: pairs8.streams(E5M2),
		},
		edge:  edgesAVX512BF16.multiply,
		lanes: [numTypes]LanesFunc{BF16: lanesPairs.lanes(BF16, 2, lanesAcross512Pairs)},
		peak:  peak512Pairs, flops: 24 * 16 * 4,
	}
	avx512 = functions{
		strip: mul512Words, rows: rows512Words, stores: StorePast | StoreBF16 | StoreF16,
		packA: [numTypes][2]PackFunc{
			BF16: packers512(BF16, 1, 8, packAlong512BF16x8, packAcross512BF16x8),
			F16:  packers512(F16, 1, 8, packAlong512F16x8, packAcross512F16x8),
			F32:  packers512(F32, 1, 8, packAlong512Wordsx8, packAcross512Wordsx8),
		},
		packB: [numTypes][2]PackFunc{
			BF16: packB512BF16,
			F16:  packers512(F16, 1, 32, packAlong512F16x32, packAcross512F16x32),
			F32:  packers512(F32, 1, 32, packAlong512Wordsx32, packAcross512Wordsx32),
			E4M3: words8.packB(E4M3), E5M2: words8.packB(E5M2),
		},
		mulPack: [numTypes][2]mulPackFunc{
			BF16: {mulPackAcross512BF16, mulPackAlong512BF16},
			F16:  {mulPackAcross512F16, mulPackAlong512F16},
			F32:  {mulPackAcross512Words, mulPackAlong512Words},
		},
		stream: [numTypes]streamFuncs{
			BF16: streamBF16.roles(), F16: streamF16.roles(), F32: streamWords.roles(),
			E4M3: words8.streams(E4M3), E5M2: words8.streams(E5M2),
		},
		edge:     edgesAVX512.multiply,
		unpacked: unpackedOf(&unpackedAVX512, &unpackedAcrossAVX512, vector512, vectorPanelsOf(panelsAVX512, 4, 4)),
		lanes: [numTypes]LanesFunc{
			BF16: lanesBF16.lanes(BF16, 1, lanesAcross256BF16),
			F16:  lanesF16.lanes(F16, 1, lanesAcross256F16),
			F32:  lanesWords.lanes(F32, 1, lanesAcross256Words),
		},
		peak: peak512Words, flops: 24 * 16 * 2,
	}
	avx2 = functions{
		strip: mul256Words, rows: rows256Words,
		packA: [numTypes][2]PackFunc{
			BF16: packers256x4(BF16, packAlong256BF16x4, packAcross256BF16x4),
			F16:  packers256x4(F16, packAlong256F16x4, packAcross256F16x4),
			F32:  packers256x4(F32, packAlong256Wordsx4, packAcross256Wordsx4),
		},
		packB: [numTypes][2]PackFunc{
			BF16: packers256x24(BF16, groupsAlongBF16, groupsAcrossBF16),
			F16:  packers256x24(F16, groupsAlongF16, groupsAcrossF16),
			F32:  packers256x24(F32, groupsAlongWords, groupsAcrossWords),
		},
		mulPack: [numTypes][2]mulPackFunc{
			BF16: {mulPackAcross256BF16}, F16: {mulPackAcross256F16}, F32: {mulPackAcross256Words},
		},
		stream: [numTypes]streamFuncs{
			BF16: stream256BF16.roles(), F16: stream256F16.roles(), F32: stream256Words.roles(),
		},
		edge:     edgesAVX2.multiply,
		unpacked: unpackedOf(&unpackedAVX2, &unpackedAcrossAVX2, nil, vectorPanelsOf(panelsAVX2, 3, 4)),
		lanes: [numTypes]LanesFunc{
			BF16: lanesBF16.lanes(BF16, 1, lanesAcross256BF16),
			F16:  lanesF16.lanes(F16, 1, lanesAcross256F16),
			F32:  lanesWords256.lanes(F32, 1, lanesAcross256Words),
		},
		peak: peak256Words, flops: 12 * 8 * 2,
	}
	avx512F64 = functions{
		strip: mul512Doubles, rows: rows512Doubles, stores: StorePast,
		packA:   [numTypes][2]PackFunc{F64: packers512(F64, 1, 8, packAlong512Doublesx8, packAcross512Wordsx16)},
		packB:   [numTypes][2]PackFunc{F64: packers512(F64, 1, 16, packAlong512Doublesx16, packAcross512Wordsx32)},
		mulPack: [numTypes][2]mulPackFunc{F64: {mulPackAcross512Doubles, mulPackAlong512Doubles}},
		stream:  [numTypes]streamFuncs{F64: streamDoubles.roles()},
		edge:    edgesAVX512F64.multiply,
		unpacked: unpackedOf(&unpackedAVX512F64, &unpackedAcrossAVX512F64, vector512F64,
			vectorPanelsOf(panelsAVX512F64, 3, 8)),
		lanes: [numTypes]LanesFunc{F64: lanesDoubles.lanes(F64, 1, lanesAcross256Doubles)},
		peak:  peak512Doubles, flops: 24 * 8 * 2,
	}
	avx2F64 = functions{
		strip: mul256Doubles, rows: rows256Doubles,
		packA:    [numTypes][2]PackFunc{F64: packers256x4(F64, packAlong256Doublesx4, packAcross256Wordsx8)},
		packB:    [numTypes][2]PackFunc{F64: packers256x24(F64, groupsAlongDoubles, groupsAcrossWords)},
		mulPack:  [numTypes][2]mulPackFunc{F64: {mulPackAcross256Doubles}},
		stream:   [numTypes]streamFuncs{F64: stream256Doubles.roles()},
		edge:     edgesAVX2F64.multiply,
		unpacked: unpackedOf(&unpackedAVX2F64, &unpackedAcrossAVX2F64, nil, vectorPanelsOf(panelsAVX2F64, 2, 8)),
		lanes:    [numTypes]LanesFunc{F64: lanesDoubles256.lanes(F64, 1, lanesAcross256Doubles)},
		peak:     peak256Doubles, flops: 12 * 4 * 2,
	}
	hopper512 = functions{
		mul: hopperShape512.adding(code512.mul), mulF16: code512.mulF16,
		packA: code512.packers(sideA, 32, &avx512.packA), packB: code512.packers(sideB, 64, &avx512.packB),
		finish: code512.finish,
		peak:   peakHopper512, flops: 8 * 16 * 2,
	}
	hopper256 = functions{
		mul: hopperShape256.adding(code256.mul), mulF16: code256.mulF16,
		packA: code256.packers(sideA, 16, &avx2.packA), packB: code256.packers(sideB, 24, &avx2.packB),
		finish: code256.finish,
		peak:   peakHopper256, flops: 6 * 8 * 2,
	}
)

// withoutTiles are the functions of amx that take no tiles but AVX-512, where that is: goamx has them, too.
var withoutTiles = func() functions {
	if hasAVX512 {
		return functions{packA: amx.packA, packB: amx.packB, stream: amx.stream, lanes: amx.lanes}
	}
	return goTiles
}()
