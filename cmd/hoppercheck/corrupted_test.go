package main

import (
	"bytes"
	"strings"
	"testing"
)

// corruptions change one result in a file of every kind.
var corruptions = []struct {
	file    string
	corrupt func(t *testing.T, data []byte)
	first   string // what is said about it
}{
	{"mbarrier.txt", replaceIn("test_wait_parity 0 0", "test_wait_parity 0 1"),
		"record 0: op 1, test_wait_parity 0: 0, the GPU said 1"},
	{"mbarrier.txt", replaceIn("test_wait 1 0", "test_wait 1 1"), "test_wait 1: 0, the GPU said 1"},
	{"mbarrier.txt", replaceIn("pending_count 1 7", "pending_count 1 6"), "pending_count 1: 7, the GPU said 6"},
	{"tensormap.txt", replaceIn(" 1\n", " 0\n"), "record 0: the driver accepted"},
	{"tensormap.txt", replaceIn(" 0\n", " 1\n"), "the driver refused"},
	{"tma.bin", flipAt(1), "record 1499: "},
	{"tma.bin", func(_ *testing.T, data []byte) { data[4*8] ^= 16 }, "record 0: load"}, // bytes signalled
	{"tensormap_im2col.txt", replaceIn(" 1\n", " 0\n"), "the driver accepted"},
	{"tma_im2col.bin", flipAt(1), "record 999: "},
	{"tma_im2col_edge.bin", func(_ *testing.T, data []byte) { clear(data[4*8 : 4*9]) }, "record 0: load"},    // its fault
	{"tma_prefetch.bin", func(_ *testing.T, data []byte) { data[3*240+4*9-1] = 0xff }, "record 3: prefetch"}, // a fault
	{"tma_wide.bin", func(_ *testing.T, data []byte) { clear(data[4*8 : 4*9]) }, "record 0: load"},
	{"tensormap_replace.bin", flipAt(1), "record 599: "},
	{"tensormap_replace.bin", func(_ *testing.T, data []byte) { data[4] = 0 }, "the bits of the map are not the driver's"},
	{"tensormap_replace_edge.bin", func(_ *testing.T, data []byte) { data[176+16*int(data[8])-8] = 80 },
		"record 0: {Kind:0"}, // the last change, of a stride to 88
	{"tma_illegal.txt", replaceIn("crd 14,", "crd 16,"), "record 0: {Kind:1"},
	{"tma_tf32.txt", replaceIn("-> 0065c000", "-> 0065a000"), "record 0: 0065b282 through"},
	{"wgmma_bf16.bin", flipAt(4), "record 127: m64n8k16.f32.bf16.bf16"},
	{"wgmma_f16.bin", flipAt(4), "record 127: m64n8k16.f32.f16.f16"},
	{"wgmma_tf32.bin", flipAt(4), "record 47: m64n8k8.f32.tf32.tf32"},
	{"wgmma_e4m3.bin", flipAt(4), "record 47: m64n8k32.f32.e4m3.e4m3"},
	{"wgmma_e5m2.bin", flipAt(4), "record 47: m64n8k32.f32.e5m2.e5m2"},
	{"wgmma_e4m3xe5m2.bin", flipAt(4), "record 47: m64n8k32.f32.e4m3.e5m2"},
	{"wgmma_f16acc.bin", flipAt(2), "record 63: m64n8k16.f16.f16.f16"},
	{"wgmma_e4m3_f16.bin", flipAt(2), "record 23: m64n8k32.f16.e4m3.e4m3"},
	{"wgmma_e5m2_f16.bin", flipAt(2), "record 23: m64n8k32.f16.e5m2.e5m2"},
	{"wgmma_s8.bin", flipAt(4), "record 15: m64n8k32.s32.s8.s8"},
	{"wgmma_u8.bin", flipAt(4), "record 15: m64n8k32.s32.u8.u8"},
	{"wgmma_s8u8.bin", flipAt(4), "record 15: m64n8k32.s32.s8.u8"},
	{"wgmma_s8sat.bin", flipAt(4), "record 15: m64n8k32.s32.s8.s8.satfinite"},
	{"wgmma_b1.bin", flipAt(4), "record 5: m64n8k256.s32.b1.b1.and.popc"},
	{"wgmma_desc.bin", flipAt(2), "record 149: A {"},
	{"mma.txt", flipAt(2), "record 271: m16n8k16.row.col.f64.f64.f64.f64 with C "},
	{"mma_b1.txt", flipAt(9), "record 251: m16n8k256.row.col.s32.b1.b1.s32.and.popc with C "},
	{"mma_sp.txt", flipAt(9), "record 179: mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.u8.u8"},
	{"wgmma_scale.bin", flipAt(2), "record 71: m64n8k32.f16.e5m2.e4m3, imm-scale-b -1 with C "},
	{"wgmma_sp.bin", flipAt(2), "record 87: m64n8k64.f16.e5m2.e4m3, imm-scale-a -1 with C "},
	{"wgmma_sp_desc.bin", flipAt(2), "record 56: A {"},
	{"cublas.json", replaceIn("2561379084", "2561379085"),
		"record 0, bf16 64x64x64 NN: the first row agrees, but the checksum of C in bf16"},
	{"cublas.json", replaceIn("2379669236", "2379669237"),
		"record 0, bf16 64x64x64 NN: the first row agrees, but the checksum of C in f32"},
	{"cublas_fp8_tf32.json", replaceIn("1047628921", "1047628922"),
		"record 12, e4m3*e4m3 64x64x32 NT f32: the first row agrees, but the checksum of C in f32"},
	{"reduce.txt", flipAt(2), "record 78: ReduceAdd of TFloat32FTZ, tensor: byte 511 of global"},
	{"warp.txt", flipAt(2), "record 239: stmatrix.x4.trans: word 255 is"},
	{"atomic.txt", flipAt(2), "record 839: "},
	{"banks.txt", replaceIn("ld.shared.u8 ffffffff 1.00", "ld.shared.u8 ffffffff 3.00"),
		"record 0: ld.shared.u8, mask 0xffffffff: 1 cycles, on the GPU 3.00"},
	{"banks_ncu.txt", replaceIn("ld.shared.v4.u32 ffffffff 4.00", "ld.shared.v4.u32 ffffffff 2.00"),
		"ld.shared.v4.u32, mask 0xffffffff: 4 wavefronts, on the GPU 2.00"},
	{"cluster.jsonl", replaceIn(`"vals":[1]`, `"vals":[2]`), "record 0: loads and tests return [1], on the GPU [2]"},
	{"cluster.jsonl", replaceIn("7f47f9ea", "7f47f9eb"),
		"record 0: shared memory has sums [7f47f9ea], on the GPU [7f47f9eb]"},
}

// A single wrong result in a file of any kind is found, and told.
func TestCorrupted(t *testing.T) {
	for _, c := range corruptions {
		data := bytes.Clone(recording(t, c.file))
		if c.file == "cluster.jsonl" { // a thousand kernels take a second
			data = data[:bytes.IndexByte(data, '\n')+1]
		}
		c.corrupt(t, data)
		files := map[string][]byte{c.file: data}
		if name, ok := strings.CutSuffix(c.file, ".json"); ok {
			files[name+"_rows.bin"] = recording(t, name+"_rows.bin")
		}
		dir := place(t, files)
		code, stdout, stderr := check(t, "-max-flops", "1e6", dir)
		if code != exitDifferent || !strings.Contains(stdout, "first of 1 differences") ||
			!strings.Contains(stdout, c.first) {
			t.Errorf("%s: exit %d, want %d and %q:\n%s%s", c.file, code, exitDifferent, c.first, stdout, stderr)
		}
		// Flags may follow the folder.
		code, stdout, _ = check(t, dir, "-format", "json", "-max-flops=1e6")
		if all := rows(t, stdout); code != exitDifferent || len(all) != 1 || all[0].File != c.file ||
			all[0].Different != 1 || !strings.Contains(all[0].First, c.first) {
			t.Errorf("%s: exit %d, %+v", c.file, code, all)
		}
	}
}

// A wrong bit in the first row of a product is found too, in either type.
func TestCorruptedRows(t *testing.T) {
	for at, text := range map[int]string{0: "C(0, 0) in bf16 is ", 128: "C(0, 0) in f32 is "} {
		rows := bytes.Clone(recording(t, "cublas_rows.bin"))
		rows[at] ^= 1
		dir := place(t, map[string][]byte{"cublas.json": recording(t, "cublas.json"), "cublas_rows.bin": rows})
		code, stdout, stderr := check(t, "-max-flops", "1e6", dir)
		if code != exitDifferent || !strings.Contains(stdout, text) {
			t.Errorf("exit %d, want %d and %q:\n%s%s", code, exitDifferent, text, stdout, stderr)
		}
	}
}

// What cannot be read is one line and status 2, whatever the other files say.
func TestUnreadable(t *testing.T) {
	good := recording(t, "tma_tf32.txt")
	for _, name := range []string{"mbarrier.txt", "tensormap.txt", "tensormap_im2col.txt", "tma.bin", "tma_illegal.txt",
		"tma_tf32.txt", "wgmma_s8.bin", "wgmma_desc.bin", "wgmma_sp.bin", "mma_sp.txt", "reduce.txt", "warp.txt",
		"atomic.txt", "banks.txt", "cluster.jsonl", "cublas.json", "cublas_fp8_tf32.json"} {
		data := recording(t, name)
		for what, broken := range map[string][]byte{
			"empty": nil, "short by a byte": data[:len(data)-1], "half": data[:len(data)/2+1],
			"noise":            bytes.Repeat([]byte{0xA5}, 1000),
			"with more behind": append(bytes.Clone(data), '?'),
		} {
			files := map[string][]byte{name: broken, "cublas_rows.bin": recording(t, "cublas_rows.bin"),
				"cublas_fp8_tf32_rows.bin": recording(t, "cublas_fp8_tf32_rows.bin")}
			if name != "tma_tf32.txt" {
				files["tma_tf32.txt"] = good
			}
			code, stdout, stderr := check(t, "-max-flops", "1e6", "-format", "json", place(t, files))
			if code != exitUnreadable || strings.Count(stderr, "\n") != 1 || strings.Count(stderr, name+": ") != 1 ||
				strings.Contains(stderr, "golden: ") {
				t.Errorf("%s, %s: exit %d, want %d and one line: %q", name, what, code, exitUnreadable, stderr)
			}
			if all := rows(t, stdout); len(all) != len(files)-3 {
				t.Errorf("%s, %s: the other file is not replayed: %+v", name, what, all)
			}
		}
	}

	for name, files := range map[string]map[string][]byte{
		"no rows":   {"cublas.json": recording(t, "cublas.json")},
		"few rows":  {"cublas.json": recording(t, "cublas.json"), "cublas_rows.bin": make([]byte, 1000)},
		"not gzip":  {"tma.bin.gz": []byte("text")},
		"huge load": {"tma.bin": hugeLoad(t)},
	} {
		if code, stdout, stderr := check(t, place(t, files)); code != exitUnreadable ||
			strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "golden: ") ||
			strings.Count(stderr, "tma.bin") > 1 {
			t.Errorf("%s: exit %d, want %d and one line: %q %s", name, code, exitUnreadable, stderr, stdout)
		}
	}
}
