package main

import (
	"errors"
	"strings"
	"testing"
)

// TestEveryMutantStillFits fails when the executor has changed under a mutant:
// change the mutant with it, or drop it if what it breaks is gone.
func TestEveryMutantStillFits(t *testing.T) {
	all, err := parse(planted)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("%d mutants: that is too few to trust the tests", len(all))
	}
	pkg, err := read("../..", "executor")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.name] {
			t.Errorf("%s: named twice", m.name)
		}
		seen[m.name] = true
		if changed, err := pkg.plant(m); err != nil {
			t.Errorf("%s: %v", m.name, err)
		} else {
			for name, text := range changed {
				if text == pkg.files[name] {
					t.Errorf("%s: changes nothing in %s", m.name, name)
				}
			}
		}
	}
}

func TestHunkIsAppliedToTheOnePlaceWhereItFits(t *testing.T) {
	h := hunk{file: "a.go", from: []string{"x := 1", "y()"}, to: []string{"x := 2", "y()"}}
	const source = "f {\n\tx := 1\n\ty()\n}\nx := 1\n"
	got, err := h.apply(source)
	if want := "f {\nx := 2\ny()\n}\nx := 1\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	h.from = []string{"x := 1"}
	if _, err := h.apply(source); err == nil || !strings.Contains(err.Error(), "lines 2 and 5 both") {
		t.Errorf("a hunk that fits twice: %v", err)
	}
	h.from = []string{"z()"}
	if _, err := h.apply(source); err == nil || !strings.Contains(err.Error(), "a.go: stale") {
		t.Errorf("a hunk that fits nowhere: %v", err)
	}
}

func TestParseSaysWhereAMutantIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"-x":                     `line 1, "-x": a mutant begins with ==`,
		"== a\n-x":               `line 2, "-x": which file?`,
		"== a\n-- f.go\nx":       `line 3, "x": a change begins with`,
		"== a\n\n== b\n-- f\n-x": `"a" changes nothing`,
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestCulpritIsTheTestAndTheReason(t *testing.T) {
	const out = "panic: test timed out after 1m0s\n\trunning tests:\n\t\tTestA (59s)\n"
	if got := culprit(out, errors.New("exit status 1")); got != "TestA: panic: test timed out after 1m0s" {
		t.Error(got)
	}
	if got := culprit("--- FAIL: TestB (0.1s)\n", errors.New("exit status 1")); got != "TestB" {
		t.Error(got)
	}
}
