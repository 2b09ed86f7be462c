//go:build unix

package builtin_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/builtin"
	"github.com/coveyteam/covey/teammate/modelapi"
	"github.com/coveyteam/covey/teammate/script"
)

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// TestImageError: over each API a member sees an image, also after a restart. If the API refuses it,
// the journal says so, and the next turns work, in the same life and in another. The journal never
// has the image itself.
func TestImageError(t *testing.T) {
	for _, api := range []modelapi.API{modelapi.Messages, modelapi.Responses, modelapi.Chat} {
		for _, refuses := range []bool{false, true} {
			t.Run(fmt.Sprint(api, refuses), func(t *testing.T) {
				var bodies []string
				m := newMember(t, []byte("steps: [{call: [{tool: Read, input: {file_path: pic}}]}, {say: Well., times: -1}]"))
				model, err := modelapi.New(modelapi.Config{
					Provider: "p", Model: "m", API: api, Key: func() (string, error) { return "", nil },
					BaseURL: serveImages(t, m.script, refuses, &bodies),
				})
				if err != nil {
					t.Fatal(err)
				}
				m.cut = func(o *teammate.Options) {
					var specs []agent.Spec
					for _, tool := range o.Tools {
						specs = append(specs, tool.Spec())
					}
					o.Agent, err = builtin.New(builtin.Options{Model: model, Tools: specs, History: o.History.Messages})
					if err != nil {
						t.Fatal(err)
					}
				}
				data, err := base64.StdEncoding.DecodeString(pixel)
				if err == nil {
					err = os.WriteFile(filepath.Join(m.dir, "pic"), data, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				m.work = []teammate.Work{{Cause: events.ByGoal, Inputs: []agent.Input{{Kind: agent.FromPerson, Text: "look"}}}}
				m.run(t, "go on")
				m.run(t, "and after a restart")
				ends := fmt.Sprint(all[events.TurnEnded](m))
				for i, body := range bodies {
					if got, want := strings.Contains(body, pixel), i == 1 || i > 1 && !refuses; got != want {
						t.Errorf("request %d has the image: %v", i, got)
					}
					if told := strings.Contains(body, "refused an image"); told != (refuses && i > 1) {
						t.Errorf("request %d says that the image was refused: %v", i, told)
					}
				}
				if errors := strings.Count(ends, events.EndImageError); len(bodies) != 4 || (errors == 1) != refuses || errors > 1 ||
					strings.Count(ends, events.EndCompleted) != 3-errors {
					t.Errorf("%d requests; the turns ended so: %s", len(bodies), ends)
				}
				journal, err := json.Marshal(m.events)
				if err != nil || bytes.Contains(journal, []byte(pixel[:40])) ||
					!bytes.Contains(journal, []byte("[image/png, 1x1 pixels, 1 kB]")) {
					t.Errorf("%v: the journal is %s", err, journal)
				}
			})
		}
	}
}

// serveImages plays a script over all APIs. It keeps the bodies of requests, and may refuse images. It
// returns its URL.
func serveImages(t *testing.T, s *script.Script, refuses bool, bodies *[]string) string {
	plays, err := script.NewServer(map[string]*script.Script{"m": s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*bodies = append(*bodies, string(body))
		if refuses && bytes.Contains(body, []byte(pixel)) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"type":"invalid_request_error","message":"Could not process image"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		plays.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
