package members_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// writers is a provider whose models write what a test says, when the test says it.
type writers struct {
	*httptest.Server
	asked chan *writing
}

// writing is an answer under way.
type writing struct {
	to     string // the key of who asks
	prompt string // the request's body
	w      http.ResponseWriter
	gone   <-chan struct{} // closed when nobody reads it any more
	over   chan bool       // gets whether it ends in order
}

func newWriters(t testing.TB) *writers {
	t.Helper()
	s := &writers{asked: make(chan *writing)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it ended meanwhile
		}
		w.Header().Set("Content-Type", "text/event-stream")
		x := &writing{
			to: r.Header.Get("X-Api-Key"), prompt: string(body), w: w, gone: r.Context().Done(), over: make(chan bool, 1),
		}
		select {
		case s.asked <- x:
		case <-x.gone:
			return
		}
		select {
		case inOrder := <-x.over:
			if !inOrder {
				panic(http.ErrAbortHandler)
			}
		case <-x.gone:
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// next waits for the next request.
func (s *writers) next(t testing.TB) *writing {
	t.Helper()
	select {
	case x := <-s.asked:
		return x
	case <-time.After(testkit.Patience):
		t.Fatal("no model was asked")
		return nil
	}
}

// event sends an event of Anthropic's API.
func (x *writing) event(format string, args ...any) {
	fmt.Fprintf(x.w, "data: "+format+"\n\n", args...)
	x.w.(http.Flusher).Flush()
}

// say writes a piece of text.
func (x *writing) say(text string) {
	x.event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, texts.Encode(text))
}

// call calls a tool, after the text.
func (x *writing) call(tool, input string) {
	x.event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":%q}}`, tool)
	x.event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%s}}`, texts.Encode(input))
}

// finish ends the answer.
func (x *writing) finish() {
	x.event(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10,"output_tokens":10}}`)
	x.event(`{"type":"message_stop"}`)
	x.over <- true
}

// breakOff ends the connection in the middle of the answer.
func (x *writing) breakOff() { x.over <- false }

// draftSpec is a team whose dev has a model of the writers.
const draftSpec = `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
  dev: {provider: anthropic, model: m, base_url: %q, key_file: dev.key}
lead: {model: lead}
teammates:
  dev: {model: dev}
tasks: [{id: a, subject: One, owner: dev}]
`

// newDraftRig returns a rig whose dev is asked by a model of the writers at once.
func newDraftRig(t *testing.T) (*teamtest.Rig, *writers) {
	t.Helper()
	s := newWriters(t)
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": fmt.Sprintf(draftSpec, s.URL), "dev.key": "dev",
		"lead.yaml": "steps: [{say: Fine., times: -1}]\n",
	})
	return r, s
}

// draftReader reads drafts as attach does.
type draftReader struct {
	t      *testing.T
	client *api.Client
	now    members.Drafting
}

// until reads until the drafts are like want: "member: text", with a mark for helpers.
func (d *draftReader) until(want string) {
	d.t.Helper()
	late := time.AfterFunc(testkit.Patience, func() { d.client.Close() })
	defer late.Stop()
	for {
		var list []string
		for _, draft := range d.now.Drafts {
			list = append(list, draft.Member+strings.Repeat("'", min(len(draft.Helper), 1))+": "+draft.Text)
		}
		got := strings.Join(list, ", ")
		if got == want {
			return
		}
		next, err := d.client.Drafts(d.t.Context(), api.DraftsRequest{After: d.now.Number})
		if err != nil {
			d.t.Fatalf("waiting for %q: %q, then %v", want, got, err)
		}
		d.now = next
	}
}

// saidText matches the line of a text.
func saidText(member, text string) func(events.Line) bool {
	return func(l events.Line) bool {
		return l.Type == "text" && l.Member == member && strings.Contains(string(l.Data), text)
	}
}

// TestDraftsReachReaders: an attached reader sees what a model writes. It is gone when the stream
// breaks, and replaced by the whole text when the second try comes to its end. A reader that asks
// once and never again changes nothing.
func TestDraftsReachReaders(t *testing.T) {
	t.Parallel()
	r, s := newDraftRig(t)
	c := r.Up()
	lazy, err := api.Dial(t.Context(), c.Place())
	if err != nil {
		t.Fatal(err)
	}
	defer lazy.Close()
	reader := draftReader{t: t, client: c}

	x := s.next(t)
	x.say("I look \x1b[31m")
	reader.until("dev: I look \x1b[31m")
	if got, err := lazy.Drafts(t.Context(), api.DraftsRequest{Member: "dev"}); err != nil || len(got.Drafts) != 1 {
		t.Errorf("of the member: %+v, %v", got, err)
	}
	x.say("around.")
	reader.until("dev: I look \x1b[31maround.")
	x.breakOff()
	reader.until("")

	x = s.next(t)
	for range 10_000 { // far more than any reader gets
		x.say("long ")
	}
	x.say("end.")
	x.finish()
	r.Lines.Wait(t, "the whole text", saidText("dev", "long end."))
	reader.until("")
	for _, l := range r.Lines.All() {
		if strings.Contains(string(l.Data), "I look") {
			t.Errorf("the journal has text of the try that failed: %s", l.Data)
		}
	}
	if text := r.TranscriptOf("dev"); strings.Contains(text, "I look") || !strings.Contains(text, "long end.") {
		t.Error("the transcript has not just the whole text")
	}
	if _, err := lazy.Drafts(t.Context(), api.DraftsRequest{Member: "nobody"}); !errors.Is(err, api.ErrNoMember) {
		t.Errorf("of nobody: %v", err)
	}
}

// TestDraftOfAnInterruptedTurn is withdrawn.
func TestDraftOfAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	r, s := newDraftRig(t)
	c := r.Up()
	reader := draftReader{t: t, client: c}
	x := s.next(t)
	x.say("Never mind")
	reader.until("dev: Never mind")
	if _, err := c.Interrupt(t.Context(), api.InterruptRequest{Member: "dev"}); err != nil {
		t.Fatal(err)
	}
	reader.until("")
	r.Lines.Wait(t, "the turn's end", func(l events.Line) bool { return l.Type == "turn_ended" && l.Member == "dev" })
	if text := r.TranscriptOf("dev"); strings.Contains(text, "Never mind") {
		t.Error("the transcript has a text that was never whole")
	}
}

// TestDraftOfAHelper is one of its own, beside that of its member.
func TestDraftOfAHelper(t *testing.T) {
	t.Parallel()
	r, s := newDraftRig(t)
	reader := draftReader{t: t, client: r.Up()}
	x := s.next(t)
	x.say("A helper can do it.")
	x.call("Agent", `{"description":"look","prompt":"Look around."}`)
	x.finish()
	helper := s.next(t)
	if !strings.Contains(helper.prompt, "Look around.") {
		t.Fatalf("the model was asked %s", helper.prompt)
	}
	helper.say("I see ")
	reader.until("dev': I see ")
	helper.say("nothing.")
	helper.finish()
	x = s.next(t)
	x.say("Thanks.")
	reader.until("dev: Thanks.")
	x.finish()
	r.Lines.Wait(t, "the last text", saidText("dev", "Thanks."))
	reader.until("")
}

// TestDraftsEndWithTheTeam: a reader that waits does not hold up the end of a team, which would
// cancel its request at last.
func TestDraftsEndWithTheTeam(t *testing.T) {
	t.Parallel()
	r, s := newDraftRig(t)
	c := r.Up()
	reader := draftReader{t: t, client: c}
	s.next(t).say("Hm")
	reader.until("dev: Hm")
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			now, err := c.Drafts(t.Context(), api.DraftsRequest{After: reader.now.Number})
			if err != nil {
				if strings.Contains(err.Error(), context.Canceled.Error()) {
					t.Errorf("at the end a reader was told %v", err)
				}
				return
			}
			reader.now = now
		}
	})
	if _, err := c.Down(t.Context(), "enough"); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
}
