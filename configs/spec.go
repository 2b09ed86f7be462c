package configs

import (
	"math"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/yaml"
)

// The types of the spec_*.go files are the spec as it is written, each value
// with its place. Their tables are the one source of keys, kinds of values and
// descriptions: the decoder, its messages and the JSON Schema follow them.
//
// To bring a key of a later version to life, give its type a place for the
// value, put a part for that place where later(…) stands, and use the value in
// the resolver. To add a key, add a line to a table. Then run `go generate`
// and the tests with -update, and read what has changed.

// teamSpec is a whole spec.
type teamSpec struct {
	covey     value[int64]
	name      value[string]
	goal      value[string]
	workspace value[string]
	models    []entry[modelSpec]
	agents    []entry[agentSpec]
	defaults  memberSpec
	lead      leadSpec
	teammates []entry[memberSpec]
	tasks     list[taskSpec]
	gates     gatesSpec
	hooks     hookSection
	settings  list[value[string]]
	plugins   list[value[string]]
	closed    value[bool]
	keep      value[bool]
	work      teamworkSpec
}

// fields are the keys at the top of a spec, in the order of DESIGN 4.
func (s *teamSpec) fields() []field {
	fields := []field{
		{key: "covey", need: true, part: versionPart{wholePart{to: &s.covey, most: math.MaxInt32}},
			doc: "Version of this format."},
		{key: "name", part: ident(&s.name),
			doc: "The team's name. Default: the name of the spec's folder made fit."},
		{key: "goal", part: text(&s.goal),
			doc: "The lead's first prompt. `covey up SPEC \"other goal\"` overrides it."},
		{key: "workspace", part: text(&s.workspace),
			doc: "The folder that the team works in, relative to the spec. Default: the spec's folder."},
		{key: "models", part: dict(&s.models, "a mapping from names to models", modelPart),
			doc: "Names for models. A model may also be written wherever a model's name is wanted."},
		{key: "agents", part: dict(&s.agents, "a mapping from names to agents", agentPart),
			doc: "Named ways to think; members name them with `agent`."},
		{key: "defaults", part: shared("member", object(&s.defaults.at, s.defaults.fields())),
			doc: "What the lead and all teammates inherit. What a member gives itself replaces it; " +
				"`limits` are inherited one by one, and the lists of `permissions` add up."},
		{key: "lead", need: true, part: leadPart(&s.lead),
			doc: "The member that gets the goal: an agent's name, or a member."},
		{key: "teammates", part: dict(&s.teammates, "a mapping from names to members", memberPart),
			doc: "The other members: a name for each, and its agent's name or the member itself."},
		{key: "tasks", part: listOf(&s.tasks, "a list of tasks", taskPart),
			doc: "The first tasks. They are stored as \"1\", \"2\", … in this order."},
		{key: "gates", part: object(nil, s.gates.fields()),
			doc: "Commands and policies that must agree before work counts. Unlike a hook, " +
				"a gate that cannot run refuses."},
		{key: "hooks", part: shared("hooks", hooksPart{&s.hooks}),
			doc: "Hooks, in the shape of a Claude Code settings file."},
		{key: "settings", part: texts(&s.settings),
			doc: "Settings files, relative to the spec. Their hooks and permissions count. Files of Claude Code, Codex " +
				"and VS Code serve, and Markdown files with hooks in their head."},
		{key: "plugins", part: texts(&s.plugins),
			doc: "Folders with hooks/hooks.json or a plugin manifest, relative to the spec."},
		{key: "fail_closed", part: truth(&s.closed),
			doc: "Hooks that fail refuse, as gates do. Default: false, they let everything pass."},
	}
	fields = append(append(fields, s.work.fields()...), laterFields()...)
	return append(fields, field{key: "keep", part: truth(&s.keep),
		doc: "Stay up when all is done. Default: false; a team with schedules always does."})
}

// laterFields are the keys of a team that come with later versions.
func laterFields() []field {
	return []field{
		{key: "mcp_servers", part: later(""),
			doc: "MCP servers whose tools the members get."},
		{key: "sandbox", part: later("remove it; use permissions, or run covey in a container"),
			doc: "What members' processes may reach."},
		{key: "gateway", part: later(""),
			doc: "Serve models to agents of other vendors."},
		{key: "bus", part: later("remove it; the bus is embedded"),
			doc: "An external bus."},
		{key: "extends", part: later("copy what you need into this spec"),
			doc: "A policy that this spec may only tighten."},
	}
}

// modelSpec is a model: a mapping, or the text that names it.
type modelSpec struct {
	at       *yaml.Node    // of a mapping
	name     value[string] // of a text
	provider value[string]
	script   value[string]
}

// given reports whether the spec names a model here, in either form.
func (m *modelSpec) given() bool { return m.at != nil || m.name.given() }

// fields are the keys of a model that is written out.
func (m *modelSpec) fields() []field {
	return []field{
		{key: "provider", need: true, part: oneOf(&m.provider, string(Script)),
			doc: "Who answers. This version has one provider, script: a model that plays a script, offline."},
		{key: "script", need: true, part: text(&m.script),
			doc: "The script's path, relative to the spec."},
		{key: "model", part: later("it belongs to providers other than script"),
			doc: "The provider's name for the model."},
		{key: "base_url", part: later("it belongs to providers other than script"),
			doc: "Where the provider's API is."},
	}
}

// modelPart takes a model. Where the provider is one of a later version, the
// rest of the mapping is not looked at: one message is enough.
func modelPart(m *modelSpec) part {
	return shared("model", unlessLater(
		either(text(&m.name), object(&m.at, m.fields()),
			"a model's name, or a mapping such as {provider: script, script: FILE}"),
		"provider", otherProviders(), "write provider: script with a script, the offline model"))
}

// otherProviders are the providers that later versions will have.
func otherProviders() []string { return []string{"anthropic", "openai", "google", "gemini", "ollama"} }

// versionPart takes the one version of the format that there is.
type versionPart struct{ wholePart }

// decode names the version in every message: it is all that can be written.
func (p versionPart) decode(d *decoder, key, n *yaml.Node) {
	p.to.at, p.to.v = n, n.Whole
	switch {
	case n.Kind != yaml.Whole:
		d.fail(n.At, "covey must be the version of the format, not %s; write covey: %d", n.Describe(), formatVersion)
	case n.Whole != formatVersion:
		d.fail(n.At, "this covey reads version %d of the format, not %s; write covey: %d",
			formatVersion, yaml.Clip(n.Text), formatVersion)
	}
}

// schema names the one version.
func (p versionPart) schema() *schema {
	return of(jsonschema.Schema{Type: "integer", Enum: []any{formatVersion}})
}

// want names the version.
func (p versionPart) want() string { return "the version of this format, 1" }

// formatVersion is the version of the spec that this package reads.
const formatVersion = 1
