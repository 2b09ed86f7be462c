package modelapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/teammate/agent"
)

var update = flag.Bool("update", false, "write the golden parts of testdata anew")

func TestMain(m *testing.M) {
	testkit.Begin(0)
	m.Run()
}

// recorded is a conversation with a server, as bytes.
type recorded struct {
	archive *txtar.Archive
	file    string
	config  Config
	req     agent.Request
}

// part returns a file of the archive.
func (r *recorded) part(name string) []byte {
	for _, f := range r.archive.Files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// golden compares a part of the archive with what is true, or writes it anew.
func (r *recorded) golden(t *testing.T, name string, have []byte) {
	t.Helper()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, have, "", "  "); err != nil {
		t.Fatalf("%s is not JSON: %v\n%s", name, err, have)
	}
	have = append(bytes.TrimSpace(pretty.Bytes()), '\n')
	if *update {
		for i := range r.archive.Files {
			if r.archive.Files[i].Name == name {
				r.archive.Files[i].Data = have
			}
		}
		writeFile(t, r.file, txtar.Format(r.archive))
		return
	}
	if want := r.part(name); !bytes.Equal(have, want) {
		t.Errorf("%s: %s is\n%s\nwant\n%s", r.file, name, have, want)
	}
}

// load reads a recording. Its config is for the server at base.
func load(t *testing.T, file, base string) *recorded {
	t.Helper()
	r := &recorded{archive: parse(t, file), file: file}
	var c struct {
		Provider, Model, API, Thinking string
		MaxOutput                      int
		Temperature                    *float64
	}
	decode(t, r.part("config"), &c)
	decode(t, r.part("request"), &r.req)
	r.config = Config{
		Provider: c.Provider, Model: c.Model, API: API(c.API), BaseURL: base, Key: keyOf("sk-test"), MaxOutput: c.MaxOutput,
		Thinking: c.Thinking, Temperature: c.Temperature, Headers: map[string]string{"X-Team": "covey"},
		Times: Times{FirstWait: time.Millisecond},
	}
	return r
}

func parse(t testing.TB, file string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

func keyOf(key string) func() (string, error) { return func() (string, error) { return key, nil } }

// recordings returns the files of testdata.
func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	return files
}

// TestWire holds requests and answers to recorded bytes.
func TestWire(t *testing.T) {
	for _, file := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			var r *recorded
			server := serve(t, func(w http.ResponseWriter, req *http.Request) {
				body, err := io.ReadAll(req.Body)
				if err != nil {
					t.Error(err)
				}
				if key := req.Header.Get("X-Api-Key") + req.Header.Get("Authorization"); !strings.Contains(key, "sk-test") {
					t.Error("the request has no key")
				}
				if req.Header.Get("X-Team") != "covey" {
					t.Error("the request lacks a header of the spec")
				}
				r.golden(t, "sent", body)
				stream(w, r.part("stream"))
			})
			r = load(t, file, server.URL)
			resp, err := generate(t, r.config, r.req)
			if err != nil {
				t.Fatal(err)
			}
			have, err := json.Marshal(resp)
			if err != nil {
				t.Fatal(err)
			}
			r.golden(t, "got", have)
		})
	}
}

// TestCutOffAnywhere cuts each recorded stream at the end of each event: an answer is whole,
// or the request is made again. Never is a part of an answer taken for the whole.
func TestCutOffAnywhere(t *testing.T) {
	for _, file := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			whole := load(t, file, "")
			events := bytes.SplitAfter(whole.part("stream"), []byte("\n\n"))
			for n := range len(events) {
				asked := 0
				server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					if asked++; asked == 1 {
						stream(w, bytes.Join(events[:n], nil))
					} else {
						stream(w, whole.part("stream"))
					}
				})
				c := whole.config
				c.BaseURL = server.URL
				resp, err := generate(t, c, whole.req)
				if err != nil {
					t.Fatalf("after %d events: %v", n, err)
				}
				have, err := json.Marshal(resp)
				if err != nil {
					t.Fatal(err)
				}
				complete := bytes.Contains(bytes.Join(events[:n], nil), []byte(`"finish_reason": "`)) || n >= len(events)-1
				var want, got agent.Response
				decode(t, whole.part("got"), &want)
				decode(t, have, &got)
				if asked == 1 && !complete {
					t.Errorf("after %d of %d events the answer counts as whole: %s", n, len(events), have)
				}
				want.Usage, got.Usage = agent.Usage{}, agent.Usage{} // chat servers send it last
				if !bytes.Equal(encode(want), encode(got)) {
					t.Errorf("after %d events: %s", n, have)
				}
				server.Close()
			}
		})
	}
}

// generate asks a model once.
func generate(t *testing.T, c Config, req agent.Request) (agent.Response, error) {
	t.Helper()
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m.Generate(t.Context(), req)
}

// serve starts a server on loopback.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// stream answers with bytes of a stream.
func stream(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if _, err := w.Write(data); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func decode(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}
