package launch

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/sandbox"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/acp"
	"github.com/coveyteam/covey/teammate/permission"
)

// preset is an agent program that covey knows how to start.
type preset struct {
	name     configs.Preset
	programs []program  // the first that is installed serves
	keyVars  []string   // variables that hold API keys, which pass with `auth: key` only; the first is the one to set
	logins   []userFile // files that exist after a login
	// settings are files and folders of the user's that the program reads: it gets a copy of them in a
	// box, where it has a home of its own.
	settings []userFile
	// hosts are where its model and its login are. If there are none, they depend on its settings.
	hosts []string
	// firstAlone means that two programs can corrupt the folder of the first login if
	// they create it at the same time.
	firstAlone bool
	sure       bool   // without these files there is no login (macOS may have a keychain)
	login      string // the command to log in; empty: it knows only an API key, and keyVars has its variable
	loginPkg   string // the npm package with the program of login, which an adapter does without
	install    string // the command that installs the newest version of the first program
	// vendors are those whose models its programs ask through the gateway; passes means that one that has
	// logged in by itself can pass it, too.
	vendors []string
	passes  bool
	node    string // the first version of Node.js that its package admits; empty: the package does not say
}

// userFile is a file or folder that a program keeps for its user.
type userFile struct {
	variable string // names the folder; empty: there is no such variable
	folder   string // under HOME, where the variable is not set
	path     string // relative to the folder
}

// userFiles returns files of one folder.
func userFiles(variable, folder string, paths ...string) (all []userFile) {
	for _, path := range paths {
		all = append(all, userFile{variable, folder, path})
	}
	return all
}

// program is one way to run a preset.
type program struct {
	bin string // looked for in PATH
	// pkg is the package that bin must come from; empty: any. Two packages may contain
	// programs of the same name that behave differently.
	pkg string
	// since is the first version of pkg that this describes, such as 0.100; empty: all
	// versions. It requires pkg.
	since   string
	args    []string
	kind    configs.AgentKind // ACP or Command
	dialect string            // kind Command: the lines that it prints, as package command names them
	resume  []string          // kind Command: arguments that resume session "{session}"
	// connect returns the arguments through which a command finds the team tools on the
	// MCP server at url, with the token in the variable mcpTokenVar; nil: it has only
	// the covey commands. Only with kind Command.
	connect func(url string) []string
	// env is always set, whatever the user's environment says, for example to keep the
	// program from updating itself during a turn.
	env      []string // NAME=VALUE
	quirks   acp.Quirks
	systemBy acp.SystemMode
	// mode is the session mode to set before the first prompt; empty: the program's
	// default. Only with kind ACP.
	mode     string
	stdioMCP bool // it supports MCP over stdio only
	honours  Honours

	// writeSettings writes the files that the program needs into o.dir and adds them to
	// o; may be nil. It is called first before each start.
	writeSettings func(o *offer) error
	// nativeHooksOff disables the program's own hooks; nil: it has none, or they cannot
	// be disabled.
	nativeHooksOff func(o *offer) error
	// sandboxOff disables the program's own sandbox, which cannot be made in a box; nil: it has none.
	sandboxOff func(o *offer) error
	// offline makes the program use the model server at url with an API key, in its own
	// existing home directory. Every preset has one. It writes nothing outside of home.
	offline func(o *offer, url, key, home string) error
	// gateway makes the program ask its models at url, with a token in place of a key, and leaves the rest as
	// the user has set it up. An empty token leaves its own login. nil: it cannot be sent there.
	gateway func(o *offer, url, token string) error
}

// offer is how a program is about to be started.
type offer struct {
	args []string
	env  []string // NAME=VALUE; the last of a name counts
	dir  string   // an existing folder of the member's own, outside the workspace
	// workspace is where the program will work; programs must be told to trust it.
	workspace string
	rules     permission.Policy // of the member
	meta      object            // _meta of session/new; nil: none
	box       *sandbox.Box      // in which it runs; nil: none
}

// presets returns all programs that covey knows, in display order. Callers must not change them.
var presets = sync.OnceValue(func() []preset {
	return []preset{claude(), codex(), gemini(), openCode(), copilot(), qwen()}
})

// presetOf returns a preset by name.
func presetOf(name configs.Preset) (preset, bool) {
	all := presets()
	i := slices.IndexFunc(all, func(p preset) bool { return p.name == name })
	if i < 0 {
		return preset{}, false
	}
	return all[i], true
}

// find returns the first installed program of a preset and its path. look is
// exec.LookPath or a replacement. The error, a configs.ErrSpec, says what to install.
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
	return program{}, "", texts.Errorf(configs.ErrSpec, "%s is not installed: there is %s in PATH; %s installs it",
		p.name, text, howToInstall(p.install, p.node))
}

// isIn reports whether this version of a package contains the program.
func (w program) isIn(pkg, version string) bool {
	return pkg != "" && w.pkg == pkg && slices.Compare(versionNumbers(version), versionNumbers(w.since)) >= 0
}

// versionNumbers returns the leading numbers of a version: 0, 100 and 0 in
// 0.100.0-beta.2.
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
