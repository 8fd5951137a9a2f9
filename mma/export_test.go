package mma

import "sync"

// Assembly is whether Sync multiplies by it.
var Assembly = kernel != nil

var plain = sync.Pool{New: func() any { return newMemory(nil) }}

// Plain is Sync in plain Go.
func Plain(op Op, d, a, b [][Lanes]uint32) error { return op.execute(&plain, d, a, b) }
