// Package chart tests the Helm chart: Helm renders it for several sets of values, and kubeconform checks the objects against the schemas of
// three versions of Kubernetes. TENET_KUBERNETES_SCHEMAS names their folder; `make test-chart` gets them.
package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/yannh/kubeconform/pkg/validator"
	"helm.sh/helm/v4/pkg/chart/common"
	values "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	dependencies "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const folder = "../../deploy/helm/tenet"

// versions are those of Kubernetes that the chart is for.
var versions = []string{"1.33.0", "1.35.0", "1.37.0"}

type object = map[string]any

// render returns the objects that `helm template` prints, in the order of their files.
func render(t *testing.T, text string) ([]object, error) {
	t.Helper()
	c, err := loader.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	given := object{}
	if err := yaml.Unmarshal([]byte(text), &given); err != nil {
		t.Fatal(err)
	}
	if err := dependencies.ProcessDependencies(c, given); err != nil {
		t.Fatal(err)
	}
	all, err := values.ToRenderValues(c, given, common.ReleaseOptions{Name: "rel", Namespace: "rules", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	var objects []object
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		for document := range strings.SplitSeq("\n"+files[name], "\n---") {
			o := object{}
			if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			if len(o) > 0 {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

// checkers returns a validator for each version, with schemas whose references are to files beside them.
func checkers(t *testing.T) map[string]validator.Validator {
	t.Helper()
	from := os.Getenv("TENET_KUBERNETES_SCHEMAS")
	if from == "" {
		t.Skip("TENET_KUBERNETES_SCHEMAS is not set; run: make test-chart")
	}
	list := map[string]validator.Validator{}
	for _, version := range versions {
		to := t.TempDir()
		for _, kind := range []string{
			"_definitions", "deployment-apps-v1", "daemonset-apps-v1", "configmap-v1", "service-v1", "serviceaccount-v1", "persistentvolumeclaim-v1",
			"ingress-networking-v1", "networkpolicy-networking-v1", "poddisruptionbudget-policy-v1", "horizontalpodautoscaler-autoscaling-v2",
		} {
			text, err := os.ReadFile(filepath.Join(from, "v"+version+"-local-strict", kind+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var schema object
			if err := json.Unmarshal(text, &schema); err != nil {
				t.Fatal(err)
			}
			delete(schema, "$id") // an address of the package that they come from
			if text, err = json.Marshal(schema); err != nil {
				t.Fatal(err)
			}
			text = bytes.ReplaceAll(text, []byte(`"/api/_definitions.json#`), []byte(`"_definitions.json#`))
			if err := os.WriteFile(filepath.Join(to, kind+".json"), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		v, err := validator.New([]string{to + "/{{ .ResourceKind }}{{ .KindSuffix }}.json"}, validator.Opts{KubernetesVersion: version, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		list[version] = v
	}
	return list
}

// invalid returns what is wrong with an object, or nothing.
func invalid(t *testing.T, v validator.Validator, o object) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	results := v.Validate("object", io.NopCloser(bytes.NewReader(text)))
	if len(results) != 1 {
		t.Fatalf("%d results for one object", len(results))
	}
	if results[0].Status == validator.Valid {
		return ""
	}
	return fmt.Sprintf("status %d: %.600v", results[0].Status, results[0].Err)
}

const postgres = "database: {existingSecret: tenet-database}\n"

const everything = postgres + `
replicas: 3
image: {digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}
tls: {existingSecret: tenet-tls, clientCertificates: true}
grpc: {enabled: true}
ingress: {enabled: true, className: nginx, tlsSecret: cert, annotations: {a: b}}
trustedProxies: [10.1.0.0/16]
networkPolicy: {enabled: true, egress: [{to: [{ipBlock: {cidr: 10.0.0.0/8}}]}]}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
audit: {existingClaim: tenet-audit}
privacy: {existingSecret: tenet-privacy}
settings: {judge_model: "openai:gpt-5-mini", rate_limit: 10, alerts: true}
envFromSecrets: [models]
env: [{name: OTEL_SERVICE_NAME, value: tenet}]
podLabels: {team: rules}
podAnnotations: {note: x}
nodeSelector: {disk: ssd}
tolerations: [{key: a, operator: Exists}]
affinity: {podAntiAffinity: {}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
priorityClassName: high
imagePullSecrets: [{name: registry}]
`

func TestObjectsAreThoseOfKubernetes(t *testing.T) {
	validators := checkers(t)
	for _, test := range []struct{ name, values, kinds string }{
		{"defaults", "{}", "ConfigMap Deployment PersistentVolumeClaim Service ServiceAccount"},
		{"postgres", postgres, "ConfigMap Deployment Service ServiceAccount"},
		{"everything", everything, "ConfigMap Deployment Ingress NetworkPolicy PodDisruptionBudget Service ServiceAccount ServiceMonitor"},
		{
			"autoscaled", postgres + "autoscaling: {enabled: true}\nserviceAccount: {create: false}\nfirstKey: {existingSecret: \"\"}",
			"ConfigMap Deployment HorizontalPodAutoscaler PodDisruptionBudget Service",
		},
		{
			"edges", `
tls: {existingSecret: tenet-tls}
edge: {enabled: true, trust: {existingSecret: trust}, key: {existingSecret: edge}, hostPath: /var/lib/tenet-edge, args: ["--every=5s"]}
`, "ConfigMap DaemonSet Deployment PersistentVolumeClaim Service ServiceAccount",
		},
		{
			"edges without a folder", postgres + `edge: {enabled: true, trust: {existingSecret: trust}, bundle: "oci://registry/rules:production"}`,
			"ConfigMap DaemonSet Deployment Service ServiceAccount",
		},
		{"own claim", "persistence: {existingClaim: mine}", "ConfigMap Deployment Service ServiceAccount"},
	} {
		t.Run(test.name, func(t *testing.T) {
			objects, err := render(t, test.values)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, o := range objects {
				kind, _ := o["kind"].(string)
				seen[kind] = true
				switch kind {
				case "ServiceMonitor": // of the Prometheus operator, not of Kubernetes
					monitor(t, o)
					continue
				case "Deployment":
					pod(t, o)
				case "ConfigMap":
					settings(t, o, test.name == "everything")
				}
				for _, version := range versions {
					if said := invalid(t, validators[version], o); said != "" {
						t.Errorf("%s for Kubernetes %s: %s", kind, version, said)
					}
				}
			}
			var kinds []string
			for kind := range seen {
				kinds = append(kinds, kind)
			}
			slices.Sort(kinds)
			if got := strings.Join(kinds, " "); got != test.kinds {
				t.Errorf("the kinds are %s, want %s", got, test.kinds)
			}
		})
	}
	// The validators find faults: a field that there is not, one of another type, and one that is missing.
	objects, err := render(t, "{}")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o["kind"] != "Deployment" {
			continue
		}
		spec, _ := o["spec"].(object)
		for field, value := range map[string]any{"replica": 1, "replicas": "two", "selector": nil} {
			old, had := spec[field]
			spec[field] = value
			if value == nil {
				delete(spec, field)
			}
			for _, version := range versions {
				if invalid(t, validators[version], o) == "" {
					t.Errorf("Kubernetes %s takes %s: %v", version, field, value)
				}
			}
			if spec[field] = old; !had {
				delete(spec, field)
			}
		}
	}
}

func TestValuesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct{ values, reason string }{
		"a key of edges without encryption": {"edge: {enabled: true, trust: {existingSecret: t}, key: {existingSecret: k}}", "https only"},
		"edges without keys":                {"edge: {enabled: true}", "edge.trust.existingSecret"},
		"several nodes on SQLite":           {"replicas: 2", "database.existingSecret"},
		"autoscaled on SQLite":              {"autoscaling: {enabled: true}", "database.existingSecret"},
		"an unknown value":                  {"replica: 2", "replica"},
		"a bad port":                        {"service: {port: 99999}", "port"},
		"a secret among the settings":       {"settings: {database_url: 'postgres://a:b@c'}", "database_url"},
		"a network that is none":            {"trustedProxies: [anywhere]", "trustedProxies"},
	} {
		if _, err := render(t, test.values); err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %v, want a reason with %q", name, err, test.reason)
		}
	}
}

// at returns what is at a path of fields and places.
func at[T any](t *testing.T, o any, path ...any) T {
	t.Helper()
	for i, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := o.(object)
			o = m[p]
		case int:
			list, _ := o.([]any)
			if len(list) <= p {
				t.Fatalf("%v has %d items", path[:i], len(list))
			}
			o = list[p]
		}
	}
	v, ok := o.(T)
	if !ok {
		t.Fatalf("%v is a %T: %v", path, o, o)
	}
	return v
}

func monitor(t *testing.T, o object) {
	t.Helper()
	endpoint := at[object](t, o, "spec", "endpoints", 0)
	if at[string](t, endpoint, "scheme") != "https" || at[string](t, endpoint, "authorization", "credentials", "name") != "tenet-metrics-key" ||
		at[string](t, endpoint, "authorization", "credentials", "key") != "key" {
		t.Errorf("the endpoint of the monitor is %v", endpoint)
	}
}

func settings(t *testing.T, o object, clients bool) {
	t.Helper()
	set := object{}
	if err := yaml.Unmarshal([]byte(at[string](t, o, "data", "tenet.yaml")), &set); err != nil {
		t.Fatal(err)
	}
	if _, has := set["tls_client_ca"]; set["listen"] != "0.0.0.0:8080" || has != clients {
		t.Errorf("the settings are %v", set)
	}
}

// pod checks that the pod of a deployment may do no more than it needs.
func pod(t *testing.T, o object) {
	t.Helper()
	spec := at[object](t, o, "spec", "template", "spec")
	security := at[object](t, spec, "containers", 0, "securityContext")
	if drop := at[[]any](t, security, "capabilities", "drop"); !at[bool](t, security, "readOnlyRootFilesystem") || at[bool](t, security, "allowPrivilegeEscalation") ||
		len(drop) != 1 || drop[0] != "ALL" {
		t.Errorf("the container is not confined: %v", security)
	}
	if !at[bool](t, spec, "securityContext", "runAsNonRoot") || at[bool](t, spec, "automountServiceAccountToken") {
		t.Error("the pod runs as root or has a token")
	}
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		at[object](t, spec, "containers", 0, probe)
	}
	named := func(list []any) (names []string) {
		for i := range list {
			if name := at[string](t, list, i, "name"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	if volumes, mounted := named(at[[]any](t, spec, "volumes")), named(at[[]any](t, spec, "containers", 0, "volumeMounts")); !slices.Equal(volumes, mounted) {
		t.Errorf("volumes %v are not those that are mounted: %v", volumes, mounted)
	}
}
