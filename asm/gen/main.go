// Gen writes the assembly of package asm: the microkernels, the loops that measure their peaks, and the packers.
//
// Run it in the folder of package asm:
//
//	go generate
package main

import (
	"log"
	"os"
)

// generate returns the generated files by name.
func generate() map[string][]byte {
	var mul source
	mul.WriteString(header)
	mul.WriteString("#include \"go_asm.h\"\n")
	for _, k := range kernels {
		k.mul(&mul, variant{})
		k.mul(&mul, variant{rows: true})
		if k.zmm {
			k.mul(&mul, variant{past: true})
			k.mul(&mul, variant{rows: true, past: true})
		}
		for _, to := range k.rounded() {
			k.mul(&mul, variant{to: to})
			k.mul(&mul, variant{to: to, past: true})
			k.mul(&mul, variant{to: to, rows: true})
			k.mul(&mul, variant{to: to, rows: true, past: true})
		}
		k.half().mul(&mul, variant{})
		k.peak(&mul)
	}
	mul.words("uppers", uppers())
	var fuse source
	fuse.WriteString(header)
	fuse.WriteString("#include \"go_asm.h\"\n")
	kernels[0].fuse(&fuse, pairs)
	kernels[1].fuse(&fuse, words)
	kernels[2].fuse(&fuse, words)
	kernels[0].mulPack(&fuse, pairs)
	kernels[0].mulPackT(&fuse, pairs, false)
	kernels[0].mulPackT(&fuse, pairs, true)
	kernels[1].mulPackT(&fuse, words, true)
	for _, f := range []form{words, bf16, f16} {
		kernels[1].mulPack(&fuse, f)
		kernels[1].mulPackT(&fuse, f, false)
		kernels[2].mulPack(&fuse, f)
	}
	fuse.words("interleave", interleave())
	fuse.words("packLanes", packLanes())
	return map[string][]byte{
		"zz_fuse_amd64.s":     fuse.Bytes(),
		"zz_kernels_amd64.s":  mul.Bytes(),
		"zz_pack_amd64.s":     packers(),
		"zz_amx_amd64.s":      amx(),
		"zz_hopper_amd64.s":   hopperFile(),
		"zz_stream_amd64.s":   streams(),
		"zz_streamt_amd64.s":  streamsAlong(),
		"zz_edge_amd64.s":     edges(),
		"zz_unpacked_amd64.s": unpacked(),
	}
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("asm/gen: ")
	if len(os.Args) > 1 {
		log.Fatalf("%q: it takes no arguments", os.Args[1])
	}
	for name, text := range generate() {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
