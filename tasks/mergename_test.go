package tasks

import "testing"

// What the operator reads names tasks and the work of a merge the same everywhere.
func TestNames(t *testing.T) {
	for want, got := range map[string]string{
		"no task":                  Named(),
		"task 7":                   Named("7"),
		"tasks 3 and 4":            Named("3", "4"),
		"tasks 3, 4 and 12":        Named("3", "4", "12"),
		"work of ben":              Merge{Title: "work of ben"}.Name(),
		"task 7 (Add it)":          Merge{Title: "Add it", Tasks: []string{"7"}}.Name(),
		"work of eve":              Merge{Title: "work of eve", Member: "eve"}.Authored(),
		"task 8 (Do it) of eve":    Merge{Title: "Do it", Member: "eve", Tasks: []string{"8"}}.Authored(),
		"tasks 3 and 4 (Add both)": Merge{Title: "Add both", Tasks: []string{"3", "4"}}.Name(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
