// Package source reads what stands in the files of a package, by syntax alone.
//
// Loading types would cost a hundred milliseconds warm and twenty seconds on
// an empty build cache, and it fails when the code that is about to be
// generated is missing. So nothing here runs the go command or needs a package
// to compile: modules are found by walking up to go.mod and go.work, files are
// parsed by go/parser, and what syntax cannot know is left to the compiler, as
// a constraint in the output.
package source
