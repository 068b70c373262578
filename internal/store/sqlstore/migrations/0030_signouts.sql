-- Sign-outs that identity providers have sent. They belong to no project: project_id is *. An empty subject or sid means that the provider named none.
CREATE TABLE console_signouts (
	project_id {{.Text}} NOT NULL,
	issuer {{.Text}} NOT NULL,
	token_id {{.Text}} NOT NULL,
	subject {{.Text}} NOT NULL,
	sid {{.Text}} NOT NULL,
	at BIGINT NOT NULL,
	keep_until BIGINT NOT NULL,
	PRIMARY KEY (project_id, issuer, token_id)
);

CREATE INDEX console_signouts_by_subject ON console_signouts (project_id, issuer, subject, at);
CREATE INDEX console_signouts_by_sid ON console_signouts (project_id, issuer, sid, at);
CREATE INDEX console_signouts_by_end ON console_signouts (project_id, keep_until);
