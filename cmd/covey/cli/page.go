package cli

import (
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// Page returns the address of a page of docs/, such as errors.md#git, because who has only the
// program has no docs/. A release has the pages of its tag; other builds have those of main.
func Page(version, page string) string {
	tag := "main"
	if semver.IsValid(version) && !module.IsPseudoVersion(version) && semver.Build(version) == "" {
		tag = version
	}
	return "https://github.com/coveyteam/covey/blob/" + tag + "/docs/" + page
}

// Page returns the address of a page of docs/ for this program.
func (e *Env) Page(page string) string { return Page(e.Version, page) }
