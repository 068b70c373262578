{{- define "tenet.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "tenet.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "tenet.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "tenet.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "tenet.selector" -}}
app.kubernetes.io/name: {{ include "tenet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tenet.edge.selector" -}}
app.kubernetes.io/name: {{ include "tenet.name" . | trunc 58 | trimSuffix "-" }}-edge
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tenet.edge.labels" -}}
{{ include "tenet.edge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "tenet.labels" -}}
{{ include "tenet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "tenet.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tenet.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "tenet.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "tenet.several" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) -}}true{{- end -}}
{{- end -}}

{{- define "tenet.settings" -}}
{{- $own := dict "listen" "0.0.0.0:8080" "log_format" "json" -}}
{{- if .Values.tls.existingSecret -}}
{{- $_ := set $own "tls_cert" "/etc/tenet/tls/tls.crt" -}}
{{- $_ := set $own "tls_key" "/etc/tenet/tls/tls.key" -}}
{{- if .Values.tls.clientCertificates -}}{{- $_ := set $own "tls_client_ca" "/etc/tenet/tls/ca.crt" -}}{{- end -}}
{{- end -}}
{{- if .Values.grpc.enabled -}}{{- $_ := set $own "grpc_listen" (printf "0.0.0.0:%d" (int .Values.grpc.port)) -}}{{- end -}}
{{- if .Values.trustedProxies -}}{{- $_ := set $own "trusted_proxies" (join "," .Values.trustedProxies) -}}{{- end -}}
{{- if and .Values.ingress.enabled .Values.ingress.host -}}{{- $_ := set $own "public_url" (printf "https://%s" .Values.ingress.host) -}}{{- end -}}
{{- if and .Values.database.existingSecret .Values.audit.existingClaim -}}{{- $_ := set $own "audit_folder" "/audit" -}}{{- end -}}
{{- range $key, $value := .Values.settings -}}
{{- if has $key (list "listen" "data" "database_url" "tls_cert" "tls_key" "tls_client_ca" "grpc_listen" "first_key") -}}
{{- fail (printf "settings.%s: this setting has a value of its own in the chart; see values.yaml" $key) -}}
{{- end -}}
{{- $_ := set $own $key $value -}}
{{- end -}}
{{- toYaml $own -}}
{{- end -}}
