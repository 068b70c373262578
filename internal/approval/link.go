package approval

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// linkAfter is how long a link works after the time for a decision.
const linkAfter = 7 * 24 * time.Hour

// link returns the signed address of an approval in the console. The signature shows that this server has made the link for this approval; it
// gives no rights, and decides nothing.
func (s *Approvals) link(a *store.ApprovalRecord) string {
	until := a.ExpiresAt.Add(linkAfter).Unix()
	return s.cfg.Site + "/p/" + url.PathEscape(a.ProjectID) + "/approvals/" + url.PathEscape(a.ID) + "?" +
		url.Values{"until": {strconv.FormatInt(until, 10)}, "signature": {sign(a, until)}}.Encode()
}

func sign(a *store.ApprovalRecord, until int64) string {
	mac := hmac.New(sha256.New, []byte(a.LinkKey))
	mac.Write([]byte("tenet approval link 1\n" + a.ProjectID + "\n" + a.ID + "\n" + strconv.FormatInt(until, 10)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckLink returns a forbidden error unless this server has signed a link to an approval, and the link has not ended.
func (s *Approvals) CheckLink(ctx context.Context, projectID, id string, until int64, signature string) error {
	a, err := s.read(ctx, projectID, id)
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(sign(&a, until)), []byte(signature)) || s.cfg.Now().After(time.Unix(until, 0)) {
		return rule.Errorf(rule.CodeForbidden, "the link was not made by this server for this approval, or it has ended; find the approval in the list")
	}
	return nil
}
