// Package golden reads the files of behaviour recorded on an H200 that the
// tests of this module replay.
//
// Every reader is strict: a file that is cut short, has a field too many, or
// holds a value that the recorder cannot have written is an error, never a
// panic and never a short list.
package golden

// A file for each kind of recording, which package replay has under the same name:
//
//	mbarrier             operations on an mbarrier
//	tensormap, tma       calls of the driver that make a map; copies through it
//	replace, reduce      copies through maps that kernels have changed; reductions in every place
//	cluster              scenarios of the CTAs of a cluster
//	warp, atomic, banks  instructions of a warp; atomics; what accesses of shared memory take
//	mma, wgmma, sparse   matrix instructions of a warp and of a warpgroup, and descriptors
//	product, matmul      whole products of cuBLAS
//
// golden has what they share.

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// maxFile bounds a decompressed file, so that a broken one cannot eat the
// machine. The largest golden file is a tenth of it.
const maxFile = 64 << 20

// Read returns the contents of the file at path, decompressed if its name ends
// in ".gz". Data behind the gzip stream is an error, and so is what is no regular
// file: to open a named pipe may take until somebody writes to it.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("golden: %s: not a regular file (%v)", path, info.Mode())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("golden: %w", err)
	}
	defer f.Close()
	read := readAll
	if strings.HasSuffix(path, ".gz") {
		read = gunzip
	}
	data, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("golden: %s: %w", path, err)
	}
	return data, nil
}

// Records returns the records of the file at path, as parse reads them.
func Records[T any](path string, parse func(data []byte) ([]T, error)) ([]T, error) {
	data, err := Read(path)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// readAll is io.ReadAll of no more than maxFile bytes.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	return data, err
}

// gunzip decompresses what it reads as it goes.
func gunzip(r io.Reader) ([]byte, error) {
	src := bufio.NewReader(r) // of which gzip reads no byte too many
	var data []byte
	z, err := gzip.NewReader(src)
	if err == nil {
		z.Multistream(false)
		data, err = readAll(z)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("the gzip stream is cut short")
	case err != nil:
		return nil, err
	}
	switch _, err := src.ReadByte(); err {
	case io.EOF:
		return data, nil
	case nil:
		return nil, errors.New("data behind the gzip stream")
	default:
		return nil, err
	}
}

// lines splits a text file, whose last line must end like the others.
func lines(data []byte) ([]string, error) {
	text := string(data)
	if !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("golden: last line is cut short or the file is empty")
	}
	return strings.Split(text[:len(text)-1], "\n"), nil
}

// parseLines reads a text file of a record each line.
func parseLines[T any](data []byte, parse func(*T, string) error) ([]T, error) {
	rows, err := lines(data)
	if err != nil {
		return nil, err
	}
	return parseRows(rows, 1, parse)
}

// parseRows reads lines, of which the first has that number in the file.
func parseRows[T any](rows []string, first int, parse func(*T, string) error) ([]T, error) {
	all := make([]T, len(rows))
	for i, row := range rows {
		if err := parse(&all[i], row); err != nil {
			return nil, fmt.Errorf("golden: line %d: %w", first+i, err)
		}
	}
	return all, nil
}

// parseRecords reads a binary file of records, of which parse returns the length; what is their name.
func parseRecords[T any](data []byte, what string, parse func(*T, []byte) (int, error)) ([]T, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("golden: no %s in the file", what)
	}
	var all []T
	for at := 0; at < len(data); {
		var r T
		n, err := parse(&r, data[at:])
		if err != nil {
			return nil, fmt.Errorf("golden: %s %d at byte %d: %w", what, len(all), at, err)
		}
		all = append(all, r)
		at += n
	}
	return all, nil
}

// decode sets fields, pointers to numbers or slices of them, to what b begins with, little-endian, and returns what
// follows. The caller has seen to it that b has as much.
func decode(b []byte, fields ...any) (rest []byte) {
	for _, f := range fields {
		n, err := binary.Decode(b, binary.LittleEndian, f)
		if err != nil {
			panic(err)
		}
		b = b[n:]
	}
	return b
}

// A number is any integer type of a record.
type number interface {
	~int | ~int32 | ~uint8 | ~uint32 | ~uint64
}

// list parses exactly len(dst) comma-separated integers.
func list[T number](dst []T, text string) error {
	fields := strings.Split(text, ",")
	if len(fields) != len(dst) {
		return fmt.Errorf("want %d values, got %d in %q", len(dst), len(fields), text)
	}
	for i, f := range fields {
		if err := scalar(&dst[i], f); err != nil {
			return err
		}
	}
	return nil
}

// scalar parses one decimal that fits T.
func scalar[T number](dst *T, text string) error {
	if strings.HasPrefix(text, "-") {
		v, err := strconv.ParseInt(text, 10, 64)
		if *dst = T(v); err != nil || int64(*dst) != v || *dst > 0 {
			return fmt.Errorf("bad number %q", text)
		}
		return nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if *dst = T(v); err != nil || uint64(*dst) != v || *dst < 0 {
		return fmt.Errorf("bad number %q", text)
	}
	return nil
}
