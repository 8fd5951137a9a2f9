package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/leafhopper/asm"
	"example.com/leafhopper/bench"
)

func TestKernelsCommand(t *testing.T) {
	stdout := succeed(t, "kernels", "-format", "json")
	var doc struct {
		Machine bench.Machine
		Kernels []kernelInfo
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Kernels) != len(asm.Kernels()) {
		t.Fatalf("%d kernels, want %d", len(doc.Kernels), len(asm.Kernels()))
	}
	chosen := map[string]int{}
	for i, k := range asm.Kernels() {
		info := doc.Kernels[i]
		if info.Name != k.Name || info.Supported != (k.Supported() == nil) || info.Supported == (info.Reason != "") ||
			info.Why["bf16"] != k.Why(asm.BF16) || info.Arith != k.Arithmetic.String() {
			t.Errorf("%+v", info)
		}
		for _, name := range info.Chosen {
			chosen[info.Arith+" "+name]++
		}
	}
	for _, arith := range arithmetics {
		for _, elem := range types {
			want := 1
			if arith == asm.Hopper && elem == asm.F64 {
				want = 0
			}
			if n := chosen[arith.String()+" "+elem.String()]; n != want && os.Getenv(asm.KernelEnv) == "" {
				t.Errorf("%v, %v: %d kernels chosen, want %d", arith, elem, n, want)
			}
		}
	}
	stdout = succeed(t, "kernels")
	for _, k := range asm.Kernels() {
		if !strings.Contains(stdout, "\n"+k.Name+":\n") {
			t.Errorf("no word on %s in\n%s", k.Name, stdout)
		}
		if accepts := k.Accepts(asm.E4M3); accepts && k.Supported() == nil &&
			!strings.Contains(stdout, "\n  "+k.Why(asm.E4M3)+"\n") {
			t.Errorf("no word on %s and e4m3 in\n%s", k.Name, stdout)
		}
	}
	if strings.Contains(stdout, "native arithmetic multiplies") {
		t.Errorf("a complaint that no kernel can be chosen for:\n%s", stdout)
	}
}

// TestKernelsPinned pins kernels that do not multiply every type: JSON and table
// say why, and no reason twice. Of a name that is no kernel's the table says it once.
func TestKernelsPinned(t *testing.T) {
	for name, want := range map[string][]string{
		"":     nil,
		"cuda": {`asm: kernel "cuda" is unknown; choices: `},
		"gobf16": {`asm: kernel "gobf16" does not multiply f16; `, `asm: kernel "gobf16" does not multiply f32; `,
			`asm: kernel "gobf16" computes in native arithmetic, not hopper; `},
	} {
		if name == "" && os.Getenv(asm.KernelEnv) != "" {
			continue
		}
		list := listKernels(name)
		var doc, table bytes.Buffer
		if err := errors.Join(list.write(&doc, "json"), list.write(&table, "table")); err != nil {
			t.Fatal(err)
		}
		var got kernelList
		if err := json.Unmarshal(doc.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(doc.String(), `"errors"`) != (want != nil) {
			t.Errorf("%q: errors are in %s", name, &doc)
		}
		for _, reason := range want {
			if !slices.ContainsFunc(got.Errors, func(e string) bool { return strings.HasPrefix(e, reason) }) {
				t.Errorf("%q: no error %q in %q", name, reason, got.Errors)
			}
		}
		unknown := "names no kernel: every product fails that names none itself; choices: " +
			strings.Join(bench.ThisMachine().Kernels, ", ")
		if pinned := map[string]string{"cuda": unknown,
			"gobf16": "pins the kernel of native arithmetic"}[name]; !strings.HasSuffix(got.Pin, pinned) ||
			(got.Pin != "") != (name != "") ||
			name != "" && !strings.HasPrefix(table.String(), got.Pin+"\n") ||
			(name != "") != strings.Contains(table.String(), "\nWithout "+asm.KernelEnv+":\n") {
			t.Errorf("%q: pin %q, table\n%s", name, got.Pin, &table)
		}
		times := 1
		if name == "cuda" {
			times = 0 // the line of the pin says it
		}
		for _, e := range got.Errors {
			if n := strings.Count(table.String(), "\n"+e+"\n"); n != times {
				t.Errorf("%q: %q comes %d times in\n%s\nwant %d", name, e, n, &table, times)
			}
		}
		if name == "cuda" && (strings.Count(table.String(), "cuda") != 1 || strings.Contains(table.String(), "asm:")) {
			t.Errorf("more than one line on the name, or that of a package, in\n%s", &table)
		}
		for _, k := range got.Kernels {
			if name == "cuda" && len(k.Chosen) > 0 {
				t.Errorf("%q: %s is chosen for %v", name, k.Name, k.Chosen)
			}
		}
	}
}

// TestPin wants to be told which of several names is wrong.
func TestPin(t *testing.T) {
	wants := map[string]string{
		"cuda":         "=cuda names no kernel: every product fails",
		"go,cuda":      `=go,cuda names "cuda", which is no kernel: every product fails`,
		"go,":          `=go, names "", which is no kernel: every product fails`,
		"hopper-go,go": "=hopper-go,go pins kernels of hopper and native arithmetic",
	}
	for _, k := range asm.Kernels() {
		if k.Supported() != nil {
			wants[k.Name] = "=" + k.Name + " pins a kernel that cannot run here: nothing is chosen for it"
			wants["go,"+k.Name] = "=go," + k.Name + ` names "` + k.Name + `", which cannot run here: what it is the first to`
		}
	}
	for name, want := range wants {
		if got := pin(name); !strings.HasPrefix(got, asm.KernelEnv+want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
