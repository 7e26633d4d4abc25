package schema_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"gopkg.in/yaml.v3"

	"github.com/wowgen/wow/schema"
)

func TestSnakeKeepsAcronymsTogether(t *testing.T) {
	for name, want := range map[string]string{
		"Cart": "cart", "AddItem": "add_item", "HTTPServer": "http_server", "UserID": "user_id", "ID": "id",
		"OrderPlacedV2": "order_placed_v2", "SHA256Sum": "sha256_sum", "snake_case": "snake_case", "Größe": "größe",
		"GetHTTPSURL": "get_httpsurl", "A": "a", "": "", "X1Y2": "x1_y2", "_hidden": "hidden",
	} {
		if got := schema.Snake(name); got != want {
			t.Errorf("Snake(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCamelLowersTheFirstWord(t *testing.T) {
	for name, want := range map[string]string{
		"Cart": "cart", "AddItem": "addItem", "HTTPServer": "httpServer", "ID": "id", "URLChanged": "urlChanged", "cart": "cart", "Ärger": "ärger",
	} {
		if got := schema.Camel(name); got != want {
			t.Errorf("Camel(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestSuggestFindsTheWordThatIsMeant(t *testing.T) {
	names := schema.DirectiveNames()
	for word, want := range map[string]string{
		"projektion": "projection", "agregate": "aggregate", "Saga": "saga", "evnet": "event", "proccessor": "processor",
		"zzz": "", "x": "", "commands": "command",
	} {
		if got := schema.Suggest(word, names); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", word, got, want)
		}
	}
}

// TestTheTableIsWhole holds each row of the table to what its users rely on.
func TestTheTableIsWhole(t *testing.T) {
	for _, d := range schema.Directives {
		if d.Summary == "" || d.Doc == "" || d.Example == "" || d.On == 0 {
			t.Errorf("%s lacks a summary, a doc, an example or a place", d.Name)
		}
		if !strings.Contains(d.Example, "//wow:"+d.Name) {
			t.Errorf("the example of %s does not show it", d.Name)
		}
		for _, a := range d.Args {
			if a.Summary == "" {
				t.Errorf("%s %s lacks a summary", d.Name, a.Name)
			}
			if (a.Kind == schema.Enum) != (len(a.Values) > 0) || (a.Kind == schema.Count) != (a.Max > 0) {
				t.Errorf("%s %s has values or bounds that its kind does not have", d.Name, a.Name)
			}
		}
	}
}

// TestYAMLCanSayWhatDirectivesCan looks for each argument of each directive
// somewhere in the shape of wow.yaml.
func TestYAMLCanSayWhatDirectivesCan(t *testing.T) {
	keys := map[string]bool{}
	seen := map[*schema.Shape]bool{}
	var walk func(s *schema.Shape)
	walk = func(s *schema.Shape) {
		if s == nil || seen[s] {
			return
		}
		seen[s] = true
		for _, k := range s.Keys {
			keys[k.Name] = true
			if k.Shape.Arg != nil {
				for _, v := range k.Shape.Arg.Values {
					keys[k.Name+" "+v] = true
				}
			}
			walk(k.Shape)
		}
		walk(s.Elem)
	}
	walk(schema.YAML)
	for _, d := range schema.Directives {
		for _, a := range d.Args {
			name := a.Name
			if a.Group != "" {
				name = a.Group + " " + a.Name
			}
			if !keys[name] {
				t.Errorf("%s of %s cannot be said in YAML", a.Name, d.Name)
			}
		}
	}
}

// TestExamplesValidate holds every wow.yaml that the generator accepts against
// the JSON Schema, and those that it refuses for their shape, too.
func TestExamplesValidate(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(schema.JSONSchema(), &root); err != nil {
		t.Fatal(err)
	}
	valid, invalid := 0, 0
	archives, err := filepath.Glob("../gen/testdata/scenarios/*yaml*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(name)
		for _, f := range a.Files {
			if !strings.HasSuffix(f.Name, "wow.yaml") {
				continue
			}
			var doc any
			err := yaml.Unmarshal(f.Data, &doc)
			if err == nil {
				err = validate(root, doc, "")
			}
			switch {
			case strings.HasPrefix(base, "ok-") || strings.HasPrefix(base, "cmd-"):
				valid++
				if err != nil {
					t.Errorf("%s: %v", base, err)
				}
			case slices.Contains([]string{"bad-yaml-unknown-key.txtar", "bad-yaml-kind.txtar", "bad-yaml-value.txtar", "bad-yaml-missing.txtar", "bad-yaml-scalar.txtar"}, base):
				invalid++
				if err == nil {
					t.Errorf("%s is valid for the JSON Schema", base)
				}
			}
		}
	}
	if valid < 5 || invalid != 5 {
		t.Errorf("%d valid and %d invalid documents: the scenarios have moved", valid, invalid)
	}
}

// validate is the part of JSON Schema that ours uses.
func validate(s map[string]any, v any, at string) error {
	if list, ok := s["oneOf"].([]any); ok {
		var last error
		for _, one := range list {
			if last = validate(one.(map[string]any), v, at); last == nil {
				return nil
			}
		}
		return last
	}
	switch s["type"] {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: %v is no object", at, v)
		}
		properties, _ := s["properties"].(map[string]any)
		for key, value := range m {
			sub, ok := properties[key].(map[string]any)
			if !ok {
				if sub, ok = s["additionalProperties"].(map[string]any); !ok {
					return fmt.Errorf("%s: unknown key %s", at, key)
				}
			}
			if err := validate(sub, value, at+"."+key); err != nil {
				return err
			}
		}
		required, _ := s["required"].([]any)
		for _, key := range required {
			if _, ok := m[key.(string)]; !ok {
				return fmt.Errorf("%s: %s is missing", at, key)
			}
		}
	case "array":
		list, ok := v.([]any)
		if !ok {
			return fmt.Errorf("%s: %v is no array", at, v)
		}
		for i, item := range list {
			if err := validate(s["items"].(map[string]any), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case "string":
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%s: %v is no string", at, v)
		}
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(text) {
			return fmt.Errorf("%s: %q does not match %s", at, text, p)
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%s: %v is no boolean", at, v)
		}
	case "integer":
		n, ok := v.(int)
		if !ok || float64(n) < s["minimum"].(float64) || float64(n) > s["maximum"].(float64) {
			return fmt.Errorf("%s: %v is no integer in bounds", at, v)
		}
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Errorf("%s: %v is none of %v", at, v, enum)
	}
	return nil
}
