package view

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/coveyteam/covey/events"
)

var update = flag.Bool("update", false, "write the snapshots in testdata anew")

// TestSnapshotBytes holds the names of a snapshot's fields, which pages and reports read.
func TestSnapshotBytes(t *testing.T) {
	const path = "testdata/snapshot.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(fold(string(archive.Files[0].Data)), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		archive.Files[1].Data = got
		if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := string(archive.Files[1].Data); string(got) != want {
		t.Errorf("the snapshot is\n%s\nwant\n%s\nrun go test ./orchestrator/view -run TestSnapshotBytes -update", got, want)
	}
}

// day returns a journal of n lines of a team of this size: members work on their tasks, are
// refused, write to each other, and begin again.
func day(n, members int) []events.Line {
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprintf("m%d", i)
	}
	begin, _ := json.Marshal(names)
	lines := []events.Line{lineOf(1, `- team_started {"goal":"Ship it","members":`+string(begin)+`}`)}
	for round := 0; len(lines) < n; round++ {
		name := names[round%members]
		turn := round/members + 1
		task := fmt.Sprintf(`"task":{"id":"%d","subject":"Task %d","owner":"%s","blockedBy":["%d"],"description":"%s"`,
			round+1, round+1, name, round, strings.Repeat("words ", 20))
		for _, text := range []string{
			`member_started {"agent":"builtin/script"}`,
			`message {"id":"M%[1]d","from":"m0","to":"%[2]s","kind":"text","text":"Do task %[1]d","summary":"Do it"}`,
			`turn_started {"cause":"task","prompt":"Do task %[1]d"}`,
			`message_delivered {"id":"M%[1]d"}`,
			`task {"op":"claimed","by":"%[2]s",` + task + `,"status":"in_progress","epoch":1}}`,
			`pass_started {"pass":1}`,
			`text {"text":"I look at the files."}`,
			`tool_call {"id":"c%[1]d","name":"Bash","input":{"command":"go test ./..."}}`,
			`tool_result {"id":"c%[1]d","name":"Bash","content":"` + strings.Repeat("ok example.com/pkg 0.012s ", 40) + `"}`,
			`pass_started {"pass":2}`,
			`gate {"event":"Stop","tool_use_id":"s%[1]d"}`,
			`hook_started {"event":"Stop","tool_use_id":"s%[1]d","command":"./stop.sh"}`,
			`hook_finished {"event":"Stop","tool_use_id":"s%[1]d","command":"./stop.sh","outcome":"success","stdout":"fine"}`,
			`gate {"event":"TaskCompleted","tool_use_id":"t%[1]d","task_id":"%[1]d"}`,
			`hook_started {"event":"TaskCompleted","tool_use_id":"t%[1]d","command":"go test ./..."}`,
			`verdict {"task":"%[1]d","command":"go test ./...","tree":"abc%[1]d"}`,
			`hook_finished {"event":"TaskCompleted","tool_use_id":"t%[1]d","command":"go test ./...","outcome":"blocking","stderr":"FAIL"}`,
			`hook_feedback {"event":"TaskCompleted","tool_use_id":"t%[1]d","text":"FAIL","path":"turn_end","task_id":"%[1]d"}`,
			`request {"id":"r%[1]d","kind":"permission","member":"%[2]s","to":"operator","state":"open","text":"Bash"}`,
			`request {"id":"r%[1]d","kind":"permission","member":"%[2]s","to":"operator","state":"approved","by":"operator"}`,
			`task {"op":"completed","by":"%[2]s",` + task + `,"status":"completed","epoch":1}}`,
			`merge {"id":"%[1]d","member":"%[2]s","branch":"b","tasks":["%[1]d"],"state":"merged"}`,
			`turn_ended {"reason":"completed","usage":{"input_tokens":900,"output_tokens":90},"cost_usd":0.01}`,
			`idle {"reason":"available","last_text":"Done."}`,
		} {
			if turn > 1 && strings.HasPrefix(text, "member_started") {
				continue
			}
			kind, data, _ := strings.Cut(text, " ")
			if strings.Contains(data, "%[") {
				data = fmt.Sprintf(strings.ReplaceAll(data, "%[2]s", name), round+1)
			}
			data, _, _ = strings.Cut(data, "%!(EXTRA")
			l := lineOf(len(lines)+1, name+" "+kind+" "+data)
			l.Turn = turn
			lines = append(lines, l)
		}
	}
	return lines[:n]
}

// TestSnapshotBetween: folding a part of a journal, joining from its snapshot and folding the rest
// gives the same as folding all.
func TestSnapshotBetween(t *testing.T) {
	lines := day(500, 3)
	var whole State
	for _, l := range lines {
		whole.Apply(l.Event())
	}
	want := encoded(t, &whole)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		var first State
		for _, l := range lines[:at] {
			first.Apply(l.Event())
		}
		var second State
		if err := json.Unmarshal([]byte(encoded(t, &first)), &second); err != nil {
			t.Fatal(err)
		}
		for _, l := range lines[max(0, at-2):] { // a reader may get lines twice
			second.Apply(l.Event())
		}
		if got := encoded(t, &second); got != want {
			t.Fatalf("joined after line %d:\n%s\nwant\n%s", at, got, want)
		}
	})
}

// TestBounds: a day of a large team fits into a few megabytes, and a reader that joins when all
// lists are full has the same as one that was there.
func TestBounds(t *testing.T) {
	var s, joined State
	lines := day(40_000, 200)
	for i, l := range lines {
		if i == len(lines)-9000 {
			if err := json.Unmarshal([]byte(encoded(t, &s)), &joined); err != nil {
				t.Fatal(err)
			}
		}
		s.Apply(l.Event())
		if joined.Seq > 0 {
			joined.Apply(l.Event())
		}
	}
	if n := len(s.Turns); n < maxTurns || n > maxTurns*5/4 || s.Dropped.Turns == 0 || s.Dropped.Gates == 0 || s.Dropped.Mail == 0 {
		t.Errorf("%d turns, dropped %+v", n, s.Dropped)
	}
	text := encoded(t, &s)
	if len(text) > 8<<20 {
		t.Errorf("a snapshot of %d bytes", len(text))
	}
	if encoded(t, &joined) != text {
		t.Error("the reader that joined has another State")
	}
}

// BenchmarkApply folds a day of a team of 200 members: 100,000 lines.
func BenchmarkApply(b *testing.B) {
	lines := day(100_000, 200)
	b.ReportAllocs()
	for b.Loop() {
		var s State
		for _, l := range lines {
			s.Apply(l.Brief())
		}
	}
}

// FuzzApply: whatever a line holds, a fold goes on, and its snapshot can be joined.
func FuzzApply(f *testing.F) {
	for i, l := range day(200, 3) {
		f.Add(uint64(i), l.Member, l.Type, []byte(l.Data), int64(l.Turn))
	}
	f.Add(uint64(9), "", "task", []byte(`{"op":"created","task":{"id":"1","metadata":{"a":1}}}`), int64(-1))
	f.Fuzz(func(t *testing.T, seq uint64, member, kind string, data []byte, at int64) {
		s := fold(atWork)
		l := events.Line{Seq: seq, Time: time.Unix(at%1e9, 0), Member: member, Type: kind, Data: data}
		s.Apply(l.Event())
		s.Apply(lineOf(int(s.Seq%1e9)+1, `ana.1 turn_ended {}`).Event())
		s.Needs()
		s.Statuses()
		before := encoded(t, s)
		s.Apply(l.Event())
		if l.Seq <= s.Seq && l.Seq != 1 && encoded(t, s) != before {
			t.Fatal("a line counted twice")
		}
		var joined State
		if err := json.Unmarshal([]byte(before), &joined); err != nil {
			t.Fatal(err)
		}
		joined.Apply(lineOf(int(joined.Seq%1e9)+1, `ana.2 turn_started {}`).Event())
	})
}
