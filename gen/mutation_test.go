package gen_test

import (
	"flag"
	"go/scanner"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var mutations = flag.Int("mutations", 150, "how many mutated packages TestMutations tries")

// TestMutations breaks the scenarios' Go in the ways that editing does: a line
// goes, comes twice, or trades places with another; a word goes or becomes
// another of the file. Unlike the fuzzer's bytes, most of it still parses. What
// compiles without the output, and generates without a mistake, compiles with it.
func TestMutations(t *testing.T) {
	archives, err := filepath.Glob("testdata/scenarios/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var files []string
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".go") && !strings.HasPrefix(f.Name, "want/") && len(f.Data) < 4000 {
				files = append(files, string(f.Data))
			}
		}
	}
	const seed = 20261201
	r := rand.New(rand.NewPCG(seed, seed))
	var whole []string // those that generate and compile as they are
	for _, src := range files {
		if compiles(t, src) {
			whole = append(whole, src)
		}
	}
	compiled := 0
	for i := range *mutations {
		src, most := files[r.IntN(len(files))], 3
		if i%2 == 0 {
			src, most = whole[r.IntN(len(whole))], 1
		}
		for range 1 + r.IntN(most) {
			if r.IntN(2) == 0 {
				src = mutateLine(r, src)
			} else {
				src = mutateWord(r, src)
			}
		}
		t.Run("", func(t *testing.T) {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("panic: %v\n%s", p, src)
				}
			}()
			generate(t, []byte(src), nil)
			if compiles(t, src) {
				compiled++
			}
		})
	}
	if compiled < *mutations/20 {
		t.Errorf("%d of %d packages were compiled: the mutations break too much to tell anything", compiled, *mutations)
	}
}

func mutateLine(r *rand.Rand, src string) string {
	lines := strings.Split(src, "\n")
	i, j := r.IntN(len(lines)), r.IntN(len(lines))
	switch r.IntN(3) {
	case 0:
		lines[i] = ""
	case 1:
		lines[i] += "\n" + lines[i]
	case 2:
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "\n")
}

func mutateWord(r *rand.Rand, src string) string {
	type word struct{ from, to int }
	var words []word
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	s.Init(file, []byte(src), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if lit == "" || lit == "\n" {
			lit = tok.String()
		}
		from := file.Offset(pos)
		if to := from + len(lit); to <= len(src) && src[from:to] == lit {
			words = append(words, word{from, to})
		}
	}
	if len(words) == 0 {
		return src
	}
	w, v := words[r.IntN(len(words))], words[r.IntN(len(words))]
	with := ""
	if r.IntN(3) > 0 {
		with = src[v.from:v.to]
	}
	return src[:w.from] + with + src[w.to:]
}
