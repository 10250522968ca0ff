// This machine: what computes, what it holds, and how far apart programs of a policy run.

package doctor

import (
	"context"
	"fmt"
	"strings"

	"molt/agent/sandbox"
	"molt/internal/child"
	"molt/internal/spell"
	"molt/run/machine"
)

// Machine looks at this machine. It runs small programs to see what isolation there is.
func Machine(ctx context.Context, threads int) []Finding {
	if err := machine.Check(); err != nil {
		return refusals("kernels", err)
	}
	h := machine.Here(threads)
	found := []Finding{ok("kernels", "%s on %s, %d threads of %d cores", h.Kernels, h.CPU, h.Threads, h.Cores)}
	if h.Kernels == "plain" {
		found[0] = note("kernels", "plain Go: no faster path for this processor, or MOLT_KERNEL says so", "expect a tenth of the speed; any x86-64 machine with AVX2 is faster")
	}
	if h.MemoryBytes > 0 {
		found = append(found, ok("memory", "%s", spell.MiB(h.MemoryBytes)))
	}
	return append(append(found, interpreter(ctx), harnesses(), agents()), isolation(ctx)...)
}

// agents says what programs of the user are kept from.
func agents() Finding {
	if err := child.Apart(); err != nil {
		return note("agents", err.Error()+": an agent's detached processes go on after it, it can look for labels and into the folders of other rollouts, and it sees your processes and the keys in their environment", "install bubblewrap, where the system lets it make namespaces; docs/agents.md (Programs) says what else is open")
	}
	return ok("agents", "agents and graders run in a process namespace of their own, with your files and the network; an agent finds no label and no other rollout's folder")
}

// isolation says what each kind is worth here.
func isolation(ctx context.Context) []Finding {
	var found []Finding
	if err := sandbox.Probe(ctx, sandbox.Bubblewrap); err != nil {
		found = append(found, note("sandbox", strings.TrimPrefix(err.Error(), "sandbox: ")+": Python and shell programs of a policy cannot be kept apart from this machine", "install bubblewrap, where the system lets it make namespaces; or run Starlark"))
	} else {
		found = append(found, ok("sandbox", "bubblewrap works: programs of a policy see no home folders, no network and no other processes"))
	}
	if err := sandbox.Probe(ctx, sandbox.Limits); err != nil {
		found = append(found, note("sandbox", strings.TrimPrefix(err.Error(), "sandbox: "), ""))
	} else {
		found = append(found, ok("sandbox", "limits work, on time, memory and file sizes alone: such a program reads and writes whatever you can, and has the network"))
	}
	for _, i := range []sandbox.Isolation{sandbox.Bubblewrap, sandbox.Limits} {
		if sandbox.Probe(ctx, i) != nil {
			continue
		}
		if err := sandbox.Bounded(ctx, i); err != nil {
			found = append(found, note("sandbox", fmt.Sprintf("%s: %s", i, strings.TrimPrefix(err.Error(), "sandbox: ")), "run molt in a container with a limit of processes"))
		}
	}
	if err := sandbox.Probe(ctx, sandbox.Starlark); err != nil {
		return append(found, note("sandbox", strings.TrimPrefix(err.Error(), "sandbox: "), ""))
	}
	return append(found, ok("sandbox", "Starlark works: a language without files, network or processes"))
}
