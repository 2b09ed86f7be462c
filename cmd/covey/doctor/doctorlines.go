package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/settings"
)

// lineIndex maps the values of a file to its lines.
type lineIndex struct {
	paths  map[string]int // by path, such as hooks.Stop[0].hooks[1].command
	values []placed       // texts, in order
}

// placed is a text in a file.
type placed struct {
	text, path string
	line       int
}

// indexLines reads a JSON or YAML file, or the YAML head of a Markdown file. A file
// that cannot be read has no lines; its findings are shown without them.
func indexLines(path string) *lineIndex {
	index := &lineIndex{paths: map[string]int{}}
	text, _ := settings.ReadPrompt(path)
	before := 0
	switch filepath.Ext(path) {
	case ".json", ".yaml", ".yml":
	case ".md":
		text, _ = settings.SplitHead(text)
		before = 1
	default:
		return index
	}
	if root := yaml.Parse(path, []byte(text)).Root; root != nil {
		index.node("", root, before)
	}
	return index
}

// at returns the line of a path or of its nearest known parent; 0: unknown.
func (x *lineIndex) at(path string) int {
	for path != "" {
		if line := x.paths[path]; line > 0 {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

// of returns the line of the nth value with a text, those below a key before all
// others; 0: unknown.
func (x *lineIndex) of(text, key string, nth int) int {
	var below, others []int
	for _, v := range x.values {
		switch {
		case v.text != text:
		case strings.Contains("."+v.path, "."+key+"["):
			below = append(below, v.line)
		default:
			others = append(others, v.line)
		}
	}
	lines := slices.Concat(below, others)
	if len(lines) == 0 {
		return 0
	}
	return lines[min(nth, len(lines)-1)]
}

// add records the line of a path.
func (x *lineIndex) add(path string, line int) {
	if path != "" && x.paths[path] == 0 {
		x.paths[path] = line
	}
}

// node walks through one node; before is the number of lines before its text in the file.
func (x *lineIndex) node(path string, n *yaml.Node, before int) {
	line := before + n.At.Line
	x.add(path, line)
	if n.Kind == yaml.TextKind {
		x.values = append(x.values, placed{n.Text, path, line})
	}
	for i, item := range n.Items {
		x.node(fmt.Sprintf("%s[%d]", path, i), item, before)
	}
	for _, pair := range n.Pairs {
		below := strings.TrimPrefix(path+"."+pair.Key.Text, ".")
		x.add(below, before+pair.Key.At.Line)
		x.node(below, pair.Value, before)
	}
}
