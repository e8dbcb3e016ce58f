UPDATE calls SET outcome = '' WHERE id IN (VALUES ($1) /* and so on */) AND outcome IS NOT NULL
