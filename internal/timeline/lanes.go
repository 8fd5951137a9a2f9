package timeline

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxLanes is how many lanes of text are drawn; the others are counted.
	maxLanes = 32
	// minColumns is the shortest line, whatever the width.
	minColumns = 16
)

// WriteLanes draws t as lanes of text, one line each, that are at most width columns
// wide where that leaves room for a line: under the time that a line takes from left to
// right, each lane's name, a mark in every column for what it spent most of that moment
// on, a blank if that was nothing, and what it spent its time on in all. What the marks
// mean comes last. Of more than 32 lanes the others are counted only.
func (t *Timeline) WriteLanes(w io.Writer, width int) error {
	first, last := t.bounds()
	lanes := t.Lanes[:min(len(t.Lanes), maxLanes)]
	var names, shares []string
	nameWidth, shareWidth := 0, 0
	for _, l := range lanes {
		name, share := joined(l.Group, l.Name), t.shares(l, last-first)
		names, shares = append(names, name), append(shares, share)
		nameWidth = max(nameWidth, utf8.RuneCountInString(name))
		shareWidth = max(shareWidth, utf8.RuneCountInString(share))
	}
	columns := max(minColumns, width-nameWidth-shareWidth-2*gap)
	margin := strings.Repeat(" ", nameWidth+gap)
	var b strings.Builder
	end := rounded(last - first)
	fmt.Fprintf(&b, "%s0%*s\n", margin, columns-1, end)
	for i, l := range lanes {
		line := fmt.Sprintf("%-*s%s%s%s%s", nameWidth, names[i],
			blank, t.draw(l, first, last, columns), blank, shares[i])
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if n := len(t.Lanes) - len(lanes); n > 0 {
		fmt.Fprintf(&b, "%sand %d more\n", margin, n)
	}
	var marks []string
	for _, k := range t.Kinds {
		marks = append(marks, string(k.Mark)+" "+k.Name)
	}
	legend := strings.Join(marks, blank)
	width = nameWidth + gap + columns + gap + shareWidth
	margin = margin[:max(0, min(len(margin), width-utf8.RuneCountInString(legend)))]
	b.WriteString(strings.TrimRight(margin+legend, " ") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	blank = "  "
	gap   = len(blank)
)

// draw returns the marks of l, one for each of so many equal moments.
func (t *Timeline) draw(l *Lane, first, last time.Duration, columns int) string {
	spent := make([][]time.Duration, columns) // by kind
	for i := range spent {
		spent[i] = make([]time.Duration, len(t.Kinds))
	}
	edge := func(i int) time.Duration {
		return first + time.Duration(float64(last-first)*float64(i)/float64(columns))
	}
	for _, s := range l.Spans {
		if last == first {
			break
		}
		from := int(float64(s.Start-first) / float64(last-first) * float64(columns))
		for i := min(columns-1, from); i < columns && edge(i) < s.End; i++ {
			spent[i][s.Kind] += max(0, min(s.End, edge(i+1))-max(s.Start, edge(i)))
		}
	}
	marks := make([]rune, columns)
	for i, by := range spent {
		nothing := edge(i+1) - edge(i)
		for _, d := range by {
			nothing -= d
		}
		marks[i] = ' '
		for k, most := 0, nothing; k < len(by); k++ {
			if by[k] > 0 && by[k] >= most {
				marks[i], most = t.Kinds[k].Mark, by[k]
			}
		}
	}
	return string(marks)
}

// shares says what part of the time l spent on each kind, if it was a thousandth or so.
func (t *Timeline) shares(l *Lane, of time.Duration) string {
	spent := make([]time.Duration, len(t.Kinds))
	for _, s := range l.Spans {
		spent[s.Kind] += s.End - s.Start
	}
	var parts []string
	for k, d := range spent {
		if of > 0 && d.Seconds()/of.Seconds() >= 0.0005 {
			parts = append(parts, fmt.Sprintf("%s %.1f %%", t.Kinds[k].Name, 100*d.Seconds()/of.Seconds()))
		}
	}
	return strings.Join(parts, ", ")
}

// rounded formats d with three significant digits or so.
func rounded(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
