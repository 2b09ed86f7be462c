package tasks

import (
	"fmt"
	"strings"
	"testing"
)

func TestEvidence(t *testing.T) {
	path := t.TempDir() + "/tasks.db"
	s := openAt(t, path, nil)
	add(t, s, New{})
	claim(t, s, "1", "ann")
	given := []Evidence{{Text: "all 12 tests pass", By: "somebody else"}, {File: "out/report.txt"}}
	task, fields, err := s.Update(t.Context(), as("ann"), "1", Patch{Evidence: given, Status: ptr(Completed)})
	ok(t, task, err)
	wantList(t, "fields", fields, []string{"evidence", "status"})
	want := []Evidence{{By: "ann", Time: fixed, Text: "all 12 tests pass"}, {By: "ann", Time: fixed, File: "out/report.txt"}}
	if fmt.Sprint(task.Evidence) != fmt.Sprint(want) {
		t.Errorf("evidence %+v", task.Evidence)
	}
	version := task.Version
	task, fields, err = s.Update(t.Context(), as("bob"), "1", Patch{Evidence: given})
	if ok(t, task, err); len(fields) != 0 || task.Version != version {
		t.Errorf("the same again changed %q of %+v", fields, task)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path, nil)
	setStatus(t, s, "1", Pending)
	if have := get(t, s, "1"); fmt.Sprint(have.Evidence) != fmt.Sprint(want) {
		t.Errorf("when it was opened again: %+v", have.Evidence)
	}
	var told []string
	for _, e := range drain(t, s) {
		if c, ok := e.Data.(Change); ok && c.Op == TaskCompleted {
			told = append(told, c.Task.Evidence[0].Text)
		}
	}
	wantList(t, "evidence in the journal", told, []string{"all 12 tests pass"})
}

func TestBadEvidence(t *testing.T) {
	s := open(t, nil)
	add(t, s, New{})
	give := func(list ...Evidence) error {
		_, _, err := s.Update(t.Context(), as("ann"), "1", Patch{Evidence: list})
		return err
	}
	wantError(t, give(Evidence{}), ErrInvalid, "empty evidence")
	wantError(t, give(Evidence{Text: strings.Repeat("x", maxEvidenceText+1)}), ErrInvalid, "4097 bytes", "into a file")
	wantError(t, give(Evidence{File: strings.Repeat("x", maxEvidenceFile+1)}), ErrInvalid, "path has 1025 bytes")
	for i := range maxEvidence {
		if err := give(Evidence{Text: fmt.Sprint("run ", i, " \xff\x00")}); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, give(Evidence{Text: "one more"}), ErrInvalid, "21 pieces", "one file")
	if have := get(t, s, "1").Evidence; len(have) != maxEvidence || strings.Contains(have[0].Text, "\x00") {
		t.Errorf("%d pieces, the first is %q", len(have), have[0].Text)
	}
}
