-- The version of the rule that folds names in this file. A program with a newer rule folds all names again when it opens the
-- file, and a program with an older rule refuses it. 0: only lower case, as before this column.
ALTER TABLE meta ADD COLUMN folding INTEGER NOT NULL DEFAULT 0 CHECK (folding >= 0);
