package worktree

import (
	"context"
	"fmt"
	"strings"
)

// Person is an author or committer.
type Person struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

// Commit describes a commit for CommitTree.
type Commit struct {
	Tree    string
	Parents []string
	Message string // not empty
	Author  Person // zero: git's configured user, or covey if there is none
}

// CommitTree creates a commit and returns its id. It moves no branch.
func (r *Repo) CommitTree(ctx context.Context, c Commit) (string, error) {
	args := []string{"commit-tree", c.Tree, "-F", "-"}
	for _, parent := range c.Parents {
		args = append(args, "-p", parent)
	}
	env, err := r.identity(ctx, c.Author) // git refuses to commit without a configured user
	if err != nil {
		return "", fmt.Errorf("read the user of git: %w", err)
	}
	out, err := r.git.run(ctx, call{args: args, dir: r.Top, env: env, stdin: []byte(c.Message)})
	return line(out), err
}

// identity returns the environment variables that set author and committer.
func (r *Repo) identity(ctx context.Context, author Person) ([]string, error) {
	user, err := r.User(ctx)
	if err != nil {
		return nil, err
	}
	if user == (Person{}) {
		user = Person{"covey", "covey@localhost"}
	}
	if author == (Person{}) {
		author = user
	}
	return []string{
		"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email,
		"GIT_COMMITTER_NAME=" + user.Name, "GIT_COMMITTER_EMAIL=" + user.Email,
	}, nil
}

// User returns the configured user of git; zero unless both name and address are set.
func (r *Repo) User(ctx context.Context) (Person, error) {
	if r.known != nil { // the operation has read the configuration already
		return r.known.user, nil
	}
	out, err := r.git.run(ctx, call{
		args: []string{"config", "-z", "--get-regexp", `^user\.(name|email)$`}, dir: r.Top,
	})
	if exitCode(err) == 1 {
		return Person{}, nil
	}
	if err != nil {
		return Person{}, err
	}
	var all []entry
	for _, text := range fields(out) {
		all = append(all, entryOf(text))
	}
	return userOf(all), nil
}

// userOf returns the user that the entries of a configuration set. The last of each counts.
func userOf(all []entry) Person {
	var p Person
	for _, e := range all {
		switch value := strings.TrimSpace(line([]byte(e.value))); e.key {
		case "user.name":
			p.Name = value
		case "user.email":
			p.Email = value
		}
	}
	if p.Name == "" || p.Email == "" {
		return Person{}
	}
	return p
}

// CommitAll commits everything in the working copy on its branch, except new files that are in
// without, and returns what is then checked out: the new commit, or the current one if there is
// nothing to commit. Nobody else may work in the copy meanwhile. Of c it uses message and author.
func (r *Repo) CommitAll(ctx context.Context, c Commit, without map[string]bool) (Head, error) {
	r, err := r.Operation(ctx)
	if err != nil {
		return Head{}, err
	}
	state, err := r.State(ctx, "")
	if err != nil {
		return Head{}, err
	}
	if err := r.leaveNew(ctx, &state, without); err != nil {
		return Head{}, err
	}
	head := state.Head
	commit, err := r.keep(ctx, state, c.Message, c.Author)
	if err != nil || commit == head.Commit {
		return head, err
	}
	ref := "HEAD"
	if head.Branch != "" {
		ref = "refs/heads/" + head.Branch
	}
	// Update the index (not the files) first: if covey is killed in between, all is
	// staged. With the branch ahead of the index, the next commit would revert this
	// one.
	if _, err := r.run(ctx, "read-tree", "--reset", commit); err != nil {
		return Head{}, fmt.Errorf("set the index to the new commit: %w", err)
	}
	why := "covey: " + line([]byte(c.Message))
	if _, err := r.run(ctx, "update-ref", "--create-reflog", "-m", why, ref, commit, head.Commit); err != nil {
		return Head{}, fmt.Errorf("move %s to the new commit: %w", ref, err)
	}
	return Head{Branch: head.Branch, Commit: commit, Tree: state.Tree}, nil
}

// leaveNew removes files from the tree of a state that its head does not have.
func (r *Repo) leaveNew(ctx context.Context, s *State, without map[string]bool) error {
	if len(without) == 0 || s.Head.Commit == "" {
		return nil
	}
	changes, err := r.Changed(ctx, s.Head.Tree, s.Tree)
	if err != nil {
		return err
	}
	var removals strings.Builder
	for _, c := range changes {
		if c.Kind == 'A' && without[c.Path] {
			removals.WriteString(c.Path + "\x00")
		}
	}
	if removals.Len() == 0 {
		return nil
	}
	w, done, err := r.writer(ctx, "")
	if err != nil {
		return fmt.Errorf("leave files out of a commit: %w", err)
	}
	defer done()
	if _, err := w.git(ctx, nil, "read-tree", s.Tree); err != nil {
		return err
	}
	if _, err := w.git(ctx, []byte(removals.String()), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
		return err
	}
	out, err := w.git(ctx, nil, "write-tree")
	s.Tree = line(out)
	return err
}

// keep creates a commit of the state of the working copy, on top of its head and of more commits. It
// moves no branch.
func (r *Repo) keep(ctx context.Context, state State, message string, author Person, more ...string) (string, error) {
	if len(state.Beyond) > 0 {
		return "", fmt.Errorf("%s holds nested repositories, which cannot be committed: %s",
			r.Top, strings.Join(state.Beyond, ", "))
	}
	c := Commit{Tree: state.Tree, Message: message, Author: author, Parents: more}
	if head := state.Head; head.Commit != "" {
		if head.Tree == state.Tree && len(more) == 0 {
			return head.Commit, nil
		}
		c.Parents = append([]string{head.Commit}, more...)
	}
	return r.CommitTree(ctx, c)
}

// Rescue brings everything that a clone has to the operator's repository: a reference there, such as
// "refs/covey/rescue/crew/ana/1", to a commit of its files, whose parents are its current commit and
// its strays. It changes neither files nor branch. It fails if the copy has files that cannot be
// committed (State.Beyond, State.Withheld).
func (r *Repo) Rescue(ctx context.Context, ref, message string) error {
	r, err := r.Operation(ctx)
	if err != nil {
		return err
	}
	state, err := r.State(ctx, "")
	if err != nil {
		return err
	}
	if len(state.Withheld) > 0 {
		return fmt.Errorf("%s holds files that must not be committed: %s",
			r.Top, strings.Join(state.Withheld, ", "))
	}
	strays, err := r.Strays(ctx)
	if err != nil {
		return err
	}
	if r.lent == nil {
		return fmt.Errorf("%w: %s is no clone of a member", ErrNoRepo, r.Top)
	}
	var more []string
	for _, s := range strays {
		more = append(more, s.Commit)
	}
	commit, err := r.keep(ctx, state, message, Person{}, more...)
	if err != nil {
		return err
	}
	return r.lent.base.repo.Fetch(ctx, r, commit, ref)
}
