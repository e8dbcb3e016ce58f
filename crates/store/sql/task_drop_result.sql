UPDATE tasks SET status = 'failed', outcome = ''
WHERE id IN (VALUES ($1) /* and so on */) AND expires IS NOT NULL AND outcome IS NOT NULL
