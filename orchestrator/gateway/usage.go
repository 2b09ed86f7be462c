package gateway

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"sync"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// meter reads how many tokens an answer says that it has used, while it passes.
type meter struct {
	io.ReadCloser
	request *request
	done    func(*request, agent.Usage)
	over    sync.Once
	left    int64 // bytes that are to come; negative: it is not known

	size   int64
	counts map[string]int64 // of the answer's objects of usage: the highest of each name, because they add up
	tail   []byte
	packed *io.PipeWriter // takes a packed answer; nil: it is plain
	read   chan struct{}  // closed when that was read
}

// newMeter returns the body of an answer with its meter. done is called once, at its end.
func newMeter(resp *http.Response, q *request, done func(*request, agent.Usage)) *meter {
	m := &meter{ReadCloser: resp.Body, request: q, done: done, left: resp.ContentLength, counts: map[string]int64{}}
	if resp.Header.Get("Content-Encoding") == "gzip" { // by a host that was not asked for it
		r, w := io.Pipe()
		m.packed, m.read = w, make(chan struct{})
		go m.unpack(r)
	}
	return m
}

// unpack reads a packed answer.
func (m *meter) unpack(r *io.PipeReader) {
	defer close(m.read)
	defer func() { _, _ = io.Copy(io.Discard, r) }() // whatever it is, it passes
	plain, err := gzip.NewReader(r)
	if err != nil {
		return
	}
	piece := make([]byte, 32<<10)
	for {
		n, err := plain.Read(piece)
		m.see(piece[:n])
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p)
	if m.packed != nil {
		_, _ = m.packed.Write(p[:n])
	} else {
		m.see(p[:n])
	}
	known := m.left >= 0
	m.left -= int64(n)
	if err != nil || known && m.left <= 0 { // else the program's next request could be counted before
		m.end()
	}
	return n, err
}

// Close implements io.Closer.
func (m *meter) Close() error {
	err := m.ReadCloser.Close()
	m.end()
	return err
}

// end counts the answer.
func (m *meter) end() {
	m.over.Do(func() {
		if m.packed != nil {
			_ = m.packed.Close()
			<-m.read
		}
		m.done(m.request, m.usage())
	})
}

// usageKey begins an object of usage in all APIs.
var usageKey = texts.Pattern(`"usage(?:Metadata)?"\s*:\s*\{`)

// maxUsage is the size of the largest object of usage, in bytes.
const maxUsage = 8 << 10

// see looks for objects of usage in a piece of an answer.
func (m *meter) see(piece []byte) {
	m.size += int64(len(piece))
	if len(piece) == 0 {
		return
	}
	data := piece
	if len(m.tail) > 0 {
		data = append(m.tail, piece...)
	}
	done := 0
	for _, at := range usageKey().FindAllIndex(data, -1) {
		var found map[string]json.RawMessage
		d := json.NewDecoder(bytes.NewReader(data[at[1]-1:]))
		if d.Decode(&found) != nil { // the rest of it is to come
			break
		}
		done = at[1]
		m.take(found)
	}
	m.tail = append([]byte{}, data[max(done, len(data)-maxUsage):]...)
}

// take takes the counts of an object of usage, and those of the objects in it.
func (m *meter) take(object map[string]json.RawMessage) {
	for name, value := range object {
		var n float64
		var inner map[string]json.RawMessage
		switch {
		case json.Unmarshal(value, &n) == nil && n >= 0 && n < 1e15:
			m.counts[name] = max(m.counts[name], int64(n))
		case json.Unmarshal(value, &inner) == nil:
			m.take(inner)
		}
	}
}

// usage returns the tokens of the answer. If it has not counted them they are estimated: four bytes are one.
func (m *meter) usage() agent.Usage {
	c := m.counts
	if len(c) == 0 {
		size := int64(0)
		if m.request.look != nil {
			size = m.request.look.size.Load()
		}
		return agent.Usage{Estimated: true, InputTokens: (size + 3) / 4, OutputTokens: (m.size + 3) / 4}
	}
	switch m.request.api.Name {
	case "anthropic":
		read, written := c["cache_read_input_tokens"], c["cache_creation_input_tokens"]
		return agent.Usage{
			InputTokens: c["input_tokens"] + read + written, OutputTokens: c["output_tokens"], CacheReadTokens: read, CacheWriteTokens: written,
		}
	case "gemini":
		return agent.Usage{
			InputTokens:  c["promptTokenCount"] + c["toolUsePromptTokenCount"],
			OutputTokens: c["candidatesTokenCount"] + c["thoughtsTokenCount"], CacheReadTokens: c["cachedContentTokenCount"],
		}
	case "chat":
		return agent.Usage{InputTokens: c["prompt_tokens"], OutputTokens: c["completion_tokens"], CacheReadTokens: c["cached_tokens"]}
	}
	return agent.Usage{InputTokens: c["input_tokens"], OutputTokens: c["output_tokens"], CacheReadTokens: c["cached_tokens"]}
}

// count counts a request for its member.
func (d *Door) count(q *request, used agent.Usage) {
	name := q.name()
	e := events.TokensUsed{Model: name, Usage: used, Aside: !q.look.tools.Load()}
	if d.PassesLogin == "" && !q.host.Free { // a subscription has no price for tokens
		e.CostUSD = d.gateway.deps.Price(d.Member, used, name)
	}
	d.gateway.deps.Count(d.Member, e)
}
