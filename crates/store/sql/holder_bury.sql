DELETE FROM holders WHERE until < $1
