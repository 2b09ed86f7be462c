package notices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// use uses a link as the handler of a running team does.
func (r *rig) use(token string, yes bool) (Standing, error) {
	return r.n.Links.Use(r.t.Context(), token, func(_ context.Context, id string) (requests.Request, error) {
		return r.answer(id, yes)
	})
}

// link makes a link to a request.
func (r *rig) link(q requests.Request) string {
	r.t.Helper()
	token, err := r.n.Links.Make(r.t.Context(), q)
	testkit.Must(r.t, err)
	return token
}

// TestLinkOnce: however many use the links to a request at once, and however many links there
// are, one answers, and the others hear who was first.
func TestLinkOnce(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(t *rapid.T) {
		q := r.ask("dev", "may I?")
		var tokens []string
		for range rapid.IntRange(1, 3).Draw(t, "links") {
			tokens = append(tokens, r.link(q))
		}
		uses := rapid.SliceOfN(rapid.SampledFrom(tokens), 2, 6).Draw(t, "uses")
		standings := make([]Standing, len(uses))
		var all sync.WaitGroup
		for i, token := range uses {
			all.Go(func() {
				var err error
				if standings[i], err = r.use(token, i%2 == 0); err != nil {
					t.Errorf("use %d: %v", i, err)
				}
			})
		}
		all.Wait()
		won := 0
		for i, s := range standings {
			if s.Refused == "" {
				won++
				if s.Request.Approved() != (i%2 == 0) {
					t.Errorf("%d answered, and the request is %s", i, s.Request.State)
				}
				continue
			}
			if !strings.Contains(s.Refused, "by a person at") {
				t.Errorf("refused with %q", s.Refused)
			}
		}
		if won != 1 {
			t.Fatalf("%d of %d uses answered", won, len(uses))
		}
	})
}

// TestLinkRefuses: a link that is late, outdated, or of a request that was answered otherwise
// changes nothing and says why.
func TestLinkRefuses(t *testing.T) {
	r := newRig(t)
	if _, err := r.use("nobody's", true); !errors.Is(err, tasks.ErrNotFound) {
		t.Errorf("an unknown link: %v", err)
	}
	answered := r.ask("dev", "first")
	token := r.link(answered)
	_, err := r.answer(answered.ID, false)
	testkit.Must(t, err)
	s, err := r.use(token, true)
	if err != nil || s.Refused != "It is too late for an answer. Request r1 was denied by a person at Wed, 25 Nov 2026 12:00:00 UTC." {
		t.Errorf("answered otherwise: %+v (%v)", s, err)
	}

	late := r.ask("dev", "second")
	token = r.link(late)
	r.pass(time.Hour + time.Second)
	s, err = r.use(token, true)
	if err != nil || !strings.HasPrefix(s.Refused, "This link counted until Wed, 25 Nov 2026 13:00:00 UTC.") || !s.Request.Open() {
		t.Errorf("late: %+v (%v)", s, err)
	}

	// The store never changes what is asked; a link must not rely on it.
	outdated := r.ask("dev", "third")
	seen := outdated
	seen.Payload = json.RawMessage(`{"tool":"Read"}`)
	s, err = r.use(r.link(seen), true)
	if err != nil || !strings.Contains(s.Refused, "has changed") || !s.Request.Open() {
		t.Errorf("outdated: %+v (%v)", s, err)
	}
	if now, err := r.store.Requests().Get(t.Context(), outdated.ID); err != nil || !now.Open() {
		t.Errorf("it is %s (%v)", now.State, err)
	}
}

// TestLinkSurvives: an answer that fails leaves the link as it was, and a restart does too. A
// request without a deadline has a link that counts for a week.
func TestLinkSurvives(t *testing.T) {
	r := newRig(t)
	q, err := r.store.Requests().Ask(t.Context(), actors.Actor{Name: "dev"}, requests.New{
		Kind: requests.AskAttention, Member: "dev", To: actors.Operator, Text: "dev needs attention",
	})
	testkit.Must(t, err)
	token := r.link(q)
	_, err = r.n.Links.Use(t.Context(), token, func(context.Context, string) (requests.Request, error) {
		return requests.Request{}, tasks.ErrDisk
	})
	if !errors.Is(err, tasks.ErrDisk) {
		t.Errorf("the error is %v", err)
	}
	r.restart()
	r.pass(linkAge - time.Second)
	if s, err := r.use(token, true); err != nil || s.Refused != "" || s.Request.State != requests.Approved {
		t.Errorf("%+v (%v)", s, err)
	}
}

// TestLinksAreBounded: the oldest are dropped.
func TestLinksAreBounded(t *testing.T) {
	r := newRig(t, configs.Notify{Desktop: true, About: everything})
	q := r.ask("dev", "may I?")
	all := map[string]link{}
	for i := range maxLinks {
		all[fmt.Sprint(i)] = link{Request: q.ID, Made: noon.Add(-time.Duration(i) * time.Hour)}
	}
	testkit.Must(t, r.store.Put(t.Context(), linksKey, texts.Encode(all)))
	token := r.link(q)
	all, err := r.n.Links.read(t.Context())
	testkit.Must(t, err)
	if _, kept := all[fmt.Sprint(maxLinks-1)]; kept || len(all) != maxLinks || all[texts.Digest(token)].Request != q.ID {
		t.Errorf("%d links, the oldest is kept: %v", len(all), kept)
	}
}
