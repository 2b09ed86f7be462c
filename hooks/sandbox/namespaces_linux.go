package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// helperPatience is how long a helper may take for one step. Only one that hangs takes it.
const helperPatience = 2 * time.Minute

// startInside starts this program in new namespaces, where it makes the box and then becomes the
// command. When startInside returns, the command has been executed.
func (b *Box) startInside(cmd *exec.Cmd) (s *Session, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "helper"), os.NewFile(uintptr(pair[1]), "starter")
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	s = &Session{}
	defer func(begun *Session) {
		if err != nil {
			begun.Close()
			s = nil
		}
	}(s) // a return of nil has changed s by then
	o := orders{Policy: b.policy, Landlock: b.support.Landlock, Network: b.policy.Network != NetworkOn}
	serve := b.listeners()
	o.Listen = slices.Sorted(maps.Keys(serve))
	if len(b.policy.Discard) > 0 {
		if o.Scratch, err = os.MkdirTemp(b.extras.Layers, layersName); err != nil {
			return nil, err
		}
		s.closers = append(s.closers, func() { removeLayers(o.Scratch) })
	}
	if err := b.startHelper(cmd, theirs, o.Network); err != nil {
		return nil, err
	}
	h := helper{conn.(*net.UnixConn), cmd.Process.Pid}
	theirs.Close()
	if err = b.follow(h, o, serve, s); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return s, err
}

// startHelper starts this program as a helper instead of the command, which looks as before
// afterwards.
func (b *Box) startHelper(cmd *exec.Cmd, end *os.File, network bool) error {
	path, args, files, env, attr := cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.Env, cmd.SysProcAttr
	defer func() { cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.Env, cmd.SysProcAttr = path, args, files, env, attr }()
	cmd.ExtraFiles = append(slices.Clone(files), end)
	const firstExtra = 3
	cmd.Args = []string{helperName, fmt.Sprint(firstExtra + len(files))}
	if path != "" {
		cmd.Args = append(append(cmd.Args, path), args...)
	}
	cmd.Path = "/proc/self/exe"
	if b.policy.Network == NetworkList {
		if env == nil {
			env = os.Environ()
		}
		cmd.Env = append(slices.Clone(env), proxyEnv...)
	}
	if attr == nil {
		attr = &syscall.SysProcAttr{}
	}
	inside := *attr
	inside.Cloneflags |= unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if network {
		inside.Cloneflags |= unix.CLONE_NEWNET
	}
	if os.Geteuid() != 0 {
		inside.Cloneflags |= unix.CLONE_NEWUSER
		inside.AmbientCaps = helperCapabilities
	}
	cmd.SysProcAttr = &inside
	return cmd.Start()
}

// helperCapabilities are what a helper of an ordinary user needs in its namespace: for mounts, for the
// loopback interface, and for what overlay does in the name of who mounts it.
var helperCapabilities = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN,
}

// helper is a helper as its starter sees it.
type helper struct {
	*net.UnixConn
	pid int
}

// follow gives orders to a helper and returns when it has executed its program.
func (b *Box) follow(h helper, o orders, serve map[string]func(net.Listener), s *Session) error {
	if _, err := h.next(wordReady); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		if err := h.mapUser(); err != nil {
			return fmt.Errorf("give the user to the namespace: %w", err)
		}
	}
	if err := b.limit(h.pid); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if len(text) > maxPacket {
		return errors.New("the policy names too many paths")
	}
	if _, err := h.Write(text); err != nil {
		return err
	}
	if o.Network {
		files, err := h.next(wordListening)
		if err != nil {
			return err
		}
		if err := s.serve(files, o.Listen, serve); err != nil {
			return err
		}
	}
	if _, err := h.next(wordBoxed); err != nil {
		return err
	}
	_, err = h.next(0)
	return err
}

// next waits for a word of the helper, and returns the files that come with it. Word 0 is the end of
// the channel.
func (h helper) next(word byte) (files []*os.File, err error) {
	if err := h.SetReadDeadline(time.Now().Add(helperPatience)); err != nil {
		return nil, err
	}
	packet, rights := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4*maxListeners))
	n, m, _, _, err := h.ReadMsgUnix(packet, rights)
	switch {
	case errors.Is(err, io.EOF) && word == 0:
		return nil, nil
	case errors.Is(err, io.EOF):
		return nil, errors.New("the sandbox's helper has ended too early")
	case err != nil:
		return nil, fmt.Errorf("wait for the sandbox's helper: %w", err)
	case packet[0] == wordFailed:
		var f failure
		if err := json.Unmarshal(packet[1:n], &f); err != nil {
			return nil, err
		}
		return nil, f
	case packet[0] != word:
		return nil, fmt.Errorf("the sandbox's helper has sent %q", packet[0])
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	for _, fd := range fds {
		unix.CloseOnExec(fd)
		files = append(files, os.NewFile(uintptr(fd), "listener"))
	}
	return files, err
}

// maxListeners is how many files a packet can carry.
const maxListeners = 253

// mapUser makes the user and group the same inside the helper's namespace as outside. The helper
// cannot do it: only after its execution is it dumpable, and then it lacks the capability.
func (h helper) mapUser() error {
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1", os.Geteuid(), os.Geteuid())},
		{"gid_map", fmt.Sprintf("%d %d 1", os.Getegid(), os.Getegid())},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", h.pid, f.name), []byte(f.text), 0); err != nil {
			return err
		}
	}
	return nil
}

// listeners returns what listens inside and who serves it.
func (b *Box) listeners() map[string]func(net.Listener) {
	all := maps.Clone(b.extras.Listeners)
	if all == nil {
		all = map[string]func(net.Listener){}
	}
	if b.policy.Network == NetworkList && b.extras.Proxy != nil {
		all[proxyAddress] = func(l net.Listener) { b.extras.Proxy(l, b.policy.Hosts) }
	}
	return all
}

// serve serves listeners until the session is closed.
func (s *Session) serve(files []*os.File, addresses []string, by map[string]func(net.Listener)) error {
	if len(files) != len(addresses) {
		return fmt.Errorf("the sandbox's helper has sent %d listeners, not %d", len(files), len(addresses))
	}
	var all sync.WaitGroup
	var errs []error
	for i, f := range files {
		l, err := net.FileListener(f)
		f.Close()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.closers = append(s.closers, func() { l.Close() })
		all.Go(func() { by[addresses[i]](l) })
	}
	s.closers = append(s.closers, all.Wait)
	return errors.Join(errs...)
}

// RemoveLayers removes what processes that were killed have left of changes that they were to discard in a folder.
func RemoveLayers(folder string) {
	left, _ := filepath.Glob(filepath.Join(folder, layersName+"*"))
	for _, scratch := range left {
		removeLayers(scratch)
	}
}

// layersName begins the names of folders with changes that are discarded.
const layersName = "covey-discard-"

// removeLayers removes what a program has written to folders that are discarded. The kernel makes a
// folder without rights there.
func removeLayers(scratch string) {
	works, _ := filepath.Glob(filepath.Join(scratch, "*", "work", "work"))
	for _, w := range works {
		_ = os.Chmod(w, 0o700)
	}
	_ = os.RemoveAll(scratch)
}

// probeNamespaces makes a box of level 2 without a program, with a folder that is discarded or without.
func probeNamespaces(version int, discard bool) error {
	read, write := System()
	b := Box{level: Mounts, support: Support{Landlock: version},
		policy: Policy{Read: read, Write: write, Network: NetworkOff}}
	if discard {
		dir, err := os.MkdirTemp("", "covey-probe-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		b.policy.Discard = []string{dir}
	}
	ctx, cancel := context.WithTimeout(context.Background(), helperPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "")
	cmd.Path, cmd.Err, cmd.Dir = "", nil, "/"
	s, err := b.startInside(cmd)
	if err != nil {
		return err
	}
	s.Close()
	return cmd.Wait()
}

// namespaceCure returns what can be done about an error of probeNamespaces.
func namespaceCure() string {
	setting := func(name, value string) bool {
		text, err := os.ReadFile("/proc/sys/" + name)
		return err == nil && strings.TrimSpace(string(text)) == value
	}
	switch {
	case setting("kernel/apparmor_restrict_unprivileged_userns", "1"):
		return "install covey's AppArmor profile, or set kernel.apparmor_restrict_unprivileged_userns to 0"
	case setting("kernel/unprivileged_userns_clone", "0"):
		return "set kernel.unprivileged_userns_clone to 1"
	case setting("user/max_user_namespaces", "0"):
		return "raise user.max_user_namespaces"
	}
	return "in a container, let its seccomp profile allow clone with new namespaces, mount and pivot_root"
}
