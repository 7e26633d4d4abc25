package diag

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/wowgen/wow/schema"
)

// Printer writes diagnostics in one of the formats that people and tools read.
type Printer struct {
	// Dir is the directory that paths are shown relative to.
	Dir string
	// Read returns a file's contents, to show the line concerned.
	Read func(file string) ([]byte, error)

	lines map[string][]string
}

// Text writes diagnostics for people.
func (p *Printer) Text(w io.Writer, all []Diagnostic) error {
	var b strings.Builder
	for i, d := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.pos(d.Pos) + ": ")
		if d.Severity == Warning {
			b.WriteString("warning: ")
		}
		b.WriteString(d.Message + "\n")
		for line := range strings.Lines(p.source(d)) {
			b.WriteString("    " + strings.TrimRight(line, "\r\n") + "\n")
		}
		part(&b, "wanted", d.Wanted)
		part(&b, "found", d.Found)
		part(&b, "fix", d.Fix)
		for _, r := range d.Related {
			b.WriteString("  " + p.pos(r.Pos) + ": " + r.Message + "\n")
		}
		if d.See != "" {
			b.WriteString("  see: wowgen directives " + d.See + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func part(b *strings.Builder, name, text string) {
	if text == "" {
		return
	}
	lead := "  " + name + ": "
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i > 0 {
			lead = strings.Repeat(" ", len(name)+4)
		}
		b.WriteString(strings.TrimRight(lead+line, " \t") + "\n")
	}
}

// JSON writes one array with an object for each diagnostic.
func (p *Printer) JSON(w io.Writer, all []Diagnostic) error {
	type related struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Message string `json:"message"`
	}
	type object struct {
		File     string    `json:"file"`
		Line     int       `json:"line"`
		Column   int       `json:"column"`
		Code     string    `json:"code"`
		Severity Severity  `json:"severity"`
		Message  string    `json:"message"`
		Wanted   string    `json:"wanted"`
		Found    string    `json:"found"`
		Fix      string    `json:"fix"`
		Related  []related `json:"related"`
	}
	out := make([]object, 0, len(all))
	for _, d := range all {
		o := object{
			File: p.rel(d.Pos.File), Line: d.Pos.Line, Column: d.Pos.Column, Code: d.Code, Severity: d.Severity,
			Message: d.Message, Wanted: d.Wanted, Found: d.Found, Fix: d.Fix, Related: []related{},
		}
		for _, r := range d.Related {
			o.Related = append(o.Related, related{p.rel(r.Pos.File), r.Pos.Line, r.Pos.Column, r.Message})
		}
		out = append(out, o)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// GitHub writes workflow commands, which annotate a pull request.
func (p *Printer) GitHub(w io.Writer, all []Diagnostic) error {
	var b strings.Builder
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	for _, d := range all {
		b.WriteString("::" + string(d.Severity) + " file=" + property.Replace(p.rel(d.Pos.File)))
		if d.Pos.Line > 0 {
			b.WriteString(",line=" + strconv.Itoa(d.Pos.Line))
		}
		if d.Pos.Column > 0 {
			b.WriteString(",col=" + strconv.Itoa(d.Pos.Column))
		}
		text := d.Message
		for _, q := range []struct{ name, text string }{{"wanted", d.Wanted}, {"found", d.Found}, {"fix", d.Fix}} {
			if q.text != "" {
				text += "\n" + q.name + ": " + q.text
			}
		}
		b.WriteString(",title=" + property.Replace("wowgen "+d.Code) + "::" + data.Replace(text) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Printer) pos(pos schema.Pos) string {
	pos.File = p.rel(pos.File)
	return pos.String()
}

// rel shows a path relative to the working directory, unless that climbs out
// of it further than the path itself is long.
func (p *Printer) rel(file string) string {
	if file == "" || p.Dir == "" {
		return file
	}
	rel, err := filepath.Rel(p.Dir, filepath.FromSlash(file))
	if err != nil {
		return file
	}
	rel = filepath.ToSlash(rel)
	if strings.HasPrefix(rel, "../../../") {
		return file
	}
	return rel
}

// source is the code concerned: what the finder gave, or the line at the position.
func (p *Printer) source(d Diagnostic) string {
	if d.Source != "" || d.Pos.Line == 0 {
		return d.Source
	}
	lines, ok := p.lines[d.Pos.File]
	if !ok {
		read := p.Read
		if read == nil {
			read = os.ReadFile
		}
		src, err := read(filepath.FromSlash(d.Pos.File))
		if err == nil {
			lines = strings.Split(string(src), "\n")
		}
		if p.lines == nil {
			p.lines = map[string][]string{}
		}
		p.lines[d.Pos.File] = lines
	}
	if d.Pos.Line > len(lines) {
		return ""
	}
	line := strings.TrimSpace(strings.ToValidUTF8(lines[d.Pos.Line-1], "\uFFFD"))
	if len(line) > 160 {
		line = strings.ToValidUTF8(line[:160], "") + " ..."
	}
	return line
}

// Where shows a position as diagnostics do.
func (p *Printer) Where(pos schema.Pos) string { return p.pos(pos) }
