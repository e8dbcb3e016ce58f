INSERT INTO holders (id, until) VALUES ($1, $2)
ON CONFLICT (id) DO UPDATE SET until = excluded.until
