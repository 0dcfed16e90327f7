-- When the overlap of a key with the one that replaces it is over, apart from when its own life is, which a rotation no
-- longer touches. In rows of before the two cannot be told apart: what a rotation has set there stays in expires_at.
ALTER TABLE keys ADD COLUMN replaced_until TEXT CHECK (length(replaced_until) = 24);
