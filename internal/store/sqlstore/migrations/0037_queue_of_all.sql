-- What waits in all projects, in the order of the queue. Without these, all that waits is sorted for each page.
CREATE INDEX rules_in_review_of_all ON rules (corpus_version, id) WHERE status = 'REVIEW';

CREATE INDEX candidates_waiting_of_all ON candidates (scan_id, n) WHERE status = 'pending';

CREATE INDEX conflicts_waiting_of_all ON conflicts (detected_at, id) WHERE state = 'suggested';

CREATE INDEX audit_entries_waiting_of_all ON audit_entries (at, seq) WHERE verdict = 'NEEDS_CONFIRMATION';
