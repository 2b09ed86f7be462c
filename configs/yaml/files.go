package yaml

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Files checks the files, folders and programs that a spec names.
type Files struct {
	*Decoder
	Dir string // where relative paths start
	// Workspace is where relative paths of programs start, because members work there: an
	// absolute path; empty if it cannot be used, which has been reported.
	Workspace string
}

// Path resolves a path of the spec and reports a file that does not exist. It always
// returns an absolute path.
func (f Files) Path(v Value[string], what string) string {
	if v.V == "" {
		return ""
	}
	path := f.absolute(v.V)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		f.reportMissing(v, what, path, err)
	case info.IsDir():
		f.Fail(v.At.At, "the %s %s is a folder; name a file", what, Quote(v.V))
	case !info.Mode().IsRegular():
		f.Fail(v.At.At, "the %s %s is not a regular file; name one that is", what, Quote(v.V))
	default:
		if err := readable(path); err != nil {
			f.Fail(v.At.At, "the %s %s cannot be read (%s); change its permissions", what, Quote(v.V), texts.Cause(err))
		}
	}
	return path
}

// readable reports why a file cannot be opened for reading. It opens the file, because
// permission bits alone do not decide.
func readable(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return file.Close()
}

// Folder resolves a folder of the spec. usable is false if it has reported a
// mistake.
func (f Files) Folder(v Value[string], what string) (dir string, usable bool) {
	if v.V == "" {
		return "", false
	}
	dir = f.absolute(v.V)
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		f.reportMissing(v, what, dir, err)
	case !info.IsDir():
		f.Fail(v.At.At, "the %s %s is a file; name a folder", what, Quote(v.V))
	default:
		return dir, true
	}
	return dir, false
}

// absolute resolves relative paths against the spec's folder.
func (f Files) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.Dir, path)
}

// reportMissing reports a path that cannot be used.
func (f Files) reportMissing(v Value[string], what, path string, err error) {
	if strings.HasPrefix(v.V, "~") {
		f.Fail(v.At.At, "the %s %s is not there; ~ has no meaning in a spec, so write the path out",
			what, Quote(v.V))
		return
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.Fail(v.At.At, "the %s %s is not there (looked for %s); create it, or correct the path",
			what, Quote(v.V), path)
		return
	}
	f.Fail(v.At.At, "the %s %s cannot be used (%s); correct the path", what, Quote(v.V), texts.Cause(err))
}

// Command resolves a program and its arguments. A bare name is looked up when the program
// starts: it need not be installed where a spec is checked.
func (f Files) Command(l List[Value[string]]) []string {
	out := Arguments(l)
	if len(out) == 0 || l.Items[0].At == nil {
		return nil
	}
	program := l.Items[0]
	switch {
	case strings.TrimSpace(program.V) == "":
		if program.At.Kind == TextKind { // the decoder has refused the other kinds
			f.Fail(program.At.At, "the program is empty; write its name or its path")
		}
	case strings.Contains(program.V, "{prompt}"):
		f.Fail(program.At.At, "the prompt cannot be the program; write the program before {prompt}")
	case strings.ContainsAny(program.V, `/\`):
		out[0] = f.program(program)
	case strings.ContainsAny(program.V, " \t\n"):
		f.Fail(program.At.At, "the program is %s, with blanks in its name; write each argument as an entry of its own: [%s]",
			Quote(program.V), strings.Join(strings.Fields(Clip(program.V)), ", "))
	}
	return out
}

// program resolves a program that is named by its path.
func (f Files) program(v Value[string]) string {
	path := v.V
	if !filepath.IsAbs(path) {
		if f.Workspace == "" {
			return path // the workspace has been reported
		}
		path = filepath.Join(f.Workspace, path)
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !filepath.IsAbs(v.V) && !strings.HasPrefix(v.V, "~"):
		f.Fail(v.At.At, "the program %s is not there (looked for %s); create it, or correct the path, "+
			"which starts at the workspace", Quote(v.V), path)
	case err != nil:
		f.reportMissing(v, "program", path, err)
	case info.IsDir():
		f.Fail(v.At.At, "the program %s is a folder; name a file", Quote(v.V))
	case !info.Mode().IsRegular():
		f.Fail(v.At.At, "the program %s is not a regular file; name one that is", Quote(v.V))
	case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		f.Fail(v.At.At, "the program %s may not be executed; run chmod +x on it, or put its interpreter before it",
			Quote(v.V))
	}
	return path
}

// Secret reads a text from a file that the spec names, and returns it with the file's absolute
// path. The text is empty if it has reported a mistake. Nothing may show the text.
func (f Files) Secret(v Value[string]) (path, text string) {
	if v.V == "" {
		return "", "" // the decoder has refused it
	}
	before := len(f.Problems)
	path = f.Path(v, "file")
	if len(f.Problems) > before {
		return path, ""
	}
	text, fault := readSecret(path)
	if fault != "" {
		f.Fail(v.At.At, "the file %s %s", Quote(v.V), fault)
	}
	if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode()&0o007 != 0 {
		f.Warn(v.At.At, "everybody on this machine may read or change %s; run chmod o= on it", Quote(v.V))
	}
	return path, text
}
