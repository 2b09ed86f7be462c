package mail

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSummarize(t *testing.T) {
	if have := Summarize(strings.Repeat("€", 5000)); utf8.RuneCountInString(have) != MaxSummary || strings.Contains(have, "\uFFFD") {
		t.Errorf("have %q", have)
	}
}

func TestNoteNamesTheLastTasks(t *testing.T) {
	var many []string
	for i := range maxNoteIDs + 5 {
		many = append(many, fmt.Sprint(i))
	}
	if n := (Note{Completed: many}).merge(Note{Completed: []string{"x"}}); len(n.Completed) != maxNoteIDs || n.Completed[maxNoteIDs-1] != "104" {
		t.Errorf("a note names %d tasks, the last is %s", len(n.Completed), n.Completed[len(n.Completed)-1])
	}
}
