package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/discover"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// exclusionRef names an exclusion in a path.
type exclusionRef struct {
	ExclusionID string `path:"exclusion_id" id:"exclusion" doc:"Id of the exclusion."`
}

func (s Discovery) triage() discover.Triage { return discover.Triage{Discovery: s.Discovery} }

func (s Discovery) exclusions() discover.Exclusions {
	return discover.Exclusions{Discovery: s.Discovery}
}

func (s Discovery) archiveRoutes(r *rest.Router) {
	rest.Handle(r, rest.Operation{
		ID: "scan-archive", Route: op.ScanArchive.Route(), Role: auth.Reviewer, Status: http.StatusAccepted, Summary: "Look for candidate rules in an archive",
		Description: "A zip or tar.gz of a repository, as a form; otherwise as for files. Links and archives within the archive are not followed. Entries that " +
			"are encrypted, larger than 2 MiB, or whose paths lead out of the archive are left out, and listed among the problems of the scan. Archives that " +
			"unpack to more than 200 times their size are 413.",
	}, s.scanArchive).Upload(map[string]*rest.Schema{
		"file":                rest.File("The archive, with its name."),
		"sources":             rest.Text("Kinds of sources to look at, with commas between; all if absent."),
		"repository":          rest.Text("Repository that the files are from."),
		"exclude":             rest.Text("Globs of files to leave out, one a line."),
		"include":             rest.Text("Globs of files to read although the default excludes name them, one a line."),
		"no_default_excludes": rest.Text("true also reads test data, packages of other people, change logs and the manual of a product."),
		"project_id":          rest.Text("Project, if the query does not name it."),
	})
	rest.Handle(r, rest.Operation{
		ID: "list-scan-files", Route: op.ListScanFiles.Route(), Role: auth.Viewer, Summary: "List the files of a scan that have candidates",
		Description: "Those with most candidates left to decide on first. A candidate counts where it was found first.",
	}, func(ctx context.Context, in *struct {
		scanRef
		wire.PageQuery
	},
	) (wire.Page[wire.ScanFile], error) {
		list, total, err := s.Discovery.ScanFiles(ctx, rest.Project(ctx), in.ScanID, in.Offset(), in.PageSize)
		return rest.PageOf(in.PageQuery, list, total), err
	})
}

func (s Discovery) scanArchive(ctx context.Context, _ *rest.None) (made rest.Created[wire.Scan], err error) {
	done, err := rest.ReserveUpload(ctx)
	if err != nil {
		return made, err
	}
	defer done()
	f, err := rest.ReadForm(ctx, "sources", "repository", "exclude", "include", "no_default_excludes", "project_id")
	if err != nil {
		return made, err
	}
	projectID, err := rest.EnterProject(ctx, f.Fields["project_id"])
	if err != nil {
		return made, err
	}
	request := wire.ArchiveScan{
		Filename: f.Filename, Content: f.File, Repository: f.Fields["repository"], Exclude: entries(f.Fields["exclude"], "\n"), Include: entries(f.Fields["include"], "\n"),
	}
	if word := f.Fields["no_default_excludes"]; word != "" {
		if request.NoDefaultExcludes, err = strconv.ParseBool(word); err != nil {
			return made, rest.InvalidField("no_default_excludes", "must be true or false")
		}
	}
	for _, name := range entries(f.Fields["sources"], ",") {
		request.Sources = append(request.Sources, wire.SourceKind(name))
	}
	if len(request.Sources) == 0 {
		request.Sources = append(request.Sources, wire.SourceKinds...)
	}
	scan, err := s.Discovery.StartArchive(ctx, projectID, request)
	return rest.At(ctx, op.GetScan.Path, scan.ID, scan), err
}

// entries are the parts of a text between signs, without spaces round them and without empty ones.
func entries(text, sign string) []string {
	var list []string
	for part := range strings.SplitSeq(text, sign) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func (s Discovery) triageRoutes(r *rest.Router) {
	rest.HandleBody(r, rest.Operation{
		ID: "merge-candidate", Route: op.MergeCandidate.Route(), Role: auth.Reviewer, Summary: "Merge a candidate into a rule or another candidate",
		Description: "For one that says what a rule says already: the rule gets its places as source_refs, as a revision where two people must agree. Or what " +
			"another candidate says: what is decided of that one holds for both. 409 if either has been decided on.",
	}, func(ctx context.Context, in *candidateRef, body *wire.MergeCandidate) (wire.Decided, error) {
		return s.triage().Merge(ctx, rest.Project(ctx), in.CandidateID, *body)
	})
	rest.Handle(r, rest.Operation{
		ID: "reopen-candidate", Route: op.ReopenCandidate.Route(), Role: auth.Reviewer, Summary: "Take back the decision on a candidate",
		Description: "It waits for a decision again. The rule of an approved candidate is retired; 409 if that has been changed since, or is in force.",
	}, func(ctx context.Context, in *candidateRef) (wire.Decided, error) {
		return s.triage().Reopen(ctx, rest.Project(ctx), in.CandidateID)
	})
}

func (s Discovery) exclusionRoutes(r *rest.Router) {
	rest.Handle(r, rest.Operation{
		ID: "list-exclusions", Route: op.ListExclusions.Route(), Role: auth.Viewer, Summary: "List what scans leave out",
		Description: "Folders and files, in the order of repositories and paths.",
	}, func(ctx context.Context, in *wire.PageQuery) (wire.Page[wire.Exclusion], error) {
		list, total, err := s.exclusions().List(ctx, rest.Project(ctx), in.Offset(), in.PageSize)
		return rest.PageOf(*in, list, total), err
	})
	rest.HandleBody(r, rest.Operation{
		ID: "create-exclusion", Route: op.CreateExclusion.Route(), Role: auth.Reviewer, Status: http.StatusCreated, Summary: "Leave a folder or file out of scans",
		Description: "Later scans of the repository leave it out. Candidates that wait for a decision and were found nowhere else are dismissed. 409 if it is " +
			"excluded already.",
	}, func(ctx context.Context, _ *rest.None, body *wire.CreateExclusion) (wire.ExclusionMade, error) {
		return s.exclusions().Exclude(ctx, rest.Project(ctx), *body)
	})
	rest.Handle(r, rest.Operation{
		ID: "delete-exclusion", Route: op.DeleteExclusion.Route(), Role: auth.Reviewer, Summary: "Lift an exclusion",
		Description: "Later scans read the files again, and the candidates that it has dismissed wait for a decision again.",
	}, func(ctx context.Context, in *exclusionRef) (wire.Lifted, error) {
		return s.exclusions().Lift(ctx, rest.Project(ctx), in.ExclusionID)
	})
}
