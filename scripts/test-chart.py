#!/usr/bin/env python3
"""Renders the chart with Helm for several sets of values, and checks what comes out against the schemas of three versions of Kubernetes.

test-chart.py CHART: needs the packages of deploy/helm/requirements.txt; scripts/test-chart.sh installs them.
"""

import sys

import helm_python as helm
import kubernetes_validate
import yaml

VERSIONS = ["1.33", "1.35", "1.37"]

POSTGRES = {"database": {"existingSecret": "tenet-database"}}
EVERYTHING = {
    **POSTGRES,
    "replicas": 3,
    "image": {"digest": "sha256:" + "0" * 64},
    "tls": {"existingSecret": "tenet-tls", "clientCertificates": True},
    "grpc": {"enabled": True},
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "cert", "annotations": {"a": "b"}},
    "trustedProxies": ["10.1.0.0/16"],
    "networkPolicy": {"enabled": True, "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "audit": {"existingClaim": "tenet-audit"},
    "privacy": {"existingSecret": "tenet-privacy"},
    "settings": {"judge_model": "openai:gpt-5-mini", "rate_limit": 10, "alerts": True},
    "envFromSecrets": ["models"],
    "env": [{"name": "OTEL_SERVICE_NAME", "value": "tenet"}],
    "podLabels": {"team": "rules"},
    "podAnnotations": {"note": "x"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
    "priorityClassName": "high",
    "imagePullSecrets": [{"name": "registry"}],
}

# Name: values, the kinds that must come out.
GOOD = {
    "defaults": ({}, {"Deployment", "ConfigMap", "Service", "ServiceAccount", "PersistentVolumeClaim"}),
    "postgres": (POSTGRES, {"Deployment", "ConfigMap", "Service", "ServiceAccount"}),
    "everything": (
        EVERYTHING,
        {"Deployment", "ConfigMap", "Service", "ServiceAccount", "Ingress", "PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor"},
    ),
    "autoscaled": (
        {**POSTGRES, "autoscaling": {"enabled": True}, "serviceAccount": {"create": False}, "firstKey": {"existingSecret": ""}},
        {"Deployment", "ConfigMap", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"},
    ),
    "edges": (
        {"tls": {"existingSecret": "tenet-tls"}, "edge": {"enabled": True, "trust": {"existingSecret": "trust"}, "key": {"existingSecret": "edge"}, "hostPath": "/var/lib/tenet-edge", "args": ["--every=5s"]}},
        {"Deployment", "DaemonSet", "ConfigMap", "Service", "ServiceAccount", "PersistentVolumeClaim"},
    ),
    "edges without a folder": (
        {**POSTGRES, "edge": {"enabled": True, "trust": {"existingSecret": "trust"}, "bundle": "oci://registry/rules:production"}},
        {"Deployment", "DaemonSet", "ConfigMap", "Service", "ServiceAccount"},
    ),
    "own claim": ({"persistence": {"existingClaim": "mine"}}, {"Deployment", "ConfigMap", "Service", "ServiceAccount"}),
}

# Name: values that are refused, and a word of the reason.
BAD = {
    "a key of edges without encryption": ({"edge": {"enabled": True, "trust": {"existingSecret": "t"}, "key": {"existingSecret": "k"}}}, "https only"),
    "edges without keys": ({"edge": {"enabled": True}}, "edge.trust.existingSecret"),
    "several nodes on SQLite": ({"replicas": 2}, "database.existingSecret"),
    "autoscaled on SQLite": ({"autoscaling": {"enabled": True}}, "database.existingSecret"),
    "an unknown value": ({"replica": 2}, "replica"),
    "a bad port": ({"service": {"port": 99999}}, "port"),
    "a secret among the settings": ({"settings": {"database_url": "postgres://a:b@c"}}, "database_url"),
    "a network that is none": ({"trustedProxies": ["anywhere"]}, "trustedProxies"),
}


def render(chart: helm.Chart, values: dict) -> list:
    documents = []
    for name, text in chart.render(values, name="rel", namespace="rules").items():
        if name.endswith(".yaml"):
            documents += [d for d in yaml.safe_load_all(text) if d]
    return documents


def main() -> int:
    problems, checked = [], 0
    with helm.Chart.load(sys.argv[1]) as chart:
        for name, (values, kinds) in GOOD.items():
            documents = render(chart, values)
            if {d["kind"] for d in documents} != kinds:
                problems.append("%s: %s, want %s" % (name, sorted(d["kind"] for d in documents), sorted(kinds)))
            for d in documents:
                if d["kind"] == "ServiceMonitor":  # of the Prometheus operator, not of Kubernetes
                    endpoint = d["spec"]["endpoints"][0]
                    if endpoint["authorization"]["credentials"] != {"name": "tenet-metrics-key", "key": "key"} or endpoint["scheme"] != "https":
                        problems.append("%s: the endpoint of the monitor is %s" % (name, endpoint))
                    continue
                for version in VERSIONS:
                    try:
                        kubernetes_validate.validate(d, version, strict=True)
                        checked += 1
                    except kubernetes_validate.ValidationError as e:
                        problems.append("%s: %s for Kubernetes %s: %s" % (name, d["kind"], version, e.message[:300]))
                if d["kind"] == "Deployment":
                    problems += ["%s: %s" % (name, p) for p in pod_problems(d["spec"]["template"]["spec"])]
                if d["kind"] == "ConfigMap":
                    settings = yaml.safe_load(d["data"]["tenet.yaml"])
                    if settings["listen"] != "0.0.0.0:8080" or (name == "everything") != ("tls_client_ca" in settings):
                        problems.append("%s: settings %s" % (name, settings))
        for name, (values, word) in BAD.items():
            try:
                render(chart, values)
                problems.append("%s is accepted" % name)
            except helm.HelmError as e:
                if word not in str(e):
                    problems.append("%s: the reason does not say %r: %s" % (name, word, str(e)[:300]))
    for p in problems:
        print("test-chart:", p, file=sys.stderr)
    print("test-chart: %d objects checked against Kubernetes %s, %d sets of values refused" % (checked, ", ".join(VERSIONS), len(BAD)))
    return 1 if problems or not checked else 0


def pod_problems(pod: dict) -> list:
    """Return what a pod may do that it must not."""
    container, found = pod["containers"][0], []
    security = container["securityContext"]
    if not security["readOnlyRootFilesystem"] or security["allowPrivilegeEscalation"] or security["capabilities"] != {"drop": ["ALL"]}:
        found.append("the container is not confined: %s" % security)
    if not pod["securityContext"]["runAsNonRoot"] or pod["automountServiceAccountToken"]:
        found.append("the pod runs as root or has a token")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        if probe not in container:
            found.append("no " + probe)
    volumes = {v["name"] for v in pod["volumes"]}
    if volumes != {m["name"] for m in container["volumeMounts"]}:
        found.append("volumes %s are not those that are mounted" % volumes)
    return found


if __name__ == "__main__":
    sys.exit(main())
