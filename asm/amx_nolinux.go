//go:build !linux || !amd64 || purego

package asm

import "errors"

// requestTiles refuses: other systems have other ways to ask, and they are not known to work.
func requestTiles() error { return errors.New("it is asked on Linux only") }
