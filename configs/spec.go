package configs

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/configs/schema"
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
	covey     schema.Value[int64]
	name      schema.Value[string]
	goal      schema.Value[string]
	workspace schema.Value[string]
	models    []schema.Entry[modelSpec]
	agents    []schema.Entry[agentSpec]
	defaults  memberSpec
	lead      leadSpec
	teammates []schema.Entry[memberSpec]
	tasks     schema.List[taskSpec]
	gates     gatesSpec
	hooks     hookSection
	settings  schema.List[schema.Value[string]]
	plugins   schema.List[schema.Value[string]]
	closed    schema.Value[bool]
	keep      schema.Value[bool]
	work      teamworkSpec
}

// fields are the keys at the top of a spec, in the order of DESIGN 4.
func (s *teamSpec) fields() []schema.Field {
	fields := []schema.Field{
		{Key: "covey", Need: true, Part: versionPart{&s.covey},
			Doc: "Version of this format."},
		{Key: "name", Part: schema.Ident(&s.name),
			Doc: "The team's name. Default: the name of the spec's folder made fit."},
		{Key: "goal", Part: schema.Text(&s.goal),
			Doc: "The lead's first prompt. `covey up SPEC \"other goal\"` overrides it."},
		{Key: "workspace", Part: schema.Text(&s.workspace),
			Doc: "The folder that the team works in, relative to the spec. Default: the spec's folder."},
		{Key: "models", Part: schema.Dict(&s.models, "a mapping from names to models", modelPart),
			Doc: "Names for models. A model may also be written wherever a model's name is wanted."},
		{Key: "agents", Part: schema.Dict(&s.agents, "a mapping from names to agents", agentPart),
			Doc: "Named ways to think; members name them with `agent`."},
		{Key: "defaults", Part: schema.Shared("member", schema.Object(&s.defaults.at, s.defaults.fields())),
			Doc: "What the lead and all teammates inherit. What a member gives itself replaces it; " +
				"`limits` are inherited one by one, and the lists of `permissions` add up."},
		{Key: "lead", Need: true, Part: leadPart(&s.lead),
			Doc: "The member that gets the goal: an agent's name, or a member."},
		{Key: "teammates", Part: schema.Dict(&s.teammates, "a mapping from names to members", memberPart),
			Doc: "The other members: a name for each, and its agent's name or the member itself."},
		{Key: "tasks", Part: schema.ListOf(&s.tasks, "a list of tasks", taskPart),
			Doc: "The first tasks. They are stored as \"1\", \"2\", … in this order."},
		{Key: "gates", Part: schema.Object(nil, s.gates.fields()),
			Doc: "Commands and policies that must agree before work counts. Unlike a hook, " +
				"a gate that cannot run refuses."},
		{Key: "hooks", Part: schema.Shared("hooks", hooksPart{&s.hooks}),
			Doc: "Hooks, in the shape of a Claude Code settings file."},
		{Key: "settings", Part: schema.Texts(&s.settings),
			Doc: "Settings files, relative to the spec. Their hooks and permissions count. Files of Claude Code, Codex " +
				"and VS Code serve, and Markdown files with hooks in their head."},
		{Key: "plugins", Part: schema.Texts(&s.plugins),
			Doc: "Folders with hooks/hooks.json or a plugin manifest, relative to the spec."},
		{Key: "fail_closed", Part: schema.Truth(&s.closed),
			Doc: "Hooks that fail refuse, as gates do. Default: false, they let everything pass."},
	}
	fields = append(append(fields, s.work.fields()...), laterFields()...)
	return append(fields, schema.Field{Key: "keep", Part: schema.Truth(&s.keep),
		Doc: "Stay up when all is done. Default: false; a team with schedules always does."})
}

// laterFields are the keys of a team that come with later versions.
func laterFields() []schema.Field {
	return []schema.Field{
		{Key: "mcp_servers", Part: schema.Later(""),
			Doc: "MCP servers whose tools the members get."},
		{Key: "sandbox", Part: schema.Later("remove it; use permissions, or run covey in a container"),
			Doc: "What members' processes may reach."},
		{Key: "gateway", Part: schema.Later(""),
			Doc: "Serve models to agents of other vendors."},
		{Key: "bus", Part: schema.Later("remove it; the bus is embedded"),
			Doc: "An external bus."},
		{Key: "extends", Part: schema.Later("copy what you need into this spec"),
			Doc: "A policy that this spec may only tighten."},
	}
}

// modelSpec is a model: a mapping, or the text that names it.
type modelSpec struct {
	at       *yaml.Node           // of a mapping
	name     schema.Value[string] // of a text
	provider schema.Value[string]
	script   schema.Value[string]
}

// given reports whether the spec names a model here, in either form.
func (m *modelSpec) given() bool { return m.at != nil || m.name.Given() }

// fields are the keys of a model that is written out.
func (m *modelSpec) fields() []schema.Field {
	return []schema.Field{
		{Key: "provider", Need: true, Part: schema.OneOf(&m.provider, string(Script)),
			Doc: "Who answers. This version has one provider, script: a model that plays a script, offline."},
		{Key: "script", Need: true, Part: schema.Text(&m.script),
			Doc: "The script's path, relative to the spec."},
		{Key: "model", Part: schema.Later("it belongs to providers other than script"),
			Doc: "The provider's name for the model."},
		{Key: "base_url", Part: schema.Later("it belongs to providers other than script"),
			Doc: "Where the provider's API is."},
	}
}

// modelPart takes a model. Where the provider is one of a later version, the
// rest of the mapping is not looked at: one message is enough.
func modelPart(m *modelSpec) schema.Part {
	return schema.Shared("model", schema.UnlessLater(
		schema.Either(schema.Text(&m.name), schema.Object(&m.at, m.fields()),
			"a model's name, or a mapping such as {provider: script, script: FILE}"),
		"provider", otherProviders(), "write provider: script with a script, the offline model"))
}

// otherProviders are the providers that later versions will have.
func otherProviders() []string { return []string{"anthropic", "openai", "google", "gemini", "ollama"} }

// versionPart takes the one version of the format that there is.
type versionPart struct{ to *schema.Value[int64] }

// Decode names the version in every message: it is all that can be written.
func (p versionPart) Decode(d *schema.Decoder, key, n *yaml.Node) {
	p.to.At, p.to.V = n, n.Whole
	switch {
	case n.Kind != yaml.Whole:
		d.Fail(n.At, "covey must be the version of the format, not %s; write covey: %d", n.Describe(), formatVersion)
	case n.Whole != formatVersion:
		d.Fail(n.At, "this covey reads version %d of the format, not %s; write covey: %d",
			formatVersion, yaml.Clip(n.Text), formatVersion)
	}
}

// Schema names the one version.
func (p versionPart) Schema() *schema.JSON {
	return schema.Of(jsonschema.Schema{Type: "integer", Enum: []any{formatVersion}})
}

// Want names the version.
func (p versionPart) Want() string { return "the version of this format, 1" }

// formatVersion is the version of the spec that this package reads.
const formatVersion = 1
