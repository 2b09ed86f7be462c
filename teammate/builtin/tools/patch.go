package tools

import "strings"

// hunk is one place where two texts differ, in the form that hooks get.
type hunk struct {
	// OldStart and NewStart count from 1.
	OldStart int `json:"oldStart"`
	OldLines int `json:"oldLines"`
	NewStart int `json:"newStart"`
	NewLines int `json:"newLines"`
	// Lines begin with a space, a minus or a plus.
	Lines []string `json:"lines"`
}

const (
	contextLines = 3    // unchanged lines around a change
	maxHunkLines = 2000 // a longer hunk is omitted; the response has the texts themselves
)

// patch describes in one hunk how after differs from before: everything from the first
// line that differs to the last. That is exact for an Edit of one place, and shows hooks
// which lines were touched.
func patch(before, after string) []hunk {
	if before == after {
		return []hunk{}
	}
	// Skip the common beginning and end; the rest is the change.
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from := max(head-contextLines, 0)
	after2 := min(tail, contextLines)
	h := hunk{
		OldStart: from + 1, OldLines: len(a) - tail + after2 - from,
		NewStart: from + 1, NewLines: len(b) - tail + after2 - from,
	}
	if h.OldLines+h.NewLines > maxHunkLines {
		return []hunk{}
	}
	h.add(" ", a[from:head])
	h.add("-", a[head:len(a)-tail])
	h.add("+", b[head:len(b)-tail])
	h.add(" ", a[len(a)-tail:len(a)-tail+after2])
	return []hunk{h}
}

// add appends lines to the hunk, each with the prefix mark.
func (h *hunk) add(mark string, lines []string) {
	for _, line := range lines {
		h.Lines = append(h.Lines, mark+line)
	}
}

// splitLines returns the lines of s without their ends. There is no line after a final line feed.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
