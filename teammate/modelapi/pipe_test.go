package modelapi

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// pipe is a server in memory that says what script says, for tests of time.
type pipe func(say func(string), closed <-chan struct{})

func (p pipe) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	closed := make(chan struct{})
	go func() {
		p(func(text string) {
			if _, err := io.WriteString(out, text); err != nil {
				return
			}
		}, closed)
	}()
	go func() {
		<-r.Context().Done()
		close(closed)
		out.CloseWithError(r.Context().Err())
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: in, Request: r,
	}, nil
}

func readJSON(t testing.TB, r io.Reader, v any) {
	t.Helper()
	if err := json.NewDecoder(r).Decode(v); err != nil {
		t.Error(err)
	}
}
