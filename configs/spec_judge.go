package configs

import (
	"encoding/json"

	"github.com/coveyteam/covey/configs/yaml"
)

// promptFields are the keys of hooks of type prompt, agentFields those of agent.
func (h *handlerSpec) promptFields() []field {
	return append(h.agentFields(), field{key: "continueOnBlock", part: truth(&h.continueOnBlock),
		doc: "When the model says no: true lets the agent go on with the reason. Default: false."})
}

// agentFields are those of a hook that may look around before it judges. There is
// no continueOnBlock: hosts have it for prompt hooks alone (HOOKS.md section 3).
func (h *handlerSpec) agentFields() []field {
	return []field{
		{key: "prompt", need: true, part: text(&h.prompt),
			doc: "What is to be judged. $ARGUMENTS stands for the hook's input."},
		{key: "model", part: text(&h.model),
			doc: "A name under models. Default: the member's own model, or the lead's."},
	}
}

// toolFields are the keys of hooks of type mcp_tool.
func (h *handlerSpec) toolFields() []field {
	return []field{
		{key: "server", need: true, part: text(&h.server),
			doc: "covey for the team's own tools, or plugin:PLUGIN:SERVER."},
		{key: "tool", need: true, part: text(&h.tool), doc: "The tool to call."},
		{key: "input", part: inputPart{&h.input},
			doc: "The tool's input. ${path} in a text stands for a field of the hook's input."},
	}
}

// inputPart takes a mapping from names to values of any kind.
type inputPart struct{ to *map[string]json.RawMessage }

// want says that the values are free.
func (p inputPart) want() string { return "a mapping" }

// decode keeps the values as JSON.
func (p inputPart) decode(d *decoder, key, n *yaml.Node) {
	if n.Kind != yaml.Mapping {
		d.wrong(key, n, p.want())
		return
	}
	values := map[string]json.RawMessage{}
	for _, pair := range d.unique(n) {
		raw, err := json.Marshal(pair.Value.Plain())
		if err != nil {
			d.fail(pair.Value.At, "%s cannot be written as JSON: %v", nameOf(pair.Key), err)
			continue
		}
		values[pair.Key.Text] = raw
	}
	*p.to = values
}

// schema allows any names.
func (p inputPart) schema() *schema { return openMapping() }
