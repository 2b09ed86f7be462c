package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/coveyteam/covey/hooks/proc"
)

// ErrNoRemote means that a repository has no remote origin.
var ErrNoRemote = errors.New("there is no remote origin")

// Remote is a repository elsewhere that keeps what must outlive this host. Git talks to it as the
// operator's: with the operator's settings and keys, from the base, so that neither settings nor
// hooks of the workspace count, which members may be able to write.
type Remote struct {
	base *Base
	url  string
}

// RemoteURL returns where the remote origin takes pushes, according to the configuration of the
// repository. The error wraps ErrNoRemote if it names none.
func (r *Repo) RemoteURL(ctx context.Context) (string, error) {
	_, own, err := r.entries(ctx)
	if err != nil {
		return "", err
	}
	for _, key := range []string{"remote.origin.pushurl", "remote.origin.url"} {
		if url := last(own, key); url != "" {
			return r.place(url), nil
		}
	}
	return "", fmt.Errorf("%w in %s", ErrNoRemote, r.Top)
}

// Remote returns the remote origin of the operator's repository, as its configuration names it now.
func (b *Base) Remote(ctx context.Context) (*Remote, error) {
	url, err := b.repo.RemoteURL(ctx)
	return &Remote{b, url}, err
}

// String returns the address of the remote without a password.
func (r *Remote) String() string { return withoutPassword(r.url) }

// run runs a command of git that talks to the remote.
func (r *Remote) run(ctx context.Context, args ...string) ([]byte, error) {
	r.base.mu.Lock()
	err := r.base.create(ctx)
	r.base.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("the base of the working copies: %w", err)
	}
	out, err := r.base.repo.git.run(ctx, call{args: args, dir: r.base.dir, env: operatorsEnv(), limit: slow})
	var f *Failure
	if errors.As(err, &f) {
		f.Dir, f.Stderr = r.String(), strings.ReplaceAll(f.Stderr, r.url, r.String())
	}
	return out, err
}

// operatorsEnv returns the variables by which git reaches a remote as the operator.
func operatorsEnv() []string {
	return append(proc.KeepEnv(os.Environ(), []string{
		"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_SSL_*",
		"SSL_CERT_*", "*_proxy", "*_PROXY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME",
	}), "GIT_ALLOW_PROTOCOL=file:ssh:https")
}

// At returns the commit of a reference of the remote; empty: it has none.
func (r *Remote) At(ctx context.Context, ref string) (string, error) {
	all, err := r.Refs(ctx, ref)
	return all[ref], err
}

// Refs returns the references of the remote with a name, or below one that ends with a slash, and their
// commits.
func (r *Remote) Refs(ctx context.Context, name string) (map[string]string, error) {
	pattern := name
	if strings.HasSuffix(name, "/") {
		pattern += "*"
	}
	out, err := r.run(ctx, "ls-remote", "--", r.url, pattern)
	all := map[string]string{}
	for text := range strings.Lines(string(out)) {
		id, ref, _ := strings.Cut(strings.TrimSuffix(text, "\n"), "\t")
		if ref == name || pattern != name && strings.HasPrefix(ref, name) { // the pattern matches ends of names, too
			all[ref] = id
		}
	}
	return all, err
}

// movedSigns are what git says of a reference that is elsewhere: before a push and, if it moves meanwhile, in it.
var movedSigns = []string{"stale info", "but expected ", "unable to resolve reference", "reference already exists"}

// Push sets a reference of the remote to step.To, or removes it for an empty one, if it is still at
// step.From. The error wraps
// ErrMoved if it is elsewhere.
func (r *Remote) Push(ctx context.Context, ref string, step Step) error {
	_, err := r.run(ctx, "push", "--quiet", "--no-verify", "--no-recurse-submodules", "--no-follow-tags", "--no-signed",
		"--force-with-lease="+ref+":"+step.From, "--", r.url, step.To+":"+ref)
	if exitCode(err) > 0 && slices.ContainsFunc(movedSigns, func(s string) bool { return strings.Contains(printed(err), s) }) {
		return fmt.Errorf("%w: %s of %s", ErrMoved, ref, r)
	}
	return err
}

// Fetch brings references of the remote to the operator's repository, below another name there:
// from and to end with a slash, or neither does.
func (r *Remote) Fetch(ctx context.Context, from, to string) error {
	if strings.HasSuffix(from, "/") {
		from, to = from+"*", to+"*"
	}
	const options = "--no-tags --no-write-fetch-head --no-auto-maintenance --no-recurse-submodules"
	args := append([]string{"fetch", "--quiet", "--no-prune"}, strings.Fields(options)...)
	if _, err := r.run(ctx, append(args, "--", r.url, "+"+from+":"+to)...); err != nil {
		return err
	}
	base := &Repo{Dir: r.base.dir, Top: r.base.dir, GitDir: r.base.dir, Common: r.base.dir, git: r.base.repo.git}
	return r.base.repo.fetch(ctx, base, "+"+to+":"+to)
}
