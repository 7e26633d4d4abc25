package executor

import "hash/maphash"

// hasher returns the hash function of a lane, with a seed of its own. The keys
// that are most used have theirs without the detour over the type's hasher.
func hasher[K comparable]() func(K) uint64 {
	seed := maphash.MakeSeed()
	mix := mixer(maphash.Comparable(seed, 0))
	var f any
	switch any(*new(K)).(type) {
	case string:
		f = func(k string) uint64 { return maphash.String(seed, k) }
	case uint64:
		f = mix
	case int64:
		f = func(k int64) uint64 { return mix(uint64(k)) }
	case int:
		f = func(k int) uint64 { return mix(uint64(k)) }
	default:
		return func(k K) uint64 { return maphash.Comparable(seed, k) }
	}
	return f.(func(K) uint64)
}

// mixer returns a bijection of 64-bit numbers, so integers never collide.
func mixer(seed uint64) func(uint64) uint64 {
	return func(k uint64) uint64 {
		k = (k ^ seed) * 0x9E3779B97F4A7C15
		k ^= k >> 32
		return k * 0xD6E8FEB86659FD93
	}
}
