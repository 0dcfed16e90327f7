-- The name of an account in the form in which names are compared, in which it is unique. The accounts are folded together with
-- the categories, by the rule that meta.folding names; until then a row has a text that no name folds to.
ALTER TABLE accounts ADD COLUMN folded_name TEXT NOT NULL DEFAULT '';
UPDATE accounts SET folded_name = char(1) || id;
CREATE UNIQUE INDEX accounts_by_folded_name ON accounts (folded_name);
UPDATE meta SET folding = 0;
