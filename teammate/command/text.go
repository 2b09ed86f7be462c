package command

import (
	"encoding/json"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// plainReader takes all output as the reply.
type plainReader struct {
	said strings.Builder
	max  int
	left int64 // bytes left out
}

// line keeps the line up to the limit and counts the rest, so that the reply can say how much
// is missing.
func (r *plainReader) line(l line) []news {
	room := r.max - r.said.Len()
	keep := l.data[:max(min(len(l.data), room), 0)]
	r.said.Write(keep)
	r.left += int64(len(l.data) - len(keep))
	if room > 0 {
		r.said.WriteByte('\n')
	}
	return nil
}

// over returns false: plain text has no marked end.
func (r *plainReader) over() bool { return false }

func (r *plainReader) end(code int) ending {
	reply := strings.TrimSpace(strings.ReplaceAll(clean(r.said.String()), "\r\n", "\n"))
	return ending{ok: code == 0, reply: reply, left: r.left}
}

// sniffer determines the dialect from the first JSON line. Until then all output is text.
type sniffer struct {
	plain *plainReader
	known reader // nil: not known yet
	given bool   // the dialect is text
	lines int
}

// sniffLines is how many lines, such as warnings or a banner, may come before the first JSON
// line. A JSON line after them is part of a text.
const sniffLines = 50

func (r *sniffer) line(l line) []news {
	if r.known != nil {
		return r.known.line(l)
	}
	if !r.given {
		r.lines++
		if fields, ok := objectLine(l); ok {
			r.given = true
			if r.known = dialectOf(fields); r.known != nil {
				return r.known.line(l)
			}
		}
		r.given = r.given || r.lines >= sniffLines
	}
	return r.plain.line(l)
}

func (r *sniffer) over() bool { return r.known != nil && r.known.over() }

func (r *sniffer) end(code int) ending {
	if r.known == nil {
		return r.plain.end(code)
	}
	e := r.known.end(code)
	e.guessed = true
	return e
}

// dialectOf returns the reader for a first line, or nil if the line belongs to no dialect.
func dialectOf(fields map[string]json.RawMessage) reader {
	switch texts.Text(fields["type"]) {
	case "thread.started", "thread.resumed", "turn.started":
		return newCodexReader()
	case "system", "result", "assistant", "rate_limit_event":
		if texts.Text(fields["session_id"]) != "" {
			return newClaudeReader()
		}
	}
	return nil
}

// newReader returns the reader of a dialect.
func newReader(d Dialect, limit int) reader {
	switch d {
	case Text:
		return &plainReader{max: limit}
	case Claude:
		return newClaudeReader()
	case Codex:
		return newCodexReader()
	}
	return &sniffer{plain: &plainReader{max: limit}}
}

// speaksLines reports whether a reader's program is known to print JSON lines, so that its
// silence has a meaning.
func speaksLines(r reader) bool {
	switch r := r.(type) {
	case *plainReader:
		return false
	case *sniffer:
		return r.known != nil
	}
	return true
}
