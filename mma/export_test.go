package mma

// Assembly is whether MMA multiplies by it.
var Assembly = kernel != nil

// Plain is MMA in plain Go.
func Plain(op Op, d, a, b [][Lanes]uint32) error {
	return (&Warp{newMemory(nil)}).MMA(op, d, a, b)
}
