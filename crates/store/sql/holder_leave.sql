DELETE FROM holders WHERE id = $1
