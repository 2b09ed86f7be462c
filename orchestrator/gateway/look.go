package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"sync/atomic"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// look reads what it has to know of the body of a request while the body passes.
type look struct {
	body   io.ReadCloser
	door   *Door
	before []byte // read already, and not passed on so far
	tail   []byte
	size   atomic.Int64
	tools  atomic.Bool
	names  names
}

// errTwice is the error of a request whose host may ask another model than the one that was looked at.
var errTwice error = &agent.APIError{Type: "invalid_request", Message: "the request names its model twice, so the gateway of covey does not pass it on"}

// model reads until the body names its model, which it does at its beginning.
func (l *look) model() string {
	var read bytes.Buffer
	d := json.NewDecoder(io.TeeReader(io.LimitReader(l.body, script.MaxRequest), &read))
	defer func() { l.before = read.Bytes() }()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
		if key == "model" {
			return texts.Text(value)
		}
	}
	return ""
}

// toolsKey begins the list of tools of a request in all APIs.
var toolsKey = texts.Pattern(`"tools"\s*:\s*\[\s*[{"]`)

// Read implements io.Reader.
func (l *look) Read(p []byte) (n int, err error) {
	if len(l.before) > 0 {
		n = copy(p, l.before)
		l.before = l.before[n:]
	} else {
		n, err = l.body.Read(p)
	}
	l.size.Add(int64(n))
	if l.names.see(p[:n]) > 1 {
		l.door.judge(errTwice)
		return 0, errTwice
	}
	if !l.tools.Load() {
		const overlap = 64 // of the key at the border of two pieces
		piece := append(l.tail, p[:n]...)
		if toolsKey().Match(piece) {
			l.tools.Store(true)
			l.door.mu.Lock()
			l.door.requests++
			l.door.mu.Unlock()
		}
		l.tail = append([]byte{}, piece[max(0, len(piece)-overlap):]...)
	}
	return n, err
}

// Close implements io.Closer.
func (l *look) Close() error { return l.body.Close() }

// names counts how often a JSON object names its model, piece by piece.
type names struct {
	models  int
	depth   int
	text    bool   // within a text
	escaped bool   // after a backslash in it
	key     []byte // a text that may be a key of the object, as it is written; nil: it is none
}

// see looks at a piece, and returns how many keys `model` the object has so far.
func (n *names) see(piece []byte) int {
	for len(piece) > 0 {
		if n.text {
			piece = n.seeText(piece)
			continue
		}
		switch piece[0] {
		case '"':
			n.text, n.key = true, nil
			if n.depth == 1 {
				n.key = []byte{'"'}
			}
		case '{', '[':
			n.depth++
		case '}', ']':
			n.depth--
		case ':':
			if n.depth == 1 && texts.Text(n.key) == "model" {
				n.models++
			}
		}
		piece = piece[1:]
	}
	return n.models
}

// seeText looks at a piece that begins within a text, up to a quote, and returns the rest. Most of a request is
// texts, so it looks at few bytes of them.
func (n *names) seeText(piece []byte) []byte {
	const longest = len(`"\u006d\u006f\u0064\u0065\u006c"`)
	end := bytes.IndexByte(piece, '"')
	part := piece
	if end >= 0 {
		part = piece[:end]
	}
	slashes := len(part) - len(bytes.TrimRight(part, `\`))
	if slashes == len(part) && n.escaped {
		slashes++
	}
	n.escaped = slashes%2 == 1
	if end >= 0 {
		part = piece[:end+1]
		n.text, n.escaped = n.escaped, false
	}
	if n.key != nil && len(n.key) <= longest {
		n.key = append(n.key, part[:min(len(part), longest)]...)
	}
	return piece[len(part):]
}
