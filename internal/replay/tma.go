package replay

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"example.com/leafhopper/barrier"
	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/tile"
)

// coordOf returns the coordinates of the instruction, with its offsets if it is an im2col load: those that the GPU
// takes, 16, 8 or 5 bits by rank. The emulator refuses one with more. In rank 5 the compiler adds them up, shifted by 5
// bits each, so that what one has more is the next one's.
func coordOf(b *golden.Box) []int32 {
	coord := b.Coord[:b.Rank:b.Rank]
	if b.Kind == golden.KindStore || b.Mode != golden.Im2colMap && b.Mode != golden.OtherInstr {
		return coord
	}
	o := b.Offsets
	switch b.Rank {
	case 3:
		return append(coord, o[0])
	case 4:
		return append(coord, o[0]&0xff, o[1]&0xff)
	}
	sum := o[0] + o[1]<<5 + o[2]<<10
	return append(coord, sum&31, sum>>5&31, sum>>10&31)
}

// configOfCopy returns the tensor map of a copy, of memory that holds what the GPU's did before it.
func configOfCopy(c *golden.Copy) (tile.Config, error) {
	cfg, n := configOf(&c.Box, c.Strides[:c.Rank-1]), len(c.After)
	if c.Kind != golden.KindStore || c.Done < 0 {
		var err error
		if n, err = extent(&cfg); err != nil {
			return cfg, err
		}
	}
	cfg.Global = bytes.Repeat([]byte{golden.GlobalInit}, n)
	if c.Kind == golden.KindLoad || c.Red != 0 {
		c.FillGlobal(cfg.Global)
	}
	return cfg, nil
}

// Copy does a load, a store, a reduction or a prefetch through a tensor map, and says how what it writes or signals
// differs from the GPU's, or "".
func Copy(c *golden.Copy) (string, error) {
	cfg, err := configOfCopy(c)
	if err != nil {
		return "", err
	}
	m, err := tile.NewTensorMap(cfg)
	if err != nil {
		return fmt.Sprintf("%+v: %v", c.Box, err), nil
	}
	return through(c, m, cfg.Global)
}

// through does a copy through m, whose tensor lies in memory.
func through(c *golden.Copy, m *tile.TensorMap, memory []byte) (string, error) {
	if m.BoxBytes() != int(c.Bytes) {
		return fmt.Sprintf("%+v: a box of %d bytes, on the GPU %d", c.Box, m.BoxBytes(), c.Bytes), nil
	}
	switch c.Kind {
	case golden.KindLoad:
		return load(c, m)
	case golden.KindPrefetch: // which not always faults where a load does
		if err := tile.Prefetch(m, coordOf(&c.Box)); err == nil {
			return verdict(c, "prefetch", err), nil
		}
		return "", nil
	}
	s, err := tile.NewShared(golden.SharedSize)
	if err != nil {
		return "", err
	}
	c.FillShared(s.Bytes())
	before, global := slices.Clone(s.Bytes()), c.After
	if c.Done < 0 {
		global = slices.Clone(memory)
	}
	what := "store"
	if c.Red != 0 {
		what = tile.ReduceOp(c.Red).String()
		err = tile.Reduce(m, tile.ReduceOp(c.Red), coordOf(&c.Box), s, int(c.SharedOffset))
	} else {
		err = tile.Store(m, coordOf(&c.Box), s, int(c.SharedOffset))
	}
	if text := verdict(c, what, err); text != "" {
		return text, nil
	}
	if text := differ("global", memory, global); text != "" {
		return fmt.Sprintf("%s %+v: %s", what, c.Box, text), nil
	}
	return differ("the source in shared", s.Bytes(), before), nil
}

// LoadMap returns the map of a recorded load, of memory that holds what the GPU's did.
func LoadMap(c *golden.Copy) (*tile.TensorMap, error) {
	cfg, err := configOfCopy(c)
	if err != nil {
		return nil, err
	}
	return tile.NewTensorMap(cfg)
}

// verdict says that the emulator, with err, did a copy on which the GPU faulted, or not one that the GPU did, or "".
func verdict(c *golden.Copy, what string, err error) string {
	switch {
	case err == nil && c.Done < 0:
		return fmt.Sprintf("%s %+v: done, the GPU has error %d", what, c.Box, -c.Done)
	case err != nil && c.Done >= 0:
		return fmt.Sprintf("%s %+v: %v", what, c.Box, err)
	}
	return ""
}

func load(c *golden.Copy, m *tile.TensorMap) (string, error) {
	if m.BoxBytes() != int(c.Done) && c.Done >= 0 {
		return fmt.Sprintf("load %+v: %d bytes signalled, by the GPU %d", c.Box, m.BoxBytes(), c.Done), nil
	}
	s, err := tile.NewShared(golden.SharedSize)
	if err != nil {
		return "", err
	}
	want := bytes.Repeat([]byte{golden.SharedInit}, golden.SharedSize)
	copy(s.Bytes(), want)
	copy(want, c.After)
	bars := make([]barrier.Barrier, 2)
	bar := &bars[1]
	if err := bar.Init(1); err != nil {
		return "", err
	}
	bar.ArriveExpectTx(m.BoxBytes())
	if bar.TestWaitParity(0) {
		return fmt.Sprintf("load %+v: %v before the copy, whose bytes it expects", c.Box, bar.State()), nil
	}
	what, coord, offset := "load", coordOf(&c.Box), int(c.SharedOffset)
	if c.Multicast != 0 {
		what = "multicast"
		err = tile.Cluster{nil, s}.LoadMulticast(1<<1, offset, m, coord, bars)
	} else {
		err = tile.Load(s, offset, m, coord, bar)
	}
	if text := verdict(c, what, err); text != "" {
		return text, nil
	}
	if bar.TestWaitParity(0) != (err == nil) {
		return fmt.Sprintf("%s %+v: %v after the copy, the GPU's phase was over", what, c.Box, bar.State()), nil
	}
	if text := differ("shared", s.Bytes(), want); text != "" {
		return fmt.Sprintf("%s %+v: %s", what, c.Box, text), nil
	}
	return "", nil
}

// differ describes the first byte of memory that is not the GPU's.
func differ(memory string, got, want []byte) string {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Sprintf("byte %d of %s memory is %#02x, the GPU's %#02x", i, memory, got[i], want[i])
		}
	}
	return ""
}

// Refused tries a copy that faults on the GPU. It returns why the emulator refuses it, and says that it does not, or
// not before it has touched something, or "".
func Refused(b *golden.Box) (why error, text string, err error) {
	// Strides were not recorded and do not matter: rows are dense.
	size := uint64(tile.DataType(b.DataType).Size())
	pitch := (b.Dims[0]*size + 15) &^ 15
	strides := make([]uint64, 0, 4)
	for d := int32(1); d < b.Rank; d++ {
		strides = append(strides, pitch)
		pitch *= b.Dims[d]
	}
	cfg := configOf(b, strides)
	n, err := extent(&cfg)
	if err != nil {
		return nil, "", err
	}
	cfg.Global = make([]byte, n)
	m, err := tile.NewTensorMap(cfg)
	if err != nil {
		if b.Interleave != 0 {
			return err, "", nil // no interleaved map is accepted
		}
		return err, fmt.Sprintf("%+v: %v, the driver accepted the map", *b, err), nil
	}
	s, err := tile.NewShared(int(b.SharedOffset) + m.SharedBytes())
	if err != nil {
		return nil, "", err
	}
	bar, err := barrier.New(1)
	if err != nil {
		return nil, "", err
	}
	bar.ArriveExpectTx(m.BoxBytes())
	coord := b.Coord[:b.Rank]
	if b.Kind == golden.KindLoad {
		for k := range s.Bytes() {
			s.Bytes()[k] = golden.SharedInit
		}
		err = tile.Load(s, int(b.SharedOffset), m, coord, bar)
	} else {
		err = tile.Store(m, coord, s, int(b.SharedOffset))
	}
	touched := bar.TestWaitParity(0) || slices.ContainsFunc(cfg.Global, func(v byte) bool { return v != 0 }) ||
		b.Kind == golden.KindLoad && slices.ContainsFunc(s.Bytes(), func(v byte) bool { return v != golden.SharedInit })
	switch {
	case err == nil:
		return nil, fmt.Sprintf("%+v: copied, the GPU faults", *b), nil
	case touched:
		return err, fmt.Sprintf("%+v: refused (%v), but something was written", *b, err), nil
	}
	return err, "", nil
}

// Word loads a word through both tf32 types, and says what else it becomes than on the GPU, or "".
func Word(w *golden.Word) (string, error) {
	global := make([]byte, 16)
	binary.LittleEndian.PutUint32(global, w.Before)
	for _, typ := range []tile.DataType{tile.TFloat32, tile.TFloat32FTZ} {
		m, err := tile.NewTensorMap(tile.Config{DataType: typ, Global: global, Dims: []uint64{4}, Box: []uint32{4}})
		if err != nil {
			return fmt.Sprintf("%08x through %v: %v", w.Before, typ, err), nil
		}
		s, err := tile.NewShared(m.SharedBytes())
		if err != nil {
			return "", err
		}
		if err := tile.Load(s, 0, m, []int32{0}, nil); err != nil {
			return fmt.Sprintf("%08x through %v: %v", w.Before, typ, err), nil
		}
		if got := binary.LittleEndian.Uint32(s.Bytes()); got != w.After {
			return fmt.Sprintf("%08x through %v becomes %08x, on the GPU %08x", w.Before, typ, got, w.After), nil
		}
	}
	return "", nil
}
