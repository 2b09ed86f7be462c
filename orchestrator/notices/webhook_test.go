package notices

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
)

// hook is a webhook on loopback that answers as the test says.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc // nil: 200
	bodies []string
	signed []string
}

// newHook starts a webhook.
func newHook(t *testing.T) *hook {
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.bodies = append(h.bodies, string(body))
		h.signed = append(h.signed, r.Header.Get(SignatureHeader))
		answer := h.answer
		h.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// answers sets the status of the answers.
func (h *hook) answers(status int) {
	h.does(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// does sets how the webhook answers.
func (h *hook) does(answer http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// rule is a rule for the webhook, whose URL holds a secret.
func (h *hook) rule() configs.Notify {
	return configs.Notify{Webhook: h.URL + "/T0KEN?key=s3cret", About: everything}
}

// last returns the last notice that was posted.
func (h *hook) last(t *testing.T) Notice {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var n Notice
	testkit.Must(t, json.Unmarshal([]byte(h.bodies[len(h.bodies)-1]), &n))
	return n
}

// TestWebhook: a notice is posted as JSON with a signature that its server can check, and no
// token of the web page.
func TestWebhook(t *testing.T) {
	h := newHook(t)
	r := newRig(t, h.rule())
	r.ask("dev", "may I?")
	r.step()
	want := `{"version":1,"team":"crew","kind":"question","member":"dev","id":"r1","text":"may I?","since":"2026-11-25T12:00:00Z",` +
		`"deadline":"2026-11-25T13:00:00Z","url":"http://127.0.0.1:8080/"}`
	if len(h.bodies) != 1 || h.bodies[0] != want {
		t.Fatalf("posted %q", h.bodies)
	}
	if h.signed[0] != Sign([]byte(secret), []byte(want), noon) || !strings.HasPrefix(h.signed[0], "t=1795608000,v1=") {
		t.Errorf("signed %q", h.signed[0])
	}
	r.noSecrets()
}

// noSecrets finds the secrets of a webhook in what was journaled.
func (r *rig) noSecrets() {
	r.t.Helper()
	for _, l := range r.lines {
		if text := string(texts.Encode(l)); strings.Contains(text, "T0KEN") || strings.Contains(text, "s3cret") || strings.Contains(text, secret) {
			r.t.Errorf("the journal has %s", text)
		}
	}
}

// TestWebhookTriesAgain: after 500 and 429 it is tried again with growing pauses, with what came
// meanwhile and without what was answered.
func TestWebhookTriesAgain(t *testing.T) {
	h := newHook(t)
	r := newRig(t, h.rule())
	h.answers(500)
	first := r.ask("dev", "first")
	r.step()
	if next := r.step(); !next.Equal(noon.Add(time.Second)) {
		t.Errorf("it is tried again at %v", next)
	}
	r.pass(time.Second)
	h.answers(429)
	r.step()
	if next := r.step(); !next.Equal(noon.Add(3 * time.Second)) {
		t.Errorf("it is tried again at %v", next)
	}
	r.ask("dev", "second")
	r.ask("ops", "third")
	_, err := r.answer(first.ID, true)
	testkit.Must(t, err)
	r.restart() // a new run tries on
	h.answers(204)
	r.pass(2 * time.Second)
	r.step()
	if n := h.last(t); len(h.bodies) != 3 || n.Kind != Digest || n.Text != "2 notices: second | third" {
		t.Errorf("%d posts, the last is %+v", len(h.bodies), n)
	}
	if told := r.told(); len(told) != 1 || told[0].Tries != 3 || told[0].To != "webhook at "+h.URL {
		t.Errorf("the journal has %+v", told)
	}
	r.pass(time.Hour)
	r.step()
	if len(h.bodies) != 3 {
		t.Errorf("%d posts", len(h.bodies))
	}
	r.noSecrets()
}

// TestWebhookIsGivenUp: after six hours, with one warning; what comes later is tried anew.
func TestWebhookIsGivenUp(t *testing.T) {
	h := newHook(t)
	r := newRig(t, h.rule())
	h.answers(503)
	r.ask("dev", "first")
	for range 14 {
		r.step()
		r.pass(30 * time.Minute)
	}
	w := r.warnings()
	if len(w) != 1 || !strings.Contains(w[0], "given up after 13 tries: webhook at "+h.URL+": HTTP 503") {
		t.Fatalf("warnings: %q", w)
	}
	h.answers(200)
	r.ask("dev", "second")
	r.step()
	if n := h.last(t); n.Text != "second" {
		t.Errorf("posted %+v", n)
	}
	r.noSecrets()
}

// TestWebhookRefuses: an answer that time does not change is given up at once. A redirect is
// not followed.
func TestWebhookRefuses(t *testing.T) {
	for status, want := range map[int]string{404: "HTTP 404", 307: "HTTP 307: redirects are not followed"} {
		h, elsewhere := newHook(t), newHook(t)
		h.does(func(w http.ResponseWriter, req *http.Request) {
			http.Redirect(w, req, elsewhere.URL, status)
		})
		r := newRig(t, h.rule())
		r.ask("dev", "may I?")
		r.step()
		if w := r.warnings(); len(w) != 1 || !strings.Contains(w[0], want) || len(elsewhere.bodies) != 0 {
			t.Errorf("warnings: %q, posts elsewhere: %q", w, elsewhere.bodies)
		}
		r.noSecrets()
	}
}

// TestWebhookNeverAnswers: a server that does not answer, or not to the end, holds up no other
// rule, and its delivery ends with the run. What it has taken is not sent again.
func TestWebhookNeverAnswers(t *testing.T) {
	h, over, begun := newHook(t), make(chan struct{}), make(chan struct{}, 10)
	t.Cleanup(func() { close(over) })
	h.does(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-over
	})
	r := newRig(t, h.rule(), configs.Notify{Desktop: true, About: everything})
	r.ask("dev", "may I?")
	ctx, cancel := context.WithCancel(t.Context())
	r.n.round(ctx, false)
	<-begun
	testkit.Eventually(t, "the desktop shows it", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.shown) == 1
	})
	cancel()
	r.n.sending.Wait()
	testkit.Must(t, r.n.takeUp(t.Context()))

	r.n.postWithin = 20 * time.Millisecond
	r.pass(time.Minute)
	r.step()
	if rec := r.n.record(r.team.Notify[0]); rec.Failures != 1 { // the end of a run is none
		t.Errorf("%d failures", rec.Failures)
	}
	h.does(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-over
	})
	r.pass(time.Hour)
	r.step()
	if rec := r.n.record(r.team.Notify[0]); rec.Failures != 0 || len(rec.Told) != 1 {
		t.Errorf("the record is %+v", rec)
	}
}

// TestWebhookSecret: without a secret nothing is posted.
func TestWebhookSecret(t *testing.T) {
	h := newHook(t)
	r := newRig(t, h.rule())
	r.team.Notify[0].SecretFile = r.team.Workspace // a folder
	r.ask("dev", "may I?")
	r.step()
	if w := r.warnings(); len(h.bodies) != 0 || len(w) != 1 || !strings.Contains(w[0], "not a regular file") {
		t.Errorf("posted %q, warnings: %q", h.bodies, w)
	}
	testkit.Put(t, r.team.Workspace, "short", "abc\n")
	if _, err := secretOf(r.team.Workspace + "/short"); err == nil || strings.Contains(err.Error(), "abc") {
		t.Errorf("a short secret: %v", err)
	}
	var final *finalError
	if errors.As(refused(500), &final) || !errors.As(refused(400), &final) {
		t.Error("500 is final, or 400 is not")
	}
}

// TestAnswerLinks: a notice to a webhook has links for what can be answered, the same whenever
// it is tried again.
func TestAnswerLinks(t *testing.T) {
	h := newHook(t)
	r := newRig(t, h.rule(), configs.Notify{Desktop: true, About: everything})
	r.team.Web.PublicURL = "https://covey.example.com"
	h.answers(500)
	q := r.ask("dev", "may I?")
	r.step()
	r.pass(time.Second)
	h.answers(200)
	r.step()
	n := h.last(t)
	token, ok := strings.CutPrefix(n.Answer.Approve, "https://covey.example.com/a/")
	token, _, _ = strings.Cut(token, "?")
	if !ok || n.URL != "https://covey.example.com" || n.Answer.Deny != "https://covey.example.com/a/"+token+"?say=deny" {
		t.Errorf("posted %+v", n)
	}
	if h.bodies[0] != h.bodies[1] {
		t.Errorf("posted %q", h.bodies)
	}
	s, err := r.n.Links.Look(t.Context(), token)
	if err != nil || s.Request.ID != q.ID || s.Refused != "" {
		t.Errorf("the link leads to %+v (%v)", s, err)
	}
	for _, key := range []string{storeKey, linksKey} {
		stored, _, err := r.store.Value(t.Context(), key)
		if err != nil || strings.Contains(string(stored), token) {
			t.Errorf("the store has %s (%v)", stored, err)
		}
	}
}
