-- Whether an OVERRIDES relationship may silence a rule that is more severe or more binding. Stored ones may not.
ALTER TABLE relationships ADD COLUMN allow_weakening BOOLEAN NOT NULL DEFAULT FALSE;
