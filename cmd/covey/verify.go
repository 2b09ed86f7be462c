package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// keysFile is the file of a repository that lists the keys whose receipts count.
const keysFile = ".covey/keys.pem"

// verifyCommand returns `covey verify [COMMIT]`.
func verifyCommand(env *cli.Env) *cobra.Command {
	v := verifier{env: env}
	var showKey, asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [COMMIT]",
		Short: "Check the receipt of a merge",
		Long: `Check that covey merged a commit (default: HEAD) as its receipt says: these files, after
these gates, approvals and policies. It needs the repository, its receipts and a key, and
nothing else of the machine that merged. Of a pull request it checks the proposed commit, and
what its host made of that, if it has the files that the gates judged. Receipts travel with
the repository:

  git push origin 'refs/covey/receipts/*'
  git fetch origin 'refs/covey/receipts/*:refs/covey/receipts/*'

Without --key, the keys in ` + keysFile + ` count, as the commit before the merge has that
file, so that no merge adds its own key; and your own keys, if covey has merged for you here.
Who can write a branch can write that file: for branches of others give --key. A team with a
bus has a key that its hosts share.
A program that no box holds can read the key of the operator who runs it: the receipt names such
members, and --boxed refuses it.

Exit codes: 0 verified; 2 wrong usage, or no such commit; 10 no receipt; 11 not merged by covey;
12 a damaged receipt; 13 a changed one; 14 an unknown key; 15 the receipt of another commit; 16
other files; 17 merged with --force; 18 a gate did not agree; 19 another or an older policy; 20
not boxed (--boxed); 21 a changed object in the repository.`,
		Example: `  covey verify
  covey verify --show-key > alice.pem       # on the machine that merges
  covey verify main --key alice.pem --boxed`,
		Args: cli.ArgCount(0, 1, "at most one commit"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if showKey {
				return v.showKey()
			}
			rev := "HEAD"
			if len(args) > 0 {
				rev = args[0]
			}
			return v.verify(cmd.Context(), rev, asJSON)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&v.keys, "key", nil, "a `FILE` of public keys, which alone count; may be repeated")
	flags.StringVar(&v.policy, "policy", "", "demand that the policy with this SHA-256 `DIGEST` was in use")
	flags.BoolVar(&v.boxed, "boxed", false, "demand that boxes held all members and gates")
	flags.BoolVar(&showKey, "show-key", false, "print your public keys, and nothing else")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// verifier is one run of `covey verify`.
type verifier struct {
	env    *cli.Env
	keys   []string
	policy string
	boxed  bool
}

// verified is the output of `covey verify --json`.
type verified struct {
	Commit   string          `json:"commit"`
	Verified bool            `json:"verified"`
	Code     int             `json:"code"`
	Error    string          `json:"error,omitempty"`
	Key      string          `json:"key,omitempty"`     // the id of the key that signed
	Receipt  *receipts.Merge `json:"receipt,omitempty"` // what it claims, also if that is not verified
}

// verifyCode returns the exit code for what is wrong with a receipt.
func verifyCode(err error) int {
	for i, kind := range []error{
		receipts.ErrNone, receipts.ErrByHand, receipts.ErrDamaged, receipts.ErrAltered, receipts.ErrUnknownKey, receipts.ErrOther,
		receipts.ErrTree, receipts.ErrForced, receipts.ErrGate, receipts.ErrPolicy, receipts.ErrOpen, worktree.ErrForged,
	} {
		if errors.Is(err, kind) {
			return 10 + i
		}
	}
	return cli.ExitCode(err)
}

// verify checks the receipt of a commit and prints the result.
func (v *verifier) verify(ctx context.Context, rev string, asJSON bool) error {
	dir, err := v.env.Folder()
	if err != nil {
		return err
	}
	repo, err := worktree.Git{}.Open(ctx, dir)
	if err != nil {
		return err
	}
	commit, err := v.commit(ctx, repo, rev)
	if err != nil && !errors.Is(err, worktree.ErrForged) {
		return err
	}
	out := verified{Commit: commit.Commit}
	var m receipts.Merge
	var key string
	if err == nil {
		m, key, err = v.check(ctx, repo, commit)
	}
	if out.Code, out.Key = verifyCode(err), key; m.Commit != "" {
		out.Receipt = &m
	}
	out.Verified = err == nil
	if err != nil {
		out.Error = err.Error()
		err = &cli.EndError{Code: out.Code, Err: fmt.Errorf("%.12s is not verified: %w", commit.Commit, err)}
	}
	return errors.Join(v.env.Out.Show(asJSON, out, func() {
		if out.Verified {
			printVerified(v.env.Out, commit.Commit, m, key)
		}
	}), err)
}

// commit returns the commit that a revision names.
func (v *verifier) commit(ctx context.Context, repo *worktree.Repo, rev string) (worktree.Recorded, error) {
	commit, err := repo.Record(ctx, rev)
	if !errors.Is(err, worktree.ErrNoRef) {
		return commit, err
	}
	// To git, a commit with another's content is none.
	if forged := repo.Intact(ctx, rev); errors.Is(forged, worktree.ErrForged) {
		return worktree.Recorded{Commit: rev}, forged
	}
	return commit, cli.Usagef("there is no commit %q here", rev)
}

// check returns what the receipt of a commit claims, and why it does not hold.
func (v *verifier) check(ctx context.Context, repo *worktree.Repo, commit worktree.Recorded) (m receipts.Merge, key string, err error) {
	if err := repo.IntactTree(ctx, commit); err != nil {
		return m, "", err
	}
	all, err := repo.Blobs(ctx, receipts.Refs)
	if err != nil {
		return m, "", err
	}
	found, err := proposalsOf(ctx, repo, commit, all)
	if err != nil {
		return m, "", err
	}
	if _, ok := all[commit.Commit]; ok {
		found = []receiptOf{{name: commit.Commit, before: parentOf(commit)}}
	}
	switch {
	case len(found) > 0:
	case len(commit.Parents) == 2 && strings.Contains(commit.Message, "\nCovey-Member: "):
		return m, "", fmt.Errorf("%w of it here; git fetch REMOTE '%[2]s*:%[2]s*' brings those of a remote", receipts.ErrNone, receipts.Refs)
	default:
		return m, "", fmt.Errorf("%w, and no pull request of covey's with a receipt here has its files", receipts.ErrByHand)
	}
	for _, r := range found {
		if m, key, err = v.holds(ctx, repo, commit, r, all); err == nil {
			break
		}
	}
	return m, key, err
}

// receiptOf is a receipt that is, as it claims, that of a commit.
type receiptOf struct {
	name   string // of its reference
	before string // the commit whose file of keys counts; empty: none
}

// parentOf returns the first parent of a commit; empty: it has none.
func parentOf(commit worktree.Recorded) string {
	if len(commit.Parents) == 0 {
		return ""
	}
	return commit.Parents[0]
}

// proposalsOf returns the receipts of pull requests that are, as they claim, those of a commit, newest first. The commit
// is the proposed one, or what a host makes of that: a merge, one commit, or a line of commits.
func proposalsOf(ctx context.Context, repo *worktree.Repo, commit worktree.Recorded, all map[string][]byte) ([]receiptOf, error) {
	var list []receiptOf
	times := map[string]time.Time{}
	for name, data := range all {
		m, _, err := receipts.Open(data, nil)
		if !errors.Is(err, receipts.ErrUnknownKey) || !m.Proposed || m.Commit != name {
			continue
		}
		r := receiptOf{name: name}
		switch {
		case m.Work == commit.Commit: // its branch could bring a key of its own
		case len(commit.Parents) > 1 && slices.Contains(commit.Parents[1:], m.Work):
			r.before = commit.Parents[0]
		case m.Tree == commit.Tree:
			if is, err := isRebased(ctx, repo, commit, m); err != nil || !is {
				if err != nil {
					return nil, err
				}
				continue
			}
			r.before = m.Base
		default:
			continue
		}
		list, times[name] = append(list, r), m.Time
	}
	slices.SortFunc(list, func(a, b receiptOf) int { return times[b.name].Compare(times[a.name]) })
	return list, nil
}

// mostRebased is how many commits of one pull request are looked at. Hosts rebase no more than 100.
const mostRebased = 250

// isRebased reports whether a commit is the first above the base of a pull request that has the judged files. A later
// one that brings them back is another change.
func isRebased(ctx context.Context, repo *worktree.Repo, commit worktree.Recorded, m receipts.Merge) (bool, error) {
	for range mostRebased {
		if len(commit.Parents) != 1 {
			return false, nil
		}
		if commit.Parents[0] == m.Base {
			return true, nil
		}
		var err error
		commit, err = repo.Record(ctx, commit.Parents[0])
		if errors.Is(err, worktree.ErrNoRef) || err == nil && commit.Tree == m.Tree {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// holds returns what a receipt of a commit claims, and why it does not hold.
func (v *verifier) holds(
	ctx context.Context, repo *worktree.Repo, commit worktree.Recorded, of receiptOf, all map[string][]byte,
) (m receipts.Merge, key string, err error) {
	if err := v.intact(ctx, repo, of); err != nil {
		return m, "", err
	}
	known, from, err := v.known(ctx, repo, of.before)
	if err != nil {
		return m, "", err
	}
	m, key, err = receipts.Open(all[of.name], known)
	switch {
	case errors.Is(err, receipts.ErrUnknownKey):
		return m, key, fmt.Errorf("%w: %s, which is not in %s", err, key, from)
	case err == nil && m.Proposed && of.name == commit.Commit: // such a receipt has the name of what was judged
		err = fmt.Errorf("%w: %.12s", receipts.ErrOther, m.Work)
	}
	if err != nil {
		return m, key, err
	}
	f := receipts.Facts{Commit: commit.Commit, Tree: commit.Tree, Parents: commit.Parents, Policy: v.policy, Boxed: v.boxed}
	if len(m.Policies) > 0 {
		line, err := repo.Line(ctx, commit.Commit)
		if err != nil {
			return m, key, err
		}
		if err := repo.Intact(ctx, line...); err != nil {
			return m, key, err
		}
		f.Earlier = earlier(line, m, all, known)
	}
	return m, key, m.Check(f)
}

// earlier returns what was merged, or proposed, before m in the history of a commit. Receipts of it that are not true are
// left out.
func earlier(line []string, m receipts.Merge, all map[string][]byte, known []ed25519.PublicKey) (list []receipts.Merge) {
	before := map[string]bool{}
	for _, id := range line[1:] {
		before[id] = true
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		was, _, err := receipts.Open(all[name], known)
		if err != nil || was.Commit != name {
			continue
		}
		if before[name] || was.Proposed && before[was.Base] && was.Time.Before(m.Time) {
			list = append(list, was)
		}
	}
	return list
}

// intact checks that what is read to verify a commit was not changed on the disk, besides the commit itself.
func (v *verifier) intact(ctx context.Context, repo *worktree.Repo, of receiptOf) error {
	names := []string{receipts.Ref(of.name)}
	if len(v.keys) == 0 && of.before != "" { // known reads keys there
		if err := repo.Intact(ctx, of.before); err != nil {
			return err
		}
		before, err := repo.Record(ctx, of.before)
		if err != nil {
			return err
		}
		names = append(names, before.Tree, of.before+":"+path.Dir(keysFile), of.before+":"+keysFile)
	}
	return repo.Intact(ctx, names...)
}

// known returns the keys that count, and where they are from. before is the commit whose file of keys counts.
func (v *verifier) known(ctx context.Context, repo *worktree.Repo, before string) (keys []ed25519.PublicKey, from string, err error) {
	for _, file := range v.keys {
		data, err := os.ReadFile(v.env.Path(file))
		if err != nil {
			return nil, "", cli.Usagef("--key: %v", err)
		}
		more, err := receipts.ParseKeys(data)
		if err != nil {
			return nil, "", cli.Usagef("--key %s: %v", file, err)
		}
		keys = append(keys, more...)
	}
	if len(v.keys) > 0 {
		return keys, strings.Join(v.keys, ", "), nil
	}
	home, err := state.StateHome()
	if err != nil {
		return nil, "", err
	}
	if keys, err = receipts.PublicKeys(home); err != nil {
		return nil, "", err
	}
	if before == "" {
		return keys, "--key, or your own", nil
	}
	from = "--key, " + keysFile + " of the commit before, or your own"
	if mode, _, err := repo.Entry(ctx, before, keysFile); err != nil || mode == "" {
		return keys, from, err
	}
	data, err := repo.File(ctx, before, keysFile)
	if err != nil {
		return nil, "", err
	}
	more, err := receipts.ParseKeys(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s of the commit %.12s: %w", keysFile, before, err)
	}
	return append(keys, more...), from, nil
}

// showKey prints the operator's public keys. It makes one if there is none yet, so that others can have it
// before the first merge.
func (v *verifier) showKey() error {
	home, err := state.StateHome()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return state.FolderError(err)
	}
	if _, err := receipts.OperatorKey(home); err != nil {
		return err
	}
	keys, err := receipts.PublicKeys(home)
	if err != nil {
		return err
	}
	for _, key := range keys {
		text, err := receipts.FormatKey(key)
		if err != nil {
			return err
		}
		v.env.Out.Printf("%s", text)
	}
	return nil
}

// printVerified prints what a receipt proves.
func printVerified(out *term.Screen, commit string, m receipts.Merge, key string) {
	line := func(format string, args ...any) { out.Printf("  %s\n", term.PlainLine(fmt.Sprintf(format, args...))) }
	did := "merged into"
	if m.Proposed {
		did = "proposed for"
	}
	out.Printf("%s\n", term.PlainLine(fmt.Sprintf("verified: %.12s is %s, %s %s by covey %s", commit, m.Of(), did, m.Target, m.Covey)))
	if m.Proposed {
		line("judged: %.12s on top of %.12s", m.Work, m.Base)
	}
	line("signed by key %s", key)
	for _, g := range m.Gates {
		line("gate: %s %s", g.Gate, g.Verdict)
	}
	if len(m.Gates) == 0 {
		line("no gate judged it: the team had none")
	}
	for _, a := range m.Approvers {
		line("approved by %s (%s)", a.Name, a.Request)
	}
	for _, h := range m.Hints {
		if h.Mark {
			line("marked: %s", h.Kind)
		}
	}
	for _, p := range m.Policies {
		line("policy: %s@sha256:%s", p.Where, p.SHA256)
	}
	if m.Box.Held() {
		line("box: level %d held %s", m.Box.Author, m.Author)
		return
	}
	line("warning: no box held %s; their programs could read the key, so they could have forged this", strings.Join(m.Box.Open, ", "))
}
