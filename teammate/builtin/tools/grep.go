package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/teammate/agent"
)

// grepInput is the input of Grep. Names such as -A are those of the tool that models
// know.
type grepInput struct {
	Pattern    string   `json:"pattern"`
	Path       string   `json:"path,omitempty"`
	Glob       string   `json:"glob,omitempty"`
	OutputMode grepMode `json:"output_mode,omitempty"`
	Before     int      `json:"-B,omitempty"`
	After      int      `json:"-A,omitempty"`
	Context    int      `json:"-C,omitempty"`
	Numbers    bool     `json:"-n,omitempty"`
	IgnoreCase bool     `json:"-i,omitempty"`
	HeadLimit  int      `json:"head_limit,omitempty"`
	Multiline  bool     `json:"multiline,omitempty"`
}

// grepMode selects the output of Grep.
type grepMode string

// The modes, as models write them.
const (
	filesMode   grepMode = "files_with_matches"
	contentMode grepMode = "content"
	countMode   grepMode = "count"
)

// grepOutput is Grep's tool_response.
type grepOutput struct {
	Mode grepMode `json:"mode"`
	// NumFiles counts the files with a match, listed or not.
	NumFiles int `json:"numFiles"`
	// Filenames lists them in files_with_matches mode only.
	Filenames []string `json:"filenames"`
	// Content holds the lines shown in the other two modes.
	Content    string `json:"content,omitempty"`
	NumLines   int    `json:"numLines,omitempty"`
	NumMatches int    `json:"numMatches,omitempty"`
}

// Limits of one Grep's output.
const (
	grepHead  = 250    // lines or entries by default
	grepWidth = 500    // characters of one line
	grepBytes = 60_000 // bytes of all lines in content mode
	grepAfter = 1000   // lines of context
)

func (t *Set) grepTool() agent.Tool {
	spec := agent.Spec{
		Name: "Grep",
		Description: "Looks for a regular expression in files. Files that .gitignore ignores, and " +
			"binary ones, are left out.",
		ReadOnly: true,
	}
	// Enums and minimums in the schema avoid most mistakes of models.
	adjust := func(s *jsonschema.Schema) {
		s.Properties["output_mode"].Enum = []any{filesMode, contentMode, countMode}
		for _, name := range []string{"-A", "-B", "-C", "head_limit"} {
			s.Properties[name].Minimum = jsonschema.Ptr(0.0)
		}
	}
	about := map[string]string{
		"pattern": "The regular expression (RE2 syntax) to look for",
		"path":    "The file or folder to look in; the current directory unless given",
		"glob":    "Only files whose name, or path if the glob has a slash, fits: *.go, docs/**/*.{md,txt}",
		"output_mode": "What to show: files_with_matches (paths; unless given), content (matching " +
			"lines) or count (matches of each file)",
		"-B":         "Lines to show before each match; content mode only",
		"-A":         "Lines to show after each match; content mode only",
		"-C":         "Lines to show before and after each match; content mode only",
		"-n":         "Show line numbers; content mode only, true unless given",
		"-i":         "Upper and lower case are the same",
		"head_limit": "Show the first so many lines or entries; 250 unless given, 0 for no limit",
		"multiline":  "Matches may span lines, and . matches line ends",
	}
	tool := NewTyped(spec, about, adjust, t.grep).withPaths(t.paths.canonical, "path")
	// Zero differs from absent for these fields: no limit, no numbers.
	tool.fresh = grepInput{OutputMode: filesMode, Numbers: true, HeadLimit: grepHead}
	return tool
}

// grep runs Grep.
func (t *Set) grep(ctx context.Context, in grepInput) agent.ToolResult {
	expr, err := in.compile()
	if err != nil {
		return agent.Failed("Grep: %v", err)
	}
	s, only, err := t.paths.openSearch(in.Path)
	if err != nil {
		return t.searchFailure("Grep", in.Path, err)
	}
	defer s.close()
	// Symbolic links are skipped: their targets are either found elsewhere or outside
	// of the search.
	g := &grepRun{in: in, expr: expr, show: t.paths.shown}
	s.visit = func(name string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || !in.wants(name) || t.withheld("Grep", s, name) {
			return nil
		}
		return g.file(ctx, s, name)
	}
	if only != "" && !t.withheld("Grep", s, only) {
		err = g.single(ctx, s, only)
	} else if only == "" {
		err = s.run(ctx)
	}
	if err != nil {
		return t.searchFailure("Grep", filepath.Join(s.base, only), err)
	}
	return g.result(s.notes())
}

// compile checks the input and compiles the regular expression.
func (in *grepInput) compile() (*regexp.Regexp, error) {
	switch in.OutputMode {
	case filesMode, contentMode, countMode:
	default:
		return nil, fmt.Errorf("output_mode is %q; write %s, %s or %s", in.OutputMode, filesMode,
			contentMode, countMode)
	}
	if in.Before < 0 || in.After < 0 || in.Context < 0 || in.HeadLimit < 0 {
		return nil, errors.New("-A, -B, -C and head_limit are numbers from 0 up")
	}
	if in.Glob != "" {
		if err := checkGlob(in.Glob); err != nil {
			return nil, err
		}
	}
	// As with grep, the larger of -C and -A or -B counts.
	in.Before = min(max(in.Before, in.Context), grepAfter)
	in.After = min(max(in.After, in.Context), grepAfter)
	flags := ""
	if in.IgnoreCase {
		flags += "i"
	}
	if in.Multiline {
		flags += "ms"
	}
	source := in.Pattern
	if flags != "" {
		source = "(?" + flags + ")" + source
	}
	expr, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("%q is no regular expression: %w; put a backslash before signs such as ( "+
			"[ { + * ? "+
			"that stand for themselves", in.Pattern, err)
	}
	return expr, nil
}

// wants reports whether the glob, if any, matches a file. As with other greps, a glob
// without a slash matches the file's base name.
func (in *grepInput) wants(name string) bool {
	if in.Glob == "" {
		return true
	}
	glob := in.Glob
	if !strings.Contains(glob, "/") {
		name = path.Base(name)
	}
	ok, _ := doublestar.Match(strings.TrimPrefix(glob, "/"), name)
	return ok
}

// single searches the one file that the call names, even if it is ignored.
func (g *grepRun) single(ctx context.Context, s *search, name string) error {
	f, _, err := openRegular(spot{root: s.root, name: name})
	if err != nil {
		return err
	}
	f.Close()
	// errSearchEnd ends a walk that has found enough; here it has no effect.
	if err := g.file(ctx, s, name); err != errSearchEnd {
		return err
	}
	return nil
}

// file searches one file. A file that cannot be opened or read is counted and does not
// end the search.
func (g *grepRun) file(ctx context.Context, s *search, name string) error {
	f, _, err := openRegular(spot{root: s.root, name: name})
	if err != nil {
		s.unread++
		return nil
	}
	defer f.Close()
	g.begin(g.show(filepath.Join(s.base, filepath.FromSlash(name))))
	if err := g.scan(ctx, f); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.unread++
	}
	return g.end(f)
}

// end adds a file with a match to the result, and ends the walk once the output is
// full.
func (g *grepRun) end(f *os.File) error {
	if g.matches == 0 {
		return nil
	}
	g.total += g.matches
	file := found{path: g.name}
	if info, err := f.Stat(); err == nil {
		file.time = info.ModTime()
	}
	g.files = append(g.files, file)
	g.counts = append(g.counts, fmt.Sprintf("%s:%d", g.name, g.matches))
	if g.full {
		return errSearchEnd
	}
	return nil
}
