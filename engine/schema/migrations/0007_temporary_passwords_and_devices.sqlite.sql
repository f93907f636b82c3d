-- Passwords that a user has to change at the first sign-in to the console; the device of each session.
ALTER TABLE credentials ADD COLUMN is_temporary INTEGER NOT NULL DEFAULT 0
    CONSTRAINT credentials_is_temporary_check CHECK (is_temporary BETWEEN 0 AND 1);
ALTER TABLE sessions ADD COLUMN device TEXT
    CONSTRAINT sessions_device_check CHECK (length(CAST(device AS BLOB)) <= 256);
