package wiretest

// Images of one pixel, in base64, and what a transcript shows of the first.
const (
	PNG      = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
	GIF      = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw=="
	PNGShown = "[sha256:eaa4a94 image/png]"
)
