package export

import (
	"bytes"
	"context"
	"fmt"
	"net/url"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tenet/internal/bundle/place"
)

// parquetFiles writes decisions as files, by project and day. The name of a file is that of the first entry that its write covers, so that a repeated write
// takes the place of the one before.
type parquetFiles struct{ at place.Objects }

// Write implements [Place].
func (p parquetFiles) Write(ctx context.Context, projectID string, first int64, list []Decision) error {
	days := map[string][]Decision{}
	var order []string
	for _, d := range list {
		day := d.At.UTC().Format("2006-01-02")
		if days[day] == nil {
			order = append(order, day)
		}
		days[day] = append(days[day], d)
	}
	for _, day := range order {
		var b bytes.Buffer
		w := parquet.NewGenericWriter[Decision](&b, parquet.Compression(&zstd.Codec{}))
		if _, err := w.Write(days[day]); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		// The name of the project is in the rows too; query engines read it from the path as a partition.
		name := fmt.Sprintf("project=%s/day=%s/%012d.parquet", url.PathEscape(projectID), day, first)
		if err := p.at.Put(ctx, name, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// Close implements [Place].
func (parquetFiles) Close() {}
