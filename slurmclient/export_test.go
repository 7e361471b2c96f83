package slurmclient

import "net/http"

// SetTransport lets a test answer the client's requests.
func (c *Client) SetTransport(rt http.RoundTripper) { c.http.Transport = rt }
