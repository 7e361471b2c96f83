package accounts

import (
	"net"
	"testing"
)

func TestLoopbackOf(t *testing.T) {
	for name, tc := range map[string]struct {
		addresses []string
		host      string
		isIPv6    bool
	}{
		"IPv4":               {[]string{"127.0.0.1/8", "::1/128", "10.0.0.7/24", "fe80::1/64"}, "127.0.0.1", false},
		"IPv6":               {[]string{"127.0.0.1/8", "::1/128", "fd00::7/64", "fe80::1/64"}, "::1", true},
		"both":               {[]string{"127.0.0.1/8", "fd00::7/64", "10.0.0.7/24"}, "127.0.0.1", false},
		"only the loopbacks": {[]string{"127.0.0.1/8", "::1/128"}, "127.0.0.1", false},
	} {
		var addresses []net.Addr
		for _, text := range tc.addresses {
			ip, of, err := net.ParseCIDR(text)
			if err != nil {
				t.Fatal(err)
			}
			addresses = append(addresses, &net.IPNet{IP: ip, Mask: of.Mask})
		}
		if host, isIPv6 := loopbackOf(addresses); host != tc.host || isIPv6 != tc.isIPv6 {
			t.Errorf("%s: %s, %t", name, host, isIPv6)
		}
	}
}
