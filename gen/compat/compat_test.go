package compat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/wowgen/wow/gen"
	"github.com/wowgen/wow/gen/compat"
	"github.com/wowgen/wow/gen/diag"
	"github.com/wowgen/wow/gen/output"
)

// release is what was stored and sent with the older release.
const release = `package shop

import "github.com/wowgen/wow"

//wow:aggregate name=cart context=shop
type Cart struct {
	ID string ` + "`wow:\"key\"`" + `
	N  int
}

type AddItem struct {
	CartID string ` + "`wow:\"key\"`" + `
	SKU    string
	Qty    int32
	Lines  map[string][]Line
}

type Line struct {
	SKU string
	Qty int
}

type ItemAdded struct {
	SKU string
	Qty int32
}

func (c *Cart) AddItem(cmd AddItem) (ItemAdded, error) { return ItemAdded{}, nil }

func (c *Cart) ItemAdded(e ItemAdded) { c.N++ }

type Clear struct {
	CartID string ` + "`wow:\"key\"`" + `
}

type Cleared struct{}

func (c *Cart) Clear(cmd Clear) (Cleared, error) { return Cleared{}, nil }

func (c *Cart) Cleared(e Cleared) {}

//wow:projection name=view context=shop
type View struct{}

func (View) OnItemAdded(e wow.Event[ItemAdded]) {}

func (View) OnCleared(e wow.Event[Cleared]) {}
`

func TestWhatBreaksAnOlderRelease(t *testing.T) {
	upcast := "//wow:event name=item_added\ntype ItemAddedV1 struct {\n\tSKU string\n\tQty int32\n}\n\n" +
		"//wow:upcast\nfunc upcast(old ItemAddedV1) ItemAdded { return ItemAdded{} }\n\n//wow:event revision=2\ntype ItemAdded struct"
	for _, tt := range []struct {
		name  string
		edits []string // pairs of old and new text
		want  []string // severity, code, place, a part of the message | a part of the fix
	}{
		{"nothing has changed", nil, nil},
		{"what is new", []string{
			"	Qty int32\n}", "	Qty int32\n	Gift bool\n}",
			"type Line struct {", "type Line struct {\n	Note string",
			"	SKU    string\n", "	SKU    string\n	Gift   bool\n",
			"//wow:projection", "func (c *Cart) Total() int { return c.N }\n\n//wow:projection",
		}, nil},
		{"the order of fields", []string{"	SKU    string\n	Qty    int32\n", "	Qty    int32\n	SKU    string\n"}, nil},
		{"a removed field of a command", []string{"	Qty    int32\n", ""}, []string{
			"error field-removed shop.go:11:6 the command shop.cart/add_item has lost the field Qty | keep the field",
		}},
		{"a retyped field of an event", []string{"	Qty int32\n}", "	Qty string\n}"}, []string{
			"error field-retyped shop.go:23:6 revision 1 of the event shop.cart/item_added has another type of field Qty | declare the new shape with //wow:event revision=2",
		}},
		{"a retyped field inside of another", []string{"	Qty int\n}", "	Qty []int\n}"}, []string{
			"error field-retyped shop.go:11:6 another type of field Lines[][].Qty | keep the field",
		}},
		{"a wider number", []string{"	Qty int32\n}", "	Qty int64\n}"}, []string{
			"warning field-widened shop.go:23:6 has a wider field Qty | upgrade everything that reads it",
		}},
		{"a narrower number", []string{"	Qty int32\n}", "	Qty int16\n}"}, []string{
			"error field-retyped shop.go:23:6 another type of field Qty | revision=2",
		}},
		{"another name of a field in JSON", []string{"	SKU string\n	Qty int32\n}", "	SKU string `json:\"sku\"`\n	Qty int32 `json:\"pieces\"`\n}"}, []string{
			"error field-removed shop.go:23:6 revision 1 of the event shop.cart/item_added has lost the field Qty | revision=2",
		}},
		{"a renamed command", []string{"AddItem", "PutItem"}, []string{
			"error command-gone lock.json:9 the command shop.cart/add_item is gone: a peer | give PutItem its old name: name=add_item",
		}},
		{"a renamed event", []string{"ItemAdded", "ItemPut"}, []string{
			"error event-gone lock.json:29 the event shop.cart/item_added is gone: stored events | give ItemPut its old name: name=item_added",
			"error function-gone lock.json:42 the function on_item_added of shop.projection.view is gone | give View.OnItemPut its old name: //wow:on name=on_item_added",
		}},
		{"a removed event", []string{
			"func (c *Cart) Clear(cmd Clear) (Cleared, error) { return Cleared{}, nil }\n\nfunc (c *Cart) Cleared(e Cleared) {}", "",
			"type Clear struct {\n	CartID string `wow:\"key\"`\n}\n", "", "func (View) OnCleared(e wow.Event[Cleared]) {}", "",
		}, []string{
			"error command-gone lock.json:17 the command shop.cart/clear is gone | declare it again",
			"error event-gone lock.json:24 the event shop.cart/cleared is gone | declare it again",
			"error function-gone lock.json:41 the function on_cleared of shop.projection.view is gone | //wow:on name=on_cleared",
		}},
		{"a renamed aggregate", []string{"name=cart", "name=basket"}, []string{
			"error aggregate-gone lock.json:4 the aggregate shop.cart is gone: its events are stored under the name | give Cart its old name: name=cart",
		}},
		{"a renamed consumer", []string{"name=view", "name=sight"}, []string{
			"error consumer-gone lock.json:39 the consumer shop.projection.view is gone: its checkpoint | give View its old name: name=view",
		}},
		{"a renamed method with its frozen name", []string{"func (View) OnItemAdded", "//wow:on name=on_item_added\nfunc (View) Count"}, nil},
		{"another shape of the state", []string{"	N  int\n", "	N  int64\n"}, []string{
			"warning snapshot-changed shop.go:5:1 snapshots of shop.cart that the older release stored are not used | replays all of its events",
		}},
		{"a new revision with an upcaster", []string{"type ItemAdded struct", upcast}, []string{
			"warning revision-newer shop.go:33:6 the older release cannot read revision 2 of the event shop.cart/item_added | upgrade everything that reads the event",
		}},
		{"a new revision that changes the old one", []string{"type ItemAdded struct", strings.Replace(upcast, "\tSKU string\n", "", 1)}, []string{
			"error field-removed shop.go:24:6 revision 1 of the event shop.cart/item_added has lost the field SKU | revision=3",
			"warning revision-newer shop.go:32:6 cannot read revision 2 | upgrade",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lock := lockOf(t, release)
			now := strings.NewReplacer(tt.edits...).Replace(release)
			require.True(t, len(tt.edits) == 0 || now != release, "the edits change nothing")
			dir := module(t, now)
			found, err := compat.Check(compat.Config{Dir: dir, Name: "lock.json", Lock: lock})
			require.NoError(t, err)
			var got []string
			for _, d := range found {
				got = append(got, string(d.Severity)+" "+d.Code+" "+filepath.Base(d.Pos.String())+" "+d.Message+" | "+d.Fix)
				require.NotEmpty(t, d.Wanted)
				require.NotEmpty(t, d.Found)
			}
			require.Len(t, got, len(tt.want), strings.Join(got, "\n"))
			for i, want := range tt.want {
				what, fix, _ := strings.Cut(want, " | ")
				head := strings.SplitN(what, " ", 4)
				require.True(t, strings.HasPrefix(got[i], strings.Join(head[:3], " ")+" "), got[i])
				require.Contains(t, got[i], head[3])
				require.Contains(t, got[i][strings.LastIndex(got[i], " | "):], fix)
			}
		})
	}
}

// TestRetiredNamesAreWarnings holds that a name which its owners have marked
// retired does not fail a release.
func TestRetiredNamesAreWarnings(t *testing.T) {
	lock := lockOf(t, release)
	dir := module(t, strings.ReplaceAll(release, "AddItem", "PutItem"))
	now := strings.Replace(string(lock), "\"shop.cart/add_item\": {", "\"shop.cart/add_item\": {\n\"retired\": true,", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "wow.lock.json"), []byte(now), 0o600))
	found, err := compat.Check(compat.Config{Dir: dir, Name: "lock.json", Lock: lock})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, diag.Warning, found[0].Severity)
	require.Equal(t, "a name that is marked retired", found[0].Found)
	// A release later the older lock knows that it is retired, and nothing is said.
	found, err = compat.Check(compat.Config{Dir: dir, Name: "lock.json", Lock: []byte(now)})
	require.NoError(t, err)
	require.Empty(t, found)
}

// TestRevisionMissing holds that a revision which was ever stored keeps its
// struct and upcaster.
func TestRevisionMissing(t *testing.T) {
	lock := strings.Replace(string(lockOf(t, release)), `"1": [`, `"1": [], "2": [`, 1)
	require.Contains(t, lock, `"2"`)
	dir := module(t, release)
	found, err := compat.Check(compat.Config{Dir: dir, Name: "lock.json", Lock: []byte(lock)})
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "revision-missing", found[0].Code)
	require.Contains(t, found[0].Fix, "declare a struct with //wow:event name=cleared revision=2 and ")
}

func TestWhatCannotBeCompared(t *testing.T) {
	dir := module(t, release)
	for lock, want := range map[string]string{
		``:                                    "reading lock.json: EOF",
		`{"format": 9}`:                       "reading lock.json: format 9, and this wowgen knows 1",
		`{"format": 1, "shelves": {}}`:        `unknown field "shelves"`,
		`{"format": 1, "events": {"a":null}}`: "an event is null",
	} {
		_, err := compat.Check(compat.Config{Dir: dir, Name: "lock.json", Lock: []byte(lock)})
		require.ErrorContains(t, err, want)
	}
	// Declarations that do not plan are reported instead.
	dir = module(t, strings.Replace(release, "name=cart", "nmae=cart", 1))
	found, err := compat.Check(compat.Config{Dir: dir, Name: "lock.json", Lock: lockOf(t, release)})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	require.Equal(t, "unknown-argument", found[0].Code)
}

// lockOf returns the lock file that a release would have had.
func lockOf(t *testing.T, src string) []byte {
	t.Helper()
	r, err := gen.Run(gen.Config{Dir: module(t, src)})
	require.NoError(t, err)
	require.Empty(t, r.Diagnostics)
	require.Len(t, r.Packages, 1)
	lock, err := output.LockOf(r.Packages[0]).Bytes()
	require.NoError(t, err)
	return lock
}

func module(t *testing.T, src string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module shop\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop.go"), []byte(src), 0o600))
	return dir
}
