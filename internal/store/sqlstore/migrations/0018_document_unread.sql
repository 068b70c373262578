-- What of an uploaded document its text leaves out, in words; empty if the text is all of it.
ALTER TABLE documents ADD COLUMN unread TEXT NOT NULL DEFAULT '';
