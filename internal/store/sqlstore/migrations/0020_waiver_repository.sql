-- The repository that a waiver covers, in its normal form. Stored waivers have none: they cover evaluations that name no repository.
ALTER TABLE waivers ADD COLUMN repository TEXT NOT NULL DEFAULT '';
