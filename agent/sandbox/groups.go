// Control groups count processes, where this user may make them: that is root, mostly, whom no limit of processes holds.

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// parent is a folder in which groups are made; "" where none can be.
type parent string

// group is one program's; "" bounds nothing.
type group string

// groups finds the parent: version 1 has a tree for processes, version 2 one for everything.
var groups = sync.OnceValue(func() parent {
	for _, folder := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		p := parent(folder)
		p.sweep()
		if g, err := p.make(64); err == nil {
			g.remove()
			return p
		}
	}
	return ""
})

// make makes a group of at most so many processes.
func (p parent) make(processes int) (group, error) {
	if p == "" {
		return "", nil
	}
	folder, err := os.MkdirTemp(string(p), "molt-box-")
	if err != nil {
		return "", err
	}
	err = os.WriteFile(filepath.Join(folder, "pids.max"), []byte(strconv.Itoa(processes)), 0)
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "cgroup.procs"))
	}
	if err != nil {
		os.Remove(folder)
		return "", err
	}
	return group(folder), nil
}

// left are groups of this process in which something had not quite ended.
var left struct {
	mu     sync.Mutex
	groups []group // guarded by mu
}

// sweep removes groups that earlier processes left behind.
func (p parent) sweep() {
	folders, _ := filepath.Glob(filepath.Join(string(p), "molt-box-*"))
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > time.Minute { // a young one is another process's
			os.Remove(folder) // it stays while something runs in it
		}
	}
}

// wrap is the argument list of a program that joins the group first.
func (g group) wrap(argv []string) []string {
	if g == "" {
		return argv
	}
	return append([]string{"/bin/sh", "-c", fmt.Sprintf(`echo $$ >%s/cgroup.procs && exec "$@"`, g), "sh"}, argv...)
}

// remove removes the group, and those in which something had not quite ended before.
func (g group) remove() {
	if g == "" {
		return
	}
	left.mu.Lock()
	defer left.mu.Unlock()
	left.groups = slices.DeleteFunc(append(left.groups, g), func(g group) bool { return os.Remove(string(g)) == nil })
}
