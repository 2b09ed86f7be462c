package pages

import (
	"fmt"
	"slices"
	"strings"
)

// FileRows is the changes of one file, for readers that do not need the numbers of lines.
type FileRows struct {
	Name         string
	Added, Taken int
	Notes        []string // what became of it besides changed lines
	Parts        []diffRow
}

// diffRow is lines of one kind that follow each other. Class is add, del, hunk, or empty.
type diffRow struct{ Class, Text string }

// RowsOf returns the output of git diff as files with rows of equal lines.
func RowsOf(text string) []FileRows {
	var files []FileRows
	for _, f := range ParseDiff(text) {
		one := FileRows{Name: f.Name, Added: f.Added, Taken: f.Removed}
		for what, said := range map[string]bool{
			string(f.What): f.What != Changed, "from " + f.Old: f.What == Renamed || f.What == Copied,
			"mode " + f.Modes: f.Modes != "", "binary": f.Binary,
		} {
			if said {
				one.Notes = append(one.Notes, what)
			}
		}
		slices.Sort(one.Notes)
		for _, h := range f.Hunks {
			one.add("hunk", strings.TrimSuffix(fmt.Sprintf("@@ -%d +%d @@ %s", h.Old, h.New, h.Section), " ")+"\n")
			for _, l := range h.Lines {
				one.add(map[byte]string{'+': "add", '-': "del"}[l.Kind], string(l.Kind)+l.Text+"\n")
			}
		}
		files = append(files, one)
	}
	return files
}

// add adds a line to the last part if it is of the same kind.
func (f *FileRows) add(class, line string) {
	if n := len(f.Parts); n > 0 && f.Parts[n-1].Class == class && class != "hunk" {
		f.Parts[n-1].Text += line
		return
	}
	f.Parts = append(f.Parts, diffRow{class, line})
}
