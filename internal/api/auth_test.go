package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// access is who may call an operation, as promised to users; the code declares it a second time on its own.
type access struct {
	role   auth.Role
	target string // a request on the project pay
	where  string // project, all (keys for all projects only), each (any key with the role) or signature (no key counts)
}

var accessTable = map[string]access{
	"whoami":                    {auth.Viewer, "GET /api/v1/whoami", "each"},
	"create-rule":               {auth.Reviewer, "POST /api/v1/rules?project_id=pay", "project"},
	"list-rules":                {auth.Viewer, "GET /api/v1/rules?project_id=pay", "project"},
	"similar-rules":             {auth.Viewer, "POST /api/v1/rules/similar?project_id=pay", "project"},
	"get-rule":                  {auth.Viewer, "GET /api/v1/rules/x?project_id=pay", "project"},
	"revise-rule":               {auth.Reviewer, "PATCH /api/v1/rules/x?project_id=pay", "project"},
	"preview-revision":          {auth.Reviewer, "POST /api/v1/rules/x/preview?project_id=pay", "project"},
	"retire-rule":               {auth.Reviewer, "DELETE /api/v1/rules/x?project_id=pay", "project"},
	"transition-rule":           {auth.Reviewer, "POST /api/v1/rules/x/transitions?project_id=pay", "project"},
	"list-rule-versions":        {auth.Viewer, "GET /api/v1/rules/x/versions?project_id=pay", "project"},
	"get-rule-version":          {auth.Viewer, "GET /api/v1/rules/x/versions/1?project_id=pay", "project"},
	"list-revisions":            {auth.Viewer, "GET /api/v1/rules/pending?project_id=pay", "project"},
	"list-rule-revisions":       {auth.Viewer, "GET /api/v1/rules/x/pending?project_id=pay", "project"},
	"approve-revision":          {auth.Reviewer, "POST /api/v1/rules/x/pending/1/approve?project_id=pay", "project"},
	"reject-revision":           {auth.Reviewer, "POST /api/v1/rules/x/pending/1/reject?project_id=pay", "project"},
	"withdraw-revision":         {auth.Reviewer, "POST /api/v1/rules/x/pending/1/withdraw?project_id=pay", "project"},
	"list-rule-nodes":           {auth.Viewer, "GET /api/v1/rules/x/nodes?project_id=pay", "project"},
	"list-relationships":        {auth.Viewer, "GET /api/v1/rules/x/relationships?project_id=pay", "project"},
	"create-relationship":       {auth.Reviewer, "POST /api/v1/rules/x/relationships?project_id=pay", "project"},
	"delete-relationship":       {auth.Reviewer, "DELETE /api/v1/rules/x/relationships/y?project_id=pay", "project"},
	"import-rules":              {auth.Reviewer, "POST /api/v1/rules/import?project_id=pay", "project"},
	"export-rules":              {auth.Viewer, "GET /api/v1/rules/export?project_id=pay", "project"},
	"upload-document":           {auth.Reviewer, "POST /api/v1/documents?project_id=pay", "project"},
	"list-documents":            {auth.Viewer, "GET /api/v1/documents?project_id=pay", "project"},
	"get-document":              {auth.Viewer, "GET /api/v1/documents/x?project_id=pay", "project"},
	"get-document-content":      {auth.Viewer, "GET /api/v1/documents/x/content?project_id=pay", "project"},
	"delete-document":           {auth.Reviewer, "DELETE /api/v1/documents/x?project_id=pay", "project"},
	"search-documents-fulltext": {auth.Viewer, "POST /api/v1/search/documents/fulltext?project_id=pay", "project"},
	"search-documents-vector":   {auth.Viewer, "POST /api/v1/search/documents/vector?project_id=pay", "project"},
	"search-documents-hybrid":   {auth.Viewer, "POST /api/v1/search/documents/hybrid?project_id=pay", "project"},
	"search-documents":          {auth.Viewer, "POST /api/v1/search/documents?project_id=pay", "project"},
	"search-by-source-document": {auth.Viewer, "POST /api/v1/search/by-source-document?project_id=pay", "project"},

	"start-scan":          {auth.Reviewer, "POST /api/v1/discover/scan?project_id=pay", "project"},
	"list-scans":          {auth.Viewer, "GET /api/v1/discover/scans?project_id=pay", "project"},
	"get-scan":            {auth.Viewer, "GET /api/v1/discover/scans/x?project_id=pay", "project"},
	"list-candidates":     {auth.Viewer, "GET /api/v1/discover/scans/x/candidates?project_id=pay", "project"},
	"get-candidate":       {auth.Viewer, "GET /api/v1/discover/candidates/x?project_id=pay", "project"},
	"approve-candidate":   {auth.Reviewer, "POST /api/v1/discover/candidates/x/approve?project_id=pay", "project"},
	"dismiss-candidate":   {auth.Reviewer, "POST /api/v1/discover/candidates/x/dismiss?project_id=pay", "project"},
	"approve-candidates":  {auth.Reviewer, "POST /api/v1/discover/scans/x/candidates/approve?project_id=pay", "project"},
	"scan-archive":        {auth.Reviewer, "POST /api/v1/discover/scan/archive?project_id=pay", "project"},
	"list-scan-files":     {auth.Viewer, "GET /api/v1/discover/scans/x/files?project_id=pay", "project"},
	"merge-candidate":     {auth.Reviewer, "POST /api/v1/discover/candidates/x/merge?project_id=pay", "project"},
	"reopen-candidate":    {auth.Reviewer, "POST /api/v1/discover/candidates/x/reopen?project_id=pay", "project"},
	"get-reliability":     {auth.Viewer, "GET /api/v1/discover/reliability?project_id=pay", "project"},
	"list-exclusions":     {auth.Viewer, "GET /api/v1/discover/exclusions?project_id=pay", "project"},
	"create-exclusion":    {auth.Reviewer, "POST /api/v1/discover/exclusions?project_id=pay", "project"},
	"delete-exclusion":    {auth.Reviewer, "DELETE /api/v1/discover/exclusions/x?project_id=pay", "project"},
	"dismiss-candidates":  {auth.Reviewer, "POST /api/v1/discover/scans/x/candidates/dismiss?project_id=pay", "project"},
	"extract-rules":       {auth.Reviewer, "POST /api/v1/documents/x/extract?project_id=pay", "project"},
	"search-fulltext":     {auth.Viewer, "POST /api/v1/search/fulltext?project_id=pay", "project"},
	"search-vector":       {auth.Viewer, "POST /api/v1/search/vector?project_id=pay", "project"},
	"search-hybrid":       {auth.Viewer, "POST /api/v1/search/hybrid?project_id=pay", "project"},
	"search-category":     {auth.Viewer, "POST /api/v1/search/category?project_id=pay", "project"},
	"search-context":      {auth.Evaluator, "POST /api/v1/search/context?project_id=pay", "project"},
	"search-temporal":     {auth.Viewer, "POST /api/v1/search/temporal?as_of=2026-01-31&project_id=pay", "project"},
	"search-citation":     {auth.Viewer, "POST /api/v1/search/citation?source=GDPR&project_id=pay", "project"},
	"search-subject":      {auth.Viewer, "POST /api/v1/search/subject?role=manager&project_id=pay", "project"},
	"search-conflict":     {auth.Viewer, "POST /api/v1/search/conflict?rule_id=x&project_id=pay", "project"},
	"search":              {auth.Viewer, "GET /api/v1/search?project_id=pay", "project"},
	"search-status":       {auth.Viewer, "GET /api/v1/search/status?project_id=pay", "project"},
	"create-node":         {auth.Reviewer, "POST /api/v1/federations?project_id=pay", "project"},
	"list-nodes":          {auth.Viewer, "GET /api/v1/federations?project_id=pay", "project"},
	"preview-nodes":       {auth.Reviewer, "POST /api/v1/federations/preview?project_id=pay", "project"},
	"find-nodes":          {auth.Viewer, "GET /api/v1/federations/nodes?project_id=pay", "project"},
	"resolve-node":        {auth.Viewer, "GET /api/v1/federations/resolve?repository=a/b&project_id=pay", "project"},
	"list-node-rules":     {auth.Viewer, "GET /api/v1/federations/x/rules?project_id=pay", "project"},
	"get-node":            {auth.Viewer, "GET /api/v1/federations/x?project_id=pay", "project"},
	"change-node":         {auth.Reviewer, "PATCH /api/v1/federations/x?project_id=pay", "project"},
	"delete-node":         {auth.Reviewer, "DELETE /api/v1/federations/x?project_id=pay", "project"},
	"attach-rule":         {auth.Reviewer, "POST /api/v1/federations/x/rules?project_id=pay", "project"},
	"detach-rule":         {auth.Reviewer, "DELETE /api/v1/federations/x/rules/y?project_id=pay", "project"},
	"effective-rules":     {auth.Viewer, "GET /api/v1/federations/x/effective-rules?project_id=pay", "project"},
	"diff-node":           {auth.Viewer, "GET /api/v1/federations/x/diff?project_id=pay", "project"},
	"create-project":      {auth.Admin, "POST /api/v1/projects", "all"},
	"list-projects":       {auth.Viewer, "GET /api/v1/projects", "each"},
	"get-project":         {auth.Viewer, "GET /api/v1/projects/pay", "project"},
	"change-project":      {auth.Admin, "PATCH /api/v1/projects/pay", "project"},
	"create-key":          {auth.Admin, "POST /api/v1/keys?project_id=pay", "project"},
	"list-keys":           {auth.Admin, "GET /api/v1/keys?project_id=pay", "project"},
	"list-acting-agents":  {auth.Viewer, "GET /api/v1/acting-agents?project_id=pay", "project"},
	"suspend-agent":       {auth.Reviewer, "POST /api/v1/suspensions?project_id=pay", "project"},
	"report-tools":        {auth.Evaluator, "POST /api/v1/gateway/tools?project_id=pay", "project"},
	"list-suspensions":    {auth.Viewer, "GET /api/v1/suspensions?project_id=pay", "project"},
	"lift-suspension":     {auth.Admin, "POST /api/v1/suspensions/x/lift?project_id=pay", "project"},
	"rotate-key":          {auth.Admin, "POST /api/v1/keys/x/rotate?project_id=pay", "project"},
	"change-key":          {auth.Admin, "PATCH /api/v1/keys/x?project_id=pay", "project"},
	"revoke-key":          {auth.Admin, "DELETE /api/v1/keys/x?project_id=pay", "project"},
	"evaluate":            {auth.Evaluator, "POST /api/v1/evaluate?project_id=pay", "project"},
	"evaluate-quick":      {auth.Evaluator, "POST /api/v1/evaluate/quick?project_id=pay", "project"},
	"applicable-rules":    {auth.Evaluator, "POST /api/v1/evaluate/applicable-rules?project_id=pay", "project"},
	"explain-rules":       {auth.Evaluator, "POST /api/v1/evaluate/applicable-rules/explain?project_id=pay", "project"},
	"list-facts":          {auth.Evaluator, "GET /api/v1/evaluate/facts?project_id=pay", "project"},
	"list-evaluations":    {auth.Viewer, "GET /api/v1/evaluations?project_id=pay", "project"},
	"get-evaluation":      {auth.Viewer, "GET /api/v1/evaluations/x?project_id=pay", "project"},
	"list-violations":     {auth.Viewer, "GET /api/v1/violations?fingerprint=5c1f0d1e&project_id=pay", "project"},
	"create-snapshot":     {auth.Reviewer, "POST /api/v1/snapshots?project_id=pay", "project"},
	"list-snapshots":      {auth.Viewer, "GET /api/v1/snapshots?project_id=pay", "project"},
	"get-snapshot":        {auth.Viewer, "GET /api/v1/snapshots/x?project_id=pay", "project"},
	"diff-snapshots":      {auth.Viewer, "GET /api/v1/snapshots/x/diff/y?project_id=pay", "project"},
	"verify-snapshot":     {auth.Viewer, "POST /api/v1/snapshots/x/verify?project_id=pay", "project"},
	"deploy-snapshot":     {auth.Reviewer, "POST /api/v1/snapshots/x/deploy?project_id=pay", "project"},
	"rollback-snapshot":   {auth.Reviewer, "POST /api/v1/snapshots/x/rollback?project_id=pay", "project"},
	"simulate-snapshot":   {auth.Reviewer, "POST /api/v1/snapshots/x/simulate?project_id=pay", "project"},
	"get-simulation":      {auth.Viewer, "GET /api/v1/simulations/x?project_id=pay", "project"},
	"get-gates":           {auth.Viewer, "GET /api/v1/environments/staging/gates?project_id=pay", "project"},
	"set-gates":           {auth.Admin, "PUT /api/v1/environments/staging/gates?project_id=pay", "project"},
	"check-gates":         {auth.Viewer, "GET /api/v1/environments/staging/gates/x?project_id=pay", "project"},
	"approve-snapshot":    {auth.Reviewer, "POST /api/v1/snapshots/x/approvals?project_id=pay", "project"},
	"list-environments":   {auth.Viewer, "GET /api/v1/environments?project_id=pay", "project"},
	"list-steps":          {auth.Viewer, "GET /api/v1/deployments?project_id=pay", "project"},
	"list-simulations":    {auth.Viewer, "GET /api/v1/simulations?project_id=pay", "project"},
	"list-deployments":    {auth.Viewer, "GET /api/v1/snapshots/deployments?project_id=pay", "project"},
	"get-environment":     {auth.Viewer, "GET /api/v1/snapshots/deployments/staging?project_id=pay", "project"},
	"list-agents":         {auth.Viewer, "GET /agent", "each"},
	"agent-ask":           {auth.Evaluator, "POST /agent/ask?project_id=pay", "project"},
	"agent-check":         {auth.Evaluator, "POST /agent/check?project_id=pay", "project"},
	"agent-author":        {auth.Evaluator, "POST /agent/author?project_id=pay", "project"},
	"agent-review":        {auth.Evaluator, "POST /agent/review?project_id=pay", "project"},
	"rest-ask":            {auth.Evaluator, "POST /rest/ask?project_id=pay", "project"},
	"rest-check":          {auth.Evaluator, "POST /rest/check?project_id=pay", "project"},
	"rest-author":         {auth.Evaluator, "POST /rest/author?project_id=pay", "project"},
	"rest-review":         {auth.Evaluator, "POST /rest/review?project_id=pay", "project"},
	"rest-get-ask":        {auth.Evaluator, "GET /rest/ask?project_id=pay", "project"},
	"rest-get-check":      {auth.Evaluator, "GET /rest/check?project_id=pay", "project"},
	"rest-get-author":     {auth.Evaluator, "GET /rest/author?project_id=pay", "project"},
	"rest-get-review":     {auth.Evaluator, "GET /rest/review?project_id=pay", "project"},
	"submit":              {auth.Evaluator, "POST /api/v1/submissions?project_id=pay", "project"},
	"get-submission":      {auth.Viewer, "GET /api/v1/submissions/x?project_id=pay", "project"},
	"give-feedback":       {auth.Reviewer, "POST /api/v1/evaluations/x/feedback?project_id=pay", "project"},
	"list-feedback":       {auth.Viewer, "GET /api/v1/evaluations/x/feedback?project_id=pay", "project"},
	"replay-evaluation":   {auth.Reviewer, "POST /api/v1/evaluations/x/replay?project_id=pay", "project"},
	"rule-quality":        {auth.Viewer, "GET /api/v1/rules/x/quality?project_id=pay", "project"},
	"accept-corpus":       {auth.Admin, "POST /api/v1/audit/corpus/accept?project_id=pay", "project"},
	"list-audit":          {auth.Reviewer, "GET /api/v1/audit?project_id=pay", "project"},
	"get-audit-entry":     {auth.Reviewer, "GET /api/v1/audit/entries/1?project_id=pay", "project"},
	"export-audit":        {auth.Reviewer, "GET /api/v1/audit/export?project_id=pay", "project"},
	"get-audit-log":       {auth.Viewer, "GET /api/v1/audit/log?project_id=pay", "project"},
	"compare-audit":       {auth.Reviewer, "POST /api/v1/audit/compare?project_id=pay", "project"},
	"prove-evaluation":    {auth.Reviewer, "GET /api/v1/evaluations/x/proof?project_id=pay", "project"},
	"verify-audit":        {auth.Reviewer, "GET /api/v1/audit/verify?project_id=pay", "project"},
	"get-audit-head":      {auth.Reviewer, "GET /api/v1/audit/head?project_id=pay", "project"},
	"list-conflicts":      {auth.Viewer, "GET /api/v1/conflicts?project_id=pay", "project"},
	"get-conflict":        {auth.Viewer, "GET /api/v1/conflicts/x?project_id=pay", "project"},
	"confirm-conflict":    {auth.Reviewer, "POST /api/v1/conflicts/x/confirm?project_id=pay", "project"},
	"reject-conflict":     {auth.Reviewer, "POST /api/v1/conflicts/x/reject?project_id=pay", "project"},
	"mend-conflict":       {auth.Reviewer, "POST /api/v1/conflicts/x/mend?project_id=pay", "project"},
	"scan-conflicts":      {auth.Reviewer, "POST /api/v1/conflicts/scan?project_id=pay", "project"},
	"count-jobs":          {auth.Viewer, "GET /api/v1/jobs/counts", "all"},
	"list-servers":        {auth.Admin, "GET /api/v1/servers", "all"},
	"get-settings":        {auth.Admin, "GET /api/v1/settings", "all"},
	"get-usage":           {auth.Viewer, "GET /api/v1/usage?project_id=pay", "project"},
	"list-jobs":           {auth.Viewer, "GET /api/v1/jobs?project_id=pay", "project"},
	"get-job":             {auth.Viewer, "GET /api/v1/jobs/1?project_id=pay", "project"},
	"retry-job":           {auth.Reviewer, "POST /api/v1/jobs/1/retry?project_id=pay", "project"},
	"cancel-job":          {auth.Reviewer, "POST /api/v1/jobs/1/cancel?project_id=pay", "project"},
	"list-alerts":         {auth.Viewer, "GET /api/v1/alerts?project_id=pay", "project"},
	"get-alert":           {auth.Viewer, "GET /api/v1/alerts/x?project_id=pay", "project"},
	"acknowledge-alert":   {auth.Reviewer, "POST /api/v1/alerts/x/acknowledge?project_id=pay", "project"},
	"resolve-alert":       {auth.Reviewer, "POST /api/v1/alerts/x/resolve?project_id=pay", "project"},
	"rule-health":         {auth.Viewer, "GET /api/v1/rules/x/health?project_id=pay", "project"},
	"playground-evaluate": {auth.Evaluator, "POST /api/v1/playground/evaluate?project_id=pay", "project"},
	"get-cache":           {auth.Viewer, "GET /api/v1/cache?project_id=pay", "project"},
	"prune-cache":         {auth.Admin, "POST /api/v1/cache/prune?project_id=pay", "project"},
	"clear-cache":         {auth.Admin, "DELETE /api/v1/cache?project_id=pay", "project"},
	"list-queue":          {auth.Viewer, "GET /api/v1/queue?project_id=pay", "project"},
	"decide-queue":        {auth.Reviewer, "POST /api/v1/queue/decisions?project_id=pay", "project"},
	"mark-queue":          {auth.Reviewer, "POST /api/v1/queue/marks?project_id=pay", "project"},
	"create-approval":     {auth.Evaluator, "POST /api/v1/approvals?project_id=pay", "project"},
	"list-approvals":      {auth.Viewer, "GET /api/v1/approvals?project_id=pay", "project"},
	"get-approval":        {auth.Viewer, "GET /api/v1/approvals/x?project_id=pay", "project"},
	"approve-approval":    {auth.Reviewer, "POST /api/v1/approvals/x/approve?project_id=pay", "project"},
	"reject-approval":     {auth.Reviewer, "POST /api/v1/approvals/x/reject?project_id=pay", "project"},
	"withdraw-approval":   {auth.Evaluator, "POST /api/v1/approvals/x/withdraw?project_id=pay", "project"},
	"get-bundle":          {auth.Evaluator, "GET /api/v1/bundles/staging?project_id=pay", "project"},
	"describe-bundle":     {auth.Viewer, "GET /api/v1/bundles/staging/info?project_id=pay", "project"},
	"list-fleet":          {auth.Viewer, "GET /api/v1/fleet?project_id=pay", "project"},
	"get-edge":            {auth.Viewer, "GET /api/v1/fleet/x?project_id=pay", "project"},
	"change-edge":         {auth.Admin, "PATCH /api/v1/fleet/x?project_id=pay", "project"},
	"forget-edge":         {auth.Admin, "DELETE /api/v1/fleet/x?project_id=pay", "project"},
	"report-edge":         {auth.Evaluator, "POST /api/v1/fleet/x/reports?project_id=pay", "project"},
	"send-edge-records":   {auth.Evaluator, "POST /api/v1/fleet/x/records?project_id=pay", "project"},
	"get-retention":       {auth.Viewer, "GET /api/v1/retention?project_id=pay", "project"},
	"change-retention":    {auth.Admin, "PATCH /api/v1/retention?project_id=pay", "project"},
	"confirm-retention":   {auth.Admin, "POST /api/v1/retention/proposal/confirm?project_id=pay", "project"},
	"withdraw-retention":  {auth.Admin, "DELETE /api/v1/retention/proposal?project_id=pay", "project"},
	"list-holds":          {auth.Reviewer, "GET /api/v1/holds?project_id=pay", "project"},
	"place-hold":          {auth.Admin, "POST /api/v1/holds?project_id=pay", "project"},
	"get-hold":            {auth.Reviewer, "GET /api/v1/holds/x?project_id=pay", "project"},
	"lift-hold":           {auth.Admin, "POST /api/v1/holds/x/lift?project_id=pay", "project"},
	"get-privacy":         {auth.Reviewer, "GET /api/v1/privacy?project_id=pay", "project"},
	"find-person":         {auth.Admin, "POST /api/v1/privacy/find?project_id=pay", "project"},
	"forget-person":       {auth.Admin, "POST /api/v1/privacy/forget?project_id=pay", "project"},
	"create-waiver":       {auth.Reviewer, "POST /api/v1/waivers?project_id=pay", "project"},
	"list-waivers":        {auth.Viewer, "GET /api/v1/waivers?project_id=pay", "project"},
	"get-waiver":          {auth.Viewer, "GET /api/v1/waivers/x?project_id=pay", "project"},
	"approve-waiver":      {auth.Reviewer, "POST /api/v1/waivers/x/approve?project_id=pay", "project"},
	"revoke-waiver":       {auth.Reviewer, "DELETE /api/v1/waivers/x?project_id=pay", "project"},
	"list-test-cases":     {auth.Viewer, "GET /api/v1/rules/x/test-cases?project_id=pay", "project"},
	"create-test-case":    {auth.Reviewer, "POST /api/v1/rules/x/test-cases?project_id=pay", "project"},
	"delete-test-case":    {auth.Reviewer, "DELETE /api/v1/rules/x/test-cases/y?project_id=pay", "project"},
	"confirm-test-case":   {auth.Reviewer, "POST /api/v1/rules/x/test-cases/y/confirm?project_id=pay", "project"},
	"run-test-cases":      {auth.Evaluator, "POST /api/v1/rules/x/test-cases/run?project_id=pay", "project"},
	"generate-test-cases": {auth.Reviewer, "POST /api/v1/rules/x/test-cases/generate?project_id=pay", "project"},
	"start-test-run":      {auth.Evaluator, "POST /api/v1/test-runs?project_id=pay", "project"},
	"get-test-run":        {auth.Viewer, "GET /api/v1/test-runs/x?project_id=pay", "project"},
	"propose-check":       {auth.Reviewer, "POST /api/v1/rules/x/check/propose?project_id=pay", "project"},
	"keep-evaluation":     {auth.Reviewer, "POST /api/v1/evaluations/x/test-cases?project_id=pay", "project"},
	"GET /metrics":        {auth.Viewer, "GET /metrics", "all"},
	"GET /audit":          {auth.Viewer, "GET /audit/pay/checkpoint", "project"},

	"create-policy":        {auth.Admin, "POST /api/v1/gateway/policies?project_id=pay", "project"},
	"list-policies":        {auth.Admin, "GET /api/v1/gateway/policies?project_id=pay", "project"},
	"get-policy":           {auth.Admin, "GET /api/v1/gateway/policies/x?project_id=pay", "project"},
	"change-policy":        {auth.Admin, "PATCH /api/v1/gateway/policies/x?project_id=pay", "project"},
	"delete-policy":        {auth.Admin, "DELETE /api/v1/gateway/policies/x?project_id=pay", "project"},
	"rotate-policy-secret": {auth.Admin, "POST /api/v1/gateway/policies/x/secret?project_id=pay", "project"},
	"test-policy":          {auth.Admin, "POST /api/v1/gateway/policies/x/test?project_id=pay", "project"},
	"list-deliveries":      {auth.Admin, "GET /api/v1/gateway/policies/x/deliveries?project_id=pay", "project"},
	"ingest-github":        {auth.Evaluator, "POST /api/v1/gateway/ingest/github", "signature"},
	"ingest-generic":       {auth.Evaluator, "POST /api/v1/gateway/ingest/generic", "signature"},
	"redeliver":            {auth.Admin, "POST /api/v1/gateway/policies/x/deliveries/1/redeliver?project_id=pay", "project"},
	"/mcp":                 {auth.Viewer, "POST /mcp?project_id=pay", "project"},

	"get-insights":               {auth.Viewer, "GET /api/v1/insights?project_id=pay", "project"},
	"measure-insights":           {auth.Reviewer, "POST /api/v1/insights/measure?project_id=pay", "project"},
	"list-measured-rules":        {auth.Viewer, "GET /api/v1/insights/rules?project_id=pay", "project"},
	"list-judged-repositories":   {auth.Viewer, "GET /api/v1/insights/repositories?project_id=pay", "project"},
	"list-unjudged-repositories": {auth.Viewer, "GET /api/v1/insights/repositories/unjudged?project_id=pay", "project"},
	"get-samples":                {auth.Viewer, "GET /api/v1/insights/samples?project_id=pay", "project"},
	"list-project-insights":      {auth.Viewer, "GET /api/v1/insights/projects", "each"},
	"get-report":                 {auth.Viewer, "GET /api/v1/insights/report?project_id=pay", "project"},
}

// publicRoutes need no key. Whoever adds to them must mean it.
var publicRoutes = []string{"GET /{$}", "GET /health", "GET /ready", "GET /audit/page", "GET /openapi.json", "GET /docs", "GET /docs/{file...}", "GET /api/v1/signin"}

func TestEveryRouteDeclaresItsRole(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	expected := map[string]auth.Role{}
	for _, pattern := range publicRoutes {
		expected[pattern] = auth.Public
	}
	expected["GET /metrics"], expected["/mcp"], expected["GET /audit/{id}/{file...}"] = auth.Viewer, auth.Viewer, auth.Viewer
	operations := 0
	type described struct {
		ID       string                `json:"operationId"`
		Role     string                `json:"x-required-role"`
		Security []map[string][]string `json:"security"`
	}
	description := into[struct {
		Paths                           map[string]map[string]json.RawMessage
		OpenAPI, Info, Components, Tags any
	}](n.call("GET", "/openapi.json", nil))
	for path, item := range description.Paths {
		for method, raw := range item {
			method = strings.ToUpper(method)
			var described described
			if err := json.Unmarshal(raw, &described); err != nil {
				t.Fatal(err)
			}
			operations++
			want, ok := accessTable[described.ID]
			if !ok {
				t.Errorf("%s %s (%s) is not in the table of who may call what", method, path, described.ID)
				continue
			}
			expected[method+" "+path] = want.role
			if described.Role != string(want.role) || len(described.Security) == 0 {
				t.Errorf("%s is described with the role %q and security %v", described.ID, described.Role, described.Security)
			}
		}
	}
	if operations != len(accessTable)-3 {
		t.Errorf("%d operations, but %d in the table", operations, len(accessTable)-3)
	}
	for pattern, e := range n.Endpoints() {
		if want, listed := expected[pattern]; !listed || e.Role != want {
			t.Errorf("%s declares the role %q, want %q (listed: %v)", pattern, e.Role, want, listed)
		}
	}
	if len(n.Endpoints()) != len(expected) {
		t.Errorf("%d routes, want %d", len(n.Endpoints()), len(expected))
	}
}

func TestAccessMatrix(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeProject("pay")
	n.makeProject("hr")
	type holder struct {
		role    auth.Role
		project string
		secret  string
	}
	holders := []holder{{}}
	for _, role := range auth.Roles {
		for _, p := range []string{"pay", "hr", store.AllProjects} {
			holders = append(holders, holder{role, p, n.makeKey(role, p)})
		}
	}
	for id, a := range accessTable {
		method, target, _ := strings.Cut(a.target, " ")
		for _, h := range holders {
			n.key = h.secret
			var body any
			if method == "POST" || method == "PATCH" {
				body = "[]" // never valid, so nothing is changed
			}
			got := n.call(method, target, body)
			reaches := h.project == store.AllProjects || a.where == "each" || (a.where == "project" && h.project == "pay")
			switch {
			case h.secret == "" || a.where == "signature":
				got.wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
				if got.header.Get("WWW-Authenticate") == "" {
					t.Errorf("%s: 401 without a challenge", id)
				}
			case !reaches || !h.role.Allows(a.role):
				got.wantProblem(http.StatusForbidden, rule.CodeForbidden)
			case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden || got.status >= 500:
				t.Errorf("%s as %s of %s: %d %s", id, h.role, h.project, got.status, got.body)
			}
		}
	}
	n.key = ""
	for _, path := range []string{"/", "/health", "/ready", "/docs", "/docs/swagger-ui.css", "/openapi.json"} {
		n.call("GET", path, nil).want(http.StatusOK)
	}
}

func TestKeyWorksInItsOwnProjectByDefault(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeProject("pay")
	n.key = n.makeKey(auth.Reviewer, "pay")
	r := into[rule.Rule](n.call("POST", rulesPath, fields{"statement": "Where am I?"}).want(http.StatusCreated))
	if r.ProjectID != "pay" || r.CreatedBy != "key:reviewer@pay" {
		t.Errorf("made in %s by %s", r.ProjectID, r.CreatedBy)
	}
	n.call("POST", rulesPath, fields{"statement": "x", "project_id": "default"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	list := into[wire.Page[rule.Project]](n.call("GET", projectsPath, nil).want(http.StatusOK))
	if list.Total != 1 || list.Items[0].ID != "pay" {
		t.Errorf("a key of pay sees the projects %+v", list.Items)
	}
}

// A key must not be able to find out which projects exist.
func TestForbiddenProjectsAllLookAlike(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeProject("pay")
	n.key = n.makeKey(auth.Admin, rule.DefaultProject)
	for _, target := range []string{"/api/v1/rules?project_id=", "/api/v1/projects/", "/api/v1/keys?project_id="} {
		there := n.call("GET", target+"pay", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
		missing := n.call("GET", target+"pax", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
		if strings.ReplaceAll(there.Detail, "pay", "pax") != missing.Detail {
			t.Errorf("%s: %q for a project that exists, %q for one that does not", target, there.Detail, missing.Detail)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, testKeys)
}

func testKeys(t *testing.T, n *node) {
	n.makeProject("pay")
	// Without keys the local user is admin, and must begin with a key that can make others.
	n.call("POST", keysPath, fields{"name": "ci", "role": "viewer"}).wantProblem(http.StatusConflict, rule.CodeConflict)
	root := into[wire.CreatedKey](n.call("POST", keysPath, fields{"name": "root", "role": "ADMIN", "project_id": "*"}).want(http.StatusCreated))
	if !auth.IsSecret(root.Secret) || root.ProjectID != "*" || root.Role != string(auth.Admin) || root.CreatedBy != "local" {
		t.Errorf("made %+v", root)
	}
	n.call("GET", keysPath, nil).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)

	n.key = root.Secret
	owner := into[wire.CreatedKey](n.call("POST", keysPath+"?project_id=pay", fields{"name": "pay admin", "role": "admin"}).want(http.StatusCreated))
	n.call("POST", keysPath, fields{"name": "x", "role": "boss", "expires_at": "tomorrow"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "expires_at", "role")
	n.call("POST", keysPath, fields{"name": "x", "role": "viewer", "expires_at": "2001-01-01T00:00:00Z"}).
		wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "expires_at")
	n.call("POST", keysPath, fields{"name": "", "role": "viewer"}).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, "name")
	n.call("POST", keysPath, fields{"name": "x", "role": "viewer", "project_id": "nowhere"}).wantProblem(http.StatusNotFound, rule.CodeNotFound)

	// A project's admin manages the keys of that project alone.
	n.key = owner.Secret
	ci := into[wire.CreatedKey](n.call("POST", keysPath, fields{"name": "ci", "role": "evaluator", "expires_at": "2999-01-01T00:00:00Z"}).want(http.StatusCreated))
	if ci.ProjectID != "pay" || ci.CreatedBy != "key:pay admin" || ci.ExpiresAt == nil {
		t.Errorf("made %+v", ci)
	}
	n.call("POST", keysPath, fields{"name": "x", "role": "admin", "project_id": "*"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("POST", keysPath+"?project_id=*", fields{"name": "x", "role": "viewer"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("POST", keysPath, fields{"name": "x", "role": "viewer", "project_id": "default"}).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("GET", keysPath+"?project_id=*", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("DELETE", keysPath+"/"+root.ID+"?project_id=*", nil).wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("DELETE", keysPath+"/"+root.ID, nil).wantProblem(http.StatusNotFound, rule.CodeNotFound)
	listed := n.call("GET", keysPath, nil).want(http.StatusOK)
	list := into[wire.Page[wire.Key]](listed)
	if list.Total != 2 || list.Items[0].ID != ci.ID {
		t.Errorf("keys of pay: %+v", list)
	}
	if body := string(listed.body); strings.Contains(body, ci.Secret) || strings.Contains(body, auth.HashSecret(ci.Secret)) {
		t.Error("the list shows a secret")
	}

	n.call("DELETE", keysPath+"/"+ci.ID, nil).want(http.StatusNoContent)
	n.key = ci.Secret
	n.call("POST", evaluatePath, "{}").wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
	n.key = root.Secret
	all := into[wire.Page[wire.Key]](n.call("GET", keysPath+"?project_id=*", nil).want(http.StatusOK))
	if all.Total != 1 || all.Items[0].ID != root.ID {
		t.Errorf("keys for all projects: %+v", all)
	}
	if strings.Contains(n.log.String(), "tnt_") {
		t.Error("a secret is in the log")
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	secret := n.makeKey(auth.Viewer, store.AllProjects)
	for name, test := range map[string]struct {
		headers []string
		ok      bool
	}{
		"bearer":             {[]string{"Authorization", "Bearer " + secret}, true},
		"scheme in any case": {[]string{"Authorization", "bEaReR   " + secret}, true},
		"header of its own":  {[]string{"X-API-Key", secret}, true},
		"both alike":         {[]string{"X-API-Key", secret, "Authorization", "Bearer " + secret}, true},
		"both, different":    {[]string{"X-API-Key", auth.NewSecret(), "Authorization", "Bearer " + secret}, false},
		"none":               {nil, false},
		"basic":              {[]string{"Authorization", "Basic dGVuZXQ6dGVuZXQ="}, false},
		"no token":           {[]string{"Authorization", "Bearer"}, false},
		"unknown":            {[]string{"Authorization", "Bearer " + auth.NewSecret()}, false},
		"malformed":          {[]string{"X-API-Key", "tnt_"}, false},
		"a hash":             {[]string{"X-API-Key", auth.HashSecret(secret)}, false},
	} {
		got := n.call("GET", rulesPath, nil, test.headers...)
		if test.ok {
			got.want(http.StatusOK)
			continue
		}
		p := got.wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
		if got.header.Get("WWW-Authenticate") == "" || strings.Contains(string(got.body), "tnt_"+secret[4:]) || p.Errors != nil {
			t.Errorf("%s: %v %s", name, got.header, got.body)
		}
	}
}

func TestExpiredKey(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.makeKey(auth.Admin, store.AllProjects)
	soon := time.Now().Add(time.Hour)
	ctx := auth.WithActor(t.Context(), auth.Local("test"))
	_, secret, err := n.keys.Create(ctx, auth.NewKey{ProjectID: "default", Name: "short", Role: auth.Viewer, ExpiresAt: &soon})
	if err != nil {
		t.Fatal(err)
	}
	n.key = secret
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	n.ahead.Store(int64(time.Hour + time.Second))
	n.call("GET", rulesPath, nil).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
}

// A server that others can reach must not open up when its last key goes.
func TestRequireKey(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.RequireKey = true })
	n.call("GET", rulesPath, nil).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
	n.call("GET", "/health", nil).want(http.StatusOK)
}

// A credential that is no good is refused even where none is needed: its owner believes to be somebody.
func TestBadCredentialWithoutKeys(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	n.call("GET", rulesPath, nil, "X-API-Key", auth.NewSecret()).wantProblem(http.StatusUnauthorized, rule.CodeUnauthenticated)
}

type brokenKeys struct{ store.KeyReader }

func (brokenKeys) Count(context.Context) (int, error) {
	return 0, errors.New("dial tcp 10.0.0.7:5432: password authentication failed for user tenet")
}

// Where the keys cannot be looked up, nobody gets in, and nobody is told why.
func TestAuthenticationFailsClosed(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	broken := n.store
	broken.Keys = brokenKeys{broken.Keys}
	n.cfg.Keys = auth.NewKeys(broken, broken.Keys, time.Now)
	n.serve()
	got := n.call("GET", rulesPath, nil)
	p := got.wantProblem(http.StatusInternalServerError, rule.CodeInternal)
	if p.Detail != "internal error" || strings.Contains(string(got.body), "10.0.0.7") {
		t.Errorf("the answer leaks: %s", got.body)
	}
	if log := n.log.String(); !strings.Contains(log, "password authentication failed") || !strings.Contains(log, p.RequestID) {
		t.Errorf("the log does not tell cause and request id: %s", log)
	}
}

func TestLoopbackHost(t *testing.T) {
	t.Parallel()
	n := newNode(t, func(c *config) { c.RequireLoopbackHost = true })
	hosts := map[string]bool{
		"localhost": true, "LOCALHOST:8080": true, "127.0.0.1": true, "127.0.0.1:8080": true, "127.9.9.9:1": true, "[::1]:8080": true,
		"::1": true, "localhost.": true, "[::ffff:127.0.0.1]:80": true,
		"evil.example": false, "localhost.evil.example": false, "10.0.0.1:8080": false, "": false, "127.0.0.1.evil.example": false,
		"[::]:80": false, "0.0.0.0": false,
	}
	check := func(host string, ok bool) {
		t.Helper()
		got := n.callHost(host, "GET", rulesPath)
		if ok {
			got.want(http.StatusOK)
		} else {
			got.wantProblem(http.StatusForbidden, rule.CodeForbidden)
		}
	}
	for host, ok := range hosts {
		check(host, ok)
	}
	n.key = n.makeKey(auth.Viewer, store.AllProjects)
	check("tenet.example", true)
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", evaluatePath, "{}", "Sec-Fetch-Site", "cross-site").wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("DELETE", rulesPath+"/x", nil, "Origin", "https://evil.example").wantProblem(http.StatusForbidden, rule.CodeForbidden)
	n.call("POST", evaluatePath, "{}", "Sec-Fetch-Site", "same-origin").want(http.StatusOK)
	n.call("GET", rulesPath, nil, "Sec-Fetch-Site", "cross-site").want(http.StatusOK)
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	n := newNode(t, func(c *config) {
		c.Limits.RatePerSecond, c.Limits.Burst = 0.5, 3
		c.Now = func() time.Time { return now }
	})
	one, other := n.makeKey(auth.Viewer, store.AllProjects), n.makeKey(auth.Viewer, store.AllProjects)
	n.key = one
	for range 3 {
		n.call("GET", rulesPath, nil).want(http.StatusOK)
	}
	got := n.call("GET", rulesPath, nil)
	got.wantProblem(http.StatusTooManyRequests, rule.CodeRateLimited)
	if after := got.header.Get("Retry-After"); after != "2" {
		t.Errorf("Retry-After %q, want 2", after)
	}
	n.call("GET", "/health", nil).want(http.StatusOK)
	n.key = other
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	n.key = one
	now = now.Add(2 * time.Second)
	n.call("GET", rulesPath, nil).want(http.StatusOK)
	n.call("GET", rulesPath, nil).wantProblem(http.StatusTooManyRequests, rule.CodeRateLimited)
}
