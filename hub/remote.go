// The hub's HTTP: which commit a revision is at, what it holds, and requests that are repeated while that makes sense.

package hub

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	attempts     = 5
	maxRedirects = 5
	maxListing   = 64 << 20 // bytes of one answer
	maxPages     = 1000
	maxWait      = 60 * time.Second
	stall        = 60 * time.Second // without a byte
)

// remote talks about one model.
type remote struct {
	Config
	name   Name
	client *http.Client
	slots  chan struct{} // one for each range that may be under way: who has put something in takes it out
}

func newRemote(c Config, n Name) *remote {
	if c.sleep == nil {
		c.sleep = time.After
	}
	if c.free == nil {
		c.free = freeBytes
	}
	c.Workers, c.Streams = cmp.Or(c.Workers, 4), cmp.Or(c.Streams, 8)
	c.large = cmp.Or(c.large, 64<<20)
	client := c.client
	if client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = stall
		client = &http.Client{Transport: transport}
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // see follow
	return &remote{c, n, &own, make(chan struct{}, c.Streams)}
}

// list asks for the commit and its files.
func (r *remote) list(ctx context.Context) (listing, error) {
	var info struct {
		SHA string `json:"sha"`
	}
	if _, err := r.json(ctx, r.Endpoint+"/api/models/"+r.name.path()+"/revision/"+url.PathEscape(r.name.Revision), &info); err != nil {
		return listing{}, err
	}
	if !isCommit(info.SHA) {
		return listing{}, fmt.Errorf("the hub names %.60q as the commit of %s, which is none", info.SHA, r.name.Revision)
	}
	l := listing{commit: info.SHA, files: make(map[string]remoteFile)}
	if len(r.Also) > 0 {
		err := r.tree(ctx, &l, "?recursive=true")
		l.folders = nil // all were looked into
		return l, err
	}
	if err := r.tree(ctx, &l, ""); err != nil || !slices.Contains(l.folders, templatesFolder) {
		return l, err
	}
	l.folders = slices.DeleteFunc(l.folders, func(f string) bool { return f == templatesFolder })
	return l, r.tree(ctx, &l, "/"+templatesFolder)
}

// entry is a line of the hub's list of files.
type entry struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Size int64  `json:"size"`
	OID  string `json:"oid"`
	LFS  *struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	} `json:"lfs"`
}

// tree adds what a folder of the repository holds; where is what comes behind the commit.
func (r *remote) tree(ctx context.Context, l *listing, where string) error {
	next := r.Endpoint + "/api/models/" + r.name.path() + "/tree/" + l.commit + where
	for page := 0; next != ""; page++ {
		if page == maxPages {
			return fmt.Errorf("the hub's list of files has more than %d pages", maxPages)
		}
		var entries []entry
		header, err := r.json(ctx, next, &entries)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := l.add(e); err != nil {
				return err
			}
		}
		if next, err = r.nextPage(header); err != nil {
			return err
		}
	}
	return nil
}

// nextPage reads the Link header. It must stay with the hub.
func (r *remote) nextPage(h http.Header) (string, error) {
	for link := range strings.SplitSeq(h.Get("Link"), ",") {
		target, rest, ok := strings.Cut(strings.TrimSpace(link), ">")
		if !ok || !strings.Contains(rest, `rel="next"`) {
			continue
		}
		next, err := url.Parse(strings.TrimPrefix(target, "<"))
		if err != nil || !r.trusted(next) {
			return "", fmt.Errorf("the hub continues its list of files at %.100q, which is another host", target)
		}
		return next.String(), nil
	}
	return "", nil
}

// json reads one answer into out.
func (r *remote) json(ctx context.Context, address string, out any) (http.Header, error) {
	var header http.Header
	err := r.repeat(ctx, func() error {
		resp, err := r.get(ctx, address, "")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(io.LimitReader(resp.Body, maxListing+1))
		if err != nil {
			return &unreachableError{r.Endpoint, err, false}
		}
		if len(data) > maxListing {
			return fmt.Errorf("the hub's answer has more than %d bytes", maxListing)
		}
		if err := json.Unmarshal(data, out); err != nil {
			return fmt.Errorf("the hub's answer is not what it should be (is %s a hub?): %w", r.Endpoint, err)
		}
		header = resp.Header
		return nil
	})
	return header, err
}

// get follows redirects and returns an answer with status 200 or 206. bytes asks for a part of a file, as
// the header Range does; "" for all of it.
func (r *remote) get(ctx context.Context, address, bytes string) (*http.Response, error) {
	for range maxRedirects + 1 {
		at, err := url.Parse(address)
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("User-Agent", "molt")
		req.Header.Set("Accept-Encoding", "identity") // lengths and ranges are those of the file
		if r.Token != "" && r.trusted(at) {
			req.Header.Set("Authorization", "Bearer "+r.Token)
		}
		if bytes != "" {
			req.Header.Set("Range", bytes)
		}
		resp, err := r.client.Do(req)
		if err != nil {
			return nil, r.unreachable(ctx, err)
		}
		switch {
		case resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusPartialContent && bytes != "":
			return resp, nil
		case resp.StatusCode < 300 || resp.StatusCode > 399:
			_ = resp.Body.Close() // the status says more
			return nil, r.explain(resp, at)
		}
		next, err := resp.Location()
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
		if next.Scheme != "https" && (next.Scheme != "http" || at.Scheme == "https") {
			return nil, fmt.Errorf("the hub sends us to %.100q, which is not encrypted", next.Redacted())
		}
		address = next.String()
	}
	return nil, fmt.Errorf("the hub redirects more than %d times", maxRedirects)
}

// trusted reports whether an address is the hub's own, which alone may see the token.
func (r *remote) trusted(u *url.URL) bool {
	own, err := url.Parse(r.Endpoint)
	return err == nil && u.Scheme == own.Scheme && u.Host == own.Host
}

// repeat calls again after failures that may pass, and waits as long as the hub asks.
func (r *remote) repeat(ctx context.Context, call func() error) error {
	wait := 500 * time.Millisecond
	for attempt := 1; ; attempt++ {
		err := call()
		var busy *busyError
		var unreachable *unreachableError
		passes := errors.As(err, &busy) || errors.As(err, &unreachable) && !unreachable.final
		if err == nil || !passes || attempt == attempts {
			return err
		}
		pause := wait
		if busy != nil && busy.after > 0 {
			if pause = busy.after; pause > maxWait {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.sleep(pause):
		}
		wait *= 2
	}
}

// retryAfter reads seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 1<<20)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
