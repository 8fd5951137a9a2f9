package course

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLineAgainstLine checks that the code in tables of CUDA and Go is that of the files
// beside them.
func TestLineAgainstLine(t *testing.T) {
	pages, err := filepath.Glob("../../*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, page := range pages {
		dir := filepath.Dir(page)
		columns := [2]string{source(t, dir, "*.cu"), source(t, dir, "*.go")}
		inTable := false
		for line := range strings.Lines(text(t, page)) {
			if !strings.HasPrefix(line, "|") {
				inTable = false
				continue
			}
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
			if len(cells) == 2 && strings.TrimSpace(cells[0]) == "CUDA" && strings.TrimSpace(cells[1]) == "Go" {
				inTable = true
				continue
			}
			if !inTable || len(cells) != 2 {
				continue
			}
			rows++
			for i, cell := range cells {
				for _, code := range span.FindAllStringSubmatch(cell, -1) {
					if !strings.Contains(columns[i], squeeze(code[1])) {
						t.Errorf("%s: %s is not in the source", page, code[1])
					}
				}
			}
		}
	}
	if rows == 0 {
		t.Error("no README has a table of CUDA and Go")
	}
}

var span = regexp.MustCompile("`([^`]+)`")

// source returns the files of a folder that match a pattern.
func source(t *testing.T, dir, pattern string) string {
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		all.WriteString(text(t, f))
	}
	return squeeze(all.String())
}

func text(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// squeeze makes one space of all white space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestCheck(t *testing.T) {
	good := []Output{{"a.x", []int32{1, 2, 3}}}
	recorded := "# a comment\na.x bytes=12 crc32=16fe0ff6\n"
	recorded = strings.Replace(recorded, "a.x bytes=12 crc32=16fe0ff6", good[0].String(), 1)
	for name, c := range map[string]struct {
		got  []Output
		want string
	}{
		"element":  {[]Output{{"a.x", []int32{1, 5, 3}}}, "a.x[1] = 5, want 2"},
		"length":   {[]Output{{"a.x", []int32{1, 2}}}, "a.x has 2 elements, want 3"},
		"type":     {[]Output{{"a.x", []uint32{1, 2, 3}}}, "output a.x of []uint32"},
		"number":   {nil, "0 outputs, want 1"},
		"the same": {good, ""},
	} {
		err := same(c.got, good)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := asRecorded(c.got, recorded); (err == nil) != (c.want == "" || name == "type") {
			t.Errorf("%s against the record: %v", name, err)
		}
	}
}
