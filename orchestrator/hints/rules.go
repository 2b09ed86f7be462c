package hints

import "slices"

// The kinds of hints that Evidence finds, and NotTried for what it had no time for.
const (
	testsFail   Kind = "tests-fail"
	testsIdle   Kind = "tests-idle"
	testsBefore Kind = "tests-before"
	untested    Kind = "untested"
	unpinned    Kind = "unpinned"
	NotTried    Kind = "not-tried"
)

// ByTrial returns the names of the kinds of hints that only trials of tests find.
func ByTrial() []string {
	return []string{string(testsFail), string(testsIdle), string(testsBefore), string(untested), string(unpinned)}
}

// Kinds returns the names of all kinds of hints that Find finds by rules, in their order, and those of ByTrial.
func Kinds() []string {
	var kinds []string
	for _, r := range rules() {
		if !slices.Contains(kinds, string(r.kind)) {
			kinds = append(kinds, string(r.kind))
		}
	}
	return append(kinds, ByTrial()...)
}

// rules are all kinds of hints. A kind may have several rows: the marked one, and notes on what looks
// the same and is mostly harmless.
func rules() []rule {
	return []rule{
		{"gate-changed", true, "gate changed",
			"The work changes what judges it: a script, the configuration or the spec of its gates.", judged},
		{"gate-changed", false, "gate's data changed", "The work changes what a script of a gate reads.", files(func(w Work, f *FileDiff) bool { return slices.Contains(w.Judges.Data, f.Name) })},
		{"tests-removed", true, "tests removed", "Tests are removed, and more of them than of the code.", removedTests(false)},
		{"tests-removed", false, "tests removed", "Tests are removed with code, or replaced by others.", removedTests(true)},
		{"tests-skipped", true, "tests skipped", "Tests do not run any more, or are the only ones to run.", skippedTests(false)},
		{"tests-skipped", false, "tests skipped", "Tests run in some places only.", skippedTests(true)},
		{"assertions-empty", true, "empty assertion", "Assertions hold whatever the code does.", emptyAssertions},
		{"assertions-empty", false, "no assertion", "New tests check nothing that this shows.", emptyTests},
		{"assertions-empty", false, "computed expectation", "What a test expects may come from the code that it tests.", computedExpectations},
		{"assertions-weakened", true, "weaker assertion", "Assertions allow more than those that they replace.", weakenedAssertions},
		{"assertions-fewer", false, "fewer assertions", "Assertions or cases are removed from tests that stay, or passed over.", fewerAssertions},
		{"tests-detected", true, "knows of tests", "Code finds out whether it is tested.", testsDetected},
		{"tests-detected", false, "looks around", "Code finds out what called or loaded it.", looksAround},
		{"result-forced", true, "result forced", "The result of tests is set, or a run of them ends early without failing.", forced},
		{"result-forced", false, "tests' runner changed", "Code of the tests decides which of them run, or what their results are.", runnerHooks},
		{"always-equal", true, "always equal", "A comparison is true for all values.", alwaysEqual},
		{"always-equal", false, "own equality", "Code decides itself which values are equal.", ownEquality},
		{"limit-lowered", true, "limit lowered", "A limit that a check holds, such as coverage, is lowered.", lowered},
		{"limit-lowered", false, "older version", "A dependency becomes older.", olderVersions},
		{"errors-swallowed", true, "errors swallowed", "Failures are passed over without a word.", swallowed},
		{"errors-swallowed", false, "error dropped", "New code passes over the error of a call.", errorDropped},
		{"ci-weakened", true, "CI weakened", "CI gets more rights, or fails less.", ciWeakened},
		{"lock-source", true, "other source", "A dependency comes from another place, or its checksum is gone.", lockSource},
		{"ignored", true, "files hidden", "Kinds of files that people write are hidden from git, or their changes from its differences.", hidesFiles},
		{"ignored", false, "more ignored", "Git ignores more files.", added(func(f *FileDiff) bool { return baseOf(f) == ".gitignore" }, ignores)},
		{"not-shown", true, "not shown", "What this changes cannot be shown: git takes a text for binary, or shows the commit of a submodule alone.", unreadable},
		{"not-shown", false, "not shown", "The ends of lines of more than 400 bytes are not looked at.", longLines},
		{"deceptive", true, "deceptive text", "Text is not what it looks like.", deceptive},
		{"link", true, "link", "A symbolic link takes the place of a file, or leads out of the repository.", links(true)},
		{"link", false, "link", "Symbolic links are made.", links(false)},
		{"runs-unasked", true, "runs unasked", "This runs without being called, when something is installed, built or opened.", unasked},
		{"built-in-changed", true, "built-in changed", "A part of the language is changed for all code, or imitated.", otherBuiltIns},
		{"environment-sent", true, "environment sent", "Code hands on all variables of its environment.", everything},
		{"secret", true, "secret", "This looks like a key or a password.", secrets},
		{"security-off", true, "security off", "A check for security is switched off.", securityOff},
		{"program-added", true, "program added", "Programs are added that cannot be read here.", programs},
		{"litter", true, "litter", "These files look as if a program has left them.", litter},
		{"beyond-task", true, "also changes", "The task names other files of this work, but not these: it also changes them.", unnamed(true)},
		{"beyond-task", false, "also changes", "The task names other parts, but not these files: it also changes them.", unnamed(false)},
		{"checks-fewer", true, "fewer checks", "Code refuses in fewer places than before, and tests expect fewer refusals.", fewerChecks(true)},
		{"checks-fewer", false, "fewer checks", "Code refuses, fails, sorts, locks, closes or renames in fewer places than before.", fewerChecks(false)},
		{"condition-changed", false, "other condition", "A condition differs by its operators or numbers alone, a value by its number, or a refusal has another condition.", otherConditions},
		{"bound-raised", false, "higher bound", "A limit of time, attempts or size is raised or gone, or tests are tried again.", higherBounds},
		{"risky-call", true, "risky call", "Code does what is often a hole, if its input comes from outside.", risky},
		{"special-case", false, "special case", "Code returns a fixed value, for one input or in place of a computed one.", specialCases},
		{"calls-counted", true, "keeps state", "Code counts its calls or keeps something for the next ones, and may answer those differently.", countsCalls},
		{"calls-counted", false, "keeps state", "Code keeps something for later calls.", func(w Work) []Place { return append(keepsForCalls(w), countsFields(w)...) }},
		{"code-mocked", false, "code mocked", "Tests replace a part of the code that this work changes.", mocked},
		{"expected-changed", false, "expected changed", "What tests expect changes together with the code.", changedExpectations},
		{"check-suppressed", false, "check suppressed", "A finding of a linter or a compiler is suppressed.", suppressed},
		{"unfinished", false, "unfinished", "Code is not written yet.", unfinished},
		{"debugging", false, "debugging", "This looks like a trace of debugging.", debugging},
		{"ci-changed", false, "CI changed", "What CI does is changed.", ciChanged},
		{"dependency-added", false, "new dependency", "Dependencies are added.", dependencies},
		{"file-deleted", false, "file deleted", "Files are deleted.", deletedFiles},
		{"mode-changed", false, "other mode", "Files become programs, or are none any more.", modes},
		{"blanks-changed", false, "only blanks", "Only blanks, or the ends of lines, change in these files.", blanks},
		{"binary", false, "binary", "Binary files, and files of more than 1 MB, are not read.", binaries},
	}
}
