package recordings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// Transport returns a transport that records what next answers, or answers from the recording and
// never uses next. Of a nil lane it is next.
func (l *Lane) Transport(next http.RoundTripper) http.RoundTripper {
	if l == nil {
		return next
	}
	return transport{l, next}
}

// transport is Lane.Transport.
type transport struct {
	lane *Lane
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	m, err := asked(r.Method, r.URL, body)
	if err != nil {
		return nil, err
	}
	if t.lane.Replays() {
		x, err := t.lane.find(r.Context(), m)
		if err != nil {
			return nil, err
		}
		return x.Answer.response(r), nil
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	taken := t.lane.begin(m)
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		taken.answered(Answer{})
		taken.end(err.Error())
		return nil, err
	}
	taken.answered(Answer{Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Wait: resp.Header.Get("Retry-After")})
	resp.Body = &recordedBody{ReadCloser: resp.Body, take: taken}
	return resp, nil
}

// readBody reads and closes the body of a request.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r.Body, script.MaxRequest+1))
	if err == nil && len(body) > script.MaxRequest {
		err = fmt.Errorf("the request is larger than %d MiB", script.MaxRequest>>20)
	}
	return body, err
}

// asked returns the meaning of a request. One that does not ask a model, such as for the list of
// models, means its path and its body.
func asked(method string, u *url.URL, body []byte) (Meaning, error) {
	if api, ok := script.APIOf(method, u.Path); ok {
		a, err := api.Read(body)
		if err != nil {
			return Meaning{}, &agent.APIError{Type: "invalid_request", Message: err.Error()}
		}
		return meaningOf(api.Name, a.Model, a.System, a.Messages), nil
	}
	m := Meaning{API: "http", Items: []Item{{Role: "path", Text: method + " " + u.Path}}}
	if len(body) > 0 {
		m.Items = append(m.Items, Item{Role: "body", Text: string(body)})
	}
	return m, nil
}

// response returns an answer as a response to a request.
func (a Answer) response(r *http.Request) *http.Response {
	var body bytes.Buffer
	for _, e := range a.Events {
		body.Write(e.Data)
	}
	resp := &http.Response{
		StatusCode: a.Status, Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		ContentLength: int64(body.Len()), Body: io.NopCloser(&body),
	}
	if a.Type != "" {
		resp.Header.Set("Content-Type", a.Type)
	}
	if a.Wait != "" {
		resp.Header.Set("Retry-After", a.Wait)
	}
	if a.Broken != "" {
		resp.ContentLength = -1
		resp.Body = io.NopCloser(io.MultiReader(&body, failing{}))
	}
	return resp
}

// failing is the end of an answer that broke.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// recordedBody records a body as it is read.
type recordedBody struct {
	io.ReadCloser
	take *take
	once sync.Once
}

// Read implements io.Reader.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.take.add(p[:n])
	}
	switch {
	case errors.Is(err, io.EOF):
		b.end("")
	case err != nil:
		b.end(err.Error())
	}
	return n, err
}

// Close implements io.Closer.
func (b *recordedBody) Close() error {
	b.end("")
	return b.ReadCloser.Close()
}

// end records the end of the body. Clients often stop to read at the last event of a stream.
func (b *recordedBody) end(broken string) { b.once.Do(func() { b.take.end(broken) }) }

// Model returns a model that records what next answers, or answers from the recording. It is for models
// without HTTP. Of a nil lane it is next.
func (l *Lane) Model(next agent.Model) agent.Model {
	if l == nil {
		return next
	}
	return model{l, next}
}

// model is Lane.Model.
type model struct {
	lane *Lane
	next agent.Model
}

// Describe implements agent.Described.
func (m model) Describe() (name string, window int64) { return agent.Describe(m.next) }

// modelAPI is the API of models without HTTP.
const modelAPI = "model"

// said is what such a model has answered.
type said struct {
	Response agent.Response  `json:"response"`
	Error    *agent.APIError `json:"error,omitempty"`
}

// Generate implements agent.Model.
func (m model) Generate(ctx context.Context, req agent.Request) (agent.Response, error) {
	name, _ := m.Describe()
	meaning := meaningOf(modelAPI, name, req.System, req.Messages)
	if m.lane.Replays() {
		x, err := m.lane.find(ctx, meaning)
		if err != nil {
			return agent.Response{}, err
		}
		return x.Answer.said()
	}
	taken := m.lane.begin(meaning)
	taken.answered(Answer{Type: "application/json"})
	resp, err := m.next.Generate(ctx, req)
	s := said{Response: resp}
	broken := ""
	if err != nil && !errors.As(err, &s.Error) {
		broken = err.Error()
	}
	taken.add(texts.Encode(s))
	taken.end(broken)
	return resp, err
}

// said returns the answer of a model without HTTP.
func (a Answer) said() (agent.Response, error) {
	var s said
	for _, e := range a.Events {
		if err := json.Unmarshal(e.Data, &s); err != nil {
			return agent.Response{}, fmt.Errorf("%w: an answer: %w", ErrRecording, err)
		}
	}
	switch {
	case s.Error != nil:
		return s.Response, s.Error
	case a.Broken != "":
		return s.Response, errors.New(a.Broken)
	}
	return s.Response, nil
}

// Asks describes how the models of a lane that is replayed are asked: by HTTP over one of the APIs of
// teammate/modelapi, or as a model without HTTP.
func (l *Lane) Asks() (api, model string, http bool) {
	for _, x := range l.known {
		if x.Asked.API != "http" {
			return x.Asked.API, x.Asked.Model, x.Asked.API != modelAPI
		}
	}
	return modelAPI, "", false
}
