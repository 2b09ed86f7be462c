package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/bus"
	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/nodes"
	"github.com/coveyteam/covey/orchestrator/receipts"
	"github.com/coveyteam/covey/orchestrator/state"
)

// trialPatience is how long `covey nats --trial` waits for its servers to elect a leader.
const trialPatience = 2 * time.Minute

// natsCommand returns `covey nats`.
func natsCommand(env *cli.Env) *cobra.Command {
	var trial bool
	var dir string
	var names []string
	cmd := &cobra.Command{
		Use:   "nats",
		Short: "Run or configure the servers of a team that outlives its host",
		Long: `Run or configure the NATS servers that keep the data of a team with a bus section in
its spec, so that another host can continue it; ` + env.Page("cluster.md") + ` leads there.

With --trial, three servers run in this process, on this machine alone, until it gets a
signal. Once they have a leader, the bus section for the spec is printed. They share
their fate and their disk, so they protect from no loss of this machine.`,
		Example: `  covey nats --trial --dir /tmp/servers
  covey nats config --host a.test,b.test,c.test --key crew.nk`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !trial {
				return cmd.Help()
			}
			return runTrial(cmd.Context(), env, dir, names)
		},
	}
	cmd.Flags().BoolVar(&trial, "trial", false, "run three servers on this machine, until a signal")
	cmd.Flags().StringVar(&dir, "dir", "", "keep their data in `DIR`; by default, it is forgotten")
	cmd.Flags().StringSliceVar(&names, "node", nil, "also let these `NODES` in, each with the credentials NODE.creds in --dir")
	cmd.AddCommand(natsConfigCommand(env), natsRepairCommand(env))
	return cmd
}

// runTrial runs the servers of a trial until a signal.
func runTrial(ctx context.Context, env *cli.Env, dir string, names []string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if dir == "" {
		temp, err := os.MkdirTemp("", "covey-nats-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		dir = temp
	}
	team, err := natsTeam(env)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	users, creds, err := nodeKeys(dir, team, names)
	if err != nil {
		return err
	}
	starting, cancel := context.WithTimeoutCause(ctx, trialPatience, fmt.Errorf("it took more than %s", trialPatience))
	defer cancel()
	t, err := bus.StartTrial(starting, dir, team, users)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := writeCreds(env, dir, t.Creds, creds, t.URL); err != nil {
		return err
	}
	env.Out.Printf("bus:\n  url: [%s]\n  creds: %q\n", quoted(t.URL), t.Creds)
	env.Err.Printf("three servers run for team %s on this machine alone, until Ctrl-C; they protect from no loss of it\n", team)
	<-ctx.Done()
	return nil
}

// natsTeam returns the team that servers are for: that of --team, or of the spec of the folder.
func natsTeam(env *cli.Env) (string, error) {
	name := env.Team
	if name == "" {
		spec, err := env.SpecPath(nil)
		if err != nil {
			return "", err
		}
		team, err := env.LoadSpec(spec)
		if err != nil {
			return "", fmt.Errorf("%w; --team NAME needs no spec", err)
		}
		name = team.Name
	}
	if !state.IsTeamName(name) {
		return "", cli.Usagef("%q is no team name", name)
	}
	return name, nil
}

// quoted returns a list in the syntax of YAML.
func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, ", ")
}

// natsConfigCommand returns `covey nats config`.
func natsConfigCommand(env *cli.Env) *cobra.Command {
	var hosts, names []string
	var key, dir, certs string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the configuration of three NATS servers",
		Long: `Print the configuration of the NATS servers of a team: one part for each host, for the
file /etc/covey-nats.conf there. It has the team's account, in which the key of its
coordinators may do what covey does, and nothing else; --key is the file with that
key, which is made if it is not there. Each --node is a host that carries members: it gets
a key that touches its own subjects alone, in the file NODE.creds beside that of --key, which
also says where the servers are and whose signature counts there. The servers need certificates for TLS in the
folder --certs: server.pem, server.key and ca.pem.`,
		Example: `  covey nats config --team crew --host a.test,b.test,c.test --key crew.nk`,
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			team, err := natsTeam(env)
			if err != nil {
				return err
			}
			if len(hosts) != 3 || key == "" {
				return cli.Usagef("name three hosts with --host, and the file of the key with --key")
			}
			beside, err := filepath.Abs(filepath.Dir(key))
			if err != nil {
				return err
			}
			users, creds, err := nodeKeys(beside, team, names)
			if err != nil {
				return err
			}
			public, err := bus.CoordinatorKey(key)
			if err == nil {
				err = writeCreds(env, beside, key, creds, urlsOf(hosts))
			}
			if err != nil {
				return err
			}
			for i, host := range hosts {
				if i > 0 {
					env.Out.Printf("\n")
				}
				env.Out.Printf("# %s: /etc/covey-nats.conf\n%s", host, bus.ServerConfig{
					Name: host, Listen: "0.0.0.0:4222", Peers: "0.0.0.0:6222", Routes: routesTo(hosts, host), Dir: dir, Most: "20GB",
					Accounts: []bus.Account{{Team: team, Key: public, Nodes: users}}, Certs: certs,
				})
			}
			path, err := filepath.Abs(key)
			if err != nil {
				return err
			}
			env.Err.Printf("the key is in %s; in the spec of team %s, write\nbus: {url: [%s], creds: %q}\n", path, team, quoted(urlsOf(hosts)), path)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&hosts, "host", nil, "the three `HOSTS`")
	flags.StringVar(&key, "key", "", "the `FILE` with the key of the team's coordinators")
	flags.StringSliceVar(&names, "node", nil, "the `NODES` that carry members")
	flags.StringVar(&dir, "dir", "/var/lib/nats", "the `FOLDER` of the servers' data")
	flags.StringVar(&certs, "certs", "/etc/covey-nats", "the `FOLDER` of the certificates")
	return cmd
}

// nodeKeys returns nodes as the servers know them, and their credentials, which have a new key if there is
// no file of them in the folder.
func nodeKeys(dir, team string, names []string) (users []bus.NodeUser, creds []nodes.Creds, err error) {
	for _, name := range names { // before the first file is made
		if err := configs.CheckName(name); err != nil {
			return nil, nil, cli.Usagef("%q is no name for a node; use 1 to 32 of a-z, 0-9 and -, and no dash first", name)
		}
	}
	for _, name := range names {
		c, err := nodes.MakeCreds(credsPath(dir, name), team, name)
		if err != nil {
			return nil, nil, err
		}
		key, err := c.Key()
		if err != nil {
			return nil, nil, err
		}
		users, creds = append(users, bus.NodeUser{Name: name, Key: key}), append(creds, c)
	}
	return users, creds, nil
}

// credsPath returns the file of a node's credentials.
func credsPath(dir, node string) string { return filepath.Join(dir, node+".creds") }

// writeCreds writes the credentials of nodes: with the addresses of the servers, and with the key that signs what
// nodes run. coordinator is the file of the coordinators' key, from which all hosts that may run the team make it.
func writeCreds(env *cli.Env, dir, coordinator string, creds []nodes.Creds, urls []string) error {
	if len(creds) == 0 {
		return nil
	}
	home, err := state.StateHome()
	if err == nil {
		err = os.MkdirAll(home, 0o700)
	}
	if err != nil {
		return err
	}
	signing, err := receipts.TeamKey(home, coordinator, creds[0].Team)
	if err != nil {
		return err
	}
	operator, err := receipts.FormatKey(signing.Public().(ed25519.PublicKey))
	if err != nil {
		return err
	}
	for _, c := range creds {
		c.URL, c.Operator = urls, string(operator)
		if err := c.Write(credsPath(dir, c.Node)); err != nil {
			return err
		}
		env.Err.Printf("node %s: covey node --team %s --creds %s\n", c.Node, c.Team, credsPath(dir, c.Node))
	}
	return nil
}

// natsRepairCommand returns `covey nats repair`.
func natsRepairCommand(env *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Begin the streams of a team anew from the files of this host",
		Long: `Begin the streams of a team anew from the files of this host, when covey up says that the
servers have lost acknowledged records. Use the host that has run the team last: what
another one has done since is lost. The journal stays.`,
		Example: "  covey nats repair && covey up",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, err := env.SpecPath(nil)
			if err != nil {
				return err
			}
			team, err := env.LoadSpec(spec)
			if err != nil {
				return err
			}
			o, err := orchestrator.New(team, orchestrator.Options{Version: env.Version, NoTurns: true})
			if err != nil {
				return cli.SpecTrouble(team.File, err)
			}
			if err := o.Repair(cmd.Context()); err != nil {
				return withFault(err)
			}
			env.Out.Printf("the streams of team %s begin anew from %s\n", team.Name, o.Place().Store())
			return nil
		},
	}
}

// routesTo returns the addresses of all servers for the others.
func routesTo(hosts []string, self string) (list []string) {
	for _, h := range slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return h == self }) {
		list = append(list, h+":6222")
	}
	return list
}

// urlsOf returns the addresses of the servers for clients.
func urlsOf(hosts []string) (list []string) {
	for _, h := range hosts {
		list = append(list, "tls://"+h+":4222")
	}
	return list
}
