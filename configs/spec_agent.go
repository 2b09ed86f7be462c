package configs

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// agentSpec is an agent. Which of its keys go together depends on its kind, so
// the resolver asks for that.
type agentSpec struct {
	at          *yaml.Node
	use         schema.Value[string]
	model       modelSpec
	command     schema.List[schema.Value[string]]
	resume      schema.List[schema.Value[string]]
	env         envSpec
	auth        authSpec
	parallel    schema.Value[int64]
	nativeHooks schema.Value[bool]
	fallback    schema.Value[string]
}

// fields are the keys of an agent. The agent is builtin unless it says otherwise.
func (a *agentSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "use", Part: schema.OneOf(&a.use, kindWords()...),
			Doc: "The kind of agent: builtin, which ships with covey; acp, a program that speaks the Agent Client " +
				"Protocol; command, a program that is run once a turn; or a program that covey knows how to " +
				"start. Default: builtin."},
		{Key: "model", Part: modelPart(&a.model),
			Doc: "The model it thinks with; builtin needs one. A program that is given a script model thinks " +
				"with the script in place of its own model, without login or network."},
		{Key: "command", Part: commandPart{schema.Args(&a.command), &a.command, "[program, argument]"},
			Doc: "The program and its arguments. A program with a slash is relative to the workspace, any " +
				"other is looked for in PATH. With `use: command` the prompt stands in place of `{prompt}`, or " +
				"else comes on stdin."},
		{Key: "resume", Part: commandPart{schema.Args(&a.resume), &a.resume, "[--resume, \"{session}\"]"},
			Doc: "With `use: command`, arguments that follow the command to go on with an earlier session; " +
				"`{session}` in them is its id."},
		{Key: "env", Part: envPart{&a.env},
			Doc: "Variables for the program. `${NAME}` in a value is covey's own variable NAME, `$$` is a " +
				"dollar; `{file: PATH}` is what the file holds."},
		{Key: "auth", Part: schema.Either(schema.OneOf(&a.auth.mode, string(Login), string(Key)), schema.Object(&a.auth.at, a.auth.fields()),
			"login, key, or a mapping such as {key: VARIABLE, file: PATH}"),
			Doc: "How the program logs in: login, with the login that it has; key, with an API key from " +
				"covey's environment; or a mapping that says where the key is. Default: login."},
		{Key: "parallel", Part: schema.WholeFrom(1, math.MaxInt32, &a.parallel),
			Doc: "Members that may be in a turn at once with this agent's login. Default: no limit."},
		{Key: "native_hooks", Part: schema.OnOff(&a.nativeHooks),
			Doc: "Whether the program's own hooks run as well. Default: off."},
		{Key: "fallback", Part: schema.Text(&a.fallback),
			Doc: "The agent that its members go on with while this one is at a limit of its vendor, if the team's " +
				"budget has on_limit: fallback."},
	}
}

// agentPart takes an agent.
func agentPart(a *agentSpec) schema.Part { return schema.Object(&a.at, a.fields()) }

// presetNames are the presets as words of the spec.
func presetNames() []string {
	names := make([]string, 0, len(Presets()))
	for _, p := range Presets() {
		names = append(names, string(p))
	}
	return names
}

// isPreset reports whether a name is a preset's.
func isPreset(name string) bool { return slices.Contains(Presets(), Preset(name)) }

// kindWords are what can be used for an agent.
func kindWords() []string {
	return append([]string{string(Builtin), string(ACP), string(Command)}, presetNames()...)
}

// authSpec is how a program logs in: a word, or a mapping that says where the
// key is.
type authSpec struct {
	at   *yaml.Node // of a mapping
	mode schema.Value[string]
	key  schema.Value[string]
	file schema.Value[string]
}

// fields are the keys of the long form.
func (a *authSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "key", Part: variablePart{&a.key},
			Doc: "The variable that the program reads its key from. Default: that of the program, if covey knows it."},
		{Key: "file", Part: schema.Text(&a.file),
			Doc: "The file that holds the key, relative to the spec. Default: the key is in covey's environment."},
	}
}

// variableForm is what a variable of an environment may be called.
const variableForm = `^[A-Za-z_][A-Za-z0-9_]*$`

var variablePattern = regexp.MustCompile(variableForm)

// fitVariable reports whether n names a variable, and says so if not. Shells
// and other programs drop or misread names of another form.
func fitVariable(d *schema.Decoder, n *yaml.Node) bool {
	if variablePattern.MatchString(n.Text) {
		return true
	}
	d.Fail(n.At, "%s cannot be the name of a variable; write letters, digits and \"_\", with no digit first, "+
		"such as API_KEY", yaml.Quote(n.Text))
	return false
}

// variablePart takes the name of a variable.
type variablePart struct{ to *schema.Value[string] }

// Want shows what such names look like.
func (p variablePart) Want() string { return "the name of a variable, such as API_KEY" }

// Decode keeps the place in any case.
func (p variablePart) Decode(d *schema.Decoder, key, n *yaml.Node) {
	p.to.At = n
	if n.Kind != yaml.Text {
		d.Wrong(key, n, p.Want())
	} else if fitVariable(d, n) {
		p.to.V = n.Text
	}
}

// Schema gives the form of a variable's name.
func (p variablePart) Schema() *schema.JSON {
	return schema.Of(jsonschema.Schema{Type: "string", Pattern: variableForm})
}

// envSpec holds the variables for a program, in file order.
type envSpec struct {
	at      *yaml.Node
	entries []schema.Entry[variableSpec]
}

// variableSpec is the value of a variable: a text, or the file that holds it.
type variableSpec struct {
	text   schema.Value[string]
	secret secretSpec
}

// envPart takes a mapping from names of variables to their values.
type envPart struct{ to *envSpec }

// Want says what a value may be, because people write PORT: 8080.
func (p envPart) Want() string { return "a mapping from variables to text, or to {file: PATH}" }

// Decode takes numbers, true and false by their text as it is written: what an
// environment holds is text, and nobody means anything else there.
func (p envPart) Decode(d *schema.Decoder, key, n *yaml.Node) {
	p.to.at = n
	switch {
	case n.Kind != yaml.Mapping:
		d.Wrong(key, n, p.Want())
		return
	case len(n.Pairs) > schema.MaxTexts:
		d.Fail(n.At, "%s has more than %d entries; shorten it", schema.NameOf(key), schema.MaxTexts)
		return
	}
	for _, pair := range d.Unique(n) {
		if !fitVariable(d, pair.Key) {
			continue
		}
		e := schema.Entry[variableSpec]{Name: pair.Key}
		switch v := pair.Value; {
		case v.Kind == yaml.Mapping:
			schema.Object(&e.V.secret.at, e.V.secret.fields()).Decode(d, pair.Key, v)
			p.to.entries = append(p.to.entries, e)
		case v.Kind == yaml.Null:
			d.Fail(pair.Key.At, "%s has no value; give it one, write \"\" for an empty one, or remove it",
				schema.NameOf(pair.Key))
		case !schema.IsScalar(v):
			d.Fail(v.At, "%s must be text or {file: PATH}, not %s", schema.NameOf(pair.Key), v.Describe())
		case strings.ContainsRune(v.Text, 0):
			d.Fail(v.At, "%s holds the character NUL, which no variable can; remove it", schema.NameOf(pair.Key))
		default:
			e.V.text = schema.Value[string]{V: v.Text, At: v}
			p.to.entries = append(p.to.entries, e)
		}
	}
}

// Schema allows scalars, which count by their text.
func (p envPart) Schema() *schema.JSON {
	file := schema.ObjectSchema((&secretSpec{}).fields())
	return schema.Of(jsonschema.Schema{
		Type:          "object",
		PropertyNames: &jsonschema.Schema{Pattern: variableForm},
		AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"}, {Type: "number"}, {Type: "boolean"}, &file.Schema,
		}},
	})
}

// commandPart takes a program with its arguments, or arguments alone: a list
// that is not empty.
type commandPart struct {
	schema.Part
	to      *schema.List[schema.Value[string]]
	example string // a list as YAML, for messages
}

// Decode offers a list for a command line that was written as one text, if its
// words can stand in one as they are.
func (p commandPart) Decode(d *schema.Decoder, key, n *yaml.Node) {
	p.to.At = n
	switch {
	case n.Kind == yaml.Text:
		list := p.example
		if words := strings.Fields(yaml.Clip(n.Text)); len(words) > 0 && !strings.ContainsAny(n.Text, "\"'\\,[]{}#:&*|<>") {
			list = "[" + strings.Join(words, ", ") + "]"
		}
		d.Fail(n.At, "%s must be %s, not %s; write %s", schema.NameOf(key), p.Want(), n.Describe(), list)
	case n.Kind == yaml.List && len(n.Items) == 0:
		d.Fail(n.At, "%s is empty; write a list such as %s, or remove it", schema.NameOf(key), p.example)
	case n.Kind == yaml.List && len(n.Items) > schema.MaxTexts:
		d.Fail(n.At, "%s has more than %d entries; shorten it", schema.NameOf(key), schema.MaxTexts)
	default:
		p.Part.Decode(d, key, n)
	}
}

// Schema adds that there is a program, or an argument.
func (p commandPart) Schema() *schema.JSON {
	out := p.Part.Schema()
	out.MinItems = new(1)
	return out
}
