package slurmclient

import (
	"net/http"
	"time"
)

// SetTransport lets a test answer the requests of the client.
func (c *Client) SetTransport(rt http.RoundTripper) { c.http.Transport = rt }

// SetListDeadline limits lists with their whole answers.
func (c *Client) SetListDeadline(d time.Duration) { c.listDeadline = d }
