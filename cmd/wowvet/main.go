// Command wowvet is the analyzer of wowgen vet as a tool of go vet:
//
//	go vet -vettool=$(go tool -n wowvet) ./...
//
// go vet keeps what it finds in the build cache, so a second run reads only
// what has changed. With -fix it applies the suggested fixes.
package main

import "github.com/wowgen/wow/gen/vet"

func main() { vet.Tool() }
