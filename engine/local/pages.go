package local

import "fmt"

// pages counts who holds each page of the KV pool. A page is held by the running requests that read it, and by the index
// of prefixes that may offer it to others; it is free when nobody holds it. A request writes only to pages that it alone
// uses, and only beyond the positions that the index knows.
type pages struct {
	free    []int32 // the last one is taken next
	users   []int32 // running requests that use each page
	indexed []int32 // prefixes of the index that hold each page
	used    int     // pages with users
}

func newPages(n int) *pages {
	p := &pages{free: make([]int32, n), users: make([]int32, n), indexed: make([]int32, n)}
	for i := range p.free {
		p.free[i] = int32(n - 1 - i)
	}
	return p
}

// idle is the number of pages that no request uses: free ones, and those that only the index holds.
func (p *pages) idle() int { return len(p.users) - p.used }

// take gives a free page to a request.
func (p *pages) take() (page int32, ok bool) {
	n := len(p.free)
	if n == 0 {
		return 0, false
	}
	page = p.free[n-1]
	p.free = p.free[:n-1]
	p.use(page)
	return page, true
}

// use adds a request to the users of a page.
func (p *pages) use(page int32) {
	if p.users[page]++; p.users[page] == 1 {
		p.used++
	}
}

// leave ends a request's use of a page.
func (p *pages) leave(page int32) {
	if p.users[page]--; p.users[page] == 0 {
		p.used--
	}
	p.release(page)
}

func (p *pages) index(page int32) { p.indexed[page]++ }

func (p *pages) unindex(page int32) {
	p.indexed[page]--
	p.release(page)
}

func (p *pages) release(page int32) {
	switch {
	case p.users[page] < 0 || p.indexed[page] < 0:
		panic(fmt.Sprintf("local: page %d has %d users and %d prefixes", page, p.users[page], p.indexed[page]))
	case p.users[page] == 0 && p.indexed[page] == 0:
		p.free = append(p.free, page)
	}
}
