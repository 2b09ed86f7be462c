package yaml

import "strings"

// CommandLine takes a program with its arguments, or only arguments: a list that is not empty.
// example is such a list as YAML, for messages.
func CommandLine(to *List[Value[string]], example string) Part {
	return commandPart{Part: Args(to), to: to, example: example}
}

// commandPart decodes a list that is not empty.
type commandPart struct {
	Part
	to      *List[Value[string]]
	example string
}

// Decode suggests a list for a command line that was written as one text, if its words need
// no quotes in a list.
func (p commandPart) Decode(d *Decoder, key, n *Node) {
	p.to.At = n
	switch {
	case n.Kind == TextKind:
		list := p.example
		if words := strings.Fields(Clip(n.Text)); len(words) > 0 && !strings.ContainsAny(n.Text, "\"'\\,[]{}#:&*|<>") {
			list = "[" + strings.Join(words, ", ") + "]"
		}
		d.Fail(n.At, "%s must be %s, not %s; write %s", NameOf(key), p.Want(), n.Describe(), list)
	case n.Kind == ListKind && len(n.Items) == 0:
		d.Fail(n.At, "%s is empty; write a list such as %s, or remove it", NameOf(key), p.example)
	case n.Kind != ListKind || d.CheckCount(key, n, len(n.Items)):
		p.Part.Decode(d, key, n)
	}
}

// Schema requires at least one entry.
func (p commandPart) Schema() *JSON {
	out := p.Part.Schema()
	out.MinItems = new(1)
	return out
}
