package recordings

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coveyteam/covey/hooks/texts"
)

// Format is the version of the form of a recording.
const Format = 2

// Ext ends the names of the files of a recording; before it stands the member's name.
const Ext = ".recording.jsonl"

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 1 << 30

// ErrRecording is wrapped by errors of recordings that cannot be used.
var ErrRecording = errors.New("the recording cannot be used")

// Exchange is a request and its answer.
type Exchange struct {
	Asked  Meaning
	At     time.Duration // when it was asked, since the recording began
	Answer Answer
}

// Answer is an answer as it came.
type Answer struct {
	At     time.Duration // when it began
	Status int           // of HTTP; 0: it is of a model without HTTP
	Type   string        // its content type
	Wait   string        // when to ask again, in the form of the header Retry-After
	Events []Event
	End    time.Duration
	Broken string // why it is not whole; empty: it is
}

// Event is a part of an answer.
type Event struct {
	At   time.Duration
	Data []byte
}

// line is a line of a file. Which of its fields are set says what it is.
type line struct {
	Format int    `json:"covey_recording,omitempty"` // the first line
	Member string `json:"member,omitempty"`
	Covey  string `json:"covey,omitempty"` // the version that wrote it

	Request int `json:"request,omitempty"` // the number of a request
	Answer  int `json:"answer,omitempty"`  // that its answer began
	Event   int `json:"event,omitempty"`
	End     int `json:"end,omitempty"` // that its answer is over

	MS float64 `json:"ms,omitempty"` // since the recording began

	API   string `json:"api,omitempty"`
	Model string `json:"model,omitempty"`
	Like  int    `json:"like,omitempty"` // the request whose first items this one has, too
	First int    `json:"first,omitempty"`
	Items []Item `json:"items,omitempty"` // those that follow

	Status int    `json:"status,omitempty"`
	Type   string `json:"type,omitempty"`
	Wait   string `json:"retry_after,omitempty"`
	Data   string `json:"data,omitempty"`
	Base64 string `json:"base64,omitempty"` // in place of Data, if that is no text
	Broken string `json:"broken,omitempty"`

	Mail   []string `json:"mail,omitempty"`   // letters that the member was shown before the request that follows
	Begins bool     `json:"begins,omitempty"` // a turn began with them

	Act bool `json:"act,omitempty"` // the member did or saw what the order of the members decides

	Requests *int   `json:"requests,omitempty"` // the last line: how many there are
	Sum      string `json:"sha256,omitempty"`   // of all lines before it
}

// file writes the recording of one member.
type file struct {
	path string
	f    *os.File
	out  *bufio.Writer
	sum  interface {
		Write([]byte) (int, error)
		Sum([]byte) []byte
	}
	written []Meaning
}

// partial ends the name of a file that is not complete.
const partial = ".partial"

// create begins a file. It takes its name when it is complete, so that a run that is killed leaves
// the earlier recording as it was.
func create(dir, member, version string) (*file, error) {
	path := filepath.Join(dir, member+Ext)
	f, err := os.OpenFile(path+partial, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	w := &file{path: path, f: f, out: bufio.NewWriter(f), sum: sha256.New()}
	return w, w.put(line{Format: Format, Member: member, Covey: version})
}

// put writes a line.
func (w *file) put(l line) error {
	data := append(texts.Encode(l), '\n')
	if _, err := w.sum.Write(data); err != nil {
		return err
	}
	_, err := w.out.Write(data)
	return err
}

// add writes an exchange.
func (w *file) add(x Exchange) error {
	n := len(w.written) + 1
	ask := line{Request: n, MS: inMS(x.At), API: x.Asked.API, Model: x.Asked.Model}
	for i, earlier := range w.written {
		if same := x.Asked.common(earlier); same > 0 && same >= ask.First {
			ask.Like, ask.First = i+1, same
		}
	}
	ask.Items = x.Asked.Items[ask.First:]
	w.written = append(w.written, x.Asked)
	a := x.Answer
	errs := []error{w.put(ask), w.put(line{Answer: n, MS: inMS(a.At), Status: a.Status, Type: a.Type, Wait: a.Wait})}
	for _, e := range a.Events {
		l := line{Event: n, MS: inMS(e.At), Data: string(e.Data)}
		if !utf8.Valid(e.Data) {
			l.Data, l.Base64 = "", base64.StdEncoding.EncodeToString(e.Data)
		}
		errs = append(errs, w.put(l))
	}
	errs = append(errs, w.put(line{End: n, MS: inMS(a.End), Broken: a.Broken}), w.out.Flush())
	return errors.Join(errs...)
}

// addMail writes the letters that a member was shown at once.
func (w *file) addMail(p portion) error { return w.put(line{Mail: p.texts, Begins: p.begins}) }

// close completes the file.
func (w *file) close() error {
	n := len(w.written)
	data := append(texts.Encode(line{Requests: &n, Sum: hex.EncodeToString(w.sum.Sum(nil))}), '\n')
	_, err := w.out.Write(data)
	err = errors.Join(err, w.out.Flush(), w.f.Sync(), w.f.Close())
	if err == nil {
		err = os.Rename(w.path+partial, w.path)
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// inMS returns a time in milliseconds.
func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ofMS is the inverse of inMS.
func ofMS(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// recorded is what a file holds.
type recorded struct {
	Member    string
	Exchanges []Exchange
	portions  []portion
	acts      []act
}

// again is the way out of all errors of files.
const again = "record it again with covey up --record"

// read reads a file. Its error names the line and the way out, and wraps ErrRecording.
func read(path string) (recorded, error) {
	data, err := texts.ReadFile(path, maxFile)
	if err != nil {
		return recorded{}, texts.Errorf(ErrRecording, "%v", err)
	}
	r := reader{sum: data}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		if err := r.take(text); err != nil {
			return recorded{}, texts.Errorf(ErrRecording, "%s:%d: %v", path, n, err)
		}
	}
	if !r.closed {
		return recorded{}, texts.Errorf(ErrRecording, "%s:%d: it is cut off after request %d; %s", path, n, len(r.Exchanges), again)
	}
	return r.recorded, nil
}

// reader reads the lines of a file.
type reader struct {
	recorded
	sum    []byte // all of the file
	done   int    // bytes of it
	begun  bool
	open   bool // an exchange has no end so far
	answer bool // its answer has begun
	closed bool
}

// take takes the next line.
func (r *reader) take(text []byte) error {
	at := r.done
	r.done += len(text)
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		if !bytes.HasSuffix(text, []byte("\n")) {
			return fmt.Errorf("it is cut off in the middle of a line; %s", again)
		}
		return fmt.Errorf("it is not a line of a recording (%s); %s", texts.Reason(err), again)
	}
	switch {
	case !r.begun:
		if l.Format == 0 {
			return errors.New("it is not a recording of covey")
		}
		if l.Format != Format {
			return fmt.Errorf("this covey reads version %d of recordings, not %d; %s", Format, l.Format, again)
		}
		r.begun, r.Member = true, l.Member
		return nil
	case r.closed:
		return fmt.Errorf("nothing follows the last line of a recording; %s", again)
	case l.Requests != nil:
		return r.finish(l, at)
	case (l.Mail != nil || l.Act) && r.open:
		return fmt.Errorf("it has a hole: request %d has no end; %s", len(r.Exchanges), again)
	case l.Mail != nil:
		r.portions = append(r.portions, portion{after: len(r.Exchanges), begins: l.Begins, texts: l.Mail})
		return nil
	case l.Act:
		r.acts = append(r.acts, act{at: ofMS(l.MS)})
		return nil
	}
	return r.exchange(l)
}

// finish takes the last line.
func (r *reader) finish(l line, at int) error {
	switch {
	case r.open || *l.Requests != len(r.Exchanges):
		return fmt.Errorf("it has a hole: there are %d requests of %d; %s", len(r.Exchanges), *l.Requests, again)
	case l.Sum != texts.Digest(r.sum[:at]):
		return fmt.Errorf("it was edited after it was recorded; %s", again)
	}
	r.closed = true
	return nil
}

// exchange takes a line of an exchange.
func (r *reader) exchange(l line) error {
	n := len(r.Exchanges)
	x := &Exchange{}
	if n > 0 {
		x = &r.Exchanges[n-1]
	}
	hole := func(what string, got int) error {
		return fmt.Errorf("it has a hole: %s of request %d stands where request %d is; %s", what, got, n, again)
	}
	switch {
	case l.Request > 0:
		if r.open || l.Request != n+1 {
			return fmt.Errorf("it has a hole before request %d; %s", l.Request, again)
		}
		m := Meaning{API: l.API, Model: l.Model}
		if l.Like > 0 {
			if l.Like > n || l.First > len(r.Exchanges[l.Like-1].Asked.Items) {
				return fmt.Errorf("request %d has items of request %d, which it cannot have; %s", l.Request, l.Like, again)
			}
			m.Items = append(m.Items, r.Exchanges[l.Like-1].Asked.Items[:l.First]...)
		}
		m.Items = append(m.Items, l.Items...)
		r.Exchanges = append(r.Exchanges, Exchange{Asked: m, At: ofMS(l.MS)})
		r.open, r.answer = true, false
	case l.Answer > 0:
		if !r.open || r.answer || l.Answer != n {
			return hole("an answer", l.Answer)
		}
		r.answer = true
		x.Answer = Answer{At: ofMS(l.MS), Status: l.Status, Type: l.Type, Wait: l.Wait}
	case l.Event > 0:
		if !r.open || !r.answer || l.Event != n {
			return hole("an event", l.Event)
		}
		data := []byte(l.Data)
		if l.Base64 != "" {
			var err error
			if data, err = base64.StdEncoding.DecodeString(l.Base64); err != nil {
				return fmt.Errorf("base64: %w; %s", err, again)
			}
		}
		x.Answer.Events = append(x.Answer.Events, Event{ofMS(l.MS), data})
	case l.End > 0:
		if !r.open || !r.answer || l.End != n {
			return hole("an end", l.End)
		}
		r.open = false
		x.Answer.End, x.Answer.Broken = ofMS(l.MS), l.Broken
	default:
		return fmt.Errorf("it is no line of a recording; %s", again)
	}
	return nil
}

// Check checks all recordings in a folder and those below it, and reports in one error what keeps them from
// being used or committed: files that cannot be read, and keys in them, which mask finds.
func Check(dir string, mask func(string) string) (files int, err error) {
	var errs []error
	walk := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(entry.Name(), Ext):
			return nil
		}
		files++
		_, err = read(path)
		errs = append(errs, err, keysIn(path, mask))
		return nil
	})
	return files, errors.Join(append(errs, walk)...)
}

// keysIn reports the requests of a file with keys in them, also if the file is damaged.
func keysIn(path string, mask func(string) string) error {
	data, err := texts.ReadFile(path, maxFile)
	if err != nil {
		return nil // read has reported it
	}
	answers, begins := map[int][][]byte{}, map[int]int{} // by number; the line where each begins
	var errs []error
	n := 0
	look := func(line int) func(string) string {
		told := false
		return func(text string) string {
			if !told && mask(text) != text {
				told = true
				errs = append(errs, texts.Errorf(ErrRecording, "%s:%d: there is a key or a password in it; do not commit it, and %s",
					path, line, again))
			}
			return text
		}
	}
	for text := range bytes.Lines(data) {
		n++
		var l line
		if json.Unmarshal(text, &l) != nil {
			continue
		}
		see := look(n)
		for _, item := range l.Items {
			see(item.Text)
		}
		for _, letter := range l.Mail {
			see(letter)
		}
		see(l.Broken)
		if l.Event > 0 {
			answers[l.Event] = append(answers[l.Event], []byte(l.Data))
			begins[l.Event] = cmp.Or(begins[l.Event], n)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(answers)) {
		rewrite(answers[number], look(begins[number]))
	}
	return errors.Join(errs...)
}
