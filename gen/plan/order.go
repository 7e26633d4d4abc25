package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wowgen/wow/gen/source"
	"github.com/wowgen/wow/schema"
)

// sort puts everything into the order of the output, whatever the order of
// the input was.
func (u *Unit) sort() {
	m := u.Model
	slices.SortFunc(m.Aggregates, func(a, b *schema.Aggregate) int { return strings.Compare(a.FullName(), b.FullName()) })
	for _, a := range m.Aggregates {
		slices.SortFunc(a.Decides, func(a, b *schema.Decide) int { return u.compareRefs(a.Command, b.Command) })
		slices.SortFunc(a.Applies, func(a, b *schema.Apply) int { return u.compareRefs(a.Event, b.Event) })
		slices.SortFunc(a.Handlers, func(a, b *schema.HandlerType) int { return strings.Compare(a.Type, b.Type) })
		slices.SortFunc(a.Events, u.compareRefs)
		a.Events = slices.Compact(a.Events)
	}
	for _, name := range sortedKeys(u.commands) {
		m.Commands = append(m.Commands, u.commands[name])
	}
	for _, name := range sortedKeys(u.events) {
		m.Events = append(m.Events, u.events[name])
	}
	order := map[string]int{schema.Processor: 0, schema.Projection: 1, schema.Saga: 2}
	slices.SortFunc(m.Consumers, func(a, b *schema.Consumer) int {
		return cmp.Or(cmp.Compare(order[a.Kind], order[b.Kind]), strings.Compare(a.FullName(), b.FullName()))
	})
	for _, c := range m.Consumers {
		slices.SortFunc(c.Functions, func(a, b *schema.Function) int { return strings.Compare(a.Name, b.Name) })
		slices.SortFunc(c.Sends, u.compareRefs)
		c.Sends = slices.Compact(c.Sends)
	}
	slices.SortFunc(u.Explained, func(a, b Method) int { return a.Pos.Compare(b.Pos) })
}

// compareRefs orders types: those of this package first, then by path.
func (u *Unit) compareRefs(a, b schema.Ref) int {
	if (a.Path == u.Pkg.Path) != (b.Path == u.Pkg.Path) {
		if a.Path == u.Pkg.Path {
			return -1
		}
		return 1
	}
	return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Name, b.Name))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sortedMethodKeys[V any](m map[methodKey]V) []methodKey {
	keys := make([]methodKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b methodKey) int {
		return cmp.Or(strings.Compare(a.typ, b.typ), strings.Compare(a.method, b.method))
	})
	return keys
}

func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0]|0x20)) {
		return "an " + noun
	}
	return "a " + noun
}

func kindName(t *source.Type) string {
	switch t.Kind {
	case source.Struct:
		return "a struct"
	case source.Interface:
		return "an interface"
	case source.Alias:
		return "an alias of " + t.Under.Text
	}
	return t.Under.Text
}
