// Package docs has the tests of what is written for readers: links lead somewhere, tests that are named are there.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	mention = regexp.MustCompile(`\bdocs/[\w./-]*\.(md|svg)\b`)
	ticks   = regexp.MustCompile("`[^`\n]*`")
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`)
)

// read returns the module's files with one of the endings, by slashed path from here.
func read(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "build") {
			return filepath.SkipDir
		}
		for _, e := range endings {
			if !d.IsDir() && strings.HasSuffix(path, e) {
				data, err := os.ReadFile(path)
				files[filepath.ToSlash(path)] = strings.ReplaceAll(string(data), "\r\n", "\n")
				return err
			}
		}
		return nil
	})
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	return files
}

// lines calls f with every line of a page that is in no block of code.
func lines(page string, f func(number int, line string)) {
	fenced := false
	for i, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if !fenced && !strings.HasPrefix(line, "    ") {
			f(i+1, line)
		}
	}
}

// anchors returns those that GitHub gives the headings of a page.
func anchors(page string) map[string]bool {
	names := map[string]bool{}
	lines(page, func(_ int, line string) {
		if text := strings.TrimLeft(line, "#"); text != line {
			text = strings.ToLower(strings.TrimSpace(text))
			names[strings.ReplaceAll(dropped.ReplaceAllString(text, ""), " ", "-")] = true
		}
	})
	return names
}

// TestLinks checks that relative links, and what sources say of docs, lead to files and headings that exist.
func TestLinks(t *testing.T) {
	pages := read(t, ".md")
	for path, page := range pages {
		lines(page, func(number int, line string) {
			for _, m := range link.FindAllStringSubmatch(ticks.ReplaceAllString(line, ""), -1) {
				to, anchor, _ := strings.Cut(m[1], "#")
				if strings.Contains(to, "://") {
					continue
				}
				target := path
				if to != "" {
					target = filepath.ToSlash(filepath.Join(filepath.Dir(path), to))
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s:%d: %v", path, number, err)
				} else if anchor != "" && !anchors(pages[target])[anchor] {
					t.Errorf("%s:%d: %s has no heading #%s", path, number, target, anchor)
				}
			}
		})
	}
	for path, source := range read(t, ".go", ".s", "run", ".sh", ".md") {
		for _, name := range mention.FindAllString(source, -1) {
			if _, err := os.Stat(filepath.Join("..", name)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestTests looks for the tests that the page on fidelity names.
func TestTests(t *testing.T) {
	code := ""
	for _, text := range read(t, "_test.go") {
		code += text
	}
	page := read(t, "docs/fidelity.md")["../docs/fidelity.md"]
	names := regexp.MustCompile("`(Test[A-Z]\\w*)`").FindAllStringSubmatch(page, -1)
	if len(names) < 50 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, name := range names {
		if !strings.Contains(code, "\nfunc "+name[1]+"(t *testing.T)") {
			t.Errorf("fidelity.md: there is no %s", name[1])
		}
	}
}
