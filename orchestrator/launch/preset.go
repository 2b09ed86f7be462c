package launch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/permission"
)

// preset is an agent program that covey knows how to start.
type preset struct {
	name     configs.Preset
	programs []program // the first that is installed serves
	keyVars  []string  // variables that hold API keys; the first is the one to set
	// pass are variables that its programs get from covey's environment beside the
	// usual ones, since they say where the login lies or whose account it is. None
	// of them holds a secret.
	pass   []string
	logins []loginFile // that are there once the user has logged in
	// firstAlone says that two programs that make the folder of the first login at the
	// same time can break each other.
	firstAlone bool
	sure       bool   // without any of the files there is no login; macOS may have a keychain
	login      string // the command by which a user logs in
	install    string // the command that installs the first program
}

// loginFile is a file that is there when the user has logged in. covey looks
// whether it is there, and never into it.
type loginFile struct {
	variable string // names the folder; empty: there is no such variable
	folder   string // under HOME, where the variable is not set
	path     string // below the folder
}

// program is one way to run a preset.
type program struct {
	bin string // looked for in PATH
	// pkg is the package that bin must come from; empty: any. Two packages may
	// have a program of one name that behave differently.
	pkg string
	// since is the version of pkg from which on this holds, such as 0.100; empty:
	// always. Only with pkg.
	since   string
	args    []string
	kind    configs.AgentKind // ACP or Command
	dialect string            // kind Command: the lines that it prints, as package command names them
	resume  []string          // kind Command: arguments that enter session "{session}" again
	// connect gives the arguments by which a command finds the team tools on the MCP
	// server at url, with the token that is in the variable mcpTokenVar; nil: it has
	// the covey commands only. Only with kind Command.
	connect func(url string) []string
	// env is set whatever the user's environment says, such as what keeps the
	// program from updating itself in the middle of a turn.
	env      []configs.EnvVar
	quirks   acp.Quirks
	systemBy acp.SystemMode
	// mode is the session mode that is set before the first prompt; empty: that
	// which the program begins in. Only with kind ACP.
	mode     string
	stdioMCP bool // it takes the team tools over stdio only
	honours  Honours

	// settle writes the files that the program needs into o.dir and makes o name
	// them; nil: it needs none. It is called before each start, first of all.
	settle func(o *offer) error
	// nativeHooksOff makes the program leave its own hooks alone; nil: it has
	// none, or they cannot be told to.
	nativeHooksOff func(o *offer) error
	// offline makes the program think with the model server at url, which knows
	// it by key, in a home of its own, which exists; nil: it cannot be done. It
	// writes nothing outside home.
	offline func(o *offer, url, key, home string) error
}

// offer is what a program is about to be started with.
type offer struct {
	args []string
	env  []configs.EnvVar // a later one of a name counts
	dir  string           // an existing folder of the member's own, outside the workspace
	// workspace is where the program will work; programs want to be told that
	// they may trust it.
	workspace string
	rules     permission.Policy // the member's
	meta      object            // _meta of session/new; nil: none
}

// presets are all programs that covey knows, in the order in which they are
// shown and offered.
func presets() []preset {
	return []preset{claude(), codex(), gemini(), openCode(), copilot(), qwen()}
}

// presetOf finds a preset by its name.
func presetOf(name configs.Preset) (preset, bool) {
	all := presets()
	i := slices.IndexFunc(all, func(p preset) bool { return p.name == name })
	if i < 0 {
		return preset{}, false
	}
	return all[i], true
}

// find picks the program that serves, and tells where it is. look is
// exec.LookPath, or stands in for it. The error, an configs.ErrSpec, says what to
// install.
func (p preset) find(look func(string) (string, error)) (program, string, error) {
	var missing []string
	for _, way := range p.programs {
		path, err := look(way.bin)
		if err != nil {
			if !slices.Contains(missing, way.bin) {
				missing = append(missing, way.bin)
			}
			continue
		}
		if name, version := packageOf(path); way.pkg == "" || way.isIn(name, version) {
			return way, path, nil
		}
	}
	text := "no " + missing[0]
	if len(missing) > 1 {
		text = "none of " + strings.Join(missing, ", ")
	}
	return program{}, "", notation.Errorf(configs.ErrSpec, "%s is not installed: there is %s in PATH; `%s` installs it",
		p.name, text, p.install)
}

// isIn reports whether a package of that version brings this program.
func (w program) isIn(pkg, version string) bool {
	return pkg != "" && w.pkg == pkg && slices.Compare(versionNumbers(version), versionNumbers(w.since)) >= 0
}

// versionNumbers are those that a version begins with: 0, 100 and 0 in 0.100.0-beta.2.
func versionNumbers(version string) []int {
	var all []int
	core, _, _ := strings.Cut(version, "-")
	for part := range strings.SplitSeq(core, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}
