package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slurmtide/slurmtide/metricsapi/view"
	"github.com/slurmtide/slurmtide/operator/certs"
)

const (
	// peersTimeout is how long a watch that began at another replica waits for the objects that the replica has shown.
	peersTimeout = 5 * time.Second
	// maxPeerResponse is the maximum size of a response of a replica, in bytes. A record takes about 40 bytes.
	maxPeerResponse = 256 << 20
)

// peers are the replicas of the adapter.
type peers struct {
	// addresses are the HOST:PORT of the flags.
	addresses []string
	// kube has the adapter's own credentials. Other replicas authenticate and authorize it like any client.
	kube *rest.Config
	// serverName is the name in the certificate of every replica, and ca returns the CAs that may sign it, in PEM.
	serverName string
	ca         func() ([]byte, error)
}

// newPeers returns the client of the other replicas, or nil if the flags name none. keeper is nil if the flags name certificate files.
func (o *options) newPeers(kube *rest.Config, keeper *certs.Rotator) view.Peers {
	if len(o.view.peers) == 0 {
		return nil
	}
	p := &peers{addresses: o.view.peers, kube: kube,
		serverName: fmt.Sprintf("%s.%s.svc", o.certService, cmp.Or(o.certNamespace, ownNamespace())),
		ca:         func() ([]byte, error) { return os.ReadFile(o.library.SecureServing.ServerCert.CertKey.CertFile) }}
	if keeper != nil {
		p.ca = func() ([]byte, error) { return keeper.CACert(), nil }
	}
	return p.ask
}

// ask asks all replicas at once and returns the first good response.
func (p *peers) ask(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, peersTimeout)
	defer cancel()
	hosts, err := p.hosts(ctx)
	if err != nil {
		return nil, err
	}
	type response struct {
		body []byte
		err  error
	}
	responses := make(chan response, len(hosts))
	for _, host := range hosts {
		go func() {
			body, err := p.get(ctx, host, path)
			responses <- response{body, err}
		}()
	}
	failed := []error{errors.New("there is no replica to ask")}
	for range hosts {
		r := <-responses
		if r.err == nil {
			return r.body, nil
		}
		failed = append(failed, r.err)
	}
	return nil, errors.Join(failed...)
}

// hosts returns the address and port of each replica.
func (p *peers) hosts(ctx context.Context) ([]string, error) {
	var out []string
	var failed []error
	for _, address := range p.addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		found, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			failed = append(failed, err)
		}
		for _, ip := range found {
			out = append(out, net.JoinHostPort(ip, port))
		}
	}
	if len(out) == 0 {
		return nil, errors.Join(failed...)
	}
	return out, nil
}

// get requests a path of one replica. The connection is verified before credentials are sent.
func (p *peers) get(ctx context.Context, host, path string) ([]byte, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the replica %s responds %s", host, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPeerResponse+1))
	if err == nil && len(body) > maxPeerResponse {
		err = fmt.Errorf("the response of the replica %s is larger than %d bytes", host, maxPeerResponse)
	}
	return body, err
}

// client returns a client with the adapter's credentials that trusts only replicas.
func (p *peers) client() (*http.Client, error) {
	ca, err := p.ca()
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the replicas: %w", err)
	}
	if len(ca) == 0 {
		return nil, errors.New("the CA of the replicas is not known yet")
	}
	config := rest.CopyConfig(p.kube)
	config.Insecure, config.CAFile, config.CAData, config.ServerName = false, "", ca, p.serverName
	encryption, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for the replicas: %w", err)
	}
	// Replicas are asked rarely: no connection stays open, and no proxy is between them.
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{TLSClientConfig: encryption, DisableKeepAlives: true})
	if err != nil {
		return nil, fmt.Errorf("creating a client for the replicas: %w", err)
	}
	return &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}
