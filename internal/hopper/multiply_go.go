package hopper

func multiply(s *Spec, d []uint32, stride int, a, b *Panel) {
	multiplyGeneric(s, d, stride, a, b)
}
