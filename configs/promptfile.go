package configs

import (
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/rules"
	"github.com/coveyteam/covey/hooks/settings"
)

// prompt is the content of a prompt file, or why it cannot be used.
type prompt struct{ data, fault string }

// promptFile sets a member's instructions from a file. In an agent file, as Claude Code
// keeps them in .claude/agents, the body is the instructions; the description and tools of
// its head apply if the member gives none.
func (r *resolver) promptFile(m *Member, v yaml.Value[string]) {
	m.PromptFile = r.Path(v, "prompt file")
	p, known := r.prompts[m.PromptFile]
	if !known {
		p.data, p.fault = settings.ReadPrompt(m.PromptFile)
		r.prompts[m.PromptFile] = p
	}
	data, message := p.data, p.fault
	if message != "" {
		// path has already reported a file that cannot be opened.
		if !r.Said(v.At.At) {
			r.Fail(v.At.At, "the prompt file %s %s", yaml.Quote(v.V), message)
		}
		return
	}
	head, body := settings.SplitHead(data)
	m.Instructions = strings.TrimSpace(body)
	if m.Instructions == "" {
		r.Fail(v.At.At, "the prompt file %s holds no instructions; write some, or remove prompt_file", yaml.Quote(v.V))
	}
	if head == "" {
		return
	}
	root, ok := yaml.ParseHead(head)
	if !ok {
		r.Warn(v.At.At, "the head of the prompt file %s is not YAML that covey can read; "+
			"its description and tools are ignored", yaml.Quote(v.V))
		return
	}
	r.headTools(v, root)
	if m.Description == "" {
		m.Description = root.TextOf("description")
	}
	if m.Tools == nil {
		m.Tools = settings.HeadTools(root.Lookup("tools"))
	}
}

// headTools checks the tools that the head of a prompt file names. A misspelled one is a
// mistake, as in the spec.
func (r *resolver) headTools(file yaml.Value[string], root *yaml.Node) {
	lists := []*yaml.Node{root.Lookup("tools"), root.Lookup("disallowedTools")}
	if p := root.Lookup("permissions"); p != nil && p.Kind == yaml.MappingKind {
		lists = append(lists, p.Lookup("allow"), p.Lookup("ask"), p.Lookup("deny"))
		r.Warn(file.At.At, "permissions in the head of the prompt file %s have no effect; write them in the spec",
			yaml.Quote(file.V))
	}
	for _, list := range lists {
		for i, name := range settings.HeadTools(list) {
			rule, err := rules.Parse(name)
			if err != nil {
				continue
			}
			known, near := settings.KnownTool(rule.Tool)
			if known || near == "" {
				continue
			}
			at := list.At
			if list.Kind == yaml.ListKind {
				at = list.Items[i].At
			}
			// The head begins on the second line of the file.
			r.Fail(file.At.At, "%s:%d:%d: there is no tool %s; write %s", file.V, at.Line+1, at.Col,
				yaml.Quote(rule.Tool), near)
		}
	}
}
