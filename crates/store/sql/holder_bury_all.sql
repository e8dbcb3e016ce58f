DELETE FROM holders
