package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// path checks which covey a shell starts. After a second way of installing there may be
// two, and an upgrade of the later one has no effect.
func (x *examination) path() finding {
	self, err := os.Executable()
	if err != nil {
		return warn("path", fmt.Sprintf("the place of this covey is unknown: %v", err), "look with command -v covey")
	}
	return pathFinding(self, onPath("covey"))
}

// pathFinding is the finding for this program and those that are called covey on the
// PATH, in its order.
func pathFinding(self string, found []string) finding {
	switch {
	case len(found) == 0:
		return ok("path", "%s runs; no covey is on the PATH", self)
	case len(found) > 1:
		return warn("path", fmt.Sprintf("a shell starts %s; another covey is on the PATH: %s", found[0],
			strings.Join(found[1:], ", ")), "delete the one that you do not want, or change the order of the PATH")
	case !sameFile(self, found[0]):
		return warn("path", fmt.Sprintf("a shell starts %s, and this is %s", found[0], self),
			"delete the one that you do not want, or put the other's folder first in the PATH")
	}
	return ok("path", "%s is the only covey on the PATH", found[0])
}

// onPath returns the programs of a name in the folders of the PATH, each file once: links
// to one program are not two.
func onPath(name string) []string {
	var found []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // means another folder wherever a shell is
		}
		path, err := exec.LookPath(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		if !slices.ContainsFunc(found, func(other string) bool { return sameFile(other, path) }) {
			found = append(found, path)
		}
	}
	return found
}

// sameFile reports whether two paths lead to one file. A path that leads nowhere is no file.
func sameFile(a, b string) bool {
	one, errA := os.Stat(a)
	two, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(one, two)
}
