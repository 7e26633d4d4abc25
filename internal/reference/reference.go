// Package reference writes docs/reference from the table that defines the
// grammar, so that the pages cannot say anything else.
package reference

import (
	"fmt"
	"strings"

	"github.com/wowgen/wow/schema"
)

// Files returns the pages by file name, and the JSON Schema of wow.yaml.
func Files() map[string]string {
	files := map[string]string{"wow.schema.json": string(schema.JSONSchema())}
	var index strings.Builder
	index.WriteString("# Reference\n\nWhat can be declared. The same words serve in Go comments and, as keys, in\n[wow.yaml](../guide/yaml.md), whose JSON Schema is [wow.schema.json](wow.schema.json).\n\n| directive | on | |\n| --- | --- | --- |\n")
	for i := range schema.Directives {
		d := &schema.Directives[i]
		files[d.Name+".md"] = page(d)
		fmt.Fprintf(&index, "| [`//wow:%s`](%s.md) | %s | %s |\n", d.Name, d.Name, d.On, d.Summary)
	}
	index.WriteString("\nField tags of commands and states: ")
	for i, tag := range schema.FieldTags {
		if i > 0 {
			index.WriteString(", ")
		}
		fmt.Fprintf(&index, "`` `wow:%q` ``", tag)
	}
	index.WriteString(".\n\n`wowgen directives NAME` prints the same in a terminal.\n")
	files["README.md"] = index.String()
	return files
}

func page(d *schema.Directive) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# wow:%s\n\nOn %s: %s.\n\n```\n%s\n```\n\n%s\n", d.Name, d.On, d.Summary, d.Usage(), d.Doc)
	args := d.Args
	if d.Positional != nil {
		args = append([]schema.Arg{*d.Positional}, args...)
	}
	if len(args) > 0 {
		b.WriteString("\n| argument | what | default |\n| --- | --- | --- |\n")
	}
	for i := range args {
		a := &args[i]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.ReplaceAll(a.Usage(), "|", `\|`), a.Summary, a.Default)
	}
	fmt.Fprintf(&b, "\n```go\n%s\n```\n", d.Example)
	return b.String()
}
