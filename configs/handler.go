package configs

import (
	"encoding/json"
	"runtime"
	"slices"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// handlerSpec is one hook.
type handlerSpec struct {
	at             *yaml.Node
	kind           schema.Value[string]
	condition      schema.Value[string]
	timeout        schema.Value[float64]
	statusMessage  schema.Value[string]
	once           schema.Value[bool]
	onFailure      schema.Value[string]
	command        schema.Value[string]
	args           schema.List[schema.Value[string]]
	shell          schema.Value[string]
	async          schema.Value[bool]
	asyncRewake    schema.Value[bool]
	rewakeMessage  schema.Value[string]
	rewakeSummary  schema.Value[string]
	mandatory      schema.Value[bool]
	mayAct         schema.Value[bool]
	mode           schema.Value[string]
	windows        schema.Value[string]
	linux          schema.Value[string]
	osx            schema.Value[string]
	cwd            schema.Value[string]
	env            []schema.Entry[schema.Value[string]]
	url            schema.Value[string]
	headers        []schema.Entry[schema.Value[string]]
	allowedEnvVars schema.List[schema.Value[string]]
	prompt         schema.Value[string]
	model          schema.Value[string]

	continueOnBlock schema.Value[bool]
	server          schema.Value[string]
	tool            schema.Value[string]
	input           map[string]json.RawMessage
}

// handlerPart decodes a hook by the keys of its type.
func handlerPart(h *handlerSpec) schema.Part {
	kinds := h.kinds()
	for i, k := range kinds {
		kinds[i].Fields = h.fields(k.Kind, k.Fields)
	}
	return schema.Shared("hook", schema.ObjectByType(&h.at, kinds))
}

// kinds returns the types of hooks with the keys that are specific to each.
func (h *handlerSpec) kinds() []schema.KindFields {
	return []schema.KindFields{
		{Kind: "command", Fields: h.commandFields()}, {Kind: "http", Fields: h.httpFields()}, {Kind: "mcp_tool", Fields: h.toolFields()},
		{Kind: "prompt", Fields: h.promptFields()}, {Kind: "agent", Fields: h.agentFields()},
	}
}

// fields returns the keys of a hook of one type, named as in settings files: those that all
// hooks have, and its own. Keys of other types are included with a message of their own, so
// that they are not reported as misspelled.
func (h *handlerSpec) fields(kind string, own []schema.Field) []schema.Field {
	all := append(h.commonFields(kind), own...)
	for _, other := range hookKeys() {
		for _, key := range other.keys {
			known := slices.ContainsFunc(all, func(f schema.Field) bool { return f.Key == key })
			if !known {
				all = append(all, schema.Field{Key: key, Part: schema.BelongsTo(other.kind),
					Doc: "Belongs to hooks of type " + other.kind + "."})
			}
		}
	}
	return all
}

// commonFields returns the keys that hooks of all types have. kind is the hook's type.
func (h *handlerSpec) commonFields(kind string) []schema.Field {
	return []schema.Field{
		{Key: "type", Need: true, Part: schema.TypeWord(&h.kind, kind, "command", "http", "mcp_tool", "prompt", "agent"),
			Doc: "The kind of hook: command runs a program, http posts to a URL, mcp_tool calls a tool, prompt asks a " +
				"model, agent asks an agent with tools."},
		{Key: "if", Part: schema.Text(&h.condition),
			Doc: "A permission rule such as \"Bash(git *)\" that the tool call must match."},
		{Key: "timeout", Part: schema.Amount(&h.timeout),
			Doc: "Seconds that the hook may take. Default: that of the event, mostly 600."},
		{Key: "statusMessage", Part: schema.Text(&h.statusMessage), Doc: "What is shown while the hook runs."},
		{Key: "once", Part: schema.Truth(&h.once), Doc: "Run the hook only once."},
		{Key: "onFailure", Part: schema.OneOf(&h.onFailure, "continue", "block"),
			Doc: "What happens when the hook fails. Default: continue."},
		{Key: "mode", Part: schema.OneOf(&h.mode, "observe"),
			Doc: "observe: record what the hook decides, and do not act on it."},
		{Key: "mandatory", Part: schema.Truth(&h.mandatory),
			Doc: "On PreToolUse and PermissionRequest: refuse the spec if some member's agent makes the calls " +
				"before the hook can refuse them. Default: false."},
	}
}

// keysOfKind holds the keys that are specific to hooks of one type.
type keysOfKind struct {
	kind string
	keys []string
}

// hookKeys lists the keys of all types that this version supports.
func hookKeys() []keysOfKind {
	var all []keysOfKind
	var h handlerSpec
	for _, k := range h.kinds() {
		of := keysOfKind{kind: k.Kind}
		for _, f := range k.Fields {
			of.keys = append(of.keys, f.Key)
		}
		all = append(all, of)
	}
	return all
}

// commandFields returns the keys of hooks of type command.
func (h *handlerSpec) commandFields() []schema.Field {
	return []schema.Field{
		{Key: "command", Need: true, Part: schema.Text(&h.command),
			Doc: "The command line, or with args the program."},
		{Key: "args", Part: schema.Args(&h.args), Doc: "Arguments; with them no shell is used."},
		{Key: "shell", Part: schema.OneOf(&h.shell, "bash", "powershell"), Doc: "The shell. Default: sh."},
		{Key: "windows", Part: schema.Text(&h.windows), Doc: "The command on Windows, instead of command."},
		{Key: "linux", Part: schema.Text(&h.linux), Doc: "The command on Linux, instead of command."},
		{Key: "osx", Part: schema.Text(&h.osx), Doc: "The command on macOS, instead of command."},
		{Key: "cwd", Part: schema.Text(&h.cwd),
			Doc: "The folder that the command runs in, relative to the workspace. Default: the member's."},
		{Key: "env", Part: schema.TextsByKey(&h.env, "variables"), Doc: "Variables for the command."},
		{Key: "may_act", Part: schema.Truth(&h.mayAct),
			Doc: "true: `covey` below the command may act for the member, under the member's rules and PreToolUse hooks. " +
				"Not on hooks that decide about calls. Default: false, it may only read."},
		{Key: "async", Part: schema.Truth(&h.async), Doc: "Run the hook in the background; it decides nothing then."},
		{Key: "asyncRewake", Part: schema.Truth(&h.asyncRewake),
			Doc: "Like async, but exit 2 wakes the member with what the hook wrote."},
		{Key: "rewakeMessage", Part: schema.Text(&h.rewakeMessage),
			Doc: "With asyncRewake: what the member reads before what the hook wrote."},
		{Key: "rewakeSummary", Part: schema.Text(&h.rewakeSummary),
			Doc: "With asyncRewake: one line about it for people."},
	}
}

// httpFields returns the keys of hooks of type http.
func (h *handlerSpec) httpFields() []schema.Field {
	return []schema.Field{
		{Key: "url", Need: true, Part: schema.Text(&h.url),
			Doc: "Where the hook's input is posted to. Addresses in private networks must be named in " +
				"allowedHttpHookUrls of a settings file."},
		{Key: "headers", Part: schema.TextsByKey(&h.headers, "headers"),
			Doc: "Headers of the request. $NAME stands for a variable of allowedEnvVars."},
		{Key: "allowedEnvVars", Part: schema.Texts(&h.allowedEnvVars),
			Doc: "Variables of covey's environment that headers may name."},
	}
}

// handler returns the hook in the form of package hooks.
func (h *handlerSpec) handler() hooks.Handler {
	out := hooks.Handler{
		Type:           h.kind.V,
		If:             h.condition.V,
		Timeout:        h.timeout.V,
		StatusMessage:  h.statusMessage.V,
		Once:           h.once.V,
		OnFailure:      h.onFailure.V,
		Command:        settings.PickCommand(runtime.GOOS, h.command.V, h.windows.V, h.linux.V, h.osx.V),
		Mode:           h.mode.V,
		Cwd:            h.cwd.V,
		Args:           schema.Arguments(h.args),
		Shell:          h.shell.V,
		Async:          h.async.V,
		AsyncRewake:    h.asyncRewake.V,
		RewakeMessage:  h.rewakeMessage.V,
		RewakeSummary:  h.rewakeSummary.V,
		Mandatory:      h.mandatory.V,
		MayAct:         h.mayAct.V,
		URL:            h.url.V,
		AllowedEnvVars: schema.Words(h.allowedEnvVars),
		Prompt:         h.prompt.V,
		Model:          h.model.V,
		Server:         h.server.V,
		Tool:           h.tool.V,
		Input:          h.input,

		ContinueOnBlock: h.continueOnBlock.V,
	}
	out.Headers, out.Env = textsByName(h.headers), textsByName(h.env)
	return out
}

// textsByName turns entries into a map; nil if there are none.
func textsByName(entries []schema.Entry[schema.Value[string]]) map[string]string {
	if len(entries) == 0 {
		return nil
	}
	out := make(map[string]string, len(entries))
	for _, e := range entries {
		out[e.Name.Text] = e.V.V
	}
	return out
}

// promptFields returns the keys of hooks of type prompt.
func (h *handlerSpec) promptFields() []schema.Field {
	return append(h.agentFields(), schema.Field{Key: "continueOnBlock", Part: schema.Truth(&h.continueOnBlock),
		Doc: "When the model says no: true lets the agent continue with the reason. Default: false."})
}

// agentFields returns the keys of hooks of type agent. continueOnBlock is not one of them:
// hosts have it for prompt hooks only (HOOKS.md section 3).
func (h *handlerSpec) agentFields() []schema.Field {
	return []schema.Field{
		{Key: "prompt", Need: true, Part: schema.Text(&h.prompt),
			Doc: "What is to be judged. $ARGUMENTS stands for the hook's input."},
		{Key: "model", Part: schema.Text(&h.model),
			Doc: "A name under models. Default: the member's own model, or the lead's."},
	}
}

// toolFields returns the keys of hooks of type mcp_tool.
func (h *handlerSpec) toolFields() []schema.Field {
	return []schema.Field{
		{Key: "server", Need: true, Part: schema.Text(&h.server),
			Doc: "covey for the team's own tools, or plugin:PLUGIN:SERVER."},
		{Key: "tool", Need: true, Part: schema.Text(&h.tool), Doc: "The tool to call."},
		{Key: "input", Part: inputPart{&h.input},
			Doc: "The tool's input. ${path} in a text stands for a field of the hook's input."},
	}
}

// inputPart decodes a mapping from names to values of any kind.
type inputPart struct{ to *map[string]json.RawMessage }

// Want returns no more than the kind, because all values are allowed.
func (p inputPart) Want() string { return "a mapping" }

// Decode keeps the values as JSON.
func (p inputPart) Decode(d *schema.Decoder, key, n *yaml.Node) {
	if n.Kind != yaml.Mapping {
		d.Wrong(key, n, p.Want())
		return
	}
	values := map[string]json.RawMessage{}
	for _, pair := range d.Unique(n) {
		raw, err := json.Marshal(pair.Value.Plain())
		if err != nil {
			d.Fail(pair.Value.At, "%s cannot be written as JSON: %v", schema.NameOf(pair.Key), err)
			continue
		}
		values[pair.Key.Text] = raw
	}
	*p.to = values
}

// Schema allows any names.
func (p inputPart) Schema() *schema.JSON { return schema.OpenMapping() }
