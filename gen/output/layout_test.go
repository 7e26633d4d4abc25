package output

import (
	"fmt"
	"go/format"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What generated code is made of, in the spaces in which it is rendered.
var renderings = []string{
	"package p\n\nimport (\n\"context\"\n\nwowrt \"example.com/runtime\"\n)\n\n\n\n// A.\nconst _ uint = wowrt . Format1\n",
	"package p\n\n\n// WowTarget routes.\nfunc (c C) WowTarget () wow.Target { return boxTarget (c . ID) }\n\n\n// B.\nfunc (C) M () * wow.T { return & c }\n",
	"package p\n\nfunc f (id string) wow.Target {\n\nreturn wow.Target {Aggregate : \"a\",ID : id}\n\n}\n",
	"package p\n\nvar x = T {\nA : \"a\",\nLonger : []string {\"a\",\"b\"},\nB : []*E {\n& a,\n& b,\n},\nLong : 1,\nNew : func (t wow.Target) S {\nreturn new (B)\n},\nY : * m,\nÄrger : 5 * time.Second,\n}\n",
	"package p\n\nvar x = T {\nA : 1,\n\nLonger : 2,\n}\n",
	"package p\n\nvar x = []T {\n{A : 1,Longer : & b},\n{A : []T {}},\n}\n",
	"package p\n\nfunc f (s * B,event wow.D,opts ... wowrt.O) bool {\nswitch e := event . (type) {\ncase D:\ns . D (e)\ncase E:\n// Nothing changes.\ncase F:\n// Nothing changes.\ndefault:\nreturn false\n}\nreturn true\n}\n",
	"package p\n\nfunc f (data [] byte) ([] byte,error) {\nif err := g (data,& c);err != nil {\nreturn nil,err\n}\nif c . ID == \"\" {\nc . ID = key\n}\nfor _,e := range list {\nout . Add (e ...)\n}\nfor {\n}\nreturn (* T) (nil) . X (),nil\n}\n",
	"package p\n\nfunc (d * D) f () error {\nreturn out . Offload (\"\",func (ctx context.Context) error {\nreturn d . c . F (ctx,wow.Event[T] {Data : e})\n})\n}\n",
	"package p\n\ntype D struct{}\n\ntype E struct{ e * E }\n\ntype F struct{ g wow.Event[* F] }\n",
	"package p\n\nfunc f () {}\n\nfunc g () { h (func () {}) }\n",
}

func TestLayoutIsGofmts(t *testing.T) {
	all := renderings
	for n := range 120 {
		name := strings.Repeat("x", n+1)
		all = append(all,
			fmt.Sprintf("package p\n\nfunc (c C) M () T { return %s (c . ID) }\n", name),
			fmt.Sprintf("package p\n\ntype T struct{ %[1]s int }\n\ntype U struct{ a * %[1]s }\n", name),
			fmt.Sprintf("package p\n\nvar x = T {\nF : func (s S) bool { return s . (* %s) . D },\nLonger : 1,\n}\n", name),
		)
	}
	for _, src := range all {
		got, total, ok := layout([]byte(src))
		require.True(t, ok, src)
		want, err := format.Source([]byte(src))
		require.NoError(t, err, src)
		require.Equal(t, string(want), string(got)+"\n", src)
		require.Equal(t, sum(want), total, src)
	}
}

// What layout does not know is left to gofmt.
func TestLayoutRefuses(t *testing.T) {
	for _, src := range []string{
		"package p\n\nvar x = a + b * c\n",
		"package p\n\nvar x = map[string]int {}\n",
		"package p\n\ntype T struct {\nA int\nLonger string\n}\n",
		"package p\n\ntype T interface{ M () }\n",
		"package p\n\nvar x = 1 // behind it\n",
		"package p\n/* a */ var x = 1\n",
		"package p\n\nvar x = `a\nb`\n",
		"package p\n\nvar x = \"a\n",
		"package p\n\nfunc f () { go g () }\n",
	} {
		_, _, ok := layout([]byte(src))
		require.False(t, ok, src)
	}
}
