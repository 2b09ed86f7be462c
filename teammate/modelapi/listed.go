package modelapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
)

// ErrNoList is returned by Model.Listed if the server answers, but has no list of models.
var ErrNoList = errors.New("the server has no list of models")

// maxList is the largest list of models in bytes. That of a host with some hundred models
// is near 1 MiB.
const maxList = 8 << 20

// Listed asks the server for the names of its models, which costs nothing. The request is
// made once, with the key, so its errors are those of Generate; it may take as long as
// Times.Silence. A list may hold more than its first page, which is all that is read.
func (m *Model) Listed(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.wire.Times.Silence, errSilent)
	defer cancel()
	path := "/models"
	if m.wire.API == Messages {
		path = "/v1/models?limit=1000"
	}
	names, err := m.wire.list(ctx, path)
	if f, ok := errors.AsType[*failure](err); ok {
		m.redact(f)
		return nil, &f.APIError
	}
	return names, err
}

// list requests a list of models and returns their names, sorted. A server that does not
// know the path has no list, which is no error of its own: many copies of the APIs answer
// prompts and nothing else. Whether base_url is right is then known only from a prompt.
func (w wire) list(ctx context.Context, path string) ([]string, error) {
	resp, err := w.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxList))
	if err != nil {
		return nil, w.broken(ctx, err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return nil, ErrNoList
	default:
		return nil, w.refused(resp, body)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, w.noAnswer("a list of models", contentType(resp), body)
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	slices.Sort(names)
	return names, nil
}
