package model

import "molt/numeric/kernel"

// packColumns is the number of columns of one job.
const packColumns = 128

// packing is a set of copies to make, as a task for the pool.
type packing []packJob

// packJob makes columns n up to n+count of one packed copy; the other dimension whole.
type packJob struct {
	p        *linear
	n, count int
}

type packBackward packing

// packJobs cuts the copies of all projections; width gives the number of columns of the copy.
func packJobs(all []*linear, width func(*linear) int) []packJob {
	var jobs []packJob
	for _, p := range all {
		for n := 0; n < width(p); n += packColumns {
			jobs = append(jobs, packJob{p, n, min(packColumns, width(p)-n)})
		}
	}
	return jobs
}

// Do packs the forward operand: columns are output features.
func (jobs packing) Do(i, _ int) {
	j := jobs[i]
	kernel.PackT(j.p.forward[j.n*j.p.in:], j.p.w[j.n*j.p.in:], j.p.in, j.count, j.p.in)
}

// Do packs the backward operand: columns are input features.
func (jobs packBackward) Do(i, _ int) {
	j := jobs[i]
	kernel.Pack(j.p.backward[j.n*j.p.out:], j.p.w[j.n:], j.p.in, j.p.out, j.count)
}

// runAll runs a task on the pool, or on the caller when there is none.
func runAll(pool *kernel.Pool, n int, t kernel.Task) {
	if pool != nil {
		pool.Run(n, t)
		return
	}
	for i := range n {
		t.Do(i, 0)
	}
}
