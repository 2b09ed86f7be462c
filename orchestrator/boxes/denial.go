package boxes

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
)

// What programs print of a file that the kernel keeps from them: the file before or after the reason.
var (
	deniedAfter  = texts.Pattern("(?i)([^\\s:'\"`‘’]+)['\"`’]?: (?:\\[errno \\d+\\] )?(permission denied|operation not permitted|read-only file system|no such file|not found)")
	deniedBefore = texts.Pattern("(?i)(permission denied|operation not permitted|read-only file system|no such file)(?: or directory)?[:,] ?(?:[a-z]+ )?['\"`‘]?([^\\s:'\"`’]+)")
)

// maxDenials is how many denials of one command are named.
const maxDenials = 3

// Denials returns what a command that failed was probably denied by the box, from what it has printed in a folder. What is denied
// to covey itself, too, is not the box's doing.
func (k *Kit) Denials(output, dir string) (denied []events.SandboxDenied) {
	if k.Box().Level() == 0 {
		return nil
	}
	p := k.box.Policy()
	in := func(path string, dirs []string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return texts.Within(dir, path) })
	}
	for _, found := range append(findings(deniedAfter, output, 1, 2), findings(deniedBefore, output, 2, 1)...) {
		path := texts.Absolute(dir, found.path)
		d := events.SandboxDenied{Path: path, Access: "read", Key: k.key + ".read"}
		if in(path, p.Read) || !exists(path) {
			d.Access, d.Key = "write", k.key+".write"
		}
		known := slices.ContainsFunc(denied, func(had events.SandboxDenied) bool { return had.Path == path })
		// At level 2 what is not granted is not there. What is there for nobody is not the box's doing.
		gone := strings.EqualFold(found.reason, "no such file") || strings.EqualFold(found.reason, "not found")
		absent := gone && (in(path, p.Read) || !exists(path) && !exists(filepath.Dir(path)))
		if known || absent || in(path, p.Write) || !mayAccess(path, d.Access == "write") || len(denied) == maxDenials {
			continue
		}
		denied = append(denied, d)
	}
	return denied
}

// finding is a file that a program could not use, and why.
type finding struct{ path, reason string }

// findings returns what a pattern finds in an output; path and reason are its groups.
func findings(pattern func() *regexp.Regexp, output string, path, reason int) (all []finding) {
	for _, found := range pattern().FindAllStringSubmatch(output, -1) {
		all = append(all, finding{found[path], found[reason]})
	}
	return all
}

// exists reports whether there is a file.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Explain returns a line for the model for what was denied; "": nothing was.
func Explain(denied []events.SandboxDenied) (text string) {
	for _, d := range denied {
		if text != "" {
			text += "\n"
		}
		text += fmt.Sprintf("covey: sandbox: no %s access to %s; writable: your folder, $TMPDIR (spec: %s)", d.Access, d.Path, d.Key)
	}
	return text
}

// parent returns the nearest folder of a path that exists.
func parent(path string) string {
	for !exists(path) && filepath.Dir(path) != path {
		path = filepath.Dir(path)
	}
	return path
}
