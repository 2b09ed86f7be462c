package hints

// rules are all kinds of hints. A kind may have two rows: the marked one, and a note on what looks
// the same and is mostly harmless.
func rules() []rule {
	return []rule{
		{"gate-changed", true, "gate changed",
			"The work changes what judges it: a script, the configuration or the spec of its gates.", judged},
		{"tests-removed", true, "tests removed", "Tests are removed, and more of them than of the code.", removedTests(false)},
		{"tests-removed", false, "tests removed", "Tests are removed with code, or replaced by others.", removedTests(true)},
		{"tests-skipped", true, "tests skipped", "Tests do not run any more, or are the only ones to run.", skippedTests(false)},
		{"tests-skipped", false, "tests skipped", "Tests run in some places only.", skippedTests(true)},
		{"assertions-empty", true, "empty assertion", "Assertions hold whatever the code does.", emptyAssertions},
		{"assertions-weakened", true, "weaker assertion", "Assertions allow more than those that they replace.", weakenedAssertions},
		{"assertions-fewer", false, "fewer assertions", "Assertions are removed from tests that stay.", fewerAssertions},
		{"tests-detected", true, "knows of tests", "Code finds out whether it is tested.", testsDetected},
		{"result-forced", true, "result forced", "The result of tests is set, or a run of them ends early without failing.", forced},
		{"always-equal", true, "always equal", "A comparison is true for all values.", alwaysEqual},
		{"limit-lowered", true, "limit lowered", "A limit that a check holds, such as coverage, is lowered.", lowered},
		{"errors-swallowed", true, "errors swallowed", "Failures are passed over without a word.", swallowed},
		{"ci-weakened", true, "CI weakened", "CI gets more rights, or fails less.", ciWeakened},
		{"lock-source", true, "other source", "A dependency comes from another place, or its checksum is gone.", lockSource},
		{"ignored", true, "files hidden", "Kinds of files that people write are hidden from git.", hidesFiles},
		{"secret", true, "secret", "This looks like a key or a password.", secrets},
		{"security-off", true, "security off", "A check for security is switched off.", securityOff},
		{"program-added", true, "program added", "Programs are added that cannot be read here.", programs},
		{"litter", true, "litter", "These files look as if a program has left them.", litter},
		{"beyond-task", true, "also changes", "The task names other files of this work, but not these: it also changes them.", unnamed(true)},
		{"beyond-task", false, "also changes", "The task names other parts, but not these files: it also changes them.", unnamed(false)},
		{"special-case", false, "special case", "Code returns a fixed value for one input.", specialCases},
		{"calls-counted", false, "counts calls", "Code counts its calls, and may answer differently the next time.", countsCalls},
		{"expected-changed", false, "expected changed", "What tests expect changes together with the code.", changedExpectations},
		{"check-suppressed", false, "check suppressed", "A finding of a linter or a compiler is suppressed.", suppressed},
		{"unfinished", false, "unfinished", "Code is not written yet.", unfinished},
		{"debugging", false, "debugging", "This looks like a trace of debugging.", debugging},
		{"ci-changed", false, "CI changed", "What CI does is changed.", ciChanged},
		{"dependency-added", false, "new dependency", "Dependencies are added.", dependencies},
		{"file-deleted", false, "file deleted", "Files are deleted.", deletedFiles},
		{"binary", false, "binary", "Binary files, and files of more than 1 MB, are not read.", binaries},
	}
}
