package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/internal/replay"
	"example.com/leafhopper/sm"
)

// A kind is a format of recordings.
type kind struct {
	name   *regexp.Regexp // of the file, without .gz
	what   string
	replay func(ctx context.Context, c *config, f *file, data []byte) (result, error)
}

func named(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")$") }

// kinds is the registry of formats; the first whose name matches counts.
var kinds = []kind{
	{named(`mbarrier\.txt`), "scripts on an mbarrier", parsed(golden.ParseScripts, replay.Script)},
	{named(`tensormap\.txt`), "calls of cuTensorMapEncodeTiled", parsed(golden.ParseMapCalls, replay.TensorMap)},
	{named(`tensormap_im2col\.txt`), "calls of cuTensorMapEncodeIm2col", parsed(golden.ParseMapCalls, replay.TensorMap)},
	{named(`tma\.bin`), "tile copies", parsed(golden.ParseCopies, replay.Copy)},
	{named(`tma_tf32\.bin`), "tile copies through tf32 maps", parsed(golden.ParseCopies, replay.Copy)},
	{named(`tma_im2col\.bin`), "copies through im2col maps", parsed(golden.ParseCopies, replay.Copy)},
	{named(`tma_im2col_edge\.bin`), "copies through im2col maps that fault", parsed(golden.ParseCopies, replay.Copy)},
	{named(`tma_prefetch\.bin`), "prefetches through tensor maps", parsed(golden.ParseCopies, replay.Copy)},
	{named(`tma_wide\.bin`), "copies through maps of over 2^31 elements", parsed(golden.ParseCopies, replay.Copy)},
	{named(`tensormap_replace\.bin`), "copies through maps that a kernel has changed",
		parsed(golden.ParseReplacements, replay.Replaced)},
	{named(`tensormap_replace_edge\.bin`), "changes of maps that PTX does not define",
		parsed(golden.ParseReplacements, replay.Irreplaceable)},
	{named(`tma_illegal\.txt`), "tile copies that fault", parsed(golden.ParseRefused, replayRefused)},
	{named(`tma_tf32\.txt`), "words loaded as tf32", parsed(golden.ParseWords, replay.Word)},
	{named(`reduce\.txt`), "reductions in every place", parsed(golden.ParseReductions, replay.Reduction)},
	{named(`warp\.txt`), "instructions of a warp", parsed(golden.ParseWarps, free(replay.Warp))},
	{named(`atomic\.txt`), "atomics", parsed(golden.ParseAtomics, free(replay.Atomic))},
	{named(`banks\.txt`), "accesses of shared memory, in cycles", parsed(golden.ParseBanks, free(replay.BankCycles))},
	{named(`banks_ncu\.txt`), "accesses of shared memory, in wavefronts",
		parsed(golden.ParseBanks, free(replay.BankWavefronts))},
	{named(`cluster\.jsonl`), "scenarios of clusters", parsed(golden.ParseClusters, replayCluster)},
	{named(`mma\.txt`), "matrix instructions of a warp", parsed(golden.ParseMMAs, replay.MMA)},
	{named(`mma_b1\.txt`), "matrix instructions of a warp, of bits", parsed(golden.ParseMMAs, replay.MMA)},
	{named(`mma_sp\.txt`), "sparse matrix instructions of a warp", parsed(golden.ParseSparseMMAs, replay.SparseMMA)},
	{named(`wgmma_desc\.bin`), "matrix descriptors", parsed(golden.ParseDescriptors, replay.Descriptor)},
	{named(`wgmma_sp_desc\.bin`), "matrix descriptors, A sparse", parsed(golden.ParseDescriptors, replay.Descriptor)},
	{named(`wgmma_sp\.bin`), "sparse matrix instructions", parsed(golden.ParseSparseWGMMAs, replay.SparseWGMMA)},
	{named(`wgmma_scale\.bin`), "matrix instructions with scales", parsed(golden.ParseScaledWGMMAs, replay.WGMMA)},
	{named(`wgmma_.*\.bin`), "matrix instructions", parsed(golden.ParseWGMMAs, replay.WGMMA)},
	{named(`cublas\.json`), "whole products", products(golden.ParseProducts, sixteenBits)},
	{named(`cublas_few\.json`), "whole products of few rows", products(golden.ParseMatmuls, matmul)},
	{named(`cublas_fp8_tf32\.json`), "whole products in tf32 and fp8", products(golden.ParseMatmuls, matmul)},
	{named(`cublas_epilogue\.json`), "whole products with epilogues", products(golden.ParseMatmuls, matmul)},
}

// free has check run kernels in free mode.
func free[T any](check func(*T, sm.Config) (string, error)) func(*T) (string, error) {
	return func(record *T) (string, error) { return check(record, sm.Config{}) }
}

// companions are files that belong to another.
var companions = named(`(cublas.*)_rows\.bin`)

// parsed returns the replay of a format whose records stand alone: parse reads
// them, and check says how the emulator differs from one, or "". An error of check is
// one of the record, which no recorder can have written.
func parsed[T any](
	parse func([]byte) ([]T, error), check func(*T) (string, error),
) func(context.Context, *config, *file, []byte) (result, error) {
	return func(ctx context.Context, _ *config, _ *file, data []byte) (result, error) {
		var r result
		records, err := parse(data)
		if err != nil {
			return r, err
		}
		for i := range records {
			if i%16 == 0 && ctx.Err() != nil {
				return r, ctx.Err()
			}
			text, err := guard(&records[i], check)
			if err != nil {
				return r, fmt.Errorf("record %d: %w", i, err)
			}
			r.count(fmt.Sprintf("record %d", i), text)
		}
		return r, nil
	}
}

// guard makes a panic of the emulator a difference: the GPU did what the record
// says.
func guard[T any](record *T, check func(*T) (string, error)) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			text, err = fmt.Sprintf("the emulator panics: %v", p), nil
		}
	}()
	return check(record)
}

// replayCluster runs a scenario as a kernel. It ends by itself, or by a fault.
func replayCluster(s *golden.ClusterScenario) (string, error) {
	return replay.Cluster(context.Background(), s, sm.Config{})
}

// replayRefused tries a copy that faults. Why the emulator refuses it is nothing that a GPU tells.
func replayRefused(b *golden.Box) (string, error) {
	_, text, err := replay.Refused(b)
	return text, err
}

// A file is a recording that was found.
type file struct {
	path string
	kind *kind
}

func (f *file) replay(ctx context.Context, c *config) (result, error) {
	data, err := golden.Read(f.path)
	if err != nil {
		return result{}, err
	}
	r, err := f.kind.replay(ctx, c, f, data)
	r.file = filepath.Base(f.path)
	return r, err
}

// testdata are the folders of this module that hold its recordings, each with
// the package that they test.
var testdata = []string{
	"barrier/testdata", "tile/testdata", "sm/testdata", "wgmma/testdata", "mma/testdata", "hopper/testdata",
}

// find returns the recordings that the command line names.
func (c *config) find(say func(format string, args ...any)) ([]file, error) {
	dirs, given := c.dirs, len(c.dirs) > 0
	if !given {
		root, err := moduleRoot()
		if err != nil {
			return nil, err
		}
		for _, d := range testdata {
			dirs = append(dirs, filepath.Join(root, filepath.FromSlash(d)))
		}
	}
	var files []file
	var empty []string // folders without a recording
	for _, dir := range dirs {
		paths, err := list(dir)
		if err != nil {
			return nil, err
		}
		folder := !slices.Contains(paths, dir)
		recordings := 0
		var skipped []string
		for _, path := range paths {
			base := plain(path)
			at := slices.IndexFunc(kinds, func(k kind) bool { return k.name.MatchString(base) })
			if at >= 0 {
				recordings++
			}
			switch {
			case !c.match.MatchString(filepath.Base(path)):
			case at >= 0:
				files = append(files, file{path, &kinds[at]})
			case !folder && len(dirs) == 1:
				return nil, fmt.Errorf("%s: %s", path, unfit(base))
			case !companions.MatchString(base) || !folder && !accompanies(path, dirs):
				skipped = append(skipped, fmt.Sprintf("%s: skipped: %s", path, unfit(base)))
			}
		}
		if folder && recordings == 0 {
			empty = append(empty, dir)
		}
		// Another name beside recordings may be a mistake of who made them.
		if c.verbose || given && (!folder || recordings > 0) {
			for _, text := range skipped {
				say("%s", text)
			}
		}
	}
	switch {
	case given && len(empty) == len(dirs):
		in := "it"
		if len(dirs) > 1 {
			in = "them"
		}
		return nil, fmt.Errorf("%s: no recordings in %s (they lie in */testdata; without DIR all are taken)",
			strings.Join(dirs, ", "), in)
	case len(files) == 0 && c.run != "":
		return nil, fmt.Errorf("no recording matches -run %s in %s", c.run, strings.Join(dirs, ", "))
	case len(files) == 0:
		return nil, fmt.Errorf("%s: nothing to replay", strings.Join(dirs, ", "))
	}
	if given {
		for _, dir := range empty {
			say("%s: no recordings in it", dir)
		}
	}
	return files, nil
}

// plain is the name of the file at path, without .gz.
func plain(path string) string { return strings.TrimSuffix(filepath.Base(path), ".gz") }

// unfit says why a file of that name, without .gz, is not replayed.
func unfit(base string) string {
	if m := companions.FindStringSubmatch(base); m != nil {
		return "replayed with " + m[1] + ".json, not alone"
	}
	return "not the name of a recording"
}

// accompanies reports whether the recording that the companion at path belongs to is among dirs, by its own name or in
// its folder.
func accompanies(path string, dirs []string) bool {
	folder, name := absolute(filepath.Dir(path)), companions.ReplaceAllString(plain(path), "$1.json")
	for _, suffix := range []string{"", ".gz"} {
		recording := filepath.Join(folder, name+suffix)
		if _, err := os.Stat(recording); err == nil && slices.ContainsFunc(dirs, func(dir string) bool {
			dir = absolute(dir)
			return dir == folder || dir == recording
		}) {
			return true
		}
	}
	return false
}

// absolute is filepath.Abs, which fails only if there is no working directory.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// list returns the files in a folder, or path if it is a file.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() {
			paths = append(paths, filepath.Join(path, e.Name()))
		}
	}
	return paths, nil
}

// moduleRoot returns the folder, from the working directory upwards, whose
// go.mod is the one of this program.
func moduleRoot() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", errors.New("this build does not know its module; name a DIR")
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	want := regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(info.Main.Path) + `$`)
	for dir := wd; ; dir = filepath.Dir(dir) {
		if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && want.Match(mod) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside module %s; name a DIR", wd, info.Main.Path)
		}
	}
}
