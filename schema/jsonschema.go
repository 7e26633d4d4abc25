package schema

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// JSONSchema returns the JSON Schema of wow.yaml, for completion in editors.
func JSONSchema() []byte {
	root := object{
		{"$schema", "http://json-schema.org/draft-07/schema#"},
		{"title", "wow.yaml"},
	}
	root = append(root, YAML.schema()...)
	data, err := json.Marshal(root)
	if err != nil {
		panic("schema: the JSON Schema does not marshal: " + err.Error())
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		panic("schema: the JSON Schema does not indent: " + err.Error())
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Quote(m.key) + ":")
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (s *Shape) schema() object {
	var o object
	if s.Summary != "" {
		o = append(o, member{"description", s.Summary})
	}
	switch s.Kind {
	case List:
		return append(o, member{"type", "array"}, member{"items", s.Elem.schema()})
	case Free:
		return append(o, member{"type", "object"}, member{"additionalProperties", s.Elem.schema()})
	case Mapping:
		return append(o, s.mapping()...)
	case Switch:
		return append(o, member{"oneOf", []object{{{"type", "boolean"}}, s.mapping()}})
	case NameOr, TypeText:
		return append(o, member{"oneOf", []object{{{"type", "string"}}, s.mapping()}})
	}
	return append(o, s.Arg.schema()...)
}

func (s *Shape) mapping() object {
	properties, required := object{}, []string{}
	for _, k := range s.Keys {
		properties = append(properties, member{k.Name, k.Shape.schema()})
		if k.Required {
			required = append(required, k.Name)
		}
	}
	o := object{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
	if len(required) > 0 {
		o = append(o, member{"required", required})
	}
	return o
}

func (a *Arg) schema() object {
	if a == nil {
		return object{{"type", "string"}}
	}
	var o object
	if a.Default != "" {
		o = append(o, member{"$comment", "default: " + a.Default})
	}
	switch a.Kind {
	case Flag:
		return append(o, member{"type", "boolean"})
	case Count:
		return append(o, member{"type", "integer"}, member{"minimum", 1}, member{"maximum", a.Max})
	case Enum:
		return append(o, member{"enum", a.Values})
	case Snapshot:
		return append(o, member{"type", "string"}, member{"pattern", "^(off|every:[1-9][0-9]{0,6})$"})
	case Duration:
		return append(o, member{"type", "string"}, member{"pattern", "^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"})
	case Begin:
		return append(o, member{"type", "string"}, member{"pattern", "^(beginning|now|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2}))$"})
	case Wire:
		return append(o, member{"type", "string"}, member{"maxLength", MaxWireName})
	}
	return append(o, member{"type", "string"})
}
