package golden

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// refuses checks that no change of a row is accepted, each of the first to the second.
func refuses[T any](t *testing.T, parse func([]byte) ([]T, error), row string, changes [][2]string) {
	t.Helper()
	for _, change := range changes {
		if got, err := parse([]byte(strings.Replace(row, change[0], change[1], 1) + "\n")); err == nil {
			t.Errorf("accepted %.40q for %.40q: %+v", change[1], change[0], got)
		}
	}
}

func TestReadGzip(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte("payload")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "f.gz")
	read := func(b []byte) ([]byte, error) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return Read(path)
	}
	if got, err := read(z.Bytes()); err != nil || string(got) != "payload" {
		t.Errorf("Read = %q, %v", got, err)
	}
	for n := range z.Len() {
		if _, err := read(z.Bytes()[:n]); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("a file cut to %d of %d bytes: %v", n, z.Len(), err)
		}
	}
	if _, err := read(append(z.Bytes(), 0)); err == nil {
		t.Error("no error for a byte behind the stream")
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error for a missing file")
	}
	if err := os.Truncate(path, 1<<30); err != nil { // far more than memory should hold of a broken file
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(path)
	runtime.ReadMemStats(&after)
	if read := after.TotalAlloc - before.TotalAlloc; err == nil || read > maxFile {
		t.Errorf("%d bytes allocated for a file with 1 GiB behind the stream: %v", read, err)
	}
}

func FuzzParseText(f *testing.F) {
	f.Add([]byte(mapHeader + "\n" + mapRow))
	f.Add([]byte(im2colHeader + "\n" + im2colRow))
	f.Add([]byte(refusedRow))
	f.Add([]byte(wordRow))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := bytes.Count(data, []byte("\n"))
		if calls, err := ParseMapCalls(data); err == nil && len(calls) != n-1 {
			t.Errorf("%d calls in %d lines", len(calls), n)
		}
		if boxes, err := ParseRefused(data); err == nil && len(boxes) != n {
			t.Errorf("%d boxes in %d lines", len(boxes), n)
		}
		if words, err := ParseWords(data); err == nil && len(words) != n {
			t.Errorf("%d words in %d lines", len(words), n)
		}
		if text, err := gunzip(bytes.NewReader(data)); err == nil && len(text) > maxFile {
			t.Errorf("%d bytes decompressed", len(text))
		}
	})
}

func TestTooFewFields(t *testing.T) {
	row := []byte("x\n")
	_, scripts := ParseScripts(row)
	_, mmas := ParseMMAs(row)
	_, sparse := ParseSparseMMAs(row)
	_, warps := ParseWarps(row)
	_, reductions := ParseReductions(row)
	_, atomics := ParseAtomics(row)
	_, banks := ParseBanks(row)
	want := []int{3, 5, 7, 6, 6, 7, 4}
	for i, err := range []error{scripts, mmas, sparse, warps, reductions, atomics, banks} {
		said := fmt.Sprintf(": want %d fields, got 1", want[i])
		if err == nil || !strings.HasSuffix(err.Error(), said) {
			t.Errorf("parser %d: %v, want …%s", i, err, said)
		}
	}
}
