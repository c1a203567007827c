package web

import "net/http"

// Where a page may take things from (Content Security Policy, level 3): from
// here, and for scripts that means from a file of ours. River's page sets styles
// by script, and has small images in its style sheet.
const (
	strictPolicy = "default-src 'none'; connect-src 'self'; img-src 'self'; script-src 'self'; style-src 'self'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	riverPolicy = "default-src 'none'; connect-src 'self'; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// secure sets what a browser is told about everything that is served, also
// about a refusal.
func secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", strictPolicy)
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// policy replaces the strict one.
func policy(text string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", text)
		next.ServeHTTP(w, r)
	})
}
