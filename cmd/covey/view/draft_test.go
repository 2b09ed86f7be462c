package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/cmd/covey/teamtest"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/lives"
)

// drafting is what members write after the line seq of the journal.
func drafting(seq uint64, drafts ...lives.Draft) lives.Drafting {
	return lives.Drafting{Number: seq, Seq: seq, Drafts: drafts}
}

// TestAttachFrames: testdata/drafts.txtar holds the screens of an attach during an answer.
func TestAttachFrames(t *testing.T) {
	p := pagerOf(46, 12, 1, 2)
	golden, err := txtar.ParseFile(filepath.Join("testdata", "drafts.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("One more line that is a bit long. ", 12)
	for i, do := range []func(){
		func() { p.log.SetDrafts(drafting(2, lives.Draft{Member: "api", Text: "I look"})) },
		func() {
			p.log.SetDrafts(drafting(2, lives.Draft{Member: "api", Text: "I look at \x1b[2J it\nand\tthink."},
				lives.Draft{Member: "api", Helper: "a0123456789", Text: " \n"}, lives.Draft{Member: "ben", Helper: "a0123456789", Text: "Me, too."}))
		},
		func() { p.log.SetDrafts(drafting(2, lives.Draft{Member: "api", Text: long, Cut: true})) },
		func() {
			for n := 3; n <= 10; n++ {
				p.add(NewRow(textLine(n).Event()))
			}
			p.log.SetDrafts(drafting(10, lives.Draft{Member: "api", Text: long, Cut: true}))
			press(p, "shift+up")
		},
		func() { press(p, "end") },
		func() { p.add(NewRow(teamtest.Line(11, "api", "text", `{"text":"I looked."}`).Event())) },
		func() { p.log.SetDrafts(drafting(10, lives.Draft{Member: "api", Text: "I looked."})) },
		func() { p.log.SetDrafts(drafting(11, lives.Draft{Member: "api", Text: "Then"})) },
		func() { p.log.SetDrafts(drafting(11)) },
	} {
		do()
		lines := strings.Split(p.view(), "\n")
		for j, line := range lines {
			lines[j] = strings.TrimRight(line, " ")
		}
		got := clockTime.ReplaceAllString(strings.TrimRight(strings.Join(lines[1:len(lines)-2], "\n"), "\n")+"\n", "HH:MM:SS")
		if i >= len(golden.Files) || string(golden.Files[i].Data) != got {
			t.Errorf("frame %d is\n%s", i+1, got)
		}
	}
}

// clockTime matches the time of a line, which depends on where the test runs.
var clockTime = regexp.MustCompile(`\d\d:\d\d:\d\d`)

// TestDraftsOfManyMembers share two thirds of the screen, one line each at least.
func TestDraftsOfManyMembers(t *testing.T) {
	p := pagerOf(60, 12, 1, 20)
	var now lives.Drafting
	for i := range 30 {
		now.Drafts = append(now.Drafts, lives.Draft{Member: fmt.Sprintf("m%d", i), Text: strings.Repeat("word ", 40) + "end."})
	}
	p.log.SetDrafts(now)
	view := p.view()
	if n := strings.Count(view, "end."); n != 6 || strings.Count(view, noTime) != 6 || !strings.Contains(view, "20.") {
		t.Errorf("%d drafts are shown:\n%s", n, view)
	}
}

// TestDraftsAreFaint, so that nobody takes them for what a member has said.
func TestDraftsAreFaint(t *testing.T) {
	p := pagerOf(60, 12, 1, 1)
	p.screen = &term.Screen{Color: true}
	p.log.screen = p.screen
	p.log.SetDrafts(drafting(1, lives.Draft{Member: "api", Text: "I look"}))
	if want := p.screen.Paint(term.Faint, "I look"); !strings.Contains(p.view(), want) {
		t.Errorf("no %q in\n%q", want, p.view())
	}
}

// TestBoardSaysWhoWrites: while a member works, the live view shows the end of what it writes.
func TestBoardSaysWhoWrites(t *testing.T) {
	s, _ := teamtest.Screen()
	view := NewLiveView(s, "crew", []string{"lead", "api"}, func() {})
	view.Drafts = lives.NewDrafts()
	api := view.Drafts.Of("api", "")
	api.Add(strings.Repeat("long ", 30) + "\nand \x1b[1m wide")
	view.Drafts.Of("api", "a01").Add("not this")
	view.Drafts.Of("lead", "").Add("not now")
	view.Apply(teamtest.Line(1, "api", "turn_started", `{"cause":"goal"}`).Event())
	m := &liveModel{view: view, width: 120, height: 10}
	m.Update(tickMsg{})
	content := m.View().Content
	if !strings.Contains(content, `writes: …ng long`) || !strings.Contains(content, `long and \x1b[1m wide`) || strings.Contains(content, "not ") {
		t.Errorf("view\n%s", content)
	}
	api.Withdraw()
	api.Add(" \n")
	m.Update(tickMsg{})
	if content := m.View().Content; !strings.Contains(content, "thinks") {
		t.Errorf("view\n%s", content)
	}
}

// TestAttachWithoutDrafts: without drafts everything else is as ever.
func TestAttachWithoutDrafts(t *testing.T) {
	in, typed := io.Pipe()
	file, err := os.Create(filepath.Join(t.TempDir(), "tty"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	asked := make(chan uint64, 2)
	a := Attach{
		Title: "crew", Tail: []events.Line{textLine(1)},
		Follow: func(ctx context.Context, f func(events.Line) error) error { <-ctx.Done(); return ctx.Err() },
		Drafts: func(_ context.Context, after uint64) (lives.Drafting, error) {
			asked <- after
			if after == 0 {
				return drafting(7, lives.Draft{Member: "api", Text: "I look"}), nil
			}
			return lives.Drafting{}, errors.New("it ended meanwhile")
		},
	}
	go func() {
		if first, then := <-asked, <-asked; first != 0 || then != 7 {
			t.Errorf("asked for what comes after %d and %d", first, then)
		}
		_, _ = typed.Write([]byte("\x03"))
	}()
	if over, err := a.Run(t.Context(), in, &term.Screen{Writer: file, File: file}); over || err != nil {
		t.Errorf("over %v, %v", over, err)
	}
}
