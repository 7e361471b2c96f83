package slurmclient

import "net/http"

// SetTransport lets a test answer the requests of the client.
func (c *Client) SetTransport(rt http.RoundTripper) { c.http.Transport = rt }
