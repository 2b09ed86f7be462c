package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// editInput is the input of Edit.
type editInput struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

// editOutput is Edit's tool_response.
type editOutput struct {
	FilePath  string `json:"filePath"`
	OldString string `json:"oldString"`
	NewString string `json:"newString"`
	// Original is the file before the edit; null if it is too large.
	Original *string `json:"originalFile"`
	Patch    []hunk  `json:"structuredPatch"`
	// UserModified is always false, because nobody changes an edit before it is
	// applied. Hooks of other hosts read it.
	UserModified bool `json:"userModified"`
	ReplaceAll   bool `json:"replaceAll"`
}

// maxEdit is the size of the largest file that Edit changes, in bytes. An edit holds
// it in memory three times.
const maxEdit = 64 << 20

func (t *Set) editTool() agent.Tool {
	spec := agent.Spec{
		Name: "Edit",
		Description: "Replaces text in a file that has been read with Read. old_string must match to " +
			"the letter, indentation included and without Read's line numbers, and must occur once " +
			"unless replace_all is set.",
		Edits: true,
	}
	about := map[string]string{
		"file_path":   "The file to change, absolute or relative to the current directory",
		"old_string":  "The text to replace, to the letter; empty to make a new file",
		"new_string":  "The text to put in its place",
		"replace_all": "Replace every occurrence; without it old_string must occur once",
	}
	tool := NewTyped(spec, about, nil, t.edit).withPaths(t.paths.canonical, "file_path")
	tool.Shown = Rendering(editOutput.text)
	return tool
}

// text returns what a model sees of an edit.
func (o editOutput) text() string {
	return fmt.Sprintf("The file %s has been updated successfully.", o.FilePath)
}

// edit runs Edit. It writes the file only after all checks have passed.
func (t *Set) edit(_ context.Context, in editInput) agent.ToolResult {
	if in.OldString == in.NewString {
		return agent.Failed("Edit: old_string and new_string are the same, so there is nothing to change.")
	}
	s, err := t.paths.spot(in.FilePath)
	if err != nil {
		return agent.Failed("Edit: %s", t.paths.explain(in.FilePath, err))
	}
	defer func() { s.close() }()
	// old is the file as it was checked; its mode is kept.
	before, old, err := t.original(s, in)
	if err != nil {
		return agent.Failed("Edit: %s", t.paths.explain(s.path, err))
	}
	after, err := substitute(before, in)
	if err != nil {
		return agent.Failed("Edit: %s: %v", s.path, err)
	}
	if err := t.replace(&s, []byte(after), old); err != nil {
		return agent.Failed("Edit: %v; the file is as it was", err)
	}
	output := editOutput{
		FilePath: s.path, OldString: in.OldString, NewString: in.NewString,
		Patch: []hunk{}, ReplaceAll: in.ReplaceAll,
	}
	if len(before) <= maxOriginal {
		output.Original, output.Patch = &before, patch(before, after)
	}
	return Success(output.text(), output)
}

// original returns the text to edit. The file may be missing only if old_string is
// empty.
func (t *Set) original(s spot, in editInput) (string, fs.FileInfo, error) {
	old, before, err := t.known(s, maxEdit)
	switch {
	case err != nil:
		return "", nil, err
	case old == nil && in.OldString == "":
		return "", nil, nil
	case old == nil:
		return "", nil, fs.ErrNotExist
	case old.Size() > maxEdit:
		return "", nil, fmt.Errorf("has %d bytes, more than the %d that Edit can take; use Bash, with sed or the like",
			old.Size(), maxEdit)
	case in.OldString == "" && strings.TrimSpace(before) != "":
		return "", nil, errors.New("old_string is empty, but the file is not; name the text to replace")
	}
	return before, old, nil
}

var (
	// errNoMatch is the error of an Edit whose old_string does not occur.
	errNoMatch = errors.New("old_string was not found")
	// errNotUnique is the error of an Edit whose old_string occurs more than once.
	errNotUnique = errors.New("must occur once")
)

// substitute applies the edit. The text between matches stays byte for byte the same,
// so that a file in another encoding or with mixed line ends changes nowhere else.
func substitute(before string, in editInput) (string, error) {
	if in.OldString == "" {
		return in.NewString, nil
	}
	spans := find(before, in.OldString)
	switch {
	case len(spans) == 0:
		return "", notFound(before, in.OldString)
	case len(spans) > 1 && !in.ReplaceAll:
		return "", fmt.Errorf("old_string occurs %d times, at lines %s: it %w; add lines around it, or set "+
			"replace_all", len(spans), lineNumbers(before, spans), errNotUnique)
	}
	var after strings.Builder
	end := 0
	for _, span := range spans {
		after.WriteString(before[end:span[0]])
		after.WriteString(withEnds(in.NewString, before, span))
		end = span[1]
	}
	after.WriteString(before[end:])
	return after.String(), nil
}

// find returns where old occurs in text, without overlaps. If there is no exact match,
// a line feed in old also matches the line end of a Windows file, because models see
// and write plain line feeds.
func find(text, old string) [][]int {
	if n := strings.Count(text, old); n > 0 {
		spans := make([][]int, 0, n)
		for end := 0; len(spans) < n; {
			i := end + strings.Index(text[end:], old)
			end = i + len(old)
			spans = append(spans, []int{i, end})
		}
		return spans
	}
	if !strings.Contains(old, "\n") || !strings.Contains(text, "\r\n") {
		return nil
	}
	lines := strings.Split(strings.ReplaceAll(old, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = regexp.QuoteMeta(line)
	}
	// A regular expression finds the places without a copy of the text, whose offsets
	// would have to be mapped back.
	loose, err := regexp.Compile(strings.Join(lines, "\r?\n"))
	if err != nil { // too large for a regular expression
		return nil
	}
	return loose.FindAllStringIndex(text, -1)
}

// withEnds returns s with the line ends of the place it goes to: those of the text
// that it replaces or, if that has none, those of the whole file. If both kinds occur
// the more frequent one is used.
func withEnds(s, text string, span []int) string {
	place := text[span[0]:span[1]]
	if !strings.Contains(place, "\n") {
		place = text
	}
	windows := strings.Count(place, "\r\n")
	if windows == 0 || windows*2 < strings.Count(place, "\n") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// notFound explains why old was not found, as far as it can tell. Without the reason a
// model tends to repeat the same mistake.
func notFound(text, old string) error {
	if numbered().MatchString(old) && len(find(text, numbered().ReplaceAllString(old, ""))) > 0 {
		return fmt.Errorf("%w: it has the line numbers that Read puts before lines; leave them and the tab out",
			errNoMatch)
	}
	if line := likeness(text, old); line > 0 {
		return fmt.Errorf("%w to the letter; line %d has the same words with other spaces or tabs. Read it "+
			"again and copy it exactly", errNoMatch, line)
	}
	return fmt.Errorf("%w; Read the file again and copy the text exactly", errNoMatch)
}

// numbered matches the line number that Read puts before each line.
var numbered = texts.Pattern(`(?m)^ *\d+\t`)

// likeness returns the number of the line where text has the lines of old apart from white space, or 0.
func likeness(text, old string) int {
	// Models get indentation wrong more often than words.
	want := splitLines(strings.Trim(old, "\r\n"))
	have := splitLines(text)
	if len(want) == 0 || squeeze(want[0]) == "" {
		return 0
	}
	for i := range want {
		want[i] = squeeze(want[i])
	}
	for i := 0; i+len(want) <= len(have); i++ {
		same := 0
		for same < len(want) && squeeze(have[i+same]) == want[same] {
			same++
		}
		if same == len(want) {
			return i + 1
		}
	}
	return 0
}

// squeeze replaces each run of white space by one space.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// lineNumbers lists the lines at which the first few spans begin, so that a model can
// choose one.
func lineNumbers(text string, spans [][]int) string {
	var list []string
	line, end := 1, 0
	for i, span := range spans {
		if i == 8 {
			list = append(list, "…")
			break
		}
		line += strings.Count(text[end:span[0]], "\n")
		end = span[0]
		list = append(list, fmt.Sprint(line))
	}
	return strings.Join(list, ", ")
}
