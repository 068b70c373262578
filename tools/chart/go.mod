// What `make test-chart` renders the Helm chart with and checks the objects by, apart from all other modules, whose dependencies it would move.
module tenet/tools/chart

go 1.26.0

require (
	github.com/yannh/kubeconform v0.8.0 // indirect
	helm.sh/helm/v4 v4.3.1 // indirect
)
