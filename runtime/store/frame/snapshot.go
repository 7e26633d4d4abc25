package frame

import (
	"fmt"
	"hash/crc32"

	"github.com/wowgen/wow/runtime/store"
)

// SumSnapshot returns the CRC-32C of all of a snapshot.
func SumSnapshot(s *store.Snapshot) uint32 {
	buf := make([]byte, 0, 256)
	buf = appendString(buf, s.Target.Tenant)
	buf = appendString(buf, s.Target.Aggregate)
	buf = appendString(buf, s.Target.ID)
	buf = appendString(buf, s.Revision)
	buf = appendInt(buf, s.Version)
	buf = appendString(buf, s.Commit)
	buf = append(buf, byte(s.Codec))
	return crc32.Update(crc32.Checksum(buf, castagnoli), castagnoli, s.Data)
}

// CheckSnapshot reports a snapshot whose bytes are not those that were
// written, as ErrCorrupt.
func CheckSnapshot(s *store.Snapshot, sum uint32) error {
	if got := SumSnapshot(s); got != sum {
		return fmt.Errorf("store: reading a snapshot of %s at version %d: %w: its checksum is %08x, stored is %08x",
			s.Target, s.Version, ErrCorrupt, got, sum)
	}
	return nil
}
