package configs

import (
	"encoding/json"
	"runtime"
	"slices"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/hooks/settings"
)

// handlerSpec is one hook.
type handlerSpec struct {
	at             *yaml.Node
	kind           value[string]
	condition      value[string]
	timeout        value[float64]
	statusMessage  value[string]
	once           value[bool]
	onFailure      value[string]
	command        value[string]
	args           list[value[string]]
	shell          value[string]
	async          value[bool]
	asyncRewake    value[bool]
	rewakeMessage  value[string]
	rewakeSummary  value[string]
	mandatory      value[bool]
	mayAct         value[bool]
	mode           value[string]
	windows        value[string]
	linux          value[string]
	osx            value[string]
	cwd            value[string]
	env            []entry[value[string]]
	url            value[string]
	headers        []entry[value[string]]
	allowedEnvVars list[value[string]]
	prompt         value[string]
	model          value[string]

	continueOnBlock value[bool]
	server          value[string]
	tool            value[string]
	input           map[string]json.RawMessage
}

// handlerPart takes a hook, by the keys of its type.
func handlerPart(h *handlerSpec) part {
	kinds := h.kinds()
	for i, k := range kinds {
		kinds[i].fields = h.fields(k.kind, k.fields)
	}
	return shared("hook", objectByType(&h.at, kinds))
}

// kinds are the types of hooks with the keys that each has for itself.
func (h *handlerSpec) kinds() []kindFields {
	return []kindFields{
		{"command", h.commandFields()}, {"http", h.httpFields()}, {"mcp_tool", h.toolFields()},
		{"prompt", h.promptFields()}, {"agent", h.agentFields()},
	}
}

// fields are the keys of a hook of one type, named as in settings files: those
// that all hooks have, and its own. Keys of other types are known, so that nobody
// is told they were misspelt.
func (h *handlerSpec) fields(kind string, own []field) []field {
	all := append(h.commonFields(kind), own...)
	for _, other := range hookKeys() {
		for _, key := range other.keys {
			known := slices.ContainsFunc(all, func(f field) bool { return f.key == key })
			if !known {
				all = append(all, field{key: key, part: belongsTo(other.kind),
					doc: "Belongs to hooks of type " + other.kind + "."})
			}
		}
	}
	return all
}

// commonFields are the keys that hooks of all types have; kind is the type that
// stands beside them.
func (h *handlerSpec) commonFields(kind string) []field {
	return []field{
		{key: "type", need: true, part: typeWord(&h.kind, kind, "command", "http", "mcp_tool", "prompt", "agent"),
			doc: "The kind of hook: command runs a program, http posts to a URL, mcp_tool calls a tool, prompt asks a " +
				"model, agent lets one find out."},
		{key: "if", part: text(&h.condition),
			doc: "A permission rule such as \"Bash(git *)\" that the tool call must match."},
		{key: "timeout", part: amount(&h.timeout),
			doc: "Seconds that the hook may take. Default: that of the event, mostly 600."},
		{key: "statusMessage", part: text(&h.statusMessage), doc: "What is shown while the hook runs."},
		{key: "once", part: truth(&h.once), doc: "Run the hook once only."},
		{key: "onFailure", part: oneOf(&h.onFailure, "continue", "block"),
			doc: "What a hook that fails means. Default: continue."},
		{key: "mode", part: oneOf(&h.mode, "observe"),
			doc: "observe: what the hook decides is noted and not acted on."},
		{key: "mandatory", part: truth(&h.mandatory),
			doc: "On PreToolUse and PermissionRequest: refuse the spec if some member's agent makes the calls " +
				"before the hook can refuse them. Default: false."},
	}
}

// keysOfKind are the keys that hooks of one type have for themselves.
type keysOfKind struct {
	kind string
	keys []string
}

// hookKeys lists the keys of all types that this version runs.
func hookKeys() []keysOfKind {
	var all []keysOfKind
	var h handlerSpec
	for _, k := range h.kinds() {
		of := keysOfKind{kind: k.kind}
		for _, f := range k.fields {
			of.keys = append(of.keys, f.key)
		}
		all = append(all, of)
	}
	return all
}

// commandFields are the keys of hooks of type command.
func (h *handlerSpec) commandFields() []field {
	return []field{
		{key: "command", need: true, part: text(&h.command),
			doc: "The command line, or with args the program."},
		{key: "args", part: argsPart(&h.args), doc: "Arguments; with them no shell is used."},
		{key: "shell", part: oneOf(&h.shell, "bash", "powershell"), doc: "The shell. Default: sh."},
		{key: "windows", part: text(&h.windows), doc: "The command on Windows, in place of command."},
		{key: "linux", part: text(&h.linux), doc: "The command on Linux, in place of command."},
		{key: "osx", part: text(&h.osx), doc: "The command on macOS, in place of command."},
		{key: "cwd", part: text(&h.cwd),
			doc: "The folder that the command runs in, relative to the workspace. Default: the member's."},
		{key: "env", part: textsByKey(&h.env, "variables"), doc: "Variables for the command."},
		{key: "may_act", part: truth(&h.mayAct),
			doc: "true: `covey` below the command may act for the member, under the member's rules and PreToolUse hooks. " +
				"Not on hooks that decide about calls. Default: false, it may only look."},
		{key: "async", part: truth(&h.async), doc: "Do not wait for the hook; it has no say then."},
		{key: "asyncRewake", part: truth(&h.asyncRewake),
			doc: "Like async, but exit 2 wakes the member with what the hook wrote."},
		{key: "rewakeMessage", part: text(&h.rewakeMessage),
			doc: "With asyncRewake: what the member reads before what the hook wrote."},
		{key: "rewakeSummary", part: text(&h.rewakeSummary),
			doc: "With asyncRewake: one line about it for people."},
	}
}

// httpFields are the keys of hooks of type http.
func (h *handlerSpec) httpFields() []field {
	return []field{
		{key: "url", need: true, part: text(&h.url),
			doc: "Where the hook's input is posted to. Addresses in private networks must be named in " +
				"allowedHttpHookUrls of a settings file."},
		{key: "headers", part: textsByKey(&h.headers, "headers"),
			doc: "Headers of the request. $NAME stands for a variable of allowedEnvVars."},
		{key: "allowedEnvVars", part: texts(&h.allowedEnvVars),
			doc: "Variables of covey's environment that headers may name."},
	}
}

// handler is the hook as package hooks knows it.
func (h *handlerSpec) handler() hooks.Handler {
	out := hooks.Handler{
		Type:           h.kind.v,
		If:             h.condition.v,
		Timeout:        h.timeout.v,
		StatusMessage:  h.statusMessage.v,
		Once:           h.once.v,
		OnFailure:      h.onFailure.v,
		Command:        settings.PickCommand(runtime.GOOS, h.command.v, h.windows.v, h.linux.v, h.osx.v),
		Mode:           h.mode.v,
		Cwd:            h.cwd.v,
		Args:           argWords(h.args),
		Shell:          h.shell.v,
		Async:          h.async.v,
		AsyncRewake:    h.asyncRewake.v,
		RewakeMessage:  h.rewakeMessage.v,
		RewakeSummary:  h.rewakeSummary.v,
		Mandatory:      h.mandatory.v,
		MayAct:         h.mayAct.v,
		URL:            h.url.v,
		AllowedEnvVars: words(h.allowedEnvVars),
		Prompt:         h.prompt.v,
		Model:          h.model.v,
		Server:         h.server.v,
		Tool:           h.tool.v,
		Input:          h.input,

		ContinueOnBlock: h.continueOnBlock.v,
	}
	out.Headers, out.Env = textsByName(h.headers), textsByName(h.env)
	return out
}

// textsByName makes a map of entries; nil if there are none.
func textsByName(entries []entry[value[string]]) map[string]string {
	if len(entries) == 0 {
		return nil
	}
	out := make(map[string]string, len(entries))
	for _, e := range entries {
		out[e.name.Text] = e.v.v
	}
	return out
}

// argWords keeps empty arguments, which words drops.
func argWords(args list[value[string]]) []string {
	var out []string
	if args.given() {
		out = []string{}
	}
	for _, arg := range args.items {
		out = append(out, arg.v)
	}
	return out
}
