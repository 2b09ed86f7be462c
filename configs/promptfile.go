package configs

import (
	"bytes"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/rules"
)

// maxPrompt is the size of the largest prompt file, in bytes: more than any
// model takes as instructions.
const maxPrompt = 1 << 20

// prompt is the content of a prompt file, or what is wrong with it.
type prompt struct{ data, fault string }

// promptFile fills a member's instructions from a file. In an agent file, as
// Claude Code keeps them in .claude/agents, the body is the instructions, and
// the description and tools in its head count where the member gives none.
func (r *resolver) promptFile(m *Member, v value[string]) {
	m.PromptFile = r.path(v, "prompt file")
	p, known := r.prompts[m.PromptFile]
	if !known {
		p.data, p.fault = readPrompt(m.PromptFile)
		r.prompts[m.PromptFile] = p
	}
	data, message := p.data, p.fault
	if message != "" {
		// A file that could not be opened has been reported by path.
		if !r.said(v.at.At) {
			r.fail(v.at.At, "the prompt file %s %s", yaml.Quote(v.v), message)
		}
		return
	}
	head, body := splitHead(data)
	m.Instructions = strings.TrimSpace(body)
	if m.Instructions == "" {
		r.fail(v.at.At, "the prompt file %s holds no instructions; write some, or remove prompt_file", yaml.Quote(v.v))
	}
	if head == "" {
		return
	}
	root, ok := yaml.ParseHead(head)
	if !ok {
		r.warn(v.at.At, "the head of the prompt file %s is not YAML that covey reads; "+
			"its description and tools do not count", yaml.Quote(v.v))
		return
	}
	r.headTools(v, root)
	description, tools := readHead(root)
	if m.Description == "" {
		m.Description = description
	}
	if m.Tools == nil {
		m.Tools = tools
	}
}

// readPrompt reads a prompt file; the message completes "the prompt file …".
func readPrompt(path string) (data, message string) {
	f, err := os.Open(path)
	if err != nil {
		return "", "cannot be read (" + cause(err) + "); correct the path"
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxPrompt+1))
	switch {
	case err != nil:
		return "", "cannot be read (" + cause(err) + "); correct the path"
	case len(raw) > maxPrompt:
		return "", "is larger than 1 MiB; shorten it"
	case !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0:
		return "", "is not UTF-8 text; save it as UTF-8"
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(raw), "\ufeff"), "\r\n", "\n"), ""
}

// splitHead parts a file into the YAML between two lines of three dashes at
// its very top and the rest.
func splitHead(data string) (head, body string) {
	rest, found := strings.CutPrefix(data, "---\n")
	if !found {
		return "", data
	}
	if strings.HasPrefix(rest, "---\n") {
		return "", rest[len("---\n"):]
	}
	head, body, found = strings.Cut(rest, "\n---\n")
	if !found {
		if head, found = strings.CutSuffix(rest, "\n---"); !found {
			return "", data
		}
	}
	return head, body
}

// headTools looks at the tools that the head of a prompt file names. One that is
// misspelt is a mistake, as in the spec.
func (r *resolver) headTools(file value[string], root *yaml.Node) {
	lists := []*yaml.Node{root.Lookup("tools"), root.Lookup("disallowedTools")}
	if p := root.Lookup("permissions"); p != nil && p.Kind == yaml.Mapping {
		lists = append(lists, p.Lookup("allow"), p.Lookup("ask"), p.Lookup("deny"))
		r.warn(file.at.At, "permissions in the head of the prompt file %s have no effect; write them in the spec",
			yaml.Quote(file.v))
	}
	for _, list := range lists {
		for i, name := range headTools(list) {
			rule, err := rules.Parse(name)
			if err != nil {
				continue
			}
			known, near := rules.KnownTool(rule.Tool)
			if known || near == "" {
				continue
			}
			at := list.At
			if list.Kind == yaml.List {
				at = list.Items[i].At
			}
			// The head begins in the file's second line.
			r.fail(file.at.At, "%s:%d:%d: there is no tool %s; write %s", file.v, at.Line+1, at.Col,
				yaml.Quote(rule.Tool), near)
		}
	}
}

// readHead takes description and tools out of an agent file's head. Such
// files are written for other programs, which are lenient.
func readHead(root *yaml.Node) (description string, tools []string) {
	if d := root.Lookup("description"); d != nil && d.Kind == yaml.Text {
		description = strings.TrimSpace(d.Text)
	}
	return description, headTools(root.Lookup("tools"))
}

// headTools reads the two forms of a tools list: `Read, Edit` and a YAML list.
func headTools(n *yaml.Node) []string {
	var tools []string
	switch {
	case n == nil:
	case n.Kind == yaml.Text:
		for name := range strings.SplitSeq(n.Text, ",") {
			tools = append(tools, strings.TrimSpace(name))
		}
	case n.Kind == yaml.List:
		for _, item := range n.Items {
			tools = append(tools, strings.TrimSpace(item.Text))
		}
	}
	// "All tools" is written as a star or by leaving the list out.
	if len(tools) == 1 && (tools[0] == "*" || tools[0] == "") {
		return nil
	}
	return tools
}
