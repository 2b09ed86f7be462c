package main_test

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// arrows are the packages of ours that one package may import. "teammate/*"
// stands for all packages in that folder without a row of their own, and in to
// for all packages in that folder.
type arrows struct{ from, to string }

// floors is the whole import order (docs/architecture.md), the ground first: a
// package imports only what stands above it in this list.
var floors = []arrows{
	{"bus", ""},
	{"hooks/sandbox", ""},
	{"hooks/sandbox/proxy", "hooks/sandbox"},
	{"hooks/proc", ""},
	{"hooks/testkit", ""},
	{"hooks/texts", ""},
	{"hooks/shell", ""},
	{"hooks/rules", ""},
	{"configs/yaml", ""},
	{"hooks", "hooks/rules"},
	{"hooks/web", ""},
	{"hooks/settings", "hooks hooks/rules hooks/web configs/yaml"},
	{"hooks/runner", "hooks hooks/*"},
	{"tasks/store", ""},
	{"tasks/replica", "tasks/store"},
	{"tasks/backup", "tasks/store"},
	{"tasks/actors", "tasks/store"},
	{"tasks/mail", "tasks/store tasks/actors"},
	{"tasks/requests", "tasks/store tasks/actors tasks/mail"},
	{"tasks", "tasks/*"},
	{"orchestrator/hints", ""},
	{"configs", "hooks hooks/rules hooks/settings hooks/web configs/yaml orchestrator/hints"},
	{"teammate/agent", ""},
	{"events", "orchestrator/hints tasks tasks/actors tasks/mail tasks/requests teammate/agent"},
	{"teammate/transcript", "events teammate/agent"},
	{"teammate/workspace", ""},
	{"teammate/permission", "hooks hooks/rules teammate/agent teammate/workspace"},
	{"teammate", "hooks hooks/rules tasks events teammate/agent teammate/transcript teammate/workspace teammate/permission"},
	{"teammate/script", "configs/yaml events teammate teammate/agent"},
	{"teammate/program", "events teammate/agent teammate/transcript"},
	{"teammate/modelapi", "events teammate/agent teammate/program"},
	{"teammate/builtin/tools", "hooks/web teammate teammate/agent teammate/workspace"},
	{"teammate/builtin", "hooks/rules events teammate teammate/agent teammate/transcript teammate/workspace " +
		"teammate/builtin/tools"},
	{"teammate/*", "events teammate teammate/agent teammate/program teammate/transcript"},
	{"orchestrator/nodes", "configs/yaml tasks tasks/replica"},
	{"orchestrator/process", ""},
	{"orchestrator/worktree", ""},
	{"orchestrator/plan", "tasks tasks/mail events teammate/agent"},
	{"orchestrator/state", "tasks tasks/actors tasks/backup tasks/store events teammate/agent orchestrator/process"},
	{"orchestrator/members", "configs hooks/rules events teammate teammate/agent tasks tasks/* " +
		"orchestrator/plan orchestrator/state"},
	{"orchestrator/memory", "configs orchestrator/members teammate/workspace"},
	{"orchestrator/accounts", "configs configs/yaml tasks tasks/actors tasks/mail events teammate teammate/agent teammate/program teammate/transcript " +
		"orchestrator/plan orchestrator/state orchestrator/members"},
	{"orchestrator/writes", "configs hooks hooks/runner hooks/settings events teammate/workspace " +
		"teammate/permission teammate/builtin/tools orchestrator/state orchestrator/members orchestrator/worktree"},
	{"orchestrator/inbox", "configs hooks hooks/runner tasks tasks/* events teammate teammate/agent orchestrator/members " +
		"orchestrator/plan orchestrator/state"},
	{"orchestrator/workcopies", "configs hooks hooks/settings tasks events teammate teammate/agent orchestrator/members " +
		"orchestrator/process orchestrator/state orchestrator/worktree"},
	{"orchestrator/boxes", "configs hooks events orchestrator/members orchestrator/state"},
	{"orchestrator/recordings", "events teammate/agent teammate/script"},
	{"orchestrator/gateway", "configs events hooks/texts orchestrator/members orchestrator/process orchestrator/recordings teammate/agent teammate/script"},
	{"orchestrator/launch", "configs hooks hooks/* tasks tasks/mail events teammate teammate/* orchestrator/accounts orchestrator/boxes orchestrator/gateway orchestrator/process orchestrator/members orchestrator/recordings orchestrator/state"},
	{"orchestrator/api", "orchestrator/hints bus configs tasks tasks/replica tasks/requests events orchestrator/accounts " +
		"orchestrator/members orchestrator/process " +
		"orchestrator/state orchestrator/workcopies"},
	{"orchestrator/view", "orchestrator/hints hooks tasks tasks/actors tasks/mail tasks/requests events teammate/agent orchestrator/api orchestrator/accounts " +
		"orchestrator/inbox orchestrator/state"},
	{"orchestrator/specs", "configs configs/yaml hooks tasks tasks/* events teammate/agent orchestrator/members orchestrator/api " +
		"orchestrator/plan orchestrator/state orchestrator/writes"},
	{"orchestrator/trust", "configs hooks/settings orchestrator/api orchestrator/state " +
		"orchestrator/worktree hooks"},
	{"orchestrator/notices", "configs configs/yaml hooks hooks/web tasks tasks/* events teammate/agent " +
		"orchestrator/members orchestrator/inbox orchestrator/process orchestrator/state"},
	{"orchestrator/receipts", ""},
	{"orchestrator/merging", "orchestrator/receipts orchestrator/view orchestrator/hints configs hooks hooks/* tasks tasks/* events teammate teammate/agent orchestrator/api " +
		"orchestrator/members orchestrator/inbox " +
		"orchestrator/writes orchestrator/state orchestrator/workcopies orchestrator/trust " +
		"orchestrator/worktree"},
	{"orchestrator/teamtools", "configs hooks tasks tasks/* events teammate teammate/agent orchestrator/api orchestrator/inbox " +
		"orchestrator/plan orchestrator/members orchestrator/specs"},
	{"orchestrator/mcp", "configs hooks hooks/rules hooks/runner hooks/settings tasks tasks/actors tasks/mail events teammate " +
		"teammate/agent teammate/permission teammate/program " +
		"orchestrator/api orchestrator/members orchestrator/launch orchestrator/process " +
		"orchestrator/teamtools orchestrator/view"},
	{"orchestrator/teamhooks", "configs configs/* hooks hooks/* tasks tasks/* events teammate teammate/* teammate/builtin/tools " +
		"orchestrator/api orchestrator/members orchestrator/inbox orchestrator/launch orchestrator/mcp " +
		"orchestrator/writes orchestrator/plan orchestrator/process orchestrator/state orchestrator/view orchestrator/workcopies " +
		"orchestrator/merging orchestrator/teamtools orchestrator/trust"},
	{"orchestrator/port", "hooks hooks/runner tasks events teammate teammate/agent teammate/transcript orchestrator/inbox orchestrator/worktree"},
	{"orchestrator/crew", "bus configs hooks tasks tasks/* events teammate teammate/agent teammate/transcript teammate/builtin/tools " +
		"teammate/permission " +
		"orchestrator/api orchestrator/accounts orchestrator/members orchestrator/teamhooks orchestrator/inbox " +
		"orchestrator/launch orchestrator/mcp orchestrator/merging " +
		"orchestrator/plan orchestrator/port orchestrator/process orchestrator/recordings " +
		"orchestrator/specs orchestrator/state orchestrator/teamtools orchestrator/view"},
	// Parts that have no row of their own; only the root and commands import them.
	{"orchestrator/*", "configs hooks hooks/* tasks tasks/* events teammate teammate/agent orchestrator/*"},
	{"orchestrator", "bus configs configs/* hooks hooks/* tasks tasks/* events teammate teammate/* teammate/builtin/tools orchestrator/*"},
	{"cmd/covey/term", ""},
	{"orchestrator/teamtest", "hooks/testkit cmd/covey/term " + wholeTeam},
	{"cmd/covey/cli", "configs configs/* hooks/settings orchestrator orchestrator/* tasks tasks/* cmd/covey/term"},
	{"cmd/covey/view", "tasks tasks/* events teammate/agent orchestrator orchestrator/* cmd/covey/term"},
	{"cmd/covey/board", "orchestrator/hints events orchestrator/api orchestrator/members orchestrator/state orchestrator/view tasks tasks/actors tasks/requests " +
		"cmd/covey/term cmd/covey/view"},
	{"cmd/covey/ask", "configs events orchestrator orchestrator/* tasks tasks/* cmd/covey/term cmd/covey/cli cmd/covey/view cmd/covey/board"},
	{"cmd/covey/pages", "configs hooks events orchestrator/* tasks tasks/* cmd/covey/term cmd/covey/cli cmd/covey/view"},
	{"cmd/covey/web", "configs hooks events orchestrator/* tasks tasks/* cmd/covey/term cmd/covey/cli cmd/covey/view cmd/covey/pages"},
	{"cmd/covey/acpserver", "events orchestrator orchestrator/* tasks tasks/* cmd/covey/term cmd/covey/cli cmd/covey/view"},
	{"cmd/covey/cases", "configs configs/* hooks hooks/* events orchestrator orchestrator/* tasks tasks/* teammate/agent teammate/script " +
		"cmd/covey/term cmd/covey/view"},
	{"cmd/covey/compare", "configs configs/* hooks hooks/* orchestrator/state orchestrator/worktree orchestrator/view tasks/actors cmd/covey/term"},
	{"cmd/covey/doctor", "configs configs/* hooks hooks/* events orchestrator orchestrator/* tasks/* cmd/covey/term cmd/covey/cli cmd/covey/view"},
	{"cmd/release", ""},
	{"cmd/covey", "bus configs configs/* hooks hooks/* tasks tasks/* events orchestrator orchestrator/* cmd/covey/*"},
}

// leaves are packages that know nothing of ours but each other. All may import
// them, save for tasks and bus, which import nothing.
var leaves = []string{
	"hooks/texts",                          // JSON objects field by field, and short texts
	"hooks/shell",                          // command lines of a shell
	"hooks/sandbox", "hooks/sandbox/proxy", // boxes around programs
	"hooks/proc", // programs and their process trees
}

// wholeTeam is what tests of a room need that run a whole team. Their packages have a name
// that ends in _test, so that nothing is imported in a circle.
const wholeTeam = "bus configs configs/* hooks hooks/* events orchestrator orchestrator/* tasks tasks/* teammate teammate/* teammate/builtin/tools"

// testsMayImport is what a package's tests may import besides: a member is
// best tested with an agent that follows a script, an agent kind under a real
// member with real gates.
var testsMayImport = []arrows{
	{"cmd/covey/*", "configs events orchestrator/state tasks tasks/* teammate/agent orchestrator/teamtest"},
	{"configs", "hooks/*"},
	{"configs/*", "hooks hooks/*"},
	{"hooks/settings", "hooks/runner"},
	{"orchestrator/mcp", "bus orchestrator/inbox orchestrator/state tasks tasks/*"},
	{"teammate", "teammate/* hooks/*"},
	{"teammate/*", "hooks hooks/* tasks teammate/*"},
	{"teammate/builtin/*", "hooks hooks/* tasks teammate/*"},
	{"orchestrator/accounts", wholeTeam},
	{"tasks", "bus"},
	{"tasks/replica", "bus tasks tasks/actors"},
	{"orchestrator/nodes", "bus"},
	{"orchestrator/crew", wholeTeam},
	{"orchestrator/inbox", wholeTeam},
	{"orchestrator/launch", wholeTeam},
	{"orchestrator/members", wholeTeam},
	{"orchestrator/memory", wholeTeam},
	{"orchestrator/merging", wholeTeam},
	{"orchestrator/port", wholeTeam},
	{"orchestrator/recordings", wholeTeam},
	{"orchestrator/specs", wholeTeam},
	{"orchestrator/teamhooks", wholeTeam},
	{"orchestrator/trust", wholeTeam},
	{"orchestrator/workcopies", wholeTeam},
	{"orchestrator/writes", wholeTeam},
}

// mayImport are the packages that folder may import by a list of arrows.
func mayImport(list []arrows, folder string) (to []string, known bool) {
	for _, name := range []string{folder, path.Dir(folder) + "/*"} {
		for _, a := range list {
			if a.from == name {
				return strings.Fields(a.to), true
			}
		}
	}
	return nil, false
}

// uphillImports also holds tests to the order, or a leaf could no longer be
// tested without what is built on it.
func uphillImports(t *tree) []string {
	var out []string
	for _, f := range t.files {
		may, known := mayImport(floors, f.folder())
		if !known {
			out = append(out, breach(f.path, "package %s has no place in the import order; put the code into one of "+
				"the packages there, or give it a row in floors and say why in docs/architecture.md", f.folder()))
			continue
		}
		if f.test {
			more, _ := mayImport(testsMayImport, f.folder())
			may = slices.Concat(may, more, []string{f.folder(), "hooks/testkit"})
		}
		if from := f.folder(); from != "tasks" && from != "bus" {
			may = slices.Concat(may, leaves)
		}
		out = append(out, forbidden(t, f, may)...)
	}
	return out
}

func forbidden(t *tree, f *goFile, may []string) []string {
	var out []string
	for _, spec := range f.syntax.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser lets no such path through
		}
		to, ours := strings.CutPrefix(name, modulePath+"/")
		if !ours || slices.Contains(may, to) || slices.Contains(may, path.Dir(to)+"/*") {
			continue
		}
		way := "declare a small interface in " + f.folder() + " for what it needs, and let the orchestrator fill it"
		if f.test {
			way = "if a test needs a whole team, give " + f.folder() + " the row {" + strconv.Quote(f.folder()) + ", wholeTeam} in testsMayImport"
		}
		out = append(out, breach(t.place(spec), "%s imports %s, which is uphill (it may import: %s); %s", f.folder(), to, orNone(may), way))
	}
	return out
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none of ours"
	}
	return strings.Join(names, ", ")
}
