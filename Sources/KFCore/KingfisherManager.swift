import KFStorage
