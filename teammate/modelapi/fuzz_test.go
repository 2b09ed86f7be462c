package modelapi

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// FuzzStreams: whatever a server sends, the readers of the three APIs neither panic nor take
// half of a call for a whole one.
func FuzzStreams(f *testing.F) {
	for _, file := range []string{"messages_calls", "messages_thinking", "responses_calls", "chat_calls", "chat_ollama"} {
		r := recorded{archive: parse(f, "testdata/"+file+".txtar")}
		f.Add(r.part("stream"))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		w := wire{Config: Config{Model: "m", BaseURL: "http://h"}}
		m := &messagesAnswer{wire: w, draft: agent.Unseen{}, blocks: map[int]*openBlock{}}
		r := &responsesAnswer{wire: w, draft: agent.Unseen{}, items: nil}
		c := &chatAnswer{wire: w, draft: agent.Unseen{}}
		r.items = map[int]json.RawMessage{}
		for _, read := range []struct {
			see  func([]byte) (bool, error)
			done func(agent.Request) (agent.Response, error)
		}{{m.see, m.response}, {r.see, r.response}, {c.see, c.response}} {
			for line := range bytes.Lines(stream) {
				data, ok := bytes.CutPrefix(line, []byte("data: "))
				if !ok {
					continue
				}
				if complete, err := read.see(data); complete || err != nil {
					break
				}
			}
			resp, err := read.done(ask())
			if err == nil && resp.Usage.InputTokens == 0 && resp.Usage.Estimated {
				t.Error("an estimate of nothing")
			}
			for _, b := range resp.Content {
				if b.Type == "" {
					t.Errorf("a block without a type: %+v", b)
				}
			}
		}
	})
}
