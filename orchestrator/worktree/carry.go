package worktree

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// carriedSections are the sections of a repository's configuration that its clones get. Those that
// may hold a password or a program with one (url, http, credential) are none of them.
var carriedSections = []string{
	"advice", "alias", "am", "apply", "author", "blame", "branch", "color", "column", "commit", "committer", "core", "diff", "difftool",
	"fetch", "filter", "format", "gpg", "grep", "i18n", "index", "interactive", "lfs", "log", "merge", "mergetool", "notes", "pager", "pull",
	"push", "rebase", "rerere", "revert", "sequence", "status", "submodule", "tag", "user", "versionsort",
}

// ownKeys are the settings of section core that each repository has for itself.
var ownKeys = []string{
	"core.askpass", "core.alternaterefscommand", "core.bare", "core.fsmonitor", "core.gitproxy", "core.hookspath",
	"core.repositoryformatversion", "core.sshcommand", "core.worktree",
}

// carriedRemote are the settings of a remote that clones get.
var carriedRemote = []string{"fetch", "partialclonefilter", "promisor", "prune", "push", "pushurl", "tagopt", "url"}

// carried returns the part of the configuration of r that a clone gets, as text for its file.
func (r *Repo) carried(ctx context.Context) (string, error) {
	outer, own, err := r.entries(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, e := range own {
		section, _, _ := strings.Cut(e.key, ".")
		name, variable, remote := e.part("remote")
		switch {
		case remote && name != baseRemote && slices.Contains(carriedRemote, variable):
			if strings.HasSuffix(variable, "url") {
				e.value = withoutPassword(r.place(e.value))
			}
		case e.key == "extensions.partialclone": // which works only in a repository of version 1
			text.WriteString(entry{key: "core.repositoryformatversion", value: "1"}.line())
		case !slices.Contains(carriedSections, section) || slices.Contains(ownKeys, e.key) || e.key == "lfs.storage":
			continue
		case strings.HasSuffix(e.key, "url"):
			e.value = withoutPassword(e.value)
		}
		text.WriteString(e.line())
	}
	all := slices.Concat(outer, own)
	if slices.ContainsFunc(all, func(e entry) bool { return strings.HasPrefix(e.key, "filter.lfs.") }) {
		storage := texts.Absolute(r.Common, cmp.Or(last(all, "lfs.storage"), "lfs"))
		text.WriteString(entry{key: "lfs.storage", value: storage}.line())
	}
	return text.String(), nil
}

// place returns where a remote is, seen from anywhere.
func (r *Repo) place(address string) string {
	colon, slash := strings.IndexByte(address, ':'), strings.IndexByte(address, '/')
	if filepath.IsAbs(address) || colon >= 0 && (slash < 0 || colon < slash) { // a URL, or host:path
		return address
	}
	return filepath.Join(r.Top, address)
}

// withoutPassword removes name and password from a value that is a URL: for HTTP, either may be a
// token. Of a URL that cannot be read nothing is left.
func withoutPassword(value string) string {
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok || strings.ContainsAny(scheme, " /") || !strings.ContainsAny(rest, "@?") {
		return value
	}
	u, err := url.Parse(value)
	if err != nil {
		return ""
	}
	if u.User != nil && !strings.HasPrefix(u.Scheme, "http") {
		u.User = url.User(u.User.Username())
	} else {
		u.User, u.RawQuery = nil, ""
	}
	return u.String()
}

// line returns an entry as git reads it in a file, with its section.
func (e entry) line() string {
	section, variable, _ := strings.Cut(e.key, ".")
	if at := strings.LastIndexByte(variable, '.'); at >= 0 {
		section += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(variable[:at]) + `"`
		variable = variable[at+1:]
	}
	if e.bare {
		return fmt.Sprintf("[%s]\n\t%s\n", section, variable)
	}
	value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(e.value)
	return fmt.Sprintf("[%s]\n\t%s = \"%s\"\n", section, variable, value)
}
