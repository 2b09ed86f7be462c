package modelapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/tmaxmax/go-sse"
)

// Limits of what a server may send.
const (
	maxEvent = 64 << 20 // bytes of one event of a stream
	maxError = 64 << 10 // bytes of an error's body
)

// wire makes requests to one server. It follows no redirects and retries nothing: what a
// failed request means is decided by Model.
type wire struct {
	Config
	sent    *encoded      // the conversation of the last request
	streams *atomic.Int32 // how many streams in a row broke
	client  *http.Client
}

// maxBroken is how many streams in a row may break before the host is asked for whole answers.
const maxBroken = 2

// answering takes an answer of an API.
type answering interface {
	// see takes the data of one event, and reports whether the answer is complete.
	see(data []byte) (complete bool, err error)
	// unfold returns a whole answer as events.
	unfold(data []byte) [][]byte
}

// The causes of the end of a request whose server sends nothing, and of one that has no
// connection.
var (
	errSilent      = errors.New("the server sent nothing")
	errUnconnected = fmt.Errorf("there is no connection after %s", connectTime)
)

// connectTime bounds the time to a connection, because a network that swallows packets would
// keep people waiting for half a minute and more at each try.
const connectTime = 10 * time.Second

// stream posts a request and passes the data of each event of the answer to a, until that
// reports that the answer is complete. A stream that ends before is cut off. Its error is
// a *failure, or what a or the key's function returned. say tells people of a silent stream.
func (w wire) stream(ctx context.Context, path string, body object, conversation payload, a answering, say func(string)) error {
	whole := w.streams.Load() >= maxBroken
	if whole {
		body["stream"] = false
		delete(body, "stream_options")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(w.Times.Silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	unconnected := time.AfterFunc(connectTime, func() { cancel(errUnconnected) })
	defer unconnected.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { unconnected.Stop() }})
	resp, err := w.send(ctx, http.MethodPost, path, fill(body, conversation))
	unconnected.Stop() // not every transport reports connections
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		if whole { // it may be the reason
			w.streams.Store(0)
		}
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		return w.refused(resp, said)
	}
	switch kind := contentType(resp); {
	case whole && kind == "application/json":
		return w.readWhole(ctx, resp.Body, a)
	case kind != "text/event-stream":
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		return w.noAnswer("a stream", kind, said)
	}
	quiet := time.AfterFunc(w.Times.Silence, func() {
		say(fmt.Sprintf("%s: nothing came for %s in the middle of an answer; after %s the request is made again",
			w.Name(), w.Times.Idle/3, w.Times.Idle))
	})
	defer quiet.Stop()
	broken := func(err error) error {
		w.streams.Add(1)
		return w.broken(ctx, err)
	}
	events := sse.Read(&watched{resp.Body, alarm, quiet, w.Times.Idle}, &sse.ReadConfig{MaxEventSize: maxEvent})
	for e, err := range events {
		if err != nil {
			return broken(err)
		}
		if complete, err := a.see([]byte(e.Data)); complete || err != nil {
			w.streams.Store(0)
			return err
		}
	}
	return broken(io.ErrUnexpectedEOF)
}

// readWhole takes an answer that is not streamed.
func (w wire) readWhole(ctx context.Context, body io.Reader, a answering) error {
	data, err := io.ReadAll(io.LimitReader(body, maxEvent))
	if err != nil {
		return w.broken(ctx, err)
	}
	for _, event := range a.unfold(data) {
		if complete, err := a.see(event); complete || err != nil {
			return err
		}
	}
	return w.malformed(data, errors.New("it is not a whole answer"))
}

// send makes a request with the key, in the way of the API. The headers of the spec come
// last, so that they can replace covey's, such as its name, at hosts that want another one.
func (w wire) send(ctx context.Context, method, path string, body payload) (*http.Response, error) {
	key, err := w.Key()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.BaseURL+path, http.NoBody)
	if err != nil {
		return nil, w.unreachable(ctx, err)
	}
	if body != nil {
		req.ContentLength = body.size()
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.reader()), nil }
		req.Body, _ = req.GetBody()
	}
	if w.API == Messages {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case key == "":
	case w.API == Messages:
		req.Header.Set("X-Api-Key", key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "covey")
	for name, value := range w.Headers {
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.unreachable(ctx, err)
	}
	return resp, nil
}

// watched is a body whose every read puts off the alarm, and the notice that comes at a third of its
// time. Pings count as a sign of life: the provider sends them while a model thinks for minutes.
type watched struct {
	io.Reader
	alarm, quiet *time.Timer
	idle         time.Duration
}

func (r *watched) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.alarm.Reset(r.idle)
		r.quiet.Reset(r.idle / 3)
	}
	return n, err
}
