package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wowgen/wow"
	"github.com/wowgen/wow/runtime/store"
)

// line is a commit as one line of JSON: what show prints and export writes. JSON
// events stand in it as they are stored, others as base64.
type line struct {
	Position    string            `json:"position"`
	StoredAt    time.Time         `json:"storedAt"`
	Tenant      string            `json:"tenant,omitempty"`
	Aggregate   string            `json:"aggregate"`
	ID          string            `json:"id"`
	Version     int64             `json:"version"`
	Commit      string            `json:"commit"`
	Request     string            `json:"request,omitempty"`
	Correlation string            `json:"correlation,omitempty"`
	Causation   string            `json:"causation,omitempty"`
	DecidedAt   time.Time         `json:"decidedAt"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Events      []eventLine       `json:"events"`
}

type eventLine struct {
	Name     string          `json:"name"`
	Revision int             `json:"revision"`
	Codec    store.Codec     `json:"codec,omitempty"` // of bytes; JSON if it is left out
	Data     json.RawMessage `json:"data,omitempty"`
	Bytes    []byte          `json:"bytes,omitempty"`
}

func writeLine(w io.Writer, c *store.Commit) error {
	l := line{
		Position: c.Position.String(), StoredAt: time.UnixMicro(c.StoredAt).UTC(),
		Tenant: c.Target.Tenant, Aggregate: c.Target.Aggregate, ID: c.Target.ID, Version: c.Version,
		Commit: c.ID, Request: c.Request, Correlation: c.Correlation, Causation: c.Causation,
		DecidedAt: time.UnixMicro(c.DecidedAt).UTC(), Metadata: c.Metadata,
	}
	for _, e := range c.Events {
		out := eventLine{Name: e.Name, Revision: e.Revision}
		// Bytes that JSON would write otherwise are kept as they are.
		if e.Codec == store.JSON && compact(e.Data) {
			out.Data = e.Data
		} else {
			out.Codec, out.Bytes = e.Codec, e.Data
		}
		l.Events = append(l.Events, out)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return fmt.Errorf("writing %s version %d: %w", c.Target, c.Version, err)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// compact reports whether data comes out of an encoder as it went in.
func compact(data []byte) bool {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(json.RawMessage(data))
	return err == nil && bytes.Equal(bytes.TrimSuffix(b.Bytes(), []byte("\n")), data)
}

// readLine reads what writeLine wrote.
func readLine(text []byte) (*store.Commit, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, fmt.Errorf("it is no commit: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if dec.More() {
		return nil, fmt.Errorf("there is something behind the commit")
	}
	c := &store.Commit{
		Target: wow.Target{Tenant: l.Tenant, Aggregate: l.Aggregate, ID: l.ID}, Version: l.Version,
		ID: l.Commit, Request: l.Request, Correlation: l.Correlation, Causation: l.Causation,
		DecidedAt: l.DecidedAt.UnixMicro(), Metadata: l.Metadata,
	}
	for _, e := range l.Events {
		event := store.Event{Name: e.Name, Revision: e.Revision, Codec: store.JSON, Data: e.Data}
		if e.Codec != 0 {
			event.Codec, event.Data = e.Codec, e.Bytes
		}
		c.Events = append(c.Events, event)
	}
	return c, store.Check(c)
}
