// Gen writes the assembly of package asm, and its declarations in Go: the microkernels, the loops that measure their
// peaks, and the packers.
//
// Run it in the folder of package asm:
//
//	go generate
package main

import (
	"bytes"
	"log"
	"os"
)

// A family is the functions of zz_NAME_amd64.s, which zz_NAME_amd64.go declares. It is written by NAME.go, which has
// the table of what there is, or makes one for each of kernels; package asm's documentation has the grammar of names.
type family struct {
	name  string
	write func(s *source)
}

var families = []family{
	{"strip", writeStrips},
	{"lanes", writeLanes},
	{"mulpack", writeMulPacks},
	{"edge", writeEdges},
	{"unpacked", writeUnpacked},
	{"vector", writeVectors},
	{"streamacross", writeStreamsAcross},
	{"streamalong", writeStreamsAlong},
	{"streampanels", writeStreamsPanels},
	{"streamtiles", writeStreamsTiles},
	{"stream8", writeStreams8},
	{"pack512", writePacks512},
	{"pack256", writePacks256},
	{"widen", writeWidenings},
	{"amx", writeAMX},
	{"amxpack", writeAMXPacks},
	{"amxsweep", writeAMXSweep},
	{"hopper", writeHopper},
	{"hopperwide", writeHopperWides},
	{"activate", writeActivations},
	{"epilogue", writeEpilogues},
}

// generate returns the generated files by name.
func generate() map[string][]byte {
	files := map[string][]byte{}
	for _, f := range families {
		var s source
		f.write(&s)
		name := "zz_" + f.name + "_amd64"
		files[name+".s"] = []byte(header + includes + s.String())
		files[name+".go"] = []byte(header + "\npackage asm\n" + imports(&s.declarations) + s.declarations.String())
	}
	return files
}

// imports returns what the declarations need.
func imports(declarations *bytes.Buffer) string {
	if bytes.Contains(declarations.Bytes(), []byte("unsafe.")) {
		return "\nimport \"unsafe\"\n"
	}
	return ""
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
