package ask

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/tasks"
)

// errRefused ends a change that hooks have refused; their feedback follows. The
// program has not failed.
var errRefused = errors.New("refused")

// errAwaits ends a change that waits for an answer. It is an error, so that a script
// that depends on the completed task does not continue.
var errAwaits = errors.New("not completed yet")

// changeFlags are the flags that the commands that change tasks share. The team finds
// out by itself who calls: --as and --force are for the operator; a member may use
// them only for itself.
type changeFlags struct {
	as       string
	force    bool
	json     bool
	metadata []string
}

// add defines the flags of all changes.
func (f *changeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.as, "as", "", "act for `MEMBER`, within its limits")
	cmd.Flags().BoolVar(&f.force, "force", false, "override gates and limits")
	cli.JSONFlag(cmd, &f.json)
}

// addMetadata defines --metadata.
func (f *changeFlags) addMetadata(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.metadata, "metadata", nil,
		"set `KEY=VALUE`; VALUE is JSON or text, null deletes KEY")
}

// values returns the metadata of the flags. A value that is not JSON is a text, so
// that it needs no second pair of quotes; the text "7" has to be written in JSON's
// quotes.
func (f *changeFlags) values() (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	for _, pair := range f.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, cli.Usagef("--metadata %s: write KEY=VALUE", pair)
		}
		raw := json.RawMessage(value)
		if !json.Valid(raw) {
			text, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			raw = text
		}
		values[key] = raw
	}
	return values, nil
}

// printAnswer prints the result of a change; a refusal is an error. It prints a
// refusal in full, because it says what to do.
func printAnswer(out *term.Screen, reply api.TaskReply, f *changeFlags, done string) error {
	if len(reply.Refused) > 0 {
		return fmt.Errorf("%w:\n%s", errRefused, strings.Join(reply.Refused, "\n"))
	}
	if reply.Awaits != "" {
		return fmt.Errorf("%w:\n%s", errAwaits, reply.Awaits)
	}
	if f.json {
		return out.JSON(viewTask(reply.Task))
	}
	t := reply.Task
	out.Printf("task %s %s: %s\n", term.PlainLine(t.ID), term.PlainLine(done), term.PlainLine(t.Subject))
	return nil
}

// tasksCreateCommand returns `covey tasks create SUBJECT`.
func tasksCreateCommand(env *cli.Env) *cobra.Command {
	var f changeFlags
	var req api.TaskCreate
	cmd := &cobra.Command{
		Use:   "create SUBJECT",
		Short: "Create a task; TaskCreated hooks may refuse it",
		Example: `  covey tasks create "Fix the login" --description "see issue 12"
  covey tasks create "Document it" --owner docs --blocked-by 3,4 --label docs`,
		Args: cli.ArgCount(1, 1, "a subject"),
		RunE: func(cmd *cobra.Command, args []string) error {
			metadata, err := f.values()
			if err != nil {
				return err
			}
			req.BlockedBy = taskIDs(req.BlockedBy)
			req.Subject, req.Metadata, req.As, req.Force = args[0], metadata, f.as, f.force
			reply, err := cli.Call(cmd.Context(), env, cli.With((*api.Client).CreateTask, req))
			if err != nil {
				return err
			}
			return printAnswer(env.Out, reply, &f, "created")
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Description, "description", "", "what is to be done, in `TEXT`")
	flags.StringVar(&req.ActiveForm, "active-form", "", "what is shown while it is in progress, in `TEXT`")
	flags.StringVar(&req.Owner, "owner", "", "the `MEMBER` who is to do it")
	flags.StringSliceVar(&req.BlockedBy, "blocked-by", nil, "the `IDS` of tasks that must be completed first")
	flags.StringSliceVar(&req.Labels, "label", nil, "a `LABEL`; may be given more than once")
	flags.StringSliceVar(&req.Wants.Tools, "wants-tool", nil, "a `TOOL` that a member must have to claim it")
	flags.StringSliceVar(&req.Wants.Labels, "wants-label", nil, "a `LABEL` that a member must have, likewise")
	flags.StringVar(&req.Wants.Role, "wants-role", "", "the `ROLE` that a member must have, likewise")
	f.addMetadata(cmd)
	f.add(cmd)
	return cmd
}

// tasksUpdateCommand returns `covey tasks update ID`.
func tasksUpdateCommand(env *cli.Env) *cobra.Command {
	var f changeFlags
	var change taskChange
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change a task; completing it runs the TaskCompleted gates",
		Example: `  covey tasks update 3 --status completed
  covey tasks update 3 --owner docs
  covey tasks update 3 --owner ""           # take the owner away
  covey tasks update 3 --status completed --evidence-file out/report.txt
  covey tasks update 3 --status deleted`,
		Args: cli.ArgCount(1, 1, "the id of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := change.request(cmd, &f)
			if err != nil {
				return err
			}
			req.ID = taskID(args[0])
			reply, err := cli.Call(cmd.Context(), env, cli.With((*api.Client).UpdateTask, req))
			if err != nil {
				return err
			}
			return printAnswer(env.Out, reply, &f, "is now "+cmp.Or(change.status, string(reply.Task.Status)))
		},
		ValidArgsFunction: env.CompleteTask,
	}
	change.add(cmd)
	f.addMetadata(cmd)
	f.add(cmd)
	return cmd
}

// taskChange holds what `covey tasks update` can change. An empty text is a change as
// well, so request asks the flag set which flags were given.
type taskChange struct {
	status, subject, description, activeForm, owner string
	blocks, blockedBy                               []string
	evidence, evidenceFiles                         []string
}

// add defines the flags.
func (t *taskChange) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&t.status, "status", "", "make it `STATUS`: pending, in_progress, completed or deleted")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{string(tasks.Pending), string(tasks.InProgress),
		string(tasks.Completed), "deleted"}, cobra.ShellCompDirectiveNoFileComp))
	flags.StringVar(&t.subject, "subject", "", "a new subject, in `TEXT`")
	flags.StringVar(&t.description, "description", "", "a new description, in `TEXT`")
	flags.StringVar(&t.activeForm, "active-form", "", "what is shown while it is in progress, in `TEXT`")
	flags.StringVar(&t.owner, "owner", "", "give it to `MEMBER`; \"\" takes the owner away")
	flags.StringSliceVar(&t.blocks, "blocks", nil, "the `IDS` of further tasks that it blocks")
	flags.StringSliceVar(&t.blockedBy, "blocked-by", nil, "the `IDS` of further tasks that block it")
	flags.StringArrayVar(&t.evidence, "evidence", nil, "a `TEXT` that shows that it is done; its gates see it")
	flags.StringArrayVar(&t.evidenceFiles, "evidence-file", nil, "the `PATH` of a file that shows it")
}

// request returns the change that the flags describe. A change of nothing is an
// error, most likely a forgotten flag.
func (t *taskChange) request(cmd *cobra.Command, f *changeFlags) (api.TaskUpdate, error) {
	metadata, err := f.values()
	if err != nil {
		return api.TaskUpdate{}, err
	}
	if err := checkStatus(t.status, true); err != nil {
		return api.TaskUpdate{}, err
	}
	req := api.TaskUpdate{
		AddBlocks: taskIDs(t.blocks), AddBlockedBy: taskIDs(t.blockedBy), Metadata: metadata, As: f.as, Force: f.force,
	}
	for _, text := range t.evidence {
		req.Evidence = append(req.Evidence, tasks.Evidence{Text: text})
	}
	for _, path := range t.evidenceFiles {
		file, err := evidenceFile(cmd, path)
		if err != nil {
			return req, err
		}
		req.Evidence = append(req.Evidence, tasks.Evidence{File: file})
	}
	// A flag with an empty text is a change, too, so flags are counted by whether they were
	// given. The order of the map does not matter: each entry writes its own field.
	given := len(t.blocks) + len(t.blockedBy) + len(metadata) + len(req.Evidence)
	for name, field := range map[string]struct {
		from *string
		to   **string
	}{
		"subject": {&t.subject, &req.Subject}, "description": {&t.description, &req.Description},
		"active-form": {&t.activeForm, &req.ActiveForm}, "owner": {&t.owner, &req.Owner},
	} {
		if cmd.Flags().Changed(name) {
			*field.to = field.from
			given++
		}
	}
	if t.status != "" {
		status := tasks.Status(t.status)
		req.Status = &status
		given++
	}
	if given == 0 {
		return req, cli.Usagef("say what is to change; see %q", cmd.CommandPath()+" --help")
	}
	return req, nil
}

// evidenceFile returns the absolute path of a file, because gates and people read it
// from other folders. The file must exist.
func evidenceFile(cmd *cobra.Command, path string) (string, error) {
	full := path
	if dir := cmd.Flag("directory"); dir != nil && path != "" && !filepath.IsAbs(path) {
		full = filepath.Join(dir.Value.String(), path)
	}
	full, err := filepath.Abs(full)
	if err != nil {
		return "", fmt.Errorf("--evidence-file %s: %w", path, err)
	}
	if info, err := os.Stat(full); path == "" || err != nil || info.IsDir() {
		return "", cli.Usagef("--evidence-file %q: there is no such file; write the path of one that shows that the task is done", path)
	}
	return full, nil
}

// tasksClaimCommand returns `covey tasks claim ID --as MEMBER`.
func tasksClaimCommand(env *cli.Env) *cobra.Command {
	var f changeFlags
	cmd := &cobra.Command{
		Use:   "claim ID --as MEMBER",
		Short: "Make a member the owner of a ready task, and start it",
		Long: `Make a member the owner of a ready task and set it in progress, in one step. Of
several claims of one task, one succeeds and the others end with code 1.`,
		Example: "  covey tasks claim 4 --as docs",
		Args:    cli.ArgCount(1, 1, "the id of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// A member's own tools and hooks claim for that member.
			if f.as == "" && os.Getenv("COVEY_MEMBER") == "" {
				return cli.Usagef("say which member is to own task %s: --as MEMBER", args[0])
			}
			claim := api.TaskClaim{ID: taskID(args[0]), As: f.as, Force: f.force}
			reply, err := cli.Call(cmd.Context(), env, cli.With((*api.Client).ClaimTask, claim))
			if err != nil {
				return err
			}
			return printAnswer(env.Out, reply, &f, "is in progress, owned by "+reply.Task.Owner)
		},
		ValidArgsFunction: env.CompleteTask,
	}
	f.add(cmd)
	return cmd
}
