package sm

import (
	"fmt"
	"unsafe"

	"example.com/leafhopper/tile"
)

// global is a slice as bulk copies see it.
func global[T any](s []T) tile.Global {
	p := unsafe.SliceData(s)
	return tile.Global{
		Bytes:   unsafe.Slice((*byte)(unsafe.Pointer(p)), len(s)*sizeof[T]()),
		Address: uint64(uintptr(unsafe.Pointer(p))),
	}
}

// NewTensorMap returns the map of a tensor in data, of which cfg says the rest
// (cuTensorMapEncodeTiled): Dims, Box and Swizzle. Nil Strides are those of a dense tensor.
// A zero DataType is that of T.
func NewTensorMap[T any](data []T, cfg tile.Config) (*tile.TensorMap, error) {
	typ, ok := dataTypeOf[T]()
	switch {
	case cfg.DataType != 0:
	case !ok:
		return nil, fmt.Errorf("sm: NewTensorMap: no DataType is that of %T", data)
	default:
		cfg.DataType = typ
	}
	if cfg.Strides == nil {
		stride := uint64(cfg.DataType.Size())
		for _, n := range cfg.Dims[:max(len(cfg.Dims)-1, 0)] {
			stride *= n
			cfg.Strides = append(cfg.Strides, stride)
		}
	}
	r := global(data)
	cfg.Global, cfg.Address = r.Bytes, r.Address
	return tile.NewTensorMap(cfg)
}

// LoadBulk issues the copy of src to dst, a multiple of 16 bytes between multiples of 16,
// which it completes on bar; it arrives for nobody (cuda::device::memcpy_async_tx, PTX
// cp.async.bulk).
func LoadBulk[T any](t *Thread, dst *Array[T], src []T, bar *Barrier) {
	t.use("LoadBulk")
	r := t.own(dst, "destination")
	from := global(src)
	t.holds(r, "destination", len(from.Bytes))
	b := t.bar(bar, r.cta)
	t.arriving(b)
	t.issuing.from = t.outside(from, 0)
	t.issuing.into = area{memory: r.memory, at: r.offset, n: len(from.Bytes)}
	t.check(t.bulk.LoadBulk(r.cta.shared(), r.offset, from, 0, len(from.Bytes), b.b))
}

// LoadBulkMulticast is LoadBulk to dst's address in every CTA of mask, as
// [Thread.LoadTensorMulticast] does.
func LoadBulkMulticast[T any](t *Thread, dst *Array[T], src []T, bar *Barrier, mask uint16) {
	t.use("LoadBulkMulticast")
	r := t.own(dst, "destination")
	from := global(src)
	t.holds(r, "destination", len(from.Bytes))
	for _, b := range t.receivers(mask, bar) {
		t.arriving(b)
		t.issuing.from = t.outside(from, 0)
		t.issuing.into = area{memory: &b.cta.memory, at: r.offset, n: len(from.Bytes)}
		t.check(t.bulk.LoadBulk(b.cta.shared(), r.offset, from, 0, len(from.Bytes), b.b))
	}
}

// StoreBulk issues the copy of src to dst, as many bytes as dst has, a transfer of the bulk
// group that is committed next (PTX cp.async.bulk.global.shared::cta).
func StoreBulk[T any](t *Thread, dst []T, src *Array[T]) {
	t.use("StoreBulk")
	r := t.own(src, "source")
	to := global(dst)
	t.holds(r, "source", len(to.Bytes))
	t.issuing.from = area{memory: r.memory, at: r.offset, n: len(to.Bytes)}
	t.issuing.into = t.outside(to, writes)
	t.check(t.bulk.StoreBulk(to, 0, r.cta.shared(), r.offset, len(to.Bytes)))
}

// StoreReduceBulk is StoreBulk that combines each element with dst's (PTX
// cp.reduce.async.bulk.global.shared::cta). See [tile.ReduceBulk].
func StoreReduceBulk[T any](t *Thread, op tile.ReduceOp, dst []T, src *Array[T]) {
	t.use("StoreReduceBulk")
	r := t.own(src, "source")
	to := global(dst)
	t.holds(r, "source", len(to.Bytes))
	if !r.typed {
		t.fail(RuleBytes, "%T has no elements that a copy can combine", src)
	}
	t.issuing.from = area{memory: r.memory, at: r.offset, n: len(to.Bytes)}
	t.issuing.into = t.outside(to, writes|combines)
	t.check(t.bulk.ReduceBulk(to, 0, op, r.typ, r.cta.shared(), r.offset, len(to.Bytes)))
}

// PrefetchBulk is the hint that src will be loaded, a multiple of 16 bytes at one of 16 (PTX
// cp.async.bulk.prefetch.L2): it checks the address and the size.
func PrefetchBulk[T any](t *Thread, src []T) {
	t.use("PrefetchBulk")
	from := global(src)
	t.check(tile.PrefetchBulk(from, 0, len(from.Bytes)))
}

// holds reports a region that is smaller than what a copy moves.
func (t *Thread) holds(r region, what string, bytes int) {
	if bytes > r.bytes {
		t.fail(RuleBytes, "%d bytes in a %s of %d", bytes, what, r.bytes)
	}
}

// CopyBulk issues the copy of src to dst, which lies in any CTA of the cluster and is at
// least as large. It completes the bytes on bar, a barrier of that CTA (PTX
// cp.async.bulk.shared::cluster.shared::cta).
func (t *Thread) CopyBulk(dst, src Region, bar *Barrier) {
	t.use("CopyBulk")
	to, from, b := t.exchange(dst, src, bar)
	t.check(t.bulk.CopyBulk(to.cta.shared(), to.offset, from.cta.shared(), from.offset, from.bytes, b.b))
}

// ReduceBulk is CopyBulk that combines each element with dst's, whose type both have (PTX
// cp.reduce.async.bulk.shared::cluster.shared::cta). See [tile.ReduceShared].
func (t *Thread) ReduceBulk(op tile.ReduceOp, dst, src Region, bar *Barrier) {
	t.use("ReduceBulk")
	to, from, b := t.exchange(dst, src, bar)
	if !from.typed || from.typ != to.typ {
		t.fail(RuleBytes, "%T and %T are not of one type that a copy can combine", dst, src)
	}
	t.issuing.into.how |= combines
	t.check(t.bulk.ReduceShared(to.cta.shared(), to.offset, op, from.typ,
		from.cta.shared(), from.offset, from.bytes, b.b))
}

func (t *Thread) exchange(dst, src Region, bar *Barrier) (to, from region, b *mbar) {
	to, from = t.operand(dst, "destination"), t.own(src, "source")
	t.holds(to, "destination", from.bytes)
	b = t.bar(bar, to.cta)
	t.arriving(b)
	if t.issuing.reads = true; from.bytes > 0 {
		t.issuing.now = t.copies(t.issuing.now)
	}
	t.issuing.from = area{memory: from.memory, at: from.offset, n: from.bytes}
	t.issuing.into = area{memory: to.memory, at: to.offset, n: from.bytes}
	return to, from, b
}

// StoreAsync stores v in dst's first element, in any CTA of the cluster, and completes its
// bytes, 4, 8 or 16, on bar, a barrier of that CTA (PTX st.async).
func StoreAsync[T any](t *Thread, dst *Array[T], v T, bar *Barrier) {
	t.use("StoreAsync")
	bytes := global([]T{v}).Bytes
	if n := len(bytes); n != 4 && n != 8 && n != 16 {
		t.fail(RuleBytes, "%T has %d bytes, st.async stores 4, 8 or 16", v, n)
	}
	r := t.operand(dst, "destination")
	t.holds(r, "destination", len(bytes))
	b := t.bar(bar, r.cta)
	t.arriving(b)
	t.issuing.into = area{memory: r.memory, at: r.offset, n: len(bytes)}
	t.check(t.bulk.StoreAsync(r.cta.shared(), r.offset, bytes, b.b))
}

// ReduceAsync combines v with dst's first element, in any CTA of the cluster, and completes
// its bytes on bar, a barrier of that CTA (PTX red.async).
func ReduceAsync[T uint32 | int32 | uint64](t *Thread, op tile.ReduceOp, dst *Array[T], v T, bar *Barrier) {
	t.use("ReduceAsync")
	r := t.operand(dst, "destination")
	bytes := global([]T{v}).Bytes
	t.holds(r, "destination", len(bytes))
	b := t.bar(bar, r.cta)
	t.arriving(b)
	t.issuing.into = area{memory: r.memory, at: r.offset, n: len(bytes), how: combines}
	t.check(t.bulk.ReduceAsync(r.cta.shared(), r.offset, op, r.typ, bytes, b.b))
}
