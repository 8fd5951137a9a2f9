// Package replay does on the emulator what recordings of a GPU say was done, for
// the tests of packages and for hoppercheck.
package replay
