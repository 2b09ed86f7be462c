package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/notices"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/view"
	"github.com/coveyteam/covey/tasks/store"
)

// release is the version of a release build, set with -ldflags "-X
// main.release=1.2.3"; other builds use the module's stamp.
var release string

// build identifies this program, for bug reports.
type build struct {
	Version  string  `json:"version"`
	Commit   string  `json:"commit,omitempty"`
	Modified bool    `json:"modified,omitempty"` // built from a tree with changes
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
	Formats  formats `json:"formats"`
}

// formats are the versions of everything that another version of covey, or a program of
// somebody else's, may have to read.
type formats struct {
	Spec    int `json:"spec"`    // team.yaml
	Store   int `json:"store"`   // tasks.db
	Journal int `json:"journal"` // lines of journal.jsonl
	Run     int `json:"run"`     // run.json
	Control int `json:"control"` // requests at the control socket
	Report  int `json:"report"`  // the JSON of covey report and of the page
	Notice  int `json:"notice"`  // the JSON of notices

	Script     int `json:"script"`     // scripts of the script model
	Transcript int `json:"transcript"` // lines of transcripts
}

// String returns the versions on one line.
func (f formats) String() string {
	return fmt.Sprintf("spec %d, store %d, journal %d, run %d, control %d, report %d, notice %d, script %d, transcript %d",
		f.Spec, f.Store, f.Journal, f.Run, f.Control, f.Report, f.Notice, f.Script, f.Transcript)
}

// thisBuild returns what the compiler stamped into the program. A build without a
// stamp, as `go run` makes it, is "devel". A release sets its version explicitly,
// because a program built from an archive has no stamp.
func thisBuild() build {
	b := build{
		Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Formats: formats{
			Spec: configs.Format, Store: store.Format, Journal: events.Format, Run: state.RunFormat,
			Control: api.Protocol, Report: view.Version, Notice: notices.Version,
			Script: launch.ScriptFormat, Transcript: launch.TranscriptFormat,
		},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	// A program built outside of a repository has neither.
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns what `covey version` and `covey --version` print.
func (b build) String() string {
	commit := ""
	if len(b.Commit) >= 12 {
		commit = " (commit " + b.Commit[:12] + ")"
	}
	return fmt.Sprintf("covey %s%s %s %s\nformats: %s", b.Version, commit, b.Go, b.Platform, b.Formats)
}

// versionCommand returns `covey version`.
func versionCommand(env *cli.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of covey and of its formats",
		Args:  cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if asJSON {
				return env.Out.JSON(b)
			}
			env.Out.Printf("%s\n", b)
			return nil
		},
	}
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}
