package delivery_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/delivery"
)

func TestReadEndpoints(t *testing.T) {
	t.Parallel()

	t.Run("AcceptsWhatCanBeCalled", func(t *testing.T) {
		t.Parallel()
		endpoints, err := delivery.ReadEndpoints([]string{
			"PATH=/bin", "ENDPOINT_APP_URL=https://api.example.com:8443/v1/", "ENDPOINT_APP_SECRET=" + current,
			"ENDPOINT_MAIL_2_URL=http://127.0.0.1:8000", "ENDPOINT_MAIL_2_SECRET=" + current, "ENDPOINT_MAIL_2_SECRET_OLD=", "ENDPOINT_MAIL_2_TIMEOUT=30s",
			"ENDPOINT_SIDECAR_URL=http://[::1]:1/a", "ENDPOINT_SIDECAR_SECRET=" + current + "\n", "ENDPOINT_SIDECAR_SECRET_OLD=" + previous,
			"ENDPOINT_VPC_URL=https://10.0.0.5", "ENDPOINT_VPC_SECRET=" + current, "ENDPOINT_VPC_ALLOW_PRIVATE=true",
			"ENDPOINT_X_URL=", "ENDPOINT_Y_TYPO=",
		})
		require.NoError(t, err)
		for _, name := range []string{"app", "mail_2", "sidecar", "vpc"} {
			require.NoError(t, endpoints.Check(delivery.Request{Endpoint: name, Path: "/"}))
		}
		require.EqualError(t, endpoints.Check(delivery.Request{Endpoint: "x"}), `unknown endpoint "x": configured here: app, mail_2, sidecar, vpc`)
	})

	t.Run("ReportsAllMistakesAtOnceAndNoValue", func(t *testing.T) {
		t.Parallel()
		_, err := delivery.ReadEndpoints([]string{
			"ENDPOINT_A_URL=ftp://user:canary@a.example/?canary", "ENDPOINT_A_SECRET=canary", "ENDPOINT_A_TIMEOUT=canary",
			"ENDPOINT_B_URL=https://b.example", "ENDPOINT_C_SECRET=" + current, "ENDPOINT_D_ALLOW_PRIVATE=canary",
			"ENDPOINT_E_SECRETT=canary",
		})
		const secret = ` is no secret: it is whsec_ and the base64 of 24 to 64 random bytes, as from: echo "whsec_$(openssl rand -base64 32)"`
		require.Equal(t, []string{
			"ENDPOINT_A_SECRET" + secret,
			"ENDPOINT_A_TIMEOUT is no duration from 1s to 30s: write it as 10s",
			"ENDPOINT_A_URL has a user, a query or a fragment: the signature says who calls, so leave them out",
			"ENDPOINT_D_ALLOW_PRIVATE is neither true nor false",
			"ENDPOINT_E_SECRETT is no setting of an endpoint: write ENDPOINT_<NAME>_URL, _SECRET, _SECRET_OLD, _TIMEOUT or _ALLOW_PRIVATE, with a name of at most 50 of A-Z, 0-9 and _",
			"ENDPOINT_B_SECRET is not set: an endpoint has a URL and a secret",
			"ENDPOINT_C_URL is not set: an endpoint has a URL and a secret",
			"ENDPOINT_D_URL is not set: an endpoint has a URL and a secret",
			"ENDPOINT_D_SECRET is not set: an endpoint has a URL and a secret",
		}, strings.Split(err.Error(), "\n"))
		requireNoSecret(t, err.Error())
	})

	for setting, wrong := range map[string][]string{
		"URL": {"api.example.com", "//api.example.com", "https://", "https:api", "http://api.example.com", "http://10.0.0.1", "ws://a.example",
			"https://a.example?", "https://a.example/#f", "https://u@a.example", "https://a.example/../b", "https://a.example//b", "https://a.example/%2e",
			"https://10.0.0.1", "https://[fd00::1]", "https://169.254.169.254", "https://[::ffff:169.254.169.254]", "https://a.example:canary", "http://localhost.evil.example", "https://0.0.0.0"},
		"SECRET":        {"whsec_", "canary", strings.TrimPrefix(current, "whsec_"), "whsec_dG9vIHNob3J0", "whsec_!", "whsec_" + strings.Repeat("YWFh", 22), current + " "},
		"TIMEOUT":       {"0s", "-1s", "999ms", "31s", "10", "1d"},
		"ALLOW_PRIVATE": {"yes", "2"},
		"SECRET_OLD":    {"whsec_"},
	} {
		for _, value := range wrong {
			t.Run(setting+" "+value, func(t *testing.T) {
				t.Parallel()
				environ := map[string]string{"URL": "https://a.example", "SECRET": current}
				environ[setting] = value
				var lines []string
				for name, value := range environ {
					lines = append(lines, "ENDPOINT_A_"+name+"="+value)
				}
				_, err := delivery.ReadEndpoints(lines)
				require.Error(t, err)
				require.True(t, strings.HasPrefix(err.Error(), "ENDPOINT_A_"+setting), err.Error())
				require.NotContains(t, err.Error(), "\n", "one mistake, one line")
				requireNoSecret(t, err.Error())
			})
		}
	}
}
