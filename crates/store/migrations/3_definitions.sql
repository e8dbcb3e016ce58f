CREATE TABLE definitions (
    source TEXT NOT NULL,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    written BIGINT NOT NULL,
    PRIMARY KEY (source, digest)
);
