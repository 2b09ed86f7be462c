package ask

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/tasks"
)

// taskTree draws tasks as a tree in which each stands below those that block
// it. A task that several block is drawn with all that follows below the first
// of them, and named below the others. Drawing it whole each time would make a
// diamond of ten tasks a page long.
func taskTree(s *term.Screen, list []tasks.Outline) []string {
	t := &treeDrawing{screen: s, follow: followers(list), drawn: map[string]bool{}}
	for _, task := range list {
		if len(task.Blockers(list)) == 0 {
			t.draw(task, "", "")
		}
	}
	for _, task := range list { // whatever no root leads to is drawn all the same
		if !t.drawn[task.ID] {
			t.draw(task, "", "")
		}
	}
	return t.lines
}

// treeDrawing is a tree on its way onto the screen. What was drawn already is
// kept, which also makes a circle end.
type treeDrawing struct {
	screen *term.Screen
	follow map[string][]tasks.Outline
	drawn  map[string]bool
	lines  []string
}

// draw appends a task and all that follows it. first stands before its own
// line, rest before the lines below.
func (t *treeDrawing) draw(task tasks.Outline, first, rest string) {
	if t.drawn[task.ID] {
		t.lines = append(t.lines, first+t.screen.Paint(term.Faint, task.ID+" (above)"))
		return
	}
	t.drawn[task.ID] = true
	t.lines = append(t.lines, first+taskTitle(t.screen, task))
	next := t.follow[task.ID]
	for i, follower := range next {
		if i < len(next)-1 {
			t.draw(follower, rest+"├─ ", rest+"│  ")
		} else {
			t.draw(follower, rest+"└─ ", rest+"   ")
		}
	}
}

// taskTitle is a task in one line of a tree. Foreign text in it is plain and on
// one line, or it could draw branches.
func taskTitle(s *term.Screen, task tasks.Outline) string {
	title := fmt.Sprintf("%s %s  %s", task.ID, s.Paint(statusStyle(task.Status), string(task.Status)),
		term.PlainLine(task.Subject))
	if task.Owner != "" {
		title += s.Paint(term.Faint, " ("+term.PlainLine(task.Owner)+")")
	}
	return title
}

// statusStyle sets a status off. Work that waits is faint, so that what goes on
// stands out.
func statusStyle(status tasks.Status) term.Style {
	switch status {
	case tasks.Completed:
		return term.Green
	case tasks.InProgress:
		return term.Cyan
	}
	return term.Faint
}

// followers maps a task's id to the tasks that it blocks, in list order. It
// turns the links around: tasks know what blocks them, a tree what follows.
func followers(list []tasks.Outline) map[string][]tasks.Outline {
	next := map[string][]tasks.Outline{}
	for _, task := range list {
		for _, id := range task.Blockers(list) {
			next[id] = append(next[id], task)
		}
	}
	return next
}

// taskMermaid is the task graph as a Mermaid flowchart, to be pasted into
// Markdown. Colours are given so that they can be read on light and on dark
// pages.
func taskMermaid(list []tasks.Outline) string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	quoted := mermaidQuotes()
	for _, task := range list {
		label := task.ID + ": " + task.Subject
		if task.Owner != "" {
			label += " (" + task.Owner + ")"
		}
		fmt.Fprintf(&b, "  t%s[\"%s\"]:::%s\n", task.ID, quoted.Replace(term.PlainLine(label)), task.Status)
	}
	for _, task := range list {
		for _, id := range task.Blockers(list) {
			fmt.Fprintf(&b, "  t%s --> t%s\n", id, task.ID)
		}
	}
	b.WriteString("  classDef completed fill:#d7f5d7,stroke:#2e7d32,color:#111\n")
	b.WriteString("  classDef in_progress fill:#d7ebf5,stroke:#1565c0,color:#111\n")
	b.WriteString("  classDef pending fill:#f5f5f5,stroke:#757575,color:#111\n")
	return b.String()
}

// mermaidQuotes makes text of one line what a quoted Mermaid label takes: no character that
// would end the label or begin markup.
func mermaidQuotes() *strings.Replacer {
	return strings.NewReplacer(`#`, "#35;", `"`, "#quot;", `<`, "#lt;", `>`, "#gt;", "`", "#96;")
}
