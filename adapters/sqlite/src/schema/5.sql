-- When an operator last lifted a ban of the key. A ban that began no later is void, also if it is written afterwards.
ALTER TABLE keys ADD COLUMN ban_lifted_at TEXT CHECK (length(ban_lifted_at) = 24);
