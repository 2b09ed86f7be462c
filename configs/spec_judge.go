package configs

import (
	"encoding/json"

	"github.com/coveyteam/covey/configs/schema"
	"github.com/coveyteam/covey/configs/yaml"
)

// promptFields are the keys of hooks of type prompt, agentFields those of agent.
func (h *handlerSpec) promptFields() []schema.Field {
	return append(h.agentFields(), schema.Field{Key: "continueOnBlock", Part: schema.Truth(&h.continueOnBlock),
		Doc: "When the model says no: true lets the agent go on with the reason. Default: false."})
}

// agentFields are those of a hook that may look around before it judges. There is
// no continueOnBlock: hosts have it for prompt hooks alone (HOOKS.md section 3).
func (h *handlerSpec) agentFields() []schema.Field {
	return []schema.Field{
		{Key: "prompt", Need: true, Part: schema.Text(&h.prompt),
			Doc: "What is to be judged. $ARGUMENTS stands for the hook's input."},
		{Key: "model", Part: schema.Text(&h.model),
			Doc: "A name under models. Default: the member's own model, or the lead's."},
	}
}

// toolFields are the keys of hooks of type mcp_tool.
func (h *handlerSpec) toolFields() []schema.Field {
	return []schema.Field{
		{Key: "server", Need: true, Part: schema.Text(&h.server),
			Doc: "covey for the team's own tools, or plugin:PLUGIN:SERVER."},
		{Key: "tool", Need: true, Part: schema.Text(&h.tool), Doc: "The tool to call."},
		{Key: "input", Part: inputPart{&h.input},
			Doc: "The tool's input. ${path} in a text stands for a field of the hook's input."},
	}
}

// inputPart takes a mapping from names to values of any kind.
type inputPart struct{ to *map[string]json.RawMessage }

// Want says that the values are free.
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
