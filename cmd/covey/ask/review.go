package ask

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/cmd/covey/view"
	"github.com/coveyteam/covey/hooks/shell"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator/api"
	"github.com/coveyteam/covey/orchestrator/hints"
	"github.com/coveyteam/covey/orchestrator/merging"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/tasks/requests"
)

// Review returns `covey review [TASK|MEMBER]`.
func Review(env *cli.Env) *cobra.Command {
	var asJSON, logs bool
	var back string
	cmd := &cobra.Command{
		Use:   "review [TASK|MEMBER]",
		Short: "Show finished work: what it changes, what gates say, what blocks it",
		Long: `List finished work that is not merged, that with marks first: what a reviewer should
look at, such as removed tests, a changed gate, or files that are protected or not its
author's. With a task or a member, show the work in full: its branch, its changes, the
verdicts of the gates, whether it conflicts with its target branch, and all hints; of a
task, also work that is already merged. Nothing is changed.

With --return, send the work on a task back to its author: an open question about it
is denied; work that is not merged yet leaves the merge queue, and its author gets a
task to revise it; merged work stays, and its author gets such a task. A task without
work to merge is opened again.`,
		Example: `  covey review
  covey review 3 --logs
  covey review 3 --return "keep the old tests"
  covey review --json | jq '.reviews[].conflicts'`,
		Args: cli.ArgCount(0, 1, "a task or a member"),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := env.Find()
			if err != nil {
				return err
			}
			var r api.ReviewRequest
			if len(args) > 0 {
				if r.Task, r.Member, err = workOf(place, args[0]); err != nil {
					return err
				}
			}
			// An empty text is a text: the flag decides, not its value.
			if cmd.Flags().Changed("return") {
				return returnWork(cmd.Context(), env, place, api.ReturnRequest{Task: r.Task, Text: back}, asJSON)
			}
			r.Logs = logs
			reply, err := env.ReadReview(cmd.Context(), place, r)
			switch {
			case err != nil:
				return err
			case len(args) > 0 && len(reply.Reviews)+len(reply.Loose) == 0:
				return fmt.Errorf("no finished work of %s waits; covey review lists what does", args[0])
			case asJSON:
				return env.Out.JSON(reply)
			case len(reply.Reviews)+len(reply.Loose) == 0:
				env.Out.Printf("no finished work waits\n")
			}
			if len(args) == 0 && !logs {
				printQueue(env.Out, reply.Reviews)
			} else {
				for i, one := range reply.Reviews {
					if i > 0 {
						env.Out.Printf("\n")
					}
					printReview(env.Out, one)
				}
			}
			for _, l := range reply.Loose {
				env.Out.Printf("%s\n", term.PlainLine(l.String()+"; covey merge "+l.Member+" takes it"))
			}
			return nil
		},
		ValidArgsFunction: env.CompleteWork,
	}
	cmd.Flags().BoolVar(&logs, "logs", false, "also show the output of the gates")
	cmd.Flags().StringVar(&back, "return", "", "send the work on the task back to its author, who is told `TEXT`")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// printQueue prints a row for each piece of work.
func printQueue(out *term.Screen, list []api.Review) {
	if len(list) == 0 {
		return
	}
	type piece = api.Review
	t := term.TableOf(list,
		term.Text("TASK", func(r piece) string { return strings.Join(r.Tasks, " ") }),
		term.Text("TITLE", func(r piece) string { return r.Title }),
		term.Text("BY", func(r piece) string { return r.Member }),
		term.Text("CHANGES", func(r piece) string {
			return fmt.Sprintf("+%d −%d in %s", r.Size.Added, r.Size.Removed, texts.Plural(r.Size.Files, "file"))
		}),
		term.Text("GATES", func(r piece) string {
			var signs string
			for _, v := range r.Verdicts {
				signs += map[bool]string{true: "✓", false: "✗"}[v.Pass]
			}
			return signs
		}),
		term.Cells("STATE", func(r piece) term.Cell {
			text := view.MergeState(r.Merge)
			if len(r.Conflicts) > 0 {
				text += ", conflicts"
			}
			return term.Cell{Text: text, Style: view.MergeStyle(r.State)}
		}),
		term.Cells("LOOK AT", func(r piece) term.Cell { return lookAt(r.Hints) }).IfAny(),
	)
	t.Whole = true
	t.Print(out)
	for _, r := range list {
		if r.Reason != "" {
			out.Line(term.Faint, mergeLine(r.Merge))
		}
	}
	out.Line(term.Faint, "covey review TASK shows one, with --return TEXT sends it back; covey merge TASK merges it, --unmarked all without marks")
}

// lookAt names the marks, or if there are none the notes.
func lookAt(list []hints.Hint) term.Cell {
	if text := view.MarksText(hints.Words(list)); text != "" {
		return term.Cell{Text: text, Style: term.Red}
	}
	return term.Cell{Text: strings.Join(hints.NoteWords(list), ", "), Style: term.Faint}
}

// returnWork sends the work on a task back to its author.
func returnWork(ctx context.Context, env *cli.Env, place state.Place, r api.ReturnRequest, asJSON bool) error {
	if r.Task == "" {
		return cli.Usagef("say which task's work is to go back: covey review TASK --return TEXT")
	}
	reply, err := env.Return(ctx, place, r)
	if err != nil {
		return err
	}
	return env.Out.Show(asJSON, reply, func() {
		env.Out.Printf("task %s: %s\n", term.PlainLine(r.Task), term.PlainLine(reply.String()))
	})
}

// PrintUnmerged lists at the end of a run the work that is not in its branch yet:
// completed tasks must not hide it.
func PrintUnmerged(out *term.Screen, work []string) {
	if len(work) == 0 {
		return
	}
	if len(work) == 1 {
		out.Printf("1 piece of work is not merged; covey review shows it:\n")
	} else {
		out.Printf("%d pieces of work are not merged; covey review shows them:\n", len(work))
	}
	for _, line := range work {
		out.Line(term.Normal, "- "+line)
	}
}

// printReview prints one piece of work.
//
// All texts here come from members or gates, so each passes through term.PlainLine:
// no character in them may act on the terminal. Labels without a text are left out.
func printReview(out *term.Screen, r api.Review) {
	line := func(label, text string, s term.Style) {
		if text != "" {
			out.Printf("%s %s\n", out.Paint(term.Faint, term.Padded(label, 10)),
				out.Paint(s, term.PlainLine(text)))
		}
	}
	out.Printf("%s\n", out.Paint(term.Bold, term.PlainLine(r.Name())))
	line("by", r.Member, term.Normal)
	line("branch", r.Branch+" for "+r.Into, term.Normal)
	line("state", view.MergeState(r.Merge)+view.Because(r.Merge), view.MergeStyle(r.State))
	line("changes", texts.Few(r.Changes, 10), term.Normal)
	for _, h := range r.Hints {
		line("look at", h.String(), hintStyle(h))
	}
	for _, b := range r.Brings {
		line("brings", broughtText(b), term.Yellow)
	}
	line("conflicts", texts.Few(r.Conflicts, 10), term.Red)
	for _, e := range r.Evidence {
		line("evidence", e, term.Normal)
	}
	for _, v := range r.Verdicts {
		printVerdict(out, v)
	}
	if len(r.Open) > 0 {
		line("open it", shell.Join(r.Push)+" && "+shell.Join(r.Open), term.Normal)
	}
}

// hintStyle returns the colour of a hint.
func hintStyle(h hints.Hint) term.Style {
	if h.Mark {
		return term.Red
	}
	return term.Faint
}

// broughtText describes a piece of work that the merge of another one brings.
func broughtText(b api.Brought) string {
	text := b.Authored() + ", " + view.MergeState(b.Merge) + ": " + texts.Few(b.Changes, 10)
	if len(b.Protected) > 0 {
		text += "; protected: " + texts.Few(b.Protected, 10)
	}
	if b.Request != "" {
		text += "; covey inbox has the question " + b.Request
	}
	return text
}

// printVerdict prints a gate's verdict, and why it refuses. The log, if it was
// requested, contains the feedback.
func printVerdict(out *term.Screen, v requests.Verdict) {
	out.Printf("%s %s\n", out.Paint(term.Faint, term.Padded("gate", 10)), verdictText(out, v))
	if !v.Pass && v.Log == "" && v.Feedback != "" {
		out.Printf("%s\n", indented(v.Feedback))
	}
	if v.Log != "" {
		out.Printf("%s\n", indented(v.Log))
	}
}

// indented indents a text of several lines.
func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(term.Plain(text), "\n"), "\n", "\n    ")
}

// Diff returns `covey diff [TASK|MEMBER]`.
func Diff(env *cli.Env) *cobra.Command {
	var asJSON, stat bool
	cmd := &cobra.Command{
		Use:   "diff [TASK|MEMBER]",
		Short: "Show what a task or a member has changed",
		Long: `Show what the merge of a finished task brings, with earlier work of its author that it
contains, or what a member has changed, including uncommitted changes, since the work
left its target branch. Without an argument, show all members with changes. Nothing is changed, and covey runs no program that the repository names.`,
		Example: `  covey diff 3
  covey diff backend --stat
  covey diff | less -R`,
		Args: cli.ArgCount(0, 1, "a task or a member"),
		RunE: env.OnTeam(func(ctx context.Context, place state.Place, args []string) error {
			r := merging.DiffRequest{Stat: stat, Color: env.Out.Color && !asJSON}
			if len(args) > 0 {
				var err error
				if r.Task, r.Member, err = workOf(place, args[0]); err != nil {
					return err
				}
			}
			list, err := env.ReadDiff(ctx, place, r)
			if err != nil {
				return err
			}
			return env.Out.Show(asJSON, list, func() { printDiffs(env.Out, list, len(args) > 0) })
		}),
		ValidArgsFunction: env.CompleteWork,
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "show one line for each file instead of its changes")
	cli.JSONFlag(cmd, &asJSON)
	return cmd
}

// printDiffs prints differences. They are texts of members, so no character in them
// may act on a terminal; git's colours are kept.
func printDiffs(out *term.Screen, list []merging.Diff, named bool) {
	if len(list) == 0 {
		out.Printf("nothing has been changed\n")
	}
	for _, d := range list {
		if !named || len(list) > 1 {
			out.Printf("%s\n", out.Paint(term.Bold, term.PlainLine(d.Title)))
		}
		for _, b := range d.Brings {
			out.Printf("%s\n", out.Paint(term.Yellow, term.PlainLine("with "+broughtText(b))))
		}
		for _, h := range d.Hints {
			out.Printf("%s\n", out.Paint(hintStyle(h), term.PlainLine(h.String())))
		}
		if d.Revised != "" {
			out.Printf("%s\n%s%s\n", out.Paint(term.Bold, "since it was sent back:"), paintedPlain(d.Revised), out.Paint(term.Bold, "all that its merge brings:"))
		}
		out.Printf("%s", paintedPlain(d.Text))
		if d.Withheld != "" {
			out.Printf("%s\n", term.PlainLine(d.Withheld))
		}
	}
}

// paintedPlain is term.Plain for a text with git's colours. It keeps only colour
// codes (CSI … m, of digits and semicolons). Any other escape becomes visible as with
// term.Plain: it could move the cursor or set the title.
func paintedPlain(text string) string {
	const escape = "\x1b["
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, escape)
		b.WriteString(term.Plain(before))
		if !found {
			return b.String()
		}
		code, after, ok := strings.Cut(rest, "m")
		if ok && strings.Trim(code, "0123456789;") == "" {
			b.WriteString(escape + code + "m")
			text = after
			continue
		}
		b.WriteString(term.Plain("\x1b") + "[")
		text = rest
	}
}
