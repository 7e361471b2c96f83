package loop

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// QueryLoad requests a metric continuously, as many HPAs do.
type QueryLoad struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	asked  int
	failed []error
}

// StartQueryLoad requests the metric through the API server with the given number of clients until
// Stop.
func (l *Loop) StartQueryLoad(ctx context.Context, clients int) *QueryLoad {
	ctx, cancel := context.WithCancel(ctx)
	load := &QueryLoad{cancel: cancel}
	path := fmt.Sprintf("/apis/custom.metrics.k8s.io/v1beta2/namespaces/%s/nodesets.slinky.slurm.net/%s/slurm_nodeset_required_nodes",
		l.config.Namespace, l.config.NodeSet)
	for range clients {
		load.wg.Go(func() {
			client, err := l.newRESTClient()
			if err != nil {
				load.record(err)
				return
			}
			for ctx.Err() == nil {
				err := client.Get().AbsPath(path).Do(ctx).Error()
				if ctx.Err() == nil {
					load.record(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	return load
}

func (l *QueryLoad) record(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if err != nil {
		l.failed = append(l.failed, err)
	}
}

// Stop ends the load and returns the number of requests and the errors.
func (l *QueryLoad) Stop() (asked int, failed []error) {
	l.cancel()
	l.wg.Wait()
	return l.asked, l.failed
}

func (c *ControlPlane) newRESTClient() (*rest.RESTClient, error) {
	config, err := c.Kube.RESTConfig()
	if err != nil {
		return nil, err
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.UnversionedRESTClientFor(config)
}
