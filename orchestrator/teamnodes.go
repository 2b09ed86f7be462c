package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/inbox"
	"github.com/coveyteam/covey/orchestrator/nodes"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/orchestrator/worktree"
	"github.com/coveyteam/covey/tasks"
	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/requests"
)

// teamNodes are the nodes of a team that this host leads. It implements Nodes.
type teamNodes struct {
	*nodes.Hub
	o       *Orchestrator
	journal *state.Journal
	inbox   *inbox.Inbox // set before Serve, like copies
	copies  *workcopies.Trees
	bundles sync.Mutex // held while one is made, which pushes

	mu      sync.Mutex
	signed  *nodes.Signed     // what nodes run; nil: the spec has changed
	has     map[string]string // digests of what nodes have
	changed chan struct{}     // closed and replaced when one of these changes
}

// nodesOf returns the nodes of the team; nil: its spec has none.
func (o *Orchestrator) nodesOf(lead *coordinator, store *tasks.Store, j *state.Journal) *teamNodes {
	if lead == nil || len(o.team().Nodes) == 0 {
		return nil
	}
	n := &teamNodes{o: o, journal: j, has: map[string]string{}, changed: make(chan struct{})}
	n.Hub = nodes.NewHub(nodes.NATS{Conn: lead.link.Conn()}, nodes.HubConfig{
		Team: o.team().Name, Epoch: lead.Status().Epoch, Version: o.opts.Version, Store: nodes.TaskStore{Tasks: store},
		Errors: port.Errors, Takes: n.takes, Changed: n.tell, Settle: j.CatchUp, Refused: func(err error) { j.Warn("%v", err) },
		OnError: func(err error) { o.opts.Log.Error("the nodes of the team", "err", err) },
	})
	return n
}

// takes adds the labels of the spec to those of a node. It returns an error if the spec has no such node.
func (n *teamNodes) takes(p *nodes.Profile) error {
	team := n.o.team()
	i := slices.IndexFunc(team.Nodes, func(own configs.Node) bool { return own.Name == p.Name })
	if i < 0 {
		return fmt.Errorf("the spec %s has no node %s; add it to nodes", filepath.Base(team.File), p.Name)
	}
	p.Labels = slices.Compact(slices.Sorted(slices.Values(slices.Concat(team.Nodes[i].Labels, p.Labels))))
	return nil
}

// tell tells people that the state of a node has changed, and names what a node that was lost and is
// back may have.
func (n *teamNodes) tell(now nodes.Node) {
	n.journal.Append(events.Event{Data: events.NodeChanged{
		Node: now.Name, State: string(now.State), Labels: now.Labels, Places: now.Places, Version: now.Version, Draining: now.Draining,
		Trouble: now.Trouble,
	}})
	for _, member := range now.Was {
		text := fmt.Sprintf("node %s is back; what %s did there after its last push is in its working copy on %[1]s, under the state folder "+
			"of covey there; push from there what you want to keep; either answer removes this line", now.Name, member)
		_, err := n.inbox.Ask(context.Background(), actors.Actor{Name: member}, requests.New{
			Kind: requests.AskMerge, Member: member, To: actors.Operator, Key: requests.KeyOf("back", now.Name, fmt.Sprint(now.Since.Unix())), Text: text,
		})
		if err != nil {
			n.o.opts.Log.Error("name what a lost node has", "node", now.Name, "err", err)
		}
	}
}

// Seat implements Nodes. It waits until the node has the current spec, and tells people where the member sits.
func (n *teamNodes) Seat(ctx context.Context, member string, labels []string) (name string, gone <-chan struct{}, release func(), err error) {
	name, gone, release, err = n.Hub.Seat(ctx, member, labels)
	if err != nil {
		return name, gone, release, err
	}
	for has := ""; ; {
		var signed nodes.Signed
		if signed, err = n.current(ctx, false); err != nil {
			break
		}
		var changed <-chan struct{}
		if has, changed = n.hasOf(name); has == signed.Digest() {
			n.journal.Append(events.Event{Member: member, Data: events.MemberPlaced{Node: name}})
			return name, gone, release, nil
		}
		select {
		case <-changed:
			continue
		case <-gone:
			return name, gone, release, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		break
	}
	release()
	return "", nil, nil, err
}

// hasOf returns the digest of what a node has, and what is closed when that may be another one.
func (n *teamNodes) hasOf(node string) (digest string, changed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.has[node], n.changed
}

// change changes what nodes run or have.
func (n *teamNodes) change(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	close(n.changed)
	n.changed = make(chan struct{})
}

// Respec implements Nodes.
func (n *teamNodes) Respec() { n.change(func() { n.signed = nil }) }

// Serve implements Nodes. Besides what members ask, nodes ask for the spec.
func (n *teamNodes) Serve(ctx context.Context, ask nodes.Ask, report nodes.Take) error {
	return n.Hub.Serve(ctx, func(ctx context.Context, node, member, method string, in json.RawMessage) (json.RawMessage, error) {
		if method != nodes.MethodSpec {
			return ask(ctx, node, member, method, in)
		}
		var have string
		if err := json.Unmarshal(in, &have); err != nil {
			return nil, fmt.Errorf("what the node has of the spec: %w", err)
		}
		n.change(func() { n.has[node] = have })
		for fresh := have == ""; ; fresh = false {
			_, changed := n.hasOf(node)
			signed, err := n.current(ctx, fresh)
			if err != nil {
				return nil, err
			}
			if signed.Digest() != have {
				return json.Marshal(signed)
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}, report)
}

// current returns what nodes run, signed. It is made anew if the spec has changed, or for a node that has nothing.
func (n *teamNodes) current(ctx context.Context, fresh bool) (nodes.Signed, error) {
	n.bundles.Lock()
	defer n.bundles.Unlock()
	n.mu.Lock()
	last := n.signed
	n.mu.Unlock()
	if last != nil && !fresh {
		return *last, nil
	}
	team := n.o.team()
	b, err := bundleOf(ctx, n.copies, team)
	if err != nil {
		return nodes.Signed{}, err
	}
	key, err := receipts.TeamKey(n.o.place.Home(), team.Bus.Creds, team.Name)
	if err != nil {
		return nodes.Signed{}, err
	}
	signed, err := b.Sign(key)
	if err == nil && n.o.team() == team {
		n.change(func() { n.signed = &signed })
	}
	return signed, err
}

// bundleOf returns what a node runs of a team: its spec and the files that the spec or its commands name,
// as far as they are in the repository, and the commit that the workspace is at, which is pushed for that.
func bundleOf(ctx context.Context, copies *workcopies.Trees, team *configs.Team) (b nodes.Bundle, err error) {
	repo := copies.Repo()
	head, err := repo.Head(ctx)
	if err != nil {
		return b, err
	}
	remote, err := copies.Remote(ctx)
	if err != nil {
		return b, err
	}
	b = nodes.Bundle{Team: team.Name, Ref: "refs/covey/" + team.Name + "/nodes/head"}
	if b.Remote, err = repo.RemoteURL(ctx); err != nil {
		return b, err
	}
	at, err := remote.At(ctx, b.Ref)
	if err == nil && at != head.Commit {
		err = remote.Push(ctx, b.Ref, worktree.Step{From: at, To: head.Commit})
	}
	if err != nil {
		return b, fmt.Errorf("push what nodes begin with: %w", err)
	}
	file, err := filepath.EvalSymlinks(team.File)
	if err != nil {
		return b, err
	}
	var ok bool
	if b.Spec, ok = nodes.Below(repo.Top, file); !ok {
		return b, fmt.Errorf("%w: %s is not in the repository %s, so nodes cannot get it; move it there", configs.ErrSpec, file, repo.Top)
	}
	paths := []string{file}
	for m := range team.EachAndTemplates() {
		paths = append(paths, m.PromptFile)
	}
	for _, r := range trust.RunsOf(team) {
		paths = append(paths, r.Path)
	}
	for _, p := range paths {
		if p == "" {
			continue
		}
		if err := addFiles(&b, repo.Top, p); err != nil {
			return b, err
		}
	}
	return b, nil
}

// addFiles adds a file, or the files of a folder, that is in the repository. Others belong to this host.
func addFiles(b *nodes.Bundle, top, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		name, ok := nodes.Below(top, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && !ok && path != real:
			return fs.SkipDir
		case !d.Type().IsRegular() || !ok || slices.ContainsFunc(b.Files, func(f nodes.File) bool { return f.Path == name }):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.Files = append(b.Files, nodes.File{Path: name, Mode: info.Mode().Perm(), Data: data})
		return nil
	})
}
