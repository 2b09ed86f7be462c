package notices

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// linksKey is the key of the links in the store.
const linksKey = "answer-links"

// maxLinks bounds the links that are kept; the oldest are dropped first.
const maxLinks = 500

// linkAge bounds how long a link counts that answers a request without a deadline.
const linkAge = 7 * 24 * time.Hour

// link is what the store keeps of a link, under the hash of its token.
type link struct {
	Request string    `json:"request"` // id
	Content string    `json:"content"` // digestOf the request
	Made    time.Time `json:"made"`
	Until   time.Time `json:"until"`
	Used    time.Time `json:"used,omitzero"`
}

// Links are the links that answer requests. It is safe for concurrent use.
type Links struct {
	store *tasks.Store
	clock members.Clock
	mu    sync.Mutex // held while links are changed, and while one answers
}

// NewLinks returns the links in a store.
func NewLinks(store *tasks.Store, clock members.Clock) *Links {
	return &Links{store: store, clock: clock}
}

// digestOf identifies what a request asks for.
func digestOf(r requests.Request) string {
	asked := []any{r.ID, r.Kind, r.Member, r.To, r.Text, string(r.Payload), r.Default}
	return texts.Digest(texts.Encode(asked))
}

// Make makes a link to an open request, and returns its token, which is kept nowhere.
func (l *Links) Make(ctx context.Context, r requests.Request) (token string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, err := l.read(ctx)
	if err != nil {
		return "", err
	}
	now := l.clock.Now().Round(0)
	until := now.Add(linkAge)
	if !r.Deadline.IsZero() {
		until = r.Deadline
	}
	token = rand.Text()
	all[texts.Digest(token)] = link{Request: r.ID, Content: digestOf(r), Made: now, Until: until}
	if len(all) > maxLinks {
		oldest := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
			return all[a].Made.Compare(all[b].Made)
		})
		for _, hash := range oldest[:len(all)-maxLinks] {
			delete(all, hash)
		}
	}
	return token, l.write(ctx, all)
}

// read reads all links.
func (l *Links) read(ctx context.Context) (map[string]link, error) {
	all := map[string]link{}
	if err := tasks.ReadValue(ctx, l.store, linksKey, &all); err != nil {
		return nil, fmt.Errorf("the links: %w", err)
	}
	return all, nil
}

// write stores all links.
func (l *Links) write(ctx context.Context, all map[string]link) error {
	if err := l.store.Put(ctx, linksKey, texts.Encode(all)); err != nil {
		return fmt.Errorf("the links: %w", err)
	}
	return nil
}

// Standing is what a link leads to.
type Standing struct {
	Request requests.Request
	// Refused is why the link does not answer; empty: it does, or just did.
	Refused string
}

// Look returns what a link leads to. It changes nothing. It fails with tasks.ErrNotFound for a
// token that is not known.
func (l *Links) Look(ctx context.Context, token string) (Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, s, err := l.look(ctx, token)
	return s, err
}

// look is Look. l.mu is held.
func (l *Links) look(ctx context.Context, token string) (all map[string]link, s Standing, err error) {
	if all, err = l.read(ctx); err != nil {
		return all, s, err
	}
	of, known := all[texts.Digest(token)]
	if !known {
		return all, s, texts.Errorf(tasks.ErrNotFound,
			"this link is not known, or so old that it was forgotten")
	}
	r, err := l.store.Requests().Get(ctx, of.Request)
	if errors.Is(err, tasks.ErrNotFound) {
		return all, s, texts.Errorf(tasks.ErrNotFound,
			"what this link is about is so old that it was forgotten")
	} else if err != nil {
		return all, s, fmt.Errorf("read request %s: %w", of.Request, err)
	}
	return all, Standing{Request: r, Refused: of.refuses(r, l.clock.Now())}, nil
}

// refuses returns why a link does not answer a request, or "".
func (l link) refuses(r requests.Request, now time.Time) string {
	switch {
	case !l.Used.IsZero():
		return fmt.Sprintf("This link was used at %s, and counts once. %s", stamp(l.Used), closed(r))
	case !r.Open():
		return "It is too late for an answer. " + closed(r)
	case digestOf(r) != l.Content:
		return "The question has changed since this link was sent. Answer it in the inbox."
	case now.Round(0).After(l.Until):
		return fmt.Sprintf("This link counted until %s. Answer in the inbox.", stamp(l.Until))
	}
	return ""
}

// stamp returns a time for people who may be anywhere.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC1123) }

// closed returns how a request ended.
func closed(r requests.Request) string {
	if r.Open() {
		return "Its request is still open; answer it in the inbox."
	}
	by := cmp.Or(r.By, actors.Covey)
	text := fmt.Sprintf("Request %s was %s by %s at %s", r.ID, r.State, inbox.AnswererName(by), stamp(r.Closed))
	if r.Feedback != "" {
		text += ": " + r.Feedback
	}
	return text + "."
}

// Use answers the request of a link with answer, unless the link does not count: then the
// Standing says why, and nothing has changed. Of several uses at once, one answers.
func (l *Links) Use(ctx context.Context, token string,
	answer func(ctx context.Context, id string) (requests.Request, error)) (Standing, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, s, err := l.look(ctx, token)
	if err != nil || s.Refused != "" {
		return s, err
	}
	r, err := answer(ctx, s.Request.ID)
	if errors.Is(err, tasks.ErrAnswered) { // somebody else was faster
		_, s, err = l.look(ctx, token)
		return s, err
	} else if err != nil {
		return s, err
	}
	used := all[texts.Digest(token)]
	used.Used = l.clock.Now().Round(0)
	all[texts.Digest(token)] = used
	// The request is closed whatever becomes of this, so the link counts no second time.
	return Standing{Request: r}, l.write(context.WithoutCancel(ctx), all)
}

// UseStopped is Use for a team that does not run, or Look if ruling is nil. The next run acts on
// the answer.
func UseStopped(
	ctx context.Context, p state.Place, token string, ruling *requests.Ruling,
) (s Standing, err error) {
	err = state.UseStopped(p, func(store *tasks.Store) error {
		links := NewLinks(store, members.Clock{})
		if ruling == nil {
			s, err = links.Look(ctx, token)
			return err
		}
		s, err = links.Use(ctx, token, func(ctx context.Context, id string) (requests.Request, error) {
			return inbox.AnswerIn(ctx, store, id, *ruling)
		})
		return err
	})
	return s, err
}
