package configs

import (
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/notation"
)

// EnvVar is a variable for an agent program.
type EnvVar struct {
	Name string `json:"name"`
	// Value is what the program gets, with covey's own variables filled in. It may be a
	// secret: show Text instead, which is the value as the spec has it.
	Value string `json:"-"`
	Text  string `json:"text"`
	// File is the absolute path of the file that Value was read from; empty if Value was
	// made from Text.
	File string `json:"file,omitempty"`
}

// Refers lists covey's own variables that the value contains, each once and in order. They
// leave covey's environment with it.
func (v EnvVar) Refers() []string {
	if v.File != "" {
		return nil
	}
	var out []string
	// Text comes from a spec that has been checked, so expand cannot fail; a variable made
	// by a program has no Text.
	_ = expand(v.Text, func(piece string, name bool) error {
		if name && !slices.Contains(out, piece) {
			out = append(out, piece)
		}
		return nil
	})
	return out
}

// String returns the variable as the spec has it. It never shows Value, which may be a
// secret.
func (v EnvVar) String() string { return v.Name + "=" + v.Text }

// maxSecret is how long a value from a file may be, in bytes. A longer file is not a secret,
// and systems refuse long environments.
const maxSecret = 64 << 10

// secretSpec is a variable whose value is in a file.
type secretSpec struct {
	at   *yaml.Node
	file yaml.Value[string]
}

// fields returns the keys of the mapping.
func (s *secretSpec) fields() []yaml.Field {
	return []yaml.Field{{Key: "file", Need: true, Part: yaml.Text(&s.file),
		Doc: "The file that holds the value, relative to the spec. A line break at its end is dropped."}}
}

// secret reads the value of a variable from its file. A change of the file takes effect when
// the team starts again. The value is never shown.
func (r *resolver) secret(name *yaml.Node, s *secretSpec) EnvVar {
	v := EnvVar{Name: name.Text, Text: "file: " + s.file.V}
	if s.file.V == "" {
		return v // the decoder has refused it
	}
	before := len(r.Problems)
	v.File = r.path(s.file, "file")
	if len(r.Problems) > before {
		return v
	}
	fault := ""
	v.Value, fault = readSecret(v.File)
	if fault != "" {
		r.Fail(s.file.At.At, "the file %s %s", yaml.Quote(s.file.V), fault)
	}
	if info, err := os.Stat(v.File); err == nil && runtime.GOOS != "windows" && info.Mode()&0o007 != 0 {
		r.Warn(s.file.At.At, "everybody on this machine may read or change %s; run chmod o= on it", yaml.Quote(s.file.V))
	}
	return v
}

// readSecret reads a value. fault says why the file holds none.
func readSecret(path string) (value, fault string) {
	f, err := os.Open(path)
	if err != nil {
		return "", "cannot be read (" + notation.Cause(err) + "); change its permissions"
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case err != nil:
		return "", "cannot be read (" + notation.Cause(err) + ")"
	case len(data) > maxSecret:
		return "", "is larger than 64 KiB, too large for a variable; name another one"
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", "is not UTF-8 text without NUL, as a variable must be; name another one"
	case text == "":
		return "", "is empty; write the value into it"
	}
	return text, ""
}

// envSpec holds the variables for a program, in file order.
type envSpec struct {
	at      *yaml.Node
	entries []yaml.Entry[variableSpec]
}

// variableSpec is the value of a variable: a text, or the file that holds it.
type variableSpec struct {
	text   yaml.Value[string]
	secret secretSpec
}

// envPart decodes a mapping from names of variables to their values.
type envPart struct{ to *envSpec }

// Want says that values are text, because people write PORT: 8080.
func (p envPart) Want() string { return "a mapping from variables to text, or to {file: PATH}" }

// Decode accepts numbers, true and false and keeps their text as it is written, because
// variables hold text.
func (p envPart) Decode(d *yaml.Decoder, key, n *yaml.Node) {
	p.to.at = n
	switch {
	case n.Kind != yaml.MappingKind:
		d.Wrong(key, n, p.Want())
		return
	case len(n.Pairs) > yaml.MaxTexts:
		d.Fail(n.At, "%s has more than %d entries; shorten it", yaml.NameOf(key), yaml.MaxTexts)
		return
	}
	for _, pair := range d.Unique(n) {
		if !checkVariable(d, pair.Key) {
			continue
		}
		e := yaml.Entry[variableSpec]{Name: pair.Key}
		switch v := pair.Value; {
		case v.Kind == yaml.MappingKind:
			yaml.Object(&e.V.secret.at, e.V.secret.fields()).Decode(d, pair.Key, v)
			p.to.entries = append(p.to.entries, e)
		case v.Kind == yaml.NullKind:
			d.Fail(pair.Key.At, "%s has no value; give it one, write \"\" for an empty one, or remove it",
				yaml.NameOf(pair.Key))
		case !yaml.IsScalar(v):
			d.Fail(v.At, "%s must be text or {file: PATH}, not %s", yaml.NameOf(pair.Key), v.Describe())
		case strings.ContainsRune(v.Text, 0):
			d.Fail(v.At, "%s contains the character NUL, which no variable can contain; remove it", yaml.NameOf(pair.Key))
		default:
			e.V.text = yaml.Value[string]{V: v.Text, At: v}
			p.to.entries = append(p.to.entries, e)
		}
	}
}

// Schema allows scalars, whose text is used.
func (p envPart) Schema() *yaml.JSON {
	file := yaml.ObjectSchema((&secretSpec{}).fields())
	return yaml.Of(jsonschema.Schema{
		Type:          "object",
		PropertyNames: &jsonschema.Schema{Pattern: variableForm},
		AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"}, {Type: "number"}, {Type: "boolean"}, &file.Schema,
		}},
	})
}
