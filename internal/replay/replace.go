package replay

import (
	"fmt"

	"example.com/leafhopper/internal/golden"
	"example.com/leafhopper/tile"
)

// elemtypes are the element types as tensormap.replace numbers them.
var elemtypes = [...]tile.DataType{
	tile.Uint8, tile.Uint16, tile.Uint32, tile.Int32, tile.Uint64, tile.Int64, tile.Float16, tile.Float32, tile.Float32FTZ,
	tile.Float64, tile.BFloat16, tile.TFloat32, tile.TFloat32FTZ,
}

// change does a change of a map. That of an address moves the tensor to global.
func change(d *tile.Descriptor, c golden.Change, global []byte) error {
	v, ord := uint32(c.Value), int(c.Ord)
	switch c.Field {
	case golden.GlobalAddress:
		return d.ReplaceGlobalAddress(global, c.Value)
	case golden.Rank:
		return d.ReplaceRank(v)
	case golden.BoxDim:
		return d.ReplaceBoxDim(ord, v)
	case golden.GlobalDim:
		return d.ReplaceGlobalDim(ord, v)
	case golden.GlobalStride:
		return d.ReplaceGlobalStride(ord, c.Value)
	case golden.ElementStride:
		return d.ReplaceElementStride(ord, v)
	case golden.Elemtype:
		if int(v) >= len(elemtypes) {
			return fmt.Errorf("elemtype %d", v)
		}
		return d.ReplaceElemtype(elemtypes[v])
	case golden.InterleaveLayout:
		return d.ReplaceInterleaveLayout(tile.Interleave(v))
	case golden.SwizzleMode:
		return d.ReplaceSwizzleMode(tile.Swizzle(v))
	}
	return d.ReplaceFillMode(tile.Fill(v))
}

// Replaced makes the map of a copy out of its base, and does the copy. It says how what that writes or signals differs
// from the GPU's, whose map has the driver's bits, or "".
func Replaced(r *golden.Replacement) (string, error) {
	cfg, err := configOfCopy(&r.Copy)
	if err != nil {
		return "", err
	}
	m, text := replaced(r, &cfg)
	switch {
	case m == nil:
		return text, nil
	case r.Same != golden.SameBits:
		return fmt.Sprintf("%+v after %v: the bits of the map are not the driver's", r.Box, r.Changes), nil
	}
	return through(&r.Copy, m, cfg.Global)
}

// replaced returns the map that the changes make of the base, whose tensor becomes that of cfg, or says what is wrong.
func replaced(r *golden.Replacement, cfg *tile.Config) (*tile.TensorMap, string) {
	base := configOf(&r.Base, r.BaseStrides[:r.Base.Rank-1])
	m, err := tile.NewTensorMap(base)
	if err != nil {
		return nil, fmt.Sprintf("%+v: %v, the driver accepted the map", r.Base, err)
	}
	d := m.Descriptor()
	if err := d.ReplaceGlobalAddress(cfg.Global, 0); err != nil { // it may be none of the changes
		return nil, fmt.Sprintf("%+v: %v", r.Base, err)
	}
	for _, c := range r.Changes {
		if err := change(&d, c, cfg.Global); err != nil {
			return nil, fmt.Sprintf("%+v: %v", c, err)
		}
	}
	if m, err = d.Map(); err != nil {
		return nil, fmt.Sprintf("%+v: %v", r.Box, err)
	}
	return m, ""
}

// Irreplaceable tries changes that PTX does not define, and says that the emulator makes a map that loads, or "".
func Irreplaceable(r *golden.Replacement) (string, error) {
	cfg, err := configOfCopy(&r.Copy)
	if err != nil {
		return "", err
	}
	m, _ := replaced(r, &cfg)
	if m == nil {
		return "", nil
	}
	s, err := tile.NewShared(golden.SharedSize)
	if err != nil {
		return "", err
	}
	if err := tile.Load(s, int(r.SharedOffset), m, coordOf(&r.Box), nil); err == nil {
		return fmt.Sprintf("%+v: loaded after %v", r.Box, r.Changes), nil
	}
	return "", nil
}
