package hints

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/coveyteam/covey/hooks/texts"
)

// Rules about changes that a reader of the difference does not see as what they are.

// The modes of git for what is no file.
const (
	linkMode      = "120000"
	submoduleMode = "160000"
)

// textEndings are the endings of files that people read, besides those of code. Data of other endings are often large, and have a
// note as binary files have.
var textEndings = []string{".json", ".yml", ".yaml", ".toml", ".sql", ".cfg", ".ini", ".md", ".snap", ".golden", ".proto", ".tf", ".gradle"}

// isText reports whether people can be expected to read a file.
func isText(f *FileDiff) bool {
	return isCode(f.Name) || isScript(f) || namedTest(f.Name) || slices.Contains(textEndings, path.Ext(f.Name)) && !fitsOne(baseOf(f), "*-lock.*", "*.lock.*")
}

// unreadable finds changes that nobody can read in the difference: texts that git takes for binary, because they hold zero
// bytes, are too large or have an attribute, and submodules, of which it shows the commit alone.
func unreadable(w Work) []Place {
	return files(func(_ Work, f *FileDiff) bool {
		return f.Mode == submoduleMode || f.Binary && f.What != Deleted && isText(f)
	})(w)
}

// longLines finds lines of which the end is not looked at.
func longLines(w Work) []Place {
	var list []Place
	for s := range w.fresh(func(f *FileDiff) bool { return isCode(f.Name) || isScript(f) }) {
		if n := len(s.hunk.Lines[s.i].Text); n > mostColumn {
			list = append(list, s.about(strconv.Itoa(n)+" bytes"))
		}
	}
	return list
}

// link is a symbolic link.
func link(f *FileDiff) bool { return f.Mode == linkMode && f.What != Deleted }

// links finds symbolic links that are made or changed. leading chooses those that lead out of the repository, or stand where a
// file was.
func links(leading bool) func(Work) []Place {
	return func(w Work) []Place {
		var list []Place
		for s := range w.lines('+', link) {
			to := s.text()
			leads := path.IsAbs(to) || strings.HasPrefix(path.Join(path.Dir(s.file.Name), to), "..") || slices.ContainsFunc(w.Files, func(f FileDiff) bool {
				return f.What == Deleted && f.Name == s.file.Name && f.Mode != linkMode
			})
			if leads == leading {
				list = append(list, s.about("leads to "+to))
			}
		}
		return list
	}
}

// modes finds files that become programs, or no longer are.
func modes(w Work) []Place {
	var list []Place
	for i := range w.Files {
		if f := &w.Files[i]; f.Modes != "" {
			list = append(list, Place{File: f.Name, Text: f.Modes})
		}
	}
	return list
}

// blanks finds files in which only blanks change, such as the ends of all lines or an indentation.
func blanks(w Work) []Place {
	touched := map[*FileDiff]bool{}
	for _, list := range [][]spot{w.new, w.old} {
		for _, s := range list {
			touched[s.file] = touched[s.file] || strings.TrimSpace(s.text()) != ""
		}
	}
	return files(func(_ Work, f *FileDiff) bool {
		return f.What == Changed && f.Added > 0 && f.Removed > 0 && !touched[f]
	})(w)
}

// deceptive finds lines that look like others: with signs that turn the direction of writing, that nobody sees or that look
// like Latin letters, and with what follows so many blanks that it is out of sight.
func deceptive(w Work) []Place {
	var list []Place
	for s := range w.fresh(anyFile) {
		if what := deceives(s); what != "" {
			list = append(list, s.about(what))
		}
	}
	return list
}

// farAway matches text far behind the rest of its line.
var farAway = texts.Pattern(`\S[ \t]{80,}\S`)

// deceives returns what is deceptive in a line; empty: nothing.
func deceives(s spot) string {
	text := strings.TrimRight(s.text(), "\r")
	isProgram := isCode(s.file.Name) || isScript(s.file)
	if isProgram && farAway().MatchString(text) {
		return "text behind 80 blanks"
	}
	if strings.ContainsRune(text, '\r') || strings.ContainsRune(text, '\x1b') || strings.ContainsRune(text, '\b') {
		return "a sign that moves the cursor"
	}
	if isASCII(text) {
		return ""
	}
	for i, r := range text {
		switch {
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return "a sign that turns the direction of writing"
		case r >= 0xe0000 && r <= 0xe007f:
			return "signs that nobody sees"
		case isProgram && slices.Contains(unseen, r) && (r != '\ufeff' || i > 0 || s.hunk.Lines[s.i].New > 1):
			return "a sign that nobody sees"
		}
	}
	if isProgram && !comment().MatchString(text) {
		for _, name := range strings.FieldsFunc(blank(literal, text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if resembles(name) {
				return "letters that look like others: " + name
			}
		}
	}
	return ""
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
}

// unseen are characters without a width, of those that no language needs within a program.
var unseen = []rune{0x00ad, 0x061c, 0x180e, 0x200b, 0x200e, 0x200f, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0x3164, 0xfeff, 0xffa0}

// alike are letters of other scripts that look like Latin ones.
const alike = "асԁеһіјӏорԛѕԝхуАВСЕНІЈКМОРЅТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυ"

// resembles reports whether a name is written to look like one of Latin letters.
func resembles(name string) bool {
	latin, other, same := 0, 0, 0
	for _, r := range name {
		switch {
		case r >= 0xff10 && r <= 0xff5a, r >= 0x1d400 && r <= 0x1d7ff: // programs may read them as the usual ones
			return true
		case r == '_' || unicode.IsDigit(r):
		case strings.ContainsRune(alike, r):
			same++
		case r <= unicode.MaxASCII:
			latin++
		default:
			other++
		}
	}
	return same > 0 && (latin > 0 || other == 0)
}
