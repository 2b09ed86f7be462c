package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
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

// maxIndexed is the size in bytes of the largest file that is indexed. Larger
// settings and specs are rejected anyway.
const maxIndexed = 1 << 20

// indexLines reads a JSON or YAML file, or the YAML head of a Markdown file. A file
// that cannot be read has no lines; its findings are shown without them.
func indexLines(path string) *lineIndex {
	index := &lineIndex{paths: map[string]int{}}
	data, err := os.ReadFile(path)
	if err != nil || len(data) > maxIndexed {
		return index
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch filepath.Ext(path) {
	case ".json":
		jsonLines{index, data, json.NewDecoder(bytes.NewReader(data))}.value("")
	case ".yaml", ".yml":
		index.yaml(data, 0)
	case ".md":
		head := strings.TrimPrefix(string(data), "---\n")
		if end := strings.Index(head, "\n---"); end >= 0 && len(head) < len(data) {
			index.yaml([]byte(head[:end+1]), 1)
		}
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

// addText records the line of a text.
func (x *lineIndex) addText(path, text string, line int) {
	x.values = append(x.values, placed{text, path, line})
}

// jsonLines walks through JSON.
type jsonLines struct {
	*lineIndex
	data []byte
	dec  *json.Decoder
}

// line returns the line that the decoder is on.
func (j jsonLines) line() int {
	return 1 + bytes.Count(j.data[:min(int(j.dec.InputOffset()), len(j.data))], []byte("\n"))
}

// value walks through one value and reports whether that worked.
func (j jsonLines) value(path string) bool {
	token, err := j.dec.Token()
	if err != nil {
		return false
	}
	j.add(path, j.line())
	switch token := token.(type) {
	case string:
		j.addText(path, token, j.line())
	case json.Delim:
		if token == '[' {
			return j.list(path)
		}
		return j.object(path)
	}
	return true
}

// list walks through the rest of a list.
func (j jsonLines) list(path string) bool {
	for i := 0; j.dec.More(); i++ {
		if !j.value(fmt.Sprintf("%s[%d]", path, i)) {
			return false
		}
	}
	_, err := j.dec.Token()
	return err == nil
}

// object walks through the rest of an object.
func (j jsonLines) object(path string) bool {
	for j.dec.More() {
		key, err := j.dec.Token()
		if err != nil {
			return false
		}
		below := below(path, fmt.Sprint(key))
		j.add(below, j.line())
		if !j.value(below) {
			return false
		}
	}
	_, err := j.dec.Token()
	return err == nil
}

// below returns the path of a key.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// yaml walks through YAML; before is the number of lines before it in the file.
func (x *lineIndex) yaml(data []byte, before int) {
	// A panic in the YAML library costs only the lines.
	defer func() { _ = recover() }()
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return
	}
	for _, doc := range file.Docs {
		x.node("", doc.Body, before)
	}
}

// node walks through one node.
func (x *lineIndex) node(path string, n ast.Node, before int) {
	if n == nil || n.GetToken() == nil {
		return
	}
	// Tokens count from 1 within the YAML text, which may be the head of another file.
	line := before + n.GetToken().Position.Line
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			x.node(path, pair, before)
		}
		return
	case *ast.MappingValueNode:
		key := n.Key.String()
		if text, ok := n.Key.(*ast.StringNode); ok {
			key = text.Value
		}
		x.add(below(path, key), before+n.Key.GetToken().Position.Line)
		x.node(below(path, key), n.Value, before)
		return
	case *ast.SequenceNode:
		for i, item := range n.Values {
			x.node(fmt.Sprintf("%s[%d]", path, i), item, before)
		}
	// An anchor and a tag stand in front of a value and have no path of their own.
	case *ast.AnchorNode:
		x.node(path, n.Value, before)
	case *ast.TagNode:
		x.node(path, n.Value, before)
	case *ast.StringNode:
		x.addText(path, n.Value, line)
	case *ast.LiteralNode:
		x.addText(path, n.Value.Value, line)
	}
	x.add(path, line)
}
