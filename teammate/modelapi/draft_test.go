package modelapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/coveyteam/covey/teammate/agent"
)

// drafted is a Draft that remembers what was done with it.
type drafted struct {
	added chan string // gets the text after each piece; nil: nobody waits

	mu    sync.Mutex
	text  string
	taken []string // what was withdrawn
}

func (d *drafted) Add(piece string) {
	d.mu.Lock()
	d.text += piece
	text := d.text
	d.mu.Unlock()
	if d.added != nil && piece != "" {
		d.added <- text
	}
}

func (d *drafted) Withdraw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken, d.text = append(d.taken, d.text), ""
}

// TestDraftIsTheAnswer: what a model adds piece by piece is the text of its answer in the end.
func TestDraftIsTheAnswer(t *testing.T) {
	for _, file := range recordings(t) {
		var r *recorded
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, r.part("stream")) })
		r = load(t, file, server.URL)
		d := &drafted{}
		r.req.Draft = d
		resp, err := generate(t, r.config, r.req)
		if err != nil {
			t.Fatal(err)
		}
		want := agent.Message{Content: resp.Content}.Text()
		if !strings.Contains(string(r.part("stream")), "delta") { // a host that sends items whole
			want = ""
		}
		if got := strings.TrimSpace(d.text); got != want || len(d.taken) > 0 {
			t.Errorf("%s: the draft is %q after %q were withdrawn, the answer %q", file, got, d.taken, want)
		}
	}
}

// streams are the first half of an answer of each API, and all of it.
var streams = map[API][2]string{
	Messages: {
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half "}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm"}}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"secret"}}
{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"All "}}
{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"of it."}}
{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"More."}}
{"type":"message_delta","delta":{"stop_reason":"end_turn"}}
{"type":"message_stop"}`,
	},
	Responses: {
		`{"type":"response.output_text.delta","delta":"Half "}`,
		`{"type":"response.reasoning_summary_text.delta","delta":"secret"}
{"type":"response.odd.delta","delta":{"an":"object"}}
{"type":"response.output_text.delta","delta":{"an":"object"}}
{"type":"response.output_text.delta","delta":"All "}
{"type":"response.output_text.delta","delta":"of it."}
{"type":"response.output_text.done","text":"All of it."}
{"type":"response.output_text.delta","delta":"More."}
{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"All of it."},{"text":"More."}]}}
{"type":"response.completed","response":{}}`,
	},
	Chat: {
		`{"choices":[{"delta":{"content":"Half "}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"secret"}}]}
{"choices":[{"delta":{"content":"All "}}]}
{"choices":[{"delta":{"content":"of it.\nMore."}}]}
{"choices":[{"delta":{},"finish_reason":"stop"}]}
[DONE]`,
	},
}

// TestBrokenStreamIsWithdrawn breaks a stream once its first words are shown. They are withdrawn,
// and the request is made again.
func TestBrokenStreamIsWithdrawn(t *testing.T) {
	for api, halves := range streams {
		t.Run(string(api), func(t *testing.T) {
			t.Parallel()
			d := &drafted{added: make(chan string, 20)}
			seen, asked := make(chan struct{}), 0
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				half := halves[min(asked, 1)]
				asked++
				w.Header().Set("Content-Type", "text/event-stream")
				for line := range strings.Lines(half) {
					fmt.Fprintf(w, "data: %s\n\n", strings.TrimSpace(line))
					w.(http.Flusher).Flush()
				}
				if asked == 1 {
					<-seen
					panic(http.ErrAbortHandler)
				}
			})
			go func() {
				if text := <-d.added; text != "Half " {
					t.Errorf("at first %q was shown", text)
				}
				close(seen)
			}()
			c := anthropic(server.URL)
			c.API = api
			req := ask()
			req.Draft = d
			resp, err := generate(t, c, req)
			if err != nil {
				t.Fatal(err)
			}
			const all = "All of it.\nMore."
			if text := (agent.Message{Content: resp.Content}).Text(); text != all || strings.TrimSpace(d.text) != all || asked != 2 {
				t.Errorf("asked %d times: %q, shown %q", asked, text, d.text)
			}
			if len(d.taken) != 1 || d.taken[0] != "Half " {
				t.Errorf("withdrawn: %q", d.taken)
			}
		})
	}
}

// TestLastTryIsWithdrawn: nothing is left of an answer that never comes.
func TestLastTryIsWithdrawn(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		stream(w, []byte("data: "+strings.ReplaceAll(streams[Messages][0], "\n", "\n\ndata: ")+"\n\n"))
	})
	d := &drafted{}
	req := ask()
	req.Draft = d
	if _, err := generate(t, anthropic(server.URL), req); err == nil {
		t.Fatal("a half answer counts")
	}
	if d.text != "" || len(d.taken) != tries || d.taken[0] != "Half " {
		t.Errorf("%q is left, withdrawn: %q", d.text, d.taken)
	}
}
