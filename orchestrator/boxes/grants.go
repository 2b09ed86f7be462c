package boxes

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/proc"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/state"
)

// grants are folders and files that a program may access. What it writes to those in discard is not kept.
type grants struct{ read, write, readOnly, discard []string }

// grantsOf returns what a program may access that works in a folder. own means that the folder is a working copy, in which
// a member can write what it likes: what it says of where its git has data is not believed.
func grantsOf(dir string, own bool, place state.Place) grants {
	if !own {
		g := grants{write: []string{dir}, read: lenders(place)}
		if top := topOf(dir, string(filepath.Separator)); top != "" {
			g.addGit(top, place.Team)
		}
		return g
	}
	if top := topOf(dir, place.Dir); top != "" {
		dir = top
	}
	base, repo := filepath.Join(place.Dir, "base.git"), repositoryOf(place.Workspace)
	g := grants{write: []string{dir}, read: append(lenders(place), base)}
	if repo != "" {
		g.read = append(g.read, filepath.Join(repo, "objects"))
	}
	if data, shared := linkedTo(dir); shared != "" && (shared == base || shared == repo) {
		g.addLinked(data, shared, place.Team)
	}
	return g
}

// narrow lets a program write, in a folder that others use, too, only where its member owns files: what a glob names or, if
// that is no folder or is not there yet, the folder in which it begins. The rest may be read.
func (g *grants) narrow(dir string, owns []string) {
	if owns == nil {
		return
	}
	g.write = slices.DeleteFunc(g.write, func(path string) bool { return path == dir })
	g.read = append(g.read, dir)
	for _, glob := range owns {
		base, rest := doublestar.SplitPattern(glob)
		if rest != "" && !strings.ContainsAny(rest, "*?[{") {
			base = glob
		}
		path := filepath.Join(dir, filepath.FromSlash(base))
		for !exists(path) && path != dir {
			path = filepath.Dir(path)
		}
		g.write = append(g.write, path)
	}
}

// protect keeps what globs select in a folder that others use, too, from being changed: whole folders, and the files that are
// there now.
func (g *grants) protect(dir string, globs []string) {
	for _, glob := range globs {
		base, rest := doublestar.SplitPattern(glob)
		if rest == "**" {
			g.readOnly = append(g.readOnly, filepath.Join(dir, filepath.FromSlash(base)))
			continue
		}
		options := []doublestar.GlobOption{doublestar.WithNoFollow(), doublestar.WithCaseInsensitive()}
		if strings.HasSuffix(glob, "*") {
			options = append(options, doublestar.WithFilesOnly()) // it selects no folder with what is in it
		}
		found, _ := doublestar.Glob(os.DirFS(dir), glob, options...) // the glob was checked; what cannot be read stays out
		for _, path := range found {
			g.readOnly = append(g.readOnly, filepath.Join(dir, filepath.FromSlash(path)))
		}
	}
}

// topOf returns the nearest folder with a repository, from a folder up to one above it; "": there is none.
func topOf(dir, last string) string {
	for texts.Within(last, dir) {
		if exists(filepath.Join(dir, ".git")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

// repositoryOf returns the folder with the data of git that is for all working copies of a repository; "": there is none.
func repositoryOf(dir string) string {
	top := topOf(dir, string(filepath.Separator))
	if top == "" {
		return ""
	}
	if info, err := os.Stat(filepath.Join(top, ".git")); err == nil && info.IsDir() {
		return filepath.Join(top, ".git")
	}
	_, shared := linkedTo(top)
	return shared
}

// maxLink bounds what is read of a file that names a folder, which a member may have written.
const maxLink = 1 << 16

// maxLenders bounds what is read of a list of folders from which a repository borrows.
const maxLenders = 1 << 20

// linkedTo returns the data of a linked worktree and of its repository, if these name the worktree, too; else "".
func linkedTo(top string) (data, shared string) {
	text, err := texts.ReadStart(filepath.Join(top, ".git"), maxLink)
	if err != nil {
		return "", ""
	}
	data = texts.Absolute(top, strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir:")))
	common, err := texts.ReadStart(filepath.Join(data, "commondir"), maxLink)
	back, err2 := texts.ReadStart(filepath.Join(data, "gitdir"), maxLink)
	if err != nil || err2 != nil || texts.Absolute(data, strings.TrimSpace(string(back))) != filepath.Join(top, ".git") {
		return "", ""
	}
	shared = texts.Absolute(data, strings.TrimSpace(string(common)))
	if !texts.Within(filepath.Join(shared, "worktrees"), data) {
		return "", ""
	}
	return data, shared
}

// policyOf returns the policy of a sandbox with what its programs always need. What holds the folder of the teams' states is
// not granted.
func policyOf(s configs.Sandbox, g grants, home string) sandbox.Policy {
	read, write := system()
	usual := func(dirs []string) []string {
		return slices.DeleteFunc(dirs, func(dir string) bool { return texts.Within(dir, home) })
	}
	return sandbox.Policy{
		Want: s.Level, Network: s.Network, Hosts: s.Hosts, NoUnix: s.NoUnix,
		Read: slices.Concat(usual(read), g.read, s.Read), Write: slices.Concat(usual(write), g.write, s.Write), ReadOnly: g.readOnly,
		Discard: g.discard, Deny: s.DenyRead, Search: slices.Concat(g.write, g.discard),
		MaxFile: uint64(s.MaxFile), MaxOpen: uint64(min(s.MaxOpen, math.MaxInt32)), MaxProcesses: s.MaxProcesses,
	}
}

// system returns what all programs may read, and what they may write to.
func system() (read, write []string) {
	read, write = sandbox.System()
	return append(read, "/libx32", "/nix", "/gnu", "/run/resolvconf", "/var/lib/ca-certificates"), write
}

// addGit adds what git needs for work in a repository that others use, too. Its configuration and hooks may not be changed.
func (g *grants) addGit(top, team string) {
	git := filepath.Join(top, ".git")
	if info, err := os.Stat(git); err == nil && info.IsDir() {
		g.write = append(g.write, git)
		for _, name := range []string{"config", "hooks", "info", "objects/info"} {
			g.readOnly = append(g.readOnly, filepath.Join(git, name))
		}
		return
	}
	if data, shared := linkedTo(top); shared != "" {
		g.addLinked(data, shared, team)
	}
}

// addLinked adds what a linked worktree needs: some files of its own in the repository, and others that all share.
func (g *grants) addLinked(data, shared, team string) {
	g.read = append(g.read, shared)
	g.write = append(g.write, data)
	for _, name := range []string{"objects", filepath.Join("refs/heads/covey", team), filepath.Join("logs/refs/heads/covey", team)} {
		g.write = append(g.write, filepath.Join(shared, name))
	}
	g.readOnly = append(g.readOnly, filepath.Join(shared, "objects", "info"))
}

// lenders returns the folders from which the repository of the workspace borrowed objects when the team's first box
// was made. What it says later is not believed: at level 1 members that work in the workspace can write it, and would
// be granted what they name.
func lenders(place state.Place) []string {
	file := place.Lenders()
	text, err := texts.ReadStart(file, maxLenders)
	if err == nil {
		return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	}
	var found []string
	if repo := repositoryOf(place.Workspace); repo != "" {
		found = lendersNow(nil, filepath.Join(repo, "objects"), map[string]bool{})
	}
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return nil
	case !exists(place.Dir): // no member has run
		return found
	case state.WriteAtomic(file, []byte(strings.Join(found, "\n"))) != nil:
		return nil
	}
	return found
}

// lendersNow adds the folders from which a folder of objects borrows. That of a bare repository is added whole,
// because git asks it for its branches, too.
func lendersNow(found []string, objects string, seen map[string]bool) []string {
	text, err := texts.ReadStart(filepath.Join(objects, "info", "alternates"), maxLenders)
	if err != nil || seen[objects] {
		return found
	}
	seen[objects] = true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		from := texts.Absolute(objects, line)
		if repo := filepath.Dir(from); filepath.Base(repo) != ".git" && exists(filepath.Join(repo, "HEAD")) {
			found = append(found, repo)
		}
		found = lendersNow(append(found, from), from, seen)
	}
	return found
}

// outermost returns the folders that are in no other one: layers over layers are more than some kernels take.
func outermost(dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		return slices.ContainsFunc(dirs, func(above string) bool { return above != dir && texts.Within(above, dir) })
	})
}

// toolchains returns the folders of programs outside of the system's: those on the PATH, what they
// belong to, and the folders of version managers.
func toolchains(environ []string) (dirs []string) {
	home := proc.Getenv(environ, "HOME")
	has, _ := system()
	add := func(dir string) {
		if !filepath.IsAbs(dir) || dir == home || texts.Within(dir, home) ||
			slices.ContainsFunc(slices.Concat(has, dirs), func(have string) bool { return texts.Within(have, dir) }) {
			return
		}
		dirs = append(dirs, dir)
	}
	// whole adds the folder that a folder of programs belongs to, unless others share it.
	whole := func(dir string) {
		above := filepath.Dir(dir)
		shared := []string{home, filepath.Join(home, ".local"), filepath.Join(home, ".cargo"), filepath.Join(home, ".config"), "/", "/usr", "/usr/local"}
		// A folder with a repository is somebody's work. Those of version managers, which are repositories, follow below.
		if name := filepath.Base(dir); (name == "bin" || name == "shims") && !slices.Contains(shared, above) && !exists(filepath.Join(above, ".git")) {
			add(above)
		}
		add(dir)
	}
	for _, dir := range filepath.SplitList(proc.Getenv(environ, "PATH")) {
		if filepath.IsAbs(dir) {
			whole(filepath.Clean(dir))
		}
	}
	for _, name := range []string{"go", "node", "python3", "cargo", "rustc", "java", "ruby", "bun", "deno", "php"} {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.EvalSymlinks(path); err == nil {
				whole(filepath.Dir(path))
			}
		}
	}
	for _, at := range [][2]string{
		{"PYENV_ROOT", ".pyenv"}, {"RUSTUP_HOME", ".rustup"}, {"NVM_DIR", ".nvm"}, {"GOROOT", ""}, {"JAVA_HOME", ""},
		{"", ".volta"}, {"", ".asdf"}, {"", ".sdkman"}, {"", ".rbenv"}, {"", ".local/share/mise"}, {"", ".local/share/uv"},
		// git fails if there is a configuration that it cannot read. Beside it may be credentials.
		{"", ".gitconfig"}, {"", ".config/git/config"}, {"", ".config/git/ignore"}, {"", ".config/git/attributes"},
	} {
		dir := proc.Getenv(environ, at[0])
		if dir == "" && at[1] != "" && home != "" {
			dir = filepath.Join(home, at[1])
		}
		add(dir)
	}
	return dirs
}

// goProxy returns where the go command gets modules from; empty if it does not say.
func goProxy(environ []string) string {
	program, err := proc.LookPath("go", environ)
	if err != nil {
		return ""
	}
	cmd := exec.Command(program, "env", "GOPROXY")
	cmd.Dir, cmd.Env = filepath.Dir(program), environ // in no folder that a member can change
	said, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(said))
}

// caches returns variables that lead programs to caches of the team, because what lies in the
// operator's would be used by the operator's next build, and what they may read for it: the
// modules of Go that have been downloaded. goProxy returns where others come from; empty: unknown.
func caches(environ []string, dir string, goProxy func() string) (env, read []string) {
	env = []string{
		"XDG_CACHE_HOME=" + dir, "GOCACHE=" + filepath.Join(dir, "go-build"), "GOMODCACHE=" + filepath.Join(dir, "mod"),
		"npm_config_cache=" + filepath.Join(dir, "npm"), "CARGO_HOME=" + filepath.Join(dir, "cargo"),
		"PIP_CACHE_DIR=" + filepath.Join(dir, "pip"),
		// The modules could not be removed with the team otherwise.
		"GOFLAGS=" + strings.TrimSpace(proc.Getenv(environ, "GOFLAGS")+" -modcacherw"),
	}
	modules := proc.Getenv(environ, "GOMODCACHE")
	if modules == "" {
		path := proc.Getenv(environ, "GOPATH")
		if path == "" {
			path = filepath.Join(proc.Getenv(environ, "HOME"), "go")
		}
		modules = filepath.Join(filepath.SplitList(path)[0], "pkg", "mod")
	}
	downloads := filepath.Join(modules, "cache", "download")
	if info, err := os.Stat(downloads); err == nil && info.IsDir() && runtime.GOOS != "windows" {
		if proxy := goProxy(); proxy != "" {
			env, read = append(env, "GOPROXY=file://"+downloads+","+proxy), []string{downloads}
		}
	}
	return env, read
}

// scriptsOf returns what a command line, which runs in a folder, names in the workspace of a team and in the folder of its
// spec: files, with the folders that they are in.
func scriptsOf(team *configs.Team, dir string, words ...string) (paths []string) {
	spec := filepath.Dir(team.File)
	// Quotes go, because "$CLAUDE_PROJECT_DIR"/x.sh is one word.
	plain := strings.NewReplacer("\"", "", "'", "",
		"${CLAUDE_PROJECT_DIR}", team.Workspace, "$CLAUDE_PROJECT_DIR", team.Workspace,
		"${COVEY_WORKSPACE}", team.Workspace, "$COVEY_WORKSPACE", team.Workspace)
	for _, word := range words {
		word = plain.Replace(word)
		for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>=", r) }) {
			path := texts.Absolute(dir, part)
			if !strings.Contains(part, "/") || texts.Within(dir, path) || !texts.Within(team.Workspace, path) && !texts.Within(spec, path) {
				continue
			}
			if folder := filepath.Dir(path); folder != spec && !texts.Within(folder, team.Workspace) {
				path = folder
			}
			paths = append(paths, path)
		}
	}
	return paths
}
