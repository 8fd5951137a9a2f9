package main

import (
	"fmt"
	"io"
	"strings"

	"example.com/leafhopper/internal/cli"
)

// A result is what became of one file.
type result struct {
	file               string
	records, different int
	first              string // the first difference
	leftOut            int    // products that are too large
	splits             []splitProduct
}

// A splitProduct agrees if K is summed in parts. The JSON names are an interface.
type splitProduct struct {
	Record  int    `json:"record"`
	Product string `json:"product"`
	Parts   int    `json:"parts"`
}

// note says what agrees not as it stands, and what was left out, or "". A verbose
// command has named the former.
func (r *result) note(c *config) string {
	names := " (-v names them)"
	if c.verbose {
		names = ""
	}
	var parts []string
	switch n := len(r.splits); {
	case n == 1:
		parts = append(parts, "1 product agrees with K split"+names)
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d products agree with K split%s", n, names))
	}
	if r.leftOut > 0 {
		noun := "products "
		if parts != nil {
			noun = ""
		}
		parts = append(parts, fmt.Sprintf("%d %sof more than %g operations left out (-max-flops)",
			r.leftOut, noun, c.maxFlops))
	}
	return strings.Join(parts, "; ")
}

// count adds a record; difference is empty if it agreed.
func (r *result) count(record, difference string) {
	r.records++
	if difference == "" {
		return
	}
	if r.different++; r.different == 1 {
		r.first = record + ": " + difference
	}
}

// write prints the results.
func write(w io.Writer, c *config, results []result) error {
	if c.format == "json" {
		type row struct {
			File      string `json:"file"`
			Records   int    `json:"records"`
			Different int    `json:"different"`
			First     string `json:"first,omitempty"`

			LeftOut int            `json:"left_out,omitempty"` // records, which are not counted above
			Split   []splitProduct `json:"split,omitempty"`
		}
		rows := make([]row, len(results)) // an empty list is [], not null
		for i, r := range results {
			rows[i] = row{r.file, r.records, r.different, r.first, r.leftOut, r.splits}
		}
		return cli.WriteJSON(w, rows)
	}
	records, different := 0, 0
	var text strings.Builder
	fmt.Fprintf(&text, "%9s  %9s  %s\n", "records", "different", "file")
	for _, r := range results {
		fmt.Fprintf(&text, "%9d  %9d  %s\n", r.records, r.different, r.file)
		records += r.records
		different += r.different
	}
	fmt.Fprintf(&text, "%9d  %9d  in all\n", records, different)
	for _, r := range results {
		if note := r.note(c); note != "" {
			fmt.Fprintf(&text, "\n%s: %s\n", r.file, note)
		}
	}
	for _, r := range results {
		if r.different > 0 {
			fmt.Fprintf(&text, "\n%s, the first of %d differences:\n  %s\n", r.file, r.different, r.first)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
