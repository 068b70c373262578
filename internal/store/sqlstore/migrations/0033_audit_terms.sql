-- The index has terms of all entries of the chains from now on, and the times of its blocks are those of all entries. A job fills it again.
DELETE FROM evaluation_terms;
DELETE FROM term_blocks;
UPDATE term_marks SET seq = 0;
