package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// Person is whom a commit names.
type Person struct{ Name, Email string }

// Commit is a commit that CommitTree is to make.
type Commit struct {
	Tree    string
	Parents []string
	Message string // not empty
	Author  Person // a zero Person: who git says the user is, or covey if it does not know
}

// CommitTree makes a commit and returns its id. No branch moves.
func (r *Repo) CommitTree(ctx context.Context, c Commit) (string, error) {
	args := []string{"commit-tree", c.Tree, "-F", "-"}
	for _, parent := range c.Parents {
		args = append(args, "-p", parent)
	}
	env, err := r.Config.identity(ctx, c.Author) // git itself would refuse where it knows nobody
	if err != nil {
		return "", fmt.Errorf("find out who commits: %w", err)
	}
	out, err := r.git.run(ctx, call{args: args, dir: r.Top, env: env, stdin: []byte(c.Message)})
	return line(out), err
}

// identity are the variables by which git knows who commits.
func (c Config) identity(ctx context.Context, author Person) ([]string, error) {
	user, err := c.User(ctx)
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

// User is whom git's configuration names as its user; a zero Person if it does not
// name both a name and an address.
func (c Config) User(ctx context.Context) (Person, error) {
	if c.known != nil { // the operation has read the configuration already
		return c.known.user, nil
	}
	out, err := c.git.run(ctx, call{
		args: []string{"config", "-z", "--get-regexp", `^user\.(name|email)$`}, dir: c.top,
	})
	var f *Failure
	if errors.As(err, &f) && f.Code == 1 {
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

// userOf is the user that the entries of a configuration name. The last of each counts.
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

// CommitAll commits what lies in the working copy, on the branch that it is on, and
// returns the new commit; the one that it is on if there is nothing to commit.
// Nobody else may work in the copy meanwhile.
func (r *Repo) CommitAll(ctx context.Context, message string, author Person) (string, error) {
	r, err := r.operation(ctx)
	if err != nil {
		return "", err
	}
	head, err := r.Head(ctx)
	if err != nil {
		return "", err
	}
	commit, err := r.keep(ctx, head, message, author)
	if err != nil || commit == head.Commit {
		return commit, err
	}
	ref := "HEAD"
	if head.Branch != "" {
		ref = "refs/heads/" + head.Branch
	}
	// The index (not the files) comes first: if covey is killed in between, all is staged.
	// A branch that is ahead of the index would make the next commit, anybody's, take back
	// what this one has brought.
	if _, err := r.run(ctx, "read-tree", "--reset", commit); err != nil {
		return "", fmt.Errorf("bring the index to the new commit: %w", err)
	}
	from := cmp.Or(head.Commit, zero)
	why := "covey: " + line([]byte(message))
	if _, err := r.run(ctx, "update-ref", "--create-reflog", "-m", why, ref, commit, from); err != nil {
		return "", fmt.Errorf("move %s to the new commit: %w", ref, err)
	}
	return commit, nil
}

// keep makes a commit of what lies in the working copy, on top of head. No branch
// moves.
func (r *Repo) keep(ctx context.Context, head Head, message string, author Person) (string, error) {
	state, err := r.State(ctx, "")
	if err != nil {
		return "", err
	}
	if len(state.Beyond) > 0 {
		return "", fmt.Errorf("%s holds repositories of their own, which no commit can hold: %s",
			r.Top, strings.Join(state.Beyond, ", "))
	}
	c := Commit{Tree: state.Tree, Message: message, Author: author}
	if head.Commit != "" {
		was, err := r.TreeOf(ctx, head.Commit)
		if err != nil {
			return "", err
		}
		if was == state.Tree {
			return head.Commit, nil
		}
		c.Parents = []string{head.Commit}
	}
	return r.CommitTree(ctx, c)
}

// Rescue sets a new reference, such as "refs/covey/rescue/crew/ana/1", to a commit
// that holds what lies in the working copy and, below it, what it is on. Neither
// its files nor its branch are touched. It returns the commit. It fails if the copy
// has something that no commit can hold (State.Beyond, State.Withheld).
func (r *Repo) Rescue(ctx context.Context, ref, message string) (string, error) {
	r, err := r.operation(ctx)
	if err != nil {
		return "", err
	}
	head, err := r.Head(ctx)
	if err != nil {
		return "", err
	}
	state, err := r.State(ctx, "")
	if err != nil {
		return "", err
	}
	if len(state.Withheld) > 0 {
		return "", fmt.Errorf("%s holds files that no commit may take: %s",
			r.Top, strings.Join(state.Withheld, ", "))
	}
	commit, err := r.keep(ctx, head, message, Person{})
	if err != nil {
		return "", err
	}
	return commit, r.Move(ctx, ref, Step{To: commit, Why: "covey: " + line([]byte(message))})
}
