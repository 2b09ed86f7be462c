package worktree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/texts"
)

// Filter is a filter as a configuration defines it (gitattributes(5)). Without a
// command it is not defined.
type Filter struct {
	Name                   string
	Clean, Smudge, Process string // command lines
	Required               bool
}

// String returns the definition in one line, for people.
func (f Filter) String() string {
	text := f.Name
	for _, part := range []struct{ what, command string }{{"clean", f.Clean}, {"smudge", f.Smudge},
		{"process", f.Process}} {
		if part.command != "" {
			text += fmt.Sprintf(" %s=%q", part.what, part.command)
		}
	}
	if f.Required {
		text += " required"
	}
	return text
}

// allowed returns the filters that may run.
func (g Git) allowed() []Filter {
	if g.Filters == nil {
		return nil
	}
	return g.Filters()
}

// Defined reports whether the filter has a command.
func (f Filter) Defined() bool { return f.Clean != "" || f.Smudge != "" || f.Process != "" }

// Withheld are files that were not processed because of their filter.
type Withheld struct {
	Top     string   // the working copy
	Files   []string // relative to Top
	Filters []string // filters that only the repository's configuration defines
}

// String describes the files, and what the operator can do.
func (w Withheld) String() string {
	names := strings.Join(w.Filters, ", ")
	return fmt.Sprintf("%s in %s: covey neither commits nor checks out these files, because they have a git filter that only the "+
		"repository's own configuration defines (%s); `git: {filters: [%[3]s]}` in the spec lets covey run it, or define it in your "+
		"global git configuration", texts.Few(w.Files, 5), w.Top, names)
}

// FiltersIn returns the named filters that the configuration of a folder's repository
// defines, in that order. Without a repository there are none.
func (g Git) FiltersIn(ctx context.Context, dir string, names []string) []Filter {
	if len(names) == 0 {
		return nil
	}
	repo, err := g.Open(ctx, dir)
	if err != nil {
		return nil
	}
	_, own, err := repo.entries(ctx)
	if err != nil {
		return nil
	}
	var filters []Filter
	for _, name := range names {
		if f := filterIn(own, name); f.Defined() {
			filters = append(filters, f)
		}
	}
	return filters
}

// filterIn returns how entries define a filter.
func filterIn(entries []entry, name string) Filter {
	of := func(variable string) string { return last(entries, "filter."+name+"."+variable) }
	return Filter{
		Name: name, Clean: of("clean"), Smudge: of("smudge"), Process: of("process"),
		Required: isTrue(entries, "filter."+name+".required"),
	}
}

// filters sets each filter of the repository to what may run: the allowed definition,
// or that of the user or the system under the same name. Any other filter is forbidden,
// and replaced by one that leaves content unchanged, for reads that git must make.
func (g *guard) filters(outer, own []entry, allowed []Filter) {
	for _, e := range own {
		name, variable, ok := e.part("filter")
		if !ok || variable != "clean" && variable != "smudge" && variable != "process" ||
			slices.Contains(g.forbidden, name) {
			continue
		}
		may := filterIn(outer, name)
		if i := slices.IndexFunc(allowed, func(f Filter) bool { return f.Name == name }); i >= 0 {
			may = allowed[i]
		}
		// A process overrides the other commands, even an empty one, so it cannot be
		// unset: the repository must not add one to an allowed filter.
		process := slices.ContainsFunc(own, func(e entry) bool { return e.key == "filter."+name+".process" })
		if !may.Defined() || process && may.Process == "" {
			g.forbidden = append(g.forbidden, name)
			may = Filter{Name: name}
		}
		key := "filter." + name + "."
		g.set(key+"clean", may.Clean)
		g.set(key+"smudge", may.Smudge)
		g.set(key+"required", fmt.Sprint(may.Required))
		if may.Process != "" || !may.Defined() {
			g.set(key+"process", may.Process)
		}
	}
}

// tell reports withheld files of a copy that is not the workspace's. There covey does not
// commit, and the user's own git runs the filters.
func (w writer) tell(files []string) {
	if r := w.repo; len(files) > 0 && (r.borrows || r.GitDir != r.Common) && r.git.Withheld != nil {
		r.git.Withheld(Withheld{Top: r.Top, Files: files, Filters: w.guard.forbidden})
	}
}

// leaveOut removes the files with a forbidden filter from the lists of deleted and
// changed files, and returns those of them that exist. It uses the current attributes,
// those of the last commit, and the flags of withhold: files that were not checked out
// are not deleted.
func (w writer) leaveOut(ctx context.Context, gone, changed []string) (stillGone, stillChanged,
	withheld []string, err error) {
	if len(w.guard.forbidden) == 0 || len(gone)+len(changed) == 0 {
		return gone, changed, nil, nil
	}
	out := map[string]bool{}
	for _, source := range [][]string{nil, {"--cached"}} {
		if err := w.filtered(ctx, slices.Concat(gone, changed), source, out); err != nil {
			return nil, nil, nil, err
		}
	}
	marked, err := w.repo.guarded(ctx, call{args: []string{"ls-files", "-t", "-z"}, guard: w.guard})
	if err != nil {
		return nil, nil, nil, err
	}
	left := map[string]bool{}
	for _, entry := range fields(marked) {
		if path, ok := strings.CutPrefix(entry, "S "); ok {
			left[path] = true
		}
	}
	gone = slices.DeleteFunc(gone, func(path string) bool { return out[path] || left[path] })
	for _, path := range changed {
		if out[path] {
			withheld = append(withheld, path)
		} else {
			stillChanged = append(stillChanged, path)
		}
	}
	slices.Sort(withheld)
	return gone, stillChanged, slices.Compact(withheld), nil
}

// filtered marks those of some paths that have a forbidden filter. options are passed
// to git check-attr.
func (w writer) filtered(ctx context.Context, paths, options []string, into map[string]bool) error {
	list := []byte(strings.Join(paths, "\x00") + "\x00")
	out, err := w.git(ctx, list, slices.Concat([]string{"check-attr"}, options, []string{"-z", "--stdin", "filter"})...)
	listed := fields(out) // path, "filter", its value, …
	for i := 0; i+2 < len(listed); i += 3 {
		if slices.Contains(w.guard.forbidden, listed[i+2]) {
			into[listed[i]] = true
		}
	}
	return err
}

// withhold removes the files with a forbidden filter from a copy that git just checked
// out, and marks them in its index as not checked out, so that git treats them as
// unchanged. Nobody works in the copy yet.
func (r *Repo) withhold(ctx context.Context) error {
	guard, err := r.guard(ctx)
	if err != nil || len(guard.forbidden) == 0 {
		return err
	}
	w := writer{repo: r, guard: guard}
	files, err := w.withFilter(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	root, err := os.OpenRoot(r.Top)
	if err != nil {
		return fmt.Errorf("remove files with a filter: %w", err)
	}
	defer root.Close()
	for _, file := range files {
		if err := root.Remove(filepath.FromSlash(file)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove a file with a filter: %w", err)
		}
	}
	list := []byte(strings.Join(files, "\x00") + "\x00")
	_, err = w.git(ctx, list, "update-index", "--skip-worktree", "-z", "--stdin")
	w.tell(files)
	return err
}

// withFilter lists the regular files of the index that have a forbidden filter.
func (w writer) withFilter(ctx context.Context) ([]string, error) {
	out, err := w.git(ctx, nil, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, entry := range fields(out) { // "100644 ID 0\tpath"
		if about, path, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(about, "100") {
			paths = append(paths, path)
		}
	}
	found := map[string]bool{}
	if len(paths) == 0 {
		return nil, nil
	}
	if err := w.filtered(ctx, paths, []string{"--cached"}, found); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !found[path] }), nil
}

// withheldBy lists the files with a forbidden filter that differ between a commit and
// the copy's current one.
func (r *Repo) withheldBy(ctx context.Context, commit string) (*Withheld, error) {
	w, done, err := r.writer(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("read the attributes of %s: %w", commit, err)
	}
	defer done()
	if len(w.guard.forbidden) == 0 {
		return nil, nil
	}
	if _, err := w.git(ctx, nil, "read-tree", commit); err != nil {
		return nil, err
	}
	files, err := w.withFilter(ctx)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	head, err := r.Head(ctx)
	if err != nil {
		return nil, err
	}
	if head.Commit != "" {
		changed, err := r.Changed(ctx, head.Commit, commit)
		if err != nil {
			return nil, err
		}
		files = slices.DeleteFunc(files, func(path string) bool {
			return !slices.ContainsFunc(changed, func(c Change) bool { return c.Path == path })
		})
	}
	if len(files) == 0 {
		return nil, nil
	}
	return &Withheld{Top: r.Top, Files: files, Filters: w.guard.forbidden}, nil
}

// NeedFilters returns an error that wraps ErrNoFilter if a file of the repository has a filter
// that is required, may run, and whose program is not installed: git could check out no copy.
func (r *Repo) NeedFilters(ctx context.Context) error {
	outer, _, err := r.entries(ctx)
	if err != nil {
		return err
	}
	may := r.git.allowed()
	for _, e := range outer {
		if name, _, ok := e.part("filter"); ok && !slices.ContainsFunc(may, func(f Filter) bool { return f.Name == name }) {
			may = append(slices.Clip(may), filterIn(outer, name))
		}
	}
	for _, f := range may {
		program := f.missing(ctx, r.git)
		if !f.Required || program == "" {
			continue
		}
		files, err := r.guarded(ctx, call{env: []string{"GIT_LITERAL_PATHSPECS=0"},
			args: []string{"ls-files", "-z", "--", ":(top,attr:filter=" + f.Name + ")"}})
		if list := fields(files); err == nil && len(list) > 0 { // git refuses names that cannot be in a pattern
			return fmt.Errorf("%w: files such as %s need the git filter %s, which runs %s; install that",
				ErrNoFilter, list[0], f.Name, program)
		}
	}
	return nil
}

// missing returns the program of a filter that is not installed, or "" if all are, or that
// cannot be seen from the command line.
func (f Filter) missing(ctx context.Context, git Git) string {
	for _, line := range []string{f.Process, f.Smudge, f.Clean} {
		words := strings.Fields(line)
		if len(words) == 0 || strings.ContainsAny(words[0], "=$'\"`\\(){}<>|&;*?~") {
			continue // the shell has to read it
		}
		program := words[0]
		if program == "git" && len(words) > 1 { // git finds its commands in a folder of its own, too
			if out, err := git.run(ctx, call{args: []string{"--list-cmds=main,others"}}); err != nil ||
				slices.Contains(strings.Fields(string(out)), words[1]) {
				continue
			}
			program = "git-" + words[1]
		}
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}
