package main

import (
	"fmt"
	"strings"
)

// handlers is how many methods, constants or structs a package has.
const handlers = 22

// aggregate is a package with one aggregate: half of its handlers decide, half
// apply.
func aggregate(pkg string) string { return aggregateOf(pkg, handlers/2, true) }

func aggregateOf(pkg string, commands int, methods bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n//wow:aggregate context=%[1]s\ntype Box struct {\n\tID string `wow:\"key\"`\n\tN  int\n}\n", pkg)
	for i := range commands {
		fmt.Fprintf(&b, `
// Cmd%[1]d is a command.
type Cmd%[1]d struct {
	ID      string `+"`wow:\"key\"`"+`
	A, B, C int
}

type Done%[1]d struct{ A, B, C int }
`, i)
		if methods {
			fmt.Fprintf(&b, `
func (b *Box) Cmd%[1]d(cmd Cmd%[1]d) (Done%[1]d, error) {
	return Done%[1]d{cmd.A, cmd.B, cmd.C}, nil
}

func (b *Box) Done%[1]d(e Done%[1]d) { b.N += e.A }
`, i)
		}
	}
	return b.String()
}

func constants(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\ntype Kind int\n\nconst (\n\tKind0 Kind = iota\n", pkg)
	for i := 1; i < handlers; i++ {
		fmt.Fprintf(&b, "\tKind%d\n", i)
	}
	return b.String() + ")\n"
}

func service(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\ntype Service interface {\n", pkg)
	for i := range handlers {
		fmt.Fprintf(&b, "\tDo%d(in In%d) (Out%d, error)\n", i, i, i)
	}
	b.WriteString("}\n")
	for i := range handlers {
		fmt.Fprintf(&b, "\ntype In%d struct{ A, B, C int }\n\ntype Out%d struct{ A, B, C int }\n", i, i)
	}
	return b.String()
}

func objects(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package %s is input.\n//\n// +kubebuilder:object:generate=true\npackage %[1]s\n", pkg)
	for i := range handlers {
		fmt.Fprintf(&b, "\ntype In%d struct {\n\tA, B, C int\n\tTags    []string\n}\n", i)
	}
	return b.String()
}

func converter(pkg string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\n// goverter:converter\ntype Converter interface {\n", pkg)
	for i := range handlers {
		fmt.Fprintf(&b, "\tDo%d(in In%d) Out%d\n", i, i, i)
	}
	b.WriteString("}\n")
	for i := range handlers {
		fmt.Fprintf(&b, "\ntype In%d struct{ A, B, C int }\n\ntype Out%d struct{ A, B, C int }\n", i, i)
	}
	return b.String()
}
