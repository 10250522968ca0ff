// What went wrong, as one sentence with the fix.

package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// unreachableError says that no answer came.
type unreachableError struct {
	endpoint string
	cause    error
	final    bool // asking again would not help
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached (%v); check the network, or set HF_HUB_OFFLINE=1 to use the cache only", e.endpoint, e.cause)
}

func (e *unreachableError) Unwrap() error { return e.cause }

// busyError says that the hub asks to come back later.
type busyError struct {
	what  string
	after time.Duration // as the hub asks; 0 when it does not say
}

func (e *busyError) Error() string { return e.what }

// refusedError says that the hub does not give the model to us.
type refusedError struct{ what string }

func (e *refusedError) Error() string { return e.what }

func refused(format string, args ...any) error { return &refusedError{fmt.Sprintf(format, args...)} }

func (r *remote) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address may hold a signature
	}
	var dns *net.DNSError
	return &unreachableError{r.Endpoint, err, errors.As(err, &dns) && !dns.IsTimeout || errors.Is(err, syscall.ECONNREFUSED)}
}

// explain turns an answer without a file into a sentence. The hub explains itself in X-Error-Code.
func (r *remote) explain(resp *http.Response, at *url.URL) error {
	code, status := resp.Header.Get("X-Error-Code"), resp.StatusCode
	page := r.Endpoint + "/" + r.name.path()
	switch {
	case code == "GatedRepo" && r.Token == "":
		return refused("is gated: accept its conditions at %s, then set HF_TOKEN to a token of that account", page)
	case code == "GatedRepo":
		return refused("is gated, and the account of your token has no access: accept its conditions at %s", page)
	case code == "RevisionNotFound":
		return refused("has no revision %q; look at %s/tree/main for its branches and tags", r.name.Revision, page)
	case code == "EntryNotFound":
		return fmt.Errorf("has lost a file of its own list (%s); try again", at.Path)
	case status == http.StatusTooManyRequests:
		after, advice := retryAfter(resp.Header, time.Now()), "try again later"
		if after > 0 {
			advice = fmt.Sprintf("try again in %v", after.Round(time.Second))
		}
		if r.Token == "" {
			advice += ", or set HF_TOKEN, which allows more"
		}
		return &busyError{fmt.Sprintf("the hub has had too many requests (429); %s", advice), after}
	case status >= 500 || status == http.StatusRequestTimeout:
		return &busyError{fmt.Sprintf("the hub fails (status %d); try again later", status), retryAfter(resp.Header, time.Now())}
	case !r.trusted(at):
		return &busyError{fmt.Sprintf("%s, where the hub sends us, answers with status %d; try again", at.Host, status), 0}
	case code == "RepoNotFound", status == http.StatusNotFound, status == http.StatusUnauthorized && r.Token == "":
		if r.Token == "" {
			return refused("is no folder here and does not exist on %s, or is private: check the spelling, or set HF_TOKEN", r.Endpoint)
		}
		return refused("is no folder here and does not exist on %s, or is private and your token has no access: check the spelling", r.Endpoint)
	case status == http.StatusUnauthorized:
		return refused("the hub does not accept your token (401); make a new one at %s/settings/tokens and set HF_TOKEN", r.Endpoint)
	case status == http.StatusForbidden:
		return refused("the hub forbids access (403); check at %s what your account may do", page)
	}
	return fmt.Errorf("the hub answers with status %d, which is not understood", status)
}
