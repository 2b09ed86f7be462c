package recordings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// rewrite replaces texts in the events of an answer by change, and leaves all other bytes as they
// are. A stream has its texts in pieces, so the pieces of one text are joined first: what is replaced
// stands in the first of its pieces then.
func rewrite(events [][]byte, change func(string) string) [][]byte {
	pieces := map[string][]*piece{} // of each text, in order
	var order []string
	found := make([][]*piece, len(events))
	for i, event := range events {
		found[i] = piecesOf(event)
		for _, p := range found[i] {
			if !inPieces().MatchString(p.of) {
				p.of += fmt.Sprint("@", i, ",", p.from)
			}
			if pieces[p.of] == nil {
				order = append(order, p.of)
			}
			pieces[p.of] = append(pieces[p.of], p)
		}
	}
	if len(order) == 0 { // no JSON, such as a page
		out := make([][]byte, len(events))
		for i, event := range events {
			out[i] = []byte(change(string(event)))
		}
		return out
	}
	for _, of := range order {
		changePieces(pieces[of], change)
	}
	out := make([][]byte, len(events))
	for i, event := range events {
		out[i] = replacePieces(event, found[i])
	}
	return out
}

// inPieces matches the names of texts that APIs send in pieces.
var inPieces = texts.Pattern(`(?:^|\.)(?:text|partial_json|delta|content|arguments|thinking|reasoning_content|input)#`)

// piece is a string in the JSON of an event.
type piece struct {
	of       string // names the text that it is a piece of
	from, to int    // its bytes in the event, with the quotes
	text     string
	changed  bool
}

// changePieces changes a text in its pieces.
func changePieces(list []*piece, change func(string) string) {
	var whole strings.Builder
	for _, p := range list {
		whole.WriteString(p.text)
	}
	before := whole.String()
	after := change(before)
	if before == after {
		return
	}
	// What both have in common at their ends stays in its pieces.
	start, end := 0, 0
	for start < len(before) && start < len(after) && before[start] == after[start] {
		start++
	}
	for end < len(before)-start && end < len(after)-start && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	middle, at := after[start:len(after)-end], 0
	for _, p := range list {
		from, to := at, at+len(p.text)
		at = to
		cutFrom, cutTo := max(from, start), min(to, len(before)-end)
		isFirst := from <= start && (start < to || start == len(before) && to == start)
		if cutFrom >= cutTo && !isFirst {
			continue
		}
		cutTo = max(cutFrom, cutTo)
		text := p.text[:cutFrom-from]
		if isFirst {
			text += middle
			middle = ""
		}
		p.text, p.changed = text+p.text[cutTo-from:], true
	}
}

// replacePieces returns an event with its changed pieces.
func replacePieces(event []byte, list []*piece) []byte {
	var out []byte
	done := 0
	for _, p := range list {
		if p.changed {
			out = append(append(out, event[done:p.from]...), texts.Encode(p.text)...)
			done = p.to
		}
	}
	if done == 0 {
		return event
	}
	return append(out, event[done:]...)
}

// piecesOf returns the strings in an event: in its lines of data, or in all of it if it is JSON.
func piecesOf(event []byte) []*piece {
	if trimmed := bytes.TrimSpace(event); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return stringsIn(event, 0)
	}
	var list []*piece
	at := 0
	for line := range bytes.Lines(event) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			list = append(list, stringsIn(data, at+len("data:"))...)
		}
		at += len(line)
	}
	return list
}

// stringsIn returns the strings that are values in JSON; base is added to their places.
//
// The name of a text is the path of its keys, with the numbers by which APIs tell the parts of an
// answer apart.
func stringsIn(data []byte, base int) []*piece {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var list []*piece
	var open []level
	var parts []string
	for {
		before := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			break
		}
		if delim, ok := token.(json.Delim); ok && (delim == '{' || delim == '[') {
			open = append(open, level{isList: delim == '['})
			continue
		} else if ok {
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			continue
		}
		at := &open[len(open)-1]
		text, isText := token.(string)
		switch number, isNumber := token.(json.Number); {
		case isText && !at.isList && at.key == "":
			at.key = text
			continue
		case isText:
			from := before + bytes.IndexByte(data[before:], '"')
			list = append(list, &piece{of: pathOf(open), from: base + from, to: base + int(d.InputOffset()), text: text})
			if at.key == "item_id" {
				parts = append(parts, text)
			}
		case isNumber && strings.HasSuffix(at.key, "index"):
			parts = append(parts, number.String())
		}
		at.key = "" // the value is over
	}
	for _, p := range list {
		p.of += "#" + strings.Join(parts, ",")
	}
	return list
}

// level is an object or a list in which a value stands.
type level struct {
	isList bool
	key    string // of the value that comes; empty: the key comes, or it is a list
}

// pathOf returns the keys that lead to a value.
func pathOf(open []level) string {
	keys := make([]string, len(open))
	for i, l := range open {
		keys[i] = l.key
	}
	return strings.Join(keys, ".")
}
