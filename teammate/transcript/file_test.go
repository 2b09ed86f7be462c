package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// openTranscript opens the transcript at path for a test.
func openTranscript(tb testing.TB, path string) (*File, History) {
	tb.Helper()
	tr, h, err := Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tr.Close() })
	return tr, h
}

// write appends lines to the transcript at path and closes it.
func write(tb testing.TB, path string, lines ...Line) {
	tb.Helper()
	tr, _ := openTranscript(tb, path)
	for _, ln := range lines {
		if err := tr.Append(ln); err != nil {
			tb.Fatal(err)
		}
	}
	if err := tr.Close(); err != nil {
		tb.Fatal(err)
	}
}

func started(turn int) Line {
	return Line{Type: SystemLine, Subtype: TurnStarted, Turn: turn, Cause: events.ByGoal, PromptID: "p"}
}

func ended(turn int) Line { return Line{Type: SystemLine, Subtype: TurnEnded, Turn: turn} }

func userSays(text string, ids ...string) Line {
	in := []agent.Input{{Kind: agent.FromMail, Text: text}}
	for _, id := range ids {
		in = append(in, agent.Input{Kind: agent.FromMail, MessageID: id})
	}
	return LineOf(agent.Record{Message: agent.TextMessage(agent.User, text), Inputs: in})
}

func modelSays(text string, calls ...string) Line {
	m := agent.TextMessage(agent.Assistant, text)
	for _, id := range calls {
		m.Content = append(m.Content, agent.Block{Type: agent.ToolUseBlock, ID: id, Name: "Bash",
			Input: json.RawMessage(`{}`)})
	}
	return LineOf(agent.Record{Message: m, Usage: agent.Usage{InputTokens: 2, OutputTokens: 1}})
}

func result(ids ...string) Line {
	m := agent.Message{Role: agent.User}
	for _, id := range ids {
		m.Content = append(m.Content, agent.Block{Type: agent.ToolResultBlock, ToolUseID: id, Content: "ok"})
	}
	return LineOf(agent.Record{Message: m})
}

// The bytes are what hook scripts of other hosts look for with grep and jq.
func TestTranscriptLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	step := 3
	write(t, path,
		Line{Type: UserLine, SessionID: "s", Cwd: "/w", Turn: 1, Message: &agent.Message{Role: agent.User,
			Content: []agent.Block{{Type: agent.TextBlock, Text: "a <b> & \"c\"\n"}}}},
		func() Line {
			ln := LineOf(agent.Record{Step: &step, Usage: agent.Usage{InputTokens: 5},
				Message: agent.Message{Role: agent.Assistant, Content: []agent.Block{
					{Type: agent.ToolUseBlock, ID: "c1", Name: "Bash",
						Input: json.RawMessage("{\n  \"command\": \"a && b\" }")},
					{Type: agent.ToolUseBlock, ID: "c2", Name: "Bash", Input: json.RawMessage(`{"command": "cut o`)},
					{Type: agent.ToolUseBlock, ID: "c3", Name: "Bash"},
				}}})
			ln.SessionID, ln.Cwd = "s", "/w"
			return ln
		}(),
		result("c1"), Line{Type: UserLine, Message: &agent.Message{Role: agent.User, Content: []agent.Block{
			{Type: agent.ToolResultBlock, ToolUseID: "c2"}, {Type: agent.ToolResultBlock, ToolUseID: "c3",
				Content: "bad", IsError: true},
		}}},
		LineOf(agent.Record{Message: agent.Message{Role: agent.Assistant}}))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"a <b> & \"c\"\n"}]},` +
			`"uuid":"U1","parentUuid":null,"sessionId":"s","timestamp":"T","cwd":"/w","format":1,"turn":1}`,
		`{"type":"assistant","message":{"role":"assistant","content":[` +
			`{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"a && b"}},` +
			`{"type":"tool_use","id":"c2","name":"Bash","input":"{\"command\": \"cut o"},` +
			`{"type":"tool_use","id":"c3","name":"Bash","input":{}}]},` +
			`"uuid":"U2","parentUuid":"U1","sessionId":"s","timestamp":"T","cwd":"/w","format":1,"step":3,` +
			`"usage":{"input_tokens":5,"output_tokens":0}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]},` +
			`"uuid":"U3","parentUuid":"U2","sessionId":"","timestamp":"T","cwd":"","format":1}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":""},` +
			`{"type":"tool_result","tool_use_id":"c3","content":"bad","is_error":true}]},` +
			`"uuid":"U4","parentUuid":"U3","sessionId":"","timestamp":"T","cwd":"","format":1}`,
		`{"type":"assistant","message":{"role":"assistant","content":[]},` +
			`"uuid":"U5","parentUuid":"U4","sessionId":"","timestamp":"T","cwd":"","format":1}`,
	}
	equal(t, "lines", plainLines(t, data), want)
}

// plainLines are the lines of a transcript, with plain ids and times.
func plainLines(t *testing.T, data []byte) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var plain []string
	for i, raw := range lines {
		var ln Line
		if err := json.Unmarshal([]byte(raw), &ln); err != nil {
			t.Fatalf("line %d: %v: %s", i+1, err, raw)
		}
		plain = append(plain, ln.UUID, fmt.Sprintf("U%d", i+1), ln.Timestamp, "T")
	}
	replace := strings.NewReplacer(plain...)
	for i := range lines {
		lines[i] = replace.Replace(lines[i])
	}
	return lines
}

func TestHistory(t *testing.T) {
	refused := userSays("feedback")
	refused.Refusals = 2
	twoCalls := modelSays("two", "a", "b")
	tests := map[string]struct {
		lines []Line
		want  Cut // Turn 0: no turn was cut off
		kept  []string
	}{
		"empty":         {},
		"ended":         {lines: []Line{started(1), userSays("go"), modelSays("done"), ended(1)}},
		"no prompt yet": {lines: []Line{started(1)}},
		"prompt":        {lines: []Line{started(1), userSays("go")}, want: Cut{Turn: 1, Point: CutAtPrompt}},
		"one call of two": {lines: []Line{started(1), userSays("go"), twoCalls, result("a")},
			want: Cut{Turn: 1, Point: CutAtTools, Passes: 1, LastText: "two",
				Open: []agent.ToolCall{{ID: "b", Name: "Bash", Input: json.RawMessage(`{}`)}}}},
		"calls answered": {lines: []Line{started(1), userSays("go"), twoCalls, result("b"), result("a")},
			want: Cut{Turn: 1, Point: CutAtPrompt, Passes: 1, LastText: "two"}},
		"before the gates": {lines: []Line{started(4), userSays("go"), modelSays("done")},
			want: Cut{Turn: 4, Point: CutAtGates, Passes: 1, LastText: "done"}},
		"after a refusal": {lines: []Line{started(1), userSays("go"), modelSays("done"), refused},
			want: Cut{Turn: 1, Point: CutAtPrompt, Passes: 1, LastText: "done", Refusals: 2, Refused: true}},
		"a call after a refusal": {lines: []Line{started(1), userSays("go"), modelSays("done"), refused,
			modelSays("x", "a"), result("a")},
			want: Cut{Turn: 1, Point: CutAtPrompt, Passes: 2, LastText: "x", Refused: true}},
		"kept": {lines: []Line{started(1), userSays("go"), ended(1), {Type: SystemLine, Subtype: InputsKept,
			Inputs: []agent.Input{{Kind: agent.FromPerson, Text: "held",
				MessageID: "m9"}}}, started(2)}, kept: []string{"held"}},
		"kept and shown": {lines: []Line{{Type: SystemLine, Subtype: InputsKept,
			Inputs: []agent.Input{{Text: "held"}}},
			started(2), userSays("held, go"), ended(2)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			write(t, path, test.lines...)
			_, h := openTranscript(t, path)
			equal(t, "cut off", h.Cut != nil, test.want.Turn > 0)
			if h.Cut != nil {
				test.want.Cause, test.want.PromptID = events.ByGoal, "p"
				if test.want.Open == nil {
					test.want.Open = []agent.ToolCall{}
				}
				h.Cut.Open = append([]agent.ToolCall{}, h.Cut.Open...)
				equal(t, "cut", *h.Cut, test.want)
			}
			equal(t, "kept", keptTexts(h), test.kept)
		})
	}
}

func keptTexts(h History) (texts []string) {
	for _, in := range h.Kept {
		texts = append(texts, in.Text)
	}
	return texts
}

func TestHistorySums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	step := 2
	served := modelSays("x")
	served.Step = &step
	write(t, path, started(7), userSays("go", "m1", "m2"), served, served, ended(7),
		Line{Type: "from-a-later-version"}, Line{Type: SystemLine, Subtype: "unknown"})
	_, h := openTranscript(t, path)
	equal(t, "turns", h.Turns, 7)
	equal(t, "steps", h.Steps, map[int]int{2: 2})
	equal(t, "delivered", len(h.Delivered), 2)
	equal(t, "usage", h.Usage, agent.Usage{InputTokens: 4, OutputTokens: 2})
	equal(t, "messages", len(h.Messages), 3)
}

// What a crash or a power cut leaves at the end is cut off; what follows goes
// on cleanly.
// A compaction begins the conversation anew in one line, so that a crash leaves either the old
// one or the new one. What was used and delivered before it still counts.
func TestCompactedHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	step := 7
	summary := SummaryOf(agent.Compaction{
		Trigger: "auto", Message: agent.TextMessage(agent.User, "the summary"), Before: 900, After: 10,
		Step: &step, Usage: agent.Usage{InputTokens: 100},
	})
	write(t, path, started(1), userSays("go", "m1"), modelSays("I look.", "c1"), result("c1"), summary)
	_, h := openTranscript(t, path)
	if len(h.Messages) != 1 || h.Messages[0].Text() != "the summary" {
		t.Errorf("the conversation is %+v", h.Messages)
	}
	if !h.Delivered["m1"] || h.Steps[7] != 1 || h.Usage.InputTokens < 100 || h.Cut == nil || h.Cut.Point != CutAtPrompt || h.Turns != 1 {
		t.Errorf("%+v, cut %+v", h, h.Cut)
	}
	// Without the summary's line nothing is lost.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := data[:len(data)-20]
	if err := os.WriteFile(path, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, h := openTranscript(t, path); len(h.Messages) != 3 {
		t.Errorf("after a torn summary: %+v", h.Messages)
	}
}

func TestTornEnd(t *testing.T) {
	for name, torn := range map[string]string{
		"half a line":         `{"type":"user","mess`,
		"a line without end":  `{"type":"user","message":{"role":"user","content":[]},"uuid":"u"}`,
		"zeros":               strings.Repeat("\x00", 600) + "\n" + strings.Repeat("\x00", 9),
		"several lines of it": "\x00\x00\n{\"a\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			write(t, path, started(1), userSays("go"))
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, append(slices.Clip(whole), torn...), 0o600); err != nil {
				t.Fatal(err)
			}
			write(t, path, modelSays("done"))
			_, h := openTranscript(t, path)
			equal(t, "messages", len(h.Messages), 2)
			equal(t, "point", h.Cut.Point, CutAtGates)
		})
	}
}

func TestDamagedTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	write(t, path, started(1), userSays("go"), modelSays("done"))
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	for name, broken := range map[string][]byte{
		"in the middle":    slices.Concat(lines[0], []byte("garbage\n"), lines[1]),
		"not a transcript": []byte("name: crew\ngoal: work\n"),
	} {
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
		after, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(after, broken) {
			t.Errorf("%s: the file was changed: %q, %v", name, after, err)
		}
	}
}

// Lines of tens of megabytes come through whole.
// A transcript of a newer covey is neither read as ours nor changed, also where a field has
// another type or the last line is torn.
func TestNewerTranscript(t *testing.T) {
	for name, newer := range map[string]string{
		"a new type":      `{"type":"new","uuid":"u","format":2}` + "\n",
		"another field":   `{"type":"user","turn":"one","format":2}` + "\n",
		"before a tear":   `{"type":"user","format":2}` + "\n" + `{"type":"us`,
		"before old ones": `{"type":"user","format":2}` + "\n" + `{"type":"user","format":1}` + "\n",
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		write(t, path, started(1), userSays("go"))
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		whole := slices.Concat(old, []byte(newer))
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		const want = "line 3 was written by a newer covey; update covey (format 2, this one reads up to 1)"
		for _, read := range []func() error{
			func() error { _, _, err := Open(path); return err },
			func() error { _, err := ReadHistory(path); return err },
		} {
			if err := read(); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), path+": "+want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		after, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(after, whole) {
			t.Errorf("%s: the file was changed: %q, %v", name, after, err)
		}
	}
}

func TestBigLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	big := strings.Repeat("0123456789abcdef", 2<<20) // 32 MiB
	write(t, path, started(1), userSays(big), modelSays("ok"))
	_, h := openTranscript(t, path)
	if got := h.Messages[0].Content[0].Text; got != big {
		t.Errorf("%d bytes came back of %d", len(got), len(big))
	}
}

func TestInvalidUTF8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	write(t, path, userSays("a\xffb"))
	_, h := openTranscript(t, path)
	equal(t, "text", h.Messages[0].Content[0].Text, "a\uFFFDb")
}

// fullDisk is a file on a disk with room for a few bytes more.
type fullDisk struct {
	Disk
	room int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if len(p) <= f.room {
		return f.Disk.Write(p)
	}
	n, err := f.Disk.Write(p[:f.room])
	return n, errors.Join(err, syscall.ENOSPC)
}

// A line that could be written only in part is taken back.
func TestPartialWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr, _ := openTranscript(t, path)
	if err := tr.Append(userSays("one")); err != nil {
		t.Fatal(err)
	}
	file := tr.file
	for _, room := range []int{0, 1, 40} {
		tr.file = &fullDisk{file, room}
		if err := tr.Append(userSays("two")); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	tr.file = file
	if err := tr.Append(userSays("three")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // twice is fine
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Append(userSays("four")); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if err := tr.Sync(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	_, h := openTranscript(t, path)
	equal(t, "messages", len(h.Messages), 2)
	equal(t, "last", h.Messages[1].Text(), "three")
}

func TestOpenTranscriptErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"folder is a file": filepath.Join(dir, "file", "t.jsonl"),
		"is a folder":      dir,
	} {
		if _, _, err := Open(path); err == nil || !strings.HasPrefix(err.Error(), "transcript: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever lies in the file: no panic, and what was read once reads the same
// again, with a new line behind it.
func FuzzTranscript(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.jsonl")
	write(f, path, started(1), userSays("go", "m1"), modelSays("x", "a", "b"), result("a"), ended(1),
		Line{Type: SystemLine, Subtype: InputsKept, Inputs: []agent.Input{{Text: "k"}}})
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(append(slices.Clone(seed), `{"type":"us`...))
	f.Add([]byte("\n\x00\n{}\n"))
	f.Add([]byte(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result"}]}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := readTranscript(bytes.NewReader(data))
		if err != nil {
			return
		}
		h := p.history()
		mark := []byte(`{"type":"system","subtype":"mark","uuid":"u"}` + "\n")
		again, err := readTranscript(bytes.NewReader(slices.Concat(data[:p.end], mark)))
		if err != nil {
			t.Fatalf("after one more line: %v", err)
		}
		h2 := again.history()
		equal(t, "last", again.last, "u")
		equal(t, "messages", len(h2.Messages), len(h.Messages))
		equal(t, "cut", h2.Cut != nil, h.Cut != nil)
		equal(t, "kept", len(h2.Kept), len(h.Kept))
	})
}

// A transcript is complete for other readers as soon as append returns.
func TestAppendIsOneWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	tr, _ := openTranscript(t, path)
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for i := range 50 {
		if err := tr.Append(userSays(strings.Repeat("x", i*1000))); err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(reader)
		if err != nil || bytes.Count(data, []byte("\n")) != 1 || !bytes.HasSuffix(data, []byte("\n")) {
			t.Fatalf("line %d is not there whole: %d bytes, %v", i, len(data), err)
		}
	}
}

// BenchmarkOpenTranscript measures reading a long history: 10,000 messages.
func BenchmarkOpenTranscript(b *testing.B) {
	path := filepath.Join(b.TempDir(), "t.jsonl")
	var lines []Line
	for range 5000 {
		lines = append(lines, modelSays("working", "a"), result("a"))
	}
	write(b, path, lines...)
	for b.Loop() {
		tr, h, err := Open(path)
		if err != nil || len(h.Messages) != 10_000 {
			b.Fatal(err)
		}
		tr.Close()
	}
}
func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want)
	if g != w {
		t.Errorf("%s:\n got %s\nwant %s", what, g, w)
	}
}
