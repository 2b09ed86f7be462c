package modelapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
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
	name    string // of the model, for errors
	api     API
	base    string
	key     func() (string, error)
	headers map[string]string
	silence time.Duration
	client  *http.Client
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

// stream posts a request and passes the data of each event of the answer to see, until it
// reports that the answer is complete. A stream that ends before is cut off. Its error is
// a *failure, or what see or the key's function returned.
func (w wire) stream(ctx context.Context, path string, body payload, see func(data []byte) (complete bool, err error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alarm := time.AfterFunc(w.silence, func() { cancel(errSilent) })
	defer alarm.Stop()
	unconnected := time.AfterFunc(connectTime, func() { cancel(errUnconnected) })
	defer unconnected.Stop()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { unconnected.Stop() }})
	resp, err := w.send(ctx, http.MethodPost, path, body)
	unconnected.Stop() // not every transport reports connections
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		return w.refused(resp, said)
	}
	if kind := contentType(resp); kind != "text/event-stream" {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, maxError))
		return w.noAnswer("a stream", kind, said)
	}
	events := sse.Read(&watched{resp.Body, alarm, w.silence}, &sse.ReadConfig{MaxEventSize: maxEvent})
	for e, err := range events {
		if err != nil {
			return w.broken(ctx, err)
		}
		if complete, err := see([]byte(e.Data)); complete || err != nil {
			return err
		}
	}
	return w.broken(ctx, io.ErrUnexpectedEOF)
}

// send makes a request with the key, in the way of the API. The headers of the spec come
// last, so that they can replace covey's, such as its name, at hosts that want another one.
func (w wire) send(ctx context.Context, method, path string, body payload) (*http.Response, error) {
	key, err := w.key()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, http.NoBody)
	if err != nil {
		return nil, w.unreachable(ctx, err)
	}
	if body != nil {
		req.ContentLength = body.size()
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(body.reader()), nil }
		req.Body, _ = req.GetBody()
	}
	if w.api == Messages {
		req.Header.Set("Anthropic-Version", "2023-06-01")
	}
	switch {
	case key == "":
	case w.api == Messages:
		req.Header.Set("X-Api-Key", key)
	default:
		req.Header.Set("Authorization", "Bearer "+key)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "covey")
	for name, value := range w.headers {
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, w.unreachable(ctx, err)
	}
	return resp, nil
}

// watched is a body whose every read puts off the alarm. Pings count as a sign of life: the
// provider sends them while a model thinks for minutes.
type watched struct {
	io.Reader
	alarm   *time.Timer
	silence time.Duration
}

func (r *watched) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.alarm.Reset(r.silence)
	return n, err
}
