// The real Kubernetes provider, served without the files that its own main generates at release time.
package main

import "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"

// version is set by the build to the version of the Python SDK, which the engine asks the plugin for.
var version = "0.0.0"

func main() {
	provider.Serve("kubernetes", version, []byte(`{"name":"kubernetes"}`), []byte("{}"))
}
