// The name that a request calls the server by. Where only this machine can connect, another name is a web page's: its own
// name, made to lead here.

package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
)

// listening is the context key of a listener's address.
type listening struct{}

// listensAt returns the address that a request came to, and whether only this machine can reach it.
func listensAt(r *http.Request) (at *net.TCPAddr, private bool) {
	at, ok := r.Context().Value(listening{}).(*net.TCPAddr)
	if !ok {
		at, ok = r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	}
	return at, ok && at.IP.IsLoopback()
}

// hostname is the request's Host without its port.
func hostname(r *http.Request) string {
	u := *r.URL
	u.Host = r.Host
	return u.Hostname()
}

// here reports whether a name can only mean this machine.
func here(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback()
}

// address is where clients find the server. One that other machines can reach does not know its own name, and is told by Host.
func address(r *http.Request) string {
	at, private := listensAt(r)
	switch {
	case !private && r.TLS == nil:
		return "http://" + r.Host
	case !private:
		return "https://" + r.Host
	case r.TLS == nil:
		return "http://" + at.String()
	}
	return "https://" + net.JoinHostPort(hostname(r), strconv.Itoa(at.Port)) // as the certificate names it
}
