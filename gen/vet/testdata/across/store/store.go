// Package store is called by handlers of another package.
package store

import (
	"maps"
	"os"
	"time"
)

type Items map[string]int

type Stamp struct{ At time.Time }

func (it Items) Add(key string) { it[key]++ }

func (it Items) All() map[string]int { return it }

func (it Items) Clone() Items { return maps.Clone(it) }

func (it Items) Count(key string) int { return it[key] }

func Save(name string) error { return save(name) }

func save(name string) error { return os.WriteFile(name, nil, 0o600) }

func Now() Stamp { return Stamp{time.Now()} }

func Each(list []string, f func(string)) {
	for _, s := range list {
		f(s)
	}
}
