package ask

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/tasks"
)

// taskTree draws tasks as a tree in which each is below its blockers. A task with
// several blockers is drawn with its dependents below the first of them, and only
// named below the others, because repeating it would make a diamond of ten tasks a
// page long.
func taskTree(s *term.Screen, list []tasks.Outline) []string {
	t := &treeDrawing{screen: s, follow: followers(list), drawn: map[string]bool{}}
	for _, task := range list {
		if len(task.Blockers(list)) == 0 {
			t.draw(task, "", "")
		}
	}
	for _, task := range list { // tasks that no root leads to
		if !t.drawn[task.ID] {
			t.draw(task, "", "")
		}
	}
	return t.lines
}

// treeDrawing holds the state of taskTree. drawn also ends cycles.
type treeDrawing struct {
	screen *term.Screen
	follow map[string][]tasks.Outline
	drawn  map[string]bool
	lines  []string
}

// draw appends a task and its dependents. first is the prefix of its own line, rest
// that of the lines below.
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

// taskTitle formats a task as one line of a tree. Foreign text becomes plain and one
// line, or it could draw branches.
func taskTitle(s *term.Screen, task tasks.Outline) string {
	title := fmt.Sprintf("%s %s  %s", task.ID, s.Paint(statusStyle(task.Status), string(task.Status)),
		term.PlainLine(task.Subject))
	if task.Owner != "" {
		title += s.Paint(term.Faint, " ("+term.PlainLine(task.Owner)+")")
	}
	return title
}

// statusStyle highlights a status. Waiting work is faint, so that work in progress
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

// followers maps a task's id to the tasks that it blocks, in list order.
func followers(list []tasks.Outline) map[string][]tasks.Outline {
	next := map[string][]tasks.Outline{}
	for _, task := range list {
		for _, id := range task.Blockers(list) {
			next[id] = append(next[id], task)
		}
	}
	return next
}

// taskMermaid formats the task graph as a Mermaid flowchart for Markdown. The colours
// are readable on light and on dark pages.
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

// mermaidQuotes escapes a text for a quoted Mermaid label: no character may end the
// label or begin markup.
func mermaidQuotes() *strings.Replacer {
	return strings.NewReplacer(`#`, "#35;", `"`, "#quot;", `<`, "#lt;", `>`, "#gt;", "`", "#96;")
}
