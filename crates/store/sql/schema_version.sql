SELECT max(version) AS version FROM _sqlx_migrations WHERE success
