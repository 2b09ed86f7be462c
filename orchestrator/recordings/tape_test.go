package recordings

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// host answers requests with what it has, one after the other.
type host struct {
	t       *testing.T
	answers []*http.Response
	asked   int
}

func (h *host) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	h.asked++
	a := h.answers[h.asked-1]
	a.Request = r
	return a, nil
}

// answer returns a response of a host.
func answer(status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}, "Retry-After": {"7"}, "Set-Cookie": {"session=1"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// ask asks a model, and returns the status and the whole answer.
func ask(t *testing.T, way http.RoundTripper, prompt string) (int, string, error) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":%q}]}`, prompt)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer secret-of-the-header")
	resp, err := way.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// mask hides the one secret of these tests.
func mask(text string) string { return texts.Mask(text, []string{"open-sesame-42"}) }

// makeTape records exchanges of a member, and returns the folder.
func makeTape(t *testing.T, prompts []string, answers ...*http.Response) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tape")
	tape, err := Record(dir, "1.2", mask, []Place{{"workspace", "/home/ana/shop"}})
	if err != nil {
		t.Fatal(err)
	}
	lane, err := tape.Lane("ana", Place{"dir", "/copies/ana"})
	if err != nil {
		t.Fatal(err)
	}
	way := lane.Transport(&host{t: t, answers: answers})
	for _, prompt := range prompts {
		if _, _, err := ask(t, way, prompt); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replayOf returns the lane of a recording that is replayed elsewhere.
func replayOf(t *testing.T, dir string) http.RoundTripper {
	t.Helper()
	tape, err := Replay(dir, mask, []Place{{"workspace", "/srv/shop"}})
	if err != nil {
		t.Fatal(err)
	}
	lane, err := tape.Lane("ana", Place{"dir", "/elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	return lane.Transport(nil)
}

// TestTape: an answer comes again byte for byte but for the paths of the machine, which stand in the first of their
// pieces, with its status; a request is
// found although ids, times and paths differ; those that mean the same are answered in their order.
func TestTape(t *testing.T) {
	const stream = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"see /copies/\"}}]}\n\n: ping\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ana/x of /home/ana/shop, open-sesame-42\"}}]}\r\n\r\ndata: [DONE]\n\n"
	prompt := func(dir, id, day string) string {
		return "In " + dir + " on " + day + " by 6f9619ff-8b86-d011-b42d-" + id + " with open-sesame-42"
	}
	first := prompt("/copies/ana", "00cf4fc964ff", "Saturday, November 28, 2026 at 20:10:45 UTC")
	dir := makeTape(t, []string{first, first, "no"}, answer(429, "application/json", `{"error":{"message":"slow"}}`),
		answer(200, "text/event-stream; charset=utf-8", stream), answer(502, "text/html", "<html>no\x00\xff</html>"))
	way := replayOf(t, dir)
	later := prompt("/elsewhere", "ffffffffffff", "Sun Nov 29 2026")
	for i, want := range []struct {
		status int
		body   string
	}{
		{429, `{"error":{"message":"slow"}}`},
		{200, strings.NewReplacer("see /copies/", "see /elsewhere/x of /srv/shop, [masked]", "ana/x of /home/ana/shop, open-sesame-42", "").Replace(stream)},
		{200, ""},
	} {
		status, body, err := ask(t, way, later)
		if err != nil || status != want.status || want.body != "" && strings.ReplaceAll(body, texts.Masked, "[masked]") != want.body {
			t.Errorf("request %d: %d %q, %v, want %q", i+1, status, body, err, want.body)
		}
	}
	if status, body, err := ask(t, way, "no"); status != 502 || body != "<html>no\x00\xff</html>" || err != nil {
		t.Errorf("a page: %d %q, %v", status, body, err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "ana"+Ext))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"secret-of-the-header", "open-sesame-42", "session=1", "/copies", "/home/ana"} {
		if strings.Contains(string(data), word) {
			t.Errorf("the file has %q", word)
		}
	}
	if !strings.Contains(string(data), `"retry_after":"7"`) {
		t.Error("the file does not have when to ask again")
	}
}

// TestTapeBroken: an answer that broke breaks again, and what a client has not read of an answer is not missed.
func TestTapeBroken(t *testing.T) {
	broken := answer(200, "text/event-stream", "")
	broken.Body = io.NopCloser(io.MultiReader(strings.NewReader("data: {\"half"), failing{}))
	dir := makeTape(t, []string{"a"}, broken)
	status, body, err := ask(t, replayOf(t, dir), "a")
	if status != 200 || body != "data: {\"half" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d %q, %v", status, body, err)
	}
}

// TestMiss: an unknown request fails for good, and its error names the nearest one and the first difference.
func TestMiss(t *testing.T) {
	dir := makeTape(t, []string{"Ship the changelog.", "Ship the docs."}, answer(200, "application/json", "{}"), answer(200, "application/json", "{}"))
	way := replayOf(t, dir)
	if _, _, err := ask(t, way, "Ship the changelog."); err != nil {
		t.Fatal(err)
	}
	_, _, err := ask(t, way, "Ship the dogs.")
	api, ok := errors.AsType[*agent.APIError](err)
	const want = `the recording of ana has no such request; the nearest is request 2 of 2: item 1 (a text of the user) has ` +
		`"Ship the dogs.", recorded was "Ship the docs."`
	if !ok || api.Message != want || api.End != "model_error" {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

// TestUnusable: what is wrong with a file is one line that names the place and the way out.
func TestUnusable(t *testing.T) {
	whole := makeTape(t, []string{"a", "b"}, answer(200, "application/json", "{}"), answer(200, "application/json", "{}"))
	data, err := os.ReadFile(filepath.Join(whole, "ana"+Ext))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	lines := strings.SplitAfter(text, "\n")
	without := func(n int) string { return strings.Join(append(append([]string{}, lines[:n]...), lines[n+1:]...), "") }
	for name, test := range map[string]struct{ text, want string }{
		"another version": {strings.Replace(text, `"covey_recording":2`, `"covey_recording":1`, 1), ":1: this covey reads version 2 of recordings, not 1; "},
		"no recording":    {"{}\n", ":1: it is not a recording of covey"},
		"empty":           {"", ":0: it is cut off after request 0; "},
		"cut off":         {text[:strings.LastIndex(text, `{"requests"`)], ": it is cut off after request 2; "},
		"cut in a line":   {text[:len(text)-20], ": it is cut off in the middle of a line; "},
		"a hole":          {without(5), ": it has a hole: an answer of request 2 stands where request 1 is; "},
		"half an answer":  {without(4), ": it has a hole before request 2; "},
		"edited":          {strings.Replace(text, `"text":"a"`, `"text":"A"`, 1), ": it was edited after it was recorded; "},
		"no JSON":         {strings.Replace(text, `{"event":1`, `{"event:1`, 1), ": it is not a line of a recording ("},
		"another key":     {strings.Replace(text, `{"event":1`, `{"evnt":1`, 1), ": it is not a line of a recording ("},
		"another name":    {strings.Replace(text, `"member":"ana"`, `"member":"ben"`, 1), ": it was edited"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ana"+Ext)
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Replay(dir, mask, nil)
			if !errors.Is(err, ErrRecording) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
			if n, checked := Check(dir, mask); n != 1 || checked == nil || checked.Error() != err.Error() {
				t.Errorf("checked: %d, %v", n, checked)
			}
		})
	}
	if _, err := Replay(t.TempDir(), mask, nil); !errors.Is(err, ErrRecording) || !strings.Contains(err.Error(), "covey up --record") {
		t.Errorf("an empty folder: %v", err)
	}
	if n, err := Check(filepath.Dir(whole), mask); n != 1 || err != nil {
		t.Errorf("a good one: %d, %v", n, err)
	}
}

// TestCheckKey: a key that came into a file is found before it is committed.
func TestCheckKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tape")
	tape, err := Record(dir, "", func(text string) string { return text }, nil)
	if err != nil {
		t.Fatal(err)
	}
	lane, err := tape.Lane("ana")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, lane.Transport(&host{t: t, answers: []*http.Response{answer(200, "text/plain", "open-sesame-42")}}), "a"); err != nil {
		t.Fatal(err)
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(dir, mask); err == nil || !strings.Contains(err.Error(), ":4: there is a key or a password in it") {
		t.Errorf("%v", err)
	}
}

// TestOrder: answers come in the order of the recording, whoever asks first, and a request that does not come is
// not waited for for ever.
func TestOrder(t *testing.T) {
	dir := t.TempDir()
	tape, err := Record(dir, "", mask, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ana", "ben"} {
		lane, err := tape.Lane(name)
		if err != nil {
			t.Fatal(err)
		}
		way := lane.Transport(&host{t: t, answers: []*http.Response{answer(200, "text/plain", name)}})
		if _, _, err := ask(t, way, "hi"); err != nil {
			t.Fatal(err)
		}
	}
	if err := tape.Close(); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func(asked func(name string), came func() string) string{
		"in order": func(asked func(string), came func() string) string {
			asked("ben")
			before := came()
			asked("ana")
			return before + "," + came()
		},
		"one alone": func(asked func(string), came func() string) string {
			asked("ben")
			before := came()
			time.Sleep(patience)
			return before + "," + came()
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inOrder(t, dir, ask) }) })
	}
}

// inOrder replays a recording. ask is given what asks for a member, and what returns who has been answered.
func inOrder(t *testing.T, dir string, do func(func(string), func() string) string) {
	tape, err := Replay(dir, mask, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var list []string
	got := do(func(name string) {
		go func() {
			lane, err := tape.Lane(name)
			if err != nil {
				t.Error(err)
				return
			}
			_, body, err := ask(t, lane.Transport(nil), "hi")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			list = append(list, body)
		}()
	}, func() string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(list) // both may be let out at once
		return strings.Join(list, " ")
	})
	if got != ",ana ben" && got != ",ben" {
		t.Errorf("before and after: %q", got)
	}
}
