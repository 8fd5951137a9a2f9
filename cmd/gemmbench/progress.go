package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"example.com/leafhopper/bench"
	"golang.org/x/term"
)

// A progress keeps one line on a terminal up to date.
type progress struct {
	w     io.Writer // nil if there is no terminal
	width func() int
	shown bool
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &progress{}
	}
	return &progress{w: f, width: func() int { return cmp.Or(terminalWidth(f), 80) }}
}

// terminalWidth returns the columns of the terminal that w is, or 0 if it is none or does
// not say.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 0
	}
	return width
}

// clearLine returns to the start of the line and erases it.
const clearLine = "\r\x1b[K"

func (p *progress) show(s bench.Progress) {
	if p.w == nil {
		return
	}
	line := fmt.Sprintf("%3d %%  %s", 100*s.Step/max(1, s.Steps), s.What)
	if s.Left > 0 {
		line += fmt.Sprintf(", about %v left", s.Left.Round(time.Second))
	}
	// A line that wraps could not be erased.
	if width := p.width(); len(line) >= width {
		line = line[:width-1]
	}
	fmt.Fprint(p.w, clearLine+line)
	p.shown = true
}

// clear erases the line.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, clearLine)
		p.shown = false
	}
}
