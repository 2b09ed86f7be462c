package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/hooks/testkit"
)

// remoteOf makes a bare repository that is the remote origin of r.
func remoteOf(t testing.TB, r *Repo) (*Remote, string) {
	t.Helper()
	dir := filepath.Join(testkit.Folder(t), "origin.git")
	testkit.Shell(t, r.Top, "git init -q --bare "+dir+" && git remote add origin "+dir)
	remote, err := baseOf(t, r).Remote(t.Context())
	testkit.Must(t, err)
	return remote, dir
}

func TestRemoteTakesWhatFollows(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	if _, err := baseOf(t, r).Remote(ctx); !errors.Is(err, ErrNoRemote) {
		t.Errorf("without a remote: %v", err)
	}
	remote, dir := remoteOf(t, r)
	first, second := testkit.Shell(t, r.Top, "git rev-parse HEAD"), testkit.Shell(t, r.Top, "git commit -q --allow-empty -m 2 && git rev-parse HEAD")
	other := testkit.Shell(t, r.Top, "git commit-tree -p "+first+" -m other HEAD^{tree}")
	const ref = "refs/covey/crew/ana/1"
	at := func(want string) {
		t.Helper()
		if got, err := remote.At(ctx, ref); got != want || err != nil {
			t.Errorf("the remote has %q, %v; want %q", got, err, want)
		}
	}
	at("")
	testkit.Must(t, remote.Push(ctx, ref, Step{To: first}))
	at(first)
	testkit.Must(t, remote.Push(ctx, ref, Step{From: first, To: second}))
	for _, from := range []string{"", first, other} {
		if err := remote.Push(ctx, ref, Step{From: from, To: other}); !errors.Is(err, ErrMoved) {
			t.Errorf("from %q: %v", from, err)
		}
	}
	at(second)
	// Another clone of the repository gets it.
	clone := filepath.Join(testkit.Folder(t), "second")
	testkit.Shell(t, r.Top, "git clone -q --no-local "+r.Top+" "+clone+" && cd "+clone+" && git reset -q --hard "+first+" && git remote set-url origin "+dir)
	there := open(t, clone)
	far, err := baseOf(t, there).Remote(ctx)
	testkit.Must(t, err)
	testkit.Must(t, far.Fetch(ctx, "refs/covey/crew/", "refs/covey/crew/"))
	if got, err := there.Commit(ctx, ref); got != second || err != nil {
		t.Errorf("the clone has %q, %v", got, err)
	}
	testkit.Must(t, os.Rename(dir, dir+".away"))
	if err := remote.Push(ctx, ref, Step{From: second, To: first}); err == nil || errors.Is(err, ErrMoved) || !strings.Contains(err.Error(), dir) {
		t.Errorf("without the remote: %v", err)
	}
}

// TestRemoteIgnoresTheRepository: what members can write in the workspace decides nothing about a push.
func TestRemoteIgnoresTheRepository(t *testing.T) {
	t.Parallel()
	ctx, r := t.Context(), newRepo(t)
	remote, dir := remoteOf(t, r)
	ran := filepath.Join(testkit.Folder(t), "ran")
	testkit.Shell(t, r.Top, `mkdir -p .git/hooks && printf '#!/bin/sh\necho x >`+ran+`\n' >.git/hooks/pre-push && chmod +x .git/hooks/pre-push
git config core.hooksPath `+r.Top+`/.git/hooks && git config core.sshCommand 'touch `+ran+`' && git config remote.origin.receivepack 'touch `+ran+`; false'
git config url.`+ran+`.insteadOf `+dir+` && git remote set-url origin ext::touch%20`+ran)
	testkit.Must(t, remote.Push(ctx, "refs/heads/main", Step{To: testkit.Shell(t, r.Top, "git rev-parse HEAD")}))
	if exists(ran) {
		t.Error("something of the workspace has run")
	}
	again, err := baseOf(t, r).Remote(ctx)
	testkit.Must(t, err)
	if _, err := again.At(ctx, "refs/heads/main"); err == nil || exists(ran) {
		t.Errorf("a program was taken for a remote: %v", err)
	}
}
