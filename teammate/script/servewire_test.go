package script_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/coveyteam/covey/teammate/script"
)

var update = flag.Bool("update", false, "write the answers that the wire tests get into their files")

// serverOf returns a server for one script, with a fixed time.
func serverOf(tb testing.TB, text string) *script.Server {
	tb.Helper()
	return serverOfAll(tb, map[string]string{"demo": text})
}

func serverOfAll(tb testing.TB, texts map[string]string) *script.Server {
	tb.Helper()
	scripts := map[string]*script.Script{}
	for name, text := range texts {
		s, err := script.Parse(name+".yaml", []byte(text))
		if err != nil {
			tb.Fatal(err)
		}
		scripts[name] = s
	}
	server, err := script.NewServer(scripts, &script.ServerOptions{Now: func() time.Time { return time.Unix(1700000000, 0) }})
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// knock sends one request, without a connection.
func knock(server http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

// TestWire compares each API's answers with recorded bytes.
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/wire/*.txtar")
	if err != nil || len(files) < 4 {
		t.Fatalf("there are %d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { wire(t, file) })
	}
}

func wire(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	server := serverOf(t, string(archive.Files[0].Data))
	for i := 1; i+1 < len(archive.Files); i += 2 {
		first, body, _ := strings.Cut(string(archive.Files[i].Data), "\n")
		method, path, _ := strings.Cut(first, " ")
		w := knock(server, method, path, body)
		got := fmt.Appendf(nil, "%d %s\n%s", w.Code, w.Header().Get("Content-Type"), w.Body)
		response := &archive.Files[i+1]
		if *update {
			response.Data = got
		} else if !bytes.Equal(got, response.Data) {
			t.Errorf("%s: got\n%s\nwant\n%s", response.Name, got, response.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
