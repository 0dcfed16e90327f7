-- The version of the rule by which categories' names are folded in this file: folded_name is that form of name, and unique.
-- A program with a newer rule folds all names again when it opens the file, and one with an older rule refuses it. 0: in
-- lower case alone, as before this column.
ALTER TABLE meta ADD COLUMN folding INTEGER NOT NULL DEFAULT 0 CHECK (folding >= 0);
