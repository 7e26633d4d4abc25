// Package schema holds what a user of wow may declare, and what a package has
// declared, whichever way it did so.
//
// Annotated Go and wow.yaml are two spellings of one list of declarations
// ([Decl]). Both are read against one table ([Directives]): the same table
// makes the suggestions in diagnostics, `wowgen directives`, the reference
// pages and the JSON Schema of wow.yaml, so that none of them can disagree
// with what the generator accepts.
//
// [Package] is the outcome: a package's aggregates, messages and consumers
// with every name and option decided. The emitter, the lock file, `explain`
// and `graph` read it and nothing else. The package is pure data: it knows no
// syntax tree and reads no file.
package schema
