package door_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/web/door"
)

const (
	viewerPassword   = "canary-viewer-password"
	operatorPassword = "canary-operator-password"
)

// knock sends a request to a door whose room names the visitor.
type knock struct {
	method, host, from, name, password string
	header                             http.Header
}

func (k knock) at(t *testing.T, d *door.Door) (status int, visitor door.Visitor, answer http.Header) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), k.method, "/", nil)
	r.Host, r.RemoteAddr = "ranura.example", k.from+":40000"
	if k.host != "" {
		r.Host = k.host
	}
	maps.Copy(r.Header, k.header)
	if k.name+k.password != "" {
		r.SetBasicAuth(k.name, k.password)
	}
	w := httptest.NewRecorder()
	d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { visitor = door.From(r.Context()) })).ServeHTTP(w, r)
	return w.Code, visitor, w.Header()
}

func locked(t *testing.T, settings door.Settings) *door.Door {
	t.Helper()
	d, err := door.New(settings)
	require.NoError(t, err)
	require.False(t, d.Open())
	return d
}

func both() door.Settings {
	return door.Settings{ViewerPassword: viewerPassword, OperatorPassword: operatorPassword}
}

func TestPasswords(t *testing.T) {
	t.Parallel()
	viewer, operator := door.Visitor{Name: "viewer", Role: door.Viewer}, door.Visitor{Name: "operator", Role: door.Operator}
	for name, c := range map[string]struct {
		knock  knock
		status int
		want   door.Visitor
	}{
		"NobodyMayNotRead":       {knock{method: "GET"}, 401, door.Visitor{}},
		"NobodyMayNotChange":     {knock{method: "POST"}, 401, door.Visitor{}},
		"ViewerReads":            {knock{method: "GET", name: "viewer", password: viewerPassword}, 200, viewer},
		"ViewerLooks":            {knock{method: "HEAD", name: "viewer", password: viewerPassword}, 200, viewer},
		"ViewerMayNotPost":       {knock{method: "POST", name: "viewer", password: viewerPassword}, 403, door.Visitor{}},
		"ViewerMayNotPut":        {knock{method: "PUT", name: "viewer", password: viewerPassword}, 403, door.Visitor{}},
		"ViewerMayNotDelete":     {knock{method: "DELETE", name: "viewer", password: viewerPassword}, 403, door.Visitor{}},
		"ViewerMayNotInvent":     {knock{method: "FROB", name: "viewer", password: viewerPassword}, 403, door.Visitor{}},
		"OperatorReads":          {knock{method: "GET", name: "operator", password: operatorPassword}, 200, operator},
		"OperatorChanges":        {knock{method: "POST", name: "operator", password: operatorPassword}, 200, operator},
		"PasswordOfTheOther":     {knock{method: "GET", name: "operator", password: viewerPassword}, 401, door.Visitor{}},
		"PasswordOnly":           {knock{method: "GET", password: operatorPassword}, 401, door.Visitor{}},
		"NameOnly":               {knock{method: "GET", name: "operator"}, 401, door.Visitor{}},
		"NameIsExact":            {knock{method: "GET", name: "Operator", password: operatorPassword}, 401, door.Visitor{}},
		"HeaderWithoutAProxy":    {knock{method: "GET", header: http.Header{"X-Forwarded-User": {"ana"}}}, 401, door.Visitor{}},
		"AnotherSitesChange":     {knock{method: "POST", name: "operator", password: operatorPassword, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}, 403, door.Visitor{}},
		"AnotherOriginsChange":   {knock{method: "POST", name: "operator", password: operatorPassword, header: http.Header{"Origin": {"https://evil.example"}}}, 403, door.Visitor{}},
		"ASubdomainsChange":      {knock{method: "DELETE", name: "operator", password: operatorPassword, header: http.Header{"Sec-Fetch-Site": {"same-site"}}}, 403, door.Visitor{}},
		"ChangeFromItsOwnPage":   {knock{method: "POST", name: "operator", password: operatorPassword, header: http.Header{"Sec-Fetch-Site": {"same-origin"}}}, 200, operator},
		"AnotherSiteMayLinkHere": {knock{method: "GET", name: "viewer", password: viewerPassword, header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}, 200, viewer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.knock.from = "192.0.2.7"
			status, visitor, answer := c.knock.at(t, locked(t, both()))
			require.Equal(t, c.status, status)
			require.Equal(t, c.want, visitor)
			require.Equal(t, status == 401, answer.Get("WWW-Authenticate") == `Basic realm="Ranura", charset="UTF-8"`)
		})
	}

	t.Run("OneIsEnough", func(t *testing.T) {
		t.Parallel()
		d := locked(t, door.Settings{ViewerPassword: viewerPassword})
		status, _, _ := knock{method: "GET", from: "192.0.2.7", name: "viewer", password: viewerPassword}.at(t, d)
		require.Equal(t, 200, status)
		status, _, _ = knock{method: "GET", from: "192.0.2.7", name: "operator"}.at(t, d)
		require.Equal(t, 401, status)
	})
}

// Ten wrong ones, and an address has to wait, also with the right one.
func TestGuesses(t *testing.T) {
	t.Parallel()
	d := locked(t, both())
	wrong := knock{method: "GET", from: "[2001:db8::1]", name: "operator", password: "guess"}
	right := knock{method: "GET", from: "[2001:db8::2]", name: "operator", password: operatorPassword} // of the same network
	for range 20 {                                                                                     // what is right costs nothing
		status, _, _ := right.at(t, d)
		require.Equal(t, 200, status)
	}
	for range 10 {
		status, _, _ := wrong.at(t, d)
		require.Equal(t, 401, status)
	}
	for _, k := range []knock{wrong, right} {
		status, _, answer := k.at(t, d)
		require.Equal(t, 429, status)
		require.Equal(t, "6", answer.Get("Retry-After"))
	}
	right.from = "[2001:db8:0:1::1]"
	status, _, _ := right.at(t, d)
	require.Equal(t, 200, status, "others are not kept waiting")
}

func TestProxy(t *testing.T) {
	t.Parallel()
	settings := door.Settings{
		ProxyHeader: "x-forwarded-user", ProxyAddresses: []string{"10.0.0.0/24", "fd00::7/128"}, ProxyOperators: []string{"caro@example.com", " ana@example.com"},
	}
	ana, beto := door.Visitor{Name: "ana@example.com", Role: door.Operator}, door.Visitor{Name: "beto@example.com", Role: door.Viewer}
	says := func(names ...string) http.Header { return http.Header{"X-Forwarded-User": names} }
	for name, c := range map[string]struct {
		knock  knock
		status int
		want   door.Visitor
	}{
		"NamesAnOperator":             {knock{method: "POST", from: "10.0.0.9", header: says("ana@example.com")}, 200, ana},
		"NamesAViewer":                {knock{method: "GET", from: "[fd00::7]", header: says("beto@example.com")}, 200, beto},
		"ViewersDoNotChange":          {knock{method: "POST", from: "10.0.0.9", header: says("beto@example.com")}, 403, door.Visitor{}},
		"FromElsewhereItCountsNot":    {knock{method: "GET", from: "10.0.1.9", header: says("ana@example.com")}, 401, door.Visitor{}},
		"MappedAddressesAreTheSame":   {knock{method: "GET", from: "[::ffff:10.0.0.9]", header: says("ana@example.com")}, 200, ana},
		"TwiceItCountsNot":            {knock{method: "GET", from: "10.0.0.9", header: says("beto@example.com", "ana@example.com")}, 401, door.Visitor{}},
		"EmptyItCountsNot":            {knock{method: "GET", from: "10.0.0.9", header: says("")}, 401, door.Visitor{}},
		"AbsentItCountsNot":           {knock{method: "GET", from: "10.0.0.9"}, 401, door.Visitor{}},
		"NamesAreExact":               {knock{method: "POST", from: "10.0.0.9", header: says("ana@example.com ")}, 403, door.Visitor{}},
		"AnotherSitesChangeIsRefused": {knock{method: "POST", from: "10.0.0.9", header: http.Header{"X-Forwarded-User": {"ana@example.com"}, "Sec-Fetch-Site": {"cross-site"}}}, 403, door.Visitor{}},
		"PasswordsAreNotAsked":        {knock{method: "GET", from: "10.0.0.9", name: "operator", password: ""}, 401, door.Visitor{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, visitor, _ := c.knock.at(t, locked(t, settings))
			require.Equal(t, c.status, status)
			require.Equal(t, c.want, visitor)
		})
	}
}

// Without a lock only this machine's names are answered, whoever resolves them.
func TestNoLock(t *testing.T) {
	t.Parallel()
	d, err := door.New(door.Settings{})
	require.NoError(t, err)
	require.True(t, d.Open())
	for host, want := range map[string]int{
		"127.0.0.1:8080": 200, "localhost:8080": 200, "localhost": 200, "[::1]:8080": 200, "127.8.9.1": 200,
		"evil.example:8080": 403, "localhost.evil.example": 403, "10.0.0.1": 403, "[::]": 403,
	} {
		status, visitor, _ := knock{method: "POST", host: host, from: "127.0.0.1"}.at(t, d)
		require.Equal(t, want, status, host)
		require.Equal(t, want == 200, visitor == door.Visitor{Name: "local", Role: door.Operator}, host)
	}
	status, _, _ := knock{method: "POST", host: "localhost", from: "127.0.0.1", header: http.Header{"Sec-Fetch-Site": {"cross-site"}}}.at(t, d)
	require.Equal(t, 403, status)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for want, settings := range map[string]door.Settings{
		"WEB_VIEWER_PASSWORD is shorter than 12 characters: take one from openssl rand -base64 18":                                                                                  {ViewerPassword: "canary"},
		"WEB_OPERATOR_PASSWORD begins or ends with white space: take it out":                                                                                                        {OperatorPassword: "canary-password\n"},
		"WEB_VIEWER_PASSWORD and WEB_OPERATOR_PASSWORD are the same: whoever reads could change":                                                                                    {ViewerPassword: "canary-password", OperatorPassword: "canary-password"},
		"WEB_PROXY_HEADER is not set, and so no proxy is trusted: set it as well, or leave WEB_PROXY_ADDRESSES and WEB_PROXY_OPERATORS out":                                         {ProxyAddresses: []string{"10.0.0.0/8"}},
		"WEB_PROXY_ADDRESSES is not set: anybody can send a header, so say where the proxy calls from, such as 10.0.0.7/32":                                                         {ProxyHeader: "X-User"},
		"WEB_PROXY_HEADER is no header that names somebody: write it as X-Forwarded-User":                                                                                           {ProxyHeader: "X User", ProxyAddresses: []string{"10.0.0.0/8"}},
		`WEB_PROXY_ADDRESSES has "10.0.0.1": write networks as 10.0.0.7/32 or fd00::/64, and not all there are`:                                                                     {ProxyHeader: "X-User", ProxyAddresses: []string{"10.0.0.1"}},
		`WEB_PROXY_ADDRESSES has "0.0.0.0/0": write networks as 10.0.0.7/32 or fd00::/64, and not all there are`:                                                                    {ProxyHeader: "X-User", ProxyAddresses: []string{"0.0.0.0/0"}},
		"WEB_VIEWER_PASSWORD is shorter than 12 characters: take one from openssl rand -base64 18\nWEB_PROXY_HEADER is no header that names somebody: write it as X-Forwarded-User": {ViewerPassword: "canary", ProxyHeader: "authorization", ProxyAddresses: []string{"10.0.0.0/8"}},
	} {
		_, err := door.New(settings)
		require.EqualError(t, err, want)
		require.NotContains(t, err.Error(), "canary")
	}
}
