package board

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// reviewed are the lines of a team with three pieces of finished work: the second has a mark.
func reviewed() []events.Line {
	lines := []events.Line{teamtest.Line(1, "", "team_started", `{"goal":"Ship it","members":["lead","ana"]}`)}
	add := func(kind, data string) { lines = append(lines, teamtest.Line(len(lines)+1, "", kind, data)) }
	for id, title := range map[string]string{"1": "Add rates", "2": "Speed up", "10": "Sort rows"} {
		add("task", `{"op":"created","task":{"id":"`+id+`","subject":"`+title+`","status":"pending","owner":"ana"}}`)
		add("task", `{"op":"completed","task":{"id":"`+id+`","subject":"`+title+`","status":"completed","owner":"ana"}}`)
		add("merge", `{"id":"`+id+`","member":"ana","branch":"b`+id+`","commit":"c","tasks":["`+id+`"],"title":"`+title+`","into":"main","state":"waiting"}`)
		hints := "[]"
		if id == "2" {
			hints = `[{"kind":"tests-removed","mark":true,"word":"tests removed","text":"Gone."}]`
		}
		add("work_hints", `{"merge":"`+id+`","commit":"c","hints":`+hints+`,"size":{"files":2,"added":12,"removed":3}}`)
	}
	return lines
}

// TestReviewQueue: a row for each piece of finished work, that with marks first, else by tasks. What has
// marks is merged only by a word that is typed, the rest by one key, and a row keeps its place.
func TestReviewQueue(t *testing.T) {
	b := newBoard(t, 100, 30)
	b.sees(reviewed()...)
	var order []string
	for _, r := range b.lists[needs].rows {
		order = append(order, r.task)
	}
	if got := strings.Join(order, " "); got != "2 1 10" {
		t.Fatalf("the order is %s", got)
	}
	b.shows("⚠ tests removed · +12 −3 Speed up", "M merge unmarked")
	b.press("m")
	b.shows("then type merge")
	b.press("enter")
	if len(b.acts) > 0 {
		t.Fatalf("merged by two keys: %+v", b.acts)
	}
	b.shows("nothing was done")
	b.press("m", "m", "e", "r", "g", "e", "enter")
	if len(b.acts) != 1 || b.acts[0] != (Act{Verb: Merge, Task: "2"}) {
		t.Fatalf("%+v", b.acts)
	}
	b.press("M")
	b.shows("merge 2 pieces of work without marks: 1 Add rates, 10 Sort rows?")
	b.press("enter")
	if len(b.acts) != 2 || b.acts[1].Verb != MergeUnmarked || b.acts[1].Member+b.acts[1].Task != "" {
		t.Fatalf("%+v", b.acts)
	}
	b.press("r", "n", "o", "enter")
	if len(b.acts) != 3 || b.acts[2] != (Act{Verb: Return, Task: "2", Text: "no"}) {
		t.Fatalf("%+v", b.acts)
	}
	b.press("j")
	b.sees(teamtest.Line(20, "", "merge", `{"id":"2","member":"ana","branch":"b2","commit":"c","tasks":["2"],"title":"Speed up","into":"main","state":"merged"}`))
	if got := b.chosen().task; got != "1" {
		t.Errorf("the chosen row is that of task %s", got)
	}
}

// TestMaskedBoard: no secret is shown, neither in a list nor in the log, nor in what a model writes.
func TestMaskedBoard(t *testing.T) {
	mask := func(text string) string { return strings.ReplaceAll(text, "the-secret", "***") }
	n := news{scene: scene{goal: "the-secret"}, drafts: members.Drafting{Drafts: []members.Draft{{Text: "the-secret"}}}}
	n.scene.rows[needs] = []row{{name: "ana", text: "Bash: the-secret", about: "the-secret"}}
	n.mask(mask)
	r := newLogRow(teamtest.Line(1, "ana", "text", `{"text":"it is the-secret"}`).Event()).masked(mask)
	if all := fmt.Sprintf("%+v %+v", n, r.entry); strings.Contains(all, "the-secret") || strings.Count(all, "***") != 5 {
		t.Error(all)
	}
}

// TestPickedWork: x chooses finished work, m merges what is chosen, with a word to type if some of it has marks, and Esc
// chooses nothing any more. What gets marks meanwhile is not chosen any more.
func TestPickedWork(t *testing.T) {
	b := newBoard(t, 100, 30)
	b.sees(reviewed()...)
	b.press("j", "x", "j", "x")
	b.shows("> x ana  to merge ", "m merge the 2 chosen")
	b.press("m")
	b.shows("merge 2 chosen pieces of work?")
	b.press("enter")
	if len(b.acts) != 2 || b.acts[0] != (Act{Verb: Merge, Task: "1"}) || b.acts[1] != (Act{Verb: Merge, Task: "10"}) || b.pickedRows() != nil {
		t.Fatalf("%+v, chosen are %v", b.acts, b.pickedRows())
	}
	b.press("k", "k", "x", "j", "x", "m")
	b.shows("⚠ merge 2 chosen, 1 with marks? Read them, then type merge:")
	b.press("enter")
	b.shows("nothing was done")
	b.sees(teamtest.Line(30, "", "work_hints", `{"merge":"1","commit":"c","hints":[{"kind":"secret","mark":true,"word":"secret","text":"A key."}],"size":{"files":1}}`))
	if picked := b.pickedRows(); len(picked) != 1 || picked[0].task != "2" {
		t.Errorf("chosen are %+v", picked)
	}
	b.press("esc")
	if b.pickedRows() != nil {
		t.Error("something is chosen still")
	}
	b.press("2", "x")
	b.shows("there is no finished work to choose here")
	if len(b.acts) != 2 {
		t.Errorf("%+v", b.acts)
	}
}

// TestChanges: d shows what the work of the chosen row changes, coloured, n goes to the next piece, and keys decide about the one that is
// shown. After a decision it is that of the piece in its place. A team that does not run shows it, too.
func TestChanges(t *testing.T) {
	b := newBoard(t, 80, 24)
	asked := []string{}
	b.changes = func(task, member string) (string, error) {
		asked = append(asked, task)
		if task == "10" {
			return "", errRefused
		}
		return "⚠ marked\n@@ -1 +1 @@\n-old " + task + "\n+new " + task + "\n", nil
	}
	b.sees(reviewed()...)
	b.shows("m merge  d diff  r send back  M merge unmarked  x choose", "? help  q quit")
	b.press("d")
	b.shows("═ Task 2 Speed up", "+new 2", "Esc back  n next")
	b.screen.Color = true
	if frame := b.frame(); !strings.Contains(frame, "\x1b[32m+new 2") || !strings.Contains(frame, "\x1b[31m-old 2") {
		t.Errorf("%q", frame)
	}
	b.screen.Color = false
	b.press("n")
	b.shows("═ Task 1 Add rates", "+new 1")
	b.press("n")
	b.shows("the changes cannot be read: " + errRefused.Error())
	b.press("p", "m")
	b.shows("merge task 1?")
	b.press("enter")
	if len(b.acts) != 1 || b.acts[0] != (Act{Verb: Merge, Task: "1"}) {
		t.Errorf("%+v", b.acts)
	}
	b.press("p")
	b.sees(teamtest.Line(20, "", "merge", `{"id":"2","member":"ana","branch":"b2","commit":"c","tasks":["2"],"title":"Speed up","into":"main","state":"returned"}`))
	b.shows("+new 1")
	b.press("esc")
	b.hides("+new")
	b.up = false
	b.sees()
	b.shows("d diff")
	b.press("d")
	b.shows("+new 1")
	if got := strings.Join(asked, " "); got != "2 1 10 1 10 1 1" {
		t.Errorf("it has read %s", got)
	}
}

// TestKeysOfAReview: ten tasks, of which four are sent back and one with a false alarm is merged, take at most 25 keys besides the
// reasons, with the changes of each on the screen when it is decided. What was left open comes round again.
func TestKeysOfAReview(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.changes = func(task, _ string) (string, error) { return "changes of " + task + "\n", nil }
	lines := []events.Line{teamtest.Line(1, "", "team_started", `{"goal":"Ship it","members":["lead","ana"]}`)}
	merge := func(n int, state string) events.Line {
		return teamtest.Line(20, "", "merge", fmt.Sprintf(`{"id":"%d","member":"ana","branch":"b%[1]d","commit":"c","tasks":["%[1]d"],"title":"Do %[1]d","into":"main","state":%q}`, n, state))
	}
	for n := 1; n <= 10; n++ {
		hints := "[]"
		if n%2 == 0 {
			hints = `[{"kind":"x","mark":true,"word":"tests removed","text":"Gone."}]`
		}
		lines = append(lines,
			teamtest.Line(2, "", "task", fmt.Sprintf(`{"op":"completed","task":{"id":"%d","subject":"Do %[1]d","status":"completed","owner":"ana"}}`, n)),
			merge(n, "waiting"), teamtest.Line(3, "", "work_hints", fmt.Sprintf(`{"merge":"%d","commit":"c","hints":%s,"size":{"files":1,"added":1}}`, n, hints)))
	}
	b.sees(lines...)
	pressed, reason := 0, "No, see the first line."
	press := func(names ...string) {
		pressed += len(names)
		b.press(names...)
	}
	decided := map[string]string{"2": "returned", "4": "returned", "6": "", "8": "returned", "10": "merged"}
	press("enter")
	for _, id := range []string{"2", "4", "6", "8", "10"} {
		b.shows("changes of " + id)
		switch decided[id] {
		case "returned":
			press("r")
			b.press(reason)
			press("enter")
		case "merged":
			press("m", "y", "enter")
		default:
			press("n") // later
		}
		if id != "4" && decided[id] != "" { // that one is still listed when the next is decided about
			var n int
			_, _ = fmt.Sscan(id, &n)
			b.sees(merge(n, decided[id]))
		}
	}
	for _, id := range []string{"1", "3", "5", "7", "9"} {
		b.shows("changes of " + id)
		press("n")
	}
	press("M")
	b.shows("merge 5 pieces of work without marks: 1")
	press("enter")
	b.sees(merge(4, "returned"))
	for n := 1; n < 10; n += 2 {
		b.sees(merge(n, "merged"))
	}
	b.shows("changes of 6")
	press("r")
	b.press(reason)
	press("enter")
	b.sees(merge(6, "returned"))
	b.hides("changes of", "Esc back")
	var acts []string
	for _, a := range b.acts {
		acts = append(acts, string(a.Verb)+" "+a.Task)
		if a.Verb == Return && a.Text != reason {
			t.Errorf("%+v", a)
		}
	}
	if got := strings.Join(acts, ", "); got != "send back 2, send back 4, send back 8, merge 10, merge unmarked , send back 6" {
		t.Errorf("it did %s", got)
	}
	if t.Logf("%d keys", pressed); pressed > 25 {
		t.Errorf("it took %d keys", pressed)
	}
}

// TestNotesOnBoard: a row counts the notes about work, and the whole text has them.
func TestNotesOnBoard(t *testing.T) {
	b := newBoard(t, 80, 24)
	b.sees(reviewed()...)
	b.sees(teamtest.Line(30, "", "work_hints", `{"merge":"1","commit":"c","hints":[{"kind":"x","word":"file deleted","text":"A file is gone."}],"size":{"files":1}}`))
	b.press("j")
	b.shows("1 note · Add rates")
	b.press("enter")
	b.shows("file deleted: A file is gone.")
}
