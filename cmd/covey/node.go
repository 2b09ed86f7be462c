package main

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/nodes"
	"github.com/coveyteam/covey/orchestrator/port"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/worktree"
)

// nodeFlags are the flags of `covey node`.
type nodeFlags struct {
	creds, owner, name string
	labels             []string
	places             int
	grace              time.Duration
	trust              bool
}

// nodeCommand returns `covey node`.
func nodeCommand(env *cli.Env) *cobra.Command {
	var f nodeFlags
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Carry members of a team that another host runs",
		Long: `Carry members of a team that another host runs, until a signal: those whose spec says on
which node they are. They work in working copies of a clone that covey keeps in its state
folder, with the programs, logins and variables of this host. The file --creds comes from
the team's operator, who makes it with covey nats config --node; ` + env.Page("cluster.md") + `
leads there.

What the team may do here, the owner of this host says in the file --owner: the lists teams,
repositories and commands, in which * stands for any text. Without that file nothing is
allowed; --trust allows all that the team's operator has signed. The first signal lets the
node drain: it takes no more members, lets running turns end for as long as --grace says,
pushes and tells what it has, and ends. A second signal ends it at once.`,
		Example: `  covey node --team crew --creds big.creds --labels gpu,linux --places 20`,
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runNode(cmd.Context(), env, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.creds, "creds", "", "the `FILE` with this node's credentials")
	flags.StringVar(&f.owner, "owner", "", "the `FILE` that says what teams may do here (default: node.yaml in covey's folder of the user's configuration)")
	flags.StringVar(&f.name, "name", "", "the `NAME` of the node, which its credentials must have, too")
	flags.StringSliceVar(&f.labels, "labels", nil, "words for what this host is good for, besides those of the spec")
	flags.IntVar(&f.places, "places", 20, "how many members it carries at most")
	flags.DurationVar(&f.grace, "grace", 30*time.Second, "how long running turns may take to end after a signal")
	flags.BoolVar(&f.trust, "trust", false, "allow all that the team's operator has signed")
	return cmd
}

// nodeRun is one run of `covey node`.
type nodeRun struct {
	env   *cli.Env
	creds nodes.Creds
	keys  []ed25519.PublicKey
	owner nodes.Owner
	grace time.Duration
	dir   string
	link  *nodes.Link
	log   *slog.Logger

	have    string          // digest of the spec
	handle  nodes.Handle    // set once carries is closed, like over
	carries chan struct{}   // closed when the node carries members
	over    <-chan struct{} // closed when it carries none any more
}

// runNode carries members until a signal, whenever there is room on the disk.
func runNode(ctx context.Context, env *cli.Env, f nodeFlags) error {
	for {
		r, err := newNodeRun(env, f)
		if err != nil {
			return err
		}
		if err = r.run(ctx, f); !state.NoRoom(err) {
			return err
		}
		env.Err.Printf("%v; node %s goes on once there is room\n", r.full(), r.creds.Node)
		for room := errors.New("unknown"); room != nil; {
			const again = 5 * time.Second
			select {
			case <-time.After(again):
				room = tryRoom(r.dir)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// full tells whose disk is full.
func (r *nodeRun) full() error { return fmt.Errorf("the disk of %s is full", r.dir) }

// tryRoom tries whether a disk has some room.
func tryRoom(dir string) error {
	const some = 1 << 20
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "room")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, some))
	return errors.Join(err, f.Sync(), f.Close())
}

// run carries members until a signal or an error.
func (r *nodeRun) run(ctx context.Context, f nodeFlags) error {
	tell := func(err error) { r.log.Warn(err.Error()) }
	wire, err := r.creds.Dial(tell)
	if err != nil {
		return err
	}
	defer wire.Conn.Close()
	r.link, err = nodes.NewLink(wire, nodes.LinkConfig{
		Team: r.creds.Team, Dir: r.dir, Errors: port.Errors, OnError: tell,
		Profile: nodes.Profile{Name: r.creds.Node, Labels: f.labels, Places: f.places, Version: r.env.Version},
	})
	if err != nil {
		return err
	}
	defer r.link.Close()
	linked, unlink := context.WithCancelCause(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer unlink(nil)
	group.Go(func() { unlink(r.link.Serve(linked, r.obeyOrder)) })
	draining, drain := context.WithCancel(linked)
	defer drain()
	patient, hurry := context.WithCancelCause(linked)
	defer hurry(nil)
	group.Go(func() { r.obey(linked, drain, func() { hurry(errHurry) }) })
	err = r.carry(patient, draining)
	if refused := context.Cause(linked); refused != nil {
		return refused
	}
	if state.NoRoom(err) {
		r.link.Suffer(r.full())
	}
	const patience = 15 * time.Second // for the last reports
	leaving, cancel := context.WithTimeoutCause(patient, patience, errors.New("the team has not taken the last reports; they stay on the disk of this node"))
	defer cancel()
	left := r.link.Leave(leaving)
	switch {
	case draining.Err() == nil:
		return err
	case errors.Is(context.Cause(patient), errHurry):
		return errHurry
	}
	return left
}

// errHurry is the end of a node that does not wait any more.
var errHurry = errors.New("ended by a second signal; running turns go on elsewhere, and reports that the team has not taken stay on the disk of this node")

// obey calls drain at the first signal and hurry at the second, until ctx ends.
func (r *nodeRun) obey(ctx context.Context, drain, hurry func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	for _, do := range []func(){
		func() {
			r.env.Err.Printf("node %s takes no more members, and ends after the running turns\n", r.creds.Node)
			r.link.Drain()
			drain()
		}, hurry,
	} {
		select {
		case <-signals:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// newNodeRun reads what a node needs.
func newNodeRun(env *cli.Env, f nodeFlags) (*nodeRun, error) {
	if err := runsTeams(env, runtime.GOOS); err != nil {
		return nil, err
	}
	if f.creds == "" {
		return nil, cli.Usagef("name the file of this node's credentials with --creds FILE; covey nats config --node NAME makes it")
	}
	if f.places < 1 {
		return nil, cli.Usagef("--places is %d; a node carries at least 1 member", f.places)
	}
	r := &nodeRun{env: env, grace: f.grace, carries: make(chan struct{}), log: slog.New(&warningHandler{tell: func(text string) { env.Err.Printf("%s\n", text) }})}
	var err error
	if r.creds, err = nodes.ReadCreds(env.Path(f.creds)); err != nil {
		return nil, err
	}
	if env.Team != "" && env.Team != r.creds.Team || f.name != "" && f.name != r.creds.Node {
		return nil, cli.Usagef("%s is of node %s of team %s", f.creds, r.creds.Node, r.creds.Team)
	}
	if r.keys, err = receipts.ParseKeys([]byte(r.creds.Operator)); err != nil {
		return nil, fmt.Errorf("the operator's key in %s: %w", f.creds, err)
	}
	if r.owner, err = ownerOf(env, f); err != nil {
		return nil, err
	}
	if err := r.owner.TakesTeam(r.creds.Team); err != nil {
		return nil, err
	}
	home, err := state.StateHome()
	if err != nil {
		return nil, err
	}
	r.dir = filepath.Join(home, "nodes", r.creds.Team+"."+r.creds.Node)
	return r, nil
}

// ownerOf returns what the owner of this host allows.
func ownerOf(env *cli.Env, f nodeFlags) (nodes.Owner, error) {
	if f.trust {
		if f.owner != "" {
			return nodes.Owner{}, cli.Usagef("--trust and --owner exclude each other")
		}
		return nodes.Anything, nil
	}
	path := env.Path(f.owner)
	if f.owner == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return nodes.Owner{}, err
		}
		path = filepath.Join(config, "covey", "node.yaml")
	}
	o, err := nodes.ReadOwner(path)
	if errors.Is(err, fs.ErrNotExist) && f.owner == "" {
		return o, cli.Usagef("there is no %s with what teams may do on this host; write one with teams, repositories and commands, or use --trust", path)
	}
	return o, err
}

// carry carries members until ctx ends, with the spec that the team has. When draining ends, it lets turns end.
func (r *nodeRun) carry(ctx, draining context.Context) error {
	team, err := r.Spec(draining)
	if err != nil {
		return err
	}
	o, err := orchestrator.New(team, orchestrator.Options{
		Version: r.env.Version, Log: r.log, OwnProcess: true, NoTurns: true, ManagedFolders: r.env.Managed, Unattended: true,
	})
	if err != nil {
		return err
	}
	return o.Host(ctx, r, draining.Done(), r.grace)
}

// Spec implements orchestrator.HostLink.
func (r *nodeRun) Spec(ctx context.Context) (*configs.Team, error) {
	signed, err := r.spec(ctx, r.have)
	if err != nil {
		return nil, err
	}
	team, err := r.prepare(ctx, signed)
	if err != nil {
		return nil, err
	}
	what := "carries members of"
	if r.have != "" {
		what = "has another spec of"
	}
	r.have = signed.Digest()
	r.env.Err.Printf("node %s %s team %s\n", r.creds.Node, what, r.creds.Team)
	return team, nil
}

// spec returns what the node is to run, as soon as that is something else than what it has.
func (r *nodeRun) spec(ctx context.Context, have string) (signed nodes.Signed, err error) {
	in, err := json.Marshal(have)
	if err != nil {
		return signed, err
	}
	out, err := r.link.Ask(ctx, "", nodes.MethodSpec, in)
	if err == nil {
		err = json.Unmarshal(out, &signed)
	}
	return signed, err
}

// prepare brings the clone up to date and returns the spec, as far as its operator has signed it and the owner
// of this host allows it.
func (r *nodeRun) prepare(ctx context.Context, signed nodes.Signed) (*configs.Team, error) {
	b, err := signed.Open(r.creds.Team, r.keys)
	if err != nil {
		return nil, err
	}
	if err := r.owner.TakesRepository(b.Remote); err != nil {
		return nil, err
	}
	repo, err := worktree.Git{}.CloneAt(ctx, b.Remote, b.Ref, filepath.Join(r.dir, "clone"))
	if err != nil {
		return nil, fmt.Errorf("the clone of this node: %w", err)
	}
	if err := b.Write(repo.Top); err != nil {
		return nil, err
	}
	team, err := configs.LoadWith(filepath.Join(repo.Top, filepath.FromSlash(b.Spec)),
		configs.Options{Node: true, Version: r.env.Version, Managed: r.env.Managed})
	if err != nil {
		return nil, fmt.Errorf("the spec of the team on this host: %w", err)
	}
	var commands []string
	for _, run := range trust.RunsOf(team) {
		if slices.Contains([]trust.Kind{trust.Hook, trust.Gate, trust.Agent, trust.Server, trust.Setup}, run.Kind) {
			commands = append(commands, run.Command)
		}
	}
	if err := r.owner.TakesCommands(commands); err != nil {
		return nil, err
	}
	return orchestrator.ForNode(team), nil
}

// Ask implements orchestrator.HostLink.
func (r *nodeRun) Ask(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error) {
	return r.link.Ask(ctx, member, method, in)
}

// Report implements orchestrator.HostLink.
func (r *nodeRun) Report(ctx context.Context, member string, body json.RawMessage) error {
	return r.link.Report(ctx, member, body)
}

// Serve implements orchestrator.HostLink. It carries out the orders that have waited for it.
func (r *nodeRun) Serve(ctx context.Context, handle nodes.Handle) error {
	r.handle, r.over = handle, ctx.Done()
	close(r.carries)
	<-ctx.Done()
	return context.Cause(ctx)
}

// obeyOrder carries out an order, once the node carries members.
func (r *nodeRun) obeyOrder(ctx context.Context, member, method string, in json.RawMessage) (json.RawMessage, error) {
	select {
	case <-r.carries:
		out, err := r.handle(ctx, member, method, in)
		select {
		case <-r.over:
			if err != nil {
				<-ctx.Done() // the team is told that the node is gone
			}
		default:
		}
		return out, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
