-- To whom a key belongs, the agent that uses it, what it may do less than its role (JSON), its rotation, and the uses that were refused.
ALTER TABLE api_keys ADD COLUMN prefix {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN owner {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN agent {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN limits {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN rotated_from {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN rotated_to {{.Text}} NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN refused BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN last_refused_at BIGINT;
ALTER TABLE api_keys ADD COLUMN last_refusal {{.Text}} NOT NULL DEFAULT '';
