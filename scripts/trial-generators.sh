#!/usr/bin/env bash
# Generates a client from the API description with each of four generators, compiles it and makes calls with it:
#
#   make test-generators GENERATORS="typescript python go java"
#
# Run by hand after changes to the description's form; docs/sdk/generators.md has the results. Needs npm, python3, go, and for Java
# a JDK and mvn. What it downloads and generates goes into a cache (TENET_TRIAL_CACHE).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/certificates.sh

readonly typescript=7.13.0 fetch=0.17.0 tsc=5.9.3 python=0.29.1 go=v2.8.2 java=7.25.0
readonly jar_sha1=56a9bb79e3bb565f477eddca2c6daa288a9c6f35
description="$PWD/internal/api/testdata/openapi.json"
cache="${TENET_TRIAL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tenet/generators}"
mkdir -p "$cache"
chosen=("$@")
[ $# -gt 0 ] || chosen=(typescript python go java)

work="$(mktemp -d)"
server=
finish() {
	[ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server"; } || true # it still writes into $work until it ends
	rm -rf "$work"
}
trap finish EXIT
: >"$work/log" # it is read before the program has begun
bin/tenet serve --listen 127.0.0.1:0 --data "$work/data" --log-format json >"$work/out" 2>"$work/log" &
server=$!
url=
for _ in $(seq 100); do
	url="$(sed -n 's/.*"msg":"serving".*"url":"\([^"]*\)".*/\1/p' "$work/log")"
	[ -z "$url" ] || break
	sleep 0.1
done
[ -n "$url" ] || {
	cat "$work/log" >&2
	echo "trial: bin/tenet does not serve" >&2
	exit 1
}
export TENET_URL="${url%/}"

# Each trial evaluates the example of /docs, which breaks a starter rule, reads the record of it, and asks for one that is not there.
readonly expected="DENY default 404"
try_typescript() {
	mkdir -p "$cache/typescript" && cd "$cache/typescript"
	[ -f package.json ] || echo '{"type":"module","private":true}' >package.json
	npm install --silent --no-audit --no-fund "openapi-typescript@$typescript" "openapi-fetch@$fetch" "typescript@$tsc" "@types/node@20" >/dev/null
	npx --no-install openapi-typescript "$description" -o tenet.d.ts >/dev/null 2>&1
	cat >call.ts <<'TS'
import createClient from "openapi-fetch";
import type { components, paths } from "./tenet.js";

const client = createClient<paths>({ baseUrl: process.env.TENET_URL ?? "" });
const content = 'import os\n\nAWS_KEY = "AKIAIOSFODNN7EXAMPLE"\n';
const { data, error } = await client.POST("/api/v1/evaluate", { body: { files: [{ path: "settings.py", content }] } });
if (error) throw new Error(error.detail);
const verdict: components["schemas"]["Evaluation"]["overall_verdict"] = data.overall_verdict;
const record = await client.GET("/api/v1/evaluations/{id}", { params: { path: { id: data.evaluation_id } } });
const missing = await client.GET("/api/v1/rules/{id}", { params: { path: { id: "NO-1" } } });
console.log(verdict, record.data?.evaluation?.project_id, missing.error?.status);
TS
	npx --no-install tsc --strict --target es2022 --module nodenext --moduleResolution nodenext call.ts
	node call.js
}

try_python() {
	[ -x "$cache/python/bin/python" ] || python3 -m venv "$cache/python"
	"$cache/python/bin/pip" install --quiet "openapi-python-client==$python" ruff
	rm -rf "$work/python"
	PATH="$cache/python/bin:$PATH" "$cache/python/bin/openapi-python-client" generate --path "$description" --output-path "$work/python" >"$work/python.log" 2>&1
	cat >"$work/python/call.py" <<'PY'
import os

from tenet_client import Client
from tenet_client.api.evaluation import evaluate, get_evaluation
from tenet_client.api.rules import get_rule
from tenet_client.models import EvaluateRequest, InputFile

client = Client(base_url=os.environ["TENET_URL"])
content = 'import os\n\nAWS_KEY = "AKIAIOSFODNN7EXAMPLE"\n'
answer = evaluate.sync(client=client, body=EvaluateRequest(files=[InputFile(path="settings.py", content=content)]))
record = get_evaluation.sync(client=client, id=answer.evaluation_id)
missing = get_rule.sync(client=client, id="NO-1")
print(answer.overall_verdict, record.evaluation.project_id, missing.status)
PY
	cd "$work/python" && "$cache/python/bin/python" call.py
}

try_go() {
	mkdir -p "$work/go/tenetapi" && cd "$work/go"
	printf 'module trial\n\ngo 1.26.0\n' >go.mod
	export GOWORK=off GOFLAGS=-mod=mod CGO_ENABLED=0
	GOBIN="$cache/go" go install "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$go" 2>/dev/null
	"$cache/go/oapi-codegen" -generate types,client -package tenetapi -o tenetapi/gen.go "$description"
	cat >main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"os"

	"trial/tenetapi"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	c := must(tenetapi.NewClientWithResponses(os.Getenv("TENET_URL")))
	content := "import os\n\nAWS_KEY = \"AKIAIOSFODNN7EXAMPLE\"\n"
	files := []tenetapi.InputFile{{Path: "settings.py", Content: &content}}
	a := must(c.EvaluateWithResponse(ctx, nil, tenetapi.EvaluateRequest{Files: &files}))
	record := must(c.GetEvaluationWithResponse(ctx, a.JSON200.EvaluationId, nil))
	missing := must(c.GetRuleWithResponse(ctx, "NO-1", nil))
	fmt.Println(a.JSON200.OverallVerdict, record.JSON200.Evaluation.ProjectId, missing.StatusCode())
}
GO
	go mod tidy 2>/dev/null
	go run .
}

try_java() {
	jar="$cache/openapi-generator-cli-$java.jar"
	[ -f "$jar" ] || curl -fsSo "$jar" "https://repo1.maven.org/maven2/org/openapitools/openapi-generator-cli/$java/openapi-generator-cli-$java.jar"
	echo "$jar_sha1  $jar" | sha1sum --check --quiet
	java -jar "$jar" generate -i "$description" -g java --library native -o "$work/java" >"$work/java.log" 2>&1
	cat >"$work/java/src/main/java/Call.java" <<'JAVA'
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.EvaluationApi;
import org.openapitools.client.api.RulesApi;
import org.openapitools.client.model.EvaluateRequest;
import org.openapitools.client.model.InputFile;

public class Call {
	public static void main(String[] args) throws Exception {
		ApiClient client = new ApiClient();
		client.updateBaseUri(System.getenv("TENET_URL"));
		EvaluationApi evaluations = new EvaluationApi(client);
		InputFile file = new InputFile().path("settings.py").content("import os\n\nAWS_KEY = \"AKIAIOSFODNN7EXAMPLE\"\n");
		var answer = evaluations.evaluate(new EvaluateRequest().files(List.of(file)), null, null);
		var record = evaluations.getEvaluation(answer.getEvaluationId(), null);
		int missing = 0;
		try {
			new RulesApi(client).getRule("NO-1", null, null);
		} catch (ApiException e) {
			missing = e.getCode();
		}
		System.out.println(answer.getOverallVerdict() + " " + record.getEvaluation().getProjectId() + " " + missing);
	}
}
JAVA
	cd "$work/java"
	mvn -q -B compile dependency:build-classpath -Dmdep.outputFile=classpath >"$work/mvn.log" 2>&1 || {
		tail -40 "$work/mvn.log" >&2
		return 1
	}
	java -cp "target/classes:$(cat classpath)" Call
}

failed=0
for name in "${chosen[@]}"; do
	started=$SECONDS
	got="$("try_$name")" || got="failed"
	if [ "$got" = "$expected" ]; then
		echo "trial: $name passes ($((SECONDS - started)) s)"
	else
		echo "trial: $name printed \"$got\", not \"$expected\"" >&2
		failed=1
	fi
done
exit $failed
