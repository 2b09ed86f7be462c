package configs

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
)

// agentSpec is an agent. Which of its keys go together depends on its kind, so
// the resolver asks for that.
type agentSpec struct {
	at          *yaml.Node
	use         value[string]
	model       modelSpec
	command     list[value[string]]
	resume      list[value[string]]
	env         envSpec
	auth        authSpec
	parallel    value[int64]
	nativeHooks value[bool]
	fallback    value[string]
}

// fields are the keys of an agent. The agent is builtin unless it says otherwise.
func (a *agentSpec) fields() []field {
	return []field{
		{key: "use", part: oneOf(&a.use, kindWords()...),
			doc: "The kind of agent: builtin, which ships with covey; acp, a program that speaks the Agent Client " +
				"Protocol; command, a program that is run once a turn; or a program that covey knows how to " +
				"start. Default: builtin."},
		{key: "model", part: modelPart(&a.model),
			doc: "The model it thinks with; builtin needs one. A program that is given a script model thinks " +
				"with the script in place of its own model, without login or network."},
		{key: "command", part: commandPart{argsPart(&a.command), "[program, argument]"},
			doc: "The program and its arguments. A program with a slash is relative to the workspace, any " +
				"other is looked for in PATH. With `use: command` the prompt stands in place of `{prompt}`, or " +
				"else comes on stdin."},
		{key: "resume", part: commandPart{argsPart(&a.resume), "[--resume, \"{session}\"]"},
			doc: "With `use: command`, arguments that follow the command to go on with an earlier session; " +
				"`{session}` in them is its id."},
		{key: "env", part: envPart{&a.env},
			doc: "Variables for the program. `${NAME}` in a value is covey's own variable NAME, `$$` is a " +
				"dollar; `{file: PATH}` is what the file holds."},
		{key: "auth", part: either(oneOf(&a.auth.mode, string(Login), string(Key)), object(&a.auth.at, a.auth.fields()),
			"login, key, or a mapping such as {key: VARIABLE, file: PATH}"),
			doc: "How the program logs in: login, with the login that it has; key, with an API key from " +
				"covey's environment; or a mapping that says where the key is. Default: login."},
		{key: "parallel", part: wholeFrom(1, math.MaxInt32, &a.parallel),
			doc: "Members that may be in a turn at once with this agent's login. Default: no limit."},
		{key: "native_hooks", part: onOff(&a.nativeHooks),
			doc: "Whether the program's own hooks run as well. Default: off."},
		{key: "fallback", part: text(&a.fallback),
			doc: "The agent that its members go on with while this one is at a limit of its vendor, if the team's " +
				"budget has on_limit: fallback."},
	}
}

// agentPart takes an agent.
func agentPart(a *agentSpec) part { return object(&a.at, a.fields()) }

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
	mode value[string]
	key  value[string]
	file value[string]
}

// fields are the keys of the long form.
func (a *authSpec) fields() []field {
	return []field{
		{key: "key", part: variablePart{textPart{to: &a.key}},
			doc: "The variable that the program reads its key from. Default: that of the program, if covey knows it."},
		{key: "file", part: text(&a.file),
			doc: "The file that holds the key, relative to the spec. Default: the key is in covey's environment."},
	}
}

// variableForm is what a variable of an environment may be called.
const variableForm = `^[A-Za-z_][A-Za-z0-9_]*$`

var variablePattern = regexp.MustCompile(variableForm)

// fitVariable reports whether n names a variable, and says so if not. Shells
// and other programs drop or misread names of another form.
func fitVariable(d *decoder, n *yaml.Node) bool {
	if variablePattern.MatchString(n.Text) {
		return true
	}
	d.fail(n.At, "%s cannot be the name of a variable; write letters, digits and \"_\", with no digit first, "+
		"such as API_KEY", yaml.Quote(n.Text))
	return false
}

// variablePart takes the name of a variable.
type variablePart struct{ textPart }

// want shows what such names look like.
func (p variablePart) want() string { return "the name of a variable, such as API_KEY" }

// decode keeps the place in any case.
func (p variablePart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	if n.Kind != yaml.Text {
		d.wrong(key, n, p.want())
	} else if fitVariable(d, n) {
		p.to.v = n.Text
	}
}

// schema gives the form of a variable's name.
func (p variablePart) schema() *schema {
	return of(jsonschema.Schema{Type: "string", Pattern: variableForm})
}

// envSpec holds the variables for a program, in file order.
type envSpec struct {
	at      *yaml.Node
	entries []entry[variableSpec]
}

// variableSpec is the value of a variable: a text, or the file that holds it.
type variableSpec struct {
	text   value[string]
	secret secretSpec
}

// envPart takes a mapping from names of variables to their values.
type envPart struct{ to *envSpec }

// want says what a value may be, because people write PORT: 8080.
func (p envPart) want() string { return "a mapping from variables to text, or to {file: PATH}" }

// decode takes numbers, true and false by their text as it is written: what an
// environment holds is text, and nobody means anything else there.
func (p envPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	switch {
	case n.Kind != yaml.Mapping:
		d.wrong(key, n, p.want())
		return
	case len(n.Pairs) > maxTexts:
		d.fail(n.At, "%s has more than %d entries; shorten it", nameOf(key), maxTexts)
		return
	}
	for _, pair := range d.unique(n) {
		if !fitVariable(d, pair.Key) {
			continue
		}
		e := entry[variableSpec]{name: pair.Key}
		switch v := pair.Value; {
		case v.Kind == yaml.Mapping:
			object(&e.v.secret.at, e.v.secret.fields()).decode(d, pair.Key, v)
			p.to.entries = append(p.to.entries, e)
		case v.Kind == yaml.Null:
			d.fail(pair.Key.At, "%s has no value; give it one, write \"\" for an empty one, or remove it",
				nameOf(pair.Key))
		case !isScalar(v):
			d.fail(v.At, "%s must be text or {file: PATH}, not %s", nameOf(pair.Key), v.Describe())
		case strings.ContainsRune(v.Text, 0):
			d.fail(v.At, "%s holds the character NUL, which no variable can; remove it", nameOf(pair.Key))
		default:
			e.v.text = value[string]{v: v.Text, at: v}
			p.to.entries = append(p.to.entries, e)
		}
	}
}

// schema allows scalars, which count by their text.
func (p envPart) schema() *schema {
	file := objectSchema((&secretSpec{}).fields())
	return of(jsonschema.Schema{
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
	listPart[value[string]]
	example string // a list as YAML, for messages
}

// decode offers a list for a command line that was written as one text, if its
// words can stand in one as they are.
func (p commandPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at = n
	switch {
	case n.Kind == yaml.Text:
		list := p.example
		if words := strings.Fields(yaml.Clip(n.Text)); len(words) > 0 && !strings.ContainsAny(n.Text, "\"'\\,[]{}#:&*|<>") {
			list = "[" + strings.Join(words, ", ") + "]"
		}
		d.fail(n.At, "%s must be %s, not %s; write %s", nameOf(key), p.says, n.Describe(), list)
	case n.Kind == yaml.List && len(n.Items) == 0:
		d.fail(n.At, "%s is empty; write a list such as %s, or remove it", nameOf(key), p.example)
	case n.Kind == yaml.List && len(n.Items) > maxTexts:
		d.fail(n.At, "%s has more than %d entries; shorten it", nameOf(key), maxTexts)
	default:
		p.listPart.decode(d, key, n)
	}
}

// schema adds that there is a program, or an argument.
func (p commandPart) schema() *schema {
	out := p.listPart.schema()
	out.MinItems = new(1)
	return out
}
