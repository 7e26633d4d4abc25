package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const watched = `package a

import "github.com/wowgen/wow"

//wow:aggregate context=a
type Box struct{ ID string ` + "`wow:\"key\"`" + ` }

type Open struct{ ID string ` + "`wow:\"key\"`" + ` }
type Opened struct{}

func (b *Box) Open(Open) (Opened, error) { return Opened{}, nil }
func (b *Box) Opened(e wow.Event[Opened]) {}
`

func TestWatchGeneratesAgainWhenTheInputChanges(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file("go.mod", "module example.com/app\n\ngo 1.26\n")
	file("a.go", watched)
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ticks, looks := make(chan time.Time), make(chan struct{})
	look := func() {
		ticks <- time.Time{}
		<-looks
	}
	done := make(chan int)
	go func() {
		g := &generate{format: "text"}
		done <- g.watchTicks(ctx, Env{Dir: dir, Stdout: &stdout, Stderr: &stderr}, nil, ticks, func() { looks <- struct{}{} })
	}()
	<-looks // the first one needs no tick
	look()
	generated := func() string {
		data, err := os.ReadFile(filepath.Join(dir, "wow_gen.go"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if !strings.Contains(generated(), "RegisterBox") {
		t.Error("the first look generates nothing")
	}
	file("a.go", strings.ReplaceAll(strings.ReplaceAll(watched, "Box", "Chest"), "context=a", "context=a name=box"))
	look()
	if !strings.Contains(generated(), "RegisterChest") {
		t.Error("a change is not seen")
	}
	file("a.go", "package a\n\n//wow:nonsense\ntype X struct{}\n")
	look()
	look()
	if !strings.Contains(generated(), "RegisterChest") {
		t.Error("a mistake changes the output")
	}
	cancel()
	if code := <-done; code != Fine {
		t.Errorf("exit code %d, want %d", code, Fine)
	}
	if n := strings.Count(stderr.String(), "unknown directive"); n != 1 {
		t.Errorf("the mistake is told %d times, want once:\n%s", n, stderr.String())
	}
}
