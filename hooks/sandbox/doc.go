// Package sandbox starts programs in boxes: what a program and its descendants may read, write and
// connect to is held by the kernel, whatever the program does. It makes no promise of
// compatibility to programs outside covey.
//
// There are two levels. At level 1 (Files) landlock, seccomp, no-new-privs and dropped
// capabilities restrict the program. At level 2 (Mounts) it also has a file system that holds
// only what its policy grants, and unless its network is on, a network of its own. Linux alone
// has them.
//
// A caller asks with Probe what the kernel can hold, makes a Box from that and from a Policy, and
// starts commands with Box.Start instead of exec.Cmd.Start. The process must have hidden its
// memory (PR_SET_DUMPABLE 0) before, or nothing starts: at level 1 a program has the landlock
// domain of the thread that forked it, and could trace this thread otherwise. For level 2 main
// must call Init first.
//
// Not held are bugs of the kernel, side channels, and the use of processors, memory and disks;
// at level 1 also the names and attributes of files elsewhere (stat, chmod, utime, xattr), and
// connections to unix sockets that have a path.
package sandbox
