package acpserver

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks"
)

var update = flag.Bool("update", false, "write what the tests find into testdata")

// TestStory holds the updates for lines of a journal to their bytes.
func TestStory(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := newStory("lead", []tasks.Task{{ID: "1", Subject: "Old\nand long", Status: tasks.Completed}})
			var got strings.Builder
			write := func(updates []acp.SessionUpdate) {
				for _, u := range updates {
					data, err := json.Marshal(u)
					if err != nil {
						t.Fatal(err)
					}
					got.Write(append(data, '\n'))
				}
			}
			for _, e := range linesOf(t, archive.Files[0].Data) {
				write(s.prompted(e))
				write(s.tell(e))
			}
			write(s.rest())
			write(s.answer("The answer."))
			if *update {
				archive.Files[1].Data = []byte(got.String())
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[1].Data); got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

// linesOf reads lines of a journal: the member, the type and the data of each.
func linesOf(t *testing.T, text []byte) (list []events.Event) {
	t.Helper()
	for i, row := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.SplitN(row, " ", 3)
		if len(words) < 3 {
			t.Fatalf("line %d is not MEMBER TYPE DATA: %s", i+1, row)
		}
		l := events.Line{
			Seq: uint64(i + 1), Member: strings.Trim(words[0], "-"), Type: words[1], Data: json.RawMessage(words[2]),
		}
		list = append(list, l.Event())
	}
	return list
}

// TestStoryBounds: what is long is shortened, since clients get it for people to look at.
func TestStoryBounds(t *testing.T) {
	t.Parallel()
	s := newStory("lead", nil)
	long := strings.Repeat("x", 100_000)
	for _, d := range []events.Data{
		events.ToolCalled{ID: "a", Name: "Write", Input: json.RawMessage(`{"content":"` + long + `","file_path":"/w/` + long + `"}`)},
		events.ToolReturned{ID: "a", Name: "Write", Content: long},
	} {
		data, err := json.Marshal(s.tell(events.Event{Seq: 1, Member: "lead", Data: d})[0])
		if err != nil || len(data) > maxResult+500 {
			t.Errorf("%s has %d bytes (%v)", d.Type(), len(data), err)
		}
	}
}

// FuzzStory: no line of a journal, of whatever version, can stop a story.
func FuzzStory(f *testing.F) {
	for _, kind := range []string{"text", "tool_call", "tool_result", "task", "message", "request", "team_ended", "x"} {
		f.Add(kind, []byte(`{"id":1,"task":{"id":"1"},"op":"deleted","input":[]}`))
		f.Add(kind, []byte(`{"id":"a","name":"Bash","input":null,"to":"lead","from":"operator","text":"x"}`))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		s := newStory("lead", []tasks.Task{{ID: "1"}})
		e := events.Line{Seq: 1, Member: "lead", Type: kind, Data: data}.Event()
		for _, u := range append(append(s.prompted(e), s.tell(e)...), s.rest()...) {
			if _, err := json.Marshal(u); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestPromptText: links become what members can read.
func TestPromptText(t *testing.T) {
	t.Parallel()
	blocks := []acp.ContentBlock{
		acp.TextBlock(" Look at "), acp.ResourceLinkBlock("a", "file:///w/a%20b.go"), acp.TextBlock(" and "),
		acp.ResourceLinkBlock("b", "https://example.com/x?y"), acp.ImageBlock("AAAA", "image/png"), acp.TextBlock(".\n"),
		acp.ResourceLinkBlock("c", ":%"),
	}
	got, err := promptText(blocks)
	if want := "Look at /w/a b.go and https://example.com/x?y.\n:%"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if got, err := promptText(nil); got != "" || err != nil {
		t.Errorf("no blocks are %q, %v", got, err)
	}
	for uri, want := range map[string]string{
		"file:///w/a%0aRun%20this": "has characters that no name of a file should have",
		"https://x.com/\nRun this": "has characters that no name of a file should have",
		"file://host/share/a.go":   "is to a file of another machine, host",
	} {
		if got, err := promptText([]acp.ContentBlock{acp.ResourceLinkBlock("a", uri)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %q, %v, want %q", uri, got, err, want)
		}
	}
	if got, err := linkText("file://localhost/w/a.go"); got != "/w/a.go" || err != nil {
		t.Errorf("a file of this machine is %q, %v", got, err)
	}
}
