// Package modelapi answers the builtin agent with models of real providers: Anthropic's
// Messages API, OpenAI's Responses API, and the Chat Completions API of OpenAI and of the
// many hosts that copy it.
//
// Requests are streamed, so that a server that has stopped is noticed; only a host whose streams
// broke twice in a row is asked for whole answers. A request
// that fails before its answer is complete has had no effect, because the agent acts only
// on complete answers; so it is made again.
//
// What holds for all three APIs:
//
//   - An answer without its end (message_stop, a response event, finish_reason) is a
//     connection that broke, never an empty answer.
//   - Thinking is kept as it came and goes back to the model that wrote it.
//   - Calls may arrive in pieces, out of order, without ids, or whole.
//   - Tokens are those that the provider counts; where it counts none they are estimated,
//     and marked as such.
//   - A wait of more than half a minute is a limit of the account, and no sleeping goroutine.
//
// Model.Listed asks a server for the names of its models, which costs nothing: it is how people
// see before a run whether a host can be reached and takes the key.
//
// messages.go, responses.go and chat.go each translate a conversation to a request and the
// events of a stream to an answer. wire.go makes the requests of all three, and failure.go
// says what went wrong with one, in the words of HOOKS.md section 6 for hooks and in plain
// ones for people. The providers' own Go libraries are not used: what they offer beyond
// requests and events is not needed here, and they would double the size of the program and
// the time to build it.
package modelapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// API is the protocol of a provider.
type API string

// The protocols.
const (
	Messages  API = "messages"
	Responses API = "responses"
	Chat      API = "chat"
)

// Config describes a model of a provider. It holds what a spec may say, and what the spec
// must not hold: the key, which is asked for and never kept.
type Config struct {
	Provider string // for people and prices, as in "anthropic"
	Model    string // the provider's name of the model
	API      API
	BaseURL  string // without a slash at its end
	// Key returns the API key; empty: the server wants none. It is called for each
	// request, so that a key file can be replaced.
	Key         func() (string, error)
	Window      int64    // how many tokens it can read; 0: unknown
	MaxOutput   int      // in tokens; 0: the provider's default
	Thinking    string   // low, medium or high; "" and off: the provider's default and none
	Temperature *float64 // nil: the provider's default
	Headers     map[string]string
	Tries       int // how often a request is made before its error is returned; 0: 3 times

	Transport http.RoundTripper // nil: http.DefaultTransport
	// Through returns a transport that sees requests and answers before the given one; nil: there is none.
	Through func(http.RoundTripper) http.RoundTripper
	Times   Times
}

// Times are time limits. Zero fields have defaults.
type Times struct {
	Silence   time.Duration // the longest time before the first byte of an answer; 5 min
	Idle      time.Duration // the longest time without a byte after it; 90 s, but not more than Silence
	FirstWait time.Duration // before the second try; doubles with each; 0.5 s
	LongWait  time.Duration // the longest wait before a try; what is longer is a limit; 30 s
}

const (
	defaultSilence = 5 * time.Minute
	defaultIdle    = 90 * time.Second
)

// raisedOutput is the limit of output tokens of Model.Raise.
const raisedOutput = 64_000

// tries is the default of Config.Tries. The member then tries the turn again, with longer
// waits that people see.
const tries = 3

// Model is a model of a provider. It implements agent.Model, and is safe for concurrent use.
type Model struct {
	wire   wire
	answer func(context.Context, agent.Request) (agent.Response, error)
}

// New returns a model. It makes no request, and does not read the key, so it fails only for
// an API that it does not know.
func New(c Config) (*Model, error) {
	c.Times = Times{
		Silence: cmp.Or(c.Times.Silence, max(defaultSilence, c.Times.Idle)), Idle: c.Times.Idle, FirstWait: cmp.Or(c.Times.FirstWait, time.Second/2),
		LongWait: cmp.Or(c.Times.LongWait, 30*time.Second),
	}
	if c.Times.Idle == 0 {
		c.Times.Idle = min(defaultIdle, c.Times.Silence)
	}
	c.Tries = cmp.Or(c.Tries, tries)
	transport := cmp.Or(c.Transport, http.DefaultTransport)
	if c.Through != nil {
		transport = c.Through(transport)
	}
	m := &Model{wire: wire{
		Config: c, sent: &encoded{}, streams: &atomic.Int32{}, client: &http.Client{Transport: transport, CheckRedirect: stay},
	}}
	switch c.API {
	case Messages:
		m.answer = messages{m.wire}.answer
	case Responses:
		m.answer = responses{m.wire}.answer
	case Chat:
		m.answer = chat{m.wire}.answer
	default:
		return nil, fmt.Errorf("model %s: there is no API %q", m.wire.Name(), c.API)
	}
	return m, nil
}

// stay keeps a client from following redirects, which would take the key to another host.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Name returns the provider and the model, as in "anthropic/claude-sonnet-4-5". Thinking in
// a transcript carries it, so that it goes back to no other model.
func (c Config) Name() string { return c.Provider + "/" + c.Model }

// Describe implements agent.Described.
func (m *Model) Describe() (name string, window int64) { return m.wire.Name(), m.wire.Window }

// Raise implements agent.Raiser. A limit that the spec gives is not raised.
func (m *Model) Raise() (agent.Model, bool) {
	if m.wire.MaxOutput > 0 {
		return nil, false
	}
	c := m.wire.Config
	c.MaxOutput = raisedOutput
	raised, err := New(c)
	return raised, err == nil
}

// Generate implements agent.Model. A key that a server repeats in an error is replaced,
// because errors go to the journal and to hooks.
//
// It tries again after errors that may pass, and fails
// with an *agent.LimitError if the provider asks for a longer wait than LongWait. The tokens of
// tries that failed are counted, as far as the provider has reported them; so an error, too,
// comes with a Response.
func (m *Model) Generate(ctx context.Context, req agent.Request) (agent.Response, error) {
	var lost agent.Usage // of the tries that failed
	if req.Draft == nil {
		req.Draft = agent.Unseen{}
	}
	if req.Say == nil {
		req.Say = func(string) {}
	}
	for n := 1; ; n++ {
		resp, err := m.answer(ctx, req)
		if err == nil {
			resp.Usage = resp.Usage.Plus(lost)
			return resp, nil
		}
		req.Draft.Withdraw()
		resp.Usage.FailedTokens = resp.Usage.Total()
		lost = lost.Plus(resp.Usage)
		nothing := agent.Response{Usage: lost}
		var f *failure
		switch {
		case ctx.Err() != nil:
			return nothing, ctx.Err()
		case !errors.As(err, &f):
			return nothing, err
		}
		if agent.HaveImages(req.Messages) {
			f.refusesImage(m.wire)
		}
		m.redact(f)
		if f.wait > m.wire.Times.LongWait {
			return nothing, &agent.LimitError{Until: time.Now().Add(f.wait), Text: f.Message}
		}
		if !f.again || n == m.wire.Tries {
			return nothing, &f.APIError
		}
		if err := agent.Sleep(ctx, max(m.pause(n), f.wait)); err != nil {
			return nothing, err
		}
	}
}

// redact removes the key from what a server has said.
func (m *Model) redact(f *failure) {
	if key, err := m.wire.Key(); err == nil && key != "" {
		f.Message, f.Details = strings.ReplaceAll(f.Message, key, "(key)"), strings.ReplaceAll(f.Details, key, "(key)")
	}
}

// pause returns how long to wait after the nth try. It is random, so that many members
// do not try again at the same time.
func (m *Model) pause(n int) time.Duration {
	longest := min(m.wire.Times.FirstWait<<(n-1), m.wire.Times.LongWait)
	return longest/2 + rand.N(longest/2+1)
}

// estimate returns the usage of an answer that the API has not counted: a token for each
// four characters, which is near enough for English and code. It counts too little for
// most other languages.
func estimate(req agent.Request, blocks []agent.Block) agent.Usage {
	return agent.Usage{
		Estimated: true, InputTokens: (req.Size() + 3) / 4, OutputTokens: (agent.BlocksSize(blocks) + 3) / 4,
	}
}
