// Package plan decides what declarations mean together: which methods are
// handlers, which structs are events, what everything is called, and whether
// it fits. It ends with a schema.Package for each package, or with every
// mistake there is.
//
// It works in two steps. A [Unit] is one package on its own, made by syntax
// alone and in parallel with others. Then the units are linked: what one
// package says about the messages of another is held against that other
// package, which is read on demand when no pattern named it.
package plan
